//! Records the cases of a suite side by side.
//!
//! Each worker makes the runs of one case at a time, as copies behind a gate: a case that does what others could notice
//! (files, ports, other processes) is recorded again by itself when all others are done.

use super::{
    CaseReport, CaseVerdict, TestCase,
    allotment::Allotment,
    outdated::FailingBuilds,
    record::{CasePlan, CaseRecorder, Progress, needs_solitude, refused},
};
use crate::{
    launch::Starter,
    log::Limits,
    record::{CampaignTally, RecordError, strategy::Strategy},
};
use std::{
    path::PathBuf,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use unsnarl_trace::{Chances, Criteria};

/// Settings for the recording of a suite.
#[derive(Clone, Debug)]
pub struct SuiteSettings {
    /// Cases to record at a time.
    pub jobs: usize,
    /// The effort for the suite.
    pub effort: Effort,
    /// Schedules to try of each case; with a budget, of each failing one when it is compared.
    pub runs: u64,
    /// Time that a case may take.
    pub case_time: Option<Duration>,
    /// Seed of the first run of each case.
    pub seed: u64,
    /// The strategy that chooses schedules.
    pub strategy: Strategy,
    /// Choices other than threads that the runs make.
    pub chances: Chances,
    /// Time that a run may take.
    pub timeout: Duration,
    /// Bounds for a run.
    pub limits: Limits,
    /// Criteria for a failure.
    pub criteria: Criteria,
    /// Upper bound for the passing runs that are kept of a failing case.
    pub keep_passing: u64,
    /// Folder for the runs.
    pub out: PathBuf,
    /// Bytes that the folder's runs may take on disk.
    pub max_disk: u64,
}

/// The effort for a suite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// The same number of schedules for each case.
    Runs,
    /// So much time for all together, spent where new orders still come.
    Budget(Duration),
}

/// Callback that is told of each case that is done, by its index.
type Told<'t> = &'t (dyn Fn(usize, &CaseReport) + Sync);

/// Records the cases, in their order as far as nothing else is said. The reports are in the order of the cases.
pub fn record_all(
    cases: &[TestCase],
    settings: &SuiteSettings,
    stop: &AtomicBool,
    told: Told<'_>,
) -> Vec<CaseReport> {
    let memory = Starter::with_crew(1);
    let starter = || match settings.jobs {
        0 | 1 => memory.for_another(),
        _ => Starter::beside(&memory),
    };
    let deadline = match settings.effort {
        Effort::Budget(time) => Instant::now().checked_add(time),
        Effort::Runs => None,
    };
    let failing = &FailingBuilds::read(&settings.out);
    let plan = |case| CasePlan::of(case, settings, starter(), failing);
    let plans: Vec<Result<CasePlan<'_>, CaseVerdict>> = cases.iter().map(plan).collect();
    let board = Board::new(&plans, settings);
    for (index, report) in board.reports() {
        told(index, &report);
    }
    let timers: Vec<Timer> = (0..settings.jobs.max(1))
        .map(|_| Timer::default())
        .collect();
    let all_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| supervise(&timers, stop, &all_done));
        let workers: Vec<_> = timers
            .iter()
            .map(|timer| {
                let worker = Worker {
                    board: &board,
                    settings,
                    timer,
                    stop,
                    told,
                };
                scope.spawn(move || worker.work())
            })
            .collect();
        let ended = workers.into_iter().map(thread::ScopedJoinHandle::join);
        let failed: Vec<_> = ended.filter_map(Result::err).collect();
        all_done.store(true, Ordering::Relaxed);
        if let Some(panic) = failed.into_iter().next() {
            std::panic::resume_unwind(panic);
        }
    });
    let mut reports = board.into_reports();
    let alone = LoneCases {
        settings,
        failing,
        deadline,
        timer: Timer::default(),
        stop,
    };
    alone.record(cases, told, &mut reports);
    let never = || CaseReport::without_runs(CaseVerdict::NotRun);
    reports
        .into_iter()
        .map(|report| report.unwrap_or_else(never))
        .collect()
}

/// Records cases by themselves, one after the other, the runs of each side by side as far as that goes.
struct LoneCases<'s> {
    settings: &'s SuiteSettings,
    failing: &'s FailingBuilds,
    /// The end of the budget for all cases.
    deadline: Option<Instant>,
    timer: Timer,
    stop: &'s AtomicBool,
}

impl LoneCases<'_> {
    /// Records the cases that have no report yet.
    fn record(&self, cases: &[TestCase], told: Told<'_>, reports: &mut [Option<CaseReport>]) {
        let mut left = reports.iter().filter(|report| report.is_none()).count();
        let all_done = AtomicBool::new(false);
        thread::scope(|scope| {
            let timers = std::slice::from_ref(&self.timer);
            scope.spawn(|| supervise(timers, self.stop, &all_done));
            let cases = reports.iter_mut().zip(cases).enumerate();
            for (index, (report, case)) in cases.filter(|(_, (report, _))| report.is_none()) {
                let done = self.report(case, left);
                left = left.saturating_sub(1);
                told(index, &done);
                *report = Some(done);
            }
            all_done.store(true, Ordering::Relaxed);
        });
    }

    /// Records one of so many cases that are left.
    fn report(&self, case: &TestCase, left: usize) -> CaseReport {
        let starter = Starter::with_crew(self.settings.jobs);
        match CasePlan::of(case, self.settings, starter, self.failing) {
            Err(verdict) => CaseReport::without_runs(verdict),
            Ok(_) if self.stop.load(Ordering::Relaxed) => {
                CaseReport::without_runs(CaseVerdict::NotRun)
            }
            Ok(plan) => self
                .recorded(&plan, left)
                .unwrap_or_else(|error| CaseReport::without_runs(refused(&error, self.stop))),
        }
    }

    /// Makes as many runs as of any case; of what is left of a budget after that, each case that is left has the same share.
    fn recorded(&self, plan: &CasePlan<'_>, left: usize) -> Result<CaseReport, RecordError> {
        let (settings, timer) = (self.settings, &self.timer);
        let share = self.share(left);
        let begin = Instant::now();
        timer.begin(settings.case_time);
        let mut recorder = CaseRecorder::begin(plan)?;
        let progress = recorder.go_on(settings.runs, &timer.flag)?;
        let spent = |time: Duration| time.saturating_sub(begin.elapsed());
        if matches!(progress, Progress::Open)
            && let Some(share) = share.map(spent).filter(|share| !share.is_zero())
        {
            let case_time = settings.case_time.map(spent);
            timer.begin(case_time.into_iter().chain([share]).min());
            recorder.go_on(u64::MAX, &timer.flag)?;
        }
        timer.begin(settings.case_time);
        recorder.leave(settings, &timer.flag)
    }

    /// The share of one of so many cases in what is left of the budget.
    fn share(&self, left: usize) -> Option<Duration> {
        let rest = self.deadline?.saturating_duration_since(Instant::now());
        rest.checked_div(u32::try_from(left).unwrap_or(u32::MAX))
    }
}

/// The time of what a worker does at the moment.
#[derive(Default)]
struct Timer {
    deadline: Mutex<Option<Instant>>,
    /// Tells the campaign to stop.
    flag: AtomicBool,
}

impl Timer {
    fn deadline(&self) -> MutexGuard<'_, Option<Instant>> {
        // It is whole at any time.
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, time: Option<Duration>) {
        *self.deadline() = time.and_then(|time| Instant::now().checked_add(time));
        self.flag.store(false, Ordering::Relaxed);
    }

    fn check(&self, stop: &AtomicBool) {
        let deadline = self.deadline();
        let is_over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_over || stop.load(Ordering::Relaxed) {
            self.flag.store(true, Ordering::Relaxed);
        }
    }
}

/// Stops campaigns whose time is over, and all of them when the user wants that.
fn supervise(timers: &[Timer], stop: &AtomicBool, all_done: &AtomicBool) {
    const BETWEEN: Duration = Duration::from_millis(10);
    while !all_done.load(Ordering::Relaxed) {
        timers.iter().for_each(|timer| timer.check(stop));
        thread::sleep(BETWEEN);
    }
}

/// The state of a case on the board.
enum Seat<'p> {
    /// Nothing of it was recorded yet.
    Waits(&'p CasePlan<'p>),
    /// Some runs were made.
    Paused(Box<CaseRecorder<'p>>),
    /// A run has failed, and none was made yet to compare it with: with a budget that comes last.
    Found(Box<CaseRecorder<'p>>),
    /// A worker has it.
    Taken,
    /// It has to be recorded by itself.
    Alone,
    Done(CaseReport),
}

/// The cases with their states, shared by the workers.
struct Board<'p> {
    places: Mutex<Vec<(Seat<'p>, Allotment)>>,
    changed: Condvar,
    effort: Effort,
    runs: u64,
    deadline: Option<Instant>,
}

/// A case for a worker, with the number of runs that it is to have altogether.
struct Turn<'p> {
    index: usize,
    recorder: Result<Box<CaseRecorder<'p>>, &'p CasePlan<'p>>,
    runs: u64,
    time: Option<Duration>,
}

/// Runs of a slice of the budget.
const SLICE: u64 = 20;

impl<'p> Board<'p> {
    fn new(plans: &'p [Result<CasePlan<'p>, CaseVerdict>], settings: &SuiteSettings) -> Board<'p> {
        let seat = |plan: &'p Result<CasePlan<'p>, CaseVerdict>| match plan {
            // Beside others only copies can be made.
            Ok(plan) if settings.jobs > 1 && !plan.program.serves() => Seat::Alone,
            Ok(plan) => Seat::Waits(plan),
            Err(verdict) => Seat::Done(CaseReport::without_runs(verdict.clone())),
        };
        let deadline = match settings.effort {
            Effort::Runs => None,
            Effort::Budget(time) => Instant::now().checked_add(time),
        };
        Board {
            places: Mutex::new(
                plans
                    .iter()
                    .map(|plan| (seat(plan), Allotment::default()))
                    .collect(),
            ),
            changed: Condvar::new(),
            effort: settings.effort,
            runs: settings.runs,
            deadline,
        }
    }

    fn places(&self) -> MutexGuard<'_, Vec<(Seat<'p>, Allotment)>> {
        // It is whole at any time.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cases that are done.
    fn reports(&self) -> Vec<(usize, CaseReport)> {
        let places = self.places();
        let done = places
            .iter()
            .enumerate()
            .filter_map(|(index, (seat, _))| match seat {
                Seat::Done(report) => Some((index, report.clone())),
                _ => None,
            });
        done.collect()
    }

    fn into_reports(self) -> Vec<Option<CaseReport>> {
        let places = self
            .places
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let report = |(seat, _)| match seat {
            Seat::Done(report) => Some(report),
            _ => None,
        };
        places.into_iter().map(report).collect()
    }

    /// The next turn; `None` when there is none left. Waits while all open cases are with other workers and one of them
    /// may come back.
    fn take(&self, case_time: Option<Duration>) -> Option<Turn<'p>> {
        let mut places = self.places();
        loop {
            if let Some(index) = self.next(&places) {
                let (seat, _) = places.get_mut(index)?;
                return Some(self.turn(index, std::mem::replace(seat, Seat::Taken), case_time))?;
            }
            let comes_back = |(seat, _): &(Seat<'_>, Allotment)| matches!(seat, Seat::Taken);
            if self.effort == Effort::Runs || !places.iter().any(comes_back) {
                return None;
            }
            let waited = self.changed.wait(places);
            places = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The index of the case that is next: the first one, or the one that has got the least for its weight. Those that
    /// have failed come last.
    fn next(&self, places: &[(Seat<'p>, Allotment)]) -> Option<usize> {
        let is_open = |(_, (seat, _)): &(usize, &(Seat<'p>, Allotment))| {
            matches!(seat, Seat::Waits(_) | Seat::Paused(_))
        };
        let open = places.iter().enumerate().filter(is_open);
        let least = open.min_by(|(_, (_, a)), (_, (_, b))| a.compare(b));
        let is_found = |(seat, _): &(Seat<'p>, Allotment)| matches!(seat, Seat::Found(_));
        let found = || places.iter().position(is_found);
        least.map(|(index, _)| index).or_else(found)
    }

    fn turn(&self, index: usize, seat: Seat<'p>, case_time: Option<Duration>) -> Option<Turn<'p>> {
        let recorder = match seat {
            Seat::Waits(plan) => Err(plan),
            Seat::Paused(recorder) | Seat::Found(recorder) => Ok(recorder),
            Seat::Taken | Seat::Alone | Seat::Done(_) => return None,
        };
        let made = recorder
            .as_ref()
            .map_or(0, |recorder| recorder.tally().runs);
        let left = self
            .deadline
            .map(|end| end.saturating_duration_since(Instant::now()));
        Some(Turn {
            index,
            recorder,
            runs: match self.effort {
                Effort::Runs => self.runs,
                Effort::Budget(_) => made + SLICE,
            },
            time: left.into_iter().chain(case_time).min(),
        })
    }

    fn put(&self, index: usize, seat: Seat<'p>, allotment: Allotment) {
        if let Some(place) = self.places().get_mut(index) {
            *place = (seat, allotment);
        }
        self.changed.notify_all();
    }

    /// Returns whether the budget is spent.
    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|end| Instant::now() >= end)
    }
}

/// One of those that record cases.
struct Worker<'w, 'p> {
    board: &'w Board<'p>,
    settings: &'w SuiteSettings,
    timer: &'w Timer,
    stop: &'w AtomicBool,
    told: Told<'w>,
}

impl<'p> Worker<'_, 'p> {
    fn work(&self) {
        while let Some(turn) = self.board.take(self.settings.case_time) {
            let index = turn.index;
            let (seat, allotment) = self.record(turn);
            if let Seat::Done(report) = &seat {
                (self.told)(index, report);
            }
            self.board.put(index, seat, allotment);
        }
    }

    /// Gives a case its turn; its state after it.
    fn record(&self, turn: Turn<'p>) -> (Seat<'p>, Allotment) {
        let none = Allotment::default();
        let is_stopped = self.stop.load(Ordering::Relaxed) || self.board.is_over();
        if turn.recorder.is_err() && is_stopped {
            return (
                Seat::Done(CaseReport::without_runs(CaseVerdict::NotRun)),
                none,
            );
        }
        self.timer.begin(turn.time);
        match self.go_on(turn) {
            Ok(after) => after,
            Err(error) if needs_solitude(&error).is_some() => (Seat::Alone, none),
            Err(error) => {
                let verdict = refused(&error, self.stop);
                (Seat::Done(CaseReport::without_runs(verdict)), none)
            }
        }
    }

    fn go_on(&self, turn: Turn<'p>) -> Result<(Seat<'p>, Allotment), RecordError> {
        let mut recorder = match turn.recorder {
            Ok(recorder) => recorder,
            Err(plan) => Box::new(CaseRecorder::begin(plan)?),
        };
        let had_failed = recorder.has_failed();
        let progress = match had_failed || self.board.is_over() {
            true => Progress::Ended,
            false => recorder.go_on(turn.runs, &self.timer.flag)?,
        };
        let allotment = recorder.allotment();
        let has_budget = self.board.effort != Effort::Runs;
        if matches!(progress, Progress::Open) && has_budget && !self.board.is_over() {
            return Ok((Seat::Paused(recorder), allotment));
        }
        if has_budget && !had_failed && recorder.has_failed() {
            return Ok((Seat::Found(recorder), allotment));
        }
        self.timer.begin(self.settings.case_time);
        let report = recorder.leave(self.settings, &self.timer.flag)?;
        Ok((Seat::Done(report), allotment))
    }
}

impl CaseReport {
    /// A report of a case of which no run was made.
    fn without_runs(verdict: CaseVerdict) -> CaseReport {
        CaseReport {
            verdict,
            tally: CampaignTally::default(),
            code: Vec::new(),
            time: Duration::ZERO,
        }
    }
}
