//! Drafts to rows: one row for each location that an access touches.

use super::{
    kinds::mask,
    places::{Piece, Place, Regions},
    problems::Problems,
    types::Holds,
    walk::Draft,
};
use rustc_hash::FxHashSet;
use unsnarl_trace::{Event, EventKind, LocationId, ThreadId, Value, model::flags};

/// Rows that one access may become.
const MAX_PIECES: usize = 4096;

/// Turns drafts into rows.
pub(super) struct Rows<'a> {
    regions: &'a mut Regions,
    problems: &'a mut Problems,
    pub rows: Vec<Event>,
    /// Rows beyond one per access that may still be made.
    budget: usize,
    pieces: Vec<Piece>,
    /// Locations used as locks, in the order of first use.
    pub locks: Vec<LocationId>,
    known_locks: FxHashSet<LocationId>,
}

impl<'a> Rows<'a> {
    pub fn new(regions: &'a mut Regions, problems: &'a mut Problems) -> Rows<'a> {
        Rows {
            regions,
            problems,
            rows: Vec::new(),
            budget: 0,
            pieces: Vec::new(),
            locks: Vec::new(),
            known_locks: FxHashSet::default(),
        }
    }

    /// All of them.
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
            let is_whole = from == 0 && size == draft.size;
            let old = if is_whole {
                draft.old
            } else {
                cut(draft.old, from, size)
            };
            self.push(draft, location, size as u32, value, old);
        }
        self.pieces = pieces;
    }

    fn value(&mut self, draft: &Draft, piece: &Piece, from: u64, size: u64) -> Option<Value> {
        /// Numbers below are more likely numbers than addresses, if the type says so.
        const FIRST_CERTAIN_ADDRESS: u64 = 1 << 32;
        let bits = draft.value?;
        let is_number = piece.holds == Holds::Number && bits < FIRST_CERTAIN_ADDRESS;
        if draft.pointee == Place::default() || is_number {
            return cut(Some(bits), from, size).map(Value::Bits);
        }
        // A part of an address, or what lies behind it, means nothing.
        let is_address = from == 0 && size >= 8;
        is_address.then(|| Value::Address(self.regions.part_location(draft.pointee)))
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
        });
    }
}

/// The bytes `from..from + size` of a value, if they are within its low eight bytes.
fn cut(value: Option<u64>, from: u64, size: u64) -> Option<u64> {
    let value = value?;
    if from == 0 && size > 8 {
        return Some(value);
    }
    if from.checked_add(size)? > 8 {
        return None;
    }
    Some(value.checked_shr(8 * from as u32)? & mask(size))
}
