//! State of a search, stored beside the runs: the same command continues where it was interrupted.

use super::{division::Division, search::BoundedSearch, share::ExploredShare};
use crate::{
    record::{Job, RecordError, input_hash},
    shard::Shard,
};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use unsnarl_trace::Chances;

/// Version of the stored form.
const FORMAT: u32 = 3;

/// A bound within which everything was explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FinishedBound {
    /// Upper bound for the preemptions.
    pub bound: u32,
    /// Number of schedules.
    pub schedules: u64,
}

/// The state of a search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchState {
    format: u32,
    /// Smaller bounds, which are finished.
    pub finished: Vec<FinishedBound>,
    /// The bound that is being explored.
    pub search: BoundedSearch,
    /// Its units, if the tree is divided.
    #[serde(default)]
    pub division: Option<Division>,
    /// Number of runs so far, each schedule once.
    pub runs: u64,
    /// Number of failing runs among them.
    pub failing: u64,
    /// Bits of [`unsnarl_trace::raw::unlogged`]: dependences of the runs that the log does not show.
    pub unlogged: u32,
    /// Hashes of the schedules of all runs.
    pub made: FxHashSet<u64>,
}

impl SearchState {
    /// The state before the first run; with a bound, that of a shard, which explores its part within this bound.
    pub fn new(of_shard: Option<u32>) -> SearchState {
        SearchState {
            format: FORMAT,
            search: BoundedSearch::new(of_shard.unwrap_or(0)),
            division: of_shard.map(|_| Division::new()),
            ..SearchState::default()
        }
    }

    /// Estimates the explored part of what is to be explored within the bound.
    pub fn share(&self) -> ExploredShare {
        match self.division.as_ref().map(Division::left) {
            Some(left) => ExploredShare::of_units(left),
            None => self.search.share(),
        }
    }
}

/// The file in which the state of one search is kept.
#[derive(Clone, Debug)]
pub struct StateFile(PathBuf);

impl StateFile {
    /// The file for this job in the folder of runs: another build, command, input or kind of choices is
    /// another search, and so is another shard, or its part within another bound.
    pub fn of(
        folder: &Path,
        job: &Job,
        build_id: &str,
        chances: Chances,
        shard: Option<(Shard, u32)>,
    ) -> Result<StateFile, RecordError> {
        let mut hash = Sha256::new();
        hash.update(build_id);
        hash.update(input_hash(job)?);
        for word in &job.command {
            hash.update((word.as_bytes().len() as u64).to_le_bytes());
            hash.update(word.as_bytes());
        }
        hash.update(job.directory.as_os_str().as_bytes());
        hash.update(format!("{chances:?} {:?}", job.limits));
        if !job.criteria.is_usual() {
            hash.update(format!("{:?}", job.criteria));
        }
        if let Some((shard, bound)) = shard {
            hash.update(format!("shard {shard} within {bound}"));
        }
        let key: String = hash
            .finalize()
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(StateFile(folder.join(format!("exhaustive-{key}.json"))))
    }

    /// The state, if there is one.
    pub fn load(&self) -> Result<Option<SearchState>, RecordError> {
        let text = match fs::read(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unusable(error.to_string())),
        };
        let state: SearchState =
            serde_json::from_slice(&text).map_err(|error| self.unusable(error.to_string()))?;
        if state.format != FORMAT {
            return Err(self.unusable(format!("it has format {}", state.format)));
        }
        Ok(Some(state))
    }

    fn unusable(&self, why: String) -> RecordError {
        RecordError::SearchState {
            file: self.0.clone(),
            why,
        }
    }

    /// Stores the state in place of the one before.
    pub fn store(&self, state: &SearchState) -> Result<(), RecordError> {
        let beside = self
            .0
            .with_extension(format!("json.{}", std::process::id()));
        let written = serde_json::to_vec(state)
            .map_err(io::Error::from)
            .and_then(|text| {
                if let Some(folder) = self.0.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(&beside, text)?;
                fs::rename(&beside, &self.0)
            });
        written.map_err(|error| {
            // What was half written is of no use; that it is in the way is not worth another message.
            let _ = fs::remove_file(&beside);
            self.unusable(error.to_string())
        })
    }

    /// Removes the state: the search has ended.
    pub fn remove(&self) -> Result<(), RecordError> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.unusable(error.to_string()))
            }
            _ => Ok(()),
        }
    }
}
