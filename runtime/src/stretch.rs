//! Detection of a thread that has run for long and waits for another one.
//!
//! A thread that only looks is noticed soon (`scheduler::count_idle`). One that waits may also change something as it
//! goes, such as a count of its looks; but it looks at the same few places again and again, at least one of which it
//! never changes itself. A thread that computes wanders over its data, or changes what it reads: leaving it would
//! take a preemption that the strategy did not want.

use crate::{next::Next, state::SHARED};
use core::cell::Cell;
use unsnarl_trace::raw::RecordKind;

/// Decisions without a change of thread after which a thread that waits lets the others run.
const LONGEST_STRETCH: u32 = 20_000;
/// Number of the last of these decisions that are examined.
const WATCHED: u32 = 2_000;
/// Number of places above which a loop does not count as waiting.
const PLACES: usize = 16;

/// A place that was accessed while the thread was watched.
struct StretchPlace {
    addr: Cell<u64>,
    reads: Cell<u32>,
    is_written: Cell<bool>,
}

struct Watch {
    places: [StretchPlace; PLACES],
    /// `true` if there were more places.
    wanders: Cell<bool>,
}

// SAFETY: used in controlled mode only, by the thread that has the turn.
unsafe impl Sync for Watch {}

static WATCH: Watch = Watch {
    places: [const {
        StretchPlace {
            addr: Cell::new(0),
            reads: Cell::new(0),
            is_written: Cell::new(false),
        }
    }; PLACES],
    wanders: Cell::new(false),
};

/// Counts a decision at which the thread is about to take this step; returns whether it has waited for long.
#[inline(always)]
pub fn waits_for_long(next: Next) -> bool {
    let stretch = SHARED.stretch.get() + 1;
    SHARED.stretch.set(stretch);
    stretch > LONGEST_STRETCH - WATCHED && WATCH.look(next, stretch)
}

impl Watch {
    #[cold]
    fn look(&self, next: Next, stretch: u32) -> bool {
        if stretch == LONGEST_STRETCH - WATCHED + 1 {
            self.clear();
        }
        self.note(next);
        if stretch <= LONGEST_STRETCH {
            return false;
        }
        SHARED.stretch.set(0);
        self.waits()
    }

    fn clear(&self) {
        self.wanders.set(false);
        for place in &self.places {
            place.addr.set(0);
            place.reads.set(0);
            place.is_written.set(false);
        }
    }

    fn note(&self, next: Next) {
        if next.addr == 0 {
            return;
        }
        let known = |place: &&StretchPlace| place.addr.get() == next.addr || place.addr.get() == 0;
        let Some(place) = self.places.iter().find(known) else {
            return self.wanders.set(true);
        };
        place.addr.set(next.addr);
        if matches!(next.kind, RecordKind::Read | RecordKind::AtomicRead) {
            place.reads.set(place.reads.get() + 1);
        } else {
            place.is_written.set(true);
        }
    }

    fn waits(&self) -> bool {
        let looked_at = |place: &StretchPlace| place.reads.get() > 1 && !place.is_written.get();
        !self.wanders.get() && self.places.iter().any(looked_at)
    }
}
