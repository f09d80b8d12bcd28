//! Results that are kept from one measurement to the next, so that an interrupted one continues where it was: a line
//! of JSON for each, in a file for each build of `unsnarl`.

use anyhow::Result;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::Write,
    path::PathBuf,
    time::UNIX_EPOCH,
};
use unsnarl_e2e::binary;

/// The results by their keys, with their file.
pub struct KeptResults<T> {
    file: File,
    known: HashMap<String, T>,
}

impl<T: Serialize + DeserializeOwned> KeptResults<T> {
    /// Opens the results of this kind by the present `unsnarl`; another build has another file.
    pub fn open(kind: &str) -> Result<KeptResults<T>> {
        let path = path(kind)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        // The last line of an interrupted measurement may be half a line.
        let known = text
            .lines()
            .filter_map(|line| serde_json::from_str::<(String, T)>(line).ok())
            .collect();
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        eprintln!("results are kept in {}", path.display());
        Ok(KeptResults { file, known })
    }

    /// The result of this key; `make` makes it when there is none yet.
    pub fn get(&mut self, key: &str, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        if !self.known.contains_key(key) {
            let made = make()?;
            let line = serde_json::to_string(&(key, &made))? + "\n";
            self.file.write_all(line.as_bytes())?;
            self.known.insert(key.to_owned(), made);
        }
        let kept = self.known.get(key);
        kept.ok_or_else(|| anyhow::anyhow!("{key} was just kept"))
    }
}

fn path(kind: &str) -> Result<PathBuf> {
    let changed = fs::metadata(binary::unsnarl()?)?
        .modified()?
        .duration_since(UNIX_EPOCH)?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| unsnarl_e2e::project().join("target"), PathBuf::from);
    let name = format!("by-{}.jsonl", changed.as_secs());
    Ok(target.join(kind).join(name))
}
