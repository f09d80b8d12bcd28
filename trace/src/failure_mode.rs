//! How a run fails: the same way is the same bug, as far as one can see from outside.

use crate::{EventKind, FailureKind, Outcome, Run, SiteId};

/// How and where a run fails.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FailureMode {
    outcome: Outcome,
    kind: Option<FailureKind>,
    message: String,
    /// Where, or where the threads wait.
    places: Vec<(String, u32, String)>,
}

impl FailureMode {
    /// That of a run. Linear in the run where its threads wait for ever.
    pub fn of(run: &Run) -> FailureMode {
        let failure = run.meta.failure.as_ref();
        let kind = failure.map(|failure| failure.kind);
        // How many steps it took is not how it fails.
        let message = match (kind, failure) {
            (Some(FailureKind::Timeout), _) | (_, None) => String::new(),
            (_, Some(failure)) => failure.message.clone(),
        };
        let mut places: Vec<_> = match kind {
            Some(FailureKind::Deadlock) => blocked(run).map(|site| place(run, site)).collect(),
            Some(FailureKind::Timeout) => Vec::new(),
            _ => failure
                .and_then(|failure| failure.site)
                .map(|site| place(run, site))
                .into_iter()
                .collect(),
        };
        places.sort();
        FailureMode {
            outcome: run.meta.outcome,
            kind,
            message,
            places,
        }
    }
}

impl FailureMode {
    /// Whether two runs fail alike, as far as the schedule is not what they differ in: who waits where besides, once
    /// threads wait for ever, is a matter of the schedule.
    pub fn is_like(&self, other: &FailureMode) -> bool {
        let both_hang = [self, other].map(|way| way.outcome == Outcome::Deadlocked);
        both_hang == [true, true] || self == other
    }
}

fn blocked(run: &Run) -> impl Iterator<Item = SiteId> + '_ {
    let columns = run.events.kinds().iter().zip(run.events.sites());
    columns
        .filter(|(kind, _)| **kind == EventKind::Blocked as u8)
        .map(|(_, site)| SiteId(*site))
}

fn place(run: &Run, site: SiteId) -> (String, u32, String) {
    let row = run.meta.site(site);
    (row.file.clone(), row.line, row.function.clone())
}
