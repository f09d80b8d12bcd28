//! `unsnarl replay --test`: checks whether the program still fails by a pinned order.

use super::{Pinned, lines};
use crate::{message, propose, record::stop_flag};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};
use unsnarl_lab::permission::{UserDecision, permit};
use unsnarl_recorder::{
    launch::{Output, Starter},
    log::Limits,
    permit::Permit,
    proposal::{Divergence, FollowVerdict, Obstacle, ScheduleEnd, TrialError, execute_proposal},
    record::Job,
    target::{self, Target},
};
use unsnarl_trace::files::read_text;
use unsnarl_trace::{Outcome, Proposal};

/// The next step for a test whose order is gone.
const ANEW: &str = "record again; if it still fails, export a new test";

/// Exit status that test drivers take for a skipped test: automake's and Meson's number.
const SKIPPED: u8 = 77;

/// The circumstances of the execution.
pub struct TrialSetting {
    /// The program to use instead of the one that the schedule names.
    pub program: Option<PathBuf>,
    /// File for standard input.
    pub stdin: Option<PathBuf>,
    /// Time that it may take.
    pub timeout: Duration,
    /// Treatment of the program's output.
    pub output: Output,
    /// The user's decision about the program that the schedule names.
    pub word: UserDecision,
}

/// The result of a test.
enum TrialAnswer {
    /// The program fails.
    Fails(String),
    /// The program does not fail, and the order was tried or cannot happen.
    Passes(String),
    /// The result is unknown: the reason and the next step.
    Skipped(String, &'static str),
}

/// Tries the order once: exit status 1 when the program fails, 0 when it passes in this order or no longer lets it
/// happen, 77 when the order cannot be followed any more.
pub fn trial(mut pinned: Pinned, setting: &TrialSetting) -> Result<ExitCode> {
    let here = env::current_dir().context("the current folder cannot be found")?;
    let directory = here.join(&pinned.schedule.directory);
    if let Some(program) = &setting.program {
        if let Some(parent) = &pinned.schedule.parent {
            bail!(
                "the program of the test is started by {parent}, which cannot be told to start another one\n  next: test without --program"
            );
        }
        pinned.schedule.program = here.join(program).to_string_lossy().into_owned();
        if let Some(first) = pinned.schedule.command.first_mut() {
            first.clone_from(&pinned.schedule.program);
        }
    }
    let target = target::open(pinned.schedule.program.as_ref(), &directory)?;
    let answer = match find_lines(&mut pinned, &target) {
        Ok(()) => answer(&pinned, &target, directory, setting)?,
        Err(stale) => stale,
    };
    Ok(say(&answer))
}

/// Writes the current lines into the schedule; the error is the result when that is not possible.
fn find_lines(pinned: &mut Pinned, target: &Target) -> Result<(), TrialAnswer> {
    let stale = |words| TrialAnswer::Skipped(words, ANEW);
    let built = fs::metadata(target.program.path()).and_then(|file| file.modified());
    let mut now: BTreeMap<(String, u32), u32> = BTreeMap::new();
    for line in &pinned.pinned.lines {
        let path = Path::new(&line.file);
        let content = read_text(path)
            .map_err(|error| stale(format!("{} cannot be read: {error}", line.file)))?;
        let written = fs::metadata(path).and_then(|file| file.modified());
        if let (Ok(built), Ok(written)) = (&built, &written)
            && written > built
        {
            let words = format!("{} is newer than the program", line.file);
            return Err(TrialAnswer::Skipped(
                words,
                "build the program, then test again",
            ));
        }
        let found = lines::find(line, &content).map_err(stale)?;
        now.insert((line.file.clone(), line.line), found);
    }
    for wanted in &mut pinned.schedule.events {
        let line = now.get(&(wanted.file.clone(), wanted.line));
        wanted.line = *line.ok_or_else(|| {
            let (line, file) = (wanted.line, &wanted.file);
            stale(format!(
                "the test does not say what line {line} of {file} was"
            ))
        })?;
    }
    Ok(())
}

fn answer(
    pinned: &Pinned,
    target: &Target,
    directory: PathBuf,
    setting: &TrialSetting,
) -> Result<TrialAnswer> {
    let schedule = &pinned.schedule;
    let deed = propose::deed(schedule, target, directory);
    let (command, directory) = (deed.command.clone(), deed.directory.clone());
    let parent = deed.parent.clone();
    let permit = match &setting.program {
        Some(_) => Permit::named(target.program.path(), &command, &directory),
        None => permit(deed, &setting.word)?.0,
    };
    let job = Job {
        permit,
        parent,
        command,
        directory,
        stdin: setting.stdin.clone(),
        output: setting.output,
        timeout: setting.timeout,
        limits: Limits::default(),
        criteria: schedule.criteria.clone(),
        starter: Starter::default(),
    };
    let stop = stop_flag()?;
    match execute_proposal(&target.program, &job, schedule, &stop) {
        Ok(verdict) if verdict.stopped => bail!("stopped before the program had ended"),
        Ok(verdict) => Ok(judge(schedule, &verdict)),
        Err(TrialError::NoSite(_, place)) => Ok(TrialAnswer::Skipped(
            format!("the program does nothing at {place} that can be held back"),
            ANEW,
        )),
        Err(error) => Err(error.into()),
    }
}

fn judge(schedule: &Proposal, verdict: &FollowVerdict) -> TrialAnswer {
    let meta = &verdict.run.meta;
    if meta.outcome.is_failure() {
        let failure = meta.failure.as_ref();
        let failure = failure.map_or_else(
            || meta.outcome.name().to_owned(),
            |failure| failure.message.clone(),
        );
        return TrialAnswer::Fails(failure);
    }
    match &verdict.ended {
        _ if meta.outcome != Outcome::Passed => {
            TrialAnswer::Skipped("the run was cut short".to_owned(), ANEW)
        }
        ScheduleEnd::Reached => {
            TrialAnswer::Passes("it ran in the order that used to fail".to_owned())
        }
        ScheduleEnd::Diverged(Divergence {
            cause: Obstacle::HeldBack,
            wanted,
            threads,
            ..
        }) => TrialAnswer::Passes(format!(
            "the order that used to fail cannot happen any more: {}",
            why(wanted, threads)
        )),
        ScheduleEnd::Diverged(divergence) if went_on_without(schedule, verdict, divergence) => {
            TrialAnswer::Passes(format!(
                "the order that used to fail does not come about any more: its thread ended without this step: {}",
                divergence.wanted
            ))
        }
        ScheduleEnd::Diverged(divergence) | ScheduleEnd::Deadlocked(divergence) => {
            TrialAnswer::Skipped(
                format!("{}: {}", divergence.wanted, divergence.reason),
                ANEW,
            )
        }
    }
}

/// Returns whether a thread that ran decided against its step, which is still in the program, after another thread had
/// taken its own before as the order says: then the program was in the state that used to fail, and avoids it. A thread
/// that was never created, or that nothing came before, says nothing.
fn went_on_without(schedule: &Proposal, verdict: &FollowVerdict, left: &Divergence) -> bool {
    let actor = &left.wanted.thread;
    let before = schedule.events.iter().take(left.entry);
    let mut threads = verdict.run.meta.threads.iter();
    left.cause == Obstacle::Ended
        && before
            .map(|event| &event.thread)
            .any(|other| other != actor)
        && threads.any(|thread| thread.name == *actor)
}

/// The reason for which the thread is held back, in the recorder's words.
fn why(wanted: &unsnarl_trace::Wanted, threads: &[(String, String)]) -> String {
    let mut threads = threads.iter();
    let own =
        threads.find(|(thread, words)| *thread == wanted.thread && words.starts_with("waits"));
    own.map_or_else(
        || format!("{wanted} has to wait"),
        |(thread, words)| format!("{thread} {words}"),
    )
}

fn say(answer: &TrialAnswer) -> ExitCode {
    match answer {
        TrialAnswer::Fails(words) => {
            outln!("fails: {words}");
            ExitCode::from(1)
        }
        TrialAnswer::Passes(words) => {
            outln!("passes: {words}");
            ExitCode::SUCCESS
        }
        TrialAnswer::Skipped(words, next) => {
            outln!("skipped: the order that used to fail cannot be followed any more");
            outln!("  {words}");
            message::note(next);
            ExitCode::from(SKIPPED)
        }
    }
}
