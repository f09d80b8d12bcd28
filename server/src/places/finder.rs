//! The thread that searches, so that nothing waits for a slow file system.

use super::{Places, above, below};
use crate::event::{DiskEvent, HostEvent};
use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

/// Times the length of a search for which the thread rests after it: a build makes many folders.
const RESTS: u32 = 4;
/// Longest rest.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Starting points of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchScope {
    /// Number of the search.
    pub number: u64,
    /// Workspace folders.
    pub workspace: Vec<PathBuf>,
    /// Folders of opened files.
    pub opened: BTreeSet<PathBuf>,
    /// The run folder to look for, relative.
    pub runs: PathBuf,
}

/// The handle of the thread, which ends after the handle was dropped. Nothing waits for that.
#[derive(Debug)]
pub struct Finder {
    requests: Sender<SearchScope>,
}

impl Finder {
    /// Starts the thread. It reports to `events`.
    pub fn start(events: Sender<HostEvent>) -> std::io::Result<Finder> {
        let (requests, inbox) = channel();
        let thread = std::thread::Builder::new().name("unsnarl-places".to_owned());
        thread.spawn(move || work(&inbox, &events))?;
        Ok(Finder { requests })
    }

    /// Asks for a search; the answer to the newest request counts.
    pub fn look(&self, scope: SearchScope) {
        // The thread ends only after this sender.
        let _ = self.requests.send(scope);
    }
}

fn work(inbox: &Receiver<SearchScope>, events: &Sender<HostEvent>) {
    while let Ok(scope) = inbox.recv() {
        let since = Instant::now();
        let newest = inbox.try_iter().last().unwrap_or(scope);
        let places = search(&newest);
        // Nobody listens any more while the server ends.
        let _ = events.send(HostEvent::Disk(DiskEvent::Places(newest, places)));
        std::thread::sleep((since.elapsed() * RESTS).min(LONGEST_REST));
    }
}

fn search(scope: &SearchScope) -> Places {
    let mut places = Places::default();
    for folder in &scope.workspace {
        places.extend(below(folder, &scope.runs));
    }
    for folder in scope.workspace.iter().chain(&scope.opened) {
        places.extend(above(folder, &scope.workspace, &scope.runs));
    }
    places.corpora = without_second_names(scope, places.corpora);
    places
}

/// The found folders without the workspace folders, and each once, whatever links lead to it.
fn without_second_names(scope: &SearchScope, found: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let mut known: BTreeSet<PathBuf> = scope.workspace.iter().map(real).collect();
    let is_new = |path: &PathBuf| known.insert(real(path));
    found.into_iter().filter(is_new).collect()
}
