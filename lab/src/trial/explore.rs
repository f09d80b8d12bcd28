//! Explores the schedules of a program, within a bound.

use crate::permission::UserDecision;
use anyhow::{Result, bail};
use std::{
    cell::Cell,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use unsnarl_recorder::{
    launch::{Company, Output, Starter},
    log,
    permit::{Permit, parent_of},
    record::{
        CampaignEnd, Goal, Job, Observed, Recording, exhaustive::SearchProgress, record,
        strategy::Strategy,
    },
    target::Target,
};
use unsnarl_trace::{Chances, Run};

/// Limits of the exploration.
pub struct ExploreLimits {
    /// Most preemptions of the schedules that are searched.
    pub bound: u32,
    /// Most schedules of the search.
    pub schedules: u64,
    /// Time for the search, and again for the random schedules.
    pub time: Duration,
    /// Random schedules, when those within the bound are not all.
    pub random: u64,
    /// Time that one run may take; `None` for the time that the recorded run could take.
    pub one: Option<Duration>,
    /// Upper bound for that time.
    pub most: Duration,
    /// File for standard input, if the runs had one.
    pub stdin: Option<PathBuf>,
    /// Command that uses the program from outside, started beside each run in place of the recorded input.
    pub driver: Option<OsString>,
    /// The user's word about the program.
    pub word: UserDecision,
}

/// Extent of the exploration.
#[derive(Default)]
pub struct Searched {
    /// Runs of the search.
    pub schedules: u64,
    /// Random runs.
    pub random: u64,
    /// Progress of the search.
    pub progress: Option<SearchProgress>,
    /// Most preemptions that were wanted.
    pub bound: u32,
    /// The search ended because nothing was left within the bound.
    pub is_exhausted: bool,
}

impl Searched {
    /// Are these all schedules within the bound?
    pub fn is_whole(&self) -> bool {
        let progress = self.progress.as_ref();
        self.is_exhausted && progress.is_some_and(|progress| progress.unsearchable.is_none())
    }

    /// Would more preemptions show no other order?
    pub fn is_complete(&self) -> bool {
        let is_complete = |progress: &SearchProgress| {
            progress.is_complete && progress.unlogged == 0 && progress.strayed == 0
        };
        self.is_whole() && self.progress.as_ref().is_some_and(is_complete)
    }
}

/// Returns the job that runs a program as `run` was, with other schedules: with this command, in this folder.
pub fn job(
    run: &Run,
    command: Vec<OsString>,
    directory: &Path,
    permit: Permit,
    limits: &ExploreLimits,
) -> Job {
    Job {
        permit,
        parent: parent_of(run.meta.parent.as_deref()),
        command,
        directory: directory.to_owned(),
        stdin: limits.stdin.clone(),
        output: Output::Kept,
        timeout: limits.one.unwrap_or(run.meta.time()).min(limits.most),
        limits: log::Limits::default(),
        criteria: run.meta.criteria.clone(),
        starter: Starter::default().with_company(Company::of_driver(limits.driver.clone())),
    }
}

/// Runs schedules one after the other until they are all, a limit is met or `watch` says that it is enough. Runs that
/// fail are kept in `out`.
pub fn explore(
    (target, job): (&Target, &Job),
    chances: Chances,
    limits: &ExploreLimits,
    out: &Path,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&Observed<'_>) -> bool,
) -> Result<Searched> {
    let is_enough = Cell::new(false);
    let mut watch = |seen: &Observed<'_>| {
        is_enough.set(is_enough.get() || watch(seen));
        is_enough.get()
    };
    // Each part has its own end of time; the user's interruption ends all.
    let exhaustive = (Strategy::Exhaustive(limits.bound), limits.schedules);
    let (ended, progress, schedules) = campaign(
        (target, job),
        chances,
        exhaustive,
        out,
        (limits.time, stop),
        &mut watch,
    )?;
    let mut searched = Searched {
        schedules,
        random: 0,
        progress,
        bound: limits.bound,
        is_exhausted: ended == CampaignEnd::Exhausted,
    };
    let is_over = is_enough.get() || searched.is_complete() || stop.load(Ordering::Relaxed);
    if !is_over && limits.random > 0 {
        let random = (Strategy::Portfolio, limits.random);
        let time = (limits.time, stop);
        let ended = campaign((target, job), chances, random, out, time, &mut watch)?;
        searched.random = ended.2;
    }
    if searched.schedules + searched.random == 0 {
        bail!("no schedule was run\n  next: give it more time");
    }
    Ok(searched)
}

type TrialCampaign = (CampaignEnd, Option<SearchProgress>, u64);

fn campaign(
    (target, job): (&Target, &Job),
    chances: Chances,
    (strategy, runs): (Strategy, u64),
    out: &Path,
    (time, interrupted): (Duration, &AtomicBool),
    watch: &mut dyn FnMut(&Observed<'_>) -> bool,
) -> Result<TrialCampaign> {
    let recording = Recording {
        job: job.clone(),
        strategy,
        chances,
        seed: 1,
        shard: None,
        goal: Goal::of(Some(runs), None),
        keep_passing: 0,
        filter: true,
        names_data: false,
        minimize: false,
        out: out.to_owned(),
        max_disk: u64::MAX,
    };
    let (stop, begin) = (AtomicBool::new(false), Instant::now());
    let summary = record(&recording, &target.program, &stop, |seen: &Observed<'_>| {
        if watch(seen) || begin.elapsed() > time || interrupted.load(Ordering::Relaxed) {
            stop.store(true, Ordering::Relaxed);
        }
    })?;
    Ok((summary.ended, summary.search, summary.tally.runs))
}
