//! Replacements in a text, and their application.

use super::source::ParsedSource;
use tree_sitter::Node;

/// Replacement of a part of a text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Change {
    /// First byte that is removed.
    pub start: usize,
    /// The byte after the last one that is removed; `start` for an insertion.
    pub end: usize,
    /// Text to insert.
    pub text: String,
}

impl Change {
    /// Replaces a node.
    pub fn of(node: Node<'_>, text: impl Into<String>) -> Change {
        Change {
            start: node.start_byte(),
            end: node.end_byte(),
            text: text.into(),
        }
    }

    /// Makes an insertion.
    pub fn insert(at: usize, text: String) -> Change {
        Change {
            start: at,
            end: at,
            text,
        }
    }
}

/// Applies all changes to the text; `None` when two of them overlap or lie outside. Insertions at one place
/// keep their order.
pub fn apply(text: &str, changes: &[Change]) -> Option<String> {
    let mut sorted: Vec<&Change> = changes.iter().collect();
    sorted.sort_by_key(|change| (change.start, change.end));
    let (mut edited, mut at) = (String::with_capacity(text.len()), 0);
    for change in sorted {
        edited.push_str(text.get(at..change.start)?);
        edited.push_str(&change.text);
        at = change.end;
    }
    edited.push_str(text.get(at..)?);
    Some(edited)
}

/// Inserts `statement` before the byte `at`, at which another one begins: on a line of its own if that one is
/// first on its line.
pub fn line_before(source: &ParsedSource, at: usize, statement: &str) -> Change {
    let is_first = source.slice(source.line_start(at), at).trim().is_empty();
    Change::insert(
        at,
        match is_first {
            true => format!("{statement}\n{}", source.indent(at)),
            false => format!("{} ", statement.replace(['\n', '\t'], " ")),
        },
    )
}

/// Inserts `statement` on a line of its own after the statement from `start` to `end`. A comment behind that
/// one stays with it.
pub fn line_after(source: &ParsedSource, start: usize, end: usize, statement: &str) -> Change {
    let line_end = source.line_end(end);
    let rest = source.slice(end, line_end).trim();
    let is_comment = rest.starts_with("//") || rest.starts_with("/*") && rest.ends_with("*/");
    let at = match rest.is_empty() || is_comment {
        true => line_end,
        false => end,
    };
    Change::insert(at, format!("\n{}{statement}", source.indent(start)))
}

/// Removes a statement. An only statement of a branch or a loop is replaced by an empty one, or else the next
/// one would take its place.
pub fn remove_statement(source: &ParsedSource, node: Node<'_>) -> Change {
    let parent = node.parent().map_or("", |parent| parent.kind());
    if matches!(parent, "compound_statement" | "case_statement") {
        return remove(source, node.start_byte(), node.end_byte());
    }
    Change {
        start: node.start_byte(),
        end: node.end_byte(),
        text: EMPTY.to_owned(),
    }
}

/// The empty statement.
pub const EMPTY: &str = ";";

/// Removes a statement, with its line when nothing else is on it.
pub fn remove(source: &ParsedSource, start: usize, end: usize) -> Change {
    let (line, line_end) = (source.line_start(start), source.line_end(end));
    let is_alone = source.slice(line, start).trim().is_empty()
        && source.slice(end, line_end).trim().is_empty();
    let (start, end) = match is_alone {
        true => (line, (line_end + 1).min(source.text().len())),
        false => (start, end),
    };
    Change {
        start,
        end,
        text: String::new(),
    }
}
