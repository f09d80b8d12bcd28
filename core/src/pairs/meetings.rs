//! Groups of pairs of a run that occur together: between the same threads, and in the same iterations of
//! their loops.
//!
//! Test Procedure III compares whether two pairs occur *together*. The meaning depends on the precision, and
//! each precision is a way to group the occurrences of pairs:
//!
//! * pc: one group for the whole run;
//! * tid: one for two threads, with the pairs in one direction apart from those in the other;
//! * loop: one for two threads and an iteration of each, again with two directions.
//!
//! An occurrence in nested loops is in the groups of all iterations around it, each time with the inner loops
//! that contain its ends: two ends in different iterations of the same loop are not together.

use super::{
    collect::CollectedPairs,
    loops::Loops,
    matrix::{Matrix, MatrixItem, together},
    radix::sort_by_number,
};
use crate::orders::Dependency;
use rustc_hash::{FxHashMap, FxHasher};
use std::{
    collections::hash_map,
    hash::{Hash, Hasher},
    ops::Range,
};
use unsnarl_trace::{EventId, Outcome, Run};

/// Marks a pair with more than one location.
pub const SEVERAL: u32 = u32::MAX;

/// A pair in a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MetPair {
    /// Inner loops that contain the ends, those of the group's first thread first; 0 for none.
    pub within: (u32, u32),
    /// Index in [`RunPairs::pairs`](super::RunPairs::pairs).
    pub pair: u32,
    /// Location, or [`SEVERAL`].
    pub location: u32,
    /// Head of its first occurrence there.
    pub head: EventId,
    /// Tail of its first occurrence there.
    pub tail: EventId,
}

/// Pairs between two threads.
#[derive(Clone, Copy, Debug)]
pub struct ThreadGroup<'a> {
    /// From the first thread to the second, sorted.
    pub forward: &'a [MetPair],
    /// From the second thread to the first, sorted.
    pub backward: &'a [MetPair],
}

/// The groups of a run at one precision.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Meetings {
    met: Vec<MetPair>,
    /// Start of each group and of its backward half.
    groups: Vec<(u32, u32)>,
}

impl Meetings {
    /// The groups in the order of their threads.
    pub fn groups(&self) -> impl Iterator<Item = ThreadGroup<'_>> {
        let ends = self.groups.iter().skip(1).map(|(start, _)| *start);
        let ends = ends.chain([self.met.len() as u32]);
        self.groups.iter().zip(ends).map(|(&(start, half), end)| {
            let part = |from: u32, to: u32| {
                let part = self.met.get(from as usize..to as usize);
                part.unwrap_or(&[])
            };
            ThreadGroup {
                forward: part(start, half),
                backward: part(half, end),
            }
        })
    }

    pub(super) fn push(&mut self, group: &[MetPair], half: usize) {
        let start = self.met.len() as u32;
        self.groups.push((start, start + half as u32));
        self.met.extend_from_slice(group);
    }
}

/// An occurrence of a pair, with the position of its location in the table.
#[derive(Clone, Copy, Debug)]
pub struct LocatedOccurrence {
    /// Events of its ends.
    pub dependency: Dependency,
    /// Index in [`RunPairs::pairs`](super::RunPairs::pairs).
    pub pair: u32,
    /// Number of its location.
    pub location: u32,
}

/// An occurrence in a group.
#[derive(Clone, Copy)]
struct GroupEntry {
    /// Numbers of the iterations (or threads) that contain the ends, joined: that of the lower thread first.
    group: u64,
    within: (u32, u32),
    /// Number of the occurrence.
    occurrence: u32,
    /// `true` if it goes from the higher thread to the lower one.
    backward: bool,
}

/// Groups occurrences by threads.
pub(super) fn by_threads(run: &Run, found: &CollectedPairs) -> Meetings {
    let entries = directed(run, found, |ends, entry, entries| {
        let group = u64::from(ends.threads.0) << 16 | u64::from(ends.threads.1);
        entries.push(GroupEntry { group, ..entry });
    });
    let mut meetings = Meetings::default();
    grouped(run, found, entries, |group, half| {
        meetings.push(group, half)
    });
    meetings
}

/// Groups occurrences by threads and iterations. Groups with only one direction have no information and are
/// left out; of equal ones the first stays. A passing run needs only the set of couples that occur together:
/// of its groups those stay that add such a couple, so that long loops take no more room than short ones.
///
/// An occurrence is in a group for each two iterations around its ends (loops count to a depth of 6), so this
/// is linear in the occurrences and in the product of both depths.
pub(super) fn by_iterations(run: &Run, loops: &Loops, found: &CollectedPairs) -> Meetings {
    let count = loops.count() as u64;
    let entries = directed(run, found, |ends, entry, entries| {
        for (a, within_a) in loops.around(ends.first.index()) {
            for (b, within_b) in loops.around(ends.second.index()) {
                entries.push(GroupEntry {
                    group: u64::from(a) * count + u64::from(b),
                    within: (within_a, within_b),
                    ..entry
                });
            }
        }
    });
    let mut meetings = Meetings::default();
    let mut known = KnownGroups::default();
    let passed = run.meta.outcome == Outcome::Passed;
    let pairs = found.pairs.len();
    let mut had = (passed && pairs <= MANY).then(|| Matrix::new(0..pairs, pairs));
    grouped(run, found, entries, |group, half| {
        let both = half > 0 && half < group.len();
        let new = both && known.insert(group, half);
        if new && had.as_mut().is_none_or(|had| adds(had, group, half)) {
            meetings.push(group, half);
        }
    });
    meetings
}

/// Bound on the pairs of a run for which occurrences together are recorded: the bits take 2 MB then.
const MANY: usize = 4096;

/// Returns whether the group adds a couple that occurs together.
fn adds(had: &mut Matrix, group: &[MetPair], half: usize) -> bool {
    let items: Vec<MatrixItem> = group.iter().map(MatrixItem::of).collect();
    let (forward, backward) = items.split_at(half.min(items.len()));
    let mut adds = false;
    together(forward, backward, |forward, backward| {
        adds |= had.mark(forward, backward);
    });
    adds
}

/// Identity of a pair in a group: its half, inner loops, pair, location.
type Bare = (bool, (u32, u32), u32, u32);

/// The distinct groups so far, concatenated.
#[derive(Default)]
struct KnownGroups {
    content: Vec<Bare>,
    /// Bounds of each group, and the preceding group with the same hash.
    groups: Vec<(Range<usize>, Option<u32>)>,
    /// Last group with each hash.
    by_hash: FxHashMap<u64, u32>,
}

impl KnownGroups {
    /// Inserts a group; `true` when no earlier group was equal.
    fn insert(&mut self, group: &[MetPair], half: usize) -> bool {
        let start = self.content.len();
        let numbered = group.iter().enumerate();
        let bare = |(at, met): (usize, &MetPair)| (at < half, met.within, met.pair, met.location);
        self.content.extend(numbered.map(bare));
        let (before, new) = self.content.split_at(start);
        let mut hasher = FxHasher::default();
        new.hash(&mut hasher);
        let last = self.by_hash.entry(hasher.finish());
        let mut same_hash = match &last {
            hash_map::Entry::Occupied(last) => Some(*last.get()),
            hash_map::Entry::Vacant(_) => None,
        };
        let first = same_hash;
        while let Some((range, next)) = same_hash.and_then(|at| self.groups.get(at as usize)) {
            if before.get(range.clone()) == Some(new) {
                self.content.truncate(start);
                return false;
            }
            same_hash = *next;
        }
        last.insert_entry(self.groups.len() as u32);
        self.groups.push((start..self.content.len(), first));
        true
    }
}

/// Threads and rows of an occurrence, those of the lower thread first.
struct OccurrenceEnds {
    threads: (u16, u16),
    first: EventId,
    second: EventId,
}

fn ends(run: &Run, occurrence: &LocatedOccurrence) -> (OccurrenceEnds, bool) {
    let thread = |row: EventId| run.events.thread(row).0;
    let Dependency { head, tail, .. } = occurrence.dependency;
    let (from, to) = (thread(head), thread(tail));
    let backward = from > to;
    let (first, second) = if backward { (tail, head) } else { (head, tail) };
    let threads = (from.min(to), from.max(to));
    let ends = OccurrenceEnds {
        threads,
        first,
        second,
    };
    (ends, backward)
}

/// The entries of all occurrences: forward ones first, both sorted by pair.
fn directed(
    run: &Run,
    found: &CollectedPairs,
    mut add: impl FnMut(&OccurrenceEnds, GroupEntry, &mut Vec<GroupEntry>),
) -> Vec<GroupEntry> {
    let (mut entries, mut behind) = (Vec::new(), Vec::new());
    for &number in &found.by_pair {
        let Some(occurrence) = found.occurrences.get(number as usize) else {
            continue;
        };
        let (ends, backward) = ends(run, occurrence);
        let entry = GroupEntry {
            group: 0,
            within: (0, 0),
            occurrence: number,
            backward,
        };
        let entries = if backward { &mut behind } else { &mut entries };
        add(&ends, entry, entries);
    }
    entries.append(&mut behind);
    entries
}

/// Calls back for each group with the length of its forward half, by threads and then by iterations;
/// occurrences of one pair are merged.
fn grouped(
    run: &Run,
    found: &CollectedPairs,
    mut entries: Vec<GroupEntry>,
    mut group: impl FnMut(&[MetPair], usize),
) {
    sort_by_number(&mut entries, |entry| entry.group);
    let threads = |entries: &[GroupEntry]| {
        let first = entries.first()?;
        let occurrence = found.occurrences.get(first.occurrence as usize)?;
        Some(ends(run, occurrence).0.threads)
    };
    let groups = entries.chunk_by_mut(|a, b| a.group == b.group);
    let mut groups: Vec<_> = groups.map(|entries| (threads(entries), entries)).collect();
    groups.sort_by_key(|(threads, _)| *threads);
    let mut met = Vec::new();
    for (_, entries) in groups {
        if entries.iter().any(|entry| entry.within != (0, 0)) {
            let within = |e: &GroupEntry| u64::from(e.within.0) << 32 | u64::from(e.within.1);
            sort_by_number(entries, within);
            sort_by_number(entries, |entry| u64::from(entry.backward));
        }
        met.clear();
        let half = meet(found, entries, &mut met);
        group(&met, half);
    }
}

/// Merges the occurrences of each pair; returns the number of forward ones.
fn meet(found: &CollectedPairs, entries: &[GroupEntry], met: &mut Vec<MetPair>) -> usize {
    let mut half = 0;
    let mut last = false;
    for entry in entries {
        let Some(occurrence) = found.occurrences.get(entry.occurrence as usize) else {
            continue;
        };
        let new = MetPair {
            within: entry.within,
            pair: occurrence.pair,
            location: occurrence.location,
            head: occurrence.dependency.head,
            tail: occurrence.dependency.tail,
        };
        let same = |met: &&mut MetPair| {
            last == entry.backward && (met.within, met.pair) == (new.within, new.pair)
        };
        match met.last_mut().filter(same) {
            Some(met) => join(met, &new),
            None => {
                met.push(new);
                half += usize::from(!entry.backward);
            }
        }
        last = entry.backward;
    }
    half
}

/// Merges two occurrences of one pair: the first one counts.
fn join(met: &mut MetPair, other: &MetPair) {
    if met.location != other.location {
        met.location = SEVERAL;
    }
    if (other.tail, other.head) < (met.tail, met.head) {
        (met.head, met.tail) = (other.head, other.tail);
    }
}
