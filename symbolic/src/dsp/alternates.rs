//! Alternates: orders that flip a pair of steps of the failing order and do not fail ([symbiosis], section
//! 3.4), found by re-simulation in microseconds each, where the paper asks a solver.
//!
//! Pairs of accesses of one cell that touch the slice of the failure are tried nearest first. A pair is
//! flipped by holding its first thread back until the second access has happened: before the access itself,
//! or before a lock within which it lies, since a thread that is held back in a critical section keeps others
//! from entering. Meanwhile either all other threads run, or only the second one. The rest follows in the
//! failing order. Every alternate has passed the [`Checker`]. A pair after which a thread leaves its path is
//! undecided: only the program itself can say what happens then.

use super::{
    check::{Feasible, InfeasibleTrace, TraceConstraints},
    pairs::{ConflictPairs, StepPair},
    simulate::{AttemptEnd, SimulatedAttempt, Simulator},
    slice::{Matters, Slice},
};
use crate::{Action, Bug, CellId, StepId, SymbolicTrace};
use rustc_hash::FxHashSet;
use unsnarl_core::{Budget, StopReason};
use unsnarl_order::builder::BaseOrder;
use unsnarl_trace::{EventId, Run, SiteId};

/// Limits of the search for alternates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AlternateLimits {
    /// Number of alternates to end with; `1` ends with the first one found.
    pub alternates: usize,
    /// Number of undecided candidates to keep.
    pub candidates: usize,
    /// Number of pairs to try at most.
    pub pairs: usize,
    /// Number of further pairs to try after the first alternate, or three times as many as it took if that is
    /// more.
    pub patience: usize,
    /// `true` to ask the solver about every pair without an alternate, not only when no alternate was found
    /// at all.
    pub solve_all: bool,
    /// The step at which the failing thread begins to read what its check depends on; used only when the
    /// condition of the failure is not known. See [`check_of`].
    pub check: Option<StepId>,
}

impl Default for AlternateLimits {
    fn default() -> AlternateLimits {
        AlternateLimits {
            alternates: 8,
            candidates: 32,
            pairs: usize::MAX,
            patience: 64,
            solve_all: false,
            check: None,
        }
    }
}

impl AlternateLimits {
    /// The options without limits.
    pub fn all() -> AlternateLimits {
        AlternateLimits {
            alternates: usize::MAX,
            candidates: usize::MAX,
            pairs: usize::MAX,
            patience: usize::MAX,
            solve_all: true,
            check: None,
        }
    }
}

/// A feasible order that does not fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternate {
    /// The flipped steps; the first came first in the failing order.
    pub pair: (StepId, StepId),
    /// All steps that happen, in order.
    pub order: Vec<StepId>,
    /// The checker's verdict.
    pub feasible: Feasible,
    /// Serializability of the accesses to the pair's cell around the other thread's access.
    pub serial: Serial,
    /// Number of reads (and final cell values) that take another write's value than in the failing order.
    pub variations: usize,
    /// `true` if the solver found it, not the simulation.
    pub by_solver: bool,
}

/// Serializability of a region in an alternate. Alternates with a serial region explain most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Serial {
    /// Nothing comes between the thread's accesses of the cell around the other's access.
    Whole,
    /// There is no such region: only the order of the pair counts.
    Pair,
    /// Other accesses still come between.
    Mixed,
}

/// An order that only an execution of the program can decide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CandidateOrder {
    /// The steps to flip; the first came first in the failing order.
    pub pair: (StepId, StepId),
    /// The steps to execute, in order; after them the threads run freely.
    pub order: Vec<StepId>,
    /// The step at which a thread leaves its recorded path, if that makes the order undecided.
    pub departs: Option<StepId>,
    /// `true` if the pair is about locks, or a signal and a wait, of a run in which all threads wait.
    pub waits: bool,
}

/// Result of the search for alternates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternates {
    /// Orders that do not fail, best first: by [`Serial`], then by fewest variations, then in the order of
    /// discovery.
    pub found: Vec<Alternate>,
    /// Candidates to execute, nearest first.
    pub undecided: Vec<CandidateOrder>,
    /// Number of pairs tried before the first alternate was found (all, when none was): "#Alt Pairs".
    pub pairs: usize,
    /// Number of pairs tried.
    pub all_pairs: usize,
    /// Number of orders simulated.
    pub simulated: usize,
    /// Number of pairs that the solver was asked about.
    pub solved: usize,
    /// Stop reason of the search.
    pub stopped: StopReason,
}

/// Solver for Phi_alt of one pair.
pub trait Solve {
    /// Finds a feasible order in which the second step comes before the first and the run does not fail.
    fn flipped(&mut self, first: StepId, second: StepId, budget: &Budget) -> PairAnswer;
}

/// Answer of a solver about a pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PairAnswer {
    /// A feasible order that does not fail.
    Order(Vec<StepId>),
    /// No such order exists.
    Impossible,
    /// The solver gave up, for this reason.
    Unknown(String),
}

/// Finds alternates of a failing order; an error when that order itself is not feasible. `solver` is asked
/// about the pairs for which the simulation found nothing, when it found no alternate at all (see
/// [`AlternateLimits::solve_all`]).
pub fn alternates(
    trace: &SymbolicTrace,
    failing: &[StepId],
    options: &AlternateLimits,
    solver: Option<&mut dyn Solve>,
    budget: &Budget,
) -> Result<Alternates, InfeasibleTrace> {
    let checker = TraceConstraints::new(trace);
    checker.check(failing)?;
    let slice = match (&trace.bug, options.check) {
        (Bug::Unknown(_), Some(check)) => Slice::of_check(trace, failing, check),
        _ => Slice::new(trace, failing),
    };
    let first = trace.first_values();
    let mut search = AlternateSearch {
        trace,
        failing,
        options,
        budget,
        checker,
        simulator: Simulator::new(trace, failing, first),
        tried: FxHashSet::default(),
        known: FxHashSet::default(),
        open: Vec::new(),
        result: Alternates {
            found: Vec::new(),
            undecided: Vec::new(),
            pairs: 0,
            all_pairs: 0,
            simulated: 0,
            solved: 0,
            stopped: StopReason::Complete,
        },
    };
    search.freed();
    for level in [Matters::Data, Matters::Control] {
        if search.result.stopped == StopReason::Complete {
            search.level(&slice, level);
        }
    }
    if let Some(solver) = solver
        && (options.solve_all || search.result.found.is_empty())
    {
        search.ask(solver);
    }
    let mut result = search.result;
    result
        .found
        .sort_by_key(|alternate| (alternate.serial, alternate.variations));
    Ok(result)
}

/// The step at which the failing thread begins to read what its check depends on: the first of its last reads
/// on the line of the failure, or its last read where the line has none.
pub fn check_of(trace: &SymbolicTrace, run: &Run) -> Option<StepId> {
    let failure = run.meta.failure.as_ref()?;
    let thread = failure.thread?;
    let steps = &trace.threads.get(thread.index())?.steps;
    let line = |site: SiteId| {
        let row = run.meta.site(site);
        (row.file.as_str(), row.line)
    };
    let reads = (0..)
        .zip(steps)
        .filter(|(_, step)| matches!(step.action, Action::Read { .. }));
    let reads: Vec<(u32, SiteId)> = reads.map(|(index, step)| (index, step.site)).collect();
    let failing = failure.site.map(line);
    let on_line = |(_, site): &&(u32, SiteId)| Some(line(*site)) == failing;
    let latest = reads.iter().rev().skip_while(|read| !on_line(read));
    let first = latest.take_while(on_line).last().or(reads.last());
    first.map(|&(index, _)| StepId { thread, index })
}

/// The recorded events of an order's steps, each once, as a proposed schedule names them.
pub fn events(trace: &SymbolicTrace, order: &[StepId]) -> Vec<EventId> {
    let events = order.iter().filter_map(|&id| trace.step(id)?.event);
    let mut events: Vec<EventId> = events.collect();
    events.dedup();
    events
}

/// Classifies an alternate by [`Serial`]. Linear in the orders.
fn serial(
    trace: &SymbolicTrace,
    failing: &[StepId],
    (first, second): (StepId, StepId),
    order: &[StepId],
) -> Serial {
    let Some((cell, _)) = access(trace, second) else {
        return Serial::Pair;
    };
    let on_cell = |id: &StepId| access(trace, *id).is_some_and(|(other, _)| other == cell);
    let of = |order: &[StepId]| {
        order
            .iter()
            .copied()
            .filter(on_cell)
            .collect::<Vec<StepId>>()
    };
    let (before, after) = (of(failing), of(order));
    let place = |id: StepId| before.iter().position(|&other| other == id);
    let (Some(a), Some(b)) = (place(first), place(second)) else {
        return Serial::Pair;
    };
    let mut earlier = before.iter().take(a).rev();
    let ending = earlier.find(|id| id.thread == second.thread);
    let mut later = before.iter().skip(b + 1);
    let beginning = later.find(|id| id.thread == first.thread);
    let regions = [
        ending.map(|&start| (start, second)),
        beginning.map(|&end| (first, end)),
    ];
    let is_whole = |(start, end): (StepId, StepId)| {
        let place = |id: StepId| after.iter().position(|&other| other == id);
        let (Some(start), Some(end)) = (place(start), place(end)) else {
            return false;
        };
        let within = after.get(start..=end).unwrap_or(&[]);
        let mine = |id: &&StepId| id.thread == within.first().map_or(id.thread, |id| id.thread);
        let writes = |id: &StepId| access(trace, *id).is_some_and(|(_, writes)| writes);
        let i_write = within.iter().filter(mine).any(writes);
        let others = within.iter().filter(|id| !mine(id));
        !others.into_iter().any(|id| i_write || writes(id))
    };
    let mut regions = regions.into_iter().flatten().peekable();
    match (regions.peek().is_some(), regions.any(is_whole)) {
        (false, _) => Serial::Pair,
        (true, true) => Serial::Whole,
        (true, false) => Serial::Mixed,
    }
}

/// The cell that a step accesses, and whether it writes it.
fn access(trace: &SymbolicTrace, id: StepId) -> Option<(CellId, bool)> {
    match trace.step(id)?.action {
        Action::Read { cell, .. } => Some((cell, false)),
        Action::Write { cell, .. } => Some((cell, true)),
        _ => None,
    }
}

struct AlternateSearch<'t> {
    trace: &'t SymbolicTrace,
    failing: &'t [StepId],
    options: &'t AlternateLimits,
    budget: &'t Budget,
    checker: TraceConstraints<'t>,
    simulator: Simulator<'t>,
    tried: FxHashSet<SimulatedAttempt>,
    /// The differences of the alternates found so far.
    known: FxHashSet<(u32, Vec<u32>)>,
    /// Pairs without an alternate.
    open: Vec<(StepId, StepId)>,
    result: Alternates,
}

/// Number of pairs between two polls of the budget.
const POLL: usize = 16;

impl AlternateSearch<'_> {
    /// Tries the free of a block and the access after it, a pair that shares no cell.
    fn freed(&mut self) {
        if let Bug::AfterFree { step, freed } = self.trace.bug {
            let program = &self.simulator.program;
            let pair = StepPair {
                first: program.flat(freed),
                second: program.flat(step),
            };
            self.look_at(pair);
        }
    }

    fn level(&mut self, slice: &Slice, level: Matters) {
        let pairs = ConflictPairs::new(
            &self.simulator.program,
            &self.simulator.program.base,
            slice,
            level,
        );
        for pair in pairs {
            if self.result.all_pairs.is_multiple_of(POLL)
                && let Some(stopped) = self.budget.stop()
            {
                self.result.stopped = stopped;
                return;
            }
            if self.has_enough() {
                return;
            }
            self.look_at(pair);
        }
    }

    fn has_enough(&self) -> bool {
        let further = self.result.all_pairs - self.result.pairs;
        let patience = self
            .options
            .patience
            .max(self.result.pairs.saturating_mul(3));
        self.result.all_pairs >= self.options.pairs
            || self.result.found.len() >= self.options.alternates
            || (!self.result.found.is_empty() && further >= patience)
            || (matches!(self.trace.bug, Bug::Unknown(_) | Bug::Deadlock)
                && self.result.undecided.len() >= self.options.candidates)
    }

    /// Tries all attempts of a pair, until one is an alternate.
    fn look_at(&mut self, pair: StepPair) {
        self.result.all_pairs += 1;
        if self.result.found.is_empty() {
            self.result.pairs = self.result.all_pairs;
        }
        let mut undecided = None;
        for attempt in self.attempts(pair) {
            if !self.tried.insert(attempt) {
                continue;
            }
            self.result.simulated += 1;
            match self.simulator.attempt(&attempt) {
                AttemptEnd::Passes { .. } => {
                    if self.keep(pair, &attempt) {
                        return;
                    }
                }
                AttemptEnd::Departs(at) => {
                    undecided =
                        undecided.or_else(|| Some(self.candidate(pair, &attempt, Some(at))));
                }
                AttemptEnd::Open => {
                    undecided = undecided.or_else(|| Some(self.candidate(pair, &attempt, None)));
                }
                AttemptEnd::Fails | AttemptEnd::Stuck => {}
            }
        }
        let program = &self.simulator.program;
        self.open
            .push((program.id(pair.first), program.id(pair.second)));
        if let Some(undecided) = undecided
            && self.result.undecided.len() < self.options.candidates
        {
            self.result.undecided.push(undecided);
        }
    }

    /// The points at which the first thread can be held back: before the access, or before a lock that it
    /// holds there, from the innermost outwards; first with all other threads running, then with the second
    /// one alone.
    fn attempts(&self, pair: StepPair) -> Vec<SimulatedAttempt> {
        let program = &self.simulator.program;
        let (first, _) = program.unit(pair.first);
        let (_, until) = program.unit(pair.second);
        let mut holds = program.acquisitions(first).to_vec();
        holds.insert(0, first);
        let mut attempts = Vec::new();
        for alone in [false, true] {
            for hold in &holds {
                let attempt = self.simulator.held_back(*hold, until, alone);
                if !alone || self.is_third_between(&attempt) {
                    attempts.push(attempt);
                }
            }
        }
        attempts
    }

    /// `true` if a third thread takes steps while the first is held back.
    fn is_third_between(&self, attempt: &SimulatedAttempt) -> bool {
        let program = &self.simulator.program;
        let between = attempt.from as usize..program.place(attempt.until) as usize;
        let mut steps = program.base.get(between).unwrap_or(&[]).iter();
        steps.any(|&flat| ![attempt.held, attempt.awaited].contains(&program.thread(flat)))
    }

    /// Keeps an alternate that the checker accepts and that was not found before.
    fn keep(&mut self, pair: StepPair, attempt: &SimulatedAttempt) -> bool {
        let order = self.simulator.steps(attempt);
        let program = &self.simulator.program;
        let ids = (program.id(pair.first), program.id(pair.second));
        let Ok(feasible) = self.checker.check(&order) else {
            return false;
        };
        if feasible.fails != Some(false) {
            return false;
        }
        if self
            .known
            .insert((attempt.from, self.simulator.order.clone()))
        {
            let variations = super::flows::variations(self.trace, self.failing, &order);
            self.result.found.push(Alternate {
                pair: ids,
                serial: serial(self.trace, self.failing, ids, &order),
                order,
                feasible,
                variations,
                by_solver: false,
            });
        }
        true
    }

    fn candidate(
        &self,
        pair: StepPair,
        attempt: &SimulatedAttempt,
        departs: Option<u32>,
    ) -> CandidateOrder {
        let program = &self.simulator.program;
        let departs = departs.map(|flat| program.id(flat));
        let mut order = self.simulator.steps(attempt);
        let both = [pair.first, pair.second].map(|flat| program.id(flat));
        let end = match departs {
            Some(departs) => order.iter().position(|&id| id == departs),
            // The order after the pair is free.
            None => order
                .iter()
                .rposition(|id| both.contains(id))
                .map(|at| at + 1),
        };
        order.truncate(end.unwrap_or(order.len()));
        CandidateOrder {
            pair: (program.id(pair.first), program.id(pair.second)),
            order,
            departs,
            waits: false,
        }
    }

    /// Asks the solver about the open pairs, nearest first.
    fn ask(&mut self, solver: &mut dyn Solve) {
        for (first, second) in std::mem::take(&mut self.open) {
            if let Some(stopped) = self.budget.stop() {
                self.result.stopped = stopped;
                return;
            }
            self.result.solved += 1;
            let PairAnswer::Order(order) = solver.flipped(first, second, self.budget) else {
                continue;
            };
            let Ok(feasible) = self.checker.check(&order) else {
                continue;
            };
            if feasible.fails == Some(false) {
                let variations = super::flows::variations(self.trace, self.failing, &order);
                self.result.found.push(Alternate {
                    pair: (first, second),
                    serial: serial(self.trace, self.failing, (first, second), &order),
                    order,
                    feasible,
                    variations,
                    by_solver: true,
                });
            }
            if self.result.found.len() >= self.options.alternates {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
