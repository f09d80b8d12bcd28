//! Drafts of a run in little memory: there are as many as events, and each would take eight times as much as a struct.
//!
//! Parts that repeat are numbers in tables: the places of accesses ([`Spots`]), all that the drafts of one instruction have
//! in common ([`DraftStep`]), what values point to.

use super::{
    origins::Origin,
    places::RegionByte,
    spots::{SpotId, Spots, Use, UsedSpot},
    steps::{DraftStep, DraftSteps, StepId, has},
    walk::EventDraft,
};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventKind, SiteId, model::flags};

/// Number of a row of [`Drafts::origins`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct OriginId(u32);

impl OriginId {
    /// Not known.
    pub const NONE: OriginId = OriginId(0);

    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One draft.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowDraft {
    /// The value, or the row of [`Drafts::pointed`] that holds it; 0 when it is not known.
    pub word: u64,
    pub spot: SpotId,
    pub step: StepId,
}

/// A value that points to something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PointingValue {
    pub bits: u64,
    pub place: RegionByte,
}

/// The drafts of a run.
#[derive(Default)]
pub(super) struct Drafts {
    rows: Vec<RowDraft>,
    /// Number of the last one's event.
    seq: u64,
    pub spots: Spots,
    pub steps: DraftSteps,
    /// Origins of steps. The same one may have several rows.
    origins: Vec<Origin>,
    pointing: RowTable<PointingValue>,
    /// Numbers of events that do not follow from those of the rows before.
    numbers: FxHashMap<u32, u64>,
    /// Values that updates read.
    olds: FxHashMap<u32, u64>,
    /// Offsets of parts within their accesses.
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

    /// Number of the event of a row; `before` is that of the row before.
    #[inline(always)]
    pub fn number(&self, row: usize, has: u8, before: u64) -> u64 {
        match has & (has::SAME | has::NUMBER) {
            0 => before.wrapping_add(1),
            has::SAME => before,
            _ => self.numbers.get(&(row as u32)).copied().unwrap_or(before),
        }
    }

    /// Number of an origin.
    pub fn origin_id(&mut self, origin: Origin) -> OriginId {
        // Row 0 is the default, without being there.
        if origin == Origin::default() {
            return OriginId::NONE;
        }
        self.origins.push(origin);
        OriginId(self.origins.len() as u32)
    }

    /// The origin with this number.
    pub fn origin(&self, id: OriginId) -> Origin {
        let row = id.index().checked_sub(1);
        let origin = row.and_then(|row| self.origins.get(row));
        origin.copied().unwrap_or_default()
    }

    /// The value of a row that points to something.
    pub fn pointing(&self, row: &RowDraft) -> PointingValue {
        self.pointing.get(row.word as u32)
    }

    /// Number of values that point to something.
    pub fn pointing_values(&self) -> usize {
        self.pointing.rows.len()
    }

    /// Appends a draft.
    #[inline(always)]
    pub fn push(&mut self, draft: &EventDraft) -> SpotId {
        let spot = self.spot(draft);
        self.push_at(draft, spot);
        spot
    }

    fn spot(&mut self, draft: &EventDraft) -> SpotId {
        self.spots.id(UsedSpot {
            place: draft.place,
            size: draft.size,
            used: match draft.is_object {
                true => Use::Object,
                false if draft.flags & flags::RANGE != 0 => Use::Range,
                false => Use::Access,
            },
        })
    }

    /// Appends a draft whose place is known by number.
    #[inline(always)]
    pub fn push_at(&mut self, draft: &EventDraft, spot: SpotId) {
        let mut has = 0;
        // The first row follows the number before 0.
        let before = if self.rows.is_empty() {
            u64::MAX
        } else {
            self.seq
        };
        if draft.seq != before.wrapping_add(1) {
            has = self.unusual_number(draft.seq, before);
        }
        self.seq = draft.seq;
        self.push_row(draft, spot, has);
    }

    #[cold]
    fn unusual_number(&mut self, seq: u64, before: u64) -> u8 {
        if seq == before {
            return has::SAME;
        }
        self.numbers.insert(self.rows.len() as u32, seq);
        has::NUMBER
    }

    #[inline(always)]
    fn push_row(&mut self, draft: &EventDraft, spot: SpotId, mut has: u8) {
        let row = self.rows.len() as u32;
        if draft.old.is_some() || draft.skipped != 0 {
            has |= self.note_rest(row, draft);
        }
        let word = match draft.value {
            Some(bits) if draft.pointee.region.0 != 0 => {
                has |= has::VALUE | has::POINTEE;
                let place = draft.pointee;
                u64::from(self.pointing.id(PointingValue { bits, place }))
            }
            Some(bits) => {
                has |= has::VALUE;
                bits
            }
            None => 0,
        };
        let step = self.steps.id(DraftStep {
            origin: draft.origin,
            thread: draft.thread,
            flags: draft.flags,
            kind: draft.kind,
            has,
        });
        self.rows.push(RowDraft { word, spot, step });
    }

    /// Notes what few drafts have.
    #[cold]
    fn note_rest(&mut self, row: u32, draft: &EventDraft) -> u8 {
        let mut has = 0;
        if let Some(old) = draft.old {
            has |= has::OLD;
            self.olds.insert(row, old);
        }
        if draft.skipped != 0 {
            has |= has::SKIPPED;
            self.skipped.insert(row, draft.skipped);
        }
        has
    }

    /// Inserts a draft of the same event before the last one.
    pub fn insert_before_last(&mut self, draft: &EventDraft) {
        let Some(last) = self.rows.pop() else {
            self.push(draft);
            return;
        };
        let moved = self.rows.len() as u32;
        let step = self.steps.get(last.step);
        // The tables go by position.
        for table in [&mut self.olds, &mut self.skipped] {
            if let Some(known) = table.remove(&moved) {
                table.insert(moved + 1, known);
            }
        }
        let spot = self.spot(draft);
        self.push_row(draft, spot, step.has & (has::SAME | has::NUMBER));
        let step = self.steps.id(DraftStep {
            has: step.has & !has::NUMBER | has::SAME,
            ..step
        });
        self.rows.push(RowDraft { step, ..last });
    }

    /// One draft as a struct, which has the number of the last one's event.
    pub fn get(&self, row: usize) -> Option<EventDraft> {
        self.rows
            .get(row)
            .map(|draft| self.draft(row, draft, self.seq))
    }

    /// A row as a struct; `seq` is the number of its event.
    pub fn draft(&self, number: usize, row: &RowDraft, seq: u64) -> EventDraft {
        let (spot, step) = (self.spots.get(row.spot), self.steps.get(row.step));
        let has = |bit: u8| step.has & bit != 0;
        let pointing = match has(has::POINTEE) {
            true => self.pointing(row),
            false => PointingValue {
                bits: row.word,
                place: RegionByte::default(),
            },
        };
        let rest = |table: &FxHashMap<u32, u64>| table.get(&(number as u32)).copied();
        EventDraft {
            seq,
            thread: step.thread,
            kind: step.kind,
            flags: step.flags,
            origin: step.origin,
            place: spot.place,
            is_object: spot.used == Use::Object,
            size: spot.size,
            skipped: rest(&self.skipped)
                .filter(|_| has(has::SKIPPED))
                .unwrap_or(0),
            value: has(has::VALUE).then_some(pointing.bits),
            pointee: pointing.place,
            old: rest(&self.olds).filter(|_| has(has::OLD)),
        }
    }

    /// Notes the value that an update read, as far as it is known.
    pub fn set_old(&mut self, row: usize, old: Option<u64>) {
        if let Some(old) = old {
            self.change_step(row, |step| step.has |= has::OLD);
            self.olds.insert(row as u32, old);
        }
    }

    /// Notes that the run ended in this draft.
    pub fn set_unfinished(&mut self, row: usize) {
        self.change_step(row, |step| step.flags |= flags::UNFINISHED);
    }

    fn change_step(&mut self, row: usize, change: impl FnOnce(&mut DraftStep)) {
        if let Some(row) = self.rows.get_mut(row) {
            let mut step = self.steps.get(row.step);
            change(&mut step);
            row.step = self.steps.id(step);
        }
    }

    /// Sites of the drafts of one kind, with their values.
    pub fn of_kind(&self, kind: EventKind) -> impl Iterator<Item = (SiteId, Option<u64>)> + '_ {
        let is_wanted = |step: &DraftStep| step.kind == kind;
        let wanted: Vec<bool> = self.steps.rows().iter().map(is_wanted).collect();
        let rows = self.rows.iter().enumerate();
        let rows = rows.filter(move |(_, row)| wanted.get(row.step.index()) == Some(&true));
        rows.map(|(number, row)| {
            let draft = self.draft(number, row, 0);
            (self.origin(draft.origin).site, draft.value)
        })
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
            value: (seq != 3).then_some(seq << 40 | seq),
            pointee: RegionByte {
                region: MemoryRegionId(seq as u32 % 3),
                offset: 16,
            },
            old,
            ..EventDraft::new(seq, 5, EventKind::Rmw, OriginId::NONE)
        }
    }

    fn all_of(drafts: &Drafts) -> Vec<EventDraft> {
        let mut seq = u64::MAX;
        let rows = drafts.rows().iter().enumerate();
        rows.map(|(number, row)| {
            seq = drafts.number(number, drafts.steps.get(row.step).has, seq);
            drafts.draft(number, row, seq)
        })
        .collect()
    }

    #[test]
    fn drafts_come_back_as_they_were() {
        let mut drafts = Drafts::default();
        let numbers = [1, 2, 2, 3, 7, 8, 8];
        let all = numbers.map(|seq| draft(seq, Some(seq * 10)));
        for one in &all {
            drafts.push(one);
        }
        for (found, expected) in all_of(&drafts).iter().zip(&all) {
            let pointee = match (expected.pointee.region.0, expected.value) {
                (0, _) | (_, None) => RegionByte::default(),
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
        drafts.insert_before_last(&draft(5, None));
        drafts.push(&draft(6, Some(60)));
        let seen = all_of(&drafts);
        let parts = seen
            .iter()
            .map(|draft| (draft.seq, draft.old, draft.skipped));
        let expected = [
            (1, None, 1),
            (5, None, 1),
            (5, Some(50), 1),
            (6, Some(60), 0),
        ];
        assert!(parts.eq(expected), "{seen:?}");
    }

    #[test]
    fn what_is_noted_later_is_there() {
        let mut drafts = Drafts::default();
        drafts.push(&draft(0, None));
        drafts.push(&draft(1, None));
        drafts.set_old(0, Some(7));
        drafts.set_unfinished(1);
        let seen = all_of(&drafts);
        assert_eq!(
            seen.iter().map(|draft| draft.old).collect::<Vec<_>>(),
            [Some(7), None]
        );
        assert_eq!(seen[1].flags, seen[0].flags | flags::UNFINISHED);
    }
}
