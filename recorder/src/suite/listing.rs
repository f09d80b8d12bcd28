//! Runs a program that lists tests, unrecorded.

use super::SuiteError;
use crate::launch::Given;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Seek},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};
use unsnarl_trace::shell;

/// Longest time that a listing may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Upper bound for the bytes that are read of each output.
const MOST: u64 = 64 << 20;

/// Output of a program that lists tests.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs a command to its end and returns what it has printed. Its exit status is not looked at: Catch2 returns the number
/// of its tests. The second value is the command as text.
pub(super) fn run(
    command: &[OsString],
    directory: &Path,
    environment: &Given,
) -> Result<(Listing, String), SuiteError> {
    let program = shell::command(command);
    let listing = printed(command, directory, environment).map_err(|error| SuiteError::Start {
        program: program.clone(),
        error,
    })?;
    match listing {
        Some(listing) => Ok((listing, program)),
        None => Err(SuiteError::Silent {
            program,
            time: PATIENCE,
        }),
    }
}

fn printed(
    command: &[OsString],
    directory: &Path,
    environment: &Given,
) -> io::Result<Option<Listing>> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    // Files take any amount without anybody reading.
    let [mut stdout, mut stderr] = [tempfile::tempfile()?, tempfile::tempfile()?];
    let mut prepared = Command::new(program);
    prepared
        .args(arguments)
        .current_dir(directory)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    for (name, value) in environment {
        match value {
            Some(value) => prepared.env(name, value),
            None => prepared.env_remove(name),
        };
    }
    if ended_in_time(prepared.spawn()?)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Listing {
        stdout: text(&mut stdout)?,
        stderr: text(&mut stderr)?,
    }))
}

/// Waits for the end of a child; one that takes too long is ended with all that it has started.
fn ended_in_time(mut child: Child) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() > PATIENCE {
            // It may end at the same time.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
