//! From a failing run to other orders of it: the threads followed through the program model, orders looked for,
//! nearest first.

use super::{ProjectionTimes, solver::failing_order};
use anyhow::{Result, anyhow, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};
use unsnarl_core::{
    Budget,
    facts::{place, short},
};
use unsnarl_symbolic::{
    SymbolicTrace,
    dsp::{self, AlternateLimits, Alternates, CandidateOrder},
    schedules,
};
use unsnarl_trace::{OrderMode, Run, program::Program};

/// Orders that are executed at most until one passes.
pub const EXECUTED: usize = 200;
/// Places that were taken as recorded and are named one by one.
const NAMED: usize = 5;

/// A failing run as expressions.
pub struct Analysis<'a> {
    pub(super) name: &'a str,
    pub(super) run: &'a Run,
    pub(super) trace: SymbolicTrace,
    pub(super) others: Alternates,
    /// Orders in which other threads wait.
    pub(super) waiting: Vec<CandidateOrder>,
    pub(super) measured: ProjectionTimes,
}

impl<'a> Analysis<'a> {
    /// Follows the threads of a run and looks for orders that do not fail. What could not be followed, or was taken
    /// as recorded, goes into `notes`.
    pub fn of(
        name: &'a str,
        run: &'a Run,
        models: &Program,
        notes: &mut Vec<String>,
        budget: &Budget,
    ) -> Result<Analysis<'a>> {
        refuse(run)?;
        match Analysis::with(name, run, models, budget) {
            Ok(analysis) => {
                analysis.note(notes);
                Ok(analysis)
            }
            Err(contradiction) => {
                notes.push(format!(
                    "the program model contradicts the run, so only its order is used: {contradiction}"
                ));
                let analysis = Analysis::with(name, run, &Program::default(), budget);
                analysis.map_err(|reason| anyhow!("the run contradicts itself: {reason}"))
            }
        }
    }

    /// The error says why the recorded order is none.
    fn with(
        name: &'a str,
        run: &'a Run,
        models: &Program,
        budget: &Budget,
    ) -> Result<Analysis<'a>, String> {
        let mut measured = sizes(run);
        let begin = Instant::now();
        let trace = unsnarl_symbolic::walk(run, models, budget).trace;
        measured.symbolic_ms = milliseconds(begin.elapsed());
        let begin = Instant::now();
        let others = dsp::alternates(&trace, &trace.order, &options(&trace, run), None, budget);
        let others = others.map_err(|why| dsp::infeasible_in_words(&why, &trace, run))?;
        let waiting = dsp::waiting(&trace, run, &trace.order);
        measured.search_ms = milliseconds(begin.elapsed());
        measured.pairs = others.all_pairs;
        measured.tried = others.pairs;
        Ok(Analysis {
            name,
            run,
            trace,
            others,
            waiting,
            measured,
        })
    }

    /// Solves for the failing order and its root cause.
    pub fn solve(
        &mut self,
        limits: &schedules::SolverOptions,
        notes: &mut Vec<String>,
        budget: &Budget,
    ) {
        let cause = failing_order(self.run, &self.trace, limits, budget);
        let counts = cause.counts;
        self.measured.constraints =
            Some(counts.path + counts.bug + counts.sync + counts.rw + counts.mo);
        self.measured.variables = Some(counts.variables);
        self.measured.solver_ms = Some(milliseconds(cause.time));
        notes.extend(cause.lines);
    }

    fn note(&self, notes: &mut Vec<String>) {
        notes.extend(self.trace.gaps.iter().cloned());
        let mut taken: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for one in &self.trace.concretized {
            let at = short(&place(self.run, one.site));
            taken.entry(&one.what).or_default().insert(at);
        }
        let count = taken.len();
        for (what, places) in taken.iter().take(NAMED) {
            let places: Vec<&str> = places.iter().map(String::as_str).collect();
            notes.push(format!("taken as recorded: {what} ({})", places.join(", ")));
        }
        if count > NAMED {
            notes.push(format!("{} more were taken as recorded", count - NAMED));
        }
    }
}

pub(super) fn options(trace: &SymbolicTrace, run: &Run) -> AlternateLimits {
    AlternateLimits {
        candidates: EXECUTED,
        check: dsp::check_of(trace, run),
        ..AlternateLimits::default()
    }
}

/// Runs that have no order and values to go by.
fn refuse(run: &Run) -> Result<()> {
    match run.meta.mode {
        OrderMode::Free => bail!(
            "its order is not exact: it was recorded while the threads ran freely\n  next: record with a controlled strategy, such as the default"
        ),
        _ => Ok(()),
    }
}

/// Counts the shared locations of a run and the accesses to them.
fn sizes(run: &Run) -> ProjectionTimes {
    let mut uses: BTreeMap<u32, (BTreeSet<u16>, bool, usize)> = BTreeMap::new();
    let accesses = run.events.iter().map(|(_, event)| event);
    for event in accesses.filter(|event| event.kind.is_access()) {
        let (threads, is_written, count) = uses.entry(event.location.0).or_default();
        threads.insert(event.thread.0);
        *is_written |= event.kind.writes();
        *count += 1;
    }
    uses.retain(|_, (threads, is_written, _)| threads.len() > 1 && *is_written);
    ProjectionTimes {
        shared_variables: uses.len(),
        shared_accesses: uses.values().map(|(_, _, count)| count).sum(),
        ..ProjectionTimes::default()
    }
}

pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
