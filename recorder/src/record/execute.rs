//! One run: the program is started, and its log is assembled into a run.

use super::{Details, Job, RecordError, RunPlan};
use crate::{
    assemble::{EndOfRun, Launch, ProgramDebugInfo, RawLog, assemble, encode, ended},
    digest::{self, CampaignPlaces},
    launch::{FinishedRun, Given, LaunchError, Request, check::FailedCheck, stack},
    log::{Claimant, Limits, Log, LogConfig},
};
use sha2::{Digest, Sha256};
use std::{ffi::OsString, io, os::unix::ffi::OsStrExt, path::Path, sync::atomic::AtomicBool};
use unsnarl_trace::{
    EncodedRun, OrderMode, Run, RunMeta,
    input::{EnvironmentVariable, RunInput},
    meta::noted_time,
};

/// One executed run.
pub struct Executed {
    /// The run.
    pub run: Run,
    /// The end of the process.
    pub finished: FinishedRun,
    /// Details of its choices, when the attempt asked for them.
    pub details: Option<Details>,
}

/// Runs the program once and assembles the run.
pub fn execute(
    job: &Job,
    program: &ProgramDebugInfo,
    attempt: &RunPlan,
    stop: &AtomicBool,
) -> Result<Executed, RecordError> {
    let made = make(job, program, attempt, stop)?;
    Ok(Executed {
        run: made.run(program)?,
        details: made.details()?,
        finished: made.finished,
    })
}

/// A run that was made and is not assembled yet.
pub(crate) struct UnassembledRun {
    log: Log,
    launch: Launch,
    has_details: bool,
    /// The end of the process.
    pub finished: FinishedRun,
}

/// Runs the program once.
pub(crate) fn make(
    job: &Job,
    program: &ProgramDebugInfo,
    attempt: &RunPlan,
    stop: &AtomicBool,
) -> Result<UnassembledRun, RecordError> {
    check_input(job, program, attempt)?;
    let log = job.starter.log(&config(job, program.path(), attempt));
    let log = log.map_err(RecordError::Log)?;
    let request = Request {
        program: program.path().to_owned(),
        parent: job.parent.clone(),
        command: job.command.clone(),
        directory: job.directory.clone(),
        environment: environment(job, attempt),
        stack: stack(attempt),
        stdin: job.stdin.clone(),
        output: job.output,
        timeout: job.timeout,
        permit: job.permit.clone(),
    };
    let serves = program.serves();
    let finished = job.starter.launch(&request, serves, &log, stop)?;
    let made = UnassembledRun {
        log,
        launch: seen(job, attempt, &finished)?,
        has_details: attempt.details,
        finished,
    };
    // What cannot be read is said at once.
    made.log()?;
    Ok(made)
}

impl UnassembledRun {
    /// The program's log.
    pub fn log(&self) -> Result<RawLog<'_>, RecordError> {
        Ok(RawLog::new(self.log.bytes())?)
    }

    /// The proposed schedule with its result.
    pub fn follow_part(&self) -> &[u8] {
        self.log.follow_part()
    }

    /// The end of the run.
    pub fn ended(&self, program: &ProgramDebugInfo) -> Result<EndOfRun, RecordError> {
        Ok(ended(&self.log()?, program, &self.launch))
    }

    /// Details of its choices, when the attempt asked for them.
    pub fn details(&self) -> Result<Option<Details>, RecordError> {
        let log = self.log()?;
        Ok(self.has_details.then(|| Details::read(&log)))
    }

    /// The failed check of a test framework that the program printed.
    pub fn failed_check(&self) -> Option<&FailedCheck> {
        self.launch.failed_check.as_ref()
    }

    /// The relation between the recorded order of events and the real one.
    pub fn mode(&self) -> OrderMode {
        self.launch.mode
    }

    /// The same, where other runs with the same input are known to have ended, or not.
    pub fn beside_others_that_end(mut self, others_end: bool) -> UnassembledRun {
        self.launch.others_end = others_end;
        self
    }

    /// Digests the run in one pass over its log; places get numbers in `places`.
    pub fn digest(
        &self,
        program: &ProgramDebugInfo,
        places: &mut CampaignPlaces,
    ) -> Result<digest::Digest, RecordError> {
        let mut digest = digest::Digest::of(&self.log()?, program, places);
        if self.mode() == OrderMode::Path {
            // The steps of path mode have no order of their own.
            digest.order.clear();
        }
        Ok(digest)
    }

    /// The run, put together, with what its digest says of it.
    pub fn whole(
        &self,
        program: &ProgramDebugInfo,
        digest: &digest::Digest,
        quiet: u32,
    ) -> Result<Run, RecordError> {
        let mut run = assemble(&self.log()?, program, &self.launch);
        run.meta.order.clone_from(&digest.order);
        run.meta.quiet_places = quiet;
        Ok(run)
    }

    /// The file of a run that has not failed, with the metadata in it. The log's records are forgotten.
    pub fn encoded(
        mut self,
        program: &ProgramDebugInfo,
        digest: digest::Digest,
        quiet: u32,
    ) -> Result<(RunMeta, EncodedRun), RecordError> {
        let mut run = encode(&mut self.log, program, &self.launch)?;
        run.meta.order = digest.order;
        run.meta.quiet_places = quiet;
        let file = EncodedRun::of_events(run.events, &run.meta, &run.locations)?;
        Ok((run.meta, file))
    }

    /// Assembles the run.
    pub fn run(&self, program: &ProgramDebugInfo) -> Result<Run, RecordError> {
        let digest = self.digest(program, &mut CampaignPlaces::default())?;
        self.whole(program, &digest, 0)
    }
}

/// Checks that the program may be given this input.
pub(crate) fn check_input(
    job: &Job,
    program: &ProgramDebugInfo,
    attempt: &RunPlan,
) -> Result<(), LaunchError> {
    match job.permit.allows_input(attempt.input.as_ref()) {
        true => Ok(()),
        false => Err(LaunchError::NotPermitted(program.path().to_owned())),
    }
}

/// The variables that the job sets, and those that a recorded run looked up, with their values.
pub(crate) fn environment(job: &Job, attempt: &RunPlan) -> Given {
    let set = job.starter.environment().clone();
    let Some(input) = &attempt.input else {
        return set;
    };
    let os = |text: &String| OsString::from(text);
    // What the C library looks up by itself is kept of every run, so that it was not set where it is not there.
    let names = std::env::vars_os().map(|(name, _)| name);
    let names =
        names.filter(|name| EnvironmentVariable::is_looked_up_by_library(&name.to_string_lossy()));
    let mut given = set;
    given.extend(names.map(|name| (name, None)));
    let recorded = input.environment.iter();
    for variable in recorded.filter(|variable| !variable.is_withheld()) {
        given.insert(os(&variable.name), variable.value.as_ref().map(os));
    }
    given
}

/// The stack limit of a recorded run.
pub(crate) fn stack(attempt: &RunPlan) -> Option<u64> {
    let input = attempt.input.as_ref();
    input.map(|input| stack::of_note(input.stack))
}

/// The variables that are kept in every run, as a run of this attempt has them.
fn kept(job: &Job, attempt: &RunPlan) -> Vec<EnvironmentVariable> {
    let of_process = std::env::vars_os().map(|(name, value)| (name, Some(value)));
    let mut variables: Given = of_process.collect();
    variables.extend(environment(job, attempt));
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let set = variables.into_iter().filter_map(|(name, value)| {
        let (name, value) = (text(name), Some(text(value?)));
        EnvironmentVariable::is_looked_up_by_library(&name)
            .then_some(EnvironmentVariable { name, value })
    });
    set.collect()
}

/// Returns whether a driver beside the run, or a parent program, says its input anew.
fn is_said_anew(job: &Job) -> bool {
    job.starter.company().driver.is_some() || job.parent.is_some()
}

/// The input from outside of a recorded run, to be given back, or to come as it came then. Where it is said anew on another
/// schedule, the answers of the recorded one would be those to other requests.
fn given_back(job: &Job, attempt: &RunPlan) -> RunInput {
    match is_said_anew(job) && !attempt.repeats {
        true => RunInput::default(),
        false => attempt.input.clone().unwrap_or_default(),
    }
}

/// The configuration of the runtime for an attempt.
pub(crate) fn config(job: &Job, program: &Path, attempt: &RunPlan) -> LogConfig {
    LogConfig {
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
        input: given_back(job, attempt),
        is_live: is_said_anew(job),
        claimant: match &job.parent {
            Some(_) => Claimant::Child(program.to_owned()),
            None => Claimant::Started,
        },
        is_debugged: false,
        allow_use_after_free: job.criteria.allow_use_after_free,
        limits: limits(job, attempt),
    }
}

/// The limits of a run. Choices with their details and schedules of events count on a record of every access.
fn limits(job: &Job, attempt: &RunPlan) -> Limits {
    let needs_all = attempt.details || !attempt.follow.is_empty();
    Limits {
        repeats_after: match needs_all {
            true => u64::MAX,
            false => job.limits.repeats_after,
        },
        ..job.limits
    }
}

pub(crate) fn seen(
    job: &Job,
    attempt: &RunPlan,
    finished: &FinishedRun,
) -> Result<Launch, LaunchError> {
    let (parent, driven) = (job.parent.as_ref(), finished.driven.as_ref());
    Ok(Launch {
        command: job
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        directory: job.directory.to_string_lossy().into_owned(),
        parent: parent.map(|parent| parent.path.to_string_lossy().into_owned()),
        input_hash: input_hash(job)?,
        mode: attempt.run_mode(),
        strategy: attempt.name.to_owned(),
        seed: attempt.seed,
        depth: attempt.depth,
        expected_steps: attempt.expected_steps,
        chances: attempt.chances,
        criteria: job.criteria.clone(),
        environment: kept(job, attempt),
        time_limit: noted_time(job.timeout),
        stack: match &attempt.input {
            Some(input) => input.stack,
            None => stack::noted(),
        },
        timed_out: finished.timed_out,
        calls: finished.calls.clone(),
        waits_outside: finished.waits_outside,
        others_end: attempt.others_end,
        killed: finished.stopped,
        asked: finished.asked,
        driver_failure: driven.and_then(|driven| driven.failure(&job.criteria)),
        failed_check: FailedCheck::of(finished),
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
