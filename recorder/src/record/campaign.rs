//! The campaign: one run after the other, until enough was seen.

use super::{
    Attempt, Ended, MinimizedRun, Observed, RecordError, Recording, Summary, Tally,
    classes::Classes,
    coverage::Coverage,
    disk::{Discarded, Disk},
    filter::Filter,
    make,
    marker::{self, Marker},
    minimize,
    planner::Planner,
    seen::Seen,
    worth::Worth,
};
use crate::{
    assemble::{Exit, Program, is_for_good},
    digest::Places,
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
    EncodedRun, FailureKind, FailureMode, Mode, Outcome, Run, RunFolder, StoreError,
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

/// A campaign in progress.
struct Campaign<'a> {
    recording: &'a Recording,
    folder: RunFolder,
    disk: Disk,
    classes: Classes,
    worth: Worth,
    filter: Filter,
    places: Places,
    /// The mark of the folder, once that exists.
    marker: Option<Marker>,
    /// The simplest failing run of each failure mode.
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
            worth: Worth::default(),
            filter: Filter::default(),
            places: Places::default(),
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
            let made = match make(&recording.job, program, &attempt, stop) {
                // A stray write of this schedule says nothing about the next one.
                Err(error @ RecordError::Spoiled(_)) if !stop.load(Ordering::Relaxed) => {
                    self.summary.tally.count(Outcome::CutShort);
                    note(&mut self.summary.problems, &error.to_string());
                    planner.lost();
                    continue;
                }
                other => other?,
            };
            let quiet = attempt.quiet.len() as u32;
            let seen = Seen::of(&made, program, &mut self.places, quiet)?;
            if recording.filter {
                let steps = (quiet > 0).then(|| seen.log.steps());
                self.filter.add(&seen.digest, &self.places, steps);
            }
            if made.finished.stopped || stop.load(Ordering::Relaxed) {
                return Ok(Ended::Stopped);
            }
            if self.summary.tally.runs == 0 {
                refuse_empty(&seen)?;
            }
            let outcome = seen.ended.outcome;
            let waits = outcome == Outcome::CutShort && made.finished.waits_outside;
            if waits || cuts_every_run_short(seen.log.end()) {
                self.discard(&seen);
                if self.is_hopeless(waits && !is_for_good(&seen.log)) {
                    return Ok(Ended::CutShort);
                }
                planner.lost();
                continue;
            }
            self.note_exit(&seen);
            // Runs that pass places over say nothing about the length of the others.
            if quiet == 0 && !planner.observe(&seen)? {
                continue;
            }
            let file = self.keep(&seen)?;
            if file.is_some() {
                program.keep_models(&self.folder)?;
            }
            watcher(&Observed {
                seen: &seen,
                file: file.as_deref(),
                tally: self.summary.tally,
            });
            if let Some(file) = file.filter(|_| recording.minimize && outcome.is_failure()) {
                self.note_simplest(file, seen.into_run());
            }
        }
    }

    /// The attempt for the next run.
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

    /// Returns whether no other run will get further than the first ones, several of which are made if another order
    /// might let them.
    fn is_hopeless(&self, may_differ: bool) -> bool {
        const SOME: u64 = 3;
        let tally = &self.summary.tally;
        tally.cut_short == tally.runs && tally.runs >= if may_differ { SOME } else { 1 }
    }

    /// Counts a run that was cut short without anything worth keeping.
    fn discard(&mut self, run: &Seen<'_>) {
        self.summary.tally.count(run.ended.outcome);
        self.summary.tally.compare(false, true);
        self.disk.discarded.cut_short += 1;
        self.note_problems(&run.ended.problems);
    }

    fn note_problems(&mut self, problems: &[String]) {
        let problems = problems.iter();
        problems.for_each(|problem| note(&mut self.summary.problems, problem));
    }

    /// Counts an exit status that was not expected.
    fn note_exit(&mut self, run: &Seen<'_>) {
        let failure = run.ended.failure.as_ref();
        let is_exit = failure.is_some_and(|(kind, _)| *kind == FailureKind::Exit);
        if let (true, Exit::Code(status)) = (is_exit, run.made.finished.exit) {
            *self.summary.failing_exits.entry(status).or_insert(0) += 1;
        }
    }

    /// The attempt, with the places to pass over if it is its turn.
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

    /// Marks the folder, if it exists.
    fn mark(&mut self) -> Result<(), StoreError> {
        let folder = self.folder.path();
        if self.marker.is_none() && folder.is_dir() {
            self.marker = Some(Marker::set(folder).map_err(unwritable(folder))?);
        }
        Ok(())
    }

    /// Counts a run and stores it if that is worthwhile.
    fn keep(&mut self, seen: &Seen<'_>) -> Result<Option<PathBuf>, RecordError> {
        let new = self.summary.coverage.add(&seen.digest, &self.places);
        if !new.is_empty() {
            self.summary.coverage.name(&new, seen.run());
        }
        if !self.wants(seen) {
            self.note_problems(&seen.ended.problems);
            return Ok(None);
        }
        let (run, outcome) = (seen.run(), seen.ended.outcome);
        self.note_problems(&run.meta.problems);
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

    /// Counts a run; returns whether it is to be kept.
    fn wants(&mut self, seen: &Seen<'_>) -> bool {
        let (is_new, outcome) = (self.classes.is_new(seen), seen.ended.outcome);
        let (tally, is_passing) = (&mut self.summary.tally, outcome == Outcome::Passed);
        tally.count(outcome);
        tally.compare(outcome.is_failure(), is_new);
        let may_repeat =
            tally.wants_repeated(outcome) && self.worth.has_room_for_repeated(&seen.digest);
        if !is_new && !may_repeat {
            tally.repeated += 1;
            return false;
        }
        if is_passing && tally.kept_passing >= self.recording.keep_passing {
            tally.not_kept += 1;
            return false;
        }
        if is_passing && is_new && !self.worth.adds(&seen.digest) {
            tally.add_nothing += 1;
            return false;
        }
        tally.kept_passing += u64::from(is_passing);
        self.worth.keep(seen, is_new);
        true
    }

    /// Notes a stored run as the user's own.
    fn vouch(&mut self, run: &Run) {
        if let Err(error) = self.recording.job.permit.vouch(&run.meta) {
            note(&mut self.summary.problems, &error.to_string());
        }
    }

    /// Notes a failing run: of those with one failure mode, the one with the fewest changes of thread is minimized.
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

/// Returns whether this end cuts every run short: the program does something that cannot be recorded.
fn cuts_every_run_short(end: End) -> bool {
    matches!(
        end,
        End::LogFull | End::Exec | End::TooManyThreads | End::Unsupported | End::NoMemory
    )
}

/// Refuses a run with an empty log: every further run would be as empty.
fn refuse_empty(run: &Seen<'_>) -> Result<(), RecordError> {
    let is_empty = run.digest.events == 0 && run.made.mode() != Mode::Path;
    if run.ended.outcome != Outcome::CutShort || !is_empty {
        return Ok(());
    }
    let printed = run.made.finished.stderr.text();
    let lines = printed.lines().take(20).map(|line| format!("\n  | {line}"));
    let why = run.ended.problems.first().cloned();
    Err(RecordError::NothingRecorded {
        reason: why.unwrap_or_else(|| "it ended at once".to_owned()),
        output: lines.collect(),
    })
}

/// An error for a folder that cannot be written to.
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
