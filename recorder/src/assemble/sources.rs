//! Source files: the text of a line and the hash of the file, as long as the file is the one that
//! was compiled.

use super::program::hex;
use rustc_hash::FxHashMap;
use sha2::{Digest as _, Sha256};
use std::{
    sync::{Arc, Mutex},
    time::SystemTime,
};

/// What is known of a source file.
pub(super) enum Source {
    Read {
        lines: Vec<String>,
        sha256: String,
    },
    Missing,
    /// Changed after the program was built: its lines are not those that ran.
    Changed,
}

impl Source {
    /// Does it define this name as a macro?
    pub fn defines(&self, name: &str) -> bool {
        let Source::Read { lines, .. } = self else {
            return false;
        };
        let is_end = |c: char| !c.is_alphanumeric() && c != '_';
        let defined = lines.iter().filter_map(|line| {
            let rest = line.strip_prefix('#')?.trim_start();
            rest.strip_prefix("define")?
                .trim_start()
                .split(is_end)
                .next()
        });
        defined.into_iter().any(|defined| defined == name)
    }
}

/// Source files by path, read once.
pub(super) struct Sources {
    built: Option<SystemTime>,
    files: Mutex<FxHashMap<String, Arc<Source>>>,
}

/// Larger files are not read: nobody wrote them by hand.
const MAX_BYTES: u64 = 64 << 20;

impl Sources {
    /// `built` is when the program was written.
    pub fn new(built: Option<SystemTime>) -> Sources {
        Sources {
            built,
            files: Mutex::default(),
        }
    }

    /// The file with this path.
    pub fn file(&self, path: &str) -> Arc<Source> {
        let read = || Arc::new(self.read(path));
        match self.files.lock() {
            Ok(mut files) => files.entry(path.to_owned()).or_insert_with(read).clone(),
            Err(_) => read(),
        }
    }

    /// The text of a line, from 1, without the blanks around it; empty when it is not known.
    pub fn line(&self, path: &str, line: u32) -> String {
        let Some(index) = (line as usize).checked_sub(1) else {
            return String::new();
        };
        match &*self.file(path) {
            Source::Read { lines, .. } => lines.get(index).cloned().unwrap_or_default(),
            Source::Missing | Source::Changed => String::new(),
        }
    }

    fn read(&self, path: &str) -> Source {
        let Ok(data) = std::fs::metadata(path) else {
            return Source::Missing;
        };
        if !data.is_file() || data.len() > MAX_BYTES {
            return Source::Missing;
        }
        if let (Some(built), Ok(modified)) = (self.built, data.modified())
            && modified > built
        {
            return Source::Changed;
        }
        let Ok(bytes) = std::fs::read(path) else {
            return Source::Missing;
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(|line| line.trim().to_owned()).collect();
        Source::Read {
            lines,
            sha256: hex(&Sha256::digest(&bytes)),
        }
    }
}
