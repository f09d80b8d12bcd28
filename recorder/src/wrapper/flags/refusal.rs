//! Commands that cannot be served, with the next step.

use super::kept::sanitizers;
use crate::wrapper::{
    arguments::{CommandWord, CompilerCommand, LastStage},
    compiler::Family,
    linker,
};

/// The reason for which a command is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CommandRefusal {
    /// A static executable.
    #[error(
        "`{0}` cannot be recorded: the runtime takes over functions of the shared C library\n  \
         next: link without `{0}`"
    )]
    Static(String),
    /// The program is linked without the C library.
    #[error(
        "`{0}` cannot be recorded: the runtime needs the C library\n  \
         next: link this program with the plain compiler, or without `{0}`"
    )]
    NoLibrary(String),
    /// Another sanitizer whose runtime takes over the same functions.
    #[error(
        "`-fsanitize={0}` and recording exclude each other: both take over memory accesses and malloc\n  \
         next: build without `-fsanitize={0}` for recording"
    )]
    Sanitizer(String),
    /// OpenMP by clang.
    #[error(
        "OpenMP is recorded as gcc compiles it; clang's (`{0}`) calls another library that cannot be recorded\n  \
         next: build with gcc (UNSNARL_CC=gcc, UNSNARL_CXX=g++), or without `{0}`"
    )]
    OpenMp(String),
    /// Another machine.
    #[error(
        "`{0}` makes code for another machine; recording works on x86-64 Linux only\n  next: build without `{0}`"
    )]
    Machine(String),
}

/// Refuses a command with a word that cannot be served.
pub(super) fn refuse(family: Family, command: &CompilerCommand) -> Result<(), CommandRefusal> {
    for word in &command.words {
        let text = word.lossy();
        if family == Family::Clang && (text == "-fopenmp" || text.starts_with("-fopenmp=")) {
            return Err(CommandRefusal::OpenMp(text));
        }
        if matches!(text.as_str(), "-m32" | "-mx32" | "-m16") {
            return Err(CommandRefusal::Machine(text));
        }
        if let Some(target) = target(word).filter(|target| !target.starts_with("x86_64")) {
            return Err(CommandRefusal::Machine(format!("--target={target}")));
        }
        if let Some(other) = sanitizers(&text).into_iter().find(|name| excludes(name)) {
            return Err(CommandRefusal::Sanitizer(other));
        }
        if command.stage == LastStage::Link {
            refuse_link(word, &command.words)?;
        }
    }
    match linker::ends_static(&command.words) {
        Some(word) if command.stage == LastStage::Link => {
            Err(CommandRefusal::Static(format!("-Wl,{word}")))
        }
        _ => Ok(()),
    }
}

/// Refuses a link without the default libraries, unless the command names the C library itself.
fn refuse_link(word: &CommandWord, all: &[CommandWord]) -> Result<(), CommandRefusal> {
    let text = word.lossy();
    let names_libc = || {
        all.iter()
            .any(|word| word.value_of("-l").as_deref() == Some("c"))
    };
    match text.as_str() {
        "-static" | "--static" | "-static-pie" => Err(CommandRefusal::Static(text)),
        "-nostdlib" | "-nodefaultlibs" | "-nolibc" if !names_libc() => {
            Err(CommandRefusal::NoLibrary(text))
        }
        _ => Ok(()),
    }
}

/// The machine that code is made for, if the word names one.
fn target(word: &CommandWord) -> Option<String> {
    if word.is("-target") {
        return word
            .argument
            .as_ref()
            .map(|target| target.to_string_lossy().into_owned());
    }
    word.lossy().strip_prefix("--target=").map(str::to_owned)
}

/// Returns whether a sanitizer takes over the same functions as the runtime.
fn excludes(name: &str) -> bool {
    const OTHERS: [&str; 11] = [
        "address",
        "kernel-address",
        "hwaddress",
        "kernel-hwaddress",
        "pointer-compare",
        "pointer-subtract",
        "leak",
        "memory",
        "memtag",
        "dataflow",
        "fuzzer",
    ];
    OTHERS.contains(&name)
}
