//! The tables in the runtime's archive.

use crate::runtime_library::ARCHIVE;
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, read::archive::ArchiveFile,
};
use std::collections::{BTreeMap, BTreeSet};

/// The way in which a function that waits or synchronizes escapes the recorder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Gap {
    /// It waits in the kernel and keeps the turn.
    KeepsTurn,
    /// It takes locks that are not virtual.
    OwnLock,
    /// It starts threads that are not recorded.
    OwnThreads,
    /// It sends signals that arrive at a step which the recorder does not choose.
    OwnSignals,
    /// It shares with other processes what the recorder keeps in this one.
    OtherProcesses,
}

impl Gap {
    const ALL: [Gap; 5] = [
        Gap::KeepsTurn,
        Gap::OwnLock,
        Gap::OwnThreads,
        Gap::OwnSignals,
        Gap::OtherProcesses,
    ];

    /// The word for it, as in the runtime's table and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Gap::KeepsTurn => "keeps-turn",
            Gap::OwnLock => "own-lock",
            Gap::OwnThreads => "own-threads",
            Gap::OwnSignals => "own-signals",
            Gap::OtherProcesses => "other-processes",
        }
    }

    /// The consequence for a recording.
    #[must_use]
    pub fn consequence(self) -> &'static str {
        match self {
            Gap::KeepsTurn => {
                "waits in the kernel while no other thread runs: a recording hangs when another thread of the program has to end the wait"
            }
            Gap::OwnLock => {
                "takes a lock that the recorder does not see: its order is not recorded, and a thread that finds it taken hangs"
            }
            Gap::OwnThreads => {
                "starts threads that are not recorded: what they do comes at another step in each run"
            }
            Gap::OwnSignals => {
                "sends signals that arrive at another step in each run: a replay may leave the recorded run"
            }
            Gap::OtherProcesses => {
                "names a semaphore that other processes share: they do not see what the recorded program does with it"
            }
        }
    }

    /// The next step for the user.
    #[must_use]
    pub fn next(self) -> &'static str {
        match self {
            Gap::KeepsTurn => {
                "harmless where only the outside ends the wait; otherwise use a condition variable, a pipe or a semaphore of the process in the recorded build (with OpenMP: gcc)"
            }
            Gap::OwnLock => "call the function without the underscores",
            Gap::OwnThreads => "do the work in a thread of the program's own in the recorded build",
            Gap::OwnSignals => "send the signal by pthread_kill, kill or sigqueue",
            Gap::OtherProcesses => {
                "record the processes without each other, or use sem_init where one process is enough"
            }
        }
    }
}

/// An error in the runtime's archive.
#[derive(Debug, thiserror::Error)]
#[error(
    "the runtime's tables cannot be read: {0}\n  next: this is a fault of unsnarl, please report it"
)]
pub struct TableError(String);

impl From<object::Error> for TableError {
    fn from(error: object::Error) -> Self {
        TableError(error.to_string())
    }
}

/// The runtime's knowledge of functions.
#[derive(Debug)]
pub struct RuntimeTable {
    /// Functions that the runtime defines for programs.
    modelled: BTreeSet<String>,
    unmodelled: BTreeMap<String, Gap>,
    /// Beginnings of names, for whole families.
    families: Vec<(String, Gap)>,
    /// All functions of the archive, local ones included: code of the runtime that is linked into programs.
    functions: BTreeSet<String>,
}

/// Beginning of the names of the archive's members that hold the runtime itself. The others are the compiler's.
const OWN_MEMBER: &[u8] = b"unsnarl_runtime";
const SECTION: &str = ".unsnarl_unmodelled";

impl RuntimeTable {
    /// The tables of the runtime that is linked into programs.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn embedded() -> Result<RuntimeTable, TableError> {
        let mut table = RuntimeTable {
            modelled: BTreeSet::new(),
            unmodelled: BTreeMap::new(),
            families: Vec::new(),
            functions: BTreeSet::new(),
        };
        for member in ArchiveFile::parse(ARCHIVE)?.members() {
            let member = member?;
            let data = member.data(ARCHIVE)?;
            // Members without code, such as the compiler's metadata.
            let Ok(file) = object::File::parse(data) else {
                continue;
            };
            table.add(&file, member.name().starts_with(OWN_MEMBER))?;
        }
        match table.modelled.is_empty() || table.unmodelled.is_empty() {
            true => Err(TableError("they are empty".to_owned())),
            false => Ok(table),
        }
    }

    fn add(&mut self, file: &object::File<'_>, is_own: bool) -> Result<(), TableError> {
        let is_code = |symbol: &object::Symbol<'_, '_>| {
            let section = symbol.section_index();
            let section = section.and_then(|index| file.section_by_index(index).ok());
            section.is_some_and(|section| section.kind() == SectionKind::Text)
        };
        for symbol in file.symbols().filter(is_code) {
            let Ok(name) = symbol.name() else { continue };
            self.functions.insert(name.to_owned());
            if is_own && symbol.is_global() && !is_internal(name) {
                self.modelled.insert(name.to_owned());
            }
        }
        if let Some(section) = file.section_by_name(SECTION) {
            let rows = String::from_utf8_lossy(section.data()?).into_owned();
            for row in rows.split('\0').filter(|row| !row.is_empty()) {
                self.add_row(row)?;
            }
        }
        Ok(())
    }

    fn add_row(&mut self, row: &str) -> Result<(), TableError> {
        let unknown = || TableError(format!("unknown row `{row}`"));
        let (class, name) = row.split_once(' ').ok_or_else(unknown)?;
        let gap = Gap::ALL.into_iter().find(|gap| gap.name() == class);
        let gap = gap.ok_or_else(unknown)?;
        match name.strip_suffix('*') {
            Some(beginning) => self.families.push((beginning.to_owned(), gap)),
            None => drop(self.unmodelled.insert(name.to_owned(), gap)),
        }
        Ok(())
    }

    /// Returns whether the runtime stands in for this function.
    #[must_use]
    pub fn is_modelled(&self, name: &str) -> bool {
        self.modelled.contains(name)
    }

    /// The gap that a call of this function is, if the runtime knows of one.
    #[must_use]
    pub fn gap(&self, name: &str) -> Option<Gap> {
        let of_family = || {
            let mut families = self.families.iter();
            let found = families.find(|(beginning, _)| name.starts_with(beginning.as_str()));
            found.map(|(_, gap)| *gap)
        };
        let known = self.unmodelled.get(name).copied();
        known.or_else(of_family).filter(|_| !self.is_modelled(name))
    }

    /// Returns whether this is the name of a function of the runtime.
    pub(super) fn is_of_runtime(&self, name: &str) -> bool {
        self.functions.contains(name)
    }
}

/// Returns whether a name is one that C++ compilers make of a function's name and types.
#[must_use]
pub fn is_cpp(name: &str) -> bool {
    name.starts_with("_Z")
}

/// Returns whether a function is the compiler's or the runtime's own and no function of a library.
pub(super) fn is_internal(name: &str) -> bool {
    const BEGINNINGS: [&str; 9] = [
        "unsnarl_",
        "__tsan_",
        "__sanitizer_",
        "__ubsan_",
        "rust_",
        "_R",
        "_ITM_",
        "_ZGT",
        "__gmon_start__",
    ];
    let is_rust = name.starts_with("_ZN") && name.contains("unsnarl_");
    is_rust
        || BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_in_one_of_the_tables() {
        let table = RuntimeTable::embedded().unwrap();
        for name in [
            "pthread_mutex_lock",
            "nanosleep",
            "GOMP_barrier",
            "dlopen",
            "syscall",
        ] {
            assert!(
                table.is_modelled(name) && table.gap(name).is_none(),
                "{name}"
            );
        }
        for (name, gap) in [
            ("msgrcv", Gap::KeepsTurn),
            ("GOMP_of_tomorrow", Gap::KeepsTurn),
            ("__pthread_mutex_lock", Gap::OwnLock),
        ] {
            assert_eq!(table.gap(name), Some(gap), "{name}");
        }
        assert_eq!(table.gap("strtold"), None);
        let both = table
            .unmodelled
            .keys()
            .filter(|name| table.is_modelled(name));
        assert_eq!(
            both.count(),
            0,
            "an entry for a function takes it out of the table"
        );
    }
}
