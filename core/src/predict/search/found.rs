//! Collected candidates, up to the requested number for each combination of source lines.

use crate::predict::{AnomalyCandidate, Pattern};
use rustc_hash::FxHashMap;
use unsnarl_trace::EventId;

/// Candidates found so far.
pub(super) struct FoundCandidates {
    per_lines: usize,
    /// Counts by pattern and lines.
    counts: FxHashMap<(usize, [u32; 4]), usize>,
    /// Counts for patterns of the user's, which may have more events.
    long: FxHashMap<(usize, Vec<u32>), usize>,
    pub candidates: Vec<AnomalyCandidate>,
}

impl FoundCandidates {
    pub fn new(per_lines: usize) -> FoundCandidates {
        FoundCandidates {
            per_lines: per_lines.max(1),
            counts: FxHashMap::default(),
            long: FxHashMap::default(),
            candidates: Vec::new(),
        }
    }

    /// Returns whether the pattern has enough candidates on these lines.
    pub fn enough(&self, pattern: usize, lines: [u32; 4]) -> bool {
        self.counts
            .get(&(pattern, lines))
            .is_some_and(|&count| count >= self.per_lines)
    }

    /// Adds a candidate.
    pub fn add(&mut self, number: usize, pattern: &Pattern, lines: [u32; 4], events: &[EventId]) {
        *self.counts.entry((number, lines)).or_default() += 1;
        self.push(pattern, events);
    }

    /// As `enough`, for any number of lines.
    pub fn enough_of(&self, pattern: usize, lines: &[u32]) -> bool {
        let count = self.long.get(&(pattern, lines.to_vec()));
        count.is_some_and(|&count| count >= self.per_lines)
    }

    /// As `add`, for any number of lines.
    pub fn add_of(&mut self, number: usize, pattern: &Pattern, lines: &[u32], events: &[EventId]) {
        *self.long.entry((number, lines.to_vec())).or_default() += 1;
        self.push(pattern, events);
    }

    fn push(&mut self, pattern: &Pattern, events: &[EventId]) {
        self.candidates.push(AnomalyCandidate {
            class: pattern.class,
            pattern: pattern.name.clone(),
            events: events.to_vec(),
        });
    }
}
