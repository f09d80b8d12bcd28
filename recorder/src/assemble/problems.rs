//! Defects of a run that its reader should know.

use super::raw_log::RawLog;
use unsnarl_trace::SiteId;

/// Counts of steps that could not be recorded properly.
#[derive(Default)]
pub(super) struct RecordingProblems {
    /// Records that were never completed.
    pub holes: u64,
    shortened: Vec<SiteId>,
    /// Rows that were left out because the run has too many.
    pub rows_left_out: u64,
    /// Path mode: blocks whose place in the program is not certain.
    pub lost_blocks: u64,
    /// Path mode: steps whose order makes no sense.
    pub unordered: u64,
}

impl RecordingProblems {
    /// A range access at this site was not followed to its end.
    pub fn shortened(&mut self, site: SiteId) {
        if !self.shortened.contains(&site) {
            self.shortened.push(site);
        }
    }

    /// The defects in words.
    pub fn texts(&self, log: &RawLog<'_>, label: impl Fn(SiteId) -> String) -> Vec<String> {
        let mut texts = Vec::new();
        if self.holes > 0 {
            texts.push(format!(
                "{} records of the log were never completed: the run ended in them",
                self.holes
            ));
        }
        for site in &self.shortened {
            texts.push(format!(
                "the range accessed at {} is longer than 4096 parts: only its beginning is recorded",
                label(*site)
            ));
        }
        if self.rows_left_out > 0 {
            texts.push(format!(
                "{} parts of range accesses are left out: the run has too many",
                self.rows_left_out
            ));
        }
        if self.lost_blocks > 0 {
            texts.push(format!(
                "the places of {} blocks are not certain: they are in no module that is known, or in two",
                self.lost_blocks
            ));
        }
        if self.unordered > 0 {
            texts.push(format!(
                "the order of {} steps of synchronization makes no sense: the log was spoiled",
                self.unordered
            ));
        }
        if log.forks() > 0 {
            texts.push(format!(
                "the program forked child processes ({}): they are not recorded",
                log.forks()
            ));
        }
        let noted = log.schedule().len() as u64;
        if log.decisions() > noted {
            texts.push(format!(
                "the schedule is cut after {noted} of {} choices: the run cannot be replayed to its end",
                log.decisions()
            ));
        }
        if log.diverged() > 0 {
            texts.push(format!(
                "{} choices of the replayed schedule could not be followed, the first was number {}",
                log.diverged(),
                log.first_divergence()
            ));
        }
        texts
    }
}
