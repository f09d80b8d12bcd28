//! Judgements that are kept from one measurement to the next: a line of JSON for each.

use anyhow::Result;
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

/// The file with its content.
pub struct JudgementStore {
    file: File,
    known: HashMap<String, Judgement>,
}

impl JudgementStore {
    /// Opens the judgements by the present `unsnarl`; another build has another file.
    pub fn open() -> Result<JudgementStore> {
        let path = path()?;
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
            let judgement: Judgement = judgement;
            known.insert(judgement.id.clone(), judgement);
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        eprintln!("judgements are kept in {}", path.display());
        Ok(JudgementStore { file, known })
    }

    /// The judgement of this very mutant.
    pub fn get(&self, mutant: &Mutant) -> Option<Judgement> {
        let known = self.known.get(&mutant.id);
        known
            .filter(|known| known.mutant == fingerprint(mutant))
            .cloned()
    }

    /// Adds a judgement.
    pub fn keep(&mut self, judgement: &Judgement) -> Result<()> {
        let line = serde_json::to_string(judgement)? + "\n";
        self.file.write_all(line.as_bytes())?;
        Ok(())
    }
}

fn path() -> Result<PathBuf> {
    let unsnarl = binary::unsnarl()?;
    let changed = fs::metadata(unsnarl)?
        .modified()?
        .duration_since(UNIX_EPOCH)?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| unsnarl_e2e::project().join("target"), PathBuf::from);
    let name = format!("by-{}.jsonl", changed.as_secs());
    Ok(target.join("mutants").join(name))
}
