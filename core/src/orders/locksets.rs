//! The locks held at each event as numbered sets: equal sets have equal numbers, and two sets are
//! compared once.

use super::locks::{Locks, NONE};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, LocationId, ThreadId};

/// A set of held locks: index into [`Locksets`]. 0 is the empty one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LocksetId(pub u32);

/// A lock and whether it is held for reading only.
type HeldLock = (u32, bool);

/// The locksets of a run, in memory that grows with the sections, not with the events.
#[derive(Debug, Default)]
pub struct Locksets {
    sets: Vec<Box<[HeldLock]>>,
    /// Per list of held locks: its set and its outermost section.
    of_list: Vec<(LocksetId, u32)>,
    /// Per thread: the row from which on it holds a list.
    changes: Vec<Vec<(u32, u32)>>,
}

impl Locksets {
    /// Numbers the sets, in one step per section.
    pub fn new(locks: &Locks) -> Locksets {
        let mut numbers: FxHashMap<Box<[HeldLock]>, LocksetId> = FxHashMap::default();
        let mut steps: FxHashMap<(LocksetId, HeldLock), LocksetId> = FxHashMap::default();
        let mut locksets = Locksets {
            sets: vec![Box::default()],
            of_list: Vec::with_capacity(locks.held.len()),
            changes: locks.changes.clone(),
        };
        numbers.insert(Box::default(), LocksetId(0));
        for held in &locks.held {
            let (rest, outermost) = match locksets.of_list.get(held.rest as usize) {
                Some(&(rest, outermost)) => (rest, outermost),
                None => (LocksetId(0), held.section),
            };
            let section = locks.sections().get(held.section as usize);
            let set = section.map_or(rest, |section| {
                let entry = (section.lock.0, section.shared);
                let step = steps.entry((rest, entry));
                *step.or_insert_with(|| locksets.with(rest, entry, &mut numbers))
            });
            locksets.of_list.push((set, outermost));
        }
        locksets
    }

    fn with(
        &mut self,
        rest: LocksetId,
        entry: HeldLock,
        numbers: &mut FxHashMap<Box<[HeldLock]>, LocksetId>,
    ) -> LocksetId {
        let mut set = self.locks(rest).to_vec();
        if let Err(at) = set.binary_search(&entry) {
            set.insert(at, entry);
        }
        let set = set.into_boxed_slice();
        if let Some(&number) = numbers.get(&set) {
            return number;
        }
        let number = LocksetId(self.sets.len() as u32);
        self.sets.push(set.clone());
        numbers.insert(set, number);
        number
    }

    /// The locks of a set with whether they are held for reading only, sorted.
    pub fn locks(&self, set: LocksetId) -> &[HeldLock] {
        self.sets.get(set.0 as usize).map_or(&[], |set| set)
    }

    /// Number of distinct sets, including the empty one.
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// The set that `thread` holds at `event`; see [`Section`](super::Section) for the ends.
    pub fn at(&self, thread: ThreadId, event: EventId) -> LocksetId {
        self.of_list(self.list(thread, event)).0
    }

    /// The section that contains `event` of `thread` for longest, as an index into [`Locks::sections`].
    pub fn outermost(&self, thread: ThreadId, event: EventId) -> Option<usize> {
        let (_, section) = self.of_list(self.list(thread, event));
        (section != NONE).then_some(section as usize)
    }

    /// Rows of `thread` at which its lockset changes, with the new set, in order.
    pub fn changes(&self, thread: ThreadId) -> impl Iterator<Item = (u32, LocksetId)> + '_ {
        let changes = self.changes.get(thread.index());
        let changes = changes.map_or(&[][..], Vec::as_slice).iter();
        changes.map(|&(row, list)| (row, self.of_list(list).0))
    }

    /// Walks the sets that `thread` holds, for events in order.
    pub fn walk(&self, thread: ThreadId) -> LocksetWalk<'_> {
        let changes = self.changes.get(thread.index());
        LocksetWalk {
            locksets: self,
            later: changes.map_or(&[], Vec::as_slice),
            list: NONE,
        }
    }

    /// A lock that is in both sets, and not held for reading in both.
    pub fn common(&self, a: LocksetId, b: LocksetId) -> Option<LocationId> {
        let theirs = self.locks(b);
        let excludes = |mine: &&HeldLock| {
            let mut theirs = theirs.iter();
            theirs.any(|theirs| theirs.0 == mine.0 && !(theirs.1 && mine.1))
        };
        let common = self.locks(a).iter().find(excludes);
        common.map(|&(lock, _)| LocationId(lock))
    }

    fn list(&self, thread: ThreadId, event: EventId) -> u32 {
        let changes = self.changes.get(thread.index());
        let changes = changes.map_or(&[][..], Vec::as_slice);
        let upto = changes.partition_point(|&(row, _)| row <= event.0);
        let last = upto.checked_sub(1).and_then(|i| changes.get(i));
        last.map_or(NONE, |&(_, list)| list)
    }

    fn of_list(&self, list: u32) -> (LocksetId, u32) {
        let known = self.of_list.get(list as usize);
        known.copied().unwrap_or((LocksetId(0), NONE))
    }
}

/// Iterator over the sets that a thread holds at its events, queried in order: constant time each.
#[derive(Clone, Copy, Debug)]
pub struct LocksetWalk<'a> {
    locksets: &'a Locksets,
    /// Changes still to come.
    later: &'a [(u32, u32)],
    list: u32,
}

impl LocksetWalk<'_> {
    /// The set at the event, and the section that the thread has been in for longest, as an index into
    /// [`Locks::sections`].
    pub fn at(&mut self, event: EventId) -> (LocksetId, Option<usize>) {
        while let Some((&(row, list), later)) = self.later.split_first()
            && row <= event.0
        {
            self.list = list;
            self.later = later;
        }
        let (set, section) = self.locksets.of_list(self.list);
        (set, (section != NONE).then_some(section as usize))
    }
}
