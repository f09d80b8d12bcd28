//! Fixes as edits of the current source.
//!
//! A fix was worked out for the recorded text. It is taken over only when every line that it edits, and every line
//! that it makes part of one atomic step, is certainly still there and has the same text.

use crate::{
    facts::ExplainedFact,
    follow::{LineMap, Recorded},
    host::ServerState,
    paths::Root,
    text::Text,
};
use std::{
    collections::BTreeMap,
    ops::{Range, RangeInclusive},
    path::PathBuf,
};
use unsnarl_core::fixes::{FileEdit, Fix, Position};

/// Reason against a fix whose lines have changed.
const CHANGED: &str =
    "the lines changed since the run was recorded: build, record and explain again";
/// Reason against a fix of a file that is not there.
const NOT_FOUND: &str =
    "the source was not found: the setting unsnarl.sourceMap says where the sources are now";
/// Reason against a fix whose recorded text was never seen.
const UNSEEN: &str = "the source is not the one that was recorded: build, record and explain again";

/// The edits of one file.
#[derive(Clone, PartialEq, Debug)]
pub struct FileEdits {
    /// The file.
    pub path: PathBuf,
    /// The client's number of the text that they are for, if the file is open.
    pub version: Option<i32>,
    /// The text that the edits are for.
    pub text: Text,
    /// The edits, ordered by position.
    pub edits: Vec<TextEdit>,
    /// Lines that the fix makes a part of one atomic step, from 0.
    pub atomic: Vec<Range<usize>>,
}

/// A part of a text and its replacement. Lines count from 0, columns are bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextEdit {
    /// Start: line and column.
    pub from: (usize, usize),
    /// End: line and column.
    pub to: (usize, usize),
    /// The replacement.
    pub new: String,
}

/// The edits of a fix in the current source, or the reason for which it cannot be made there.
pub fn of_fix(
    state: &ServerState,
    root: &Root,
    explained: &ExplainedFact,
    fix: &Fix,
) -> Result<Vec<FileEdits>, &'static str> {
    let mut files = BTreeMap::<&str, Vec<&FileEdit>>::new();
    for edit in &fix.edits {
        files.entry(&edit.file).or_default().push(edit);
    }
    files
        .into_iter()
        .map(|(file, edits)| {
            let (_, recorded) = explained
                .files()
                .find(|(name, _)| *name == file)
                .ok_or(UNSEEN)?;
            in_file(state, root, recorded, fix, &edits)
        })
        .collect()
}

fn in_file(
    state: &ServerState,
    root: &Root,
    recorded: &Recorded,
    fix: &Fix,
    edits: &[&FileEdit],
) -> Result<FileEdits, &'static str> {
    let sources = &state.sources;
    let found = sources.find(root, recorded).ok_or(NOT_FOUND)?;
    let before = sources.recorded(recorded).ok_or(UNSEEN)?;
    let now = sources.current(&found.path).ok_or(NOT_FOUND)?;
    let document = sources.open.get(&found.path);
    let follower = Follower {
        before: &before,
        now,
        lines: &found.lines,
    };
    let file = edits.first().map_or("", |edit| edit.file.as_str());
    let steps = fix.exclusive.iter().filter(|lines| lines.file == file);
    let atomic: Option<Vec<Range<usize>>> = steps
        .map(|lines| {
            let first = follower.lines(lines.first..=lines.last)?;
            Some(first..first + (lines.last - lines.first) as usize + 1)
        })
        .collect();
    let edits: Option<Vec<TextEdit>> = edits.iter().map(|edit| follower.edit(edit)).collect();
    Ok(FileEdits {
        path: found.path.clone(),
        version: document.map(|document| document.version),
        text: now.clone(),
        edits: edits.ok_or(CHANGED)?,
        atomic: atomic.ok_or(CHANGED)?,
    })
}

/// A file as it was recorded and as it is now.
struct Follower<'a> {
    before: &'a Text,
    now: &'a Text,
    lines: &'a LineMap,
}

impl Follower<'_> {
    fn edit(&self, edit: &FileEdit) -> Option<TextEdit> {
        let first = self.lines(edit.from.line..=edit.to.line)?;
        let at = |position: Position| {
            let line = first + (position.line - edit.from.line) as usize;
            (line, (position.column as usize).saturating_sub(1))
        };
        Some(TextEdit {
            from: at(edit.from),
            to: at(edit.to),
            new: edit.text.clone(),
        })
    }

    /// The current position (from 0) of the first of these recorded lines (from 1), if all of them still follow it,
    /// unchanged.
    fn lines(&self, mut lines: RangeInclusive<u32>) -> Option<usize> {
        let start = *lines.start();
        let first = self.lines.now(start)?;
        let is_there = |line: u32| {
            let now = first + (line - start) as usize;
            let was = self.before.line((line as usize).checked_sub(1)?)?;
            (self.lines.now(line)? == now && self.now.line(now)? == was).then_some(())
        };
        lines.all(|line| is_there(line).is_some()).then_some(first)
    }
}
