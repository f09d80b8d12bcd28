//! Hover texts: the history of a line in the failing run of the selected explanation, else of the best that mentions
//! its file.

use crate::{
    facts::ExplainedFact,
    host::ServerState,
    marks::{FollowedFiles, LineSpot},
};
use std::path::Path;
use unsnarl_core::{
    HoverPlace,
    hover::MOST_LINES,
    render::{
        self,
        spans::{self, TextSpan},
    },
};
use unsnarl_trace::EventId;

/// Markdown about a line (from 0) of a current file, with what the word at a byte of it names first, and the code to which it
/// belongs.
pub fn hover(
    state: &ServerState,
    path: &Path,
    (line, byte): (usize, usize),
) -> Option<(String, LineSpot)> {
    let word = state.sources.current(path)?.line(line)?.to_owned();
    let word = word_at(&word, byte);
    state.selected_first().find_map(|(root, explained)| {
        let located = FollowedFiles::new(&state.sources, root, explained);
        let (file, recorded) = located.recorded(path, line)?;
        let (run, orders) = explained.orders()?;
        let place = HoverPlace {
            file,
            line: recorded,
            word,
        };
        let told = unsnarl_core::hover(run, orders, &place, &steps(explained))?;
        let decided = render::decided_at(&explained.explanation, file, recorded);
        let mut summary: Vec<String> = decided.into_iter().chain(told.summary).collect();
        let more = summary.split_off(summary.len().min(MOST_LINES));
        let details: Vec<String> = more.into_iter().chain(told.details).collect();
        Some((
            markdown(&summary, &details),
            located.whole_line(path, line)?,
        ))
    })
}

/// The events of an explanation's steps.
fn steps(explained: &ExplainedFact) -> Vec<EventId> {
    let steps = explained.explanation.steps.iter();
    steps.map(|step| EventId(step.event)).collect()
}

/// The name at a byte of a line.
fn word_at(line: &str, byte: usize) -> Option<&str> {
    let is_other = |c: char| !c.is_alphanumeric() && c != '_';
    let (before, after) = line.split_at_checked(byte)?;
    let start = before.rfind(is_other).map_or(0, |at| {
        at + before
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(1, char::len_utf8)
    });
    let end = after.find(is_other).unwrap_or(after.len());
    line.get(start..byte + end).filter(|word| !word.is_empty())
}

/// One line for each sentence; a rule between those that everybody reads and the rest.
fn markdown(summary: &[String], details: &[String]) -> String {
    let lines = |sentences: &[String]| {
        let lines: Vec<String> = sentences.iter().map(|sentence| plain(sentence)).collect();
        lines.join("  \n")
    };
    match details {
        [] => lines(summary),
        details => format!("{}\n\n---\n{}", lines(summary), lines(details)),
    }
}

/// Escapes text so that it shows as it is: characters that Markdown would take for markup are escaped, and no more,
/// because editors show the backslash. Emphasis needs a pair, underscores inside names are none, a link or an image
/// needs the text between its brackets and its address. Code stays code.
fn plain(text: &str) -> String {
    let shown = |span: TextSpan<'_>| match span {
        TextSpan::Code(inner) => spans::code(inner),
        TextSpan::Plain(part) => outside_code(part, text),
    };
    spans::spans(text).into_iter().map(shown).collect()
}

fn outside_code(part: &str, whole: &str) -> String {
    let part = spans::on_one_line(part);
    let mut shown = String::new();
    let pair = |c: char| whole.chars().filter(|other| *other == c).count() > 1;
    for (at, c) in part.char_indices() {
        let rest = part.get(at + c.len_utf8()..).unwrap_or_default();
        let before = part.get(..at).and_then(|before| before.chars().next_back());
        let after = rest.chars().next();
        let inside_name = [before, after]
            .iter()
            .all(|c| c.is_some_and(char::is_alphanumeric));
        let markup = match c {
            '*' => pair(c),
            '_' => pair(c) && !inside_name,
            '<' => after.is_some_and(char::is_alphabetic),
            ']' => matches!(after, Some('(' | ':')),
            // An address by itself becomes a link, too.
            ':' => rest.starts_with("//"),
            _ => false,
        };
        if markup {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{plain, word_at};

    #[test]
    fn a_word_is_what_the_cursor_is_in_or_behind() {
        let line = "über->count[i_1] = 0;";
        let word = |byte| word_at(line, byte);
        assert_eq!(word(0), Some("über"));
        assert_eq!(word(5), Some("über"));
        assert_eq!(word(9), Some("count"));
        assert_eq!(word(16), Some("i_1"));
        assert_eq!(word(18), None);
        assert_eq!(word(99), None);
    }

    #[test]
    fn names_are_no_markup() {
        assert_eq!(
            plain("bank_account.c: *p = a[3]"),
            "bank_account.c: *p = a[3]"
        );
        assert_eq!(
            plain("_start and _end, *p and *q"),
            "\\_start and \\_end, \\*p and \\*q"
        );
        assert_eq!(plain("`*_p` and vector<int>"), "`*_p` and vector\\<int>");
    }

    #[test]
    fn nothing_leads_or_loads_from_elsewhere() {
        assert_eq!(
            plain("![x](http://a.b/c.png) a[0][1]"),
            "![x\\](http\\://a.b/c.png) a[0][1]"
        );
        assert_eq!(plain("a` [x](y)"), "a` [x\\](y)");
        assert_eq!(plain("`a` [x](y)"), "`a` [x\\](y)");
        assert_eq!(plain("`a`` [x](y)"), "`a`` [x\\](y)");
        assert_eq!(plain("`a\n\n[x](y)`"), "`a  [x](y)`");
    }
}
