//! Starts the compiler with the rewritten command line, in this process's place: exit status,
//! signals and everything it prints are the compiler's own.

use super::{
    build::{self, BuildError},
    compiler::{self, Compiler, CompilerError, Family, Language},
    flags::{self, CommandRefusal},
    model::{self, ModelError},
    noted, response,
};
use crate::runtime_library::{self, CacheError};
use std::{
    ffi::OsString,
    io::{self, Write},
    os::unix::{ffi::OsStrExt, process::CommandExt},
    process::{Command, ExitCode},
};
use tempfile::NamedTempFile;

/// An error that keeps anything from being compiled.
#[derive(Debug, thiserror::Error)]
pub enum WrapperError {
    /// There is no usable compiler.
    #[error(transparent)]
    Compiler(#[from] CompilerError),
    /// The kind of the build is not clear.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The wish for program models is not clear.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The command asks for what recording cannot serve.
    #[error(transparent)]
    Refused(#[from] CommandRefusal),
    /// The runtime could not be put into the cache folder.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The compiler could not be started.
    #[error("cannot start the compiler `{name}`: {error}\n  next: run `unsnarl doctor`")]
    Start {
        /// The compiler.
        name: String,
        /// The cause.
        error: io::Error,
    },
}

/// Length of the longest command line that is passed on unchanged; the kernel's limit is usually 2 MB with the
/// environment.
const LONGEST: usize = 512 * 1024;

/// Compiles and links. Does not return when the compiler could be started in this process's place.
pub fn run(language: Language, mut arguments: Vec<OsString>) -> Result<ExitCode, WrapperError> {
    let build = build::take(&mut arguments)?;
    let (compiler, arguments) = match compiler::named_first(language, &arguments)? {
        Some((compiler, rest)) => (compiler, rest.to_vec()),
        None => (compiler::find(language)?, arguments),
    };
    let expanded = response::expand(arguments.iter().cloned());
    let name = compiler.command.iter().map(|word| word.to_string_lossy());
    noted::note(&name.collect::<Vec<_>>().join(" "), &expanded);
    let left_out = flags::left_out(&expanded);
    if !left_out.is_empty() {
        eprintln!("note: left out for recording: {}", left_out.join(" "));
    }
    let rewritten = flags::rewrite(
        compiler.family,
        build,
        &expanded,
        &runtime_library::parts()?,
    )?;
    // What is passed through keeps its own response files.
    let words = if rewritten == expanded {
        arguments
    } else {
        rewritten
    };
    let done = match with_models(&compiler, &words)? {
        Some(done) => done,
        None => start(&compiler, &words),
    };
    done.map_err(|error| WrapperError::Start {
        name: compiler
            .command
            .iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" "),
        error,
    })
}

/// Compiles by the steps that keep program models, if there are any; does nothing otherwise.
fn with_models(
    compiler: &Compiler,
    words: &[OsString],
) -> Result<Option<io::Result<ExitCode>>, WrapperError> {
    if compiler.family != Family::Clang || !model::is_wanted()? {
        return Ok(None);
    }
    let temporary = match tempfile::Builder::new().prefix("unsnarl-").tempdir() {
        Ok(folder) => folder,
        Err(error) => return Ok(Some(Err(error))),
    };
    let plan = model::plan(words, temporary.path());
    Ok(plan.map(|plan| model::run(compiler, &plan)))
}

fn start(compiler: &Compiler, words: &[OsString]) -> io::Result<ExitCode> {
    let (mut command, file) = prepared(compiler, words)?;
    if file.is_none() {
        return Err(command.exec());
    }
    let status = command.status()?;
    Ok(ExitCode::from(
        status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(1),
    ))
}

/// The compiler with these words, ready to start, and the file that holds them when they are too many for
/// a command line.
pub(super) fn prepared(
    compiler: &Compiler,
    words: &[OsString],
) -> io::Result<(Command, Option<NamedTempFile>)> {
    let (program, first) = compiler
        .command
        .split_first()
        .ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(first);
    let length: usize = words.iter().map(|word| word.as_bytes().len() + 1).sum();
    if length < LONGEST {
        command.args(words);
        return Ok((command, None));
    }
    let mut file = tempfile::Builder::new()
        .prefix("unsnarl-")
        .suffix(".args")
        .tempfile()?;
    file.write_all(&response::quote(words))?;
    let mut argument = OsString::from("@");
    argument.push(file.path());
    command.arg(argument);
    Ok((command, Some(file)))
}
