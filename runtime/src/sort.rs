//! `qsort`: the elements move where the program can see it. What is compared are the elements in their
//! places; only when the order is known they are read and written, in one step.

use crate::{
    entry::entry,
    memory::{copy_up, reads, ready, writes},
    real::real,
    state::{Thread, controlled, unrecorded},
};
use core::ffi::{c_int, c_void};

type Compare = unsafe extern "C-unwind" fn(*const u8, *const u8) -> c_int;
type CompareWith = unsafe extern "C-unwind" fn(*const u8, *const u8, *mut c_void) -> c_int;

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// The elements of an array.
#[derive(Clone, Copy)]
struct Array {
    base: *mut u8,
    count: usize,
    bytes: usize,
}

/// Merges the sorted halves of `order[start..end]`, elements by number; equal ones keep their order.
///
/// # Safety
/// Both lists hold `end` numbers.
unsafe fn merge(
    order: *const u32,
    to: *mut u32,
    (start, middle, end): (usize, usize, usize),
    is_after: &mut impl FnMut(u32, u32) -> bool,
) {
    let (mut left, mut right) = (start, middle);
    for at in start..end {
        // SAFETY: the caller's.
        unsafe {
            let takes_right = left == middle
                || right < end && is_after(order.add(left).read(), order.add(right).read());
            let from = if takes_right { &mut right } else { &mut left };
            to.add(at).write_volatile(order.add(*from).read());
            *from += 1;
        }
    }
}

/// Sorts the numbers of the elements; returns the list that holds the result.
///
/// # Safety
/// Both lists have room for `count` numbers.
unsafe fn sort(
    lists: (*mut u32, *mut u32),
    count: usize,
    mut is_after: impl FnMut(u32, u32) -> bool,
) -> *mut u32 {
    let (mut from, mut to) = lists;
    for i in 0..count {
        // SAFETY: the caller's.
        unsafe { from.add(i).write_volatile(i as u32) };
    }
    let mut width = 1;
    while width < count {
        let mut start = 0;
        while start < count {
            let middle = (start + width).min(count);
            let end = (middle + width).min(count);
            // SAFETY: the caller's.
            unsafe { merge(from, to, (start, middle, end), &mut is_after) };
            start = end;
        }
        (from, to) = (to, from);
        width *= 2;
    }
    from
}

impl Array {
    fn all(self) -> usize {
        self.count * self.bytes
    }

    fn at(self, number: u32) -> *mut u8 {
        self.base.wrapping_add(number as usize * self.bytes)
    }

    /// Puts the elements into this order: reads and writes all of them.
    ///
    /// # Safety
    /// `spare` has room for all elements, `order` holds their numbers.
    unsafe fn arrange(self, order: *const u32, spare: *mut u8, pc: u64) {
        // Where the program changed the mode meanwhile there is nothing to log.
        let this = ready(true, pc);
        // SAFETY: the caller's.
        unsafe {
            reads(this, self.base, self.all(), pc);
            writes(this, self.base, self.all(), pc);
            for i in 0..self.count {
                let from = self.at(order.add(i).read());
                copy_up(spare.add(i * self.bytes), from, self.bytes);
            }
            copy_up(self.base, spare, self.all());
        }
    }
}

/// Sorts; false when there is no memory for it.
///
/// # Safety
/// As `qsort`.
unsafe fn sort_in_sight(
    this: &Thread,
    array: Array,
    pc: u64,
    compare: impl Fn(*const u8, *const u8) -> c_int,
) -> bool {
    let numbers = array.count * size_of::<u32>();
    // SAFETY: a block of our own.
    let block = unrecorded(this, || unsafe {
        __libc_malloc(2 * numbers + array.all()).cast::<u8>()
    });
    if block.is_null() {
        return false;
    }
    let lists = (block.cast::<u32>(), block.wrapping_add(numbers).cast());
    let is_after = |a: u32, b: u32| compare(array.at(a), array.at(b)) > 0;
    // SAFETY: the block is as large as that.
    unsafe {
        let order = sort(lists, array.count, is_after);
        array.arrange(order, block.add(2 * numbers), pc);
        unrecorded(this, || __libc_free(block.cast()));
    }
    true
}

/// The calling thread, if the sort is to be seen.
fn watched(array: Array, pc: u64) -> Option<&'static Thread> {
    let fits = array.count > 1 && array.bytes > 0 && u32::try_from(array.count).is_ok();
    ready(false, pc).filter(|_| controlled() && fits)
}

unsafe extern "C-unwind" fn on_qsort(
    base: *mut u8,
    count: usize,
    bytes: usize,
    compare: Compare,
    pc: u64,
) {
    let library = real!("qsort", fn(*mut u8, usize, usize, Compare) -> ());
    let array = Array { base, count, bytes };
    // SAFETY: the program's own call.
    unsafe {
        let call = |a, b| compare(a, b);
        let done = watched(array, pc).is_some_and(|this| sort_in_sight(this, array, pc, call));
        if !done {
            library(base, count, bytes, compare);
        }
    }
}

unsafe extern "C-unwind" fn on_qsort_r(
    base: *mut u8,
    count: usize,
    bytes: usize,
    compare: CompareWith,
    argument: *mut c_void,
    pc: u64,
) {
    let library = real!(
        "qsort_r",
        fn(*mut u8, usize, usize, CompareWith, *mut c_void) -> ()
    );
    let array = Array { base, count, bytes };
    // SAFETY: the program's own call.
    unsafe {
        let call = |a, b| compare(a, b, argument);
        let done = watched(array, pc).is_some_and(|this| sort_in_sight(this, array, pc, call));
        if !done {
            library(base, count, bytes, compare, argument);
        }
    }
}

unsafe extern "C-unwind" fn on_lsearch(
    key: *const u8,
    base: *mut u8,
    count: *mut usize,
    bytes: usize,
    compare: Compare,
    pc: u64,
) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe {
        reads(ready(false, pc), count.cast(), size_of::<usize>(), pc);
        let now = *count;
        for i in 0..now {
            let element = base.add(i * bytes);
            if compare(key, element) == 0 {
                return element;
            }
        }
        let (this, new) = (ready(true, pc), base.add(now * bytes));
        reads(this, key, bytes, pc);
        writes(this, new, bytes, pc);
        copy_up(new, key, bytes);
        if let Some(this) = this {
            crate::log::resolve(this);
        }
        writes(this, count.cast(), size_of::<usize>(), pc);
        *count = now + 1;
        new
    }
}

entry! {
    qsort, "r8" => on_qsort;
    qsort_r, "r9" => on_qsort_r;
    lsearch, "r9" => on_lsearch;
}
