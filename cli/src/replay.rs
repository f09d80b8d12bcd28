//! `unsnarl replay`.

use crate::{
    arguments::ReplayArguments,
    folder, gdb, message,
    pin::{self, TrialSetting},
    propose,
    record::stop_flag,
};
use anyhow::{Context, Result, bail};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};
use unsnarl_lab::{
    load,
    permission::{UserDecision, permit},
};
use unsnarl_recorder::{
    launch::{Output, addresses},
    permit::{ExecutionInputs, UserTrust},
    replay::{Departure, DifferingValues, ReplayOptions, Replayed, replay},
    target,
};
use unsnarl_trace::files::read_text;
use unsnarl_trace::{EventKind, Proposal, Run, RunFolder, meta::USUAL_TIME, read_run};

/// Runs a recorded run again.
pub fn run(arguments: ReplayArguments) -> Result<ExitCode> {
    let path = find(&arguments.run)?;
    if arguments.test {
        return test(&path, arguments);
    }
    if let Some(proposal) = propose::read(&path)? {
        return propose::run(&proposal, arguments);
    }
    let run = whole(&path)?;
    let options = ReplayOptions {
        times: arguments.times,
        stdin: arguments.stdin,
        driver: arguments.driver,
        timeout: arguments.timeout,
        output: if arguments.show_output {
            Output::Shown
        } else {
            Output::Kept
        },
        branches: arguments.branches,
        trust: trust(&run, &arguments.trusting.word())?,
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

/// A run that can be followed to its end.
pub fn whole(path: &Path) -> Result<Run> {
    let run = read_run(path)?;
    if let Some(damage) = run.damage.first() {
        bail!(
            "{} is damaged: {damage}\n  next: replay another run",
            path.display()
        );
    }
    Ok(run)
}

/// The user's decision about the program of a run, who may be asked for it.
pub fn trust(run: &Run, word: &UserDecision) -> Result<UserTrust> {
    let directory = Path::new(&run.meta.directory);
    // Why there is no program, or another one, is for the replay to say.
    let Ok(target) = target::open(run.meta.program.as_ref(), directory) else {
        return Ok(word.trust.clone());
    };
    if target.program.build_id() != run.meta.build_id {
        return Ok(word.trust.clone());
    }
    let deed = ExecutionInputs::of(&run.meta, target.program.path(), target.program.build_id());
    Ok(permit(deed, word)?.1)
}

/// Judges a pinned schedule.
fn test(path: &Path, arguments: ReplayArguments) -> Result<ExitCode> {
    let text = read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
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
    let setting = TrialSetting {
        program: arguments.program,
        stdin: arguments.stdin,
        timeout: arguments.timeout.unwrap_or(USUAL_TIME),
        output,
        word: arguments.trusting.word(),
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
    outln!("with {} branches: {}", branches.count(), file.display());
    Ok(())
}

/// The run file for a file name, or for a run's name as `explain` and the editor show it.
pub fn find(named: &Path) -> Result<PathBuf> {
    if named.is_file() {
        return Ok(named.to_owned());
    }
    let in_folder = Path::new(load::RUNS).join(named);
    let mut with_ending = in_folder.clone().into_os_string();
    with_ending.push(".arrow");
    let with_ending = PathBuf::from(with_ending);
    let here = [in_folder.clone(), with_ending.clone()];
    let above =
        folder::above().flat_map(|above| [above.join(&in_folder), above.join(&with_ending)]);
    here.into_iter()
        .chain(above)
        .find(|path| path.is_file())
        .map_or_else(
            || {
                bail!(
                    "there is no run {}\n  next: name a file, or a run in {} of this folder or one above it",
                    named.display(),
                    load::RUNS
                )
            },
            Ok,
        )
}

/// Remaining sources of differences when addresses, time, environment and input are the recorded ones.
const UNRECORDED: &str = "the program depends on something that is not recorded: the processor's clock, random numbers that it makes without a call, memory shared with others";

fn report(replayed: &Replayed, times: u64) {
    let outcome = replayed.outcome.name();
    replayed.notes.iter().for_each(|note| message::note(note));
    if let Some(difference) = &replayed.difference {
        outln!(
            "run {} of {times} left the recorded one at event {}:",
            replayed.same + 1,
            difference.event
        );
        sides(difference);
        replayed.values.iter().for_each(other_values);
        message::note(&addresses::obstacle().unwrap_or_else(|| UNRECORDED.to_owned()));
        return;
    }
    if replayed.stopped {
        let same = replayed.same;
        message::note(&format!("stopped after {same} of {times}, all reproduced"));
    } else if replayed.values.is_none() && replayed.detour.is_none() {
        outln!("the same run {} of {times} times: {outcome}", replayed.same);
    } else {
        outln!("reproduced {} of {times} times: {outcome}", replayed.same);
    }
    if let Some(detour) = &replayed.detour {
        outln!("with other steps from event {} on:", detour.event);
        sides(detour);
    }
    replayed.values.iter().for_each(other_values);
}

fn other_values(values: &DifferingValues) {
    let count = match values.count {
        1 => "one value that differs".to_owned(),
        count => format!("{count} values that differ"),
    };
    outln!("with {count}, the first at event {}:", values.first.event);
    sides(&values.first);
}

fn sides(difference: &Departure) {
    outln!("  recorded  {}", difference.recorded);
    outln!("  replayed  {}", difference.replayed);
}
