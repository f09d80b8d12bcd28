//! The bugs of published case studies among `tests/programs`, and runs of them to compare engines with.

use anyhow::{Context, Result, ensure};
use std::{collections::BTreeSet, path::Path, sync::Arc};
use unsnarl_core::{Corpus, CorpusKey, RunSummary, explanation::Place};
use unsnarl_e2e::{Expectation, TestProgram, TestedCompiler, Workspace};
use unsnarl_trace::{Run, read_run};

/// Runs of one recording.
const CAMPAIGN: &str = "120";
/// Recordings after which there is too little.
const CAMPAIGNS: u64 = 40;
/// First seeds of recordings lie so far apart that no two share a run.
const APART: u64 = 1_000_000;

/// A program's runs: passing ones first come, and failing ones.
pub struct RecordedProgram {
    /// The program with its expectation.
    pub program: TestProgram,
    /// Names and runs.
    pub passing: Vec<(String, Arc<Run>)>,
    /// Names and runs.
    pub failing: Vec<(String, Arc<Run>)>,
}

/// Records random schedules of a program until there are so many passing and failing runs.
pub fn record(name: &str, passing: usize, failing: usize) -> Result<RecordedProgram> {
    let program = TestProgram::open(name)?;
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    let mut recorded = RecordedProgram {
        program,
        passing: Vec::new(),
        failing: Vec::new(),
    };
    for campaign in 1..=CAMPAIGNS {
        if recorded.passing.len() >= passing && recorded.failing.len() >= failing {
            recorded.passing.truncate(passing);
            recorded.failing.truncate(failing);
            return Ok(recorded);
        }
        let (seed, out) = ((campaign * APART).to_string(), format!("runs-{campaign}"));
        let words = [
            &[
                "record",
                "-n",
                CAMPAIGN,
                "--strategy",
                "random",
                "--seed",
                &seed,
            ][..],
            &["--out", &out],
            &recorded.program.recording(),
            &["--", &command],
        ]
        .concat();
        let finished = workspace.unsnarl(&words)?;
        ensure!(matches!(finished.status, Some(0 | 1)), "{finished}");
        recorded.take(&workspace, &out)?;
    }
    anyhow::bail!(
        "{} passing and {} failing runs of {name} in {CAMPAIGNS} recordings are too few",
        recorded.passing.len(),
        recorded.failing.len()
    )
}

impl RecordedProgram {
    /// Takes the runs of a folder, in the order of their seeds.
    fn take(&mut self, workspace: &Workspace, folder: &str) -> Result<()> {
        let mut names = workspace.runs_in(folder)?;
        names.sort_by_key(|name| seed_of(name));
        for name in names {
            let path = workspace.path().join(folder).join(&name);
            let run = Arc::new(read_run(&path).with_context(|| name.clone())?);
            let named = (format!("{folder}/{name}"), run);
            match &named.1.meta.outcome {
                outcome if outcome.is_failure() => self.failing.push(named),
                unsnarl_trace::Outcome::Passed => self.passing.push(named),
                _ => {}
            }
        }
        Ok(())
    }

    /// The first passing runs, and the first failing ones.
    pub fn corpus(&self, passing: usize, failing: usize) -> Corpus {
        let mut corpus = Corpus::new(CorpusKey::default());
        let runs = self.passing.iter().take(passing);
        for (name, run) in runs.chain(self.failing.iter().take(failing)) {
            corpus.insert(RunSummary::new(name.clone(), run.clone()));
        }
        corpus
    }
}

/// `failed-random-17-0a1b2c3d.arrow` has seed 17.
fn seed_of(name: &str) -> Option<u64> {
    name.rsplit('-').nth(1)?.parse().ok()
}

/// Returns whether these places name the bug: only lines that the program's header calls causes or interference (or
/// says may be named), with a cause among them.
pub fn is_right(expectation: &Expectation, file: &Path, places: &[&Place]) -> bool {
    let lines = |wanted: &str| -> BTreeSet<u32> {
        let parts = expectation.parts.iter();
        let parts = parts.filter(|(part, _)| part.starts_with(wanted));
        parts.flat_map(|(_, lines)| lines.clone()).collect()
    };
    let (all, causes) = (lines(""), lines("cause"));
    let here = |place: &&Place| Path::new(&place.file).file_name() == file.file_name();
    places
        .iter()
        .all(|place| here(place) && all.contains(&place.line))
        && places.iter().any(|place| causes.contains(&place.line))
}
