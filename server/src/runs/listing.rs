//! Which run files there are, and which of them there is room for.

use std::{collections::BTreeSet, path::Path};
use unsnarl_trace::folder::{RunFile, RunFolder};

/// What a run takes of memory for each byte of its file, and beside that: measured with `cargo xtask bench editor`.
const MEMORY_PER_BYTE: u64 = 4;
/// See [`MEMORY_PER_BYTE`].
const MEMORY_PER_RUN: u64 = 16 << 10;

/// A file that a recorder finished: `*.arrow`, not one that it is still writing (`.*`).
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
    /// These.
    pub there: BTreeSet<RunFile>,
    /// How many there is no room for.
    pub left_out: usize,
    /// What they take, in bytes, as estimated.
    pub memory: u64,
}

impl Fitting {
    /// Of all files those that fit into `room` bytes.
    pub fn of(all: BTreeSet<RunFile>, room: u64) -> Fitting {
        let mut newest: Vec<RunFile> = all.into_iter().collect();
        newest.sort_by(|a, b| b.modified.cmp(&a.modified).then(a.cmp(b)));
        let number = newest.len();
        let (mut there, mut memory) = (BTreeSet::new(), 0);
        for file in newest {
            let with_it = memory + file.len * MEMORY_PER_BYTE + MEMORY_PER_RUN;
            if with_it > room && !there.is_empty() {
                break;
            }
            memory = with_it;
            there.insert(file);
        }
        Fitting {
            left_out: number - there.len(),
            there,
            memory,
        }
    }
}

/// The run files of a folder, and why it cannot be read if it cannot. One that is not there has none.
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
    fn names() {
        let is = |name: &str| is_run_file_name(&Path::new("/w/.unsnarl/runs").join(name));
        assert!(is("failed-random-1-0a1b2c3d.arrow"));
        assert!(!is(".failed.arrow") && !is("notes.txt") && !is("arrow") && !is(".arrow"));
    }
}
