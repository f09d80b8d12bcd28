//! Error invariants for programs; `docs/explain-json.md` describes them.

use super::{Failure, Measured};
use crate::explain::stopped;
use serde::Serialize;
use unsnarl_symbolic::invariants::Told;

/// One way to fail.
#[derive(Serialize)]
pub struct Row<'a> {
    failure: &'a str,
    runs: &'a [String],
    run: Option<&'a str>,
    told: Option<&'a Told>,
    stopped: Option<String>,
    reason: Option<&'a str>,
    notes: &'a [String],
    measured: Option<Measured>,
}

impl<'a> Row<'a> {
    /// The row of a way to fail.
    pub fn new(failure: &'a Failure) -> Row<'a> {
        let explained = failure.told.as_deref().ok();
        Row {
            failure: &failure.what,
            runs: &failure.runs,
            run: explained.map(|explained| explained.run.as_str()),
            told: explained.map(|explained| &explained.told),
            stopped: explained.and_then(|explained| stopped(explained.stopped)),
            reason: failure.told.as_ref().err().map(String::as_str),
            notes: &failure.notes,
            measured: explained.map(|explained| explained.measured),
        }
    }
}
