//! The one binary: compile for recording, record, explain, replay, serve editors.
//!
//! One file per command. What it prints for reading goes to standard output, everything about the
//! work itself (progress, warnings, errors) to standard error.

// Its macros print for all others.
#[macro_use]
mod message;

mod arguments;
mod cc;
mod child;
mod completions;
mod coverage;
mod dap;
mod debugged;
mod doctor;
mod dsp;
mod engines;
mod explain;
mod export;
mod folder;
mod gdb;
mod guarded_by;
mod header;
mod import;
mod invariants;
mod lsp;
mod man;
mod own_file;
mod permission;
mod pin;
mod predict;
mod progress;
mod propose;
mod prune;
mod record;
mod replay;
mod report;
mod sarif;
mod shard;
mod summaries;
mod suppress;
mod suppressions;
mod terminal;
mod test;
mod verify;

use arguments::{Command, CommandLine};
use clap::Parser;
use std::{ffi::OsString, path::PathBuf, process::ExitCode};
use unsnarl_recorder::wrapper::{Language, assembler};

/// Usage, or something that cannot be recorded, read or served.
const UNUSABLE: u8 = 2;

/// The language and the compiler's arguments, when this is called as a compiler: `unsnarl cc ...`, or
/// by a link named `unsnarl-cc` or `unsnarl-c++`, for build systems that want one word.
fn wrapped(words: Vec<OsString>) -> Option<(Language, Vec<OsString>)> {
    let mut words = words.into_iter();
    let called = PathBuf::from(words.next()?);
    match called.file_name()?.to_str() {
        Some("unsnarl-cc") => return Some((Language::C, words.collect())),
        Some("unsnarl-c++") => return Some((Language::Cxx, words.collect())),
        _ => {}
    }
    match words.next()?.to_str() {
        Some("cc") => Some((Language::C, words.collect())),
        Some("c++") => Some((Language::Cxx, words.collect())),
        _ => None,
    }
}

/// The arguments, when a compiler calls this in the assembler's place.
fn assembles(mut words: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let called = PathBuf::from(words.next()?);
    (called.file_name()? == assembler::NAME).then(|| words.collect())
}

fn main() -> ExitCode {
    if let Some(arguments) = assembles(std::env::args_os()) {
        return assembler::run(&arguments).unwrap_or_else(|error| {
            message::error(&format!("cannot assemble: {error}"));
            ExitCode::from(UNUSABLE)
        });
    }
    // A compiler's arguments are its own: `unsnarl cc --version` asks the compiler.
    if let Some((language, arguments)) = wrapped(std::env::args_os().collect()) {
        return cc::run(language, arguments);
    }
    let mut command = CommandLine::parse().command;
    if let Err(error) = find_runs(&mut command) {
        return unusable(&error);
    }
    let result = match command {
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Record(arguments) => record::run(arguments),
        Command::Test(arguments) => test::run(arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Prune(arguments) => prune::run(&arguments),
        Command::Suppress(arguments) => suppress::run(&arguments),
        Command::Lsp(_) => lsp::run(),
        Command::Dap(arguments) => dap::run(arguments.trusting),
        Command::Predict(arguments) => predict::run(arguments),
        Command::Replay(arguments) => replay::run(arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Header => Ok(header::run()),
        Command::Completions { shell } => Ok(completions::run(shell)),
        Command::Man { folder } => man::run(&folder),
        Command::Doctor(arguments) => match &arguments.coverage {
            Some(program) => coverage::run(program, arguments.format),
            None => Ok(doctor::run()),
        },
        // Taken above; clap knows them for the help only.
        Command::Cc { arguments } => return cc::run(Language::C, arguments),
        Command::Cxx { arguments } => return cc::run(Language::Cxx, arguments),
    };
    result.unwrap_or_else(|error| unusable(&error))
}

/// Finds the runs for the commands that only read them.
fn find_runs(command: &mut Command) -> anyhow::Result<()> {
    let place = match command {
        Command::Explain(arguments) => &mut arguments.place,
        Command::Report(arguments) => &mut arguments.place,
        Command::Suppress(arguments) => &mut arguments.place,
        Command::Verify(arguments) => &mut arguments.place,
        // A place may be the name of a run here, and a program is recorded anew.
        Command::Predict(arguments)
            if arguments.place.is_none() && arguments.command.is_empty() =>
        {
            &mut arguments.place
        }
        _ => return Ok(()),
    };
    *place = folder::of_runs(place.take())?;
    Ok(())
}

fn unusable(error: &anyhow::Error) -> ExitCode {
    message::error(&told(error));
    ExitCode::from(UNUSABLE)
}

/// An error with its causes, except for those that it names itself.
fn told(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if told.is_empty() {
            told = cause;
        } else if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::told;
    use anyhow::anyhow;

    #[test]
    fn a_cause_is_named_once() {
        let plain = anyhow!("no space").context("cannot write a");
        assert_eq!(told(&plain), "cannot write a: no space");
        let whole = anyhow!("no space").context("cannot write a: no space; make room");
        assert_eq!(told(&whole), "cannot write a: no space; make room");
    }
}
