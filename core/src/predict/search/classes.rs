//! Accesses and pairs of accesses of one region, grouped into classes whose members the mutation conditions
//! distinguish only by their epoch. One pass over each thread; the cost of the search afterwards depends only
//! on the number of classes and epochs.

use super::{places::SiteLines, region::OpenRegion, stretches::Stretches};
use crate::{
    Budget, StopReason,
    orders::LocksetId,
    predict::{ForcedOrder, regions::AtomicRegion},
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventId, ThreadId};

/// Bits of the action of an access.
pub(super) mod does {
    pub const READ: u8 = 1;
    pub const WRITE: u8 = 2;
    pub const ATOMIC: u8 = 4;
}

/// Accesses of one location by one thread from one line with the same locks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ClassMember {
    pub location: u32,
    pub thread: u16,
    pub does: u8,
    pub place: u32,
    pub lockset: LocksetId,
}

/// Two accesses of one region from two lines, the first in program order first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ClassPair {
    pub locations: [u32; 2],
    pub places: [u32; 2],
    pub locksets: [LocksetId; 2],
    pub thread: u16,
    pub does: [u8; 2],
    /// Distinguishes the locks held between them.
    pub between: u64,
}

/// Classes of one kind with one member per epoch.
#[derive(Debug)]
pub(super) struct ClassTable<K, M> {
    pub keys: Vec<K>,
    members: Vec<M>,
    starts: Vec<u32>,
}

impl<K, M> ClassTable<K, M> {
    /// The members of a class, in order.
    pub fn members(&self, class: u32) -> &[M] {
        let at = |i: u32| self.starts.get(i as usize).map(|&start| start as usize);
        match (at(class), at(class + 1)) {
            (Some(from), Some(to)) => self.members.get(from..to).unwrap_or(&[]),
            _ => &[],
        }
    }
}

/// A table that is being filled.
pub(super) struct Filling<K, M> {
    numbers: FxHashMap<K, u32>,
    keys: Vec<K>,
    newest: Vec<(u32, u32)>,
    members: Vec<(u32, M)>,
}

impl<K: Copy + Eq + std::hash::Hash, M: Copy> Filling<K, M> {
    fn new() -> Filling<K, M> {
        Filling {
            numbers: FxHashMap::default(),
            keys: Vec::new(),
            newest: Vec::new(),
            members: Vec::new(),
        }
    }

    /// Adds a member unless the class has one of these epochs already. A thread's members come in order, so
    /// only the newest one is compared.
    pub fn add(&mut self, key: K, epochs: (u32, u32), member: M) {
        let number = *self.numbers.entry(key).or_insert(self.keys.len() as u32);
        match self.newest.get_mut(number as usize) {
            Some(newest) if *newest == epochs => return,
            Some(newest) => *newest = epochs,
            None => {
                self.keys.push(key);
                self.newest.push(epochs);
            }
        }
        self.members.push((number, member));
    }

    /// Sorts members of a class next to each other, in the order of arrival.
    fn finish(mut self) -> ClassTable<K, M> {
        self.members.sort_by_key(|&(number, _)| number);
        let mut starts = vec![0u32; self.keys.len() + 1];
        for &(number, _) in &self.members {
            if let Some(next) = starts.get_mut(number as usize + 1) {
                *next += 1;
            }
        }
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        ClassTable {
            keys: self.keys,
            members: self.members.into_iter().map(|(_, member)| member).collect(),
            starts,
        }
    }
}

/// Kinds of classes to collect.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedClasses {
    /// Pairs on one location.
    pub triples: bool,
    /// Pairs on two locations.
    pub sets: bool,
    /// The regions themselves.
    pub regions: bool,
}

/// All classes of a run.
pub(super) struct RunClasses {
    pub accesses: ClassTable<ClassMember, EventId>,
    pub pairs: ClassTable<ClassPair, (EventId, EventId)>,
    /// Stretches by thread.
    pub stretches: Vec<Stretches>,
    /// One region of each shape, if requested.
    pub regions: Vec<AtomicRegion>,
    /// Stop reason of an incomplete collection.
    pub stopped: Option<StopReason>,
}

/// One access with the attributes that classes use.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassifiedAccess {
    pub row: EventId,
    pub location: u32,
    pub place: u32,
    pub does: u8,
    pub lockset: LocksetId,
    pub epoch: u32,
    /// Number of the stretch after it.
    pub stretch: u32,
}

/// Number of events between two polls of the budget.
const POLL: usize = 1 << 16;

impl RunClasses {
    /// Collects the classes in one pass over the events of each thread.
    pub fn new(
        graph: &ForcedOrder<'_>,
        places: &SiteLines,
        wanted: WantedClasses,
        budget: &Budget,
    ) -> RunClasses {
        let threads = || (0..graph.threads().count()).map(|thread| ThreadId(thread as u16));
        let mut pass = ClassPass {
            graph,
            places,
            wanted,
            accesses: Filling::new(),
            pairs: Filling::new(),
            shapes: FxHashSet::default(),
            regions: Vec::new(),
            stopped: None,
        };
        let stretches: Vec<Stretches> = threads().map(|t| Stretches::new(graph, t)).collect();
        for (thread, stretches) in threads().zip(&stretches) {
            pass.thread(thread, stretches, budget);
        }
        RunClasses {
            accesses: pass.accesses.finish(),
            pairs: pass.pairs.finish(),
            stretches,
            regions: pass.regions,
            stopped: pass.stopped,
        }
    }
}

struct ClassPass<'a> {
    graph: &'a ForcedOrder<'a>,
    places: &'a SiteLines,
    wanted: WantedClasses,
    accesses: Filling<ClassMember, EventId>,
    pairs: Filling<ClassPair, (EventId, EventId)>,
    shapes: FxHashSet<(u16, u64)>,
    regions: Vec<AtomicRegion>,
    stopped: Option<StopReason>,
}

impl ClassPass<'_> {
    fn thread(&mut self, thread: ThreadId, stretches: &Stretches, budget: &Budget) {
        let mut walk = stretches.walk();
        let mut regions = self.graph.regions().of_thread(thread).iter().peekable();
        let mut open = OpenRegion::default();
        let pairs = self.wanted.triples || self.wanted.sets || self.wanted.regions;
        for rows in self.graph.events_of(thread).chunks(POLL) {
            if let Some(why) = budget.stop() {
                self.stopped = Some(why);
                return;
            }
            for &row in rows {
                let Some((location, does)) = self.access(row) else {
                    continue;
                };
                let place = self.place(row);
                let (stretch, lockset, epoch) = walk.at(row.0);
                let seen = ClassifiedAccess {
                    row,
                    location,
                    place,
                    does,
                    lockset,
                    epoch,
                    stretch,
                };
                self.count(thread, &seen);
                if !pairs {
                    continue;
                }
                while let Some(region) = regions.next_if(|region| region.last < row) {
                    self.close(region, &mut open, stretches);
                }
                if regions.peek().is_some_and(|region| region.first <= row) {
                    open.add(seen, stretches);
                }
            }
        }
        if let Some(region) = regions.next() {
            self.close(region, &mut open, stretches);
        }
    }

    fn count(&mut self, thread: ThreadId, seen: &ClassifiedAccess) {
        let key = ClassMember {
            location: seen.location,
            thread: thread.0,
            does: seen.does,
            place: seen.place,
            lockset: seen.lockset,
        };
        self.accesses.add(key, (seen.epoch, 0), seen.row);
    }

    fn close(&mut self, region: &AtomicRegion, open: &mut OpenRegion, stretches: &Stretches) {
        if open.is_empty() {
            return;
        }
        if self.shapes.insert((region.thread.0, open.shape())) {
            if self.wanted.regions {
                self.regions.push(*region);
            }
            let complete = open.pairs(region.thread.0, stretches, self.wanted, &mut self.pairs);
            if !complete {
                self.stopped = Some(StopReason::TooMuch(super::MANY_ACCESSES));
            }
        }
        open.clear();
    }

    /// Location and action of an access to shared data.
    fn access(&self, row: EventId) -> Option<(u32, u8)> {
        let events = &self.graph.run().events;
        let (kind, location) = (events.kind(row), events.location(row));
        if !kind.is_access() || !self.graph.accesses().is_shared(location) {
            return None;
        }
        let bit = |on: bool, bit: u8| if on { bit } else { 0 };
        let does = bit(kind.reads(), does::READ)
            | bit(kind.writes(), does::WRITE)
            | bit(kind.is_atomic(), does::ATOMIC);
        Some((location.0, does))
    }

    fn place(&self, row: EventId) -> u32 {
        self.places.of(self.graph.run().events.site(row))
    }
}
