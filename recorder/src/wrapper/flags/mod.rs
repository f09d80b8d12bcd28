//! Rewrites a compiler's command line so that the program can be recorded.
//!
//! [`lists`] has each flag with its reason, and the flags left out on purpose; [`refusal`] rejects commands that
//! cannot be served; this module applies them. Rewriting is pure: nothing is started, read or written.
//!
//! Compiling and linking in one command is the delicate case: `-fsanitize=thread` has to reach the
//! compiler proper but not the driver, which would link the sanitizer's own runtime. For clang
//! `-Xclang` does that; for gcc a specs file that appends it to the compiler proper's options.

mod kept;
pub mod lists;
pub mod refusal;
#[cfg(test)]
mod tests;

use super::{
    arguments::{self, CompilerCommand, LastStage},
    assembler,
    build::BuildKind,
    compiler::Family,
    linker,
};
use kept::kept;
use lists::{COMPILE, COMPILE_PATH, Flag, LIBGOMP, LINK, LINK_PATH};
use refusal::refuse;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

pub use kept::left_out;
pub use lists::{EXPORTED, SPECS, STRINGS};
pub use refusal::CommandRefusal;

/// Files that the rewritten command refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandParts {
    /// The runtime, a static library.
    pub runtime: PathBuf,
    /// gcc's specs file: [`SPECS`].
    pub specs: PathBuf,
    /// The linker's list of symbols to export: [`EXPORTED`].
    pub exported: PathBuf,
    /// The folder with the header `unsnarl.h`.
    pub include: PathBuf,
    /// The folder with the stand-in for the assembler, with a slash at its end.
    pub tools: PathBuf,
}

/// The command line that makes the same output, ready for recording.
pub fn rewrite(
    family: Family,
    build: BuildKind,
    given: &[OsString],
    parts: &CommandParts,
) -> Result<Vec<OsString>, CommandRefusal> {
    let command = arguments::read(given);
    match command.stage {
        LastStage::Question => return Ok(given.to_vec()),
        LastStage::NoCode => return Ok([given, &including(parts)].concat()),
        _ => {}
    }
    refuse(family, &command)?;
    let mut words = kept(&command);
    if command.stage == LastStage::LinkShared {
        words = linker::without_ban_on_undefined(words);
    }
    if command.compiles {
        words.extend(including(parts));
        match build {
            BuildKind::Exact => {
                if command.compiles_cpp {
                    words.extend(["-include", STRINGS].map(OsString::from));
                }
                add(&mut words, family, &COMPILE);
                words.extend(instrument(family, command.stage, parts));
            }
            BuildKind::Path => {
                add(&mut words, family, &COMPILE_PATH);
                words.push(with("-B", &parts.tools));
                if is_for_library(&command) {
                    words.push(format!("-Wa,--defsym,{}", assembler::SHARED).into());
                }
            }
        }
    }
    if command.stage == LastStage::Link {
        if command.language_forced {
            words.extend(["-x".into(), "none".into()]);
        }
        words.push(parts.runtime.clone().into_os_string());
        words.extend(["-Xlinker".into(), with("--dynamic-list=", &parts.exported)]);
        add(&mut words, family, &LINK);
        if family == Family::Gcc && command.words.iter().any(|word| word.is("-fopenmp")) {
            words.extend(LIBGOMP.map(OsString::from));
        }
        if build == BuildKind::Path {
            add(&mut words, family, &LINK_PATH);
        }
    }
    Ok(words)
}

/// Lets `#include <unsnarl.h>` find the header, behind the folders of the user's own.
fn including(parts: &CommandParts) -> [OsString; 2] {
    ["-idirafter".into(), parts.include.clone().into_os_string()]
}

/// Returns whether the code may end up in a shared library.
fn is_for_library(command: &CompilerCommand) -> bool {
    const MODELS: [&str; 8] = [
        "-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-PIC", "-fno-pic", "-fno-PIE", "-fno-pie",
    ];
    let mut models = command
        .words
        .iter()
        .rev()
        .filter(|word| word.is_one_of(&MODELS));
    models
        .next()
        .is_some_and(|word| word.is_one_of(&["-fPIC", "-fpic"]))
        || command.stage == LastStage::LinkShared
}

fn add(words: &mut Vec<OsString>, family: Family, flags: &[Flag]) {
    let wanted = flags
        .iter()
        .filter(|flag| flag.family.is_none_or(|only| only == family));
    words.extend(wanted.flat_map(|flag| flag.words).map(OsString::from));
}

/// `-fsanitize=thread` for the compiler proper. Where nothing is linked the plain flag suffices, and tells compiler
/// caches what is going on.
fn instrument(family: Family, stage: LastStage, parts: &CommandParts) -> Vec<OsString> {
    match (family, stage) {
        (_, LastStage::Compile) => vec!["-fsanitize=thread".into()],
        (Family::Clang, _) => vec!["-Xclang".into(), "-fsanitize=thread".into()],
        (Family::Gcc, _) => vec![with("-specs=", &parts.specs)],
    }
}

fn with(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}
