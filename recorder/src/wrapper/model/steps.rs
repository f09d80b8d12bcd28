//! Runs the steps of a [`Plan`].

use super::{
    plan::{CommandPlan, SourceSteps},
    points,
};
use crate::{
    program,
    wrapper::{compiler::Compiler, run::prepared},
};
use rustix::fs::{MemfdFlags, memfd_create};
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::{fd::AsRawFd, unix::process::ExitStatusExt},
    path::Path,
    process::{ExitCode, ExitStatus, Stdio},
};
use unsnarl_trace::program as model;

/// Compiles each source in two steps, then links. As with clang's own driver a source with errors does not keep the
/// others from being compiled.
///
/// # Errors
/// Fails if the compiler cannot be started.
pub fn run(compiler: &Compiler, plan: &CommandPlan) -> io::Result<ExitCode> {
    let mut failed = None;
    for source in &plan.sources {
        let status = compile(compiler, source)?;
        if !status.success() {
            failed = failed.or(Some(status));
        }
    }
    match (failed, &plan.link) {
        (Some(status), _) => Ok(code(status)),
        (None, Some(words)) => {
            let (mut command, _words) = prepared(compiler, words)?;
            Ok(code(command.status()?))
        }
        (None, None) => Ok(ExitCode::SUCCESS),
    }
}

/// The exit status that a shell would report: a signal counts from 128.
fn code(status: ExitStatus) -> ExitCode {
    let signal = || Some(status.signal()?.saturating_add(128));
    let code = status.code().or_else(signal);
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn compile(compiler: &Compiler, source: &SourceSteps) -> io::Result<ExitStatus> {
    let input = StandardInput::of(source)?;
    let (mut command, _words) = prepared(compiler, &source.to_text)?;
    let text = command
        .stdin(input.again()?)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?
        .wait_with_output()?;
    if !text.status.success() {
        forget(&source.object)?;
        return Ok(text.status);
    }
    let why = match with_model(compiler, source, text.stdout) {
        Ok(()) => return Ok(text.status),
        Err(why) => why,
    };
    let (mut command, _words) = prepared(compiler, &source.plain)?;
    let status = command.stdin(input.again()?).status()?;
    if status.success() {
        eprintln!(
            "unsnarl: warning: {}: no program model is kept: {why} (UNSNARL_MODEL=off builds without models)",
            source.file.to_string_lossy()
        );
    }
    Ok(status)
}

/// Removes the object of an earlier compilation, as clang does for a source with errors.
fn forget(object: &Path) -> io::Result<()> {
    match fs::symlink_metadata(object) {
        Ok(data) if data.is_file() => fs::remove_file(object),
        _ => Ok(()),
    }
}

/// Makes the object with numbers and model; the error is one line.
fn with_model(compiler: &Compiler, source: &SourceSteps, text: Vec<u8>) -> Result<(), String> {
    let text = String::from_utf8(text).map_err(|_| "clang's text is not UTF-8".to_owned())?;
    let unit = program::condense(&text).map_err(|error| one_line(&error))?;
    let blob = model::encode(&unit).map_err(|error| one_line(&error))?;
    let name = model::hash(&blob).unwrap_or_default().to_string();
    drop(unit);
    let file = in_memory(&blob).map_err(|error| one_line(&error))?;
    // The compiler inherits it under the same number.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let text = points::number(&text, &path, &name).map_err(|error| one_line(&error))?;
    object(compiler, &source.to_object, &text)
}

fn one_line(error: &impl ToString) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// A file in memory without a name, which programs that are started inherit.
fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("unsnarl-model", MemfdFlags::empty())?);
    file.write_all(bytes)?;
    Ok(file)
}

fn object(compiler: &Compiler, words: &[OsString], text: &str) -> Result<(), String> {
    let start = || -> io::Result<_> {
        let (mut command, words) = prepared(compiler, words)?;
        let mut child = command
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // It reads all of the text before it has anything to say about it.
        let sent = child
            .stdin
            .take()
            .map(|mut to| to.write_all(text.as_bytes()));
        let output = child.wait_with_output()?;
        drop(words);
        Ok((sent, output))
    };
    let (sent, output) = start().map_err(|error| one_line(&error))?;
    if !output.status.success() || sent.is_none_or(|sent| sent.is_err()) {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!(
            "clang does not compile its own text: {}",
            said.lines().next().unwrap_or("it says nothing")
        ));
    }
    io::stderr()
        .write_all(&output.stderr)
        .map_err(|error| one_line(&error))
}

/// A compiler's standard input.
enum StandardInput {
    /// This program's own standard input.
    Inherited,
    /// The source, read from standard input: it may be needed twice.
    Read(File),
}

impl StandardInput {
    fn of(source: &SourceSteps) -> io::Result<StandardInput> {
        if source.file != "-" {
            return Ok(StandardInput::Inherited);
        }
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes)?;
        let mut file = tempfile::tempfile()?;
        file.write_all(&bytes)?;
        Ok(StandardInput::Read(file))
    }

    fn again(&self) -> io::Result<Stdio> {
        match self {
            Self::Inherited => Ok(Stdio::inherit()),
            Self::Read(file) => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                Ok(file.into())
            }
        }
    }
}
