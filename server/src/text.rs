//! A text and where its lines begin.

use std::{
    fmt,
    path::Path,
    sync::{Arc, OnceLock},
};
use unsnarl_core::fixes::text::source::ParsedSource;

/// Longer texts are not parsed: their marks are as wide as their lines.
const MAX_PARSED_BYTES: usize = 2 << 20;

/// An immutable text, split into lines once. Lines end with `\n` or `\r\n`.
#[derive(Clone)]
pub struct Text {
    content: Arc<str>,
    starts: Arc<[usize]>,
    syntax: Arc<OnceLock<Option<ParsedSource>>>,
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        self.content == other.content
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.content.fmt(to)
    }
}

impl Text {
    /// Splits a text.
    pub fn new(content: &str) -> Text {
        let after_breaks = content.match_indices('\n').map(|(at, _)| at + 1);
        Text {
            content: Arc::from(content),
            starts: std::iter::once(0).chain(after_breaks).collect(),
            syntax: Arc::default(),
        }
    }

    /// The text's syntax, parsed when it is first asked for; none for what is too long. What language it is the name
    /// of its file says.
    pub fn syntax(&self, file: &Path) -> Option<&ParsedSource> {
        let parsed = || {
            let is_short = self.content.len() <= MAX_PARSED_BYTES;
            is_short.then(|| ParsedSource::parse(&file.to_string_lossy(), &self.content))?
        };
        self.syntax.get_or_init(parsed).as_ref()
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

    /// The line, from 0, that a byte is in. Logarithmic.
    pub fn line_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte) - 1
    }

    /// Byte offset of a line's end, before its line break; of the text's end for a line that is not there.
    pub fn line_end(&self, line: usize) -> usize {
        let start = self.line_start(line);
        let end = start
            .zip(self.line(line))
            .map(|(start, line)| start + line.len());
        end.unwrap_or(self.content.len())
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
