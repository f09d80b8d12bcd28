//! `unsnarl replay` on a schedule that somebody proposes.

use crate::{arguments::Replay, message, record::stop_flag};
use anyhow::{Context, Result, bail};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::Ordering,
};
use unsnarl_recorder::{
    launch::{Output, Starter},
    log::Limits,
    proposal::{Divergence, Ended, Verdict, execute_proposal},
    record::Job,
    target,
};
use unsnarl_trace::{Proposal, Run, RunFolder};

/// The schedule in a file; `None` when the file is something else, such as a run.
pub fn read(path: &Path) -> Result<Option<Proposal>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Ok(None);
    }
    let text = String::from_utf8(bytes)
        .with_context(|| format!("{} is no text in UTF-8", path.display()))?;
    let proposal = Proposal::from_json(&text).with_context(|| path.display().to_string())?;
    Ok(Some(proposal))
}

/// Tries it as often as was asked.
pub fn run(proposal: &Proposal, arguments: Replay) -> Result<ExitCode> {
    if arguments.gdb {
        bail!(
            "gdb follows runs, not schedules\n  next: keep the run of the schedule with --keep, then replay that with --gdb"
        );
    }
    let job = job(proposal, &arguments)?;
    let target = target::open(proposal.program.as_ref(), &job.directory)?;
    target
        .warnings
        .iter()
        .for_each(|warning| message::warning(warning));
    let stop = stop_flag()?;
    let mut reached = 0;
    for made in 0..arguments.times {
        let verdict = execute_proposal(&target.program, &job, proposal, &stop)?;
        if verdict.stopped || stop.load(Ordering::Relaxed) {
            message::note(&format!("stopped after {made} of {}", arguments.times));
            break;
        }
        let all = verdict.ended == Ended::Reached;
        if !all || made + 1 == arguments.times {
            report(&verdict, made, arguments.times);
            keep(&verdict.run, &arguments)?;
        }
        if !all {
            break;
        }
        reached += 1;
    }
    Ok(ExitCode::from(u8::from(reached < arguments.times)))
}

fn job(proposal: &Proposal, arguments: &Replay) -> Result<Job> {
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
    let command = match proposal.command.is_empty() {
        true => std::slice::from_ref(&proposal.program),
        false => &proposal.command,
    };
    Ok(Job {
        command: command.iter().map(Into::into).collect(),
        directory,
        stdin: arguments.stdin.clone(),
        output: if arguments.show_output {
            Output::Shown
        } else {
            Output::Kept
        },
        timeout: arguments.timeout,
        limits: Limits::default(),
        starter: Starter::default(),
    })
}

fn report(verdict: &Verdict, made: u64, times: u64) {
    let Verdict { reached, of, .. } = verdict;
    match &verdict.ended {
        Ended::Reached if times == 1 => anstream::println!("reached all {of} events"),
        Ended::Reached => anstream::println!("reached all {of} events {times} of {times} times"),
        Ended::Diverged(divergence) => {
            anstream::println!(
                "diverged after {reached} of {of} events{}",
                in_run(made, times)
            );
            explain(divergence);
        }
        Ended::Deadlocked(divergence) => {
            anstream::println!(
                "deadlocked after {reached} of {of} events{}",
                in_run(made, times)
            );
            explain(divergence);
        }
    }
    anstream::println!("the run: {}", outcome(&verdict.run));
}

fn in_run(made: u64, times: u64) -> String {
    match times {
        1 => String::new(),
        times => format!(" in run {} of {times}", made + 1),
    }
}

fn explain(divergence: &Divergence) {
    let Divergence { entry, wanted, .. } = divergence;
    anstream::println!("  event {entry}  {wanted}");
    anstream::println!("  because  {}", divergence.reason);
    for (thread, words) in &divergence.threads {
        anstream::println!("  {thread}  {words}");
    }
}

fn outcome(run: &Run) -> String {
    let name = run.meta.outcome.name();
    match &run.meta.failure {
        Some(failure) => format!("{name}, {}", failure.message),
        None => name.to_owned(),
    }
}

/// A run that failed is kept like any other, so that it is explained.
fn keep(run: &Run, arguments: &Replay) -> Result<()> {
    if !arguments.keep && !run.meta.outcome.is_failure() {
        return Ok(());
    }
    let file = RunFolder::new(&arguments.out).store(run)?;
    anstream::println!("kept as {}", file.display());
    Ok(())
}
