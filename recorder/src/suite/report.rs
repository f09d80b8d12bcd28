//! The result of recording a case.

use crate::record::{CampaignTally, Observed};
use std::{path::PathBuf, time::Duration};
use unsnarl_trace::{FailureKind, Run};

/// The result of recording a case.
#[derive(Clone, Debug)]
pub struct CaseReport {
    /// The verdict.
    pub verdict: CaseVerdict,
    /// Counts of its runs.
    pub tally: CampaignTally,
    /// Addresses in the program's file of the places that its runs have come to.
    pub code: Vec<u64>,
    /// Time that its runs took.
    pub time: Duration,
}

/// The verdict about a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaseVerdict {
    /// It passed in all schedules that were tried.
    Passed,
    /// It failed in a schedule.
    Failed(Box<CaseFailure>),
    /// Its author has disabled it.
    Disabled,
    /// It cannot be recorded, for this reason.
    NotRecordable(String),
    /// Time or patience were over before its first run had ended.
    NotRun,
}

/// The first failure of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaseFailure {
    /// Its kind.
    pub kind: FailureKind,
    /// Its message: that of the framework where a check failed.
    pub message: String,
    /// Source file, if it is known.
    pub file: Option<String>,
    /// Line in the file, from 1.
    pub line: u32,
    /// Number of the schedule that failed first, from 1.
    pub schedule: u64,
    /// The run file.
    pub run: Option<PathBuf>,
}

impl CaseFailure {
    /// The failure of a run, if it failed.
    pub(super) fn of(seen: &Observed<'_>) -> Option<CaseFailure> {
        if !seen.outcome().is_failure() {
            return None;
        }
        let run = seen.run();
        let failure = run.meta.failure.as_ref()?;
        let place = place(run);
        let text = seen.check.map(|check| check.text.clone());
        let text = text.filter(|text| !text.is_empty());
        Some(CaseFailure {
            kind: failure.kind,
            message: text.unwrap_or_else(|| failure.message.clone()),
            line: place.as_ref().map_or(0, |(_, line)| *line),
            file: place.map(|(file, _)| file),
            schedule: seen.tally.runs,
            run: seen.file.map(PathBuf::from),
        })
    }

    /// Returns whether the case hangs: no thread can go on, or it does not end.
    pub fn is_hang(&self) -> bool {
        matches!(self.kind, FailureKind::Deadlock | FailureKind::Timeout)
    }
}

/// File and line of a run's failure.
fn place(run: &Run) -> Option<(String, u32)> {
    let site = run.meta.failure.as_ref()?.site?;
    let row = run.meta.site(site);
    (row.line != 0).then(|| (row.file.clone(), row.line))
}
