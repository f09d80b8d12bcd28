//! The campaign: one run after the other, until enough was seen.
//!
//! Runs are made and put together side by side ([`super::crew`]), and looked at here in their order, so that all that is
//! decided by what runs before have shown is the same however many are made at a time.

use super::{
    CampaignEnd, CampaignTally, Goal, MinimizedRun, Observed, RecordError, Recording, RunPlan,
    Summary,
    ahead::Ahead,
    alone::Solitude,
    classes::Classes,
    coverage::Coverage,
    crew::{Crew, Hand, with_crew},
    disk::{Discarded, Disk},
    filter::Filter,
    finish::{self, Assembled, CountedRun, OrderedRuns, Purpose, RunStage, note},
    marker::{self, Marker},
    minimize,
    planner::Planner,
    seen::{MadeRun, ReadLog},
    summary::RunSource,
    worth::Worth,
};
use crate::{
    assemble::{Exit, ProgramDebugInfo, is_for_good},
    digest::CampaignPlaces,
    launch::{LaunchError, Starter},
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
    EncodedRun, FailureKind, FailureMode, OrderMode, Outcome, Run, RunFolder, RunMeta, StoreError,
    raw::{End, RawStrategy},
};

/// Runs the campaign. `watcher` sees every run; `stop` ends it between two runs or in the middle of one.
pub fn record(
    recording: &Recording,
    program: &ProgramDebugInfo,
    stop: &AtomicBool,
    mut watcher: impl FnMut(&Observed<'_>),
) -> Result<Summary, RecordError> {
    let mut campaign = OpenCampaign::begin(recording, program)?;
    campaign.go_on(recording.goal, stop, &mut watcher)?;
    campaign.leave(stop)
}

/// A campaign that can be continued towards another goal.
pub struct OpenCampaign<'a> {
    campaign: Campaign<'a>,
    planner: Planner,
}

impl<'a> OpenCampaign<'a> {
    /// Begins a campaign without making a run.
    pub fn begin(
        recording: &'a Recording,
        program: &'a ProgramDebugInfo,
    ) -> Result<OpenCampaign<'a>, RecordError> {
        let mut campaign = Campaign::begin(recording, program)?;
        let swept = marker::sweep(&recording.out);
        campaign.summary.killed_before = swept.map_err(unwritable(&recording.out))?;
        campaign.mark()?;
        let planner = Planner::begin(recording, program)?;
        Ok(OpenCampaign { campaign, planner })
    }

    /// Makes runs until the goal is reached. The runs before count.
    pub fn go_on(
        &mut self,
        goal: Goal,
        stop: &AtomicBool,
        watcher: &mut dyn FnMut(&Observed<'_>),
    ) -> Result<CampaignEnd, RecordError> {
        let campaign = &mut self.campaign;
        campaign.goal = goal;
        campaign.summary.ended = campaign.explore(&mut self.planner, stop, watcher)?;
        Ok(campaign.summary.ended)
    }

    /// The state of the campaign so far.
    pub fn summary(&self) -> &Summary {
        &self.campaign.summary
    }

    /// Addresses in the program's file of the places that its runs have come to.
    pub fn program_addresses(&self) -> Vec<u64> {
        let program = self.campaign.program.path();
        self.campaign.places.addresses_in(program)
    }

    /// Ends the campaign.
    pub fn leave(self, stop: &AtomicBool) -> Result<Summary, RecordError> {
        let OpenCampaign {
            mut campaign,
            planner,
        } = self;
        let (recording, program) = (campaign.recording, campaign.program);
        campaign.summary.search = planner.leave()?;
        if recording.minimize && campaign.summary.ended != CampaignEnd::Stopped {
            campaign.minimize(program, stop)?;
        }
        let mut summary = campaign.summary;
        summary.not_copied = recording.job.starter.obstacle();
        summary.discarded = campaign.disk.discarded;
        summary.alone = campaign
            .solitude
            .told()
            .filter(|_| recording.job.starter.crew() > 1);
        Ok(summary)
    }
}

/// Callback that is told of each run.
type Watcher<'w> = &'w mut dyn FnMut(&Observed<'_>);

/// A campaign in progress.
struct Campaign<'a> {
    recording: &'a Recording,
    goal: Goal,
    program: &'a ProgramDebugInfo,
    folder: RunFolder,
    disk: Disk,
    classes: Classes,
    worth: Worth,
    filter: Filter,
    places: CampaignPlaces,
    solitude: Solitude,
    /// The mark of the folder, once that exists.
    marker: Option<Marker>,
    /// The simplest failing run of each failure mode.
    simplest: FxHashMap<FailureMode, (PathBuf, Run)>,
    /// Runs that were counted, and are not stored yet.
    line: OrderedRuns<'a>,
    /// Bytes that they may take.
    room: u64,
    /// Events of the largest run.
    largest: u64,
    summary: Summary,
}

impl<'a> Campaign<'a> {
    fn begin(
        recording: &'a Recording,
        program: &'a ProgramDebugInfo,
    ) -> Result<Campaign<'a>, RecordError> {
        let folder = RunFolder::new(&recording.out);
        let disk = Disk::of(folder.clone(), recording.max_disk);
        Ok(Campaign {
            recording,
            goal: recording.goal,
            program,
            disk: disk.map_err(unwritable(&recording.out))?,
            folder,
            classes: Classes::default(),
            worth: Worth::default(),
            filter: Filter::default(),
            places: CampaignPlaces::default(),
            solitude: Solitude::of(recording),
            marker: None,
            simplest: FxHashMap::default(),
            line: OrderedRuns::default(),
            room: finish::room(),
            largest: 0,
            summary: Summary {
                tally: CampaignTally::default(),
                ended: CampaignEnd::Enough,
                first_failing: None,
                search: None,
                coverage: Coverage::default(),
                killed_before: 0,
                minimized: Vec::new(),
                problems: Vec::new(),
                left_out: 0,
                condensed: 0,
                discarded: Discarded::default(),
                failing_exits: BTreeMap::new(),
                not_copied: None,
                alone: None,
            },
        })
    }

    /// Makes runs until there is a reason to end, with a crew where more than one is to be made at a time.
    fn explore(
        &mut self,
        planner: &mut Planner,
        stop: &AtomicBool,
        watcher: Watcher<'_>,
    ) -> Result<CampaignEnd, RecordError> {
        let (job, program) = (&self.recording.job, self.program);
        let size = Some(job.starter.crew()).filter(|size| *size > 1);
        let hand = |_| Hand {
            starter: Starter::beside(&job.starter),
            places: self.places.clone(),
        };
        with_crew((0..size.unwrap_or(0)).map(hand).collect(), |crew| {
            let mut ahead = Ahead::new(crew, job, program);
            let ended = self.decide_all(planner, crew, &mut ahead, stop, watcher)?;
            ahead.drop_all();
            while let Some(counted) = self.line.pop() {
                self.finish(counted, watcher)?;
            }
            Ok(ended)
        })
    }

    /// Looks at one run after the other.
    fn decide_all<'c>(
        &mut self,
        planner: &mut Planner,
        crew: &'c Crew<'_, 'a>,
        ahead: &mut Ahead<'c, '_, 'a>,
        stop: &AtomicBool,
        watcher: Watcher<'_>,
    ) -> Result<CampaignEnd, RecordError> {
        loop {
            if let Some(ended) = self.goal.reached(&self.summary.tally) {
                return Ok(ended);
            }
            let Some(attempt) = self.next_attempt(planner) else {
                return Ok(CampaignEnd::Exhausted);
            };
            let others_end = self.summary.tally.ended() > 0;
            let read = match self.make(&attempt, planner, ahead, stop) {
                // A stray write of this schedule says nothing about the next one.
                Err(error @ RecordError::Spoiled(_)) if !stop.load(Ordering::Relaxed) => {
                    if planner.owns(0) {
                        self.summary.tally.count(Outcome::CutShort);
                        let problems = vec![error.to_string()];
                        let counted = CountedRun::lost(self.summary.tally, problems);
                        self.put_in_line(counted, crew, watcher)?;
                    }
                    planner.lost();
                    continue;
                }
                Err(RecordError::NotBegun) if stop.load(Ordering::Relaxed) => {
                    return Ok(CampaignEnd::Stopped);
                }
                other => other?,
            };
            let mut seen = MadeRun::of(read, self.program, others_end)?;
            if seen.ended.outcome.is_failure() && seen.left_out > 0 {
                ahead.drop_all();
                seen = self.with_every_access(seen, attempt, stop)?;
            }
            if let Some(ended) = self.decide(seen, planner, crew, stop, watcher)? {
                return Ok(ended);
            }
        }
    }

    /// Counts a run and decides what becomes of it; why the campaign ends with it, if it does.
    fn decide(
        &mut self,
        seen: MadeRun<'a>,
        planner: &mut Planner,
        crew: &Crew<'_, 'a>,
        stop: &AtomicBool,
        watcher: Watcher<'_>,
    ) -> Result<Option<CampaignEnd>, RecordError> {
        self.learn(&seen, planner);
        if seen.made.finished.stopped || stop.load(Ordering::Relaxed) {
            return Ok(Some(CampaignEnd::Stopped));
        }
        if self.summary.tally.runs == 0 && seen.end != End::Assumption {
            refuse_empty(&seen)?;
        }
        if !planner.owns(0) {
            // Runs that pass places over say nothing about the length of the others.
            if seen.quiet == 0 {
                planner.observe(&seen)?;
            }
            return Ok(None);
        }
        if seen.end == End::Assumption {
            // Its steps show the search which other orders there are.
            planner.observe(&seen)?;
            self.summary.tally.count_assumed_away();
            let counted = CountedRun::lost(self.summary.tally, Vec::new());
            self.put_in_line(counted, crew, watcher)?;
            return Ok(None);
        }
        let waits = seen.ended.outcome == Outcome::CutShort && seen.made.finished.waits_outside;
        if waits || cuts_every_run_short(seen.end) {
            let may_differ = waits && !is_for_good(&seen.made.log()?);
            self.discard(seen, crew, watcher)?;
            if self.is_hopeless(may_differ) {
                return Ok(Some(CampaignEnd::CutShort));
            }
            planner.lost();
            return Ok(None);
        }
        self.note_exit(&seen);
        if seen.quiet == 0 && !planner.observe(&seen)? {
            return Ok(None);
        }
        let counted = self.count(seen, crew);
        self.put_in_line(counted, crew, watcher)?;
        Ok(None)
    }

    fn learn(&mut self, seen: &MadeRun<'_>, planner: &Planner) {
        self.largest = self.largest.max(seen.digest.events);
        if self.recording.filter && planner.learns_from_last() {
            let steps = (seen.quiet > 0).then_some(seen.steps);
            self.filter.add(&seen.digest, &self.places, steps);
        }
    }

    /// Makes the next run, or takes it from those that were begun.
    fn make(
        &mut self,
        attempt: &RunPlan,
        planner: &Planner,
        ahead: &mut Ahead<'_, '_, 'a>,
        stop: &AtomicBool,
    ) -> Result<ReadLog, RecordError> {
        let most = ahead.most(self.largest, self.room);
        // The first run shows whether others make sense.
        if most > 0 && !planner.is_first() && planner.can_foresee() && !self.solitude.is_for_good()
        {
            let later = self.foreseen(planner, most);
            match ahead.take(attempt, later, stop) {
                Err(RecordError::Launch(LaunchError::Alone(why))) => {
                    self.solitude.note(why, self.summary.tally.runs + 1);
                }
                other => return other,
            }
        }
        // What the run changes, those after it have to find.
        ahead.drop_all();
        let job = &self.recording.job;
        ReadLog::make(job, self.program, attempt, &mut self.places, stop)
    }

    /// The same run again, with a record of every access: whoever explains a failure follows all that has led to it. The
    /// run as it was, where it cannot be repeated.
    fn with_every_access(
        &mut self,
        seen: MadeRun<'a>,
        attempt: RunPlan,
        stop: &AtomicBool,
    ) -> Result<MadeRun<'a>, RecordError> {
        let attempt = RunPlan {
            prefix: seen.made.log()?.schedule(),
            ..attempt
        };
        let job = self.recording.job.with_every_access();
        let others_end = self.summary.tally.ended() > 0;
        match ReadLog::make(&job, self.program, &attempt, &mut self.places, stop) {
            Err(RecordError::Spoiled(_)) => Ok(seen),
            Err(error) => Err(error),
            Ok(again) => {
                let again = MadeRun::of(again, self.program, others_end)?;
                let is_same = again.repeats(&seen)?;
                Ok(if is_same { again } else { seen })
            }
        }
    }

    /// The attempt for the next run.
    fn next_attempt(&mut self, planner: &mut Planner) -> Option<RunPlan> {
        let seeks = self.seeks_passing(&self.summary.tally);
        self.summary.tally.sought += u64::from(seeks);
        let attempt = planner.next_attempt(seeks);
        attempt.map(|attempt| self.filtered(attempt, planner))
    }

    fn seeks_passing(&self, tally: &CampaignTally) -> bool {
        // What a divided campaign tries with a number of runs does not depend on what it has found.
        let may_seek = self.recording.shard.is_none() || self.goal.failing.is_some();
        may_seek && self.recording.keep_passing > 0 && self.goal.seeks_passing(tally)
    }

    /// Attempts of the runs after the next one, `most` at most, if none of the runs before them shows anything new.
    fn foreseen(&self, planner: &Planner, most: usize) -> Vec<RunPlan> {
        let mut tally = self.summary.tally;
        let mut all = Vec::new();
        for ahead in 0..most as u64 {
            tally.runs += u64::from(planner.owns(ahead));
            if self.goal.reached(&tally).is_some() {
                break;
            }
            let seeks = self.seeks_passing(&tally);
            tally.sought += u64::from(seeks);
            let attempt = planner.foreseen(ahead, seeks);
            all.extend(attempt.map(|attempt| self.filtered(attempt, planner)));
        }
        all
    }

    /// The attempt, with the places that it passes over if it is its turn to.
    fn filtered(&self, attempt: RunPlan, planner: &Planner) -> RunPlan {
        let draws = matches!(attempt.strategy, RawStrategy::Random | RawStrategy::Pct);
        let quiet = match self.recording.filter && draws && attempt.prefix.is_empty() {
            true => {
                let number = planner.number_of(&attempt);
                self.filter.at(number, planner.are_long())
            }
            false => &[],
        };
        let steps = self
            .filter
            .steps()
            .filter(|_| !quiet.is_empty() && attempt.depth > 0);
        RunPlan {
            expected_steps: steps.unwrap_or(attempt.expected_steps),
            switch_one_in: match quiet.is_empty() {
                true => planner.switch_one_in(&attempt),
                false => attempt.switch_one_in,
            },
            quiet: quiet.to_vec(),
            ..attempt
        }
    }

    /// Returns whether no other run will get further than the first ones, several of which are made if another order
    /// might let them.
    fn is_hopeless(&self, may_differ: bool) -> bool {
        const SOME: u64 = 3;
        let tally = &self.summary.tally;
        tally.cut_short == tally.runs && tally.runs >= if may_differ { SOME } else { 1 }
    }

    /// Counts a run that was cut short, and of which nothing is worth keeping.
    fn discard(
        &mut self,
        seen: MadeRun<'a>,
        crew: &Crew<'_, 'a>,
        watcher: Watcher<'_>,
    ) -> Result<(), RecordError> {
        self.summary.tally.count(seen.ended.outcome);
        self.summary.tally.compare(false, true);
        self.disk.discarded.cut_short += 1;
        let counted = CountedRun::lost(self.summary.tally, seen.ended.problems);
        self.put_in_line(counted, crew, watcher)
    }

    /// Counts an exit status that was not expected.
    fn note_exit(&mut self, run: &MadeRun<'_>) {
        let failure = run.ended.failure.as_ref();
        let is_exit = failure.is_some_and(|(kind, _)| *kind == FailureKind::Exit);
        let is_drivers = run.made.finished.driven.as_ref();
        let criteria = &self.recording.job.criteria;
        let is_drivers = is_drivers.is_some_and(|driven| driven.failure(criteria).is_some());
        if let (true, Exit::Code(status)) = (is_exit && !is_drivers, run.made.finished.exit) {
            *self.summary.failing_exits.entry(status).or_insert(0) += 1;
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

    /// Counts a run and has it put together if it is worth that.
    fn count(&mut self, seen: MadeRun<'a>, crew: &Crew<'_, 'a>) -> CountedRun<'a> {
        let mut new = self.summary.coverage.add(&seen.digest, &self.places);
        if !self.recording.names_data {
            new.clear();
        }
        let keeps = self.wants(&seen);
        let problems = match keeps {
            true => Vec::new(),
            false => seen.ended.problems.clone(),
        };
        let (outcome, events) = (seen.ended.outcome, seen.digest.events);
        let check = seen.made.failed_check().cloned();
        let purpose = match (keeps, new.is_empty()) {
            (true, true) => Some(Purpose::Kept),
            (true, false) => Some(Purpose::KeptAndNamed),
            (false, false) => Some(Purpose::Named),
            (false, true) => None,
        };
        let stage = match purpose {
            Some(purpose) => {
                RunStage::Assembled(crew.hand_over(move || finish::assemble(seen, purpose)))
            }
            None => RunStage::Read(Box::new(seen)),
        };
        CountedRun {
            stage,
            outcome,
            events,
            check,
            tally: self.summary.tally,
            new,
            problems,
        }
    }

    /// Lets a run wait for its turn to be stored.
    fn put_in_line(
        &mut self,
        counted: CountedRun<'a>,
        crew: &Crew<'_, 'a>,
        watcher: Watcher<'_>,
    ) -> Result<(), RecordError> {
        self.line.push(counted);
        // The first one makes the folder, which later runs of a program that looks around are to find.
        let most = match self.summary.tally.runs {
            0 | 1 => 0,
            _ => 2 * crew.size(),
        };
        while let Some(counted) = self.line.overflow(most, self.room) {
            self.finish(counted, watcher)?;
        }
        Ok(())
    }

    /// Stores a run, if it is to be kept, and tells of it.
    fn finish(&mut self, counted: CountedRun<'a>, watcher: Watcher<'_>) -> Result<(), RecordError> {
        let noted = counted.problems.iter();
        noted.for_each(|problem| note(&mut self.summary, problem));
        let (outcome, events, tally) = (counted.outcome, counted.events, counted.tally);
        let check = counted.check;
        let check = check.as_ref().filter(|_| outcome == Outcome::Failed);
        let observed = |source, file| Observed {
            source,
            file,
            outcome,
            events,
            check,
            tally,
        };
        match counted.stage {
            RunStage::Lost => {}
            RunStage::Read(seen) => watcher(&observed(RunSource::Read(&seen), None)),
            RunStage::Assembled(ticket) => {
                let assembled = ticket.wait().ok_or_else(crew_failed)??;
                if !counted.new.is_empty() {
                    self.summary.coverage.name(&counted.new, assembled.run());
                }
                let file = self.store(&assembled, outcome)?;
                watcher(&observed(RunSource::Assembled(&assembled), file.as_deref()));
                let is_wanted = self.recording.minimize && outcome.is_failure();
                if let Some(file) = file.filter(|_| is_wanted) {
                    self.note_simplest(file, assembled.into_run());
                }
            }
        }
        Ok(())
    }

    /// Stores a run that is to be kept.
    fn store(
        &mut self,
        assembled: &Assembled,
        outcome: Outcome,
    ) -> Result<Option<PathBuf>, RecordError> {
        let Some(encoded) = &assembled.encoded else {
            return Ok(None);
        };
        let meta = assembled.meta();
        meta.problems
            .iter()
            .for_each(|problem| note(&mut self.summary, problem));
        let Some(file) = self.disk.store(encoded, outcome)? else {
            return Ok(None);
        };
        let left_out = meta.left_out;
        self.summary.left_out += u64::from(left_out.is_some());
        let is_condensed = left_out.is_some_and(|left_out| left_out.condensed.is_some());
        self.summary.condensed += u64::from(is_condensed);
        self.vouch(meta);
        self.mark()?;
        if outcome.is_failure() && self.summary.first_failing.is_none() {
            self.summary.first_failing = Some(file.clone());
        }
        self.program.keep_models(&self.folder)?;
        Ok(Some(file))
    }

    /// Counts a run; returns whether it is to be kept.
    fn wants(&mut self, seen: &MadeRun<'_>) -> bool {
        let (is_new, outcome) = (self.classes.is_new(seen), seen.ended.outcome);
        let (tally, is_passing) = (&mut self.summary.tally, outcome == Outcome::Passed);
        tally.count(outcome);
        tally.compare(outcome.is_failure(), is_new);
        tally.chose += u64::from(seen.chose);
        tally.seen_once = self.classes.seen_once();
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
    fn vouch(&mut self, meta: &RunMeta) {
        if let Err(error) = self.recording.job.permit.vouch(meta) {
            note(&mut self.summary, &error.to_string());
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

    fn minimize(
        &mut self,
        program: &ProgramDebugInfo,
        stop: &AtomicBool,
    ) -> Result<(), RecordError> {
        let mut runs: Vec<(PathBuf, Run)> = self.simplest.drain().map(|(_, run)| run).collect();
        runs.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (from, run) in runs {
            let name = from.file_stem().unwrap_or_default().to_string_lossy();
            let found = minimize::minimize(&self.recording.job, program, &run, &name, stop)?;
            if stop.load(Ordering::Relaxed) {
                self.summary.ended = CampaignEnd::Stopped;
                return Ok(());
            }
            let to = match found {
                Some(run) => {
                    let file = self.disk.store(&EncodedRun::of(&run)?, run.meta.outcome)?;
                    if file.is_some() {
                        self.vouch(&run.meta);
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

/// A panic, which is told when the crew goes home.
fn crew_failed() -> RecordError {
    let error = io::Error::other("a thread of the recorder has failed");
    RecordError::Launch(error.into())
}

/// Refuses a run with an empty log: every further run would be as empty.
fn refuse_empty(run: &MadeRun<'_>) -> Result<(), RecordError> {
    let is_empty = run.digest.events == 0 && run.made.mode() != OrderMode::Path;
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
