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

/// Bound for the objects of one run.
const MOST: usize = CAPACITY / 4 * 3;
/// Bound for the slots of the index; a power of two.
const CAPACITY: usize = 1 << 20;
/// Slots of the index at first: a page of memory.
const FIRST_SLOTS: usize = 1 << 10;

/// The objects in the order in which they appeared, and a hash table of their numbers. Both grow with use: most programs
/// have few objects, and spread over a table for many each of them would take a page of its own in every run.
struct Table {
    objects: Cell<*const Object>,
    used: Cell<usize>,
    /// Numbers of objects plus one; 0 for none.
    index: Cell<*const Cell<u32>>,
    /// Number of slots of the index that are in use; a power of two.
    slots: Cell<usize>,
}

// SAFETY: used in controlled mode only, by the thread that has the turn.
unsafe impl Sync for Table {}

static TABLE: Table = Table {
    objects: Cell::new(null()),
    used: Cell::new(0),
    index: Cell::new(null()),
    slots: Cell::new(FIRST_SLOTS),
};

/// Reserves the table; pages are used as objects appear.
pub fn set_up() {
    let objects = sys::memory(MOST * size_of::<Object>());
    let index = sys::memory(CAPACITY * size_of::<Cell<u32>>());
    let (Some(objects), Some(index)) = (objects, index) else {
        failure::unsupported(c"no memory for the table of locks");
    };
    TABLE.objects.set(objects.cast());
    TABLE.index.set(index.cast());
}

/// The object at this address; new ones are free and unset.
#[inline]
pub fn at(address: usize) -> &'static Object {
    TABLE
        .find(address)
        .unwrap_or_else(|slot| TABLE.add(address, slot))
}

impl Table {
    /// The object at this address, or the slot for its number.
    #[inline]
    fn find(&self, address: usize) -> Result<&'static Object, usize> {
        let slots = self.slots.get();
        let hash = address.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut slot = hash >> (usize::BITS - slots.trailing_zeros());
        loop {
            let Some(number) = self.slot(slot).get().checked_sub(1) else {
                return Err(slot);
            };
            let object = self.object(number as usize);
            if object.address.get() == address {
                return Ok(object);
            }
            slot = (slot + 1) & (slots - 1);
        }
    }

    #[cold]
    fn add(&self, address: usize, slot: usize) -> &'static Object {
        let number = self.used.get();
        if number >= MOST {
            failure::unsupported(c"more than 786,432 locks in one run");
        }
        self.used.set(number + 1);
        let object = self.object(number);
        object.address.set(address);
        self.slot(slot).set(number as u32 + 1);
        if self.slots.get() < CAPACITY && number >= self.slots.get() / 2 {
            self.grow();
        }
        object
    }

    /// Doubles the index.
    fn grow(&self) {
        let slots = 2 * self.slots.get();
        (0..slots).for_each(|slot| self.slot(slot).set(0));
        self.slots.set(slots);
        for number in 0..self.used.get() {
            if let Err(slot) = self.find(self.object(number).address.get()) {
                self.slot(slot).set(number as u32 + 1);
            }
        }
    }

    fn object(&self, number: usize) -> &'static Object {
        // SAFETY: the table has room for `MOST`, and numbers are below; zeroed memory is a valid `Object`.
        unsafe { &*self.objects.get().add(number) }
    }

    fn slot(&self, slot: usize) -> &'static Cell<u32> {
        // SAFETY: the index has room for `CAPACITY`, which no number of slots exceeds.
        unsafe { &*self.index.get().add(slot) }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no memory at a given address")]
    fn objects_are_found_again_after_the_table_has_grown() {
        set_up();
        let addresses = || (1..=5 * FIRST_SLOTS).map(|number| number * 40);
        let objects: Vec<*const Object> = addresses().map(|it| at(it) as *const Object).collect();
        let again = addresses().map(|it| at(it) as *const Object);
        assert!(again.eq(objects.iter().copied()));
        assert!(TABLE.slots.get() > 4 * FIRST_SLOTS);
        assert_eq!(TABLE.used.get(), objects.len());
    }
}
