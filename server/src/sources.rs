//! The source files that explanations mention: texts that the client has open take precedence over those on disk.

use crate::{
    document::OpenDocument,
    follow::{LineMap, Recorded, sha256},
    paths::{Root, candidates},
    text::Text,
};
use dashmap::DashMap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use unsnarl_trace::files::read_regular;

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
            files.extend(candidates(root, &recorded.origin));
            hashes.extend(recorded.sha256.clone());
        }
        self.disk.retain(|path, _| files.contains(path));
        self.baselines.retain(|hash, _| hashes.contains(hash));
    }

    /// Reads the files that [`Sources::find`] needs for a recorded file, and keeps its recorded state if it is there.
    pub fn load(&mut self, root: &Root, recorded: &Recorded) {
        for path in candidates(root, &recorded.origin) {
            self.read(&path);
            self.keep_baseline(&path, recorded);
        }
    }

    /// Finds a recorded file and follows its lines.
    pub fn find(&self, root: &Root, recorded: &Recorded) -> Option<Found> {
        let there: Vec<PathBuf> = candidates(root, &recorded.origin)
            .into_iter()
            .filter(|path| self.current(path).is_some())
            .collect();
        let same_content = |path: &&PathBuf| {
            let on_disk = self
                .disk
                .get(*path)
                .and_then(Option::as_ref)
                .map(|disk| &disk.sha256);
            on_disk.is_some() && on_disk == recorded.sha256.as_ref()
        };
        let by_name = || there.iter().find(|path| **path == recorded.origin);
        let path = there
            .iter()
            .find(same_content)
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
