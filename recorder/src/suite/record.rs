//! The campaign of one case: many cheap runs that keep nothing until one fails, and then runs to compare it with.

use super::{
    CaseFailure, CaseReport, CaseState, CaseVerdict, SuiteSettings, TestCase, allotment::Allotment,
    outdated::FailingBuilds,
};
use crate::{
    assemble::ProgramDebugInfo,
    launch::{LaunchError, Output, Starter},
    permit::{ExecutionInputs, Permit},
    record::{
        CampaignEnd, CampaignTally, Goal, Job, OpenCampaign, RecordError, Recording, Summary,
        record,
    },
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use unsnarl_trace::{Criteria, input::RunInput};

/// Different failing runs that are enough for an explanation.
const WANTED_FAILING: u64 = 3;
/// Runs before the failing one with which the comparison begins.
const RUNS_BEFORE: u64 = 100;

/// The settings of a case's campaign, made once.
pub(super) struct CasePlan<'s> {
    pub case: &'s TestCase,
    pub program: Arc<ProgramDebugInfo>,
    recording: Recording,
    /// All of the failing runs that are kept of it are of older builds.
    has_older_failures: bool,
}

impl<'s> CasePlan<'s> {
    /// The plan for a case that can be recorded.
    pub fn of(
        case: &'s TestCase,
        settings: &SuiteSettings,
        starter: Starter,
        failing: &FailingBuilds,
    ) -> Result<CasePlan<'s>, CaseVerdict> {
        let program = match &case.state {
            CaseState::Ready(program) => program.clone(),
            CaseState::Disabled => return Err(CaseVerdict::Disabled),
            CaseState::NotRecordable(why) => return Err(CaseVerdict::NotRecordable(why.clone())),
        };
        let starter = starter.with_environment(case.environment.clone());
        let expected_exits = match case.expected_exits.is_empty() {
            true => settings.criteria.expected_exits.clone(),
            false => case.expected_exits.clone(),
        };
        let recording = Recording {
            job: Job {
                parent: None,
                permit: Permit::named(program.path(), &case.command, &case.directory),
                command: case.command.clone(),
                directory: case.directory.clone(),
                stdin: None,
                output: Output::Kept,
                timeout: settings.timeout,
                limits: settings.limits,
                criteria: Criteria {
                    expected_exits,
                    ..settings.criteria
                },
                starter,
            },
            strategy: settings.strategy,
            chances: settings.chances,
            seed: settings.seed,
            shard: None,
            goal: Goal::first_failure(settings.runs),
            keep_passing: 0,
            filter: true,
            names_data: false,
            minimize: false,
            out: settings.out.clone(),
            max_disk: settings.max_disk,
        };
        Ok(CasePlan {
            has_older_failures: failing.are_older(case, &program),
            case,
            program,
            recording,
        })
    }
}

/// The reason why a case cannot be recorded beside others.
pub(super) struct NeedsSolitude;

/// A case that is being recorded.
pub(super) struct CaseRecorder<'p> {
    plan: &'p CasePlan<'p>,
    campaign: OpenCampaign<'p>,
    failure: Option<CaseFailure>,
    /// Events of its runs.
    events: u64,
    time: Duration,
}

/// The state of a case after some of its runs.
pub(super) enum Progress {
    /// More runs may find something.
    Open,
    /// Its campaign has ended.
    Ended,
}

impl<'p> CaseRecorder<'p> {
    /// Begins the campaign without making a run.
    pub fn begin(plan: &'p CasePlan<'p>) -> Result<CaseRecorder<'p>, RecordError> {
        Ok(CaseRecorder {
            plan,
            campaign: OpenCampaign::begin(&plan.recording, &plan.program)?,
            failure: None,
            events: 0,
            time: Duration::ZERO,
        })
    }

    /// Counts of the runs so far.
    pub fn tally(&self) -> &CampaignTally {
        &self.campaign.summary().tally
    }

    /// Returns whether one of its runs has failed.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The share of a budget that the case has got so far.
    pub fn allotment(&self) -> Allotment {
        Allotment::of(self.tally(), self.events)
    }

    /// Makes runs until so many were made altogether, or one has failed.
    pub fn go_on(&mut self, runs: u64, stop: &AtomicBool) -> Result<Progress, RecordError> {
        let begin = Instant::now();
        let (failure, events) = (&mut self.failure, &mut self.events);
        let ended = self
            .campaign
            .go_on(Goal::first_failure(runs), stop, &mut |seen| {
                *events = events.saturating_add(seen.events());
                if failure.is_none() {
                    *failure = CaseFailure::of(seen);
                }
            });
        self.time += begin.elapsed();
        Ok(match ended? {
            CampaignEnd::Cap if self.failure.is_none() => Progress::Open,
            _ => Progress::Ended,
        })
    }

    /// Ends the campaign. A failing case is recorded again as the user's own, with passing runs to compare with.
    pub fn leave(
        self,
        settings: &SuiteSettings,
        stop: &AtomicBool,
    ) -> Result<CaseReport, RecordError> {
        let CaseRecorder {
            plan,
            campaign,
            failure,
            time,
            ..
        } = self;
        let begin = Instant::now();
        let (mut tally, code) = (campaign.summary().tally, campaign.program_addresses());
        let verdict = match failure {
            Some(failure) => {
                let compared = plan.compare(&failure, settings, stop)?;
                if failure.schedule <= RUNS_BEFORE {
                    tally = compared.tally;
                }
                CaseVerdict::Failed(Box::new(CaseFailure {
                    run: failure.run.or(compared.first_failing),
                    ..failure
                }))
            }
            None => verdict(campaign.summary()),
        };
        if matches!(verdict, CaseVerdict::Passed) && plan.has_older_failures {
            plan.keep_one(stop)?;
        }
        plan.recording.job.starter.rest();
        Ok(CaseReport {
            verdict,
            tally,
            code,
            time: time + begin.elapsed(),
        })
    }
}

/// The verdict about a case none of whose runs failed.
fn verdict(summary: &Summary) -> CaseVerdict {
    let tally = &summary.tally;
    if tally.passed > 0 {
        return CaseVerdict::Passed;
    }
    let problem = summary.problems.first();
    match problem {
        Some((why, _)) => CaseVerdict::NotRecordable(why.clone()),
        None if tally.cut_short > 0 => {
            CaseVerdict::NotRecordable("its runs were cut short".to_owned())
        }
        None => CaseVerdict::NotRun,
    }
}

impl CasePlan<'_> {
    /// Makes runs that explain a failure: from the same seed the same failing run, others like it, and passing ones.
    fn compare(
        &self,
        failure: &CaseFailure,
        settings: &SuiteSettings,
        stop: &AtomicBool,
    ) -> Result<Summary, RecordError> {
        let skipped = failure.schedule.saturating_sub(RUNS_BEFORE);
        // A run that hangs until its time is over takes longer than all others together.
        let failing = if failure.is_hang() { 1 } else { WANTED_FAILING };
        let runs = settings.runs.max(failure.schedule - skipped);
        let goal = Goal::of(Some(runs), Some(failing));
        let recording = Recording {
            seed: self.recording.seed.wrapping_add(skipped),
            goal: Goal {
                ends_without_choice: true,
                ..goal
            },
            keep_passing: settings.keep_passing,
            ..self.as_the_users_own()
        };
        record(&recording, &self.program, stop, |_| {})
    }

    /// Keeps a passing run: without one the newest runs of the case would be failing ones of an older build.
    fn keep_one(&self, stop: &AtomicBool) -> Result<(), RecordError> {
        let recording = Recording {
            goal: Goal::of(Some(1), None),
            keep_passing: 1,
            ..self.as_the_users_own()
        };
        record(&recording, &self.program, stop, |_| {}).map(drop)
    }

    /// The settings of the case for runs that are kept: they count as recorded by the user.
    fn as_the_users_own(&self) -> Recording {
        let program = &self.program;
        let (permit, _) = Permit::recording(ExecutionInputs {
            program: program.path().to_owned(),
            build_id: program.build_id().to_owned(),
            parent: None,
            command: self.case.command.clone(),
            directory: self.case.directory.clone(),
            input: RunInput::default(),
        });
        Recording {
            job: Job {
                permit,
                ..self.recording.job.clone()
            },
            ..self.recording.clone()
        }
    }
}

/// Separates a case that has to be recorded with none beside it from errors of its own.
pub(super) fn needs_solitude(error: &RecordError) -> Option<NeedsSolitude> {
    matches!(error, RecordError::Launch(LaunchError::Alone(_))).then_some(NeedsSolitude)
}

/// The verdict for a campaign that an error has ended.
pub(super) fn refused(error: &RecordError, stop: &AtomicBool) -> CaseVerdict {
    match stop.load(Ordering::Relaxed) {
        true => CaseVerdict::NotRun,
        false => CaseVerdict::NotRecordable(error.to_string()),
    }
}
