//! The functions that the recorder models, according to the runtime itself, and what that means for a program.
//!
//! The runtime's archive has all that is said here: its object defines the functions that it stands in for, and holds a
//! table of those that wait or synchronize and that it does not stand in for (`runtime/src/unmodelled.rs`). Nothing is
//! executed but the loader, which names the libraries.

mod calls;
mod glib;
mod libraries;
mod own_locks;
mod table;

pub(crate) use own_locks::libraries_with_locks;
pub use table::{Gap, RuntimeTable, TableError, is_cpp};

use self::{calls::ProgramCalls, libraries::libraries};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

/// The calls of a program and its libraries, by what the recorder makes of them.
#[derive(Debug)]
pub struct CallCoverage {
    /// `true` if the program was built for recording.
    pub is_instrumented: bool,
    /// `true` if its own calls could be told from the runtime's, which needs a table of symbols.
    pub is_exact: bool,
    /// The program, then the libraries that it loads at its start, without those that make up the C library.
    pub parts: Vec<PartCoverage>,
}

/// The calls of one file.
#[derive(Debug)]
pub struct PartCoverage {
    /// The file.
    pub path: PathBuf,
    /// Functions that the recorder models.
    pub modelled: BTreeSet<String>,
    /// Functions that pass through: they neither wait for another thread nor order threads.
    pub passed: BTreeSet<String>,
    /// Functions that wait or synchronize and are not modelled.
    pub gaps: BTreeMap<String, Gap>,
}

/// An error that keeps the calls of a program from being examined.
#[derive(Debug, thiserror::Error)]
pub enum CoverageError {
    /// The file cannot be read.
    #[error("cannot read {path}: {error}\n  next: check the name")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The file is no program of this machine.
    #[error("{0} is no ELF program or library\n  next: name the program that was built")]
    NotElf(PathBuf),
    /// The runtime's own tables cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl CallCoverage {
    /// Examines a program and the libraries that it loads at its start.
    ///
    /// # Errors
    /// The program cannot be read.
    pub fn of(program: &Path) -> Result<CallCoverage, CoverageError> {
        let table = RuntimeTable::embedded()?;
        let calls = ProgramCalls::of(program, &table)?;
        let mut parts = vec![part(program, calls.names, &table)];
        for library in libraries(program) {
            // One that vanishes meanwhile, or that only the loader understands, makes no calls that could be told.
            let Ok(calls) = ProgramCalls::of(&library, &table) else {
                continue;
            };
            parts.push(part(&library, calls.names, &table));
        }
        Ok(CallCoverage {
            is_instrumented: calls.is_instrumented,
            is_exact: calls.is_exact,
            parts,
        })
    }

    /// Returns whether nothing that waits or synchronizes is left to the C library.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.parts.iter().all(|part| part.gaps.is_empty())
    }
}

fn part(path: &Path, names: BTreeSet<String>, table: &RuntimeTable) -> PartCoverage {
    let mut coverage = PartCoverage {
        path: path.to_owned(),
        modelled: BTreeSet::new(),
        passed: BTreeSet::new(),
        gaps: BTreeMap::new(),
    };
    for name in names {
        match table.gap(&name) {
            _ if table.is_modelled(&name) => drop(coverage.modelled.insert(name)),
            Some(gap) => drop(coverage.gaps.insert(name, gap)),
            None => drop(coverage.passed.insert(name)),
        }
    }
    coverage
}
