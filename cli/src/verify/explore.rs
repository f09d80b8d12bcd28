//! Explores the schedules of a program, within a bound, and counts what comes of them.

use super::{build::Built, choose::Chosen};
use crate::arguments::Verify;
use anyhow::{Result, bail};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use unsnarl_core::fixes::constraint::{self, Verdict};
use unsnarl_recorder::{
    launch::{Output, Starter},
    log,
    record::{
        Ended, Goal, Job, Observed, Recording, exhaustive::Progress, record, strategy::Strategy,
    },
    target,
};
use unsnarl_trace::{Chances, Outcome, Run};

/// How much is explored.
pub struct Limits {
    bound: u32,
    schedules: u64,
    time: Duration,
    random: u64,
    one: Duration,
    stdin: Option<PathBuf>,
}

impl Limits {
    /// As the user wants it.
    pub fn of(arguments: &Verify) -> Limits {
        Limits {
            bound: arguments.bound,
            schedules: arguments.schedules,
            time: arguments.budget,
            random: arguments.random,
            one: arguments.timeout,
            stdin: arguments.stdin.clone(),
        }
    }
}

/// What came of the schedules.
#[derive(Default)]
pub struct Explored {
    /// Runs of the search.
    pub schedules: u64,
    /// Of those and the random ones, the failing ones.
    pub failing: u64,
    /// Runs that the fix allows, when it was tried as a constraint.
    pub allowed: u64,
    /// The failing ones among them; all failing ones, when it was built.
    pub against: u64,
    /// How the first of those failed.
    pub first: Option<String>,
    /// A line on which a thread waits with the fix's lock held.
    pub waits: Option<u32>,
    /// Random runs.
    pub random: u64,
    /// How far the search came.
    pub progress: Option<Progress>,
    /// Most preemptions that were wanted.
    pub bound: u32,
    /// The search ended because nothing was left within the bound.
    pub is_whole: bool,
    /// The failing run's file, if runs are kept.
    pub file: Option<PathBuf>,
}

/// Explores the program as it is; which runs the fix allows is decided run by run.
pub fn constrained(chosen: &Chosen, limits: &Limits, stop: &AtomicBool) -> Result<Explored> {
    let meta = &chosen.run.1.meta;
    let folder = tempfile::tempdir()?;
    let judge = |run: &Run, explored: &mut Explored| match constraint::verdict(&chosen.fix, run) {
        Verdict::Excluded => false,
        Verdict::Allowed => true,
        Verdict::Waits(line) => {
            explored.waits.get_or_insert(line);
            true
        }
    };
    let job = job(
        chosen,
        Path::new(&meta.program),
        Path::new(&meta.directory),
        limits,
    );
    let mut explored = explore(&job, meta.chances, limits, folder.path(), stop, judge)?;
    // The folder goes.
    explored.file = None;
    Ok(explored)
}

/// Explores the program that was built from the edited copy.
pub fn fixed(
    chosen: &Chosen,
    built: &Built,
    limits: &Limits,
    stop: &AtomicBool,
) -> Result<Explored> {
    let job = job(chosen, &built.program, &built.directory, limits);
    let out = built.root.join(crate::load::RUNS);
    explore(
        &job,
        chosen.run.1.meta.chances,
        limits,
        &out,
        stop,
        |_, _| true,
    )
}

fn job(chosen: &Chosen, program: &Path, directory: &Path, limits: &Limits) -> Job {
    let words = chosen.run.1.meta.command.iter().skip(1).map(Into::into);
    Job {
        command: std::iter::once(program.as_os_str().to_owned())
            .chain(words)
            .collect(),
        directory: directory.to_owned(),
        stdin: limits.stdin.clone(),
        output: Output::Kept,
        timeout: limits.one,
        limits: log::Limits::default(),
        starter: Starter::default(),
    }
}

fn explore(
    job: &Job,
    chances: Chances,
    limits: &Limits,
    out: &Path,
    stop: &AtomicBool,
    judge: impl Fn(&Run, &mut Explored) -> bool,
) -> Result<Explored> {
    let mut explored = Explored {
        bound: limits.bound,
        ..Explored::default()
    };
    // Each part has its own end of time; the user's interruption ends all.
    let searched = campaign(
        job,
        chances,
        (Strategy::Exhaustive(limits.bound), limits.schedules),
        out,
        (limits.time, stop),
        &judge,
        &mut explored,
    )?;
    explored.progress = searched.1;
    explored.is_whole = searched.0 == Ended::Exhausted;
    explored.schedules = searched.2;
    let is_all = explored.is_whole
        && explored
            .progress
            .as_ref()
            .is_some_and(|progress| progress.is_complete);
    if explored.against == 0 && !is_all && limits.random > 0 && !stop.load(Ordering::Relaxed) {
        let random = campaign(
            job,
            chances,
            (Strategy::Portfolio, limits.random),
            out,
            (limits.time, stop),
            &judge,
            &mut explored,
        )?;
        explored.random = random.2;
    }
    if explored.schedules + explored.random == 0 {
        bail!("no schedule was run\n  next: give it more time with --budget");
    }
    Ok(explored)
}

type Campaign = (Ended, Option<Progress>, u64);

fn campaign(
    job: &Job,
    chances: Chances,
    (strategy, runs): (Strategy, u64),
    out: &Path,
    (time, interrupted): (Duration, &AtomicBool),
    judge: &dyn Fn(&Run, &mut Explored) -> bool,
    explored: &mut Explored,
) -> Result<Campaign> {
    let name = job.command.first().cloned().unwrap_or_default();
    let target = target::open(&name, &job.directory)?;
    let recording = Recording {
        job: job.clone(),
        strategy,
        chances,
        seed: 1,
        goal: Goal::of(Some(runs), None),
        keep_passing: 0,
        filter: true,
        minimize: false,
        out: out.to_owned(),
    };
    let (stop, begin) = (AtomicBool::new(false), Instant::now());
    let summary = record(&recording, &target.program, &stop, |seen: &Observed<'_>| {
        watch(seen, judge, explored);
        if begin.elapsed() > time || interrupted.load(Ordering::Relaxed) || explored.against > 0 {
            stop.store(true, Ordering::Relaxed);
        }
    })?;
    Ok((summary.ended, summary.search, summary.tally.runs))
}

fn watch(
    seen: &Observed<'_>,
    judge: &dyn Fn(&Run, &mut Explored) -> bool,
    explored: &mut Explored,
) {
    let outcome = seen.run.meta.outcome;
    let fails = outcome.is_failure();
    explored.failing += u64::from(fails);
    if outcome == Outcome::CutShort || !judge(seen.run, explored) {
        return;
    }
    explored.allowed += 1;
    if fails {
        explored.against += 1;
        let message = seen
            .run
            .meta
            .failure
            .as_ref()
            .map(|failure| failure.message.clone());
        explored
            .first
            .get_or_insert(message.unwrap_or_else(|| outcome.name().to_owned()));
        explored.file = explored
            .file
            .take()
            .or_else(|| seen.file.map(Path::to_owned));
    }
}
