//! Drafts of a run in little memory: there are as many as events, and each would take four times as much as a struct.
//!
//! Parts that repeat are numbers in tables: the places of accesses ([`Spots`]), where steps come from, what values point to.

use super::{
    origins::Origin,
    places::RegionByte,
    spots::{SpotId, Spots, Use, UsedSpot},
    walk::EventDraft,
};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventKind, SiteId, model::flags};

/// Number of a row of [`Drafts::origins`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OriginId(u32);

impl OriginId {
    /// Not known.
    pub const NONE: OriginId = OriginId(0);

    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Properties of a draft that most drafts have or lack.
mod has {
    pub const VALUE: u8 = 1;
    /// The value that an update read stands in [`super::Drafts::olds`].
    pub const OLD: u8 = 2;
    /// It is not the first part of its access: the offset stands in [`super::Drafts::skipped`].
    pub const SKIPPED: u8 = 4;
}

/// One draft.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowDraft {
    pub value: u64,
    pub spot: SpotId,
    pub origin: OriginId,
    /// Row of the table of places that values point to; 0 for none.
    pub pointee: u32,
    /// Number of the event. Runs with more events than that have no ids for them either.
    pub seq: u32,
    pub thread: u16,
    pub flags: u16,
    pub kind: EventKind,
    has: u8,
}

impl RowDraft {
    /// The value, if it is known.
    pub fn value(&self) -> Option<u64> {
        (self.has & has::VALUE != 0).then_some(self.value)
    }

    /// Returns whether everything that is known of it stands in the row.
    pub fn is_plain(&self) -> bool {
        self.has & (has::OLD | has::SKIPPED) == 0
    }
}

/// The drafts of a run.
#[derive(Default)]
pub(super) struct Drafts {
    rows: Vec<RowDraft>,
    pub spots: Spots,
    origins: RowTable<Origin>,
    pointees: RowTable<RegionByte>,
    olds: FxHashMap<u32, u64>,
    skipped: FxHashMap<u32, u64>,
}

impl Drafts {
    /// Takes memory for this many.
    pub fn reserve(&mut self, rows: usize) {
        self.rows.reserve_exact(rows);
        self.spots.expect(rows);
    }

    /// Number of drafts.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows, in the order of the events.
    pub fn rows(&self) -> &[RowDraft] {
        &self.rows
    }

    /// Number of an origin.
    pub fn origin_id(&mut self, origin: Origin) -> OriginId {
        OriginId(self.origins.id(origin))
    }

    /// The origin with this number.
    pub fn origin(&self, id: OriginId) -> Origin {
        self.origins.get(id.0)
    }

    /// Number of origins.
    pub fn origins(&self) -> usize {
        self.origins.rows.len()
    }

    /// The place that a row's value points to.
    pub fn pointee(&self, row: &RowDraft) -> RegionByte {
        self.pointees.get(row.pointee)
    }

    /// Number of places that values point to.
    pub fn pointees(&self) -> usize {
        self.pointees.rows.len()
    }

    /// Appends a draft.
    #[inline(always)]
    pub fn push(&mut self, draft: &EventDraft) -> SpotId {
        let spot = UsedSpot {
            place: draft.place,
            size: draft.size,
            used: match draft.is_object {
                true => Use::Object,
                false if draft.flags & flags::RANGE != 0 => Use::Range,
                false => Use::Access,
            },
        };
        let spot = self.spots.id(spot);
        self.push_at(draft, spot);
        spot
    }

    /// Appends a draft whose place is known by number.
    #[inline(always)]
    pub fn push_at(&mut self, draft: &EventDraft, spot: SpotId) {
        let number = self.rows.len() as u32;
        let mut has = if draft.value.is_some() { has::VALUE } else { 0 };
        if let Some(old) = draft.old {
            has |= has::OLD;
            self.olds.insert(number, old);
        }
        if draft.skipped != 0 {
            has |= has::SKIPPED;
            self.skipped.insert(number, draft.skipped);
        }
        let pointee = match draft.pointee.region.0 {
            0 => 0,
            _ => self.pointees.id(draft.pointee),
        };
        self.rows.push(RowDraft {
            value: draft.value.unwrap_or(0),
            spot,
            origin: draft.origin,
            pointee,
            seq: draft.seq as u32,
            thread: draft.thread,
            flags: draft.flags,
            kind: draft.kind,
            has,
        });
    }

    /// Inserts a draft before the last one.
    pub fn insert_before_last(&mut self, draft: &EventDraft) {
        let Some(last) = self.rows.pop() else {
            self.push(draft);
            return;
        };
        let moved = self.rows.len() as u32;
        self.push(draft);
        // The tables go by position.
        for table in [&mut self.olds, &mut self.skipped] {
            if let Some(known) = table.remove(&moved) {
                table.insert(moved + 1, known);
            }
        }
        self.rows.push(last);
    }

    /// One draft as a struct.
    pub fn get(&self, number: usize) -> Option<EventDraft> {
        let row = self.rows.get(number)?;
        let spot = self.spots.get(row.spot);
        Some(EventDraft {
            seq: u64::from(row.seq),
            thread: row.thread,
            kind: row.kind,
            flags: row.flags,
            origin: row.origin,
            place: spot.place,
            is_object: spot.used == Use::Object,
            size: spot.size,
            skipped: self.skipped(number),
            value: row.value(),
            pointee: self.pointee(row),
            old: self.old(number),
        })
    }

    /// The value that an update read.
    fn old(&self, number: usize) -> Option<u64> {
        self.olds.get(&(number as u32)).copied()
    }

    fn skipped(&self, number: usize) -> u64 {
        self.skipped.get(&(number as u32)).copied().unwrap_or(0)
    }

    /// Notes the value that an update read, as far as it is known.
    pub fn set_old(&mut self, number: usize, old: Option<u64>) {
        if let Some((row, old)) = self.rows.get_mut(number).zip(old) {
            row.has |= has::OLD;
            self.olds.insert(number as u32, old);
        }
    }

    /// Notes that the run ended in this draft.
    pub fn set_unfinished(&mut self, number: usize) {
        if let Some(row) = self.rows.get_mut(number) {
            row.flags |= flags::UNFINISHED;
        }
    }

    /// Sites of the drafts of one kind, with their values.
    pub fn of_kind(&self, kind: EventKind) -> impl Iterator<Item = (SiteId, Option<u64>)> + '_ {
        let rows = self.rows.iter().filter(move |row| row.kind == kind);
        rows.map(|row| (self.origin(row.origin).site, row.value()))
    }
}

/// Rows by number, each once; row 0 is the default.
struct RowTable<T> {
    rows: Vec<T>,
    ids: FxHashMap<T, u32>,
}

impl<T: Copy + Default + Eq + std::hash::Hash> Default for RowTable<T> {
    fn default() -> RowTable<T> {
        RowTable {
            rows: vec![T::default()],
            ids: FxHashMap::from_iter([(T::default(), 0)]),
        }
    }
}

impl<T: Copy + Default + Eq + std::hash::Hash> RowTable<T> {
    fn id(&mut self, row: T) -> u32 {
        *self.ids.entry(row).or_insert_with(|| {
            self.rows.push(row);
            self.rows.len() as u32 - 1
        })
    }

    fn get(&self, id: u32) -> T {
        self.rows.get(id as usize).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::MemoryRegionId;
    use super::*;

    fn draft(seq: u64, old: Option<u64>) -> EventDraft {
        EventDraft {
            place: RegionByte {
                region: MemoryRegionId(2),
                offset: -8,
            },
            is_object: false,
            size: 8,
            skipped: seq % 2,
            value: (seq != 3).then_some(seq),
            pointee: RegionByte {
                region: MemoryRegionId(seq as u32 % 3),
                offset: 16,
            },
            old,
            ..EventDraft::new(seq, 5, EventKind::Rmw, OriginId::NONE)
        }
    }

    #[test]
    fn drafts_come_back_as_they_were() {
        let mut drafts = Drafts::default();
        let all: Vec<EventDraft> = (1..6).map(|seq| draft(seq, Some(seq * 10))).collect();
        for one in &all {
            drafts.push(one);
        }
        for (number, expected) in all.iter().enumerate() {
            let found = drafts.get(number).unwrap();
            let pointee = match expected.pointee.region.0 {
                0 => RegionByte::default(),
                _ => expected.pointee,
            };
            assert_eq!((found.seq, found.thread), (expected.seq, 5));
            assert_eq!((found.place, found.size), (expected.place, 8));
            assert_eq!((found.value, found.old), (expected.value, expected.old));
            assert_eq!((found.skipped, found.pointee), (expected.skipped, pointee));
        }
    }

    #[test]
    fn a_draft_that_is_inserted_moves_all_of_the_last_one() {
        let mut drafts = Drafts::default();
        drafts.push(&draft(1, None));
        drafts.push(&draft(5, Some(50)));
        drafts.insert_before_last(&draft(4, None));
        let seen = [0, 1, 2].map(|number| drafts.get(number).unwrap());
        assert_eq!(seen.map(|draft| draft.seq), [1, 4, 5]);
        assert_eq!(seen.map(|draft| draft.old), [None, None, Some(50)]);
        assert_eq!(seen.map(|draft| draft.skipped), [1, 0, 1]);
    }
}
