//! The command that starts a program, from the beginning or as a server of copies.

use super::Request;
use std::{
    env,
    ffi::OsStr,
    os::{
        fd::{AsFd, AsRawFd},
        unix::process::CommandExt,
    },
    process::Command,
};
use unsnarl_trace::raw::FD_VARIABLE;

/// The kernel puts arguments and environment above the stack of `main` as one block of bytes; its length
/// is made a multiple of this, so that the arguments lie the same way to words and cache lines however
/// long the environment is: a read of several bytes of them is cut into the same pieces in every run.
const BLOCK: usize = 64;

/// The program with its arguments in its directory, in a process group of its own; the number of the
/// descriptor stands in its environment.
pub fn command(request: &Request, descriptor: impl AsFd) -> Command {
    let mut command = Command::new(&request.program);
    if let Some((name, arguments)) = request.command.split_first() {
        command.arg0(name).args(arguments);
    }
    command.current_dir(&request.directory).process_group(0);
    let number = descriptor.as_fd().as_raw_fd().to_string();
    let name = FD_VARIABLE.to_string_lossy();
    let short = block(request, &name) + number.len();
    let width = number.len() + short.next_multiple_of(BLOCK) - short;
    command.env(name.as_ref(), format!("{number:0>width$}"));
    command
}

/// Bytes of the block when the variable of this name is empty.
fn block(request: &Request, name: &str) -> usize {
    let variables = env::vars_os().filter(|(key, _)| key != name);
    let variables: usize = variables
        .map(|(key, value)| key.len() + "=".len() + ended(&value))
        .sum();
    let words: usize = request.command.iter().map(|word| ended(word)).sum();
    let own = name.len() + "=".len() + ended(OsStr::new(""));
    variables + own + words + ended(request.program.as_os_str())
}

/// Length with the zero at the end.
fn ended(text: &OsStr) -> usize {
    text.len() + 1
}
