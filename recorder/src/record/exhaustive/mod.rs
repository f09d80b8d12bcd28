//! Exhaustive search with a bound on preemptions: all schedules without a preemption, then those with
//! one, and so on.
//!
//! Choices other than threads are explored as well; an unusual outcome counts as a preemption, and so
//! does going on in spite of having given way. The smaller bounds are explored again on the way to a larger one,
//! since what they showed is needed to know what to try; those runs are not counted again. A shard explores its part of
//! the largest bound only, since a schedule could belong to another shard within another bound.

mod division;
pub mod path;
mod races;
pub mod search;
mod share;
mod sleep;
mod state;
pub mod steps;

#[cfg(test)]
mod machine;
#[cfg(test)]
mod tests;

use super::{RecordError, seen::MadeRun};
use crate::shard::Shard;
use path::ExecutedPath;
use rustc_hash::FxHasher;
use search::BoundedSearch;
use state::{FinishedBound, SearchState};
use std::{
    fmt,
    hash::{Hash, Hasher},
    time::{Duration, Instant},
};
use steps::Unsearchable;
use unsnarl_trace::raw::unlogged;

pub use share::ExploredShare;
pub use state::StateFile;

/// Interval at which the state is stored while the search runs.
const STORE_EVERY: Duration = Duration::from_secs(5);

/// A search, bound after bound.
#[derive(Debug)]
pub struct Exhaustive {
    most: u32,
    /// The shard to explore, if the tree is divided.
    shard: Option<Shard>,
    state: SearchState,
    file: Option<StateFile>,
    stored: Instant,
    is_over: bool,
    unsearchable: Option<Unsearchable>,
}

impl Exhaustive {
    /// Begins a search up to the bound `most`, or continues the one that the file holds. A shard explores its part only.
    pub fn begin(
        most: u32,
        file: Option<StateFile>,
        shard: Option<Shard>,
    ) -> Result<Exhaustive, RecordError> {
        let stored = match &file {
            Some(file) => file.load()?,
            None => None,
        };
        Ok(Exhaustive {
            most,
            shard,
            state: stored.unwrap_or_else(|| SearchState::new(shard.map(|_| most))),
            file,
            stored: Instant::now(),
            is_over: false,
            unsearchable: None,
        })
    }

    /// The choices to follow next; `None` when nothing is left.
    pub fn next_prefix(&self) -> Option<Vec<u16>> {
        (!self.is_over).then(|| self.state.search.prefix())
    }

    /// Learns from the run of the prefix; returns whether it was not yet made within a smaller bound.
    pub fn observe(&mut self, seen: &MadeRun<'_>) -> Result<bool, RecordError> {
        let choices: Vec<u16> = seen.made.log()?.schedule().choices().collect();
        let is_own = match (&self.state.division, self.shard) {
            (Some(division), Some(shard)) => division.is_own(shard),
            _ => true,
        };
        let is_new = is_own && self.state.made.insert(hash(&choices));
        if is_new {
            self.state.runs += 1;
            self.state.failing += u64::from(seen.ended.outcome.is_failure());
        }
        let Some(details) = seen.made.details()? else {
            return Ok(is_new);
        };
        self.state.unlogged |= details.unlogged | seen.of_libraries();
        match steps::path(&details) {
            Ok(path) => self.learn(&path),
            Err(why) => {
                self.unsearchable = Some(why);
                self.is_over = true;
            }
        }
        self.turn();
        self.store_now_and_then()?;
        Ok(is_new)
    }

    /// Notes that the run of the prefix left nothing to learn from.
    pub fn lost(&mut self) {
        let SearchState {
            search, division, ..
        } = &mut self.state;
        match (division, self.shard) {
            (Some(division), Some(shard)) => division.skip(search, shard),
            _ => search.skip(),
        }
        self.turn();
    }

    fn learn(&mut self, path: &ExecutedPath) {
        let SearchState {
            search, division, ..
        } = &mut self.state;
        match (division, self.shard) {
            (Some(division), Some(shard)) => division.learn(search, path, shard),
            _ => search.learn(path),
        }
    }

    /// Turns to the next bound, if this one is finished and there is one.
    fn turn(&mut self) {
        let SearchState {
            search, finished, ..
        } = &mut self.state;
        if !search.is_done {
            return;
        }
        finished.push(FinishedBound {
            bound: search.bound,
            schedules: search.explored,
        });
        self.is_over |= search.bound >= self.most || !search.is_cut;
        if !self.is_over {
            let strayed = search.strayed;
            *search = BoundedSearch::new(search.bound + 1);
            search.strayed = strayed;
        }
    }

    fn store_now_and_then(&mut self) -> Result<(), RecordError> {
        if self.stored.elapsed() < STORE_EVERY {
            return Ok(());
        }
        self.stored = Instant::now();
        self.store()
    }

    fn store(&self) -> Result<(), RecordError> {
        match &self.file {
            Some(file) => file.store(&self.state),
            None => Ok(()),
        }
    }

    /// Stores the state for the same command to continue, or removes it when the search is over.
    pub fn leave(&self) -> Result<(), RecordError> {
        match &self.file {
            Some(file) if self.is_over => file.remove(),
            _ => self.store(),
        }
    }

    /// The progress so far.
    pub fn progress(&self) -> SearchProgress {
        let SearchState {
            search, finished, ..
        } = &self.state;
        SearchProgress {
            finished: finished
                .iter()
                .map(|finished| (finished.bound, finished.schedules))
                .collect(),
            current: (!self.is_over).then(|| (search.bound, search.explored, self.state.share())),
            is_complete: self.is_over
                && self.shard.is_none()
                && self.unsearchable.is_none()
                && !search.is_cut,
            strayed: search.strayed,
            unlogged: self.state.unlogged,
            unsearchable: self.unsearchable,
            shard: self.shard,
            runs: self.state.runs,
            failing: self.state.failing,
        }
    }
}

fn hash(choices: &[u16]) -> u64 {
    let mut hasher = FxHasher::default();
    choices.hash(&mut hasher);
    hasher.finish()
}

/// The progress of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchProgress {
    /// Bounds within which everything was explored, with the number of schedules.
    pub finished: Vec<(u32, u64)>,
    /// The bound that is being explored, the number of schedules so far, and an estimate of the explored part.
    pub current: Option<(u32, u64, ExploredShare)>,
    /// `true` if no bound was in the way: there is no other order of dependent steps. A shard alone cannot know that.
    pub is_complete: bool,
    /// Schedules that the program did not follow.
    pub strayed: u64,
    /// Bits of [`unsnarl_trace::raw::unlogged`]: dependences of the runs that the log does not show.
    pub unlogged: u32,
    /// The reason for which the search was given up.
    pub unsearchable: Option<Unsearchable>,
    /// The shard that was explored, if the tree was divided.
    pub shard: Option<Shard>,
    /// Number of runs so far, including those of interrupted searches before.
    pub runs: u64,
    /// Number of failing runs among them.
    pub failing: u64,
}

impl SearchProgress {
    /// Dependences that the search does not see, if the program has such.
    pub fn blind_to(&self) -> Option<String> {
        let kinds = [
            (unlogged::TIME, "look at the clock or wait for a time"),
            (
                unlogged::KERNEL,
                "wait for descriptors, children or locks of files",
            ),
            (unlogged::CANCELLATION, "cancel each other"),
            (
                unlogged::LIBRARY,
                "may take locks inside of a library that was not built for recording",
            ),
        ];
        let done = kinds.iter().filter(|(bit, _)| self.unlogged & bit != 0);
        let done: Vec<&str> = done.map(|(_, what)| *what).collect();
        let unseen = (!done.is_empty()).then(|| {
            format!(
                "threads {}: orders that differ in nothing else were not looked for",
                done.join(", ")
            )
        });
        let cut_off = (self.unlogged & unlogged::CUT_OFF != 0).then(|| {
            "the process ends while other threads go on: not all that they would do was looked at"
                .to_owned()
        });
        let limits: Vec<String> = unseen.into_iter().chain(cut_off).collect();
        (!limits.is_empty()).then(|| limits.join("; "))
    }
}

impl fmt::Display for SearchProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = self.unsearchable {
            return write!(f, "the program cannot be searched exhaustively: {why}");
        }
        if let Some(shard) = self.shard {
            write!(f, "shard {shard}: ")?;
        }
        if self.strayed > 0 {
            write!(
                f,
                "{} schedules could not be followed, so not everything was seen; ",
                self.strayed
            )?;
        }
        match (self.current, self.finished.last()) {
            (Some((bound, explored, share)), _) => write!(
                f,
                "bound {bound}: an estimated {} to {} of the schedules ({explored} explored)",
                percent(share.low),
                percent(share.high)
            ),
            (None, Some((_, schedules))) if self.is_complete && self.unlogged == 0 => {
                write!(
                    f,
                    "all {schedules} schedules: a larger bound would show no other order of what the threads share"
                )
            }
            (None, Some((bound, schedules))) => {
                write!(f, "bound {bound}: all {schedules} schedules")
            }
            (None, None) => f.write_str("nothing was searched"),
        }
    }
}

/// Formats a percentage that is 0 % only of nothing, and 100 % only of everything.
fn percent(share: f64) -> String {
    match share * 100.0 {
        small if small < 0.1 => "less than 0.1 %".to_owned(),
        part if part < 10.0 => format!("{part:.1} %"),
        part => format!("{:.0} %", part.min(99.0)),
    }
}
