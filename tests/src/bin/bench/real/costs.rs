//! Processor time of a program as it is, under gcc's thread sanitizer, and recorded.

use super::{campaign::CampaignResult, declaration::RecordedProgram, sources::SourceTree};
use crate::paths::children;
use anyhow::{Result, ensure};
use std::{process::Command, time::Duration};
use unsnarl_e2e::Finished;

/// Columns of the costs.
pub const HEAD: [&str; 4] = [
    "native ms",
    "TSan / native",
    "a run of the campaign / native",
    "TSan reports",
];
/// Times that each variant runs; they take turns.
const ROUNDS: u32 = 5;

/// Processor time of one run of each variant; `None` for a program that needs a client.
#[derive(Default)]
pub struct ProgramCosts {
    native: Option<Duration>,
    sanitized: Option<Duration>,
    reports: usize,
}

impl ProgramCosts {
    /// The cells for [`HEAD`].
    pub fn cells(&self, campaign: &CampaignResult) -> Vec<String> {
        let Some((native, sanitized)) = self.native.zip(self.sanitized) else {
            return HEAD.map(|_| "-".to_owned()).to_vec();
        };
        let runs = campaign.summary.tally.runs.max(1) as f64;
        let ratio = |time: f64| format!("{:.1}", time / native.as_secs_f64());
        vec![
            format!("{:.0}", native.as_secs_f64() * 1e3),
            ratio(sanitized.as_secs_f64()),
            ratio(campaign.used.as_secs_f64() / runs),
            self.reports.to_string(),
        ]
    }
}

/// Runs both other variants in turns.
pub fn measure(trees: [&SourceTree; 2], program: &RecordedProgram) -> Result<ProgramCosts> {
    if program.driver.is_some() {
        return Ok(ProgramCosts::default());
    }
    let mut costs = ProgramCosts::default();
    let [native, sanitized] = trees;
    for _ in 0..ROUNDS {
        let (used, finished) = timed(native.command(program))?;
        ensure!(finished.status == Some(0), "{finished}");
        least(&mut costs.native, used);
        let (used, finished) = timed(sanitized.command(program))?;
        least(&mut costs.sanitized, used);
        costs.reports = costs.reports.max(reports(&finished));
    }
    Ok(costs)
}

/// Number of reports that the sanitizer has printed.
pub fn reports(finished: &Finished) -> usize {
    finished.stderr.matches("WARNING: ThreadSanitizer").count()
}

fn timed(command: Command) -> Result<(Duration, Finished)> {
    let before = children()?;
    let finished = Finished::of(command)?;
    Ok((children()?.saturating_sub(before), finished))
}

fn least(so_far: &mut Option<Duration>, time: Duration) {
    *so_far = Some(so_far.map_or(time, |other| other.min(time)));
}
