//! Marks at the lines that a fix changes, so that one sees it where one would act.

use crate::{
    edits::{self, FileEdits},
    facts::ExplainedFact,
    host::ServerState,
    marks::{LineSpot, Mark, Severity, code},
    paths::Root,
};
use std::collections::BTreeSet;

/// The marks of the first fix of an explanation that the sources allow: one for each line that it changes and that has code.
pub fn of(state: &ServerState, root: &Root, explained: &ExplainedFact) -> Vec<Mark> {
    if !state.config.fix_marks {
        return Vec::new();
    }
    let mut fixes = explained.explanation.fixes.iter();
    let made = fixes.find_map(|fix| Some((fix, edits::of_fix(state, root, explained, fix).ok()?)));
    let Some((fix, files)) = made else {
        return Vec::new();
    };
    let message = format!("a fix changes this line: {}", fix.title);
    let spots = files.iter().flat_map(spots);
    spots
        .map(|spot| Mark {
            spot,
            level: Severity::Hint,
            kind: Some(explained.explanation.kind),
            explanation: Some(explained.explanation.id.clone()),
            message: message.clone(),
            related: Vec::new(),
        })
        .collect()
}

/// The lines with code at which the edits of a file begin.
fn spots(file: &FileEdits) -> Vec<LineSpot> {
    let lines: BTreeSet<usize> = file.edits.iter().map(|edit| edit.from.0).collect();
    let spots = lines.into_iter().filter_map(|line| {
        let source = file.text.line(line)?.to_owned();
        let columns = code(&source);
        (!columns.is_empty()).then(|| LineSpot {
            path: file.path.clone(),
            line,
            part: columns.clone(),
            columns,
            source,
        })
    });
    spots.collect()
}
