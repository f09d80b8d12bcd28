//! Source files: the text of a line and the hash of the file, as long as the file is the one that was compiled.
//!
//! The text decides the names of some things: the type of a heap block, the line of a moved access. A program that
//! repeats a recorded run therefore uses the text that this run saw ([`Recalled`]), whatever has become of the files
//! since.

use super::program::hex;
use rustc_hash::FxHashMap;
use sha2::{Digest as _, Sha256};
use std::{
    sync::{Arc, Mutex, OnceLock},
    time::SystemTime,
};
use unsnarl_trace::{
    RunMeta,
    files::{MOST_TEXT, read_regular},
};

/// The content of a source file, as far as it is known.
pub(super) enum SourceContent {
    Read {
        lines: Vec<String>,
        sha256: String,
    },
    Missing,
    /// Changed after the program was built: its lines are not those that ran.
    Changed,
    /// Another file than the recorded one: only the lines that the run names are known.
    Recalled {
        lines: FxHashMap<u32, String>,
        sha256: String,
    },
}

/// The sources as a recorded run knew them.
pub(super) struct Recalled(FxHashMap<String, SourceContent>);

impl Recalled {
    /// The files that the sites of a run are in.
    fn of(meta: &RunMeta) -> Recalled {
        let mut files: FxHashMap<String, SourceContent> = FxHashMap::default();
        let known: FxHashMap<&str, &str> = meta
            .sources
            .iter()
            .map(|source| (source.file.as_str(), source.sha256.as_str()))
            .collect();
        for site in meta.sites.iter().filter(|site| site.line != 0) {
            let source = files.entry(site.file.clone());
            let source = source.or_insert_with(|| match known.get(site.file.as_str()) {
                Some(sha256) => SourceContent::Recalled {
                    lines: FxHashMap::default(),
                    sha256: (*sha256).to_owned(),
                },
                None => SourceContent::Changed,
            });
            if let SourceContent::Recalled { lines, .. } = source {
                lines.insert(site.line, site.text.clone());
            }
        }
        Recalled(files)
    }

    /// The file as it is now, if that is what the run knew, else the known lines; `None` for a file in which the run
    /// has no site.
    fn read(&self, path: &str) -> Option<SourceContent> {
        let SourceContent::Recalled { lines, sha256 } = self.0.get(path)? else {
            return Some(SourceContent::Changed);
        };
        Some(match read(path) {
            SourceContent::Read { lines, sha256: now } if now == *sha256 => {
                SourceContent::Read { lines, sha256: now }
            }
            _ => SourceContent::Recalled {
                lines: lines.clone(),
                sha256: sha256.clone(),
            },
        })
    }
}

impl SourceContent {
    /// Returns whether the file defines this name as a macro.
    pub fn defines(&self, name: &str) -> bool {
        let SourceContent::Read { lines, .. } = self else {
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

/// A search for an earlier run of the same build, made once and only when a source was changed after the build.
#[derive(Default)]
pub(super) struct Earlier {
    find: Option<Box<dyn Fn() -> Option<RunMeta> + Send + Sync>>,
    found: OnceLock<Option<Recalled>>,
}

impl Earlier {
    fn run(&self) -> Option<&Recalled> {
        let find = || Some(Recalled::of(&self.find.as_ref()?()?));
        self.found.get_or_init(find).as_ref()
    }
}

/// Source files by path, read once.
pub(super) struct SourceFiles {
    built: Option<SystemTime>,
    recalled: Option<Recalled>,
    earlier: Earlier,
    files: Mutex<FxHashMap<String, Arc<SourceContent>>>,
}

impl SourceFiles {
    /// An empty cache; `built` is the time at which the program was written.
    pub fn new(built: Option<SystemTime>) -> SourceFiles {
        SourceFiles {
            built,
            recalled: None,
            earlier: Earlier::default(),
            files: Mutex::default(),
        }
    }

    /// Makes the files be what a recorded run knew of them.
    pub fn recall(&mut self, meta: &RunMeta) {
        self.recalled = Some(Recalled::of(meta));
        self.files = Mutex::default();
    }

    /// Makes files that were changed after the build be what the run that `find` returns knew of them.
    pub fn recall_by(&mut self, find: impl Fn() -> Option<RunMeta> + Send + Sync + 'static) {
        self.earlier.find = Some(Box::new(find));
    }

    /// The file with this path.
    pub fn file(&self, path: &str) -> Arc<SourceContent> {
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
            SourceContent::Read { lines, .. } => lines.get(index).cloned().unwrap_or_default(),
            SourceContent::Recalled { lines, .. } => lines.get(&line).cloned().unwrap_or_default(),
            SourceContent::Missing | SourceContent::Changed => String::new(),
        }
    }

    fn read(&self, path: &str) -> SourceContent {
        let recalled = self.recalled.as_ref();
        if let Some(source) = recalled.and_then(|recalled| recalled.read(path)) {
            return source;
        }
        let modified = std::fs::metadata(path).and_then(|data| data.modified());
        match (self.built, modified) {
            (Some(built), Ok(modified)) if modified > built => {
                let earlier = self.earlier.run().and_then(|run| run.read(path));
                earlier.unwrap_or(SourceContent::Changed)
            }
            _ => read(path),
        }
    }
}

/// The file as it is now.
fn read(path: &str) -> SourceContent {
    let Ok(bytes) = read_regular(path.as_ref(), MOST_TEXT) else {
        return SourceContent::Missing;
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| line.trim().to_owned()).collect();
    SourceContent::Read {
        lines,
        sha256: hex(&Sha256::digest(&bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path, time::Duration};
    use unsnarl_trace::{SiteRow, SourceRow};

    const TEXT: &str = "first;\nsecond;\n";

    /// Sources of a program that was built before the file was saved, as recalled from a run that knew the second
    /// line.
    fn recalled(file: &Path, sources: Vec<SourceRow>) -> SourceFiles {
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let mut seen = SourceFiles::new(Some(long_ago));
        let site = SiteRow {
            file: file.to_string_lossy().into_owned(),
            line: 2,
            text: "second;".to_owned(),
            ..SiteRow::default()
        };
        seen.recall(&RunMeta {
            sites: vec![SiteRow::default(), site].into(),
            sources,
            ..RunMeta::default()
        });
        seen
    }

    fn lines(seen: &SourceFiles, file: &Path) -> [String; 2] {
        [1, 2].map(|line| seen.line(&file.to_string_lossy(), line))
    }

    fn source(file: &Path) -> SourceRow {
        SourceRow {
            file: file.to_string_lossy().into_owned(),
            sha256: hex(&Sha256::digest(TEXT)),
        }
    }

    #[test]
    fn a_source_that_was_saved_again_is_the_recorded_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.c");
        fs::write(&file, TEXT).unwrap();
        let seen = recalled(&file, vec![source(&file)]);
        assert_eq!(lines(&seen, &file), ["first;", "second;"]);
    }

    #[test]
    fn of_a_source_that_was_edited_the_lines_of_the_run_are_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.c");
        fs::write(&file, "another;\nfile;\n").unwrap();
        let seen = recalled(&file, vec![source(&file)]);
        assert_eq!(lines(&seen, &file), ["", "second;"]);
    }

    #[test]
    fn a_source_that_the_run_did_not_know_stays_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.c");
        fs::write(&file, TEXT).unwrap();
        let seen = recalled(&file, Vec::new());
        assert_eq!(lines(&seen, &file), ["", ""]);
    }
}
