//! The source files that explanations mention: texts that the client has open take precedence over those on disk.

use crate::{
    document::OpenDocument,
    follow::{LineMap, Recorded},
    paths::{Root, candidates, moved},
    text::Text,
};
use dashmap::DashMap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use unsnarl_trace::files::{read_regular, sha256};

/// Size above which a file is not taken for a source that a person reads.
const MAX_SOURCE_BYTES: u64 = 16 << 20;

/// Texts of source files. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Documents that the client has open.
    pub open: FxHashMap<PathBuf, OpenDocument>,
    /// Texts read from disk; `None` for files that cannot be read.
    disk: FxHashMap<PathBuf, Option<DiskText>>,
    /// Texts by the hash under which runs know them. A text never changes under its hash, so that all snapshots share
    /// one table: what one handler has found serves the others.
    baselines: Arc<DashMap<String, Text>>,
    /// Beginnings of recorded paths that were found elsewhere, each with its place, by the folder that was recorded in.
    moved: FxHashMap<PathBuf, BTreeMap<PathBuf, PathBuf>>,
    /// Files that were searched for by their content, in vain or not.
    searched: FxHashSet<(PathBuf, PathBuf)>,
}

#[derive(Clone, Debug)]
struct DiskText {
    text: Text,
    sha256: String,
}

/// A recorded file, found in the workspace.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Current positions of its recorded lines.
    pub lines: LineMap,
    /// The text that was recorded, as long as it is known.
    pub recorded: Option<Text>,
}

impl Sources {
    /// Forgets the text of a file on disk: it has changed.
    pub fn forget(&mut self, path: &Path) {
        self.disk.remove(path);
    }

    /// The current text of a file.
    pub fn current(&self, path: &Path) -> Option<&Text> {
        let on_disk = || Some(&self.disk.get(path)?.as_ref()?.text);
        self.open
            .get(path)
            .map(|document| &document.text)
            .or_else(on_disk)
    }

    /// Drops everything that these recorded files do not need.
    pub fn keep_only<'a>(&mut self, needed: impl Iterator<Item = (&'a Root, &'a Recorded)>) {
        let (mut files, mut hashes) = (FxHashSet::default(), FxHashSet::default());
        for (root, recorded) in needed {
            files.extend(self.places(root, &recorded.origin));
            hashes.extend(recorded.sha256.clone());
        }
        self.disk.retain(|path, _| files.contains(path));
        self.baselines.retain(|hash, _| hashes.contains(hash));
    }

    /// Reads the files that [`Sources::find`] needs for a recorded file, and keeps its recorded state if it is there.
    pub fn load(&mut self, root: &Root, recorded: &Recorded) {
        for path in self.places(root, &recorded.origin) {
            self.read(&path);
            self.keep_baseline(&path, recorded);
        }
        self.note_moved(root, recorded);
    }

    /// Forgets where files were found: they may be elsewhere, or be found now.
    pub fn forget_moved(&mut self) {
        self.moved.clear();
        self.searched.clear();
    }

    /// Possible places of a recorded file: those in folders that are known to have moved first.
    fn places(&self, root: &Root, origin: &Path) -> Vec<PathBuf> {
        let mut places = self.moved_places(root, origin);
        places.extend(candidates(root, origin));
        places
    }

    /// Places of a recorded file in folders that are known to have moved, nearest first.
    fn moved_places(&self, root: &Root, origin: &Path) -> Vec<PathBuf> {
        if root.map.set_place(origin).is_some() {
            return Vec::new();
        }
        let pairs = self.moved.get(&root.path).into_iter().flatten().rev();
        let inside = pairs.filter_map(|(from, to)| Some(to.join(origin.strip_prefix(from).ok()?)));
        inside.collect()
    }

    /// Notes a folder that has moved, if this file is there as it was recorded, but elsewhere. A file of which no place is
    /// known is searched for, once, among the workspace's files of its name.
    fn note_moved(&mut self, root: &Root, recorded: &Recorded) {
        let Some(sha256) = &recorded.sha256 else {
            return;
        };
        let places = self.places(root, &recorded.origin);
        let is_same = |path: &PathBuf| self.disk_hash(path) == Some(sha256);
        if let Some(found) = places.iter().find(|path| is_same(path)) {
            self.add_moved(root, &recorded.origin, &found.clone());
            return;
        }
        let key = (root.path.clone(), recorded.origin.clone());
        let is_set = root.map.set_place(&recorded.origin).is_some();
        let name = recorded.origin.file_name();
        if let Some(name) = name.filter(|_| !is_set && self.searched.insert(key)) {
            let mut named = root.map.folders.iter().map(|folder| folder.join(name));
            let found = named.find(|path| {
                path.is_file() && read_source(path).is_some_and(|disk| disk.sha256 == *sha256)
            });
            if let Some(found) = found {
                self.add_moved(root, &recorded.origin, &found);
                self.read(&found);
                self.keep_baseline(&found, recorded);
            }
        }
    }

    /// Notes that a recorded file is now at `found`: what its folder has moved by.
    pub fn add_moved(&mut self, root: &Root, origin: &Path, found: &Path) {
        if found != origin
            && let Some((from, to)) = moved(origin, found)
        {
            self.moved
                .entry(root.path.clone())
                .or_default()
                .insert(from, to);
        }
    }

    /// Returns whether a search is the first of its kind since [`Sources::forget_moved`].
    pub fn is_first_search(&mut self, root: &Root, file: &Path) -> bool {
        self.searched.insert((root.path.clone(), file.to_owned()))
    }

    fn disk_hash(&self, path: &Path) -> Option<&String> {
        Some(&self.disk.get(path)?.as_ref()?.sha256)
    }

    /// Finds a recorded file and follows its lines.
    pub fn find(&self, root: &Root, recorded: &Recorded) -> Option<Found> {
        let there: Vec<PathBuf> = self
            .places(root, &recorded.origin)
            .into_iter()
            .filter(|path| self.current(path).is_some())
            .collect();
        let same_content = |path: &&PathBuf| {
            let on_disk = self.disk_hash(path);
            on_disk.is_some() && on_disk == recorded.sha256.as_ref()
        };
        let known = self.moved_places(root, &recorded.origin);
        let has_moved = || there.iter().find(|path| known.contains(path));
        let by_name = || there.iter().find(|path| **path == recorded.origin);
        let path = there
            .iter()
            .find(same_content)
            .or_else(has_moved)
            .or_else(by_name)
            .or_else(|| there.first())?;
        let baseline = recorded
            .sha256
            .as_ref()
            .and_then(|hash| self.baseline(hash));
        let document = self.open.get(path);
        let followed = document.and_then(|document| document.followed(baseline.as_ref()?));
        let current = self.current(path)?;
        Some(Found {
            path: path.clone(),
            lines: LineMap::new(recorded, baseline.as_ref(), followed, current),
            recorded: baseline,
        })
    }

    /// The text from which a run was recorded, if it was seen.
    pub fn recorded(&self, recorded: &Recorded) -> Option<Text> {
        self.baseline(recorded.sha256.as_ref()?)
    }

    /// The text with this hash. It is cloned, which shares it: a guard into the table would block who adds to it.
    fn baseline(&self, hash: &str) -> Option<Text> {
        Some(self.baselines.get(hash)?.value().clone())
    }

    /// The files on disk that were searched for, found or not.
    pub fn on_disk(&self) -> impl Iterator<Item = &PathBuf> {
        self.disk.keys()
    }

    fn read(&mut self, path: &Path) {
        if !self.disk.contains_key(path) {
            self.disk.insert(path.to_owned(), read_source(path));
        }
    }

    fn keep_baseline(&mut self, path: &Path, recorded: &Recorded) {
        let Some(hash) = recorded
            .sha256
            .as_ref()
            .filter(|hash| !self.baselines.contains_key(*hash))
        else {
            return;
        };
        let on_disk = self
            .disk
            .get(path)
            .and_then(Option::as_ref)
            .filter(|disk| disk.sha256 == *hash);
        let open = self
            .open
            .get(path)
            .filter(|document| sha256(document.text.content().as_bytes()) == *hash);
        let text = on_disk
            .map(|disk| &disk.text)
            .or(open.map(|document| &document.text));
        if let Some(text) = text.cloned() {
            self.baselines.insert(hash.clone(), text);
        }
    }
}

fn read_source(path: &Path) -> Option<DiskText> {
    let bytes = read_regular(path, MAX_SOURCE_BYTES).ok()?;
    Some(DiskText {
        sha256: sha256(&bytes),
        text: Text::new(&String::from_utf8_lossy(&bytes)),
    })
}
