//! Hover texts: the history of a line in the failing run of the selected explanation, else of the best that mentions
//! its file.

use crate::{
    host::ServerState,
    marks::{FollowedFiles, LineSpot},
};
use std::path::Path;
use unsnarl_core::render::{
    self,
    spans::{self, TextSpan},
};

/// Markdown about a line (from 0) of a current file, and the code to which it belongs.
pub fn hover(state: &ServerState, path: &Path, line: usize) -> Option<(String, LineSpot)> {
    state.selected_first().find_map(|(root, explained)| {
        let located = FollowedFiles::new(&state.sources, root, explained);
        let (file, recorded) = located.recorded(path, line)?;
        let (run, orders) = explained.orders()?;
        let told = unsnarl_core::hover(run, orders, file, recorded, None)?;
        let decided = render::decided_at(&explained.explanation, file, recorded);
        let sentences: Vec<String> = decided.into_iter().chain(told.sentences).collect();
        Some((markdown(&sentences), located.whole_line(path, line)?))
    })
}

/// One line for each sentence.
fn markdown(sentences: &[String]) -> String {
    sentences
        .iter()
        .map(|sentence| plain(sentence))
        .collect::<Vec<_>>()
        .join("  \n")
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
    use super::plain;

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
