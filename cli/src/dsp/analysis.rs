//! From a failing run to its projection: the threads followed through the program model, other orders looked for,
//! nearest first, and executed until one passes.

use super::{
    Measured, Projection,
    execute::{Executor, Tried, WAYS},
    solver::failing_order,
};
use anyhow::{Result, anyhow, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};
use unsnarl_core::{
    Budget, StopReason, Tally,
    dsp::{self, Alternate, Alternates, Candidate, Dsp, Options},
    facts::{place, short},
    schedules::{self, Flips},
    symbolic::{self, Bug, StepId, SymbolicTrace},
};
use unsnarl_trace::{EventId, Mode, Run, program::Program};

/// Orders that are executed at most until one passes.
const EXECUTED: usize = 200;
/// Further orders that are executed when one passes that only executing could tell: another may differ in less.
const BETTER: usize = 8;
/// What the solver may do for all pairs of a run together, where the simulation finds nothing: some seconds.
const SOLVED: u64 = 20_000_000;
/// Places that were taken as recorded and are named one by one.
const NAMED: usize = 5;

/// A failing run as expressions.
pub struct Analysis<'a> {
    name: &'a str,
    run: &'a Run,
    trace: SymbolicTrace,
    others: Alternates,
    measured: Measured,
}

/// An order that may pass.
enum Other {
    /// All that is known says that it does not fail.
    Found(Alternate),
    /// Only executing it tells.
    Undecided(Candidate),
}

impl Other {
    fn order(&self) -> &[StepId] {
        match self {
            Other::Found(alternate) => &alternate.order,
            Other::Undecided(candidate) => &candidate.order,
        }
    }

    fn pair(&self) -> [StepId; 2] {
        match self {
            Other::Found(Alternate { pair, .. }) | Other::Undecided(Candidate { pair, .. }) => {
                [pair.0, pair.1]
            }
        }
    }
}

/// The order that is shown, and what executing it has shown.
struct Chosen {
    other: Other,
    /// The run that had it and passed.
    passing: Option<Box<Run>>,
    tally: Option<Tally>,
    unconfirmed: Option<String>,
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
        let trace = symbolic::walk(run, models, budget).trace;
        measured.symbolic_ms = milliseconds(begin.elapsed());
        let begin = Instant::now();
        let others = dsp::alternates(&trace, &trace.order, &options(&trace, run), None, budget);
        let others = others.map_err(|infeasible| infeasible.in_words(&trace, run))?;
        measured.search_ms = milliseconds(begin.elapsed());
        measured.pairs = others.all_pairs;
        measured.tried = others.pairs;
        Ok(Analysis {
            name,
            run,
            trace,
            others,
            measured,
        })
    }

    /// Solves for the failing order and its root cause.
    pub fn solve(&mut self, notes: &mut Vec<String>, budget: &Budget) {
        let cause = failing_order(self.run, &self.trace, budget);
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

    /// Executes the orders, where that can be done, until one passes; the solver is asked for others when none does.
    pub fn project(
        mut self,
        executor: &Result<Executor<'_>, String>,
        budget: &Budget,
    ) -> Result<Projection> {
        let cheap = self.choose(executor, budget);
        let is_enough = match &cheap {
            Ok(chosen) => chosen.passing.is_some() || executor.is_err(),
            Err(_) => false,
        };
        let chosen = match is_enough || !self.ask_solver(budget) {
            true => cheap?,
            false => self.choose(executor, budget).or(cheap)?,
        };
        let dsp = self.dsp(&chosen)?;
        Ok(Projection {
            run: self.name.to_owned(),
            dsp,
            confirmed: chosen.tally,
            unconfirmed: chosen.unconfirmed,
            measured: self.measured,
        })
    }

    /// The best of the orders that were found.
    fn choose(
        &mut self,
        executor: &Result<Executor<'_>, String>,
        budget: &Budget,
    ) -> Result<Chosen> {
        let stopped = self.others.stopped;
        let found = std::mem::take(&mut self.others.found);
        let undecided = std::mem::take(&mut self.others.undecided);
        let others = found.into_iter().map(Other::Found);
        let others = others.chain(undecided.into_iter().map(Other::Undecided));
        match executor {
            Ok(executor) => self.execute(others, executor, budget, stopped),
            Err(reason) => unexecuted(others, reason.clone(), stopped),
        }
    }

    /// Asks the solver about every pair that the simulation found no order for. Has it found one?
    fn ask_solver(&mut self, budget: &Budget) -> bool {
        // Without a condition there is nothing to solve for: executing tells.
        if !matches!(
            self.trace.bug,
            Bug::Condition { .. } | Bug::AfterFree { .. }
        ) {
            return false;
        }
        let begin = Instant::now();
        let effort = schedules::Options {
            effort: SOLVED,
            ..schedules::Options::default()
        };
        let trace = &self.trace;
        let options = Options {
            solve_all: true,
            ..options(trace, self.run)
        };
        let mut solver = Flips::new(trace, &trace.order, effort);
        let solved = dsp::alternates(trace, &trace.order, &options, Some(&mut solver), budget);
        self.measured.search_ms += milliseconds(begin.elapsed());
        // The recorded order was feasible before.
        let Ok(mut solved) = solved else { return false };
        solved.found.retain(|alternate| alternate.by_solver);
        solved.undecided.clear();
        self.others = solved;
        !self.others.found.is_empty()
    }

    fn dsp(&self, chosen: &Chosen) -> Result<Dsp> {
        match (&chosen.other, &chosen.passing) {
            (Other::Found(alternate), _) => {
                let (trace, run) = (&self.trace, self.run);
                dsp::project(trace, run, &trace.order, alternate)
                    .map_err(|infeasible| anyhow!(infeasible.in_words(trace, run)))
            }
            (Other::Undecided(candidate), Some(passing)) => {
                let hints = dsp::hints(&self.trace, &self.trace.order, candidate.pair);
                Ok(dsp::project_runs(self.run, passing, &hints))
            }
            (Other::Undecided(_), None) => {
                bail!("an order that only executing tells was not executed")
            }
        }
    }

    fn execute(
        &mut self,
        others: impl Iterator<Item = Other>,
        executor: &Executor<'_>,
        budget: &Budget,
        stopped: StopReason,
    ) -> Result<Chosen> {
        let begin = Instant::now();
        let (fails, difference) = executor.repeats(self.run)?;
        let mut first: Option<(Other, String)> = None;
        let mut reason = None;
        let (mut best, mut weak): (Option<(Chosen, Dsp)>, _) = (None, None);
        let mut last = EXECUTED;
        for other in others {
            if self.measured.executed >= last || budget.stop().is_some() {
                break;
            }
            self.measured.executed += 1;
            let ways = match other {
                Other::Found(_) => WAYS,
                Other::Undecided(_) => 1,
            };
            let (order, pair) = (self.events(other.order()), self.events(&other.pair()));
            match executor.passes(&order, &pair, ways)? {
                Tried::Passes { passes, run } => {
                    let times = executor.times();
                    let tally = Tally {
                        fails: fails as u32,
                        of_fails: times as u32,
                        passes: passes as u32,
                        of_passes: times as u32,
                    };
                    let passing = Chosen {
                        other,
                        passing: Some(run),
                        tally: Some(tally),
                        unconfirmed: difference.clone(),
                    };
                    let dsp = self.dsp(&passing)?;
                    let is_decided = matches!(passing.other, Other::Found(_));
                    if !dsp.explains {
                        // It passes, but what it does differently says nothing of the failure.
                        weak.get_or_insert(passing);
                    } else if best
                        .as_ref()
                        .is_none_or(|(_, best)| size(&dsp) < size(best))
                    {
                        last = last.min(self.measured.executed + BETTER);
                        best = Some((passing, dsp));
                    }
                    if is_decided && best.is_some() {
                        break;
                    }
                }
                Tried::Not(why) => {
                    reason.get_or_insert_with(|| why.clone());
                    if matches!(other, Other::Found(_)) && first.is_none() {
                        first = Some((other, why));
                    }
                }
                Tried::Stopped => break,
            }
        }
        self.measured.executing_ms = milliseconds(begin.elapsed());
        let chosen = best.map(|(chosen, _)| chosen);
        match (chosen.or(weak), first) {
            (Some(chosen), _) => Ok(chosen),
            (None, Some((other, why))) => Ok(Chosen {
                other,
                passing: None,
                tally: None,
                unconfirmed: Some(why),
            }),
            (None, None) => bail!(none_passes(self.measured.executed, reason, stopped)),
        }
    }

    fn events(&self, order: &[StepId]) -> Vec<EventId> {
        dsp::events(&self.trace, order)
    }
}

fn options(trace: &SymbolicTrace, run: &Run) -> Options {
    Options {
        candidates: EXECUTED,
        check: dsp::check_of(trace, run),
        ..Options::default()
    }
}

/// How much two orders differ, what matters most first: the nearest order explains best.
pub fn size(dsp: &Dsp) -> (u32, u32, u32) {
    let counts = dsp.counts;
    (counts.variations, counts.to_read, counts.shown)
}

/// What is shown when nothing is executed: the first order that does not fail as far as the model tells.
fn unexecuted(
    mut others: impl Iterator<Item = Other>,
    reason: String,
    stopped: StopReason,
) -> Result<Chosen> {
    let Some(other) = others.next() else {
        bail!(none_passes(0, None, stopped));
    };
    if matches!(other, Other::Undecided(_)) {
        bail!("other orders can only be told apart by executing them, and they were not: {reason}");
    }
    Ok(Chosen {
        other,
        passing: None,
        tally: None,
        unconfirmed: Some(reason),
    })
}

fn none_passes(executed: usize, reason: Option<String>, stopped: StopReason) -> String {
    let budget = match stopped {
        StopReason::Complete => String::new(),
        _ => ", but not all were looked at\n  next: give it more time: --budget".to_owned(),
    };
    match (executed, reason) {
        (0, _) => format!(
            "no order of the recorded steps passes{budget}: what is missing may come after the point where the run ended, or the failure does not depend on the order"
        ),
        (executed, reason) => format!(
            "none of {executed} other orders passed when it was executed{budget}: {}",
            reason.unwrap_or_default()
        ),
    }
}

/// Runs that have no order and values to go by.
fn refuse(run: &Run) -> Result<()> {
    match run.meta.mode {
        Mode::Free => bail!(
            "its order is not exact: it was recorded while the threads ran freely\n  next: record with a controlled strategy, such as the default"
        ),
        _ => Ok(()),
    }
}

/// What is shared in a run.
fn sizes(run: &Run) -> Measured {
    let mut uses: BTreeMap<u32, (BTreeSet<u16>, bool, usize)> = BTreeMap::new();
    let accesses = run.events.iter().map(|(_, event)| event);
    for event in accesses.filter(|event| event.kind.is_access()) {
        let (threads, is_written, count) = uses.entry(event.location.0).or_default();
        threads.insert(event.thread.0);
        *is_written |= event.kind.writes();
        *count += 1;
    }
    uses.retain(|_, (threads, is_written, _)| threads.len() > 1 && *is_written);
    Measured {
        shared_variables: uses.len(),
        shared_accesses: uses.values().map(|(_, _, count)| count).sum(),
        ..Measured::default()
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
