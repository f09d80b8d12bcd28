//! `unsnarl replay` on a schedule that somebody proposes.

use crate::{arguments::ReplayArguments, message, record::stop_flag};
use anyhow::{Context, Result, bail};
use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::Ordering,
};
use unsnarl_lab::permission::permit;
use unsnarl_recorder::{
    launch::{Output, Starter},
    log::Limits,
    permit::{ExecutionInputs, Permit, parent_of},
    proposal::{Divergence, FollowVerdict, ScheduleEnd, execute_proposal},
    record::Job,
    target::{self, Target},
};
use unsnarl_trace::files::{MOST_TEXT, read_regular};
use unsnarl_trace::{Proposal, Run, RunFolder, begins_as_run, meta::USUAL_TIME};

/// The schedule in a file; `None` when the file is something else, such as a run.
pub fn read(path: &Path) -> Result<Option<Proposal>> {
    if begins_as_run(path) {
        return Ok(None);
    }
    let bytes = read_regular(path, MOST_TEXT);
    let bytes = bytes.with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Ok(None);
    }
    let text = String::from_utf8(bytes)
        .with_context(|| format!("{} is no text in UTF-8", path.display()))?;
    let proposal = Proposal::from_json(&text).with_context(|| path.display().to_string())?;
    Ok(Some(proposal))
}

/// Tries it as many times as was asked.
pub fn run(proposal: &Proposal, arguments: ReplayArguments) -> Result<ExitCode> {
    if arguments.gdb {
        bail!(
            "gdb follows runs, not schedules\n  next: keep the run of the schedule with --keep, then replay that with --gdb"
        );
    }
    let directory = directory(proposal)?;
    let target = target::open(proposal.program.as_ref(), &directory)?;
    target
        .warnings
        .iter()
        .for_each(|warning| message::warning(warning));
    let deed = deed(proposal, &target, directory);
    let (permit, _) = permit(deed.clone(), &arguments.trusting.word())?;
    let job = job(proposal, deed, permit, &arguments);
    let stop = stop_flag()?;
    let mut reached = 0;
    for made in 0..arguments.times {
        let verdict = execute_proposal(&target.program, &job, proposal, &stop)?;
        if verdict.stopped || stop.load(Ordering::Relaxed) {
            message::note(&format!("stopped after {made} of {}", arguments.times));
            break;
        }
        let all = verdict.ended == ScheduleEnd::Reached;
        if !all || made + 1 == arguments.times {
            report(&verdict, made, arguments.times);
            keep(&verdict.run, &job, &arguments)?;
        }
        if !all {
            break;
        }
        reached += 1;
    }
    Ok(ExitCode::from(u8::from(reached < arguments.times)))
}

/// The folder that the program of a schedule is to run in.
fn directory(proposal: &Proposal) -> Result<PathBuf> {
    if proposal.program.is_empty() {
        bail!("the schedule names no program\n  next: say \"program\": \"./prog\" in it");
    }
    let here = env::current_dir().context("the current folder cannot be found")?;
    let directory: PathBuf = here.join(&proposal.directory);
    if !directory.is_dir() {
        bail!(
            "the folder that the program is to run in is not there: {}\n  next: correct \"directory\" in the schedule",
            directory.display()
        );
    }
    Ok(directory)
}

/// The deed of executing a schedule.
pub fn deed(proposal: &Proposal, target: &Target, directory: PathBuf) -> ExecutionInputs {
    let command = match proposal.command.is_empty() {
        true => std::slice::from_ref(&proposal.program),
        false => &proposal.command,
    };
    ExecutionInputs {
        program: target.program.path().to_owned(),
        build_id: target.program.build_id().to_owned(),
        parent: parent_of(proposal.parent.as_deref()),
        command: command.iter().map(Into::into).collect(),
        directory,
        input: proposal.input.clone(),
    }
}

fn job(
    proposal: &Proposal,
    deed: ExecutionInputs,
    permit: Permit,
    arguments: &ReplayArguments,
) -> Job {
    Job {
        permit,
        parent: deed.parent,
        command: deed.command,
        directory: deed.directory,
        stdin: arguments.stdin.clone(),
        output: if arguments.show_output {
            Output::Shown
        } else {
            Output::Kept
        },
        timeout: arguments.timeout.unwrap_or(USUAL_TIME),
        limits: Limits::default(),
        criteria: proposal.criteria.clone(),
        starter: Starter::default(),
    }
}

fn report(verdict: &FollowVerdict, made: u64, times: u64) {
    let FollowVerdict { reached, of, .. } = verdict;
    match &verdict.ended {
        ScheduleEnd::Reached if reached < of => {
            outln!("reached {reached} of {of} events; the others need not come");
        }
        ScheduleEnd::Reached if times == 1 => outln!("reached all {of} events"),
        ScheduleEnd::Reached => outln!("reached all {of} events {times} of {times} times"),
        ScheduleEnd::Diverged(divergence) => {
            outln!(
                "diverged after {reached} of {of} events{}",
                in_run(made, times)
            );
            explain(divergence);
        }
        ScheduleEnd::Deadlocked(divergence) => {
            outln!(
                "deadlocked after {reached} of {of} events{}",
                in_run(made, times)
            );
            explain(divergence);
        }
    }
    outln!("the run: {}", outcome(&verdict.run));
}

fn in_run(made: u64, times: u64) -> String {
    match times {
        1 => String::new(),
        times => format!(" in run {} of {times}", made + 1),
    }
}

fn explain(divergence: &Divergence) {
    let Divergence { entry, wanted, .. } = divergence;
    outln!("  event {entry}  {wanted}");
    outln!("  because  {}", divergence.reason);
    for (thread, words) in &divergence.threads {
        outln!("  {thread}  {words}");
    }
}

fn outcome(run: &Run) -> String {
    let name = run.meta.outcome.name();
    match &run.meta.failure {
        Some(failure) => format!("{name}, {}", failure.message),
        None => name.to_owned(),
    }
}

/// Keeps a run that failed like any other, so that it can be explained.
fn keep(run: &Run, job: &Job, arguments: &ReplayArguments) -> Result<()> {
    if !arguments.keep && !run.meta.outcome.is_failure() {
        return Ok(());
    }
    let file = RunFolder::new(&arguments.out).store(run)?;
    job.permit.vouch(&run.meta)?;
    outln!("kept as {}", file.display());
    Ok(())
}
