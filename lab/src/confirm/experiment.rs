//! Experiments on schedules: how often does the program fail when what is blamed happens, and how often when it does not?
//! Everything else is drawn.

use super::attempt::{anywhere, written};
use crate::dsp::Executor;
use anyhow::Result;
use std::collections::BTreeSet;
use unsnarl_core::{
    Budget, Explanation,
    diagnosis::{Evidence, Share},
    explain::{Intervention, bears_out, intervention, outermost},
};
use unsnarl_recorder::{
    proposal::{Ended, ProposalError},
    record::Sampler,
};
use unsnarl_trace::{EventId, EventKind, FailureMode, Policy, Proposal, Run, Wanted};

/// Schedules that an experiment rests on, on each side.
pub const SAMPLES: u32 = 30;

/// Schedules after which a hypothesis that is no better than its opposite is given up.
const FEW: u32 = 8;

/// Schedules that may miss an order before it counts as one that cannot be had.
const MISSES: u32 = 12;

/// What came of the orders of an explanation.
pub struct Experiment {
    /// How often the program failed.
    pub evidence: Evidence,
    /// The orders.
    pub orders: Intervention,
    /// Where the first thread that takes part takes the lock under which it does that, or does it.
    pub begins: EventId,
}

/// What experiments on one failing run are made with.
pub struct Trials<'a> {
    /// Executes orders of the run.
    pub executor: &'a Executor<'a>,
    /// Knows its choices.
    pub sampler: &'a Sampler<'a>,
    /// Runs that passed, to know what never came.
    pub passed: Vec<&'a Run>,
}

/// Makes experiments on one failing run.
pub trait Experiments {
    /// The run.
    fn run(&self) -> &Run;

    /// The outcome for one explanation; none when it names no orders, they cannot be had, or the time is over.
    ///
    /// # Errors
    /// The program cannot be executed.
    fn experiment(&self, explanation: &Explanation, budget: &Budget) -> Result<Option<Experiment>>;

    /// The same where all schedules go on to the order that `leads_to` begins with, as far as they can: does it take what
    /// the explanation blames to come there?
    ///
    /// # Errors
    /// The program cannot be executed.
    fn on_the_way(
        &self,
        explanation: &Explanation,
        leads_to: &Intervention,
        budget: &Budget,
    ) -> Result<Option<Experiment>>;
}

impl Experiments for Trials<'_> {
    fn run(&self) -> &Run {
        self.executor.run
    }

    fn experiment(&self, explanation: &Explanation, budget: &Budget) -> Result<Option<Experiment>> {
        self.compared(explanation, &[], budget)
    }

    fn on_the_way(
        &self,
        explanation: &Explanation,
        leads_to: &Intervention,
        budget: &Budget,
    ) -> Result<Option<Experiment>> {
        self.compared(explanation, &leads_to.with, budget)
    }
}

impl Trials<'_> {
    fn compared(
        &self,
        explanation: &Explanation,
        then: &[EventId],
        budget: &Budget,
    ) -> Result<Option<Experiment>> {
        let run = self.executor.run;
        let Some(orders) = intervention(explanation, run) else {
            return Ok(None);
        };
        let begins = orders.with.iter().filter_map(|row| outermost(run, *row));
        let Some(begins) = begins.min() else {
            return Ok(None);
        };
        let Some(choices) = self.sampler.choices_before(begins) else {
            return Ok(None);
        };
        let Some((with, without)) = self.proposals(&orders, then) else {
            return Ok(None);
        };
        let samples = |ways, is_with| Samples {
            executor: self.executor,
            ways,
            explanation,
            is_with,
            choices,
            fails: 0,
            of: 0,
            orders: BTreeSet::new(),
        };
        let compared = compare(samples(with, true), samples(without, false), budget)?;
        Ok(compared.map(|evidence| Experiment {
            evidence,
            orders,
            begins,
        }))
    }

    /// The schedules with what is blamed, and those without it, all of which go on to `then` where they can; none when it
    /// needs what no run that passed has.
    fn proposals(&self, orders: &Intervention, then: &[EventId]) -> Option<(Vec<Way>, Vec<Way>)> {
        let way =
            |order: &[EventId], then: &[EventId]| Way::towards(self.executor.run, order, then);
        // The run itself has both.
        let last = orders.with.last().copied().unwrap_or_default();
        let (mut meanwhile, after): (Vec<EventId>, Vec<EventId>) =
            then.iter().partition(|row| **row <= last);
        meanwhile.extend(&orders.with);
        meanwhile.sort_unstable();
        meanwhile.dedup();
        let mut with = way(&meanwhile, &after);
        let without = orders.without.iter();
        let mut without: Vec<Way> = without.map(|order| way(order, then)).collect();
        if let Some(absent) = &orders.absent {
            let place = (absent.place.file.as_str(), absent.place.line);
            let mut passed = self.passed.iter();
            let (run, row) =
                passed.find_map(|run| Some((*run, written(run, place, &absent.thread)?)))?;
            with.proposal.events.push(Wanted {
                optional: true,
                ..anywhere(run, outermost(run, row)?)?
            });
            for way in &mut without {
                way.proposal.events.insert(0, anywhere(run, row)?);
            }
        }
        without.extend(self.after_its_end(orders));
        Some((vec![with], without))
    }

    /// The way in which a thread ends before what should have come after it.
    fn after_its_end(&self, orders: &Intervention) -> Option<Way> {
        let run = self.executor.run;
        let late = *orders.without.first()?.last()?;
        let mut way = Way::of(run, &[late]);
        let thread = run.meta.thread(orders.ends?).name.clone();
        let ends = Wanted::anywhere(thread, EventKind::End);
        way.proposal.events.insert(0, ends);
        Some(way)
    }
}

/// Draws schedules of both kinds until it is clear whether they differ; none when they cannot be had, or the time is over.
fn compare(
    mut with: Samples<'_>,
    mut without: Samples<'_>,
    budget: &Budget,
) -> Result<Option<Evidence>> {
    for least in [FEW, SAMPLES] {
        if !with.take(least, budget)? || !without.take(least, budget)? {
            return Ok(None);
        }
        // What fails as often without it is not it.
        if without.share().value() >= with.share().value() {
            break;
        }
    }
    Ok(Some(Evidence {
        with: with.share(),
        without: without.share(),
    }))
}

/// Schedules with one of several orders.
struct Samples<'a> {
    executor: &'a Executor<'a>,
    ways: Vec<Way>,
    explanation: &'a Explanation,
    /// What is blamed happens in them.
    is_with: bool,
    /// The choices of the run up to where the orders begin.
    choices: &'a [u16],
    fails: u32,
    of: u32,
    orders: BTreeSet<String>,
}

/// One of the orders.
struct Way {
    proposal: Proposal,
    /// Schedules that were tried.
    tried: u32,
    /// Those of them that had the order.
    of: u32,
    /// Those that did not, by how much of the run's beginning they kept: see [`BEGINNINGS`].
    missed: [u32; BEGINNINGS],
}

/// The choices before what is blamed that a schedule begins with: all, half, none.
const BEGINNINGS: usize = 3;

impl Way {
    fn of(run: &Run, order: &[EventId]) -> Way {
        Way {
            proposal: Proposal {
                only_order: true,
                ..Proposal::of_events(run, order)
            },
            tried: 0,
            of: 0,
            missed: [0; BEGINNINGS],
        }
    }

    /// This order, and after it another one where that can be had.
    fn towards(run: &Run, order: &[EventId], then: &[EventId]) -> Way {
        let then = then.iter().filter(|row| !order.contains(row));
        let rows: Vec<EventId> = order.iter().chain(then).copied().collect();
        let (wanted, mut way) = (Way::of(run, order), Way::of(run, &rows));
        for event in way
            .proposal
            .events
            .iter_mut()
            .skip(wanted.proposal.events.len())
        {
            event.optional = true;
        }
        way
    }

    /// Which beginning the next schedule has: the one that was missed least, and now and then the next, since others may
    /// come there in another way.
    fn beginning(&self) -> usize {
        let mut order: [usize; BEGINNINGS] = [0, 1, 2];
        order.sort_by_key(|at| self.missed.get(*at).copied());
        let second = usize::from(self.tried % 4 == 3);
        order.get(second).copied().unwrap_or(0)
    }

    fn misses(&self) -> u32 {
        self.tried - self.of
    }

    /// It cannot be had, or too seldom.
    fn is_hopeless(&self) -> bool {
        const FOR_EACH: u32 = 4;
        self.misses() >= MISSES + FOR_EACH * self.of
    }
}

impl Samples<'_> {
    /// Goes on until there are so many; false when they cannot be had.
    fn take(&mut self, least: u32, budget: &Budget) -> Result<bool> {
        while self.of < least {
            let tried = self.ways.iter().enumerate();
            let hopeful = tried.filter(|(_, way)| !way.is_hopeless());
            let next = hopeful.min_by_key(|(_, way)| way.tried).map(|(at, _)| at);
            let Some(at) = next.filter(|_| budget.stop().is_none()) else {
                return Ok(false);
            };
            if !self.one_more(at)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tries one of the orders; false when it cannot go on.
    fn one_more(&mut self, at: usize) -> Result<bool> {
        let Some(way) = self.ways.get_mut(at) else {
            return Ok(false);
        };
        let number = way.tried;
        let beginning = way.beginning();
        let kept = match beginning {
            0 => self.choices.len(),
            1 => self.choices.len() / 2,
            _ => 0,
        };
        way.tried += 1;
        if let Some(missed) = way.missed.get_mut(beginning) {
            *missed += 1;
        }
        let proposal = Proposal {
            choices: self.choices.iter().take(kept).copied().collect(),
            then: policy(number, self.executor.run),
            ..way.proposal.clone()
        };
        let verdict = match self.executor.once(&proposal) {
            Ok(Some(verdict)) => verdict,
            Ok(None) | Err(ProposalError::NoSite(..)) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if verdict.ended != Ended::Reached {
            return Ok(true);
        }
        let run = &verdict.run;
        let fails = FailureMode::of(run).is_like(&FailureMode::of(self.executor.run));
        // Without what is blamed a run may have it all the same, at other occurrences: then it is no run without it.
        if !fails || self.is_with || bears_out(self.explanation, run) != Some(true) {
            way.of += 1;
            if let Some(missed) = way.missed.get_mut(beginning) {
                *missed -= 1;
            }
            self.of += 1;
            self.fails += u32::from(fails);
            self.orders.insert(run.meta.order.clone());
        }
        Ok(true)
    }

    fn share(&self) -> Share {
        Share {
            fails: self.fails,
            of: self.of,
            orders: u32::try_from(self.orders.len()).unwrap_or(u32::MAX),
        }
    }
}

/// Random walks, and PCT with no, one and two preemptions in turn: walks make threads meet everywhere, so that hardly any
/// of them is without what is blamed.
fn policy(number: u32, run: &Run) -> Policy {
    const WAYS: u32 = 4;
    let seed = u64::from(number);
    match number % WAYS {
        0 => Policy::Random { seed },
        depth => Policy::Pct {
            seed,
            depth,
            steps: run.meta.steps.max(1),
        },
    }
}
