//! A document that the client has open, and the current positions of the lines of its saved states.
//!
//! A comparison of two texts cannot tell a line from its copy. The edits can: while a document is open its lines are
//! followed edit by edit, from each of the last states that were on disk, since those are what gets recorded.

use crate::{encoding::Encoding, from_proto::ClientEdits, text::Text};
use std::ops::Range;

/// Number of saved states from which lines are followed. An older recording is compared by content.
const MAX_STATES: usize = 4;

/// A document that the client has open.
#[derive(Clone, Debug)]
pub struct OpenDocument {
    /// The client's number for this state.
    pub version: i32,
    /// The text with all unsaved edits.
    pub text: Text,
    /// Saved states, the latest first.
    states: Vec<DiskState>,
}

/// A state of the document that was on disk.
#[derive(Clone, Debug)]
struct DiskState {
    text: Text,
    /// Number (from 0) in this state of each current line; `None` for a line that was added since.
    lines: Vec<Option<usize>>,
}

impl OpenDocument {
    /// A document that was opened with this text.
    pub fn new(version: i32, text: &str) -> OpenDocument {
        let mut document = OpenDocument {
            version,
            text: Text::new(text),
            states: Vec::new(),
        };
        document.saved();
        document
    }

    /// Applies the user's edits. Linear in the lines for each edit.
    pub fn change(&mut self, version: i32, edits: &ClientEdits, encoding: Encoding) {
        self.version = version;
        for (replaced, new) in edits.bytes(encoding) {
            let replaced = replaced(&self.text);
            for state in &mut self.states {
                state.lines = after(&state.lines, &self.text, &replaced, new);
            }
            let mut content = self.text.content().to_owned();
            content.replace_range(replaced, new);
            self.text = Text::new(&content);
        }
    }

    /// Notes that the open text is now the one on disk.
    pub fn saved(&mut self) {
        let lines = (0..self.text.lines().count()).map(Some).collect();
        let text = self.text.clone();
        self.states.retain(|state| state.text != text);
        self.states.insert(0, DiskState { text, lines });
        self.states.truncate(MAX_STATES);
    }

    /// Returns the number (from 0) in this earlier text of each current line, if the text is a state that was on disk
    /// while the document was open.
    pub fn followed(&self, earlier: &Text) -> Option<&[Option<usize>]> {
        let state = self.states.iter().find(|state| state.text == *earlier)?;
        Some(&state.lines)
    }
}

/// The lines after some bytes were replaced: a line that keeps some of its code at either side of the edit stays what
/// it was. Whether it still has the same text is checked elsewhere.
fn after(
    lines: &[Option<usize>],
    text: &Text,
    replaced: &Range<usize>,
    new: &str,
) -> Vec<Option<usize>> {
    let (first, last) = (text.line_of(replaced.start), text.line_of(replaced.end));
    let was = |line: usize| lines.get(line).copied().flatten();
    let is_code = |from: usize, to: usize| {
        let part = text.content().get(from..to);
        part.is_some_and(|part| !part.trim().is_empty())
    };
    let head = is_code(text.line_start(first).unwrap_or(0), replaced.start);
    let tail = is_code(replaced.end, text.line_end(last));
    let mut after: Vec<Option<usize>> = lines.iter().take(first).copied().collect();
    match new.matches('\n').count() {
        0 => after.push(was(if head || !tail { first } else { last })),
        breaks => {
            after.push(was(first).filter(|_| head));
            after.extend(std::iter::repeat_n(None, breaks - 1));
            let is_kept = tail && !(head && first == last);
            after.push(was(last).filter(|_| is_kept));
        }
    }
    after.extend(lines.iter().skip(last + 1).copied());
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use tower_lsp::lsp_types::{Position, Range, TextDocumentContentChangeEvent};

    fn edit(from: (u32, u32), to: (u32, u32), text: &str) -> ClientEdits {
        let at = |(line, character)| Position::new(line, character);
        ClientEdits(vec![TextDocumentContentChangeEvent {
            range: Some(Range::new(at(from), at(to))),
            range_length: None,
            text: text.to_owned(),
        }])
    }

    /// The lines of `a\nb\nc\n` after an edit.
    fn lines(edits: &ClientEdits) -> (String, Vec<Option<usize>>) {
        let mut document = OpenDocument::new(1, "a\nb\nc\n");
        let before = document.text.clone();
        document.change(2, edits, Encoding::Utf8);
        let lines = document.followed(&before).unwrap().to_vec();
        (document.text.content().to_owned(), lines)
    }

    #[test]
    fn lines_are_followed_edit_by_edit() {
        let check = |edits, text: &str, expected: &[Option<usize>]| {
            let (now, lines) = lines(&edits);
            assert_eq!((now.as_str(), lines.as_slice()), (text, expected));
        };
        let (a, b, c, end) = (Some(0), Some(1), Some(2), Some(3));
        check(
            edit((1, 0), (1, 0), "x\n"),
            "a\nx\nb\nc\n",
            &[a, None, b, c, end],
        );
        check(
            edit((0, 1), (0, 1), "\nx"),
            "a\nx\nb\nc\n",
            &[a, None, b, c, end],
        );
        check(edit((1, 0), (2, 0), ""), "a\nc\n", &[a, c, end]);
        check(edit((0, 1), (1, 1), ""), "a\nc\n", &[a, c, end]);
        check(edit((1, 0), (1, 0), "  "), "a\n  b\nc\n", &[a, b, c, end]);
        check(
            edit((1, 1), (1, 1), " = 1;"),
            "a\nb = 1;\nc\n",
            &[a, b, c, end],
        );
        check(edit((0, 1), (1, 0), " "), "a b\nc\n", &[a, c, end]);
        check(
            edit((0, 0), (3, 0), "a\nb\nc\n"),
            "a\nb\nc\n",
            &[None, None, None, None],
        );
    }

    #[test]
    fn a_copy_is_not_the_line() {
        let (_, lines) = lines(&edit((1, 0), (1, 0), "b\n"));
        assert_eq!(lines, [Some(0), None, Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn only_the_last_states_are_kept() {
        let mut document = OpenDocument::new(0, "0\n");
        let first = document.text.clone();
        for version in 1..=MAX_STATES {
            assert!(document.followed(&first).is_some());
            let edits = edit((0, 0), (0, 0), "x");
            document.change(i32::try_from(version).unwrap(), &edits, Encoding::Utf8);
            document.saved();
        }
        assert!(document.followed(&first).is_none());
    }
}
