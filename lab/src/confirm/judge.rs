//! Verdict on an explanation, by executing its orders.

use super::{
    attempt::is_whole,
    case::{Case, PassedOrder, is_cause, is_enough, is_guard, is_told_by_schedules, piece, waits},
    choose::{choose, untried},
    counterexamples::Counterexamples,
    decide::{Decision, decide},
    directed::{directed, writes_at},
    experiment::Trials,
    not_run,
    others::instead_of,
    time::within,
    tried::only_surrounds,
};
use crate::{
    Executing,
    dsp::{self, ExecutedProjection, Executor},
};
use anyhow::{Result, anyhow};
use std::{sync::atomic::AtomicBool, time::Duration};
use unsnarl_core::{
    Budget, Certainty, Execution, Explanation, Place, RunSummary, SiteMark, Tally, Verdict,
    diagnosis::Shows,
    explain::{Proposers, Turn, bears_out, never_came},
};
use unsnarl_symbolic::{dsp::projection_agrees, schedules::SolverOptions};
use unsnarl_trace::{EventKind, OrderMode, Outcome, Run};

/// Recorded runs that passed and are looked at for one without what is blamed.
const PASSED: usize = 20;

/// The part of an explanation's time in which its decisive steps are looked for.
const DECIDING: u32 = 4;

/// The share of what is left of it in which stories are tried, in hundredths.
const CHOOSING: u32 = 75;

/// Judges explanations of one corpus.
pub struct Judge<'a> {
    /// The engines that propose other explanations.
    pub proposers: &'a Proposers<'a>,
    /// The means of executing programs.
    pub with: &'a Executing<'a>,
    /// Time for each explanation.
    pub time: Duration,
    /// The ids of those that were confirmed before.
    pub known: &'a [String],
    /// Keeps runs that speak against explanations.
    pub counterexamples: &'a Counterexamples,
}

impl<'a> Judge<'a> {
    /// Executes the orders of an explanation and notes what came of it.
    pub fn judge(&self, explanation: &mut Explanation) {
        let first = explanation.id.clone();
        let executed = within(self.time, self.with.stop, |halt, budget| {
            let executed = self.execute(explanation, halt, budget);
            if explanation.id != first {
                self.proposers.support(explanation, budget);
            }
            executed
        });
        explanation.executed = Some(match executed {
            Ok(executed) => executed,
            Err(error) => not_run(&format!("{error:#}")),
        });
    }

    fn execute(
        &self,
        explanation: &mut Explanation,
        halt: &AtomicBool,
        budget: &Budget,
    ) -> Result<Execution> {
        let name = explanation.run.clone();
        let run = self.recorded(&name)?;
        let executor = Executor::new(run, &name, self.with.given, self.with.times, halt)?;
        let repeated = executor.repeated(run)?;
        let same = u32::try_from(repeated.same).unwrap_or(u32::MAX);
        let tally = Tally {
            fails: same,
            of_fails: same + u32::from(repeated.difference.is_some()),
            ..Tally::default()
        };
        let mut case = Case {
            proposers: self.proposers,
            explanation,
            executor,
            tally,
            decision: Decision::default(),
            needs_a_wakeup: false,
            is_too_late: false,
            says: Vec::new(),
        };
        if let Some(difference) = repeated.difference {
            return Ok(case.ends(Verdict::NotReproduced, None, &difference));
        }
        if repeated.stopped {
            case.explanation.progress = Some(untried(self.proposers, case.explanation));
            return Ok(case.ends(Verdict::Unsettled, None, OVER));
        }
        self.experiment(&mut case, halt, budget)?;
        if let Some((verdict, reason)) = case.whatever_the_schedule() {
            return Ok(case.ends(verdict, None, &reason));
        }
        let directed = directed(&mut case, &self.few_passed())?;
        let is_guard = is_guard(case.explanation);
        if let Some(passed) = directed.passes {
            // Nothing says that what is blamed flowed into the failure: another story may be borne out better.
            let is_beside = case.explanation.certainty == Certainty::Possible
                && !is_guard
                && !is_cause(case.explanation);
            return match is_beside && !waits(case.explanation) {
                true => self.unless_overruled(case, passed, halt, budget),
                false => Ok(case.passes(passed.0, passed.1, passed.2)),
            };
        }
        // Who waits for what at the end is no matter of interpretation.
        // One schedule speaks against no thirty.
        let is_told = is_cause(case.explanation) || is_enough(case.explanation);
        let is_open = !waits(case.explanation) && !is_guard && !is_told;
        if is_open
            && (directed.is_against() || directed.undecided.is_some())
            && let Some((other, passes, of)) = self.retell(&mut case, budget)?
        {
            return Ok(case.passes(other, passes, of));
        }
        if directed.stopped {
            // Where schedules without it have passed, its own steps the other way round would be one order more that does.
            return Ok(match is_told_by_schedules(case.explanation) {
                true => case.ends(Verdict::Confirmed, None, ""),
                false => case.ends(Verdict::Unsettled, None, OVER),
            });
        }
        if is_open
            && directed.is_against()
            && let Some(failed) = directed.fails.first()
        {
            let reason = fails_too(failed.turn, &failed.says, case.explanation);
            let kept =
                (self.counterexamples).keep(&case.executor, Shows::FailsWithout, &failed.run);
            let refuted = case.ends(Verdict::Refuted, None, &reason);
            return Ok(Execution {
                counterexample: kept,
                ..refuted
            });
        }
        self.by_other_means(case, directed.undecided, halt, budget)
    }

    /// Looks for where the run was decided, and for the story that experiments bear out.
    fn experiment(
        &self,
        case: &mut Case<'_, 'a>,
        halt: &AtomicBool,
        budget: &Budget,
    ) -> Result<()> {
        let decision = within(self.time / DECIDING, halt, |halt, _| {
            let sampler = case.executor.sampler(halt)?;
            let decided = sampler.map(|sampler| decide(case.executor.run, &sampler));
            decided.transpose()
        })?;
        let Some(decision) = decision else {
            if budget.stop().is_some() {
                case.explanation.progress = Some(untried(self.proposers, case.explanation));
            }
            return Ok(());
        };
        case.decision = decision;
        let Some(sampler) = case.executor.sampler(halt)? else {
            return Ok(());
        };
        let trials = Trials {
            executor: &case.executor,
            sampler: &sampler,
            passed: self.few_passed(),
            counterexamples: self.counterexamples,
        };
        case.is_too_late = choose(
            self.proposers,
            self.known,
            &trials,
            case.explanation,
            &case.decision,
            &budget.percent(CHOOSING),
        )?;
        Ok(())
    }

    fn recorded(&self, name: &str) -> Result<&'a Run> {
        let mut runs = self.with.loaded.runs.iter();
        let found = runs.find(|(known, _)| known == name);
        let (_, run) = found.ok_or_else(|| anyhow!("its run is gone"))?;
        match run.meta.mode {
            OrderMode::Free => Err(anyhow!(
                "it was recorded while the threads ran freely\n  next: record with a controlled strategy, such as the default"
            )),
            OrderMode::Path => Err(anyhow!(
                "only its paths were recorded\n  next: unsnarl explain --engine dsp --program PROGRAM, with a build without --path"
            )),
            _ => Ok(run),
        }
    }

    /// Other proposals that are told without an experiment, too.
    fn others(&self, explanation: &Explanation, budget: &Budget) -> Vec<Explanation> {
        let mut proposals = self.proposers.instead_of(explanation, &[]);
        let engines = self.proposers.all().filter(|engine| engine.stands_alone());
        let others = engines.flat_map(|engine| proposals.by(engine, budget));
        others.collect()
    }

    /// Looks for another story of the run that holds when its orders are executed, and tells it instead, since what is
    /// blamed so far is not what makes the run fail.
    fn retell(
        &self,
        case: &mut Case<'_, '_>,
        budget: &Budget,
    ) -> Result<Option<(PassedOrder, u32, u32)>> {
        for other in self.others(case.explanation, budget) {
            if only_surrounds(&other, case.explanation) {
                continue;
            }
            let known = std::mem::replace(case.explanation, other);
            let directed = directed(case, &self.few_passed())?;
            if directed.passes.is_some() {
                instead_of(case.explanation, known);
                return Ok(directed.passes);
            }
            *case.explanation = known;
            if directed.stopped {
                break;
            }
        }
        Ok(None)
    }

    /// An order without what is blamed passes; but where the engine dsp has executed one that passes too, about lines that
    /// another story of the run blames, that one is told, because dsp follows the values to the failure. Who waits for what for
    /// ever is seen in the run itself.
    fn unless_overruled(
        &self,
        case: Case<'_, 'a>,
        (other, passes, of): (PassedOrder, u32, u32),
        halt: &AtomicBool,
        budget: &Budget,
    ) -> Result<Execution> {
        let (mut case, projected) = self.project(case, halt)?;
        let told = &*case.explanation;
        let is_seen = waits(told) && told.certainty != Certainty::Possible;
        let Some(projection) = projected.ok().filter(|_| !is_seen) else {
            return Ok(case.passes(other, passes, of));
        };
        let is_settled =
            projection.unconfirmed.is_none() && projection.confirmed.is_some_and(is_whole);
        let agrees = |one: &Explanation| projection_agrees(&projection.dsp, one);
        if !is_settled || agrees(case.explanation) {
            return Ok(case.passes(other, passes, of));
        }
        let told = self
            .others(case.explanation, budget)
            .into_iter()
            .find(|one| one.certainty != Certainty::Possible && agrees(one));
        let Some(told) = told else {
            return Ok(case.passes(other, passes, of));
        };
        *case.explanation = told;
        case.says.clear();
        match case.projected(&projection) {
            Ok(projected) => {
                let tally = projection.confirmed.unwrap_or_default();
                Ok(case.passes(projected, tally.passes, tally.of_passes))
            }
            Err(reason) => Ok(case.ends(Verdict::Unsettled, None, &reason)),
        }
    }

    /// Asks the engine dsp, in half of the time: the rest is kept for what comes after it.
    fn project<'e>(
        &self,
        mut case: Case<'e, 'a>,
        halt: &AtomicBool,
    ) -> Result<(Case<'e, 'a>, Result<ExecutedProjection>)> {
        let (name, run) = (case.explanation.run.clone(), case.executor.run);
        let executor = Ok(case.executor);
        let projected = within(self.time / 2, halt, |halt, budget| {
            let with = Executing {
                stop: halt,
                ..*self.with
            };
            let asked = dsp::ProjectionRequest {
                with: &with,
                no_run: false,
                solve: false,
                solver: SolverOptions::default(),
                program: None,
                budget,
            };
            dsp::executed(&name, run, &asked, &executor, &mut Vec::new())
        });
        let Ok(executor) = executor else {
            return Err(anyhow!("the program is gone"));
        };
        case.executor = executor;
        Ok((case, projected))
    }

    /// No order of the explanation's own steps tells: the engine dsp looks for another one, and after that a recorded
    /// run that passed without what is blamed stands in.
    fn by_other_means(
        &self,
        case: Case<'_, 'a>,
        undecided: Option<String>,
        halt: &AtomicBool,
        budget: &Budget,
    ) -> Result<Execution> {
        let (mut case, projected) = self.project(case, halt)?;
        let mut reason = match projected {
            Ok(projection) => match self.projected(&mut case, &projection, budget) {
                Ok(other) => {
                    let tally = projection.confirmed.unwrap_or_default();
                    return Ok(case.passes(other, tally.passes, tally.of_passes));
                }
                Err(reason) => reason,
            },
            Err(error) => format!("{error:#}"),
        };
        if let Some(undecided) = undecided {
            return Ok(case.ends(Verdict::Unsettled, None, &undecided));
        }
        // Where runs pass without what is said to be missing, too, one of the others shows nothing.
        let comes = |run: &Run| {
            let mark = never_came(case.explanation);
            mark.is_none_or(|mark| writes_before(run, mark, case.explanation))
        };
        let is_told_apart = self.passed().take(PASSED).all(|(_, run)| comes(run));
        let without = self.passed().take(PASSED);
        let mut without =
            without.filter(|(_, run)| is_told_apart && is_without(case.explanation, run));
        if let Some((name, run)) = without.next() {
            let repeated = case.executor.repeated(run)?;
            let passes = u32::try_from(repeated.same).unwrap_or(u32::MAX);
            let of = passes + u32::from(repeated.difference.is_some());
            if passes > 0 {
                let other = PassedOrder {
                    says: name.to_owned(),
                    is_recorded: true,
                };
                return Ok(case.passes(other, passes, of));
            }
        }
        if budget.stop().is_some() {
            OVER.clone_into(&mut reason);
        }
        Ok(case.ends(Verdict::Unsettled, None, &reason))
    }

    /// The order that the engine dsp has executed, if that settles it; else why not. Where it is about other lines,
    /// it may be another story of the run that it bears out: what was executed counts.
    fn projected(
        &self,
        case: &mut Case<'_, '_>,
        projection: &ExecutedProjection,
        budget: &Budget,
    ) -> Result<PassedOrder, String> {
        let is_settled =
            projection.unconfirmed.is_none() && projection.confirmed.is_some_and(is_whole);
        let agrees = |one: &Explanation| projection_agrees(&projection.dsp, one);
        let is_open =
            !waits(case.explanation) && !is_guard(case.explanation) && !is_cause(case.explanation);
        if is_settled && is_open && !agrees(case.explanation) {
            let mut others = self.proposers.nearly(case.explanation, budget).into_iter();
            if let Some(other) = others.find(agrees) {
                *case.explanation = other;
            }
        }
        case.projected(projection)
    }

    /// The shortest of them, as many as are looked at.
    fn few_passed(&self) -> Vec<&'a Run> {
        let passed = self.passed().map(|(_, run)| run);
        passed.take(PASSED).collect()
    }

    /// Runs of the corpus that passed, the shortest first.
    fn passed(&self) -> impl Iterator<Item = (&'a str, &'a Run)> {
        let mut passed: Vec<&RunSummary> = self.proposers.material().corpus.passing().collect();
        passed.sort_by(|a, b| (a.events, &a.name).cmp(&(b.events, &b.name)));
        let runs = passed.into_iter().filter_map(|summary| {
            let mut runs = self.with.loaded.runs.iter();
            let (name, run) = runs.find(|(name, _)| *name == summary.name)?;
            Some((name.as_str(), &**run))
        });
        runs.filter(|(_, run)| {
            run.meta.mode == OrderMode::Controlled && run.meta.outcome == Outcome::Passed
        })
    }
}

/// Reason why an explanation was not settled when the time was over.
const OVER: &str = "the time for running it again was over\n  next: give it more: --run-budget 2m";

/// Is a run without what is blamed? What a run cannot have or not have is told by none: threads that wait for ever apart,
/// and what is missing in the failing run.
fn is_without(explanation: &Explanation, run: &Run) -> bool {
    match bears_out(explanation, run) {
        Some(has) => !has,
        None => waits(explanation) || never_came(explanation).is_some(),
    }
}

/// Does a run write there before it comes to the last of the explanation's steps that is blamed?
fn writes_before(run: &Run, mark: &SiteMark, explanation: &Explanation) -> bool {
    let is_blamed = |mark: &&SiteMark| mark.role.is_blamed();
    let marks = explanation.sites.iter().filter(is_blamed);
    let Some(last) = marks
        .filter(|mark| mark.step.is_some())
        .max_by_key(|mark| mark.step)
    else {
        return writes_at(run, &mark.place);
    };
    let mut events = run.events.iter();
    let mut is_at = |place: &Place, is_wanted: fn(EventKind) -> bool| {
        events.any(|(_, event)| {
            let site = run.meta.site(event.site);
            is_wanted(event.kind) && (site.line, &site.file) == (place.line, &place.file)
        })
    };
    is_at(&mark.place, EventKind::writes) && is_at(&last.place, EventKind::is_access)
}

fn fails_too(turn: Turn, says: &str, explanation: &Explanation) -> String {
    match turn {
        Turn::RegionFirst | Turn::OthersFirst => {
            format!(
                "with {} uninterrupted it fails all the same",
                piece(explanation)
            )
        }
        Turn::Swapped | Turn::Awaited | Turn::NotWoken => {
            let order = says.split_once(": ").map_or(says, |(order, _)| order);
            format!("with {order} it fails all the same")
        }
    }
}
