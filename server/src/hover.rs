//! What happened at a line, in the failing run of the best explanation that speaks of its file.

use crate::{
    host::State,
    marks::{Located, Spot},
};
use std::path::Path;

/// Markdown about a line (from 0) of a current file, and the code that it is about.
pub fn hover(state: &State, path: &Path, line: usize) -> Option<(String, Spot)> {
    state.explained().find_map(|(root, explained)| {
        let located = Located::new(&state.sources, root, explained);
        let (file, recorded) = located.recorded(path, line)?;
        let (run, orders) = explained.orders()?;
        let told = unsnarl_core::hover(run, orders, file, recorded, None)?;
        Some((markdown(&told.sentences), located.whole_line(path, line)?))
    })
}

/// One paragraph for each sentence. Names with underscores or stars are no markup.
fn markdown(sentences: &[String]) -> String {
    let plain = |sentence: &String| sentence.replace('_', "\\_").replace('*', "\\*");
    sentences.iter().map(plain).collect::<Vec<_>>().join("\n\n")
}
