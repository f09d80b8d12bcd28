//! Watches run folders that may not exist yet, folders that they may come to, and the source files that carry marks.
//!
//! Each folder on the way from the workspace folder to the run folder is watched by itself, so that the
//! run folder is noticed when it comes, goes and comes again. An event is only a reason to look: what
//! is there is read from the folder, never from the events.

use crate::{
    event::{DiskEvent, HostEvent},
    places::Places,
};
use notify::{
    EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc::Sender},
};

/// The watched folders and files, with the purpose of each.
#[derive(Debug, Default)]
struct Targets {
    /// Run folder of each workspace folder.
    runs: BTreeMap<PathBuf, PathBuf>,
    sources: BTreeSet<PathBuf>,
    /// Folders in which run folders may come.
    places: Places,
    /// Relative path of run folders.
    wanted: PathBuf,
    /// `true` if the last report of the system was a failure.
    is_failing: bool,
}

/// The watcher; it stops when dropped.
#[derive(Debug)]
pub struct FolderWatcher {
    inner: Option<RecommendedWatcher>,
    targets: Arc<Mutex<Targets>>,
    watched: BTreeSet<PathBuf>,
    /// Folders that cannot be watched, each with the reason.
    failed: BTreeMap<PathBuf, String>,
    events: Sender<HostEvent>,
}

impl FolderWatcher {
    /// A watcher of nothing yet, which reports to `events`.
    pub fn new(events: Sender<HostEvent>) -> FolderWatcher {
        let targets = Arc::new(Mutex::new(Targets::default()));
        let handler = {
            let (targets, events) = (targets.clone(), events.clone());
            move |event| report(&targets, &events, event)
        };
        let inner = match notify::recommended_watcher(handler) {
            Ok(inner) => Some(inner),
            Err(error) => {
                lost(&events, &format!("cannot watch any folder: {error}"));
                None
            }
        };
        FolderWatcher {
            inner,
            targets,
            watched: BTreeSet::new(),
            failed: BTreeMap::new(),
            events,
        }
    }

    /// Watches the run folder of a workspace folder from now on, wherever folders exist on the way to it.
    pub fn watch_runs(&mut self, root: &Path, runs: &Path) {
        self.with_targets(|targets| targets.runs.insert(root.to_owned(), runs.to_owned()));
        self.rewatch(root);
    }

    /// Forgets a workspace folder.
    pub fn forget(&mut self, root: &Path) {
        let runs = self.with_targets(|targets| targets.runs.remove(root));
        for folder in runs.iter().flat_map(|runs| way(root, runs)) {
            self.unwatch(&folder);
        }
        self.watch_again_what_others_need();
    }

    /// Watches anew after a folder on the way came or went: a watch belongs to the folder that was there
    /// when it was set, not to its name.
    pub fn rewatch(&mut self, root: &Path) {
        let runs = self.with_targets(|targets| targets.runs.get(root).cloned());
        for folder in runs.iter().flat_map(|runs| way(root, runs)) {
            if folder != root || !self.watched.contains(root) {
                self.unwatch(&folder);
                self.watch(&folder);
            }
        }
    }

    /// Watches these source files, by their folders, instead of the previous ones.
    pub fn watch_sources(&mut self, files: BTreeSet<PathBuf>) {
        let changed = self.with_targets(|targets| {
            let changed = targets.sources != files;
            targets.sources = files;
            changed
        });
        if changed {
            self.watch_again_what_others_need();
        }
    }

    /// Watches folders in which run folders `wanted` may come, instead of the previous ones. Returns whether some are
    /// new: a run folder that came before the watch was missed.
    pub fn watch_places(&mut self, places: Places, wanted: PathBuf) -> bool {
        let is_new = self.with_targets(|targets| {
            let known = |folder: &PathBuf| {
                targets.places.tree.contains(folder) || targets.places.ways.contains(folder)
            };
            let is_new = !places.tree.iter().chain(&places.ways).all(known);
            (targets.places, targets.wanted) = (places, wanted);
            is_new
        });
        self.watch_again_what_others_need();
        is_new
    }

    fn watch_again_what_others_need(&mut self) {
        let folders: BTreeSet<PathBuf> = self.with_targets(|targets| {
            let of_runs = targets.runs.iter().flat_map(|(root, runs)| way(root, runs));
            let of_sources = targets
                .sources
                .iter()
                .filter_map(|file| Some(file.parent()?.to_owned()));
            let of_places = targets.places.tree.iter().chain(&targets.places.ways);
            of_runs
                .chain(of_sources)
                .chain(of_places.cloned())
                .collect()
        });
        let unneeded: Vec<PathBuf> = self.watched.difference(&folders).cloned().collect();
        unneeded.iter().for_each(|folder| self.unwatch(folder));
        let unneeded: Vec<PathBuf> = self.failed.keys().cloned().collect();
        let unneeded = unneeded.iter().filter(|folder| !folders.contains(*folder));
        unneeded.for_each(|folder| self.forgive(folder));
        folders.iter().for_each(|folder| self.watch(folder));
    }

    fn watch(&mut self, folder: &Path) {
        let Some(inner) = self
            .inner
            .as_mut()
            .filter(|_| !self.watched.contains(folder))
        else {
            return;
        };
        match inner.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.watched.insert(folder.to_owned());
                self.forgive(folder);
            }
            // A folder that is not there is noticed by the watch on the folder above it.
            Err(error) if is_missing(&error) => self.forgive(folder),
            Err(error) => {
                let why = format!(
                    "cannot watch {}: {error}; {}",
                    folder.display(),
                    advice(&error)
                );
                if self.failed.get(folder) != Some(&why) {
                    lost(&self.events, &why);
                }
                self.failed.insert(folder.to_owned(), why);
            }
        }
    }

    /// Forgets failures to watch this folder.
    fn forgive(&mut self, folder: &Path) {
        if self.failed.remove(folder).is_some() {
            // Nobody listens any more while the server ends.
            let _ = self.events.send(HostEvent::Disk(DiskEvent::Found));
        }
    }

    /// Tries folders again that could not be watched.
    pub fn retry(&mut self) {
        let failed: Vec<PathBuf> = self.failed.keys().cloned().collect();
        failed.iter().for_each(|folder| self.watch(folder));
    }

    /// The present problem with watching.
    pub fn problem(&self) -> Option<&str> {
        self.failed.values().next().map(String::as_str)
    }

    fn unwatch(&mut self, folder: &Path) {
        if self.watched.remove(folder)
            && let Some(inner) = &mut self.inner
        {
            // A folder that is gone has no watch any more: that is what was wanted.
            let _ = inner.unwatch(folder);
        }
    }

    fn with_targets<T>(&self, change: impl FnOnce(&mut Targets) -> T) -> T {
        change(&mut self.targets.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn advice(error: &notify::Error) -> &'static str {
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "raise fs.inotify.max_user_watches with sysctl, then restart the server"
        }
        _ => "make it readable, then restart the server",
    }
}

fn is_missing(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// The folders from a workspace folder down to its run folder, both included.
fn way(root: &Path, runs: &Path) -> Vec<PathBuf> {
    let mut way: Vec<PathBuf> = runs
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .map(Path::to_owned)
        .collect();
    way.reverse();
    way
}

fn lost(events: &Sender<HostEvent>, why: &str) {
    // Nobody listens any more while the server ends.
    let _ = events.send(HostEvent::Disk(DiskEvent::Lost(Some(why.to_owned()))));
}

fn report(
    targets: &Mutex<Targets>,
    events: &Sender<HostEvent>,
    event: notify::Result<notify::Event>,
) {
    let mut is_failing = false;
    let mut found = match event {
        Ok(event) if event.need_rescan() => vec![DiskEvent::Lost(None)],
        Ok(event) if is_change(&event) => {
            let targets = targets.lock().unwrap_or_else(PoisonError::into_inner);
            event
                .paths
                .iter()
                .flat_map(|path| targets.touched(path, &event.kind))
                .collect()
        }
        Ok(_) => Vec::new(),
        Err(error) => {
            is_failing = true;
            vec![DiskEvent::Lost(Some(format!("watching failed: {error}")))]
        }
    };
    let mut known = targets.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::replace(&mut known.is_failing, is_failing) && !is_failing {
        found.push(DiskEvent::Found);
    }
    drop(known);
    for event in found {
        // Nobody listens any more while the server ends.
        let _ = events.send(HostEvent::Disk(event));
    }
}

/// Returns whether the event is a change. Reading is none, both ends of a renaming are reported by themselves, and a
/// file that was only just created is not written yet: closing it will be reported.
fn is_change(event: &notify::Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        EventKind::Create(CreateKind::File) => event.paths.iter().any(|path| is_link(path)),
        EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Name(RenameMode::Both)) => false,
        _ => true,
    }
}

/// Returns whether the path is a link: links are complete when they are created.
fn is_link(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink() || about.nlink() > 1)
}

impl Targets {
    fn touched(&self, path: &Path, kind: &EventKind) -> Vec<DiskEvent> {
        let mut touched = Vec::new();
        for (root, runs) in &self.runs {
            if path.parent() == Some(runs) && crate::runs::is_run_file_name(path) {
                touched.push(DiskEvent::Runs(root.clone()));
            } else if path == crate::suppressed::file(root) {
                touched.push(DiskEvent::Suppressions);
            } else if path != root && runs.starts_with(path) && path.starts_with(root) {
                touched.push(DiskEvent::Rewatch(root.clone()));
            }
        }
        if self.may_lead_to_runs(path, kind) {
            touched.push(DiskEvent::Tree);
        }
        if self.sources.contains(path) {
            touched.push(DiskEvent::Source(path.to_owned()));
        }
        touched
    }

    /// Returns whether a run folder may have come or gone with this path: it is a part of the way to one, or a folder
    /// in which others may be.
    fn may_lead_to_runs(&self, path: &Path, kind: &EventKind) -> bool {
        let Some(above) = path.parent() else {
            return false;
        };
        let is_in_tree = self.places.tree.contains(above);
        let is_part = (is_in_tree || self.places.ways.contains(above))
            && self
                .wanted
                .iter()
                .any(|part| Some(part) == path.file_name());
        let came_or_went = matches!(
            kind,
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
        );
        let is_folder = || self.places.tree.contains(path) || path.is_dir();
        is_part || is_in_tree && came_or_went && is_folder()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    fn told(inbox: &Receiver<HostEvent>) -> Vec<bool> {
        let events = inbox.try_iter();
        let is_problem = |event| match event {
            HostEvent::Disk(DiskEvent::Lost(Some(_))) => Some(true),
            HostEvent::Disk(DiskEvent::Found) => Some(false),
            _ => None,
        };
        events.filter_map(is_problem).collect()
    }

    #[test]
    fn a_failure_is_taken_back_by_the_next_event() {
        let (events, inbox) = channel();
        let targets = Mutex::new(Targets::default());
        report(&targets, &events, Err(notify::Error::generic("no more")));
        assert_eq!(told(&inbox), [true]);
        let event = notify::Event::new(EventKind::Any);
        report(&targets, &events, Ok(event.clone()));
        report(&targets, &events, Ok(event));
        assert_eq!(told(&inbox), [false]);
    }

    #[test]
    fn a_folder_that_can_be_watched_again_is_no_problem_any_more() {
        let (events, inbox) = channel();
        let folder = tempfile::tempdir().unwrap();
        let mut watcher = FolderWatcher::new(events);
        watcher
            .failed
            .insert(folder.path().to_owned(), "why".to_owned());
        assert_eq!(watcher.problem(), Some("why"));
        watcher.retry();
        assert_eq!((watcher.problem(), told(&inbox)), (None, vec![false]));
        watcher.retry();
        assert_eq!(told(&inbox), [] as [bool; 0]);
    }
}
