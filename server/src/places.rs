//! Search for the folders in which runs were recorded: in the workspace, in its build folders, and above opened files.
//!
//! The search is bounded, so that a workspace of any size costs little: what it leaves out is found once a file beside
//! or below such a folder is opened. It only looks; nothing that a folder contains decides more than whether it is one.

mod above;
mod below;
mod finder;
mod search;

use above::above;
use below::below;
pub use finder::{Finder, SearchScope};
pub use search::RunSearch;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders with a run folder.
    pub corpora: BTreeSet<PathBuf>,
    /// Folders in which a new subfolder may be, or come to hold, a run folder.
    pub tree: BTreeSet<PathBuf>,
    /// Folders in which only the run folder itself is of interest.
    pub ways: BTreeSet<PathBuf>,
    /// Workspace folders of which only a part was looked at.
    pub cut: BTreeSet<PathBuf>,
}

impl Places {
    /// Adds the results of another search.
    pub fn extend(&mut self, other: Places) {
        self.corpora.extend(other.corpora);
        self.tree.extend(other.tree);
        self.ways.extend(other.ways);
        self.cut.extend(other.cut);
    }

    /// Notes whether a folder has the run folder `runs`; returns whether it has. A part of the way to it that exists
    /// has to be watched: the rest may come later.
    fn note(&mut self, folder: &Path, runs: &Path) -> bool {
        if folder.join(runs).is_dir() {
            self.corpora.insert(folder.to_owned());
            return true;
        }
        let part_ways = runs.ancestors().skip(1);
        let part_ways = part_ways.filter(|part| !part.as_os_str().is_empty());
        let there = part_ways
            .map(|part| folder.join(part))
            .filter(|way| way.is_dir());
        self.ways.extend(there);
        false
    }
}
