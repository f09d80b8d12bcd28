//! Runs without a program model: recorded values without path conditions.

use super::{Walked, machine::PathMachine, points::PointInstructions, sites::SitesByName};
use crate::trace::Bug;
use unsnarl_core::Budget;
use unsnarl_trace::{EventId, OrderMode, Run, program::Program};

/// Makes the symbolic trace from a run's events alone: every read of shared memory is an unknown with its
/// recorded value, every write writes its recorded value, and there are no path conditions. Linear.
pub fn concrete(run: &Run, budget: &Budget) -> Walked {
    let (program, points, sites) = (
        Program::default(),
        PointInstructions::default(),
        SitesByName::new(&run.meta),
    );
    let mut first = PathMachine::new((run, &program), (&points, &sites), &[], budget);
    first.is_first = true;
    first.take_all();
    let shared = first.uses.shared(|_| false);
    let mut second = PathMachine::new((run, &program), (&points, &sites), &shared, budget);
    second.take_all();
    let lost = match run.meta.mode {
        OrderMode::Path => "the run has no accesses: only its synchronization is known",
        _ => {
            "there is no program model of this run: what threads read is known by its values, but not what they would do with others\n  next: build with `unsnarl cc` and record again"
        }
    };
    second.gaps.insert(0, lost.into());
    if run.meta.outcome.is_failure() {
        second.bug = Bug::Unknown(
            "without a program model the failure's condition cannot be read back".into(),
        );
    }
    second.finish()
}

impl PathMachine<'_> {
    fn take_all(&mut self) {
        for row in 0..self.run.events.len() as u32 {
            if row % 256 == 0 && self.budget.stop().is_some() {
                return;
            }
            self.now = EventId(row);
            if let Some(event) = self.run.events.get(self.now) {
                self.raw(event.thread);
            }
        }
    }
}
