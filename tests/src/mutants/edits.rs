//! Edits of a text, and the positions of its parts afterwards.

use super::syntax::MutatedSource;
use std::ops::Range;
use tree_sitter::Node;

/// One replacement.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Edit {
    range: Range<usize>,
    text: String,
}

/// Replacements that do not overlap.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Edits(Vec<Edit>);

impl Edits {
    /// Replaces a range by a text.
    pub fn replace(&mut self, range: Range<usize>, text: &str) {
        let at = self.0.partition_point(|one| one.range.start <= range.start);
        let text = text.to_owned();
        self.0.insert(at, Edit { range, text });
    }

    /// Removes a statement, with its line if nothing else stands there.
    pub fn remove(&mut self, source: &MutatedSource, statement: Node) {
        let alone = statement.parent().is_some_and(super::syntax::is_block);
        match alone {
            true => self.replace(lines_of(source, statement.byte_range()), ""),
            false => self.replace(statement.byte_range(), ";"),
        }
    }

    /// Inserts a line before a statement, with the same indentation.
    pub fn insert_before(&mut self, source: &MutatedSource, statement: Node, text: &str) {
        let start = statement.start_byte();
        let begin = line_start(&source.text, start);
        let indent = source.text.get(begin..start).unwrap_or("");
        match indent.trim().is_empty() {
            true => self.replace(begin..begin, &format!("{indent}{text}\n")),
            false => self.replace(start..start, &format!("{text} ")),
        }
    }

    /// Inserts a line behind a statement, with the same indentation.
    pub fn insert_behind(&mut self, source: &MutatedSource, statement: Node, text: &str) {
        let lines = lines_of(source, statement.byte_range());
        if lines == statement.byte_range() {
            self.replace(lines.end..lines.end, &format!(" {text}"));
            return;
        }
        let start = statement.start_byte();
        let begin = line_start(&source.text, start);
        let indent = source.text.get(begin..start).unwrap_or("");
        self.replace(lines.end..lines.end, &format!("{indent}{text}\n"));
    }

    /// Moves a statement before another one.
    pub fn move_before(&mut self, source: &MutatedSource, statement: Node, target: Node) {
        self.insert_before(source, target, source.text(statement));
        self.remove(source, statement);
    }

    /// Moves a statement behind another one.
    pub fn move_behind(&mut self, source: &MutatedSource, statement: Node, target: Node) {
        self.insert_behind(source, target, source.text(statement));
        self.remove(source, statement);
    }

    /// Offset of the last replacement.
    pub fn last(&self) -> usize {
        self.0.last().map_or(0, |edit| edit.range.start)
    }

    /// The edited text.
    pub fn apply(&self, text: &str) -> String {
        let mut edited = String::new();
        let mut at = 0;
        for edit in &self.0 {
            edited.push_str(text.get(at..edit.range.start).unwrap_or(""));
            edited.push_str(&edit.text);
            at = edit.range.end;
        }
        edited.push_str(text.get(at..).unwrap_or(""));
        edited
    }

    /// Lines, from 1, that these ranges of the old text and all insertions take up in the new one.
    pub fn lines(&self, text: &str, ranges: &[Range<usize>]) -> Vec<Range<u32>> {
        let edited = self.apply(text);
        let kept = ranges
            .iter()
            .map(|range| self.moved(range.start, true)..self.moved(range.end, false));
        let new = self.0.iter().filter(|edit| !edit.text.trim().is_empty());
        let new = new.map(|edit| {
            let begin = self.moved(edit.range.start, false);
            begin..begin + edit.text.trim_end().len()
        });
        let mut lines: Vec<Range<u32>> = kept
            .chain(new)
            .filter(|range| range.start < range.end)
            .map(|range| line(&edited, range.start)..line(&edited, range.end - 1) + 1)
            .collect();
        lines.sort_by_key(|range| (range.start, range.end));
        lines.dedup();
        lines
    }

    /// Position of an old offset in the new text; behind an insertion at that offset, or before it.
    fn moved(&self, offset: usize, is_behind: bool) -> usize {
        let mut moved = offset;
        for edit in &self.0 {
            let (begin, end) = (edit.range.start, edit.range.end);
            if end < offset || end == offset && (is_behind || begin < end) {
                moved = moved + edit.text.len() - (end - begin);
            } else if begin < offset {
                moved -= (offset - begin).saturating_sub(edit.text.len());
            }
        }
        moved
    }
}

/// The lines of a range when nothing else stands there, else the range.
fn lines_of(source: &MutatedSource, range: Range<usize>) -> Range<usize> {
    let text = &source.text;
    let begin = line_start(text, range.start);
    let rest = text.get(range.end..).unwrap_or("");
    let end = rest.find('\n').map_or(text.len(), |at| range.end + at + 1);
    let beside = [text.get(begin..range.start), text.get(range.end..end)];
    let is_alone = |part: &Option<&str>| part.is_some_and(|part| part.trim().is_empty());
    match beside.iter().all(is_alone) {
        true => begin..end,
        false => range,
    }
}

fn line_start(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or("");
    before.rfind('\n').map_or(0, |at| at + 1)
}

fn line(text: &str, offset: usize) -> u32 {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|byte| **byte == b'\n').count() as u32
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "regions are lists of ranges of lines"
)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_what_is_put_in_and_taken_away() {
        let text = "a\nb\nc\nd\n";
        let mut edits = Edits::default();
        edits.replace(6..6, "x\ny\n");
        edits.replace(0..2, "");
        assert_eq!(edits.apply(text), "b\nc\nx\ny\nd\n");
        assert_eq!(edits.lines(text, &[2..3]), [1..2, 3..5]);
        assert_eq!(edits.lines(text, &[6..7]), [3..5, 5..6]);
        assert_eq!(edits.lines(text, &[0..1, 2..5]), [1..3, 3..5]);
    }
}
