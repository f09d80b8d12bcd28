//! `unsnarl-fleet summarize`.

use super::runtime;
use anyhow::{Context, Result};
use futures_util::{StreamExt as _, stream};
use std::{
    fmt::Display,
    io::{self, BufRead},
    path::Path,
    process::ExitCode,
};
use unsnarl_fleet::{
    storage::{ObjectKind, ObjectName, Placed, RunStorage, is_url},
    summary::{write_beside, write_stored},
};
use unsnarl_trace::RunFolder;

/// Stored runs that are summarized at one time: each is in memory.
const AT_ONCE: usize = 4;

/// Writes a summary beside each run in these places.
pub fn run(places: &[String]) -> Result<ExitCode> {
    let mut count = SummaryCount::default();
    for place in places {
        count.add_place(place)?;
    }
    eprintln!(
        "{} summaries written, {} were there",
        count.written, count.there
    );
    Ok(ExitCode::from(u8::from(count.failed > 0)))
}

/// Counts of run files.
#[derive(Default)]
struct SummaryCount {
    written: u64,
    there: u64,
    failed: u64,
}

impl SummaryCount {
    fn add_place(&mut self, place: &str) -> Result<()> {
        if is_url(place) {
            return runtime()?.block_on(self.add_stored(&RunStorage::open(place)?));
        }
        if place == "-" {
            for line in io::stdin().lock().lines() {
                self.add_file(Path::new(&line.context("the list of runs cannot be read")?));
            }
        } else if Path::new(place).is_dir() {
            let files = RunFolder::new(place).files();
            let files = files.with_context(|| format!("cannot read {place}"))?;
            files.iter().for_each(|file| self.add_file(&file.path));
        } else {
            self.add_file(Path::new(place));
        }
        Ok(())
    }

    fn add_file(&mut self, file: &Path) {
        match write_beside(file) {
            Ok(Some(_)) => self.written += 1,
            Ok(None) => self.there += 1,
            Err(error) => self.fail(&error),
        }
    }

    async fn add_stored(&mut self, storage: &RunStorage) -> Result<()> {
        let names = storage.list().await?;
        let runs = names.keys().filter(|name| name.kind() == ObjectKind::Run);
        let has_summary = |run: &&ObjectName| {
            run.summary()
                .is_some_and(|summary| names.contains_key(&summary))
        };
        let (there, missing): (Vec<_>, Vec<_>) = runs.partition(has_summary);
        self.there += there.len() as u64;
        let written = stream::iter(missing).map(|run| write_stored(storage, run));
        let mut written = written.buffer_unordered(AT_ONCE);
        while let Some(result) = written.next().await {
            match result {
                Ok(Placed::Written) => self.written += 1,
                Ok(Placed::WasThere) => self.there += 1,
                Err(error) => self.fail(&error),
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: &dyn Display) {
        self.failed += 1;
        eprintln!("warning: {error}");
    }
}
