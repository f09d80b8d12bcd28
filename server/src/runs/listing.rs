//! List of a folder's run files, and of those that there is room for.

use std::{collections::BTreeSet, path::Path};
use unsnarl_trace::{
    begins_as_run,
    folder::{RunFile, RunFolder},
    read::unpacked,
};

/// Memory that a run takes for each byte of its columns, and besides that: measured with `cargo xtask bench editor`.
const MEMORY_PER_BYTE: u64 = 4;
/// See [`MEMORY_PER_BYTE`].
const MEMORY_PER_RUN: u64 = 16 << 10;

/// Size from which on files are examined before they are given room.
const LARGE: u64 = 1 << 20;

/// Returns whether the file is one that a recorder finished: `*.arrow`, not one that it is still writing (`.*`).
pub fn is_run_file_name(path: &Path) -> bool {
    let hidden = path
        .file_name()
        .is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden
        && path
            .extension()
            .is_some_and(|extension| extension == "arrow")
}

/// The newest of a folder's run files, as many as there is room for; at least one.
pub struct Fitting {
    /// The files.
    pub there: BTreeSet<RunFile>,
    /// Number of files that there is no room for.
    pub left_out: usize,
    /// Memory that the files take, in bytes, as estimated.
    pub memory: u64,
}

impl Fitting {
    /// Selects the files that fit into `room` bytes.
    pub fn of(all: BTreeSet<RunFile>, room: u64) -> Fitting {
        let mut newest: Vec<RunFile> = all.into_iter().collect();
        newest.sort_by(|a, b| b.modified.cmp(&a.modified).then(a.cmp(b)));
        let number = newest.len();
        // One that is too large by itself leaves room for the others.
        let (small, large): (Vec<_>, Vec<_>) = newest
            .into_iter()
            .map(|file| (takes(&file), file))
            .partition(|(takes, _)| *takes <= room);
        let (mut there, mut memory) = (BTreeSet::new(), 0);
        for (takes, file) in small {
            if memory + takes > room {
                break;
            }
            memory += takes;
            there.insert(file);
        }
        if let Some((takes, file)) = large.into_iter().next().filter(|_| there.is_empty()) {
            memory = takes;
            there.insert(file);
        }
        Fitting {
            left_out: number - there.len(),
            there,
            memory,
        }
    }
}

/// Memory that a run takes. A large file that is no run takes nothing: only its beginning is read.
fn takes(file: &RunFile) -> u64 {
    match file.len > LARGE && !begins_as_run(&file.path) {
        true => MEMORY_PER_RUN,
        false => unpacked(&file.path, file.len)
            .saturating_mul(MEMORY_PER_BYTE)
            .saturating_add(MEMORY_PER_RUN),
    }
}

/// The run files of a folder, with the reason if it cannot be read. A missing folder has none.
pub fn list(folder: &Path) -> (BTreeSet<RunFile>, Option<String>) {
    match RunFolder::new(folder).files() {
        Ok(files) => (files.into_iter().collect(), None),
        Err(error) => {
            let shown = folder.display();
            let text = format!("cannot read {shown}: {error}; check that it is a readable folder");
            (BTreeSet::new(), Some(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_that_is_no_run_evicts_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, len: u64, start: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, start).unwrap();
            std::fs::File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(len)
                .unwrap();
        };
        file("a.arrow", 100, b"ARROW1");
        file("b.arrow", 1 << 40, b"");
        file("c.arrow", 1 << 40, b"ARROW1");
        let (all, _) = list(folder.path());
        let fitting = Fitting::of(all.clone(), 1 << 30);
        let names: Vec<&str> = fitting
            .there
            .iter()
            .map(|file| file.name.as_str())
            .collect();
        assert_eq!((names.as_slice(), fitting.left_out), (&["a", "b"][..], 1));
        let only = all.into_iter().filter(|file| file.name == "c").collect();
        assert_eq!(Fitting::of(only, 1 << 30).there.len(), 1);
    }

    #[test]
    fn names() {
        let is = |name: &str| is_run_file_name(&Path::new("/w/.unsnarl/runs").join(name));
        assert!(is("failed-random-1-0a1b2c3d.arrow"));
        assert!(!is(".failed.arrow") && !is("notes.txt") && !is("arrow") && !is(".arrow"));
    }
}
