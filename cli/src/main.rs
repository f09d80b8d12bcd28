//! The one binary: compile for recording, record, explain, replay, serve editors.
//!
//! One file per command. What it prints for reading goes to standard output, everything about the
//! work itself (progress, warnings, errors) to standard error.

mod arguments;
mod cc;
mod doctor;
mod explain;
mod gdb;
mod load;
mod lsp;
mod message;
mod propose;
mod record;
mod replay;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;
use unsnarl_recorder::wrapper::Language;

/// Usage, or something that cannot be recorded, read or served.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    // A compiler's arguments are its own: `unsnarl cc --version` asks the compiler.
    let mut words = std::env::args_os().skip(1);
    let wrapped = match words.next() {
        Some(word) if word == "cc" => Some(Language::C),
        Some(word) if word == "c++" => Some(Language::Cxx),
        _ => None,
    };
    if let Some(language) = wrapped {
        return cc::run(language, words.collect());
    }
    let result = match Arguments::parse().command {
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Record(arguments) => record::run(arguments),
        Command::Lsp(_) => lsp::run(),
        Command::Replay(arguments) => replay::run(arguments),
        Command::Doctor => Ok(doctor::run()),
        // Taken above; clap knows them for the help only.
        Command::Cc { arguments } => return cc::run(Language::C, arguments),
        Command::Cxx { arguments } => return cc::run(Language::Cxx, arguments),
    };
    result.unwrap_or_else(|error| {
        message::error(&format!("{error:#}"));
        ExitCode::from(UNUSABLE)
    })
}
