//! `unsnarl completions`: completions for a shell.

use crate::arguments::CommandLine;
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::process::ExitCode;

/// Prints the shell's script.
pub fn run(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    generate(shell, &mut CommandLine::command(), "unsnarl", &mut script);
    out!("{}", String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
