//! The program to record where the command names a script, or another program that is not instrumented: one of those that
//! it starts.

use crate::{arguments::RecordArguments, message, record::built_for};
use anyhow::{Result, bail};
use std::{ffi::OsStr, path::Path, sync::atomic::AtomicBool};
use unsnarl_recorder::{
    build_command,
    launch::parent::{ParentProgram, StartedProgram, Trial},
    target::{self, Target, TargetError},
};
use unsnarl_trace::shell;

/// The program that is recorded.
pub struct Subject {
    /// Its file and debug info.
    pub target: Target,
    /// The program that the command names, if that starts it.
    pub parent: Option<ParentProgram>,
}

/// Finds the program to record: the one that the command names, or one that it starts.
pub fn find(arguments: &RecordArguments, directory: &Path, stop: &AtomicBool) -> Result<Subject> {
    let name = arguments.command.first().cloned().unwrap_or_default();
    let named = target::open_built_for(built_for(arguments.strategy), &name, directory);
    let wants_child = arguments.record_child.is_some();
    match named {
        Err(TargetError::Script(_) | TargetError::NotInstrumented { .. }) => {}
        Ok(_) | Err(TargetError::ForPath(_) | TargetError::NotForPath(_)) if wants_child => {}
        Ok(target) => {
            let parent = None;
            return Ok(Subject { target, parent });
        }
        Err(error) => return Err(error.into()),
    }
    let parent = ParentProgram::find(&name, directory)?;
    if arguments.driver.is_some() {
        bail!(
            "{} is not instrumented, and a driver is for a program that is named\n  next: name the program; or leave out --driver, so that {0} starts and uses it",
            parent.name()
        );
    }
    let chosen = started(&parent, arguments, directory, stop)?;
    let target = target::open_built_for(
        built_for(arguments.strategy),
        chosen.path.as_os_str(),
        directory,
    )?;
    tell(&parent, &chosen);
    let parent = Some(parent);
    Ok(Subject { target, parent })
}

/// Runs the command once without recording, and chooses among the instrumented programs that it starts.
fn started(
    parent: &ParentProgram,
    arguments: &RecordArguments,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<StartedProgram> {
    let trial = Trial {
        parent,
        command: &arguments.command,
        directory,
        stdin: arguments.stdin.as_deref(),
        timeout: arguments.timeout,
    };
    let (finished, programs) = trial.run(stop)?;
    if finished.stopped {
        bail!("stopped before anything was recorded");
    }
    if programs.is_empty() {
        bail!(none(parent, arguments, directory, finished.timed_out));
    }
    let wanted = arguments.record_child.as_deref();
    let is_wanted = |program: &&StartedProgram| {
        wanted.is_none_or(|name| is_called(&program.path, name, directory))
    };
    match &*programs.iter().filter(is_wanted).collect::<Vec<_>>() {
        [one] => Ok((*one).clone()),
        [] => bail!(
            "{} starts no instrumented program {}\n  next: name one of those that it starts: {}",
            parent.name(),
            wanted.unwrap_or_default().display(),
            listed(&programs)
        ),
        several => bail!(several_words(parent, several, arguments)),
    }
}

/// Returns whether a program is what the user has named: by its file name, or by a path.
fn is_called(program: &Path, name: &OsStr, directory: &Path) -> bool {
    let is_path = Path::new(name).components().count() > 1;
    match is_path {
        false => program.file_name() == Some(name),
        true => {
            let whole = std::fs::canonicalize(directory.join(name));
            whole.is_ok_and(|whole| whole == program) || program.ends_with(name)
        }
    }
}

/// The message for a command that starts no instrumented program.
fn none(
    parent: &ParentProgram,
    arguments: &RecordArguments,
    directory: &Path,
    timed_out: bool,
) -> String {
    let name = parent.name();
    if timed_out {
        return format!(
            "{name} has started no program that was built for recording within the {} seconds that a run may take\n  next: allow more time with --timeout",
            arguments.timeout.as_secs_f64()
        );
    }
    format!(
        "{name} was not built for recording, and starts no program that was\n  \
         next: build the program with `unsnarl cc` (as in {}); where {name} uses a program that runs already, as a client \
         does, let it be the driver: unsnarl record --driver {} -- PROGRAM",
        build_command::for_recording(&parent.path, directory),
        shell::word(Path::new(&shell::command(&arguments.command)))
    )
}

fn several_words(
    parent: &ParentProgram,
    several: &[&StartedProgram],
    arguments: &RecordArguments,
) -> String {
    let programs: Vec<StartedProgram> = several.iter().map(|one| (*one).clone()).collect();
    let mut names: Vec<_> = programs.iter().map(|one| one.path.file_name()).collect();
    names.sort();
    let is_clear = names.windows(2).all(|pair| pair.first() != pair.last());
    let first = programs.first().map(|one| match one.path.file_name() {
        Some(name) if is_clear => name.to_owned(),
        _ => one.path.clone().into_os_string(),
    });
    format!(
        "{} starts several programs that can be recorded: {}\n  next: choose one, as in: unsnarl record --record-child {} -- {}",
        parent.name(),
        listed(&programs),
        shell::word(Path::new(&first.unwrap_or_default())),
        shell::command(&arguments.command)
    )
}

fn listed(programs: &[StartedProgram]) -> String {
    let words = programs.iter().map(|program| {
        let path = program.path.display();
        match program.starts {
            1 => path.to_string(),
            starts => format!("{path} ({starts} times)"),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

fn tell(parent: &ParentProgram, chosen: &StartedProgram) {
    let which = match chosen.starts {
        1 => String::new(),
        starts => format!("; of its {starts} processes, the first one of each run"),
    };
    message::note(&format!(
        "recording {}, which {} starts{which}",
        chosen.path.display(),
        parent.name()
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_called_by_file_name_or_path() {
        let program = Path::new("/w/build/.libs/prog");
        let is_it = |name: &str| is_called(program, OsStr::new(name), Path::new("/w"));
        assert!(is_it("prog") && is_it("/w/build/.libs/prog") && is_it(".libs/prog"));
        assert!(!is_it("pro") && !is_it("build") && !is_it("other/prog"));
    }
}
