//! Code spans of a text as Markdown delimits them, and code that no text in it can end.

/// A part of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextSpan<'t> {
    /// Code: text between equal numbers of backticks at either end.
    Code(&'t str),
    /// Other text; its backticks begin no code.
    Plain(&'t str),
}

/// Splits a text into spans as Markdown reads it: a row of backticks ends at the next row of exactly the same
/// length.
pub fn spans(text: &str) -> Vec<TextSpan<'_>> {
    let (mut found, mut plain, mut at) = (Vec::new(), 0, 0);
    while let Some((start, len)) = backticks(text, at) {
        let inner = start + len;
        let end = std::iter::successors(backticks(text, inner), |(at, len)| {
            backticks(text, at + len)
        })
        .find(|(_, other)| *other == len);
        at = inner;
        if let Some((end, _)) = end {
            found.extend(text.get(plain..start).map(TextSpan::Plain));
            found.extend(text.get(inner..end).map(TextSpan::Code));
            (plain, at) = (end + len, end + len);
        }
    }
    found.extend(text.get(plain..).map(TextSpan::Plain));
    found.retain(|span| *span != TextSpan::Plain(""));
    found
}

/// The next row of backticks: its start and its length.
fn backticks(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + text.get(from..)?.find('`')?;
    let rest = text.get(start..)?;
    Some((start, rest.len() - rest.trim_start_matches('`').len()))
}

/// Code delimited by more backticks than it has in a row, on one line, since the end of a paragraph would end
/// it.
pub fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let rows = text.split(|c| c != '`').map(str::len);
    let longest = rows.max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", on_one_line(text))
}

/// The text with blanks in place of line breaks and other control characters.
pub fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::{TextSpan::*, *};

    #[test]
    fn code_ends_where_as_many_backticks_stand() {
        assert_eq!(spans("a `b` c"), [Plain("a "), Code("b"), Plain(" c")]);
        assert_eq!(
            spans("a ``b`c`` d"),
            [Plain("a "), Code("b`c"), Plain(" d")]
        );
        assert_eq!(spans("a `` [x](y)"), [Plain("a `` [x](y)")]);
        assert_eq!(spans("`a``b`"), [Code("a``b")]);
        assert_eq!(spans("`a` ` b"), [Code("a"), Plain(" ` b")]);
    }

    #[test]
    fn nothing_in_code_ends_it() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a`b``c"), "``` a`b``c ```");
        assert_eq!(code("a\n\n![x](y)"), "`a  ![x](y)`");
    }
}
