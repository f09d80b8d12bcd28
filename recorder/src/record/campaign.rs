//! The campaign: one run after the other, until enough was seen.

use super::{
    Attempt, Ended, MinimizedRun, Observed, RecordError, Recording, Summary, Tally,
    classes::Classes,
    coverage::Coverage,
    disk::{Discarded, Disk},
    execute_with_log,
    filter::Filter,
    marker::{self, Marker},
    minimize,
    order::order_hash,
    planner::Planner,
};
use crate::{
    assemble::{Exit, Program, RawLog, is_for_good},
    launch::Finished,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::{
    collections::hash_map::Entry,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};
use unsnarl_trace::{
    EncodedRun, FailureKind, FailureMode, Outcome, Run, RunFolder, StoreError,
    raw::{End, RawStrategy},
};

/// Runs the campaign. `watcher` sees every run; `stop` ends it between two runs or in the middle of one.
pub fn record(
    recording: &Recording,
    program: &Program,
    stop: &AtomicBool,
    watcher: impl FnMut(&Observed<'_>),
) -> Result<Summary, RecordError> {
    let mut campaign = Campaign::begin(recording)?;
    let swept = marker::sweep(&recording.out);
    campaign.summary.killed_before = swept.map_err(unwritable(&recording.out))?;
    campaign.mark()?;
    let mut planner = Planner::begin(recording, program)?;
    campaign.summary.ended = campaign.explore(&mut planner, program, stop, watcher)?;
    campaign.summary.search = planner.leave()?;
    if recording.minimize && campaign.summary.ended != Ended::Stopped {
        campaign.minimize(program, stop)?;
    }
    campaign.summary.not_copied = recording.job.starter.obstacle();
    campaign.summary.discarded = campaign.disk.discarded;
    Ok(campaign.summary)
}

/// A campaign that goes on.
struct Campaign<'a> {
    recording: &'a Recording,
    folder: RunFolder,
    disk: Disk,
    classes: Classes,
    filter: Filter,
    /// In the folder as soon as there is one.
    marker: Option<Marker>,
    /// The simplest failing run of each way to fail.
    simplest: FxHashMap<FailureMode, (PathBuf, Run)>,
    summary: Summary,
}

impl<'a> Campaign<'a> {
    fn begin(recording: &'a Recording) -> Result<Campaign<'a>, RecordError> {
        let folder = RunFolder::new(&recording.out);
        let disk = Disk::of(folder.clone(), recording.max_disk);
        Ok(Campaign {
            recording,
            disk: disk.map_err(unwritable(&recording.out))?,
            folder,
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
                discarded: Discarded::default(),
                failing_exits: BTreeMap::new(),
                not_copied: None,
            },
        })
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
            let Some(attempt) = self.next_attempt(planner) else {
                return Ok(Ended::Exhausted);
            };
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
            let log = RawLog::new(log.bytes())?;
            if recording.filter {
                self.filter.add(&log, !attempt.quiet.is_empty());
            }
            if executed.finished.stopped || stop.load(Ordering::Relaxed) {
                return Ok(Ended::Stopped);
            }
            if self.summary.tally.runs == 0 {
                refuse_empty(&executed.run, &executed.finished)?;
            }
            let waits =
                executed.run.meta.outcome == Outcome::CutShort && executed.finished.waits_outside;
            if waits || cuts_every_run_short(log.end()) {
                self.discard(&executed.run);
                if self.is_hopeless(waits && !is_for_good(&log)) {
                    return Ok(Ended::CutShort);
                }
                planner.lost();
                continue;
            }
            self.note_exit(&executed.run, &executed.finished);
            // Runs that pass places over say nothing about the length of the others.
            if attempt.quiet.is_empty() && !planner.observe(&executed)? {
                continue;
            }
            let mut run = executed.run;
            run.meta.order = order_hash(&run);
            run.meta.quiet_places = attempt.quiet.len() as u32;
            self.summary.coverage.add(&run);
            let file = self.keep(&run)?;
            if file.is_some() {
                program.keep_models(&self.folder)?;
            }
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

    /// What the next run tries.
    fn next_attempt(&mut self, planner: &mut Planner) -> Option<Attempt> {
        let (recording, tally) = (self.recording, &mut self.summary.tally);
        let attempt = match recording.keep_passing > 0 && recording.goal.seeks_passing(tally) {
            true => {
                tally.sought += 1;
                planner.next_to_pass()
            }
            false => planner.next_attempt(),
        };
        attempt.map(|attempt| self.filtered(attempt))
    }

    /// Whether no other run will come further than the first ones, of which there have to be some where another order
    /// might let them.
    fn is_hopeless(&self, may_differ: bool) -> bool {
        const SOME: u64 = 3;
        let tally = &self.summary.tally;
        tally.cut_short == tally.runs && tally.runs >= if may_differ { SOME } else { 1 }
    }

    /// Counts a run that was cut short, and of which nothing is worth keeping.
    fn discard(&mut self, run: &Run) {
        self.summary.tally.count(run.meta.outcome);
        self.summary.tally.compare(false, true);
        self.disk.discarded.cut_short += 1;
        let problems = run.meta.problems.iter();
        problems.for_each(|problem| note(&mut self.summary.problems, problem));
    }

    /// Counts an exit status that was not expected.
    fn note_exit(&mut self, run: &Run, finished: &Finished) {
        let failure = run.meta.failure.as_ref();
        let is_exit = failure.is_some_and(|failure| failure.kind == FailureKind::Exit);
        if let (true, Exit::Code(status)) = (is_exit, finished.exit) {
            *self.summary.failing_exits.entry(status).or_insert(0) += 1;
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
            others_end: self.summary.tally.ended() > 0,
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
        let Some(file) = self.disk.store(&EncodedRun::of(run)?, outcome)? else {
            return Ok(None);
        };
        self.vouch(run);
        self.mark()?;
        if outcome.is_failure() && self.summary.first_failing.is_none() {
            self.summary.first_failing = Some(file.clone());
        }
        Ok(Some(file))
    }

    /// Notes a stored run as the user's own.
    fn vouch(&mut self, run: &Run) {
        if let Err(error) = self.recording.job.permit.vouch(&run.meta) {
            note(&mut self.summary.problems, &error.to_string());
        }
    }

    /// Of the runs that fail in one way, the one with the fewest changes of thread is minimized.
    fn note_simplest(&mut self, file: PathBuf, run: Run) {
        let changes = |run: &Run| run.events.threads().chunk_by(|a, b| a == b).count();
        match self.simplest.entry(FailureMode::of(&run)) {
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
                Some(run) => {
                    let file = self.disk.store(&EncodedRun::of(&run)?, run.meta.outcome)?;
                    if file.is_some() {
                        self.vouch(&run);
                    }
                    file.map(|file| (file, run))
                }
                None => None,
            };
            self.summary.minimized.push(MinimizedRun { from, to });
        }
        Ok(())
    }
}

/// Whether a run that ended so was cut short, and every other one will be: the program does what cannot be recorded.
fn cuts_every_run_short(end: End) -> bool {
    matches!(
        end,
        End::LogFull | End::Exec | End::TooManyThreads | End::Unsupported | End::NoMemory
    )
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
