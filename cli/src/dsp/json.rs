//! Projections for programs; `docs/explain-json.md` describes them.

use serde::Serialize;
use unsnarl_core::Tally;
use unsnarl_lab::dsp::{ProjectionTimes, WayToFail};
use unsnarl_symbolic::dsp::{self, Dsp};

/// One way to fail.
#[derive(Serialize)]
pub struct DifferenceRow<'a> {
    failure: &'a str,
    runs: &'a [String],
    run: Option<&'a str>,
    headline: Option<String>,
    projection: Option<&'a Dsp>,
    confirmed: Option<Tally>,
    unconfirmed: Option<&'a str>,
    reason: Option<&'a str>,
    notes: &'a [String],
    measured: Option<&'a ProjectionTimes>,
}

impl<'a> DifferenceRow<'a> {
    /// The row of a way to fail.
    pub fn new(failure: &'a WayToFail) -> DifferenceRow<'a> {
        let told = failure.told.as_deref();
        let projection = told.ok();
        DifferenceRow {
            failure: &failure.what,
            runs: &failure.runs,
            run: projection.map(|projection| projection.run.as_str()),
            headline: projection.and_then(|projection| dsp::headline(&projection.dsp)),
            projection: projection.map(|projection| &projection.dsp),
            confirmed: projection.and_then(|projection| projection.confirmed),
            unconfirmed: projection.and_then(|projection| projection.unconfirmed.as_deref()),
            reason: failure.told.as_ref().err().map(String::as_str),
            notes: &failure.notes,
            measured: projection.map(|projection| &projection.measured),
        }
    }
}
