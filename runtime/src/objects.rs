//! Virtual state of the program's synchronization objects, by address.
//!
//! In controlled mode the library's own objects are never locked: a thread that would block there
//! would take the turn with it.

use crate::{failure, robust::RobustState, sys};
use core::{cell::Cell, ptr::null};

/// State of one mutex, rwlock, spinlock, barrier, semaphore or once.
pub struct Object {
    address: Cell<usize>,
    /// Number of the owning thread plus one; 0 when free.
    pub owner: Cell<u32>,
    /// Number of times that the owner has locked it.
    pub depth: Cell<u32>,
    pub readers: Cell<u32>,
    /// Semaphore: units. Barrier: threads that it waits for. Once: 1 when done.
    pub value: Cell<i64>,
    /// Barrier: threads that have arrived.
    pub arrived: Cell<i64>,
    /// `true` once `value` has been set.
    pub known: Cell<bool>,
    /// State of a robust mutex.
    pub state: Cell<RobustState>,
    /// The next of the robust mutexes that the owner holds; 0 for none.
    pub next_held: Cell<usize>,
}

impl Object {
    pub fn is_free_for_writing(&self) -> bool {
        self.owner.get() == 0 && self.readers.get() == 0
    }

    /// Resets the object to the state of a new one.
    pub fn reset(&self) {
        self.owner.set(0);
        self.depth.set(0);
        self.readers.set(0);
        self.value.set(0);
        self.arrived.set(0);
        self.known.set(false);
        self.state.set(RobustState::Consistent);
        self.next_held.set(0);
    }
}

/// Bound for the objects of one run; a power of two.
const CAPACITY: usize = 1 << 20;

struct Table {
    places: Cell<*const Object>,
    used: Cell<usize>,
}

// SAFETY: used in controlled mode only, by the thread that has the turn.
unsafe impl Sync for Table {}

static TABLE: Table = Table {
    places: Cell::new(null()),
    used: Cell::new(0),
};

/// Reserves the table; pages are used as objects appear.
pub fn set_up() {
    let Some(places) = sys::memory(CAPACITY * size_of::<Object>()) else {
        failure::unsupported(c"no memory for the table of locks");
    };
    TABLE.places.set(places.cast());
}

/// The object at this address; new ones are free and unset.
pub fn at(address: usize) -> &'static Object {
    let mut place = address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44 & (CAPACITY - 1);
    loop {
        // SAFETY: `place` is below the capacity; zeroed memory is a valid `Object`.
        let object = unsafe { &*TABLE.places.get().add(place) };
        if object.address.get() == address {
            return object;
        }
        if object.address.get() == 0 {
            claim(object, address);
            return object;
        }
        place = (place + 1) & (CAPACITY - 1);
    }
}

fn claim(object: &Object, address: usize) {
    if TABLE.used.get() > CAPACITY / 4 * 3 {
        failure::unsupported(c"more than 786,432 locks in one run");
    }
    TABLE.used.set(TABLE.used.get() + 1);
    object.address.set(address);
}
