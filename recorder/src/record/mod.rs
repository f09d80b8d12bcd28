//! The campaign: runs a program many times under different schedules and keeps the runs.

mod classes;
mod conflicts;
pub mod coverage;
mod details;
mod goal;
pub mod order;
pub mod strategy;

use crate::{
    assemble::{Launch, Program, RawLog, RawLogError, assemble},
    launch::{Finished, LaunchError, Output, Request, launch},
    log::{Config, Limits, Log},
};
use classes::Classes;
use coverage::Coverage;
use order::order_hash;
use sha2::{Digest, Sha256};
use std::{
    ffi::OsString,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use strategy::{Attempt, Planner, Strategy};
use unsnarl_trace::{Outcome, Run, RunFolder, StoreError};

pub use details::Details;
pub use goal::{Ended, Goal};

/// What to run and how.
#[derive(Clone, Debug)]
pub struct Job {
    /// Program and arguments as given.
    pub command: Vec<OsString>,
    /// Working directory.
    pub directory: PathBuf,
    /// File for standard input.
    pub stdin: Option<PathBuf>,
    /// What becomes of the program's output.
    pub output: Output,
    /// Time that a run may take.
    pub timeout: Duration,
    /// What a run may use.
    pub limits: Limits,
}

/// A campaign.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What is run.
    pub job: Job,
    /// How schedules are chosen.
    pub strategy: Strategy,
    /// Seed of the first run; the n-th after it has seed + n.
    pub seed: u64,
    /// When it is enough.
    pub goal: Goal,
    /// Passing runs that are kept at most. Those that are not kept count all the same.
    pub keep_passing: u64,
    /// Folder for the runs.
    pub out: PathBuf,
}

/// Runs that are kept, passing and failing ones, although they are like one before: on them it is
/// counted how often something happens. Beyond them only runs that differ are kept.
const KEPT_ANYWAY: u64 = 50;

/// What has been seen so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Passed.
    pub passed: u64,
    /// Failed by assertion, abort, signal or exit status.
    pub failed: u64,
    /// All threads waited for each other.
    pub deadlocked: u64,
    /// Took too long.
    pub timed_out: u64,
    /// The record ends before the run did.
    pub cut_short: u64,
    /// Passing runs that were kept.
    pub kept_passing: u64,
    /// Runs that were not kept because one with the same order of conflicting events was.
    pub repeated: u64,
    /// Passing runs that were not kept because there were enough.
    pub not_kept: u64,
    /// Runs that differ from all before them in the order of conflicting events.
    pub different: u64,
    /// Failing ones among them.
    pub different_failing: u64,
    /// Failing runs in a row that were like one before.
    pub failing_again: u64,
}

impl Tally {
    /// Runs in which something went wrong in the program.
    pub fn failing(&self) -> u64 {
        self.failed + self.deadlocked + self.timed_out
    }

    fn count(&mut self, outcome: Outcome) {
        self.runs += 1;
        let counter = match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Deadlocked => &mut self.deadlocked,
            Outcome::TimedOut => &mut self.timed_out,
            Outcome::CutShort => &mut self.cut_short,
        };
        *counter += 1;
    }

    /// Whether a run is to be kept.
    fn wants(&mut self, outcome: Outcome, is_new: bool, most_passing: u64) -> bool {
        let passed = outcome == Outcome::Passed;
        let before = match passed {
            true => self.kept_passing,
            false => self.failing().saturating_sub(1),
        };
        if !is_new && before >= KEPT_ANYWAY {
            self.repeated += 1;
            return false;
        }
        if passed && self.kept_passing >= most_passing {
            self.not_kept += 1;
            return false;
        }
        self.kept_passing += u64::from(passed);
        true
    }

    fn compare(&mut self, is_failure: bool, is_new: bool) {
        self.different += u64::from(is_new);
        if is_failure {
            self.different_failing += u64::from(is_new);
            self.failing_again = if is_new { 0 } else { self.failing_again + 1 };
        }
    }
}

/// One run of a campaign, for whoever watches.
pub struct Observed<'a> {
    /// The run.
    pub run: &'a Run,
    /// Where it was stored, if it was kept.
    pub file: Option<&'a Path>,
    /// The runs up to this one.
    pub tally: Tally,
}

/// A campaign that has ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// What was seen.
    pub tally: Tally,
    /// Why it ended.
    pub ended: Ended,
    /// The first failing run that was kept.
    pub first_failing: Option<PathBuf>,
    /// Which interleavings were seen.
    pub coverage: Coverage,
    /// What the runs' problems were, each once, with the number of runs that had it.
    pub problems: Vec<(String, u64)>,
}

/// Why a campaign could not go on. Runs that were stored stay.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The folder cannot take the runs.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// No memory for the log.
    #[error(
        "cannot make the log in memory: {0}\n  next: give it less room with --max-events, or raise the limits (ulimit -a)"
    )]
    Log(io::Error),
    /// The program spoiled its log.
    #[error("the program spoiled the log in its memory: {0}")]
    Spoiled(#[from] RawLogError),
    /// The first run recorded nothing.
    #[error("the program ran, but nothing of it was recorded: {reason}{output}")]
    NothingRecorded {
        /// Why, as far as it is known.
        reason: String,
        /// What the program printed, indented.
        output: String,
    },
}

/// Runs the campaign. `watcher` sees every run; `stop` ends it between two runs or in the middle of one.
pub fn record(
    recording: &Recording,
    program: &Program,
    stop: &AtomicBool,
    mut watcher: impl FnMut(&Observed<'_>),
) -> Result<Summary, RecordError> {
    let folder = RunFolder::new(&recording.out);
    let mut planner = Planner::new(recording.strategy, recording.seed);
    let mut summary = Summary {
        tally: Tally::default(),
        ended: Ended::Enough,
        first_failing: None,
        coverage: Coverage::default(),
        problems: Vec::new(),
    };
    let mut classes = Classes::default();
    loop {
        if let Some(ended) = recording.goal.reached(&summary.tally) {
            summary.ended = ended;
            return Ok(summary);
        }
        let Some(attempt) = planner.next_attempt() else {
            summary.ended = Ended::Exhausted;
            return Ok(summary);
        };
        let executed = match execute(&recording.job, program, &attempt, stop) {
            // A stray write of this schedule says nothing about the next one.
            Err(error @ RecordError::Spoiled(_)) if !stop.load(Ordering::Relaxed) => {
                summary.tally.count(Outcome::CutShort);
                note(&mut summary.problems, &error.to_string());
                continue;
            }
            other => other?,
        };
        if executed.finished.stopped || stop.load(Ordering::Relaxed) {
            summary.ended = Ended::Stopped;
            return Ok(summary);
        }
        if summary.tally.runs == 0 {
            refuse_empty(&executed.run, &executed.finished)?;
        }
        planner.observe(&executed);
        let mut run = executed.run;
        run.meta.order = order_hash(&run);
        summary.coverage.add(&run);
        let is_new = classes.is_new(&run);
        let file = keep(recording, &folder, &run, is_new, &mut summary)?;
        watcher(&Observed {
            run: &run,
            file: file.as_deref(),
            tally: summary.tally,
        });
    }
}

/// One run as it came out.
pub struct Executed {
    /// The run.
    pub run: Run,
    /// How the process ended.
    pub finished: Finished,
    /// What is known about its choices, when the attempt asked for it.
    pub details: Option<Details>,
}

/// Runs the program once and puts the run together.
pub fn execute(
    job: &Job,
    program: &Program,
    attempt: &Attempt,
    stop: &AtomicBool,
) -> Result<Executed, RecordError> {
    execute_with_log(job, program, attempt, stop).map(|(executed, _)| executed)
}

/// As [`execute`], with the log for what the run does not say.
pub(crate) fn execute_with_log(
    job: &Job,
    program: &Program,
    attempt: &Attempt,
    stop: &AtomicBool,
) -> Result<(Executed, Log), RecordError> {
    let log = Log::create(&config(job, attempt)).map_err(RecordError::Log)?;
    let request = Request {
        program: program.path().to_owned(),
        command: job.command.clone(),
        directory: job.directory.clone(),
        stdin: job.stdin.clone(),
        output: job.output,
        timeout: job.timeout,
    };
    let finished = launch(&request, &log, stop)?;
    let raw = RawLog::new(log.bytes())?;
    let executed = Executed {
        run: assemble(&raw, program, &seen(job, attempt, &finished)?),
        finished,
        details: attempt.details.then(|| Details::read(&raw)),
    };
    Ok((executed, log))
}

/// What the runtime is told for an attempt.
pub(crate) fn config(job: &Job, attempt: &Attempt) -> Config {
    Config {
        mode: attempt.mode,
        strategy: attempt.strategy,
        seed: attempt.seed,
        depth: attempt.depth,
        expected_steps: attempt.expected_steps,
        switch_one_in: attempt.switch_one_in,
        prefix: attempt.prefix.clone(),
        plan: attempt.plan.clone(),
        chances: attempt.chances,
        details: attempt.details,
        follow: attempt.follow.clone(),
        branches: attempt.branches,
        is_debugged: false,
        limits: job.limits,
    }
}

pub(crate) fn seen(
    job: &Job,
    attempt: &Attempt,
    finished: &Finished,
) -> Result<Launch, LaunchError> {
    Ok(Launch {
        command: job
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        directory: job.directory.to_string_lossy().into_owned(),
        input_hash: input_hash(job)?,
        mode: attempt.run_mode(),
        strategy: attempt.name.to_owned(),
        seed: attempt.seed,
        depth: attempt.depth,
        expected_steps: attempt.expected_steps,
        chances: attempt.chances,
        timed_out: finished.timed_out,
        killed: finished.stopped,
        exit: finished.exit,
    })
}

/// SHA-256 over the arguments, each with its length, and standard input.
pub(crate) fn input_hash(job: &Job) -> Result<String, LaunchError> {
    let mut hash = Sha256::new();
    for argument in job.command.iter().skip(1) {
        hash.update((argument.as_bytes().len() as u64).to_le_bytes());
        hash.update(argument.as_bytes());
    }
    if let Some(path) = &job.stdin {
        let failed = |error| LaunchError::Stdin {
            path: path.clone(),
            error,
        };
        let mut file = std::fs::File::open(path).map_err(failed)?;
        io::copy(&mut file, &mut hash).map_err(failed)?;
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Nothing at all in the log: every further run would be as empty.
fn refuse_empty(run: &Run, finished: &Finished) -> Result<(), RecordError> {
    if run.meta.outcome != Outcome::CutShort || !run.events.is_empty() {
        return Ok(());
    }
    let printed = finished.stderr.text();
    let lines = printed.lines().take(20).map(|line| format!("\n  | {line}"));
    Err(RecordError::NothingRecorded {
        reason: run
            .meta
            .problems
            .first()
            .cloned()
            .unwrap_or_else(|| "it ended at once".to_owned()),
        output: lines.collect(),
    })
}

fn keep(
    recording: &Recording,
    folder: &RunFolder,
    run: &Run,
    is_new: bool,
    summary: &mut Summary,
) -> Result<Option<PathBuf>, RecordError> {
    summary.tally.count(run.meta.outcome);
    summary.tally.compare(run.meta.outcome.is_failure(), is_new);
    run.meta
        .problems
        .iter()
        .for_each(|problem| note(&mut summary.problems, problem));
    if !summary
        .tally
        .wants(run.meta.outcome, is_new, recording.keep_passing)
    {
        return Ok(None);
    }
    let file = folder.store(run)?;
    if run.meta.outcome.is_failure() && summary.first_failing.is_none() {
        summary.first_failing = Some(file.clone());
    }
    Ok(Some(file))
}

fn note(problems: &mut Vec<(String, u64)>, problem: &str) {
    match problems.iter_mut().find(|(text, _)| text == problem) {
        Some((_, count)) => *count += 1,
        None => problems.push((problem.to_owned(), 1)),
    }
}
