//! The accesses of one region during the pass, and the pairs they form.

use super::{
    classes::{ClassPair, ClassifiedAccess, Filling, WantedClasses, does},
    stretches::Stretches,
};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;
use unsnarl_trace::EventId;

/// Bound on the distinct accesses of a region that are paired across locations; more would take quadratic
/// time.
const MOST: usize = 256;

/// Number of entries up to which a linear search is faster than a table.
const FEW: usize = 16;

/// Accesses that differ only in time.
#[derive(Clone, Copy)]
struct RegionEntry {
    first: ClassifiedAccess,
    last: ClassifiedAccess,
}

/// Identity of an entry.
type EntryKey = (u32, u32, u8, u32, u32);

/// A region during the pass.
#[derive(Default)]
pub(super) struct OpenRegion {
    entries: Vec<RegionEntry>,
    index: FxHashMap<EntryKey, usize>,
    shape: FxHasher,
    newest: Option<u32>,
}

fn key(seen: &ClassifiedAccess) -> EntryKey {
    (
        seen.location,
        seen.place,
        seen.does,
        seen.lockset.0,
        seen.epoch,
    )
}

impl OpenRegion {
    /// Adds the next access of the region.
    pub fn add(&mut self, seen: ClassifiedAccess, stretches: &Stretches) {
        for stretch in stretches.numbered(self.newest.unwrap_or(seen.stretch), seen.stretch) {
            self.shape.write_u32(stretch.lockset.0);
        }
        self.newest = Some(seen.stretch);
        self.shape
            .write_u64(u64::from(seen.location) << 32 | u64::from(seen.place));
        self.shape
            .write_u64(u64::from(seen.epoch) << 8 | u64::from(seen.does));
        let known = if self.entries.len() <= FEW {
            self.entries
                .iter()
                .position(|entry| key(&entry.first) == key(&seen))
        } else {
            self.index.get(&key(&seen)).copied()
        };
        match known.and_then(|at| self.entries.get_mut(at)) {
            Some(entry) => entry.last = seen,
            None => self.enter(seen),
        }
    }

    fn enter(&mut self, seen: ClassifiedAccess) {
        self.entries.push(RegionEntry {
            first: seen,
            last: seen,
        });
        let count = self.entries.len();
        if count == FEW + 1 {
            let keys = self.entries.iter().map(|entry| key(&entry.first));
            self.index.extend(keys.zip(0..));
        } else if count > FEW {
            self.index.insert(key(&seen), count - 1);
        }
    }

    /// Returns whether there was no access to shared data so far.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Hash of everything that pairs depend on: regions of a thread with the same shape make the same pairs.
    pub fn shape(&self) -> u64 {
        self.shape.finish()
    }

    /// Resets the state for the next region.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.index.clear();
        self.shape = FxHasher::default();
        self.newest = None;
    }

    /// Adds the pairs of the region. Of two lines the widest pair is taken: an event that fits into a
    /// narrower one fits into it. `false` when there are more accesses than are paired across locations.
    pub fn pairs(
        &mut self,
        thread: u16,
        stretches: &Stretches,
        wanted: WantedClasses,
        into: &mut Filling<ClassPair, (EventId, EventId)>,
    ) -> bool {
        self.entries.sort_by_key(|entry| entry.first.location);
        if wanted.triples {
            let same = |a: &RegionEntry, b: &RegionEntry| a.first.location == b.first.location;
            for group in self.entries.chunk_by(same) {
                each_pair(group, |a, b| add(thread, a, b, stretches, into));
            }
        }
        if wanted.sets {
            let some = self.entries.get(..MOST).unwrap_or(&self.entries);
            each_pair(some, |a, b| {
                let both = a.first.does & b.last.does & (does::READ | does::WRITE);
                if a.first.location != b.first.location && both != 0 {
                    add(thread, a, b, stretches, into);
                }
            });
        }
        !wanted.sets || self.entries.len() <= MOST
    }
}

/// Calls back for ordered pairs of entries, including an entry with itself, whose first can come before the
/// second.
fn each_pair(entries: &[RegionEntry], mut f: impl FnMut(&RegionEntry, &RegionEntry)) {
    for a in entries {
        for b in entries {
            if a.first.row < b.last.row {
                f(a, b);
            }
        }
    }
}

fn add(
    thread: u16,
    a: &RegionEntry,
    b: &RegionEntry,
    stretches: &Stretches,
    into: &mut Filling<ClassPair, (EventId, EventId)>,
) {
    let (first, last) = (&a.first, &b.last);
    let mut between = FxHasher::default();
    let mut epochs = (0, 0);
    for (i, stretch) in stretches
        .numbered(first.stretch, last.stretch)
        .iter()
        .enumerate()
    {
        if i == 0 {
            epochs.0 = stretch.epoch;
        }
        between.write_u32(stretch.lockset.0);
        between.write_u32(stretch.epoch - epochs.0);
        epochs.1 = stretch.epoch;
    }
    let key = ClassPair {
        locations: [first.location, last.location],
        places: [first.place, last.place],
        locksets: [first.lockset, last.lockset],
        thread,
        does: [first.does, last.does],
        between: between.finish(),
    };
    // Events and the places behind them may differ in their epoch, so both count.
    epochs.0 = epochs.0 * 2 + first.epoch;
    epochs.1 = epochs.1 * 2 + last.epoch;
    into.add(key, epochs, (first.row, last.row));
}
