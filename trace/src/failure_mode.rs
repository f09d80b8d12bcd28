//! The failure mode of a run: two runs with the same mode show the same bug, as far as one can tell from outside.

use crate::{EventKind, FailureKind, Outcome, Run, SiteId};

/// The kind and the source places of a failure.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FailureMode {
    outcome: Outcome,
    kind: Option<FailureKind>,
    message: String,
    /// Source places of the failure or, in a hang, of the waiting threads.
    places: Vec<(String, u32, String)>,
}

impl FailureMode {
    /// Returns the failure mode of `run`. Takes time linear in the run if its threads wait for ever.
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
    /// Returns whether two runs fail alike, apart from what the schedule decides. The places where threads wait in a
    /// deadlock depend on the schedule, so two deadlocks are always alike.
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
