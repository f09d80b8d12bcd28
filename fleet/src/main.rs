//! `unsnarl-fleet`: the runs of many machines.

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::{
    io::{self, BufRead},
    path::{Path, PathBuf},
    process::ExitCode,
};
use unsnarl_fleet::summary::write_beside;
use unsnarl_trace::RunFolder;

/// Works with the runs of many machines as one corpus (docs/fleet.md).
#[derive(Parser)]
#[command(name = "unsnarl-fleet", version)]
struct FleetCommandLine {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Subcommand)]
enum FleetCommand {
    /// Write a summary beside each run that has none
    ///
    /// Exit status: 0 every run has a summary, 1 some run cannot be summarized (it is told why), 2 usage.
    Summarize {
        /// Folders of runs, or run files; - for the names of run files on standard input, one in each line
        #[arg(required = true)]
        places: Vec<PathBuf>,
    },
}

fn main() -> Result<ExitCode> {
    let FleetCommand::Summarize { places } = FleetCommandLine::parse().command;
    let mut count = SummaryCount::default();
    for place in &places {
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
    fn add_place(&mut self, place: &Path) -> Result<()> {
        if place == "-" {
            for line in io::stdin().lock().lines() {
                self.add(Path::new(&line.context("the list of runs cannot be read")?));
            }
        } else if place.is_dir() {
            let files = RunFolder::new(place).files();
            let files = files.with_context(|| format!("cannot read {}", place.display()))?;
            files.iter().for_each(|file| self.add(&file.path));
        } else {
            self.add(place);
        }
        Ok(())
    }

    fn add(&mut self, file: &Path) {
        match write_beside(file) {
            Ok(Some(_)) => self.written += 1,
            Ok(None) => self.there += 1,
            Err(error) => {
                self.failed += 1;
                eprintln!("warning: {error}");
            }
        }
    }
}
