//! The folders that come and go: those of the workspace, and those that are found because runs were recorded in them.

use super::MainLoop;
use crate::{
    event::DocumentEvent,
    host::StateChange,
    marks::FileMarks,
    outgoing::Outgoing,
    places::{Places, SearchScope},
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

impl MainLoop {
    /// Forgets a folder.
    pub(super) fn drop_folder(&mut self, folder: PathBuf) {
        self.watcher.forget(&folder);
        self.queue.drop_folder(&folder);
        self.named.remove(&folder);
        self.host.apply(StateChange::RemoveFolder(folder));
    }

    /// Begins to watch and to analyse a folder that has come.
    pub(super) fn tend_folder(&mut self, folder: PathBuf) {
        let state = self.host.snapshot();
        let mut folders = state.folders.iter().filter(|one| one.root.path == folder);
        self.complain(
            folders
                .find_map(|one| one.suppressions.clone().err())
                .into_iter()
                .collect(),
        );
        self.watcher.watch_runs(&folder, &self.runs_of(&folder));
        self.queue.request(folder);
    }

    /// Takes over an event about a document; where it was opened runs may have been recorded.
    pub(super) fn change_document(&mut self, event: DocumentEvent) {
        let opened = match &event {
            DocumentEvent::Opened { path, .. } => {
                // Editors drop the marks of a file that they read again.
                let is_again = !self.opened.insert(path.clone());
                if let Some(marks) = self.published.get_mut(path).filter(|_| is_again) {
                    *marks = FileMarks::default();
                }
                path.parent().map(Path::to_owned)
            }
            _ => None,
        };
        self.host.apply(StateChange::Document(event));
        if opened.is_some_and(|folder| self.search.opened.insert(folder)) {
            self.search_again();
        }
    }

    /// Looks again for folders in which runs were recorded.
    pub(super) fn search_again(&mut self) {
        let state = self.host.snapshot();
        let of_workspace = state.folders.iter().filter(|folder| folder.is_of_workspace);
        let workspace = of_workspace.map(|folder| folder.root.path.clone());
        self.search
            .begin(workspace.collect(), state.config.runs_folder.clone());
    }

    /// Takes over the result of a search: folders that it does not contain any more are dropped.
    pub(super) fn take_places(&mut self, scope: &SearchScope, places: Places) {
        if !self.search.is_answer(scope) {
            return;
        }
        let state = self.host.snapshot();
        let found = state.folders.iter().filter(|one| !one.is_of_workspace);
        let known: BTreeSet<PathBuf> = found.map(|one| one.root.path.clone()).collect();
        for gone in known.difference(&places.corpora) {
            self.drop_folder(gone.clone());
        }
        for new in places.corpora.difference(&known) {
            self.host.apply(StateChange::FindFolder(new.clone()));
            self.tend_folder(new.clone());
        }
        let changed = known != places.corpora || *state.tree != places.tree;
        self.host.apply(StateChange::Tree(places.tree.clone()));
        for text in self.search.name_cut(&places) {
            self.tell(Outgoing::Info(text));
        }
        if self.watcher.watch_places(places, scope.runs.clone()) {
            self.search_again();
        }
        if changed {
            self.tell_who_may_run();
            self.publish();
        }
    }
}
