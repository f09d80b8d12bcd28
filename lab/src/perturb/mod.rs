//! Perturbation of slices: a slice is said to make a run fail whatever the other steps do, so the program is executed
//! in schedules that have the slice's steps in their order and everything else in orders drawn anew.

mod beyond;

use self::beyond::RunExtent;
use crate::{
    Executing,
    confirm::{MissedBeginnings, policy, within},
    dsp::Executor,
    executable::ExecutionSettings,
};
use anyhow::Result;
use std::{
    collections::BTreeSet,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};
use unsnarl_core::{
    Budget, CorpusKey, Explanation, StopReason, Verdict, diagnosis::Perturbation,
    explain::outermost,
};
use unsnarl_recorder::proposal::{ScheduleEnd, TrialError};
use unsnarl_symbolic::invariants::{
    self, InvariantOptions, Level, PreparedPath, PreparedPaths, ToldInvariants, Unexplained,
    without_usual,
};
use unsnarl_trace::{EventId, EventKind, FailureMode, Outcome, Proposal, Run, Schedule};

/// Schedules with the slice's order that are wanted where the engine is asked by itself.
const SCHEDULES: u32 = 20;
/// Those that are wanted beside a story, which experiments speak for as well.
const BESIDE: u32 = 8;
/// Passing runs that conditions are compared with.
const PASSING: usize = 20;
/// Times as many are tried: an order can be hard to have beside others.
const TRIED: u32 = 3;
/// Time for the schedules of one slice.
const TIME: Duration = Duration::from_secs(5);

/// Reason for a level that was raised because of what was executed.
const RAISED: &str = "with less, other schedules do not fail";

/// A question for invariants of a run.
#[derive(Clone, Copy)]
pub struct PerturbedQuestion<'a> {
    /// The run, and its name.
    pub run: (&'a Run, &'a str),
    /// Passing runs: conditions that hold in all of them as well are left out.
    pub passing: &'a [&'a Run],
    /// The level of detail; the lightest with a step between threads when none is given.
    pub level: Option<Level>,
    /// Settings for executing the program, and the end of the time for that; none when nothing shall be executed.
    pub executing: Option<(&'a ExecutionSettings, Instant)>,
    /// Schedules that are wanted.
    pub schedules: u32,
    /// Raised when the user stops it.
    pub stop: &'a AtomicBool,
    /// Time for the analysis.
    pub budget: &'a Budget,
}

impl<'a> PerturbedQuestion<'a> {
    /// The question of somebody who asks for invariants alone.
    #[must_use]
    pub fn alone(run: (&'a Run, &'a str), stop: &'a AtomicBool, budget: &'a Budget) -> Self {
        PerturbedQuestion {
            run,
            passing: &[],
            level: None,
            executing: None,
            schedules: SCHEDULES,
            stop,
            budget,
        }
    }
}

/// Invariants of a run, with what came of executing other schedules.
pub struct PerturbedInvariants {
    /// The invariants.
    pub told: ToldInvariants,
    /// The reason for which conditions before some line are missing; `Complete` when none are.
    pub stopped: StopReason,
    /// Other schedules with the same steps, or the reason for which none were executed; none when that was not wanted.
    pub perturbed: Option<Result<Perturbation, String>>,
    /// Time that the analysis took, without what was executed.
    pub took: Duration,
}

impl PerturbedInvariants {
    /// Returns whether other schedules with the slice's steps were executed, and all failed.
    #[must_use]
    pub fn is_borne_out(&self) -> bool {
        matches!(&self.perturbed, Some(Ok(made)) if made.is_borne_out())
    }

    fn at(
        path: &PreparedPath,
        level: Option<Level>,
        asked: &PerturbedQuestion<'_>,
    ) -> Result<PerturbedInvariants, Unexplained> {
        let options = InvariantOptions {
            level,
            ..InvariantOptions::default()
        };
        let begin = Instant::now();
        let explanation = path.explain(&options, asked.budget)?;
        let took = begin.elapsed();
        let run = asked.run.0;
        let told = invariants::told(&without_usual(&explanation, run, asked.passing), run);
        let rows = told.lines.iter().flat_map(|line| &line.events);
        let rows = rows.copied().map(EventId).collect();
        let perturbed = asked.executing.map(|(given, until)| {
            let time = until.saturating_duration_since(Instant::now());
            let result = perturb(asked, &rows, given, time);
            result.map_err(|error| format!("{error:#}"))
        });
        Ok(PerturbedInvariants {
            told,
            stopped: explanation.stopped,
            perturbed,
            took,
        })
    }
}

/// The invariants along a path, perturbed. Where other schedules with the slice of the lightest level do not all fail, the
/// order of what it leaves out may matter: the level with all dependencies takes its place if they do there.
///
/// # Errors
/// The path cannot be explained.
pub fn explain(
    path: &PreparedPath,
    asked: &PerturbedQuestion<'_>,
) -> Result<PerturbedInvariants, Unexplained> {
    let lightest = PerturbedInvariants::at(path, asked.level, asked)?;
    if asked.level.is_some() || lightest.perturbed.is_none() || lightest.is_borne_out() {
        return Ok(lightest);
    }
    let mut all = PerturbedInvariants::at(path, Some(Level::ALL), asked)?;
    if !all.is_borne_out() {
        return Ok(lightest);
    }
    all.told.why = RAISED.to_owned();
    all.took += lightest.took;
    Ok(all)
}

/// Perturbs the slices behind the invariants of explanations that were executed. What other schedules contradict is not
/// shown; where none could be had, it stays as it was found.
pub fn settle(
    explanations: &mut [Explanation],
    paths: &PreparedPaths,
    with: &Executing<'_>,
    time: Duration,
) {
    let is_due = |one: &&mut Explanation| {
        let executed = one.executed.as_ref();
        let was_run = executed.is_some_and(|executed| executed.verdict != Verdict::NotRun);
        was_run && !one.invariants.is_empty()
    };
    let mut due: Vec<&mut Explanation> = explanations.iter_mut().filter(is_due).collect();
    let share = time / u32::try_from(due.len().max(1)).unwrap_or(u32::MAX);
    for explanation in &mut due {
        settle_one(explanation, paths, with, share);
    }
}

/// As [`settle`], for one explanation.
fn settle_one(
    explanation: &mut Explanation,
    paths: &PreparedPaths,
    with: &Executing<'_>,
    time: Duration,
) -> Option<()> {
    let until = Instant::now().checked_add(time)?;
    let named = |name: &String| with.loaded.runs.iter().find(|(known, _)| known == name);
    let (name, run) = explanation.runs_as_told().find_map(named)?;
    let budget = Budget::lasting(time);
    let path = paths.of(run, name, &budget)?;
    let passing: Vec<&Run> = passing_like(run, with).collect();
    let asked = PerturbedQuestion {
        passing: &passing,
        executing: Some((with.given, until)),
        schedules: BESIDE,
        ..PerturbedQuestion::alone((run, name), with.stop, &budget)
    };
    let found = explain(&path, &asked).ok()?;
    let made = found.perturbed.clone()?.ok()?;
    let was_tried = made.of > 0;
    explanation.invariants = match was_tried && !made.is_borne_out() {
        true => Vec::new(),
        false => found.told.marks(),
    };
    explanation.perturbed = was_tried.then_some(made);
    Some(())
}

/// The passing runs of the same program with the same input, those that are compared with at most.
fn passing_like<'a>(run: &Run, with: &'a Executing<'_>) -> impl Iterator<Item = &'a Run> {
    let key = CorpusKey::of(run);
    let all = with.loaded.runs.iter().map(|(_, other)| other.as_ref());
    let passed = all.filter(|other| other.meta.outcome == Outcome::Passed);
    passed
        .filter(move |other| CorpusKey::of(other) == key)
        .take(PASSING)
}

/// Executes a run's program in other schedules that have these rows in their order, within the time that is left, and
/// within `time`. Fails if the program cannot be executed, or is another build.
fn perturb(
    asked: &PerturbedQuestion<'_>,
    rows: &BTreeSet<EventId>,
    given: &ExecutionSettings,
    time: Duration,
) -> Result<Perturbation> {
    let (run, name) = asked.run;
    let time = asked.budget.left().unwrap_or(TIME).min(TIME).min(time);
    let order: Vec<EventId> = rows
        .iter()
        .copied()
        .filter(|row| is_step(run.events.kind(*row)))
        .collect();
    within(time, asked.stop, |halt, budget| {
        let executor = Executor::new(run, name, given, 1, halt)?;
        let sampler = executor.sampler(halt)?;
        // Threads that take a lock in another order wait for each other before they come to the steps.
        let taken = order.iter().filter_map(|row| outermost(run, *row));
        let order: BTreeSet<EventId> = order.iter().copied().chain(taken).collect();
        let order: Vec<EventId> = order.into_iter().collect();
        let begins = order.first().copied();
        let choices = begins.and_then(|row| sampler.as_ref()?.choices_before(row));
        let drawn = DrawnAround {
            executor: &executor,
            order: &order,
            choices: choices.unwrap_or_default(),
            extent: RunExtent::of(run, &order),
        };
        drawn.schedules(asked.schedules, budget)
    })
}

/// Returns whether a schedule can name events of a kind.
fn is_step(kind: EventKind) -> bool {
    use EventKind::{Begin, Blocked, Branch, End, Failure};
    !matches!(kind, Begin | Blocked | Branch | End | Failure)
}

/// Schedules with an order of a run's steps.
struct DrawnAround<'a> {
    executor: &'a Executor<'a>,
    order: &'a [EventId],
    /// The run's choices before the first of the steps.
    choices: Schedule,
    /// Schedules that go beyond what the run came to are others.
    extent: RunExtent<'a>,
}

impl DrawnAround<'_> {
    fn schedules(&self, wanted: u32, budget: &Budget) -> Result<Perturbation> {
        let run = self.executor.run;
        let proposal = Proposal {
            only_order: true,
            ..Proposal::of_events(run, self.order)
        };
        let (mut missed, mut result) = (MissedBeginnings::default(), Perturbation::default());
        for number in 0..wanted * TRIED {
            if result.of == wanted || budget.stop().is_some() {
                break;
            }
            let beginning = missed.next(number);
            missed.tries(beginning);
            let proposal = Proposal {
                choices: beginning.of(&self.choices),
                then: policy(number, run),
                ..proposal.clone()
            };
            let verdict = match self.executor.once(&proposal) {
                Ok(Some(verdict)) => verdict,
                Ok(None) | Err(TrialError::NoSite(..)) => break,
                Err(error) => return Err(error.into()),
            };
            let is_reached = verdict.ended == ScheduleEnd::Reached;
            if is_reached && !self.extent.is_exceeded_by(&verdict.run) {
                missed.came(beginning);
                let fails = FailureMode::of(&verdict.run).is_like(&FailureMode::of(run));
                result.of += 1;
                result.fails += u32::from(fails);
            }
        }
        Ok(result)
    }
}
