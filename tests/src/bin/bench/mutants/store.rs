//! Judgements that are kept from one measurement to the next: a line of JSON for each.

use anyhow::Result;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::Write,
    path::PathBuf,
    time::UNIX_EPOCH,
};
use unsnarl_e2e::{
    binary,
    mutants::{
        Mutant,
        judge::{Judgement, fingerprint},
    },
};

/// A judgement of a mutant.
pub trait Judged: Clone + Serialize + DeserializeOwned {
    /// Id and fingerprint of the mutant.
    fn mutant(&self) -> (&str, &str);
}

impl Judged for Judgement {
    fn mutant(&self) -> (&str, &str) {
        (&self.id, &self.mutant)
    }
}

/// The file with its content.
pub struct JudgementStore<J> {
    file: File,
    known: HashMap<String, J>,
}

impl<J: Judged> JudgementStore<J> {
    /// Opens the judgements by the present `unsnarl` in a folder below `target`; another build has another file.
    pub fn open(folder: &str) -> Result<JudgementStore<J>> {
        let path = path(folder)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut known = HashMap::new();
        let text = fs::read_to_string(&path).unwrap_or_default();
        // The last line of an interrupted measurement may be half a line.
        for judgement in text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
        {
            let judgement: J = judgement;
            known.insert(judgement.mutant().0.to_owned(), judgement);
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        eprintln!("judgements are kept in {}", path.display());
        Ok(JudgementStore { file, known })
    }

    /// The judgement of this very mutant.
    pub fn get(&self, mutant: &Mutant) -> Option<J> {
        let known = self.known.get(&mutant.id);
        known
            .filter(|known| known.mutant().1 == fingerprint(mutant))
            .cloned()
    }

    /// Adds a judgement.
    pub fn keep(&mut self, judgement: &J) -> Result<()> {
        let line = serde_json::to_string(judgement)? + "\n";
        self.file.write_all(line.as_bytes())?;
        Ok(())
    }
}

/// Name of the present build of `unsnarl`: the time at which it was made.
pub fn build() -> Result<String> {
    let unsnarl = binary::unsnarl()?;
    let changed = fs::metadata(unsnarl)?
        .modified()?
        .duration_since(UNIX_EPOCH)?;
    Ok(format!("by-{}", changed.as_secs()))
}

fn path(folder: &str) -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| unsnarl_e2e::project().join("target"), PathBuf::from);
    Ok(target.join(folder).join(format!("{}.jsonl", build()?)))
}
