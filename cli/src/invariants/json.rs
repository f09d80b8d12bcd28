//! Error invariants for programs; `docs/explain-json.md` describes them.

use super::{FailureMode, InvariantTimes};
use crate::explain::stopped;
use serde::Serialize;
use unsnarl_core::diagnosis::Perturbation;
use unsnarl_symbolic::invariants::ToldInvariants;

/// One way to fail.
#[derive(Serialize)]
pub struct FailureRow<'a> {
    failure: &'a str,
    runs: &'a [String],
    run: Option<&'a str>,
    told: Option<&'a ToldInvariants>,
    stopped: Option<String>,
    reason: Option<&'a str>,
    notes: &'a [String],
    measured: Option<InvariantTimes>,
    perturbed: Option<Perturbation>,
}

impl<'a> FailureRow<'a> {
    /// The row of a way to fail.
    pub fn new(failure: &'a FailureMode) -> FailureRow<'a> {
        let explained = failure.told.as_deref().ok();
        FailureRow {
            failure: &failure.what,
            runs: &failure.runs,
            run: explained.map(|explained| explained.run.as_str()),
            told: explained.map(|explained| &explained.told),
            stopped: explained.and_then(|explained| stopped(explained.stopped)),
            reason: failure.told.as_ref().err().map(String::as_str),
            notes: &failure.notes,
            measured: explained.map(|explained| explained.measured),
            perturbed: explained.and_then(|explained| explained.perturbed.clone()?.ok()),
        }
    }
}
