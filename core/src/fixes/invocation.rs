//! Sections of a lock and accesses within one call of a function.

use super::{lock_calls::of_waits, mutexes::lock_name, places::FunctionLines};
use crate::{
    callers::call_sites,
    orders::{Locks, Section},
};
use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};
use unsnarl_trace::{EventId, Location, LocationId, Run, SiteId, ThreadId};

/// The sections of a run by lock and thread, with the call paths of all queried rows.
pub(super) struct Invocations<'a> {
    pub run: &'a Run,
    pub locks: Locks,
    by_owner: BTreeMap<(LocationId, ThreadId), Vec<Section>>,
    by_lock: BTreeMap<LocationId, Vec<Section>>,
    /// Rows at which waits on conditions release locks and reacquire them.
    waits: BTreeSet<EventId>,
    /// Rows by thread, computed on first use.
    rows: OnceCell<BTreeMap<ThreadId, Vec<EventId>>>,
}

/// Two rows in one call of a function.
pub(super) struct Together {
    /// Number of frames outside of the function.
    pub depth: usize,
    pub file: String,
    pub function: String,
    /// The lines of the function that lead to the two rows.
    pub lines: (u32, u32),
}

impl<'a> Invocations<'a> {
    /// Collects the sections of a run. Linear in the run. The release and reacquisition of a lock by a wait
    /// on a condition do not separate sections, and those of a library's own locks are no concern of the program's.
    pub fn of(run: &'a Run) -> Invocations<'a> {
        let locks = Locks::new(run, &mut Vec::new());
        let waits = of_waits(run);
        let mut by_owner: BTreeMap<(LocationId, ThreadId), Vec<Section>> = BTreeMap::new();
        for section in locks.sections() {
            let is_wait = |row: &EventId| waits.contains(row);
            if Location::of(run.location(section.lock)).is_of_library() {
                continue;
            }
            if !is_wait(&section.acquired) && !section.released.as_ref().is_some_and(is_wait) {
                let key = (section.lock, section.thread);
                by_owner.entry(key).or_default().push(*section);
            }
        }
        let mut by_lock: BTreeMap<LocationId, Vec<Section>> = BTreeMap::new();
        for section in locks.sections() {
            by_lock.entry(section.lock).or_default().push(*section);
        }
        Invocations {
            run,
            locks,
            by_owner,
            by_lock,
            waits,
            rows: OnceCell::new(),
        }
    }

    /// The sections of other threads between two sections of one lock.
    pub fn between(&self, one: &Section, other: &Section) -> Vec<&Section> {
        let all = self.by_lock.get(&one.lock).map_or(&[][..], Vec::as_slice);
        let from = all.partition_point(|section| section.acquired <= one.acquired);
        let to = all.partition_point(|section| section.acquired < other.acquired);
        all.get(from..to).unwrap_or(&[]).iter().collect()
    }

    /// The sections of each lock and thread, in order.
    pub fn sections(&self) -> impl Iterator<Item = &[Section]> {
        self.by_owner.values().map(Vec::as_slice)
    }

    /// The sections of one lock by one thread, in order, without those that a wait ends or begins.
    pub fn sections_of(&self, lock: LocationId, thread: ThreadId) -> &[Section] {
        let own = self.by_owner.get(&(lock, thread));
        own.map_or(&[], Vec::as_slice)
    }

    /// Consecutive sections of one lock and thread between which the thread itself has released the lock and
    /// acquired it again.
    pub fn given_up(&self) -> Vec<(&Section, &Section)> {
        let mut last: BTreeMap<(LocationId, ThreadId), &Section> = BTreeMap::new();
        let mut found = Vec::new();
        for section in self.locks.sections() {
            let before = last.insert((section.lock, section.thread), section);
            let Some(before) = before else { continue };
            let by_wait = |row: EventId| self.waits.contains(&row);
            if !before.released.is_none_or(by_wait) && !by_wait(section.acquired) {
                found.push((before, section));
            }
        }
        found
    }

    /// The last section of each lock and thread that ended, by a release of the thread's own.
    pub fn last_sections(&self) -> Vec<&Section> {
        let mut last: BTreeMap<(LocationId, ThreadId), &Section> = BTreeMap::new();
        for section in self.locks.sections() {
            last.insert((section.lock, section.thread), section);
        }
        let own = |section: &&Section| section.released.is_some_and(|at| !self.waits.contains(&at));
        last.into_values().filter(own).collect()
    }

    /// The sections of a thread for locks of the queried name.
    pub fn named<'s>(
        &'s self,
        thread: ThreadId,
        is_it: &'s dyn Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'s Section> {
        let own = self
            .by_owner
            .iter()
            .filter(move |((_, owner), _)| *owner == thread);
        let named = own.filter(move |(_, sections)| {
            let first = sections.first();
            first.is_some_and(|section| is_it(&lock_name(self.run, section.acquired)))
        });
        named.flat_map(|(_, sections)| sections)
    }

    /// The innermost function with both rows of a thread in one call, the first before the second in the
    /// text, and without a return in between.
    pub fn together(&self, first: EventId, second: EventId) -> Option<Together> {
        let (a, b) = (call_sites(self.run, first), call_sites(self.run, second));
        let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        let depth = same.min(a.len().min(b.len()).saturating_sub(1));
        let (one, other) = (
            self.run.meta.site(*a.get(depth)?),
            self.run.meta.site(*b.get(depth)?),
        );
        let is_same = (&one.file, &one.function) == (&other.file, &other.function);
        let is_forward = one.line != 0 && one.line <= other.line;
        if !is_same || !is_forward || !self.stays(first, second, a.get(..depth)?) {
            return None;
        }
        Some(Together {
            depth,
            file: one.file.clone(),
            function: one.function.clone(),
            lines: (one.line, other.line),
        })
    }

    /// Returns whether the thread stays within these calls from one row to another.
    fn stays(&self, first: EventId, second: EventId, callers: &[SiteId]) -> bool {
        let thread = self.run.events.get(first).map(|event| event.thread);
        let rows = self.rows.get_or_init(|| by_thread(self.run));
        let own = thread.and_then(|thread| rows.get(&thread));
        let own = own.map_or(&[][..], Vec::as_slice);
        let from = own.partition_point(|row| *row < first);
        let to = own.partition_point(|row| *row <= second);
        let mut known = BTreeSet::new();
        own.get(from..to).unwrap_or(&[]).iter().all(|row| {
            let event = self.run.events.get(*row);
            let key = event.map(|event| (event.site, event.stack));
            !known.insert(key) || {
                let sites = call_sites(self.run, *row);
                sites.len() > callers.len() && sites.starts_with(callers)
            }
        })
    }
}

fn by_thread(run: &Run) -> BTreeMap<ThreadId, Vec<EventId>> {
    let mut rows: BTreeMap<ThreadId, Vec<EventId>> = BTreeMap::new();
    for (row, event) in run.events.iter() {
        rows.entry(event.thread).or_default().push(row);
    }
    rows
}

impl Together {
    /// The lines between the two, inclusive.
    pub fn place(&self) -> FunctionLines {
        FunctionLines {
            file: self.file.clone(),
            function: self.function.clone(),
            first: self.lines.0,
            last: self.lines.1,
        }
    }
}
