//! Parent programs: a script, or another program that is not instrumented, that starts the program to record.
//!
//! Before the first run the parent is run once without recording anything, and each instrumented program that comes of it
//! notes itself. In the runs, the first process of the chosen one has the log.

use super::{FinishedRun, Given, LaunchError, Output, Request, launch};
use crate::{
    assemble::{MOST, hash_of},
    log::{Claimant, Limits, Log, LogConfig},
    permit::Permit,
    target::{self, TargetError},
};
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};
use unsnarl_trace::{files::read_regular, raw::RawMode};

/// A script or another program that starts the program that is recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParentProgram {
    /// Its file.
    pub path: PathBuf,
    /// SHA-256 of the file as it is now.
    pub sha256: String,
}

/// An instrumented program that a parent has started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartedProgram {
    /// Its file, as the kernel names it.
    pub path: PathBuf,
    /// Number of processes that have executed it.
    pub starts: usize,
}

/// An error that keeps the children of a parent program from being found.
#[derive(Debug, thiserror::Error)]
pub enum ChildrenError {
    /// The parent cannot be started or watched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// There is no memory for the log in which they note themselves.
    #[error(
        "no memory that programs can share: {0}\n  next: unsnarl doctor says which limits matter"
    )]
    Log(io::Error),
    /// More programs were started than can be noted.
    #[error("{0} starts more programs than can be listed\n  next: record a smaller part of it")]
    TooMany(String),
}

impl ParentProgram {
    /// Finds the program that a command names.
    ///
    /// # Errors
    /// There is none, it is not executable, or it cannot be read.
    pub fn find(name: &OsStr, directory: &Path) -> Result<ParentProgram, TargetError> {
        let path = target::find(name, directory)?;
        ParentProgram::read(&path).map_err(|cause| TargetError::Unreadable(cause_of(&path, cause)))
    }

    /// The program in this file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> io::Result<ParentProgram> {
        Ok(ParentProgram {
            sha256: hash_of(&read_regular(path, MOST)?),
            path: path.to_owned(),
        })
    }

    /// The file's name, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

fn cause_of(path: &Path, cause: io::Error) -> crate::assemble::ProgramError {
    crate::assemble::ProgramError::Read {
        path: path.to_owned(),
        cause,
    }
}

/// A command that starts instrumented programs, to be run once without recording.
pub struct Trial<'a> {
    /// The program that the command names.
    pub parent: &'a ParentProgram,
    /// The name that it is called by, and its arguments.
    pub command: &'a [OsString],
    /// Working directory.
    pub directory: &'a Path,
    /// File for standard input; `None` for an empty one.
    pub stdin: Option<&'a Path>,
    /// Time that it may take.
    pub timeout: Duration,
}

impl Trial<'_> {
    /// Runs the command and returns its end with the instrumented programs that it has started, in the order of their
    /// first starts.
    ///
    /// # Errors
    /// It cannot be run, or has started more programs than can be noted.
    pub fn run(
        &self,
        stop: &AtomicBool,
    ) -> Result<(FinishedRun, Vec<StartedProgram>), ChildrenError> {
        let log = Log::create(&LogConfig {
            mode: RawMode::Off,
            claimant: Claimant::Listed,
            limits: Limits {
                events: 1,
                ..Limits::default()
            },
            ..LogConfig::default()
        });
        let log = log.map_err(ChildrenError::Log)?;
        let finished = launch(&self.request(), &log, stop)?;
        match log.listed() {
            (programs, true) => Ok((finished, counted(programs))),
            (_, false) => Err(ChildrenError::TooMany(self.parent.name())),
        }
    }

    fn request(&self) -> Request {
        Request {
            program: self.parent.path.clone(),
            parent: Some(self.parent.clone()),
            command: self.command.to_vec(),
            directory: self.directory.to_owned(),
            environment: Given::new(),
            stack: None,
            stdin: self.stdin.map(Path::to_owned),
            output: Output::Kept,
            timeout: self.timeout,
            permit: Permit::of_parent(self.parent, self.command, self.directory),
        }
    }
}

/// Counts the processes of each program. A process that was replaced (`exec`) counts for both programs.
fn counted(programs: Vec<(u32, PathBuf)>) -> Vec<StartedProgram> {
    let mut places: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut counted: Vec<StartedProgram> = Vec::new();
    for (_, path) in programs {
        let place = *places.entry(path.clone()).or_insert(counted.len());
        match counted.get_mut(place) {
            Some(program) => program.starts += 1,
            None => counted.push(StartedProgram { path, starts: 1 }),
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_counted_in_the_order_of_their_first_start() {
        let listed = [(1, "/b"), (2, "/a"), (3, "/b")];
        let listed = listed.map(|(process, path)| (process, PathBuf::from(path)));
        let counted: Vec<_> = counted(listed.to_vec())
            .into_iter()
            .map(|program| (program.path, program.starts))
            .collect();
        assert_eq!(counted, [("/b".into(), 2), ("/a".into(), 1)]);
    }
}
