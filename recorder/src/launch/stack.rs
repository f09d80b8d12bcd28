//! The limit of the stack. It decides where the kernel puts libraries, and how large the stacks of threads are: under
//! another limit, a program that computes with addresses is another program.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{os::unix::process::CommandExt, process::Command};

/// The usual limit, which is not noted.
const USUAL: u64 = 8 << 20;
/// No limit.
const NONE: u64 = u64::MAX;

/// The limit for programs that are started now, in bytes; `None` for the usual one.
pub fn noted() -> Option<u64> {
    Some(own()).filter(|limit| *limit != USUAL)
}

/// The noted limit as a number.
pub fn of_note(noted: Option<u64>) -> u64 {
    noted.unwrap_or(USUAL)
}

fn own() -> u64 {
    getrlimit(Resource::Stack).current.unwrap_or(NONE)
}

/// The limit as `ulimit -s` wants it.
pub fn in_words(limit: u64) -> String {
    match limit {
        NONE => "unlimited".to_owned(),
        limit => (limit >> 10).to_string(),
    }
}

/// Starts a program with another stack limit than this process has, as far as the hard limit allows.
pub fn set(command: &mut Command, wanted: Option<u64>) {
    let Some(wanted) = wanted.filter(|wanted| *wanted != own()) else {
        return;
    };
    let maximum = getrlimit(Resource::Stack).maximum;
    let current = wanted.min(maximum.unwrap_or(NONE));
    let limit = Rlimit {
        current: (current != NONE).then_some(current),
        maximum,
    };
    // SAFETY: makes one system call in the child.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(Resource::Stack, limit)?));
    }
}
