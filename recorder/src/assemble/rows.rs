//! Drafts to rows: one row for each location that an access touches.

use super::{
    drafts::{Drafts, RowDraft},
    kinds::mask,
    moved::Moved,
    places::{AccessPiece, MemoryRegions, RegionByte},
    spots::{Use, UsedSpot},
    step_rows::{SourceHome, StepRow},
    steps::{StepId, has},
    types::LeafKind,
    walk::{EventDraft, High, LogWalk},
};
use rustc_hash::FxHashSet;
use unsnarl_trace::{Event, EventColumns, EventKind, LocationId, RunEncoder, Value, model::flags};

/// Receiver of the rows of a run, in their order.
pub(super) trait RowSink {
    /// Appends a row.
    fn push(&mut self, row: &Event);
}

impl RowSink for EventColumns {
    #[inline(always)]
    fn push(&mut self, row: &Event) {
        EventColumns::push(self, row);
    }
}

impl RowSink for RunEncoder {
    #[inline(always)]
    fn push(&mut self, row: &Event) {
        RunEncoder::push(self, row);
    }
}

/// Bound for the number of rows that one access becomes.
const MAX_PIECES: usize = 4096;

/// The location of a spot.
#[derive(Clone, Copy, Default)]
enum LocatedSpot {
    /// Not looked up.
    #[default]
    Unknown,
    /// All of its bytes belong to this location.
    Whole(Whole),
    /// Anything else.
    Apart,
}

/// A spot that is one location.
#[derive(Clone, Copy)]
struct Whole {
    location: LocationId,
    /// As [`Moved::variable`] gives it.
    variable: u32,
    size: u8,
    holds: LeafKind,
}

/// Number of steps whose rows are known at a time.
const RECENT_STEPS: usize = 1024;

/// Turns drafts into rows.
pub(super) struct DraftRows<'w, 'a, S> {
    walk: &'w mut LogWalk<'a>,
    drafts: &'w Drafts,
    moved: Moved,
    pub sink: S,
    /// Number of the event of the last draft.
    seq: u64,
    /// The steps that came last, by their number.
    steps: Vec<StepRow>,
    /// Rows beyond one per access that may still be made.
    budget: usize,
    pieces: Vec<AccessPiece>,
    /// Locations of spots.
    located: Vec<LocatedSpot>,
    /// Locations that values point to.
    pointees: Vec<LocationId>,
    /// Locations used as locks, in the order of first use.
    pub locks: Vec<LocationId>,
    known_locks: FxHashSet<LocationId>,
}

impl<'w, 'a, S: RowSink> DraftRows<'w, 'a, S> {
    pub fn new(walk: &'w mut LogWalk<'a>, drafts: &'w Drafts, sink: S) -> DraftRows<'w, 'a, S> {
        let first = StepRow::of(StepId::default(), drafts);
        DraftRows {
            moved: Moved::of(walk),
            walk,
            drafts,
            sink,
            seq: u64::MAX,
            steps: vec![first; RECENT_STEPS],
            budget: 0,
            pieces: Vec::new(),
            located: vec![LocatedSpot::Unknown; drafts.spots.len()],
            pointees: vec![LocationId(0); drafts.pointing_values()],
            locks: Vec::new(),
            known_locks: FxHashSet::default(),
        }
    }

    /// Builds all rows.
    pub fn build(mut self) -> DraftRows<'w, 'a, S> {
        let drafts = self.drafts;
        self.budget = drafts.len().saturating_mul(8).max(1 << 20);
        for (number, row) in drafts.rows().iter().enumerate() {
            let step = self.step(row.step);
            self.seq = drafts.number(number, step.has, self.seq);
            match self.located.get(row.spot.index()).copied() {
                Some(LocatedSpot::Whole(whole)) if step.is_plain => self.plain(row, &step, &whole),
                _ => self.any(number, row),
            }
        }
        self
    }

    /// The rows of a step.
    #[inline(always)]
    fn step(&mut self, id: StepId) -> StepRow {
        match self.steps.get(id.index() % RECENT_STEPS) {
            Some(known) if known.id == id => *known,
            _ => {
                let step = StepRow::of(id, self.drafts);
                self.keep(step);
                step
            }
        }
    }

    fn keep(&mut self, step: StepRow) {
        if let Some(place) = self.steps.get_mut(step.id.index() % RECENT_STEPS) {
            *place = step;
        }
    }

    /// Builds the row of an access to one location, of which no more is known than the draft holds.
    #[inline(always)]
    fn plain(&mut self, row: &RowDraft, step: &StepRow, whole: &Whole) {
        let size = u64::from(whole.size);
        let value = match step.has & (has::VALUE | has::POINTEE) {
            0 => None,
            has::VALUE => Some(Value::Bits(row.word & mask(size))),
            _ => self.pointing(row, whole),
        };
        let home = match step.may_move && step.accessed != whole.variable {
            true => self.home(step, whole.location, whole.variable),
            false => step.home,
        };
        self.sink.push(&Event {
            location: whole.location,
            size: u32::from(whole.size),
            value,
            ..step.event(self.seq, home)
        });
    }

    /// The value of an access to one location that may hold an address.
    fn pointing(&mut self, row: &RowDraft, whole: &Whole) -> Option<Value> {
        let (size, value) = (u64::from(whole.size), self.drafts.pointing(row));
        if is_number(whole.holds, value.bits) {
            return Some(Value::Bits(value.bits & mask(size)));
        }
        (size >= 8).then(|| Value::Address(self.pointed_to(row, value.place)))
    }

    /// The location that a row's value points to.
    fn pointed_to(&mut self, row: &RowDraft, place: RegionByte) -> LocationId {
        let number = row.word as usize;
        match self.pointees.get(number) {
            Some(known) if *known != LocationId(0) => return *known,
            _ => {}
        }
        let location = self.regions().part_location(place);
        if let Some(known) = self.pointees.get_mut(number) {
            *known = location;
        }
        location
    }

    /// The place in the source of an access that the compiler may have moved.
    #[cold]
    fn home(&mut self, step: &StepRow, location: LocationId, variable: u32) -> SourceHome {
        let mut event = Event {
            location,
            ..step.event(self.seq, step.there)
        };
        self.moved.put_back(self.walk, &mut event, variable);
        let home = SourceHome {
            site: event.site,
            stack: event.stack,
            flags: event.flags,
        };
        self.keep(StepRow {
            accessed: variable,
            home,
            ..*step
        });
        home
    }

    fn regions(&mut self) -> &mut MemoryRegions {
        &mut self.walk.memory.regions
    }

    /// Builds the rows of a draft of any kind.
    fn any(&mut self, number: usize, row: &RowDraft) {
        let draft = self.drafts.draft(number, row, self.seq);
        if draft.is_object {
            self.object(row, &draft);
        } else {
            self.access(row, &draft);
        }
    }

    fn object(&mut self, row: &RowDraft, draft: &EventDraft) {
        let location = match draft.kind {
            EventKind::Alloc | EventKind::Free => self.regions().part_location(draft.place),
            _ if draft.place.region.0 == 0 => LocationId(0),
            _ => self.regions().object_location(draft.place),
        };
        let role = draft.kind.role();
        let is_lock = role.is_locking() && !role.releases_lock();
        if is_lock && location != LocationId(0) && self.known_locks.insert(location) {
            self.locks.push(location);
        }
        let value = draft.value.map(Value::Bits);
        self.push(row, location, draft.size as u32, value, None);
    }

    fn access(&mut self, row: &RowDraft, draft: &EventDraft) {
        let mut pieces = std::mem::take(&mut self.pieces);
        self.divide(draft, &mut pieces);
        self.locate(row, &pieces);
        for piece in &pieces {
            let region = draft.place.region;
            let location = self.regions().piece_location(region, *piece);
            let size = piece.end.abs_diff(piece.start);
            let from = draft.skipped + piece.start.abs_diff(draft.place.offset);
            let value = self.value(draft, piece, from, size);
            let old_high = self.high_half(draft, from, size).and_then(|high| high.old);
            let old = cut(draft.old, old_high, from, size);
            self.push(row, location, size as u32, value, old);
        }
        self.pieces = pieces;
    }

    /// Divides an access into the locations that it touches.
    fn divide(&mut self, draft: &EventDraft, pieces: &mut Vec<AccessPiece>) {
        pieces.clear();
        let most = MAX_PIECES.min(self.budget.saturating_add(1));
        let mut is_shortened = false;
        let regions = &self.walk.memory.regions;
        regions.pieces(draft.place, draft.size, |piece| {
            is_shortened = pieces.len() == most;
            if !is_shortened {
                pieces.push(piece);
            }
            !is_shortened
        });
        if is_shortened && most == MAX_PIECES {
            let site = self.drafts.origin(draft.origin).site;
            self.walk.problems.shortened(site);
        } else if is_shortened {
            self.walk.problems.rows_left_out += 1;
        }
        self.budget = self.budget.saturating_sub(pieces.len().saturating_sub(1));
    }

    /// Notes the location of a spot that has one only, for the next draft there.
    fn locate(&mut self, row: &RowDraft, pieces: &[AccessPiece]) {
        let UsedSpot { place, size, used } = self.drafts.spots.get(row.spot);
        let whole = match pieces {
            // Of larger ones a second record has the upper half.
            [piece] if size <= 8 && used != Use::Object => Some(piece).filter(|piece| {
                piece.start == place.offset && piece.end.abs_diff(piece.start) == size
            }),
            _ => None,
        };
        let known = whole.map(|piece| {
            let location = self.regions().piece_location(place.region, *piece);
            LocatedSpot::Whole(Whole {
                location,
                variable: self.moved.variable(self.walk, location),
                size: size as u8,
                holds: piece.holds,
            })
        });
        let known = known.unwrap_or(LocatedSpot::Apart);
        if let Some(located) = self.located.get_mut(row.spot.index()) {
            *located = known;
        }
    }

    fn value(
        &mut self,
        draft: &EventDraft,
        piece: &AccessPiece,
        from: u64,
        size: u64,
    ) -> Option<Value> {
        let low = draft.value?;
        let high = self.high_half(draft, from, size);
        let is_in_high = from == 8;
        let (bits, pointee) = match high.filter(|_| is_in_high) {
            Some(high) => (high.value?, high.pointee),
            None => (low, draft.pointee),
        };
        let holds_address =
            |place: RegionByte| place != RegionByte::default() && !is_number(piece.holds, bits);
        if !holds_address(pointee) {
            // No part of an address, which means nothing.
            let high = high.filter(|high| is_in_high || !holds_address(high.pointee));
            return cut(Some(low), high.and_then(|high| high.value), from, size).map(Value::Bits);
        }
        let is_address = (from == 0 || is_in_high) && size >= 8;
        is_address.then(|| Value::Address(self.regions().part_location(pointee)))
    }

    /// The high half of an access of 16 bytes, if it is known and `from..from + size` reaches it.
    fn high_half(&self, draft: &EventDraft, from: u64, size: u64) -> Option<High> {
        (from.saturating_add(size) > 8)
            .then(|| self.walk.high.get(&draft.seq).copied())
            .flatten()
    }

    fn push(
        &mut self,
        row: &RowDraft,
        location: LocationId,
        size: u32,
        value: Option<Value>,
        old: Option<u64>,
    ) {
        let step = self.step(row.step);
        let is_unfinished = step.there.flags & flags::UNFINISHED != 0;
        let home = match step.may_move {
            true => {
                let variable = self.moved.variable(self.walk, location);
                match step.accessed == variable {
                    true => step.home,
                    false => self.home(&step, location, variable),
                }
            }
            false => step.there,
        };
        self.sink.push(&Event {
            location,
            size,
            value: value.filter(|_| !is_unfinished),
            old,
            ..step.event(self.seq, home)
        });
    }
}

/// Returns whether these bits of a location are a number, whatever they point to.
fn is_number(holds: LeafKind, bits: u64) -> bool {
    /// Smallest value that is taken for an address in a number's type: smaller ones are more likely numbers.
    const FIRST_CERTAIN_ADDRESS: u64 = 1 << 32;
    matches!(holds, LeafKind::Number | LeafKind::Bits) && bits < FIRST_CERTAIN_ADDRESS
}

/// The bytes `from..from + size` of a value, as far as they are known; of more than eight the low ones.
fn cut(low: Option<u64>, high: Option<u64>, from: u64, size: u64) -> Option<u64> {
    let low = low?;
    if from == 0 {
        return Some(low & mask(size));
    }
    let end = from.checked_add(size)?;
    let whole = match high {
        Some(high) if end <= 16 => u128::from(high) << 64 | u128::from(low),
        _ if end <= 8 => u128::from(low),
        _ => return None,
    };
    let bits = whole.checked_shr(8 * from as u32)?;
    Some(bits as u64 & mask(size))
}
