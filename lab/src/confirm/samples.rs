//! Schedules drawn with one of several orders, and the runs that they give.

use super::beginnings::{Beginning, MissedBeginnings};
use crate::dsp::Executor;
use anyhow::Result;
use std::{cell::OnceCell, collections::BTreeSet};
use unsnarl_core::{
    Budget, Explanation,
    diagnosis::{Evidence, FailingShare, Shows},
    explain::{
        Harmless, PartedSections, bears_out, bears_out_but, is_spurious_wakeup, meets_the_other_way,
    },
};
use unsnarl_recorder::proposal::{ScheduleEnd, TrialError};
use unsnarl_trace::{EventId, FailureMode, Outcome, Policy, Proposal, Run, Schedule};

/// Schedules that an experiment rests on, on each side.
pub const SAMPLES: u32 = 30;

/// Schedules after which a hypothesis that is no better than its opposite is given up.
const FEW: u32 = 8;

/// Schedules that may miss an order before it counts as one that cannot be had.
const MISSES: u32 = 12;

/// Success of drawing schedules with some order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    /// As many as are needed.
    All,
    /// The program does not have it, or too seldom.
    CannotBeHad,
    /// Schedules without it have it elsewhere, nearly all of them: more of them may show something.
    TooRare,
    /// The time was over.
    Over,
}

/// Draws schedules of both kinds until it is clear whether they differ.
pub(super) fn compare<'a>(
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
        // Failures of runs that have it elsewhere do not speak against it.
        if without.care == Care::Follows && !evidence(with, without).is_necessary() {
            return Ok(Drawn::TooRare);
        }
        // What fails as often without it is not it.
        let evidence = evidence(with, without);
        if evidence.without.value() >= evidence.with.value() {
            break;
        }
    }
    if evidence(with, without).is_cause() {
        return without.take_from_the_start(budget);
    }
    Ok(Drawn::All)
}

/// Failures on both sides. One cause may fail in several ways: where next to no schedule without it fails at all, all
/// failures with it are of it; else only those like the explained one are compared.
pub(super) fn evidence(with: &Samples<'_>, without: &Samples<'_>) -> Evidence {
    let anyhow = Evidence {
        with: with.counted().share_of_all(),
        without: without.counted().share_of_all(),
    };
    match anyhow.is_necessary() {
        true => anyhow,
        false => Evidence {
            with: with.share(),
            without: without.share(),
        },
    }
}

/// Schedules with one of several orders.
pub(super) struct Samples<'a> {
    executor: &'a Executor<'a>,
    ways: Vec<SampledOrder>,
    explanation: &'a Explanation,
    /// `true` if what is blamed happens in them.
    is_with: bool,
    /// Explanations that have to hold of them.
    pub having: Vec<&'a Explanation>,
    /// The choices of the run up to where the orders begin.
    choices: Schedule,
    /// Runs that passed.
    passed: &'a [&'a Run],
    /// Instances of what is blamed that they have, once these are needed.
    harmless: OnceCell<Harmless>,
    /// The critical sections between which what is blamed comes, once these are needed.
    parted: OnceCell<Option<PartedSections>>,
    /// Runs by the care with which they may have been chosen.
    tallies: [OrderTally; CARES],
    /// The most careful choice of which there are enough.
    care: Care,
    /// Runs that have what is blamed at other occurrences never have to do.
    is_strict: bool,
    /// Runs of a way that may not be clean before it is given up.
    patience: u32,
    /// Schedules keep none of the run's choices.
    is_from_the_start: bool,
}

/// Care with which the runs are chosen that count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Care {
    /// All that follow an order.
    Follows,
    /// Those of them that do not have what is blamed at other occurrences.
    Clean,
    /// Those of them that do not have it in other variables of the same critical sections either.
    Apart,
}

const CARES: usize = 3;

/// Runs with the same order, counted.
#[derive(Default)]
struct OrderTally {
    /// Those that fail as the explained run does.
    fails: u32,
    /// Those that fail in any way.
    all_fails: u32,
    of: u32,
    orders: BTreeSet<String>,
    /// The first run that speaks against what is blamed.
    against: Option<Box<Run>>,
}

impl OrderTally {
    /// Takes in a run.
    fn count(&mut self, run: &Run, fails: bool, is_against: bool) {
        let ends_badly = matches!(run.meta.outcome, Outcome::Failed | Outcome::Deadlocked);
        self.of += 1;
        self.fails += u32::from(fails);
        self.all_fails += u32::from(fails || ends_badly);
        self.orders.insert(run.meta.order.clone());
        if is_against && self.against.is_none() {
            self.against = Some(Box::new(run.clone()));
        }
    }

    fn share(&self) -> FailingShare {
        self.share_with(self.fails)
    }

    fn share_of_all(&self) -> FailingShare {
        self.share_with(self.all_fails)
    }

    fn share_with(&self, fails: u32) -> FailingShare {
        FailingShare {
            fails,
            of: self.of,
            orders: u32::try_from(self.orders.len()).unwrap_or(u32::MAX),
        }
    }
}

/// One of the orders.
pub(super) struct SampledOrder {
    pub proposal: Proposal,
    /// Schedules that were tried.
    tried: u32,
    /// Those that followed the order, by the care with which they may have been chosen.
    followed: [u32; CARES],
    /// Those that did not, by how much of the run's beginning they kept.
    missed: MissedBeginnings,
}

/// Runs of an order that may have it elsewhere before clean ones count as too rare: each beginning gets its misses, since a
/// run may have been decided by what the schedule kept.
const PATIENCE: u32 = 3 * MISSES;

impl SampledOrder {
    pub fn of(run: &Run, order: &[EventId]) -> SampledOrder {
        SampledOrder::following(Proposal {
            only_order: true,
            ..Proposal::of_events(run, order)
        })
    }

    fn following(proposal: Proposal) -> SampledOrder {
        SampledOrder {
            proposal,
            tried: 0,
            followed: [0; CARES],
            missed: MissedBeginnings::default(),
        }
    }

    /// This order, and after it another one where that is feasible.
    pub fn towards(run: &Run, order: &[EventId], then: &[EventId]) -> SampledOrder {
        let then = then.iter().filter(|row| !order.contains(row));
        let rows: Vec<EventId> = order.iter().chain(then).copied().collect();
        let (wanted, mut way) = (SampledOrder::of(run, order), SampledOrder::of(run, &rows));
        let wanted = wanted.proposal.events.len();
        for event in way.proposal.events.iter_mut().skip(wanted) {
            event.optional = true;
        }
        way
    }

    /// Notes that the order was followed with this beginning.
    fn is_followed(&mut self, beginning: Beginning, care: Care) {
        let counts = self.followed.iter_mut().take(care as usize + 1);
        counts.for_each(|followed| *followed += 1);
        self.missed.came(beginning);
    }

    /// It cannot be had, or too seldom, or nearly all runs that follow it do not count.
    fn is_hopeless(&self, care: Care, patience: u32) -> bool {
        const FOR_EACH: u32 = 4;
        let of = |care: Care| self.followed.get(care as usize).copied().unwrap_or(0);
        let (followed, counted) = (of(Care::Follows), of(care));
        let (missed, unclean) = (self.tried - followed, followed - counted);
        missed >= MISSES + FOR_EACH * followed || unclean >= patience + FOR_EACH * counted
    }
}

impl<'a> Samples<'a> {
    /// None yet.
    pub fn new(
        executor: &'a Executor<'a>,
        explanation: &'a Explanation,
        (choices, passed): (Schedule, &'a [&'a Run]),
        (ways, is_with): (Vec<SampledOrder>, bool),
    ) -> Samples<'a> {
        Samples {
            executor,
            ways,
            explanation,
            is_with,
            having: Vec::new(),
            choices,
            passed,
            harmless: OnceCell::new(),
            parted: OnceCell::new(),
            tallies: Default::default(),
            care: Care::Apart,
            is_strict: false,
            patience: PATIENCE,
            is_from_the_start: false,
        }
    }

    /// Samples of the same kind, none of which is drawn yet, that keep nothing of the run.
    pub fn afresh(&self) -> Samples<'a> {
        let ways = self.ways.iter();
        let ways = ways.map(|way| SampledOrder::following(way.proposal.clone()));
        let given = (self.choices.clone(), self.passed);
        Samples {
            having: self.having.clone(),
            is_from_the_start: true,
            ..Samples::new(
                self.executor,
                self.explanation,
                given,
                (ways.collect(), self.is_with),
            )
        }
    }

    /// Counts only runs that have what is blamed nowhere, not even where runs that passed have it.
    pub fn without_any(&mut self) {
        self.passed = &[];
        self.is_strict = true;
    }

    /// Gives up only after many more runs, if they are short.
    pub fn be_patient(&mut self) {
        self.patience = self.many().max(PATIENCE);
    }

    /// Number of runs of about a second.
    fn many(&self) -> u32 {
        const STEPS: u64 = 40_000;
        let many = STEPS / self.executor.run.meta.steps.max(1);
        u32::try_from(many).unwrap_or(u32::MAX)
    }

    /// Draws more schedules, which keep nothing of the run. All that do keep the same choices: what these have decided makes
    /// an order look needed that only comes before it, or after it. Those without it that are had from the start fail then.
    fn take_from_the_start(&mut self, budget: &Budget) -> Result<Drawn> {
        if self.care == Care::Follows {
            return Ok(Drawn::All);
        }
        let most = self.counted().of + self.many().clamp(FEW, SAMPLES);
        let (care, fails) = (self.care, self.counted().all_fails);
        let mut drawn = Drawn::All;
        self.is_from_the_start = true;
        while drawn == Drawn::All && self.counted().of < most && self.counted().all_fails == fails {
            drawn = self.take(self.counted().of + 1, budget)?;
        }
        self.is_from_the_start = false;
        // Where nearly all of them have it elsewhere they say nothing.
        self.care = care;
        Ok(match drawn {
            Drawn::Over => Drawn::Over,
            _ => Drawn::All,
        })
    }

    /// Returns whether any of the first schedules passes, if they can be had at all.
    pub fn may_pass(&mut self, budget: &Budget) -> Result<bool> {
        for least in 1..=FEW {
            let drawn = self.take(least, budget)?;
            let counted = self.counted();
            if drawn != Drawn::All || counted.all_fails < counted.of {
                break;
            }
        }
        Ok(self.counted().all_fails < self.counted().of)
    }

    /// Goes on until there are so many.
    ///
    /// # Errors
    /// The program cannot be executed.
    pub fn take(&mut self, least: u32, budget: &Budget) -> Result<Drawn> {
        while self.counted().of < least {
            if budget.stop().is_some() {
                return Ok(Drawn::Over);
            }
            let tried = self.ways.iter().enumerate();
            let hopeful = tried.filter(|(_, way)| !way.is_hopeless(self.care, self.patience()));
            let next = hopeful.min_by_key(|(_, way)| way.tried).map(|(at, _)| at);
            let Some(at) = next else {
                if !self.is_less_careful() {
                    return Ok(Drawn::CannotBeHad);
                }
                continue;
            };
            let drawn = self.one_more(at)?;
            if drawn != Drawn::All {
                return Ok(drawn);
            }
        }
        Ok(Drawn::All)
    }

    /// Runs of a way that may not be chosen before it is given up: few where less care will do.
    fn patience(&self) -> u32 {
        match self.care {
            Care::Apart => MISSES,
            Care::Clean | Care::Follows => self.patience,
        }
    }

    /// Tries one of the orders.
    fn one_more(&mut self, at: usize) -> Result<Drawn> {
        let Some(way) = self.ways.get_mut(at) else {
            return Ok(Drawn::CannotBeHad);
        };
        let number = way.tried;
        let beginning = match self.is_from_the_start {
            true => Beginning::None,
            false => way.missed.next(number),
        };
        way.tried += 1;
        way.missed.tries(beginning);
        let proposal = Proposal {
            choices: beginning.of(&self.choices),
            then: policy(number, self.executor.run),
            ..way.proposal.clone()
        };
        let verdict = match self.executor.once(&proposal) {
            Ok(Some(verdict)) => verdict,
            Ok(None) => return Ok(Drawn::Over),
            Err(TrialError::NoSite(..)) => return Ok(Drawn::CannotBeHad),
            Err(error) => return Err(error.into()),
        };
        if verdict.ended != ScheduleEnd::Reached {
            return Ok(Drawn::All);
        }
        let run = verdict.run;
        let fails = FailureMode::of(&run).is_like(&FailureMode::of(self.executor.run));
        if self.is_comparable(&run) {
            self.count(at, beginning, &run, fails);
        }
        Ok(Drawn::All)
    }

    /// Returns whether a run that followed an order can be compared with the explained one: no wait in it ended by itself if
    /// none did there, and it has what all have to have.
    fn is_comparable(&self, run: &Run) -> bool {
        let wakes = wakes_by_itself(run) && !wakes_by_itself(self.executor.run);
        let mut having = self.having.iter();
        !wakes && having.all(|it| bears_out(it, run) == Some(true))
    }

    /// Takes in a run that followed an order. One without what is blamed may have it all the same, at other occurrences:
    /// whether it fails or not, it is no run without it.
    fn count(&mut self, at: usize, beginning: Beginning, run: &Run, fails: bool) {
        let is_against = match self.is_with {
            true => run.meta.outcome == Outcome::Passed,
            false => fails,
        };
        let care = match self.is_with {
            true => Care::Apart,
            false => self.care_for(run),
        };
        let tallies = self.tallies.iter_mut().take(care as usize + 1);
        tallies.for_each(|tally| tally.count(run, fails, is_against));
        if let Some(way) = self.ways.get_mut(at) {
            way.is_followed(beginning, care);
        }
    }

    /// The most careful choice that takes a run without what is blamed, which may have it at occurrences at which no run that
    /// passed has it.
    fn care_for(&self, run: &Run) -> Care {
        let harmless = || Harmless::of(self.explanation, self.passed.iter().copied());
        let harmless = self.harmless.get_or_init(harmless);
        let has_it = bears_out_but(self.explanation, run, harmless) == Some(true);
        if has_it || meets_the_other_way(self.explanation, run) {
            return Care::Follows;
        }
        let parted = || PartedSections::of(self.explanation, self.executor.run);
        let parted = self.parted.get_or_init(parted);
        match parted.as_ref().is_some_and(|parted| parted.are_in(run)) {
            true => Care::Clean,
            false => Care::Apart,
        }
    }

    /// Chooses less carefully, since every run has what is blamed somewhere; `false` if that is not allowed, or no help.
    fn is_less_careful(&mut self) -> bool {
        let less = match self.care {
            Care::Apart => Care::Clean,
            Care::Clean if !self.is_strict && self.tally(Care::Follows).of >= FEW => Care::Follows,
            _ => return false,
        };
        self.care = less;
        true
    }

    /// The runs that may be chosen with so much care.
    fn tally(&self, care: Care) -> &OrderTally {
        let [follows, clean, apart] = &self.tallies;
        match care {
            Care::Follows => follows,
            Care::Clean => clean,
            Care::Apart => apart,
        }
    }

    /// The runs that count.
    fn counted(&self) -> &OrderTally {
        self.tally(self.care)
    }

    /// Schedules that were executed.
    pub fn tried(&self) -> u32 {
        self.ways.iter().map(|way| way.tried).sum()
    }

    /// The first run that speaks against what is blamed, with what it shows: none without it that have it elsewhere.
    pub fn against(&self) -> Option<(Shows, Box<Run>)> {
        let shows = match self.is_with {
            true => Shows::PassesWith,
            false => Shows::FailsWithout,
        };
        Some((
            shows,
            self.tally(self.care.max(Care::Clean)).against.clone()?,
        ))
    }

    /// Failures like the explained one among the runs that count.
    pub fn share(&self) -> FailingShare {
        self.counted().share()
    }
}

/// Returns whether a wait ended without a signal.
fn wakes_by_itself(run: &Run) -> bool {
    let mut events = run.events.iter();
    events.any(|(_, event)| is_spurious_wakeup(&event))
}

/// Random walks, and PCT with no, one and two preemptions in turn: walks make threads meet everywhere, so that hardly any
/// of them is without what is blamed.
pub(crate) fn policy(number: u32, run: &Run) -> Policy {
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
