//! The search that is under way, as the main loop knows it.

use super::{Finder, Places, SearchScope};
use std::{collections::BTreeSet, path::PathBuf};

/// The state of the search for run folders.
#[derive(Debug)]
pub struct RunSearch {
    finder: Finder,
    /// Folders of files that were opened in this session.
    pub opened: BTreeSet<PathBuf>,
    /// The newest search.
    newest: SearchScope,
    /// `true` once its answer has come.
    is_answered: bool,
    /// Workspace folders that were reported as too large.
    cut: BTreeSet<PathBuf>,
}

impl RunSearch {
    /// No search yet.
    pub fn new(finder: Finder) -> RunSearch {
        RunSearch {
            finder,
            opened: BTreeSet::new(),
            newest: SearchScope::default(),
            is_answered: true,
            cut: BTreeSet::new(),
        }
    }

    /// Begins a search; the answer to an earlier one with other starting points is of no use any more.
    pub fn begin(&mut self, workspace: Vec<PathBuf>, runs: PathBuf) {
        self.newest = SearchScope {
            number: self.newest.number + 1,
            workspace,
            opened: self.opened.clone(),
            runs,
        };
        self.is_answered = false;
        self.finder.look(self.newest.clone());
    }

    /// Notes an answer. Returns whether it is of use: it may be older than the newest search, which under a stream of
    /// changes would never be answered, but not from other starting points.
    pub fn is_answer(&mut self, scope: &SearchScope) -> bool {
        self.is_answered |= scope.number == self.newest.number;
        let number = self.newest.number;
        SearchScope {
            number,
            ..scope.clone()
        } == self.newest
    }

    /// Returns whether the newest search has no answer yet.
    pub fn is_under_way(&self) -> bool {
        !self.is_answered
    }

    /// Texts about workspace folders that are too large to be looked at as a whole, each once.
    pub fn name_cut(&mut self, places: &Places) -> Vec<String> {
        let new: Vec<PathBuf> = places.cut.difference(&self.cut).cloned().collect();
        self.cut.extend(new.iter().cloned());
        let text = |folder: PathBuf| {
            format!(
                "{} has too many folders to look for runs in all of them; runs in a folder that is left out are found \
                 once a file in it or below it is opened",
                folder.display()
            )
        };
        new.into_iter().map(text).collect()
    }
}
