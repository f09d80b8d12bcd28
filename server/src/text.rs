//! A text and where its lines begin.

use std::sync::Arc;

/// An immutable text, split into lines once. Lines end with `\n` or `\r\n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    content: Arc<str>,
    starts: Arc<[usize]>,
}

impl Text {
    /// Splits a text.
    pub fn new(content: &str) -> Text {
        let after_breaks = content.match_indices('\n').map(|(at, _)| at + 1);
        Text {
            content: Arc::from(content),
            starts: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    /// The whole text.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// A line without its end, counted from 0.
    pub fn line(&self, line: usize) -> Option<&str> {
        let start = *self.starts.get(line)?;
        let end = self
            .starts
            .get(line + 1)
            .map_or(self.content.len(), |next| next - 1);
        let text = self.content.get(start..end)?;
        Some(text.strip_suffix('\r').unwrap_or(text))
    }

    /// All lines, in order.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        (0..self.starts.len()).map_while(|line| self.line(line))
    }

    /// Byte offset of a line's first character.
    pub fn line_start(&self, line: usize) -> Option<usize> {
        self.starts.get(line).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_ends() {
        let text = Text::new("a\r\nbc\n\nd");
        assert_eq!(text.lines().collect::<Vec<_>>(), ["a", "bc", "", "d"]);
        assert_eq!(text.line_start(2), Some(6));
        assert_eq!(text.line(4), None);
        assert_eq!(Text::new("").lines().collect::<Vec<_>>(), [""]);
        assert_eq!(Text::new("x\n").lines().collect::<Vec<_>>(), ["x", ""]);
    }
}
