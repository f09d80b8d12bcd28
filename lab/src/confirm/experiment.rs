//! Experiments on schedules: how often does the program fail when what is blamed happens, and how often when it does not?
//! Everything else is drawn.

use super::{
    attempt::{AwaitedWrite, anywhere, location, next_in},
    counterexamples::Counterexamples,
    samples::{Drawn, SAMPLES, SampledOrder, Samples, compare, evidence},
};
use crate::dsp::Executor;
use anyhow::Result;
use unsnarl_core::{
    Budget, BugKind, Explanation,
    diagnosis::{Counterexample, Evidence, FailingShare, Shows},
    explain::{Intervention, intervention, outermost, still_to_take},
};
use unsnarl_recorder::record::Sampler;
use unsnarl_trace::{EventId, EventKind, Run, Wanted};

/// Schedules drawn for a proposal.
#[derive(Default)]
pub struct DrawnSchedules {
    /// The result; none when its orders cannot be had, or the time was over before.
    pub made: Option<Experiment>,
    /// Number of executed schedules, including those that did not have its orders.
    pub schedules: u32,
    /// The time was over before the experiment was.
    pub is_unfinished: bool,
    /// Schedules without what is blamed were too rare: there may be enough among many more.
    pub is_too_rare: bool,
    /// A run that speaks against the proposal.
    pub against: Option<(Shows, Box<Run>)>,
}

/// Results of executing the orders of an explanation.
pub struct Experiment {
    /// Failures among the schedules with what is blamed, and among those without it.
    pub evidence: Evidence,
    /// The program passes with what is blamed where schedules keep nothing of the run: something else has to come to it.
    pub takes_more: bool,
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
    fn experiment(&self, explanation: &Explanation, budget: &Budget) -> Result<DrawnSchedules>;

    /// The same with many more schedules, as far as they are short.
    ///
    /// # Errors
    /// The program cannot be executed.
    fn patiently(&self, explanation: &Explanation, budget: &Budget) -> Result<DrawnSchedules>;

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
    ) -> Result<DrawnSchedules>;

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
    ) -> Result<Option<FailingShare>>;

    /// Failures among schedules that have what both explanations blame; none when they cannot be had, or the time is over.
    ///
    /// # Errors
    /// The program cannot be executed.
    fn both(
        &self,
        one: &Explanation,
        other: &Explanation,
        budget: &Budget,
    ) -> Result<Option<FailingShare>>;

    /// Keeps a run that speaks against a proposal, if there is room.
    fn keep(&self, against: (Shows, Box<Run>)) -> Option<Counterexample>;
}

impl Experiments for Trials<'_> {
    fn run(&self) -> &Run {
        self.executor.run
    }

    fn experiment(&self, explanation: &Explanation, budget: &Budget) -> Result<DrawnSchedules> {
        self.compared(self.set(explanation, &[]), budget)
    }

    fn patiently(&self, explanation: &Explanation, budget: &Budget) -> Result<DrawnSchedules> {
        let mut set = self.set(explanation, &[]);
        if let Some(set) = &mut set {
            set.without.be_patient();
        }
        self.compared(set, budget)
    }

    fn on_the_way(
        &self,
        explanation: &Explanation,
        leads_to: &Intervention,
        budget: &Budget,
    ) -> Result<DrawnSchedules> {
        self.compared(self.set(explanation, &leads_to.with), budget)
    }

    fn but_without(
        &self,
        with: &Explanation,
        without: &Explanation,
        budget: &Budget,
    ) -> Result<Option<FailingShare>> {
        let run = self.executor.run;
        let Some(then) = intervention(with, run) else {
            return Ok(None);
        };
        let Some(ScheduleSet {
            without: mut samples,
            ..
        }) = self.set(without, &then.with)
        else {
            return Ok(None);
        };
        samples.having.push(with);
        samples.without_any();
        // The first that fails decides.
        for least in 1..=SAMPLES {
            if samples.take(least, budget)? != Drawn::All {
                return Ok(None);
            }
            if samples.share().fails > 0 {
                break;
            }
        }
        Ok(Some(samples.share()))
    }

    fn both(
        &self,
        one: &Explanation,
        other: &Explanation,
        budget: &Budget,
    ) -> Result<Option<FailingShare>> {
        let Some(then) = intervention(other, self.executor.run) else {
            return Ok(None);
        };
        let Some(ScheduleSet {
            with: mut samples, ..
        }) = self.set(one, &then.with)
        else {
            return Ok(None);
        };
        samples.having.push(other);
        let is_whole = samples.take(SAMPLES, budget)? == Drawn::All;
        Ok(is_whole.then(|| samples.share()))
    }

    fn keep(&self, (shows, run): (Shows, Box<Run>)) -> Option<Counterexample> {
        self.counterexamples.keep(self.executor, shows, &run)
    }
}

/// Two kinds of schedules to compare.
struct ScheduleSet<'a> {
    with: Samples<'a>,
    without: Samples<'a>,
    orders: Intervention,
    begins: EventId,
    /// An order is blamed, which may be half of an interruption.
    is_order: bool,
}

impl Trials<'_> {
    fn compared(&self, set: Option<ScheduleSet<'_>>, budget: &Budget) -> Result<DrawnSchedules> {
        let Some(mut set) = set else {
            return Ok(DrawnSchedules::default());
        };
        let compared = compare(&mut set.with, &mut set.without, budget)?;
        let evidence = evidence(&set.with, &set.without);
        let mut afresh = set.with.afresh();
        let is_cause = compared == Drawn::All && evidence.is_cause();
        let takes_more = is_cause && set.is_order && afresh.may_pass(budget)?;
        Ok(DrawnSchedules {
            schedules: set.with.tried() + set.without.tried() + afresh.tried(),
            is_unfinished: compared == Drawn::Over,
            is_too_rare: compared == Drawn::TooRare,
            against: set.without.against().or_else(|| set.with.against()),
            made: (compared == Drawn::All).then_some(Experiment {
                evidence,
                takes_more,
                orders: set.orders,
                begins: set.begins,
            }),
        })
    }

    /// The schedules to draw for an explanation, before any was; none when it names no orders, or they cannot be had.
    fn set<'a>(
        &'a self,
        explanation: &'a Explanation,
        then: &[EventId],
    ) -> Option<ScheduleSet<'a>> {
        let run = self.executor.run;
        let orders = intervention(explanation, run)?;
        let begins = orders.with.iter().filter_map(|row| outermost(run, *row));
        let begins = begins.min()?;
        let choices = self.sampler.choices_before(begins)?;
        let (with, without) = self.proposals(&orders, then)?;
        let samples = |ways, is_with| {
            let from = (choices.clone(), self.passed.as_slice());
            Samples::new(self.executor, explanation, from, (ways, is_with))
        };
        let mut with = samples(with, true);
        // The read alone is no order: it is one only before a write that may not come any more.
        if orders.absent.is_some() {
            with.having.push(explanation);
        }
        Some(ScheduleSet {
            with,
            without: samples(without, false),
            orders,
            begins,
            is_order: explanation.kind == BugKind::OrderViolation,
        })
    }

    /// The schedules with the blamed order, and those without it, all of which go on to `then` where they can; none when
    /// it needs a step that no run that passed has.
    fn proposals(
        &self,
        orders: &Intervention,
        then: &[EventId],
    ) -> Option<(Vec<SampledOrder>, Vec<SampledOrder>)> {
        let way = |order: &[EventId], then: &[EventId]| {
            SampledOrder::towards(self.executor.run, order, then)
        };
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
        let mut without: Vec<SampledOrder> = without.map(|order| way(order, then)).collect();
        if let Some(absent) = &orders.absent {
            let write = AwaitedWrite {
                place: (&absent.place.file, absent.place.line),
                by: &absent.thread,
                location: location(self.executor.run, last),
            };
            let mut passed = self.passed.iter();
            let (run, row) = passed.find_map(|run| Some((*run, write.row(run)?)))?;
            let failing = self.executor.run;
            let held = anywhere(run, still_to_take(run, row, failing, last)?)?;
            with.proposal.events.push(Wanted {
                optional: true,
                ..next_in(failing, &meanwhile, held, 1)
            });
            let comes = next_in(failing, &[], anywhere(run, row)?, absent.times);
            for entry in &orders.after_absent {
                let mut way = way(&[*entry], then);
                way.proposal.events.insert(0, comes.clone());
                without.push(way);
            }
        }
        without.extend(self.after_its_end(orders));
        Some((vec![with], without))
    }

    /// The way in which a thread ends before what should have come after it.
    fn after_its_end(&self, orders: &Intervention) -> Option<SampledOrder> {
        let run = self.executor.run;
        let late = *orders.without.first()?.last()?;
        let mut way = SampledOrder::of(run, &[late]);
        let thread = run.meta.thread(orders.ends?).name.clone();
        let ends = Wanted::anywhere(thread, EventKind::End);
        way.proposal.events.insert(0, ends);
        Some(way)
    }
}
