//! Drafts to rows: one row for each location that an access touches.

use super::{
    kinds::mask,
    places::{Piece, Place, Regions},
    problems::Problems,
    types::Holds,
    walk::{Draft, High},
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{Event, EventKind, LocationId, ThreadId, Value, model::flags};

/// Bound for the number of rows that one access becomes.
const MAX_PIECES: usize = 4096;

/// Turns drafts into rows.
pub(super) struct Rows<'a> {
    regions: &'a mut Regions,
    problems: &'a mut Problems,
    high: &'a FxHashMap<u64, High>,
    pub rows: Vec<Event>,
    /// Rows beyond one per access that may still be made.
    budget: usize,
    pieces: Vec<Piece>,
    /// Locations used as locks, in the order of first use.
    pub locks: Vec<LocationId>,
    known_locks: FxHashSet<LocationId>,
}

impl<'a> Rows<'a> {
    pub fn new(
        regions: &'a mut Regions,
        problems: &'a mut Problems,
        high: &'a FxHashMap<u64, High>,
    ) -> Rows<'a> {
        Rows {
            regions,
            problems,
            high,
            rows: Vec::new(),
            budget: 0,
            pieces: Vec::new(),
            locks: Vec::new(),
            known_locks: FxHashSet::default(),
        }
    }

    /// Builds all rows.
    pub fn build(&mut self, drafts: &[Draft]) {
        self.rows.reserve(drafts.len());
        self.budget = drafts.len().saturating_mul(8).max(1 << 20);
        for draft in drafts {
            if draft.is_object {
                self.object(draft);
            } else {
                self.access(draft);
            }
        }
    }

    fn object(&mut self, draft: &Draft) {
        let location = match draft.kind {
            EventKind::Alloc | EventKind::Free => self.regions.part_location(draft.place),
            _ if draft.place.region.0 == 0 => LocationId(0),
            _ => self.regions.object_location(draft.place),
        };
        let is_lock = matches!(
            draft.kind,
            EventKind::Lock
                | EventKind::SharedLock
                | EventKind::TryLockFailed
                | EventKind::LockWait
        );
        if is_lock && location != LocationId(0) && self.known_locks.insert(location) {
            self.locks.push(location);
        }
        let value = draft.value.map(Value::Bits);
        self.push(draft, location, draft.size as u32, value, None);
    }

    fn access(&mut self, draft: &Draft) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        let most = MAX_PIECES.min(self.budget.saturating_add(1));
        let mut is_shortened = false;
        self.regions.pieces(draft.place, draft.size, |piece| {
            is_shortened = pieces.len() == most;
            if !is_shortened {
                pieces.push(piece);
            }
            !is_shortened
        });
        if is_shortened && most == MAX_PIECES {
            self.problems.shortened(draft.site);
        } else if is_shortened {
            self.problems.rows_left_out += 1;
        }
        self.budget = self.budget.saturating_sub(pieces.len().saturating_sub(1));
        for piece in &pieces {
            let location = self.regions.piece_location(draft.place.region, *piece);
            let size = piece.end.abs_diff(piece.start);
            let from = draft.skipped + piece.start.abs_diff(draft.place.offset);
            let value = self.value(draft, piece, from, size);
            let old_high = self.high_half(draft, from, size).and_then(|high| high.old);
            let old = cut(draft.old, old_high, from, size);
            self.push(draft, location, size as u32, value, old);
        }
        self.pieces = pieces;
    }

    fn value(&mut self, draft: &Draft, piece: &Piece, from: u64, size: u64) -> Option<Value> {
        /// Smallest value that is taken for an address in a number's type: smaller ones are more likely numbers.
        const FIRST_CERTAIN_ADDRESS: u64 = 1 << 32;
        let low = draft.value?;
        let high = self.high_half(draft, from, size);
        let is_in_high = from == 8;
        let (bits, pointee) = match high.filter(|_| is_in_high) {
            Some(high) => (high.value?, high.pointee),
            None => (low, draft.pointee),
        };
        let is_number =
            matches!(piece.holds, Holds::Number | Holds::Bits) && bits < FIRST_CERTAIN_ADDRESS;
        let holds_address = |place: Place| place != Place::default() && !is_number;
        if !holds_address(pointee) {
            // No part of an address, which means nothing.
            let high = high.filter(|high| is_in_high || !holds_address(high.pointee));
            return cut(Some(low), high.and_then(|high| high.value), from, size).map(Value::Bits);
        }
        let is_address = (from == 0 || is_in_high) && size >= 8;
        is_address.then(|| Value::Address(self.regions.part_location(pointee)))
    }

    /// The high half of an access of 16 bytes, if it is known and `from..from + size` reaches it.
    fn high_half(&self, draft: &Draft, from: u64, size: u64) -> Option<High> {
        (from.saturating_add(size) > 8)
            .then(|| self.high.get(&draft.seq).copied())
            .flatten()
    }

    fn push(
        &mut self,
        draft: &Draft,
        location: LocationId,
        size: u32,
        value: Option<Value>,
        old: Option<u64>,
    ) {
        let value = if draft.flags & flags::UNFINISHED != 0 {
            None
        } else {
            value
        };
        self.rows.push(Event {
            seq: draft.seq,
            thread: ThreadId(draft.thread),
            kind: draft.kind,
            site: draft.site,
            location,
            size,
            flags: draft.flags,
            value,
            old,
            stack: draft.stack,
            point: draft.point,
        });
    }
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
