//! `unsnarl header`: prints the header for programs.

use std::process::ExitCode;
use unsnarl_recorder::runtime_library;

/// Prints it to standard output.
pub fn run() -> ExitCode {
    out!("{}", runtime_library::HEADER);
    ExitCode::SUCCESS
}
