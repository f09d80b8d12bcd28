//! The program of a run, ready to run by orders of the run's events.

use crate::permission::{self, UserDecision};
use anyhow::{Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};
use unsnarl_recorder::{
    launch::{Company, Output, Starter},
    log::Limits,
    permit::{ExecutionInputs, LedgerError, Permit, UserTrust, parent_of},
    proposal::{FollowVerdict, TrialError, execute_proposal},
    record::{Job, RecordError, Sampler},
    target::{self, Target},
};
use unsnarl_trace::{
    Event, EventId, EventKind, OrderMode, Proposal, Run, RunFolder, ThreadId, shell,
};

/// Settings for executing a run's program that the run itself does not record.
pub struct ExecutionSettings {
    /// File for standard input, if the run had one.
    pub stdin: Option<PathBuf>,
    /// Command that uses the program from outside, started beside each execution in place of the recorded input.
    pub driver: Option<OsString>,
    /// Time that one execution may take; `None` for the time that the recorded run could take.
    pub timeout: Option<Duration>,
    /// The user's word about the program.
    pub word: UserDecision,
}

/// A program with its input.
pub struct Executable {
    target: Target,
    job: Job,
    trust: UserTrust,
    /// Steps that a schedule may take in which only some order is kept: there are many of them.
    drawn_steps: u64,
}

impl Executable {
    /// The program of the run called `name`. Fails with the next step in words when there is none, or another
    /// build than the one that was recorded.
    pub fn of(run: &Run, name: &str, given: &ExecutionSettings) -> Result<Executable> {
        let meta = &run.meta;
        let directory = directory(run, name)?;
        let target = target::open_recorded(meta, &directory)?;
        if target.program.build_id() != meta.build_id {
            bail!(
                "{} is another build than the one that was recorded\n  next: record the new build: unsnarl record -- {}",
                meta.program,
                shell::command(&meta.command)
            );
        }
        Executable::recorded(run, target, directory, given)
    }

    /// A build that can be made to have an order, for a run called `name` of one that cannot: the program named, or
    /// what is where the run's program was. Fails as [`Executable::of`].
    pub fn exact(
        run: &Run,
        name: &str,
        program: Option<&Path>,
        given: &ExecutionSettings,
    ) -> Result<Executable> {
        let directory = directory(run, name)?;
        let Some(program) = program else {
            let target = target::open_recorded(&run.meta, &directory)?;
            return Executable::recorded(run, target, directory, given);
        };
        let program = std::path::absolute(program)?;
        let target = target::open(program.as_os_str(), &directory)?;
        if let Some(parent) = &run.meta.parent {
            bail!(
                "the program of {name} was started by {parent}, which cannot be told to start another build\n  next: record the command that it starts the program by"
            );
        }
        let mut command = command(run);
        if let Some(first) = command.first_mut() {
            *first = program.into();
        }
        // The user has named it, and runs of it that are kept are the user's own.
        let deed = ExecutionInputs {
            command: command.clone(),
            directory: directory.clone(),
            ..ExecutionInputs::of(&run.meta, target.program.path(), target.program.build_id())
        };
        let permit = Permit::ask(deed, &UserTrust::All)?;
        let word = (permit, given.word.trust.clone());
        Ok(Executable::with(
            run,
            target,
            (command, directory),
            given,
            word,
        ))
    }

    /// The program where the run has it, if it may be executed.
    fn recorded(
        run: &Run,
        target: Target,
        directory: PathBuf,
        given: &ExecutionSettings,
    ) -> Result<Executable> {
        let deed = ExecutionInputs::of(&run.meta, target.program.path(), target.program.build_id());
        let word = permission::permit(deed, &given.word)?;
        Ok(Executable::with(
            run,
            target,
            (command(run), directory),
            given,
            word,
        ))
    }

    fn with(
        run: &Run,
        target: Target,
        (command, directory): (Vec<OsString>, PathBuf),
        given: &ExecutionSettings,
        (permit, trust): (Permit, UserTrust),
    ) -> Executable {
        let job = Job {
            permit,
            parent: parent_of(run.meta.parent.as_deref()),
            command,
            directory,
            stdin: given.stdin.clone(),
            output: Output::Kept,
            timeout: given.timeout.unwrap_or(run.meta.time()),
            limits: limits(run),
            criteria: run.meta.criteria.clone(),
            starter: Starter::default().with_company(Company::of_driver(given.driver.clone())),
        };
        Executable {
            target,
            job,
            trust,
            drawn_steps: drawn_steps(run),
        }
    }

    /// The word that its execution rests on.
    pub fn trust(&self) -> &UserTrust {
        &self.trust
    }

    /// Notes a run that it gave as the user's own.
    pub fn vouch(&self, run: &Run) -> Result<(), LedgerError> {
        self.job.permit.vouch(&run.meta)
    }

    /// The program's build.
    pub fn build_id(&self) -> &str {
        self.target.program.build_id()
    }

    /// Keeps the program's models beside the runs of a folder.
    pub fn keep_models(&self, runs: &RunFolder) -> Result<()> {
        Ok(self.target.program.keep_models(runs)?)
    }

    /// Other ways in which a failing run of it could have gone on; none when it does not fail again.
    pub fn sampler<'a>(
        &'a self,
        failing: &Run,
        stop: &'a AtomicBool,
    ) -> Result<Option<Sampler<'a>>, RecordError> {
        Sampler::new(&self.job, &self.target.program, failing, stop)
    }

    /// Runs it once by a schedule.
    pub fn run(&self, proposal: &Proposal, stop: &AtomicBool) -> Result<FollowVerdict, TrialError> {
        let mut job = self.job.clone();
        if proposal.only_order {
            job.limits.steps = job.limits.steps.min(self.drawn_steps);
        }
        execute_proposal(&self.target.program, &job, proposal, stop)
    }
}

/// The name that a run's program was called by, and its arguments.
fn command(run: &Run) -> Vec<OsString> {
    run.meta.command.iter().map(OsString::from).collect()
}

/// The folder that a run's program ran in.
fn directory(run: &Run, name: &str) -> Result<PathBuf> {
    let directory = PathBuf::from(&run.meta.directory);
    if run.meta.mode == OrderMode::Imported {
        bail!("{name} was imported: there is no program to execute");
    }
    if !directory.is_dir() {
        bail!(
            "the folder that the program ran in is gone: {}\n  next: make it again, or record again",
            run.meta.directory
        );
    }
    Ok(directory)
}

/// A thread that goes round and round while the order holds back the one that it waits for is not waited
/// for: an order takes no more steps than the run did, and what comes after it hardly many times as many.
fn limits(run: &Run) -> Limits {
    const TIMES: u64 = 20;
    const LEAST: u64 = 30_000;
    let usual = Limits::default();
    Limits {
        steps: usual
            .steps
            .min(run.length().saturating_mul(TIMES).max(LEAST)),
        ..usual
    }
}

fn drawn_steps(run: &Run) -> u64 {
    const TIMES: u64 = 20;
    const LEAST: u64 = 2_000;
    run.length().saturating_mul(TIMES).max(LEAST)
}

/// The events of an order that a schedule has to name: synchronization, those that are important, and where
/// another thread goes on. In between a thread runs on by itself.
pub fn listed(run: &Run, important: &[EventId], order: &[EventId]) -> Vec<EventId> {
    let rows: Vec<_> = order
        .iter()
        .filter_map(|id| Some((*id, run.events.get(*id)?)))
        .filter(|(_, event)| is_listable(event.kind))
        .collect();
    let inside = inside_waits(run, order);
    let is_named = |at: usize, id: &EventId, event: &Event| {
        let next = rows.get(at + 1);
        let is_last = next.is_none_or(|(_, next)| next.thread != event.thread);
        let is_sync = !event.kind.is_access();
        important.contains(id) || (is_sync || is_last) && !inside.contains(id)
    };
    rows.iter()
        .enumerate()
        .filter(|(at, (id, event))| is_named(*at, id, event))
        .map(|(_, (id, _))| *id)
        .collect()
}

/// Returns whether events of this kind are decisions of their thread that come whatever the others do.
fn is_listable(kind: EventKind) -> bool {
    kind.role().is_order_relevant() && kind != EventKind::Fence
}

/// The `unlock` and `lock` that belong to a wait on a condition variable: nobody can be held back there.
fn inside_waits(run: &Run, order: &[EventId]) -> BTreeSet<EventId> {
    let mut last: BTreeMap<ThreadId, (EventId, EventKind)> = BTreeMap::new();
    let mut inside = BTreeSet::new();
    let rows = order
        .iter()
        .filter_map(|id| Some((*id, run.events.get(*id)?)));
    for (id, event) in rows.filter(|(_, event)| event.kind != EventKind::LockWait) {
        let before = last.insert(event.thread, (id, event.kind));
        match (before, event.kind) {
            (Some((_, EventKind::Wait)), EventKind::Unlock) => inside.insert(id),
            (Some((lock, EventKind::Lock)), EventKind::Wake) => inside.insert(lock),
            _ => false,
        };
    }
    inside
}
