//! `unsnarl predict`: anomalies in other orders of a passing run's steps, each executed.
//!
//! An error is an anomaly that made the program fail when it was executed. One that happened and did no harm is a
//! note; one that did not happen is a hint with the reason, and nobody has to take it on trust.

mod engine;
mod execute;
mod explained;
mod json;
mod runs;
mod sound;
mod text;
mod verdict;

use self::{
    engine::LookedAt,
    execute::RunExecutor,
    runs::{PredictedRun, subjects},
    sound::Sound,
    verdict::{AnomalyVerdict, ExecutionVerdict, FindingTally, UnshownReason},
};
use crate::{
    arguments::{OutputFormat, PredictArguments},
    message, progress,
    record::stop_flag,
};
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use unsnarl_core::{
    Budget, StopReason,
    predict::{AnomalyCandidate, Patterns, UserPatterns, WitnessOrder, schedule::Scheduler},
};
use unsnarl_lab::cancel::cancellable;
use unsnarl_trace::files::read_text;
use unsnarl_trace::{OrderMode, Run};

/// Share of the time for searching and executing, in hundredths: the rest is for explaining the failures.
const BEFORE_EXPLAINING: u32 = 90;

/// Largest share of that for searching: an anomaly that was not executed says little.
const SEARCHING: u32 = 40;

/// The predictions from one run, with their results.
struct Report {
    subject: PredictedRun,
    findings: Vec<AnomalyVerdict>,
    /// Time of the search.
    analysis: Duration,
    /// Time of computing orders.
    ordering: Duration,
    /// Time of the executions.
    executing: Duration,
    /// The reason for which the search ended.
    stopped: StopReason,
    /// Counts of the examined items.
    looked_at: LookedAt,
    /// Number of anomalies that were not executed because of --max.
    over: u64,
    /// `true` if the user stopped the executions, or the budget did.
    interrupted: bool,
}

/// Predicts, executes and reports.
pub fn run(arguments: PredictArguments) -> Result<ExitCode> {
    let patterns = patterns(arguments.patterns.as_deref())?;
    let stop = stop_flag()?;
    let budget = Budget::lasting(arguments.budget);
    let before_explaining = budget.percent(BEFORE_EXPLAINING);
    let subjects = subjects(&arguments, &stop)?;
    let is_only = subjects.len() == 1;
    let mut reports = Vec::new();
    let mut known = FindingsSoFar::default();
    let count = subjects.len() as u32;
    for (subject, of) in subjects.into_iter().zip((1..=count).rev()) {
        let left = arguments.max.saturating_sub(known.executed);
        let asked = RunQuestions {
            arguments: &arguments,
            patterns: &patterns,
            budget: &before_explaining.percent(100 / of),
            stop: &stop,
            left,
        };
        let name = subject.name.clone();
        match look_at(subject, &asked, &mut known) {
            Ok(report) => reports.push(report),
            // Of several programs some may be gone, or built anew.
            Err(error) if !is_only => message::warning(&format!("left out: {name}: {error:#}")),
            Err(error) => return Err(error),
        }
    }
    if reports.is_empty() {
        bail!("none of the programs can be executed as they were recorded");
    }
    let headlines = explained::headlines(&arguments, &reports, &budget);
    match arguments.format {
        OutputFormat::Text => text::print(&reports, &headlines, arguments.all),
        OutputFormat::Json => json::print(&reports, &headlines)?,
    }
    let failed = reports.iter().flat_map(|report| &report.findings);
    let failed = failed.filter(|finding| matches!(finding.verdict, ExecutionVerdict::Failed(_)));
    Ok(ExitCode::from(u8::from(failed.count() > 0)))
}

/// The questions about each run.
struct RunQuestions<'a> {
    arguments: &'a PredictArguments,
    patterns: &'a UserPatterns,
    budget: &'a Budget,
    stop: &'a AtomicBool,
    /// Number of anomalies that may still be executed.
    left: u64,
}

impl RunQuestions<'_> {
    /// Returns whether the user has stopped it, or its time is over.
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.budget.stop().is_some()
    }
}

/// The findings so far.
#[derive(Default)]
struct FindingsSoFar {
    /// Class, pattern and lines of anomalies that happened in an earlier run.
    shown: BTreeSet<AnomalyKey>,
    /// Number of anomalies that were executed for earlier runs.
    executed: u64,
}

/// The identity of an anomaly for a reader: class, pattern, places.
type AnomalyKey = (&'static str, String, Vec<(String, u32)>);

fn key(run: &Run, candidate: &AnomalyCandidate) -> AnomalyKey {
    let sites = candidate.events.iter().map(|id| run.events.event(*id));
    let sites = sites.map(|event| run.meta.site(event.site));
    let lines = sites.map(|site| (site.file.clone(), site.line)).collect();
    (candidate.class.name(), candidate.pattern.clone(), lines)
}

/// The built-in patterns, and the patterns and regions of a file.
fn patterns(file: Option<&Path>) -> Result<UserPatterns> {
    let mut patterns = UserPatterns {
        patterns: Patterns::built_in(),
        ..UserPatterns::default()
    };
    patterns.patterns.all.extend(Patterns::orders().all);
    if let Some(file) = file {
        let text = read_text(file)
            .with_context(|| format!("cannot read the patterns in {}", file.display()))?;
        let own = Patterns::parse(&text).with_context(|| file.display().to_string())?;
        patterns.patterns.all.extend(own.patterns.all);
        patterns.regions = own.regions;
    }
    Ok(patterns)
}

fn look_at(
    subject: PredictedRun,
    asked: &RunQuestions<'_>,
    known: &mut FindingsSoFar,
) -> Result<Report> {
    let executor = match subject.run.meta.mode {
        OrderMode::Imported => None,
        _ => Some(RunExecutor::new(&subject, asked.arguments, asked.stop)?),
    };
    let run = subject.run.clone();
    let begin = Instant::now();
    let scheduler = Scheduler::new(&run);
    let ordering = begin.elapsed();
    let begin = Instant::now();
    let sound = Sound::new(&run);
    let preparing = begin.elapsed();
    let searching = asked.budget.percent(SEARCHING);
    let predicted = cancellable(asked.stop, &searching, || {
        engine::predict(&subject, &scheduler, &sound, asked.patterns, &searching)
    });
    let mut report = Report {
        findings: Vec::new(),
        analysis: preparing + predicted.time,
        ordering,
        executing: Duration::ZERO,
        stopped: predicted.stopped,
        looked_at: predicted.looked_at,
        over: 0,
        interrupted: false,
        subject,
    };
    let candidates = predicted.candidates.len() as u64;
    let bar = progress::bar(candidates, "{bar:24} {pos} of {len} predicted, {msg}");
    let mut at: BTreeMap<AnomalyKey, usize> = BTreeMap::new();
    for candidate in predicted.candidates {
        bar.inc(1);
        let key = key(&run, &candidate);
        let before = at.get(&key).and_then(|index| report.findings.get(*index));
        let is_settled = before.is_some_and(|before| !before.may_differ());
        if is_settled || known.shown.contains(&key) {
            continue;
        }
        let mut finding = try_one(
            &candidate,
            || {
                scheduler
                    .order(&candidate)
                    .map_err(|none| none.in_words(&run))
            },
            executor.as_ref(),
            asked,
            &mut report,
        )?;
        let order = match asked.is_over() {
            true => None,
            false => sound.order(&candidate),
        };
        if let Some(order) = order {
            finding.certain = true;
            // It is possible for sure, so the order that proves it is tried where the first one went elsewhere.
            if !finding.happened() && finding.executed > 0 {
                let order = || Ok(order);
                let again = try_one(&candidate, order, executor.as_ref(), asked, &mut report)?;
                finding.improve(again);
            }
        }
        show(&bar, &report);
        match at
            .get(&key)
            .and_then(|index| report.findings.get_mut(*index))
        {
            Some(before) => before.improve(finding),
            None => {
                at.insert(key, report.findings.len());
                report.findings.push(finding);
            }
        }
    }
    bar.finish_and_clear();
    known.executed += report.executed();
    let shown = report.findings.iter().filter(|finding| finding.happened());
    known
        .shown
        .extend(shown.map(|finding| key(&run, &finding.candidate)));
    Ok(report)
}

/// Computes the order of a candidate and executes it, as far as time and permission allow.
fn try_one(
    candidate: &AnomalyCandidate,
    order: impl FnOnce() -> Result<WitnessOrder, String>,
    executor: Option<&RunExecutor<'_>>,
    asked: &RunQuestions<'_>,
    report: &mut Report,
) -> Result<AnomalyVerdict> {
    let not = |why, reason: &str| AnomalyVerdict {
        candidate: candidate.clone(),
        verdict: ExecutionVerdict::Not {
            why,
            reason: reason.to_owned(),
        },
        executed: 0,
        certain: false,
    };
    let Some(executor) = executor else {
        let reason = "the run was imported, there is no program to execute";
        return Ok(not(UnshownReason::NotExecuted, reason));
    };
    report.interrupted |= asked.is_over();
    if report.interrupted {
        return Ok(not(
            UnshownReason::NotExecuted,
            "there was no time left (--budget)",
        ));
    }
    let begin = Instant::now();
    let order = order();
    report.ordering += begin.elapsed();
    let order = match order {
        Ok(order) => order,
        Err(why) => return Ok(not(UnshownReason::NoOrder, &why)),
    };
    if report.executed() >= asked.left {
        report.over += 1;
        return Ok(not(
            UnshownReason::NotExecuted,
            "more were predicted than are executed (--max)",
        ));
    }
    let begin = Instant::now();
    let finding = executor.run(candidate, &order)?;
    report.executing += begin.elapsed();
    Ok(finding.unwrap_or_else(|| {
        report.interrupted = true;
        not(UnshownReason::NotExecuted, "it was stopped")
    }))
}

impl Report {
    /// Number of anomalies that were executed.
    fn executed(&self) -> u64 {
        let executed = self.findings.iter().filter(|finding| finding.executed > 0);
        executed.count() as u64
    }

    fn tally(&self) -> FindingTally {
        FindingTally::of(&self.findings)
    }
}

fn show(bar: &ProgressBar, report: &Report) {
    let tally = report.tally();
    let rate = tally.schedules as f64 / report.executing.as_secs_f64().max(0.001);
    bar.set_message(format!(
        "{} reproduced, {} failed ({rate:.0} schedules/s)",
        tally.reproduced, tally.failed
    ));
}
