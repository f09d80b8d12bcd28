//! `unsnarl replay`.

use crate::{
    arguments::Replay,
    gdb, load, message,
    pin::{self, Setting},
    propose,
    record::stop_flag,
};
use anyhow::{Context, Result, bail};
use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};
use unsnarl_recorder::{
    launch::Output,
    replay::{Options, Replayed, replay},
};
use unsnarl_trace::{EventKind, Proposal, Run, RunFolder, read_run};

/// Runs a recorded run again.
pub fn run(arguments: Replay) -> Result<ExitCode> {
    let path = find(&arguments.run)?;
    if arguments.test {
        return test(&path, arguments);
    }
    if let Some(proposal) = propose::read(&path)? {
        return propose::run(&proposal, arguments);
    }
    let run = read_run(&path)?;
    if let Some(damage) = run.damage.first() {
        bail!(
            "{} is damaged: {damage}\n  next: replay another run",
            path.display()
        );
    }
    let options = Options {
        times: arguments.times,
        stdin: arguments.stdin,
        timeout: arguments.timeout,
        output: if arguments.show_output {
            Output::Shown
        } else {
            Output::Kept
        },
        branches: arguments.branches,
    };
    if arguments.gdb {
        return gdb::run(&path, Arc::new(run), &options, arguments.gdb_arguments);
    }
    let stop = stop_flag()?;
    let replayed = replay(&run, &options, &stop, |_| {})?;
    report(&replayed, options.times);
    if let Some(run) = &replayed.with_branches {
        store(run, &arguments.out)?;
    }
    Ok(ExitCode::from(u8::from(replayed.same < options.times)))
}

/// Judges a pinned schedule.
fn test(path: &Path, arguments: Replay) -> Result<ExitCode> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    // Says what is wrong with a schedule that is none, or of another version.
    Proposal::from_json(&text).with_context(|| path.display().to_string())?;
    let pinned = serde_json::from_str(&text).with_context(|| {
        format!(
            "{} is a schedule, but no test\n  next: make one with unsnarl export RUN --to test",
            path.display()
        )
    })?;
    let output = match arguments.show_output {
        true => Output::Shown,
        false => Output::Kept,
    };
    let setting = Setting {
        program: arguments.program,
        stdin: arguments.stdin,
        timeout: arguments.timeout,
        output,
    };
    pin::trial(pinned, &setting)
}

/// Stores a run with its branches in a folder of its own, so that the run does not count twice.
fn store(run: &Run, out: &Path) -> Result<()> {
    let file = RunFolder::new(out.join("branches")).store(run)?;
    let branches = run
        .events
        .iter()
        .filter(|(_, event)| event.kind == EventKind::Branch);
    anstream::println!("with {} branches: {}", branches.count(), file.display());
    Ok(())
}

/// A file, or a name as `explain` and the editor say it.
pub fn find(named: &Path) -> Result<PathBuf> {
    if named.is_file() {
        return Ok(named.to_owned());
    }
    let in_folder = Path::new(load::RUNS).join(named);
    let mut with_ending = in_folder.clone().into_os_string();
    with_ending.push(".arrow");
    [in_folder, with_ending.into()]
        .into_iter()
        .find(|path| path.is_file())
        .map_or_else(
            || {
                bail!(
                    "there is no run {}\n  next: name a file, or a run in {} of this folder",
                    named.display(),
                    load::RUNS
                )
            },
            Ok,
        )
}

fn report(replayed: &Replayed, times: u64) {
    let outcome = replayed.outcome.name();
    replayed.notes.iter().for_each(|note| message::note(note));
    if let Some(difference) = &replayed.difference {
        anstream::println!(
            "run {} of {times} left the recorded one at event {}:",
            replayed.same + 1,
            difference.event
        );
        anstream::println!("  recorded  {}", difference.recorded);
        anstream::println!("  replayed  {}", difference.replayed);
        message::note(
            "the program depends on something that is not recorded: time, random numbers, other input",
        );
    } else if replayed.stopped {
        message::note(&format!(
            "stopped after {} of {times}, all the same",
            replayed.same
        ));
    } else {
        anstream::println!("the same run {} of {times} times: {outcome}", replayed.same);
    }
}
