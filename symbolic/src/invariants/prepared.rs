//! Paths of failing runs that more than one asks about: each is followed once.

use super::{PreparedPath, prepare};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc};
use unsnarl_core::{Budget, StopReason};
use unsnarl_trace::{Run, program::Program};

/// Runs with more events are left out: an explanation is not to wait for them.
const EVENTS: usize = 20_000;

/// The paths of one program's failing runs, as far as they were asked for.
#[derive(Default)]
pub struct PreparedPaths {
    program: Rc<Program>,
    known: RefCell<BTreeMap<String, Option<Rc<PreparedPath>>>>,
}

impl PreparedPaths {
    /// The paths of runs of this program.
    #[must_use]
    pub fn new(program: Rc<Program>) -> PreparedPaths {
        PreparedPaths {
            program,
            known: RefCell::default(),
        }
    }

    /// The path of a failing run of this name, where it is short enough for being told beside a story; none without a model,
    /// or when the failure cannot be read back. What a budget has cut short is tried again with the next one.
    #[must_use]
    pub fn of(&self, run: &Run, name: &str, budget: &Budget) -> Option<Rc<PreparedPath>> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let path = follow(run, &self.program, budget).map(Rc::new);
        if path.is_some() || budget.stop().is_none() {
            let name = name.to_owned();
            self.known.borrow_mut().insert(name, path.clone());
        }
        path
    }
}

/// Follows a run that is short enough. Why nothing can be told is said when the engine is asked by itself.
pub(super) fn follow(run: &Run, program: &Program, budget: &Budget) -> Option<PreparedPath> {
    if program.is_empty() || run.events.len() > EVENTS {
        return None;
    }
    let walked = crate::walk_in_words(run, program, budget);
    if walked.stopped != StopReason::Complete {
        return None;
    }
    let trace = &walked.trace;
    prepare(trace, run, &trace.order).ok()
}
