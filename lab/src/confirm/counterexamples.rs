//! Runs that speak against proposals, kept so that they can be looked at and replayed.
//!
//! They lie beside the recorded runs and not among them: they were made to have an order, and would spoil every comparison.

use crate::dsp::Executor;
use std::{cell::RefCell, fs, path::Path};
use unsnarl_core::diagnosis::{Counterexample, Shows};
use unsnarl_trace::{EncodedRun, Run, RunFolder};

/// The folder that they are kept in.
const FOLDER: &str = "counterexamples";

/// Runs that are kept of one call.
const RUNS: usize = 32;

/// Bytes that they may take together.
const BYTES: u64 = 64 << 20;

/// The runs that speak against what one call has proposed; those of the call before are removed.
pub struct Counterexamples {
    folder: RunFolder,
    kept: RefCell<KeptCounterexamples>,
}

#[derive(Default)]
struct KeptCounterexamples {
    runs: usize,
    bytes: u64,
    /// Reason that the first of the others could not be kept.
    problem: Option<String>,
}

impl Counterexamples {
    /// Those of the runs in a folder: empty.
    pub fn of(runs: &Path) -> Counterexamples {
        let new = Counterexamples {
            folder: RunFolder::new(runs).beside(FOLDER),
            kept: RefCell::default(),
        };
        if let Err(error) = new.clear() {
            let path = new.folder.path().display();
            new.fails(format!("cannot empty {path}: {error}"));
        }
        new
    }

    fn clear(&self) -> std::io::Result<()> {
        for file in self.folder.files()? {
            fs::remove_file(file.path)?;
        }
        Ok(())
    }

    fn fails(&self, problem: String) {
        self.kept.borrow_mut().problem.get_or_insert(problem);
    }

    /// Keeps a run of the executor's program as the user's own, if there is room.
    pub fn keep(&self, executor: &Executor<'_>, shows: Shows, run: &Run) -> Option<Counterexample> {
        match self.store(executor, run) {
            Ok(file) => file.map(|run| Counterexample { run, shows }),
            Err(error) => {
                self.fails(format!("{error:#}"));
                None
            }
        }
    }

    fn store(&self, executor: &Executor<'_>, run: &Run) -> anyhow::Result<Option<String>> {
        let encoded = EncodedRun::of(run)?;
        let mut kept = self.kept.borrow_mut();
        // One run may speak against several proposals.
        if self.folder.has(&encoded) {
            let file = self.folder.store_encoded(&encoded)?;
            return Ok(Some(file.display().to_string()));
        }
        if kept.runs >= RUNS || kept.bytes + encoded.len() > BYTES {
            return Ok(None);
        }
        let file = self.folder.store_encoded(&encoded)?;
        executor.vouch(run)?;
        kept.runs += 1;
        kept.bytes += encoded.len();
        Ok(Some(file.display().to_string()))
    }

    /// Reason that one could not be kept; none where all were, or there was no room.
    pub fn problem(&self) -> Option<String> {
        self.kept.borrow().problem.clone()
    }
}
