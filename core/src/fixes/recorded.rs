//! The recorded critical sections of a fix's lock, queried by row.

use super::{Fix, mutexes::lock_name, sections::LockSpan};
use crate::{facts::family, orders::Locks};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::Run;

/// Sections of one thread and one lock, by their start.
#[derive(Default)]
struct Own {
    spans: Vec<LockSpan>,
    /// The latest end of each section and all before it: sections of a recursive lock are nested.
    latest: Vec<u32>,
}

/// All sections of the locks of a fix.
#[derive(Default)]
pub(super) struct RecordedSections {
    spans: Vec<LockSpan>,
    own: BTreeMap<(u16, Option<u32>), Own>,
    /// Indices in `spans` of the sections that end at each row.
    ends: BTreeMap<u32, Vec<usize>>,
}

impl RecordedSections {
    /// Collects the sections of a run; none where the fix brings its own lock. Linear in the run, except for
    /// the sorting.
    pub fn of(fix: &Fix, run: &Run) -> RecordedSections {
        let mut recorded = RecordedSections::default();
        let Some(lock) = fix.lock.as_deref().map(family) else {
            return recorded;
        };
        let end = run.events.len() as u32;
        let locks = Locks::new(run, &mut Vec::new());
        // There are few locks and many sections.
        let mut names: BTreeMap<u32, bool> = BTreeMap::new();
        for section in locks.sections() {
            let is_it = || family(&lock_name(run, section.acquired)) == lock;
            if *names.entry(section.lock.0).or_insert_with(is_it) {
                recorded.add(LockSpan {
                    first: section.acquired.0,
                    last: section.released.map_or(end, |row| row.0),
                    thread: section.thread.0,
                    lock: Some(section.lock.0),
                    is_shared: section.shared,
                    is_new: false,
                });
            }
        }
        recorded
    }

    fn add(&mut self, span: LockSpan) {
        let own = self.own.entry((span.thread, span.lock)).or_default();
        let latest = own.latest.last().copied().unwrap_or(0);
        own.latest.push(latest.max(span.last));
        own.spans.push(span);
        self.ends
            .entry(span.last)
            .or_default()
            .push(self.spans.len());
        self.spans.push(span);
    }

    /// All sections, by their start.
    pub fn spans(&self) -> &[LockSpan] {
        &self.spans
    }

    /// The locks of the sections, by location.
    pub fn locks(&self) -> BTreeSet<u32> {
        self.own.keys().filter_map(|(_, lock)| *lock).collect()
    }

    /// The sections that strictly contain a row of a thread; of all locks if none is given.
    pub fn around(
        &self,
        thread: u16,
        lock: Option<u32>,
        row: u32,
    ) -> impl Iterator<Item = &LockSpan> {
        let of_thread = self.own.range((thread, None)..=(thread, Some(u32::MAX)));
        let wanted = of_thread.filter(move |((_, own), _)| lock.is_none() || lock == *own);
        wanted.flat_map(move |(_, own)| own.around(row))
    }

    /// The sections that end at a row.
    pub fn ending(&self, row: u32) -> impl Iterator<Item = &LockSpan> {
        let at = self.ends.get(&row).map_or(&[][..], Vec::as_slice);
        at.iter().filter_map(|at| self.spans.get(*at))
    }
}

impl Own {
    fn around(&self, row: u32) -> impl Iterator<Item = &LockSpan> {
        let before = self.spans.partition_point(|span| span.first < row);
        let begun = self.spans.get(..before).unwrap_or_default().iter().rev();
        let latest = self.latest.get(..before).unwrap_or_default().iter().rev();
        let open = begun
            .zip(latest)
            .take_while(move |(_, latest)| **latest > row);
        open.map(|(span, _)| span)
            .filter(move |span| span.last > row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span((first, length, thread, lock): (u32, u32, u16, u32)) -> LockSpan {
        LockSpan {
            first,
            last: first + length,
            thread,
            lock: Some(lock),
            is_shared: false,
            is_new: false,
        }
    }

    proptest! {
        #[test]
        fn rows_are_in_the_sections_around_them(
            mut spans in proptest::collection::vec((0u32..60, 1u32..20, 0u16..3, 0u32..2), 0..40),
            thread in 0u16..3,
            lock in proptest::option::of(0u32..2),
            row in 0u32..80,
        ) {
            spans.sort_unstable();
            let mut recorded = RecordedSections::default();
            spans.iter().copied().map(span).for_each(|span| recorded.add(span));
            let is_around = |span: &&LockSpan| span.thread == thread
                && (lock.is_none() || span.lock == lock)
                && span.first < row && row < span.last;
            let mut found: Vec<LockSpan> = recorded.around(thread, lock, row).copied().collect();
            let mut expected: Vec<LockSpan> = recorded.spans().iter().filter(is_around).copied().collect();
            found.sort_by_key(|span| (span.lock, span.first, span.last));
            expected.sort_by_key(|span| (span.lock, span.first, span.last));
            prop_assert_eq!(found, expected);
            let ending = recorded.ending(row).count();
            prop_assert_eq!(ending, recorded.spans().iter().filter(|span| span.last == row).count());
        }
    }
}
