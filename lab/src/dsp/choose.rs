//! The order that is shown beside the failing one: executed, the best that is known first, until one passes.

use super::{
    ExecutedProjection,
    analysis::{Analysis, EXECUTED, milliseconds, options},
    execute::{Executor, TriedOrder, WAYS},
};
use anyhow::{Result, anyhow, bail};
use std::time::Instant;
use unsnarl_core::{Budget, StopReason, Tally};
use unsnarl_symbolic::{
    Bug, StepId,
    dsp::{self, Alternate, AlternateLimits, CandidateOrder, Dsp},
    schedules::{self, Flips},
};
use unsnarl_trace::{EventId, Policy, Run};

/// Further orders that are executed when one passes that only executing could tell: another may differ in less.
const BETTER: usize = 8;
/// Effort of the solver for all pairs of a run together, where the simulation finds nothing: some seconds.
const SOLVED: u64 = 20_000_000;

/// An order that may pass.
enum OtherOrder {
    /// All that is known says that it does not fail.
    Found(Alternate),
    /// Only executing it tells.
    Undecided(CandidateOrder),
}

impl OtherOrder {
    fn order(&self) -> &[StepId] {
        match self {
            OtherOrder::Found(alternate) => &alternate.order,
            OtherOrder::Undecided(candidate) => &candidate.order,
        }
    }

    fn pair(&self) -> [StepId; 2] {
        match self {
            OtherOrder::Found(Alternate { pair, .. })
            | OtherOrder::Undecided(CandidateOrder { pair, .. }) => [pair.0, pair.1],
        }
    }
}

/// The order that is shown, and what executing it has shown.
struct ShownOrder {
    other: OtherOrder,
    /// The run that had it and passed.
    passing: Option<Box<Run>>,
    /// The run had the order up to the pair, and went on by itself.
    freely: bool,
    tally: Option<Tally>,
    unconfirmed: Option<String>,
}

impl ShownOrder {
    /// No other order needs to be looked at: all that is known said that it passes, or it is about what threads wait
    /// for.
    fn is_decided(&self) -> bool {
        match &self.other {
            OtherOrder::Found(_) => true,
            OtherOrder::Undecided(candidate) => candidate.waits,
        }
    }
}

/// Results of executing orders so far.
#[derive(Default)]
struct ExecutedOrders {
    /// Of the orders that passed and say why, the one that differs least.
    best: Option<(ShownOrder, Dsp)>,
    /// The first that passed and does not.
    weak: Option<ShownOrder>,
    /// The first that should have passed.
    first: Option<(OtherOrder, String)>,
    /// Reason why the first order that failed did not pass.
    reason: Option<String>,
}

impl ExecutedOrders {
    /// An order that passed. Is it the best so far?
    fn add(&mut self, passing: ShownOrder, dsp: Dsp) -> bool {
        if !dsp.explains {
            // What it does differently says nothing of the failure.
            self.weak.get_or_insert(passing);
            return false;
        }
        let known = self.best.as_ref();
        let is_best = known.is_none_or(|(_, best)| size(&dsp) < size(best));
        if is_best {
            self.best = Some((passing, dsp));
        }
        is_best
    }

    fn failed(&mut self, other: OtherOrder, why: String) {
        self.reason.get_or_insert_with(|| why.clone());
        if matches!(other, OtherOrder::Found(_)) && self.first.is_none() {
            self.first = Some((other, why));
        }
    }

    fn chosen(self, executed: usize, stopped: StopReason) -> Result<ShownOrder> {
        let passing = self.best.map(|(chosen, _)| chosen).or(self.weak);
        match (passing, self.first) {
            (Some(chosen), _) => Ok(chosen),
            (None, Some((other, why))) => Ok(ShownOrder {
                other,
                passing: None,
                freely: false,
                tally: None,
                unconfirmed: Some(why),
            }),
            (None, None) => bail!(none_passes(executed, self.reason, stopped)),
        }
    }
}

impl Analysis<'_> {
    /// Executes the orders, where that can be done, until one passes; the solver is asked for others when none does.
    pub fn project(
        mut self,
        executor: &Result<Executor<'_>, String>,
        budget: &Budget,
    ) -> Result<ExecutedProjection> {
        let cheap = self.choose(executor, budget);
        let is_enough = match &cheap {
            Ok(chosen) => chosen.passing.is_some() || executor.is_err(),
            Err(_) => false,
        };
        let chosen = match is_enough || !self.ask_solver(budget) {
            true => cheap?,
            false => self.choose(executor, budget).or(cheap)?,
        };
        let mut dsp = self.dsp(&chosen)?;
        if let (Some(passing), Ok(executor)) = (&chosen.passing, executor)
            && dsp.region().is_some()
            && !executor.region_holds(&dsp, passing)?
        {
            dsp = dsp.with_order();
        }
        Ok(ExecutedProjection {
            run: self.name.to_owned(),
            dsp,
            confirmed: chosen.tally,
            unconfirmed: chosen.unconfirmed,
            recorded: None,
            measured: self.measured,
        })
    }

    /// The best of the orders that were found.
    fn choose(
        &mut self,
        executor: &Result<Executor<'_>, String>,
        budget: &Budget,
    ) -> Result<ShownOrder> {
        let stopped = self.others.stopped;
        let found = std::mem::take(&mut self.others.found);
        let undecided = std::mem::take(&mut self.others.undecided);
        let others = std::mem::take(&mut self.waiting)
            .into_iter()
            .map(OtherOrder::Undecided);
        let others = others.chain(found.into_iter().map(OtherOrder::Found));
        let others = others.chain(undecided.into_iter().map(OtherOrder::Undecided));
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
        let effort = schedules::SolverOptions {
            effort: SOLVED,
            ..schedules::SolverOptions::default()
        };
        let trace = &self.trace;
        let options = AlternateLimits {
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

    fn dsp(&self, chosen: &ShownOrder) -> Result<Dsp> {
        match (&chosen.other, &chosen.passing) {
            (OtherOrder::Found(alternate), passing) if !chosen.freely => {
                let (trace, run) = (&self.trace, self.run);
                dsp::project(trace, run, &trace.order, alternate, passing.as_deref())
                    .map_err(|why| anyhow!(dsp::infeasible_in_words(&why, trace, run)))
            }
            (other, Some(passing)) => Ok(self.recorded(other, passing)),
            (_, None) => {
                bail!("an order that only executing tells was not executed")
            }
        }
    }

    fn execute(
        &mut self,
        others: impl Iterator<Item = OtherOrder>,
        executor: &Executor<'_>,
        budget: &Budget,
        stopped: StopReason,
    ) -> Result<ShownOrder> {
        let begin = Instant::now();
        let (fails, difference) = executor.repeats(self.run)?;
        let mut seen = ExecutedOrders::default();
        let mut last = EXECUTED;
        for other in others {
            if self.measured.executed >= last || budget.stop().is_some() {
                break;
            }
            self.measured.executed += 1;
            match self.attempt(&other, executor)? {
                (TriedOrder::Passes { passes, run }, freely) => {
                    let times = executor.times() as u32;
                    let tally = Tally {
                        fails: fails as u32,
                        of_fails: times,
                        passes: passes as u32,
                        of_passes: times,
                    };
                    let passing = ShownOrder {
                        other,
                        passing: Some(run),
                        freely,
                        tally: Some(tally),
                        unconfirmed: difference.clone(),
                    };
                    let dsp = self.dsp(&passing)?;
                    let is_decided = passing.is_decided();
                    if seen.add(passing, dsp) {
                        last = last.min(self.measured.executed + BETTER);
                    }
                    if is_decided && seen.best.is_some() {
                        break;
                    }
                }
                (TriedOrder::Not(why), _) => seen.failed(other, why),
                (TriedOrder::Stopped, _) => {
                    seen.reason
                        .get_or_insert_with(|| "it was stopped".to_owned());
                    break;
                }
            }
        }
        self.measured.executing_ms = milliseconds(begin.elapsed());
        seen.chosen(self.measured.executed, stopped)
    }

    /// Executes an order; one that should pass also as far as the pair only: what its second thread does next then
    /// comes before what was held back, as a whole. Says whether it was that.
    fn attempt(&self, other: &OtherOrder, executor: &Executor<'_>) -> Result<(TriedOrder, bool)> {
        let pair = self.events(&other.pair());
        let run =
            |order: &[StepId], ways: &[Policy]| executor.passes(&self.events(order), &pair, ways);
        let order = other.order();
        if matches!(other, OtherOrder::Undecided(_)) {
            return Ok((run(order, WAYS.get(..1).unwrap_or(&WAYS))?, true));
        }
        let tried = run(order, &WAYS)?;
        let second = order.iter().rposition(|id| *id == other.pair()[1]);
        let (TriedOrder::Not(_), Some(second)) = (&tried, second) else {
            return Ok((tried, false));
        };
        match run(order.get(..=second).unwrap_or(order), &WAYS)? {
            passes @ TriedOrder::Passes { .. } => Ok((passes, true)),
            TriedOrder::Stopped => Ok((TriedOrder::Stopped, true)),
            TriedOrder::Not(_) => Ok((tried, false)),
        }
    }

    /// The two runs beside each other.
    fn recorded(&self, other: &OtherOrder, passing: &Run) -> Dsp {
        let [first, second] = other.pair();
        let event = |id: StepId| self.trace.step(id).and_then(|step| step.event);
        if let OtherOrder::Undecided(CandidateOrder { waits: true, .. }) = other
            && let (Some(first), Some(second)) = (event(first), event(second))
            && let Some(dsp) = dsp::project_waiting(self.run, passing, (first, second))
        {
            return dsp;
        }
        let hints = dsp::hints(&self.trace, &self.trace.order, (first, second));
        dsp::project_runs(self.run, passing, &hints)
    }

    fn events(&self, order: &[StepId]) -> Vec<EventId> {
        dsp::events(&self.trace, order)
    }
}

/// Size of the difference of two orders, what matters most first: the nearest order explains best.
pub fn size(dsp: &Dsp) -> (u32, u32, u32) {
    let counts = dsp.counts;
    (counts.variations, counts.to_read, counts.shown)
}

/// Chooses the order to show when nothing is executed: the first one that does not fail as far as the model tells.
fn unexecuted(
    mut others: impl Iterator<Item = OtherOrder>,
    reason: String,
    stopped: StopReason,
) -> Result<ShownOrder> {
    let Some(other) = others.next() else {
        bail!(none_passes(0, None, stopped));
    };
    if matches!(other, OtherOrder::Undecided(_)) {
        bail!("other orders can only be told apart by executing them, and they were not: {reason}");
    }
    Ok(ShownOrder {
        other,
        passing: None,
        freely: false,
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
