//! Which parts of a text Markdown takes for code, and code that nothing in it ends.

/// A part of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Span<'t> {
    /// Text between as many backticks at either end.
    Code(&'t str),
    /// Any other text; its backticks begin no code.
    Plain(&'t str),
}

/// The parts of a text as Markdown reads it: so many backticks end at the next place with exactly as many.
pub fn spans(text: &str) -> Vec<Span<'_>> {
    let (mut found, mut plain, mut at) = (Vec::new(), 0, 0);
    while let Some((start, len)) = backticks(text, at) {
        let inner = start + len;
        let end = std::iter::successors(backticks(text, inner), |(at, len)| {
            backticks(text, at + len)
        })
        .find(|(_, other)| *other == len);
        at = inner;
        if let Some((end, _)) = end {
            found.extend(text.get(plain..start).map(Span::Plain));
            found.extend(text.get(inner..end).map(Span::Code));
            (plain, at) = (end + len, end + len);
        }
    }
    found.extend(text.get(plain..).map(Span::Plain));
    found.retain(|span| *span != Span::Plain(""));
    found
}

/// The next row of backticks: where it begins and how many they are.
fn backticks(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + text.get(from..)?.find('`')?;
    let rest = text.get(start..)?;
    Some((start, rest.len() - rest.trim_start_matches('`').len()))
}

/// Code in more backticks than it has in a row, on one line: a paragraph that ends would end it.
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

/// The text with blanks for line breaks and other control characters.
pub fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::{Span::*, *};

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
