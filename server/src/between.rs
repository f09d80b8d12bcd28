//! The answer to "can another thread run between these lines?", from the recorded runs.

use crate::{
    beside,
    facts::ExplainedFact,
    host::ServerState,
    lens::{BETWEEN, Offer},
    marks::FollowedFiles,
    paths::Root,
    to_proto,
};
use serde_json::json;
use std::{
    ops::{Range, RangeInclusive},
    path::Path,
};
use unsnarl_core::between::Between;

/// The question about several selected lines (from 0), if a failing run knows them.
pub fn question(state: &ServerState, path: &Path, lines: &Range<usize>) -> Option<Offer> {
    if lines.len() < 2 {
        return None;
    }
    recorded(state, path, lines)?;
    Some(Offer {
        title: "unsnarl: can another thread run between these lines?".to_owned(),
        command: BETWEEN,
        arguments: vec![
            json!(to_proto::uri(path)?),
            json!(lines.start),
            json!(lines.end - 1),
        ],
    })
}

/// The answer of the failing run and the passing ones beside it. Reads run files.
pub fn answer(state: &ServerState, path: &Path, lines: &Range<usize>) -> String {
    let Some(known) = recorded(state, path, lines) else {
        return "no recorded run knows these lines as they are now: build and record again"
            .to_owned();
    };
    let mut between = Between::new(&known.file, known.lines);
    for (name, run) in beside::runs(state, known.root, known.explained) {
        between.add(name, &run);
    }
    between.in_words()
}

/// Lines as a run knows them.
struct RecordedLines<'a> {
    root: &'a Root,
    explained: &'a ExplainedFact,
    file: String,
    lines: RangeInclusive<u32>,
}

/// The lines from the first to the last of the selected ones that can be followed back.
fn recorded<'a>(
    state: &'a ServerState,
    path: &Path,
    lines: &Range<usize>,
) -> Option<RecordedLines<'a>> {
    state.selected_first().find_map(|(root, explained)| {
        let located = FollowedFiles::new(&state.sources, root, explained);
        let then = |line: usize| located.recorded(path, line);
        let (file, first) = lines.clone().find_map(then)?;
        let (_, last) = lines.clone().rev().find_map(then)?;
        let file = file.to_owned();
        (first < last).then_some(RecordedLines {
            root,
            explained,
            file,
            lines: first..=last,
        })
    })
}
