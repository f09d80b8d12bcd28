//! The campaign: runs a program many times under different schedules and keeps the runs.

mod classes;
mod conflicts;
pub mod coverage;
mod details;
pub mod exhaustive;
mod filter;
mod goal;
mod marker;
pub mod minimize;
pub mod order;
pub mod strategy;

use crate::{
    assemble::{Launch, Program, RawLog, RawLogError, assemble},
    launch::{Finished, LaunchError, Output, Request, launch},
    log::{Config, Limits, Log},
};
use classes::Classes;
use coverage::Coverage;
use exhaustive::Progress;
use filter::Filter;
use marker::Marker;
use minimize::Way;
use order::order_hash;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::{
    collections::hash_map::Entry,
    ffi::OsString,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use strategy::{Attempt, Planner, Strategy};
use unsnarl_trace::{Chances, Outcome, Run, RunFolder, StoreError, raw::RawStrategy};

pub use details::Details;
pub use goal::{Ended, Goal, USUAL_CAP};

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
    /// The choices other than threads that the runs have.
    pub chances: Chances,
    /// Seed of the first run; the n-th after it has seed + n.
    pub seed: u64,
    /// When it is enough.
    pub goal: Goal,
    /// Passing runs that are kept at most. Those that are not kept count all the same.
    pub keep_passing: u64,
    /// Let some of the runs pass over accesses that have never met another thread's.
    pub filter: bool,
    /// For each way to fail, make the run with the fewest preemptions that fails so.
    pub minimize: bool,
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
    /// How far an exhaustive search has come.
    pub search: Option<Progress>,
    /// Which interleavings were seen.
    pub coverage: Coverage,
    /// Campaigns that were killed before this one began.
    pub killed_before: u64,
    /// The runs with the fewest preemptions, one for each way to fail, if that was asked for.
    pub minimized: Vec<MinimizedRun>,
    /// What the runs' problems were, each once, with the number of runs that had it.
    pub problems: Vec<(String, u64)>,
}

/// What came of a failing run when preemptions were taken away.
#[derive(Clone, Debug)]
pub struct MinimizedRun {
    /// The failing run's file.
    pub from: PathBuf,
    /// What it became, and its file; `None` when the run could not be repeated.
    pub to: Option<(PathBuf, Run)>,
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
    /// How far an exhaustive search has come cannot be read or kept.
    #[error("the state of the search, {}, cannot be used: {why}\n  next: remove it to begin anew", file.display())]
    SearchState {
        /// The file.
        file: PathBuf,
        /// Why not.
        why: String,
    },
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
    watcher: impl FnMut(&Observed<'_>),
) -> Result<Summary, RecordError> {
    let mut campaign = Campaign::new(recording);
    let swept = marker::sweep(&recording.out);
    campaign.summary.killed_before = swept.map_err(unwritable(&recording.out))?;
    campaign.mark()?;
    let mut planner = Planner::begin(recording, program)?;
    campaign.summary.ended = campaign.explore(&mut planner, program, stop, watcher)?;
    campaign.summary.search = planner.leave()?;
    if recording.minimize && campaign.summary.ended != Ended::Stopped {
        campaign.minimize(program, stop)?;
    }
    Ok(campaign.summary)
}

/// A campaign that goes on.
struct Campaign<'a> {
    recording: &'a Recording,
    folder: RunFolder,
    classes: Classes,
    filter: Filter,
    /// In the folder as soon as there is one.
    marker: Option<Marker>,
    /// The simplest failing run of each way to fail.
    simplest: FxHashMap<Way, (PathBuf, Run)>,
    summary: Summary,
}

impl<'a> Campaign<'a> {
    fn new(recording: &'a Recording) -> Campaign<'a> {
        Campaign {
            recording,
            folder: RunFolder::new(&recording.out),
            classes: Classes::default(),
            filter: Filter::default(),
            marker: None,
            simplest: FxHashMap::default(),
            summary: Summary {
                tally: Tally::default(),
                ended: Ended::Enough,
                first_failing: None,
                search: None,
                coverage: Coverage::default(),
                killed_before: 0,
                minimized: Vec::new(),
                problems: Vec::new(),
            },
        }
    }

    fn explore(
        &mut self,
        planner: &mut Planner,
        program: &Program,
        stop: &AtomicBool,
        mut watcher: impl FnMut(&Observed<'_>),
    ) -> Result<Ended, RecordError> {
        let recording = self.recording;
        loop {
            if let Some(ended) = recording.goal.reached(&self.summary.tally) {
                return Ok(ended);
            }
            let Some(attempt) = planner.next_attempt() else {
                return Ok(Ended::Exhausted);
            };
            let attempt = self.filtered(attempt);
            let executed = match execute_with_log(&recording.job, program, &attempt, stop) {
                // A stray write of this schedule says nothing about the next one.
                Err(error @ RecordError::Spoiled(_)) if !stop.load(Ordering::Relaxed) => {
                    self.summary.tally.count(Outcome::CutShort);
                    note(&mut self.summary.problems, &error.to_string());
                    planner.lost();
                    continue;
                }
                other => other?,
            };
            let (executed, log) = executed;
            if recording.filter {
                let quiet = !attempt.quiet.is_empty();
                self.filter.add(&RawLog::new(log.bytes())?, quiet);
            }
            if executed.finished.stopped || stop.load(Ordering::Relaxed) {
                return Ok(Ended::Stopped);
            }
            if self.summary.tally.runs == 0 {
                refuse_empty(&executed.run, &executed.finished)?;
            }
            // Runs that pass places over say nothing about the length of the others.
            if attempt.quiet.is_empty() && !planner.observe(&executed)? {
                continue;
            }
            let mut run = executed.run;
            run.meta.order = order_hash(&run);
            run.meta.quiet_places = attempt.quiet.len() as u32;
            self.summary.coverage.add(&run);
            let file = self.keep(&run)?;
            watcher(&Observed {
                run: &run,
                file: file.as_deref(),
                tally: self.summary.tally,
            });
            if let Some(file) = file.filter(|_| recording.minimize && run.meta.outcome.is_failure())
            {
                self.note_simplest(file, run);
            }
        }
    }

    /// The attempt, with the places that it passes over if it is its turn to.
    fn filtered(&self, attempt: Attempt) -> Attempt {
        let draws = matches!(attempt.strategy, RawStrategy::Random | RawStrategy::Pct);
        let quiet = match self.recording.filter && draws && attempt.prefix.is_empty() {
            true => self.filter.next(),
            false => Vec::new(),
        };
        let steps = self
            .filter
            .steps()
            .filter(|_| !quiet.is_empty() && attempt.depth > 0);
        Attempt {
            expected_steps: steps.unwrap_or(attempt.expected_steps),
            quiet,
            ..attempt
        }
    }

    /// Marks the folder, if it is there.
    fn mark(&mut self) -> Result<(), StoreError> {
        let folder = self.folder.path();
        if self.marker.is_none() && folder.is_dir() {
            self.marker = Some(Marker::set(folder).map_err(unwritable(folder))?);
        }
        Ok(())
    }

    /// Counts a run and stores it if it is worth that.
    fn keep(&mut self, run: &Run) -> Result<Option<PathBuf>, RecordError> {
        let is_new = self.classes.is_new(run);
        let (tally, outcome) = (&mut self.summary.tally, run.meta.outcome);
        tally.count(outcome);
        tally.compare(outcome.is_failure(), is_new);
        let wanted = tally.wants(outcome, is_new, self.recording.keep_passing);
        run.meta
            .problems
            .iter()
            .for_each(|problem| note(&mut self.summary.problems, problem));
        if !wanted {
            return Ok(None);
        }
        let file = self.folder.store(run)?;
        self.mark()?;
        if outcome.is_failure() && self.summary.first_failing.is_none() {
            self.summary.first_failing = Some(file.clone());
        }
        Ok(Some(file))
    }

    /// Of the runs that fail in one way, the one with the fewest changes of thread is minimized.
    fn note_simplest(&mut self, file: PathBuf, run: Run) {
        let changes = |run: &Run| run.events.threads().chunk_by(|a, b| a == b).count();
        match self.simplest.entry(Way::of(&run)) {
            Entry::Occupied(mut known) if changes(&run) < changes(&known.get().1) => {
                known.insert((file, run));
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => {
                place.insert((file, run));
            }
        }
    }

    fn minimize(&mut self, program: &Program, stop: &AtomicBool) -> Result<(), RecordError> {
        let mut runs: Vec<(PathBuf, Run)> = self.simplest.drain().map(|(_, run)| run).collect();
        runs.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (from, run) in runs {
            let name = from.file_stem().unwrap_or_default().to_string_lossy();
            let found = minimize::minimize(&self.recording.job, program, &run, &name, stop)?;
            if stop.load(Ordering::Relaxed) {
                self.summary.ended = Ended::Stopped;
                return Ok(());
            }
            let to = match found {
                Some(run) => Some((self.folder.store(&run)?, run)),
                None => None,
            };
            self.summary.minimized.push(MinimizedRun { from, to });
        }
        Ok(())
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
        quiet: attempt.quiet.clone(),
        chances: attempt.chances,
        details: attempt.details,
        follow: attempt.follow.clone(),
        branches: attempt.branches,
        input_seed: attempt.input_seed(),
        input: attempt.input.clone().unwrap_or_default(),
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

/// The folder cannot be written to.
fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> StoreError + '_ {
    |source| StoreError::Io {
        path: path.to_owned(),
        source,
    }
}

fn note(problems: &mut Vec<(String, u64)>, problem: &str) {
    match problems.iter_mut().find(|(text, _)| text == problem) {
        Some((_, count)) => *count += 1,
        None => problems.push((problem.to_owned(), 1)),
    }
}
