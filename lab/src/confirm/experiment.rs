//! Experiments on schedules: how often does the program fail when what is blamed happens, and how often when it does not?
//! Everything else is drawn.

use super::{
    attempt::{anywhere, written},
    counterexamples::Counterexamples,
};
use crate::dsp::Executor;
use anyhow::Result;
use std::collections::BTreeSet;
use unsnarl_core::{
    Budget, Explanation,
    diagnosis::{Counterexample, Evidence, Share, Shows},
    explain::{Intervention, bears_out, intervention, is_spurious_wakeup, outermost},
};
use unsnarl_recorder::{
    proposal::{Ended, ProposalError},
    record::Sampler,
};
use unsnarl_trace::{EventId, EventKind, FailureMode, Outcome, Policy, Proposal, Run, Wanted};

/// Schedules that an experiment rests on, on each side.
pub const SAMPLES: u32 = 30;

/// Schedules after which a hypothesis that is no better than its opposite is given up.
const FEW: u32 = 8;

/// Schedules that may miss an order before it counts as one that cannot be had.
const MISSES: u32 = 12;

/// Schedules drawn for a proposal.
#[derive(Default)]
pub struct Trial {
    /// The result; none when its orders cannot be had, or the time was over before.
    pub made: Option<Experiment>,
    /// Number of executed schedules, including those that did not have its orders.
    pub schedules: u32,
    /// The time was over before the experiment was.
    pub is_unfinished: bool,
    /// A run that speaks against the proposal.
    pub against: Option<(Shows, Box<Run>)>,
}

/// Results of executing the orders of an explanation.
pub struct Experiment {
    /// Failures among the schedules with what is blamed, and among those without it.
    pub evidence: Evidence,
    /// The orders.
    pub orders: Intervention,
    /// Event at which the first thread that takes part takes the lock under which it does that, or does it.
    pub begins: EventId,
}

/// Means for experiments on one failing run.
pub struct Trials<'a> {
    /// Executes orders of the run.
    pub executor: &'a Executor<'a>,
    /// Knows its choices.
    pub sampler: &'a Sampler<'a>,
    /// Runs that passed, to know what never came.
    pub passed: Vec<&'a Run>,
    /// Keeps runs that speak against a proposal.
    pub counterexamples: &'a Counterexamples,
}

/// Makes experiments on one failing run.
pub trait Experiments {
    /// The run.
    fn run(&self) -> &Run;

    /// Tries the orders of one explanation; the trial is empty when it names none, they cannot be had, or the time is over.
    ///
    /// # Errors
    /// The program cannot be executed.
    fn experiment(&self, explanation: &Explanation, budget: &Budget) -> Result<Trial>;

    /// The same where all schedules go on to the order that `leads_to` begins with, as far as they can: does it take the
    /// blamed steps to come there?
    ///
    /// # Errors
    /// The program cannot be executed.
    fn on_the_way(
        &self,
        explanation: &Explanation,
        leads_to: &Intervention,
        budget: &Budget,
    ) -> Result<Trial>;

    /// Failures among schedules that have what one explanation blames, but not what the other one does; none when they
    /// cannot be had, or the time is over.
    ///
    /// # Errors
    /// The program cannot be executed.
    fn but_without(
        &self,
        with: &Explanation,
        without: &Explanation,
        budget: &Budget,
    ) -> Result<Option<Share>>;

    /// Keeps a run that speaks against a proposal, if there is room.
    fn keep(&self, against: (Shows, Box<Run>)) -> Option<Counterexample>;
}

impl Experiments for Trials<'_> {
    fn run(&self) -> &Run {
        self.executor.run
    }

    fn experiment(&self, explanation: &Explanation, budget: &Budget) -> Result<Trial> {
        self.compared(explanation, &[], budget)
    }

    fn on_the_way(
        &self,
        explanation: &Explanation,
        leads_to: &Intervention,
        budget: &Budget,
    ) -> Result<Trial> {
        self.compared(explanation, &leads_to.with, budget)
    }

    fn but_without(
        &self,
        with: &Explanation,
        without: &Explanation,
        budget: &Budget,
    ) -> Result<Option<Share>> {
        let run = self.executor.run;
        let Some(then) = intervention(with, run) else {
            return Ok(None);
        };
        let Some(set) = self.set(without, &then.with) else {
            return Ok(None);
        };
        let mut samples = Samples {
            having: Some(with),
            ..set.without
        };
        // The first that fails decides.
        while samples.of < SAMPLES && samples.fails == 0 {
            if samples.take(samples.of + 1, budget)? != Drawn::All {
                return Ok(None);
            }
        }
        Ok(Some(samples.share()))
    }

    fn keep(&self, (shows, run): (Shows, Box<Run>)) -> Option<Counterexample> {
        self.counterexamples.keep(self.executor, shows, &run)
    }
}

/// What an experiment is made of.
struct Set<'a> {
    with: Samples<'a>,
    without: Samples<'a>,
    orders: Intervention,
    begins: EventId,
}

impl Trials<'_> {
    fn compared(
        &self,
        explanation: &Explanation,
        then: &[EventId],
        budget: &Budget,
    ) -> Result<Trial> {
        let Some(mut set) = self.set(explanation, then) else {
            return Ok(Trial::default());
        };
        let compared = compare(&mut set.with, &mut set.without, budget)?;
        let evidence = Evidence {
            with: set.with.share(),
            without: set.without.share(),
        };
        Ok(Trial {
            schedules: set.with.tried() + set.without.tried(),
            is_unfinished: compared == Drawn::Over,
            against: set.without.against().or_else(|| set.with.against()),
            made: (compared == Drawn::All).then_some(Experiment {
                evidence,
                orders: set.orders,
                begins: set.begins,
            }),
        })
    }

    /// The schedules to draw for an explanation, before any was; none when it names no orders, or they cannot be had.
    fn set<'a>(&'a self, explanation: &'a Explanation, then: &[EventId]) -> Option<Set<'a>> {
        let run = self.executor.run;
        let orders = intervention(explanation, run)?;
        let begins = orders.with.iter().filter_map(|row| outermost(run, *row));
        let begins = begins.min()?;
        let choices = self.sampler.choices_before(begins)?;
        let (with, without) = self.proposals(&orders, then)?;
        let samples = |ways, is_with| Samples {
            executor: self.executor,
            ways,
            explanation,
            is_with,
            having: None,
            choices,
            fails: 0,
            of: 0,
            orders: BTreeSet::new(),
            against: None,
        };
        Some(Set {
            with: samples(with, true),
            without: samples(without, false),
            orders,
            begins,
        })
    }

    /// The schedules with the blamed order, and those without it, all of which go on to `then` where they can; none when
    /// it needs a step that no run that passed has.
    fn proposals(&self, orders: &Intervention, then: &[EventId]) -> Option<(Vec<Way>, Vec<Way>)> {
        let way =
            |order: &[EventId], then: &[EventId]| Way::towards(self.executor.run, order, then);
        // The run itself has both.
        let last = orders.with.last().copied().unwrap_or_default();
        let (mut meanwhile, after): (Vec<EventId>, Vec<EventId>) =
            then.iter().partition(|row| **row <= last);
        meanwhile.extend(&orders.with);
        if !then.is_empty() {
            meanwhile.sort_unstable();
            meanwhile.dedup();
        }
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
            for entry in &orders.after_absent {
                let mut way = way(&[*entry], then);
                way.proposal.events.insert(0, anywhere(run, row)?);
                without.push(way);
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

/// Success of drawing schedules with some order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drawn {
    /// As many as are needed.
    All,
    /// The program does not have it, or too seldom.
    CannotBeHad,
    /// The time was over.
    Over,
}

/// Draws schedules of both kinds until it is clear whether they differ.
fn compare<'a>(
    with: &mut Samples<'a>,
    without: &mut Samples<'a>,
    budget: &Budget,
) -> Result<Drawn> {
    for least in [FEW, SAMPLES] {
        for samples in [&mut *with, &mut *without] {
            let drawn = samples.take(least, budget)?;
            if drawn != Drawn::All {
                return Ok(drawn);
            }
        }
        // What fails as often without it is not it.
        if without.share().value() >= with.share().value() {
            break;
        }
    }
    Ok(Drawn::All)
}

/// Schedules with one of several orders.
struct Samples<'a> {
    executor: &'a Executor<'a>,
    ways: Vec<Way>,
    explanation: &'a Explanation,
    /// `true` if what is blamed happens in them.
    is_with: bool,
    /// Another explanation that has to hold of them.
    having: Option<&'a Explanation>,
    /// The choices of the run up to where the orders begin.
    choices: &'a [u16],
    fails: u32,
    of: u32,
    orders: BTreeSet<String>,
    /// The first run that speaks against what is blamed.
    against: Option<Box<Run>>,
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

    /// This order, and after it another one where that is feasible.
    fn towards(run: &Run, order: &[EventId], then: &[EventId]) -> Way {
        let then = then.iter().filter(|row| !order.contains(row));
        let rows: Vec<EventId> = order.iter().chain(then).copied().collect();
        let (wanted, mut way) = (Way::of(run, order), Way::of(run, &rows));
        let wanted = wanted.proposal.events.len();
        for event in way.proposal.events.iter_mut().skip(wanted) {
            event.optional = true;
        }
        way
    }

    /// Index of the beginning that the next schedule has: the one that was missed least, and now and then the next,
    /// since others may come there in another way.
    fn beginning(&self) -> usize {
        let mut order: [usize; BEGINNINGS] = [0, 1, 2];
        order.sort_by_key(|at| self.missed.get(*at).copied());
        let second = usize::from(self.tried % 4 == 3);
        order.get(second).copied().unwrap_or(0)
    }

    /// Notes that the order was had with this beginning.
    fn is_had(&mut self, beginning: usize) {
        self.of += 1;
        if let Some(missed) = self.missed.get_mut(beginning) {
            *missed -= 1;
        }
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
    /// Goes on until there are so many.
    fn take(&mut self, least: u32, budget: &Budget) -> Result<Drawn> {
        while self.of < least {
            if budget.stop().is_some() {
                return Ok(Drawn::Over);
            }
            let tried = self.ways.iter().enumerate();
            let hopeful = tried.filter(|(_, way)| !way.is_hopeless());
            let next = hopeful.min_by_key(|(_, way)| way.tried).map(|(at, _)| at);
            let Some(at) = next else {
                return Ok(Drawn::CannotBeHad);
            };
            let drawn = self.one_more(at)?;
            if drawn != Drawn::All {
                return Ok(drawn);
            }
        }
        Ok(Drawn::All)
    }

    /// Tries one of the orders.
    fn one_more(&mut self, at: usize) -> Result<Drawn> {
        let Some(way) = self.ways.get_mut(at) else {
            return Ok(Drawn::CannotBeHad);
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
            Ok(None) => return Ok(Drawn::Over),
            Err(ProposalError::NoSite(..)) => return Ok(Drawn::CannotBeHad),
            Err(error) => return Err(error.into()),
        };
        if verdict.ended != Ended::Reached {
            return Ok(Drawn::All);
        }
        let run = verdict.run;
        let fails = FailureMode::of(&run).is_like(&FailureMode::of(self.executor.run));
        if self.is_one(&run) {
            if let Some(way) = self.ways.get_mut(at) {
                way.is_had(beginning);
            }
            self.count(run, fails);
        }
        Ok(Drawn::All)
    }

    /// Returns whether a run that followed an order is one of those to compare, whether it fails or not. Not so if a wait
    /// in it ended by itself, which the explained failure does without. One without what is blamed may have that all the
    /// same, at other occurrences: then it is no run without it.
    fn is_one(&self, run: &Run) -> bool {
        let wakes = wakes_by_itself(run) && !wakes_by_itself(self.executor.run);
        let has = |it: &Explanation| bears_out(it, run) == Some(true);
        let has_both = !self.is_with && has(self.explanation);
        !wakes && !has_both && self.having.is_none_or(has)
    }

    /// Takes in a run that has the order.
    fn count(&mut self, run: Run, fails: bool) {
        self.of += 1;
        self.fails += u32::from(fails);
        self.orders.insert(run.meta.order.clone());
        let is_against = match self.is_with {
            true => run.meta.outcome == Outcome::Passed,
            false => fails,
        };
        if is_against && self.against.is_none() {
            self.against = Some(Box::new(run));
        }
    }

    /// Schedules that were executed.
    fn tried(&self) -> u32 {
        self.ways.iter().map(|way| way.tried).sum()
    }

    /// The first run that speaks against what is blamed, with what it shows.
    fn against(&mut self) -> Option<(Shows, Box<Run>)> {
        let shows = match self.is_with {
            true => Shows::PassesWith,
            false => Shows::FailsWithout,
        };
        Some((shows, self.against.take()?))
    }

    fn share(&self) -> Share {
        Share {
            fails: self.fails,
            of: self.of,
            orders: u32::try_from(self.orders.len()).unwrap_or(u32::MAX),
        }
    }
}

/// Returns whether a wait ended without a signal.
fn wakes_by_itself(run: &Run) -> bool {
    let mut events = run.events.iter();
    events.any(|(_, event)| is_spurious_wakeup(&event))
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
