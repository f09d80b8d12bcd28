//! Where the pairs of a run met: between which threads, and in which iterations of their loops.
//!
//! Test Procedure III asks whether two pairs are there *together*. What that means is a matter of precision,
//! and each precision is a way to put the occurrences of pairs into groups:
//!
//! * pc: one group for the whole run;
//! * tid: one for two threads, with the pairs in one direction apart from those in the other;
//! * loop: one for two threads and an iteration of each, again with two directions.
//!
//! An occurrence in nested loops is in the groups of all iterations around it. Each has with it the loops, further
//! inside, that its ends are in: two ends in different iterations of the same loop are not together.

use super::{
    loops::Loops,
    matrix::{Item, Matrix, together},
};
use crate::orders::Dependency;
use rustc_hash::FxHashSet;
use unsnarl_trace::{EventId, Outcome, Run};

/// More than one location.
pub const SEVERAL: u32 = u32::MAX;

/// A pair in a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Met {
    /// Loops further inside that the ends are in, those of the group's first thread first; 0 for none.
    pub within: (u32, u32),
    /// Row of [`RunPairs::pairs`](super::RunPairs::pairs).
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
pub struct Group<'a> {
    /// From the first thread to the second, sorted.
    pub forward: &'a [Met],
    /// From the second thread to the first, sorted.
    pub backward: &'a [Met],
}

/// The groups of a run at one precision.
#[derive(Clone, Debug, Default)]
pub struct Meetings {
    met: Vec<Met>,
    /// Start of each group and of its backward half.
    groups: Vec<(u32, u32)>,
}

impl Meetings {
    /// The groups in the order of their threads.
    pub fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        let ends = self.groups.iter().skip(1).map(|(start, _)| *start);
        let ends = ends.chain([self.met.len() as u32]);
        self.groups.iter().zip(ends).map(|(&(start, half), end)| {
            let part = |from: u32, to: u32| {
                let part = self.met.get(from as usize..to as usize);
                part.unwrap_or(&[])
            };
            Group {
                forward: part(start, half),
                backward: part(half, end),
            }
        })
    }

    fn push(&mut self, group: &[Met], half: usize) {
        let start = self.met.len() as u32;
        self.groups.push((start, start + half as u32));
        self.met.extend_from_slice(group);
    }
}

/// An occurrence of a pair: which, and where its location stands in the table.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence {
    /// Rows of its ends.
    pub dependency: Dependency,
    /// Row of [`RunPairs::pairs`](super::RunPairs::pairs).
    pub pair: u32,
    /// Number of its location.
    pub location: u32,
}

/// An occurrence in a group that is named by its key: threads in order, then iterations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: (u16, u16, u32, u32),
    backward: bool,
    met: Met,
}

/// Groups by threads.
pub fn by_threads(run: &Run, occurrences: &[Occurrence]) -> Meetings {
    let entries = occurrences.iter().map(|occurrence| entry(run, occurrence));
    let mut meetings = Meetings::default();
    grouped(entries.collect(), |group, half| meetings.push(group, half));
    meetings
}

/// Groups by threads and iterations. Those with one direction only say nothing and are left out; of equal
/// ones the first stays. A run that passed is asked only what it has together: of its groups those stay that
/// have something together that none before had, so that long loops take no more room than short ones.
pub fn by_iterations(
    run: &Run,
    loops: &Loops,
    occurrences: &[Occurrence],
    pairs: usize,
) -> Meetings {
    let mut entries = Vec::new();
    for occurrence in occurrences {
        let plain = entry(run, occurrence);
        let (first, second) = match plain.backward {
            false => (plain.met.head, plain.met.tail),
            true => (plain.met.tail, plain.met.head),
        };
        for (a, within_a) in loops.around(first.index()) {
            for (b, within_b) in loops.around(second.index()) {
                let mut entry = plain;
                (entry.key.2, entry.key.3) = (a, b);
                entry.met.within = (within_a, within_b);
                entries.push(entry);
            }
        }
    }
    let mut meetings = Meetings::default();
    let mut known: FxHashSet<Vec<Bare>> = FxHashSet::default();
    let passed = run.meta.outcome == Outcome::Passed;
    let mut had = (passed && pairs <= MANY).then(|| Matrix::new(0..pairs, pairs));
    grouped(entries, |group, half| {
        let both = half > 0 && half < group.len();
        let new = both && known.insert(bare(group, half));
        if new && had.as_mut().is_none_or(|had| adds(had, group, half)) {
            meetings.push(group, half);
        }
    });
    meetings
}

/// Pairs of a run up to which it is noted what it has together: the bits take 2 MB then.
const MANY: usize = 4096;

/// Does the group have something together that was not there before?
fn adds(had: &mut Matrix, group: &[Met], half: usize) -> bool {
    let items: Vec<Item> = group.iter().map(Item::of).collect();
    let (forward, backward) = items.split_at(half.min(items.len()));
    let mut adds = false;
    together(forward, backward, |forward, backward| {
        adds |= had.mark(forward, backward);
    });
    adds
}

/// What counts of a pair in a group: which half, loops further inside, pair, location.
type Bare = (bool, (u32, u32), u32, u32);

fn bare(group: &[Met], half: usize) -> Vec<Bare> {
    let numbered = group.iter().enumerate();
    let bare = |(number, met): (usize, &Met)| (number < half, met.within, met.pair, met.location);
    numbered.map(bare).collect()
}

fn entry(run: &Run, occurrence: &Occurrence) -> Entry {
    let thread = |row: EventId| run.events.threads().get(row.index()).copied().unwrap_or(0);
    let Dependency { head, tail, .. } = occurrence.dependency;
    let (from, to) = (thread(head), thread(tail));
    Entry {
        key: (from.min(to), from.max(to), 0, 0),
        backward: from > to,
        met: Met {
            within: (0, 0),
            pair: occurrence.pair,
            location: occurrence.location,
            head,
            tail,
        },
    }
}

/// Calls back for each group with the length of its forward half; occurrences of one pair become one.
fn grouped(mut entries: Vec<Entry>, mut found: impl FnMut(&[Met], usize)) {
    entries.sort_unstable();
    let mut group: Vec<Met> = Vec::new();
    for entries in entries.chunk_by(|a, b| a.key == b.key) {
        group.clear();
        let mut half = 0;
        let same = |a: &Entry, b: &Entry| {
            (a.backward, a.met.within, a.met.pair) == (b.backward, b.met.within, b.met.pair)
        };
        for same in entries.chunk_by(same) {
            let met = same.iter().map(|entry| entry.met);
            let Some(mut first) = met.clone().min_by_key(|met| (met.tail, met.head)) else {
                continue;
            };
            if met.clone().any(|met| met.location != first.location) {
                first.location = SEVERAL;
            }
            group.push(first);
            half += usize::from(same.first().is_some_and(|entry| !entry.backward));
        }
        found(&group, half);
    }
}
