//! Places of a fix in the text after it was applied, for clients that show them.

use crate::edits::{FileEdits, TextEdit};
use std::path::PathBuf;

/// A changed place, in the edited text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedPlace {
    /// The file.
    pub path: PathBuf,
    /// Line, from 0.
    pub line: usize,
    /// Its content: the first line of the new text, or the reason for which there is none.
    pub text: String,
}

/// The places that the edits change, in their order.
pub fn places(files: &[FileEdits]) -> Vec<ChangedPlace> {
    let mut places = Vec::new();
    for file in files {
        let (mut added, mut removed) = (0, 0);
        for edit in &file.edits {
            let first = edit.from.0 + added - removed;
            let (below, text) = told(edit);
            places.push(ChangedPlace {
                path: file.path.clone(),
                line: first + below,
                text,
            });
            added += edit.new.matches('\n').count();
            removed += edit.to.0 - edit.from.0;
        }
    }
    places
}

/// The first line of the new text with something in it, and its distance to the beginning of the edit.
fn told(edit: &TextEdit) -> (usize, String) {
    let mut lines = edit.new.lines().enumerate();
    match lines.find(|(_, line)| !line.trim().is_empty()) {
        Some((below, line)) => (below, line.trim().to_owned()),
        None => (0, "(removed)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    #[test]
    fn lines_move_with_the_edits_above_them() {
        let edit = |from, to, new: &str| TextEdit {
            from,
            to,
            new: new.to_owned(),
        };
        let file = FileEdits {
            path: "a.c".into(),
            version: None,
            text: Text::new("a\nb\nc\nd\ne\n"),
            edits: vec![
                edit((0, 1), (0, 1), "\nlock();\nx();"),
                edit((2, 0), (4, 0), ""),
                edit((4, 0), (4, 1), "unlock();"),
            ],
            atomic: Vec::new(),
        };
        let places = places(&[file]);
        let told: Vec<(usize, &str)> = places
            .iter()
            .map(|place| (place.line, place.text.as_str()))
            .collect();
        // a, lock(), x(), b, unlock()
        assert_eq!(told, [(1, "lock();"), (4, "(removed)"), (4, "unlock();")]);
    }
}
