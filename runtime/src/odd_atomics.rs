//! Atomic operations on sizes that the machine has no instruction for, such as structures of 3 or 24
//! bytes: the generic functions of libatomic. Each is one step, logged word by word.

use crate::{
    access,
    entry::{entry, entry_on_stack},
    log,
    memory::{copy_up, on_behalf},
    modules,
    next::Next,
    scheduler,
    state::{Thread, controlled, recording_memory},
};
use core::{
    cell::Cell,
    ffi::c_int,
    sync::atomic::{
        AtomicBool,
        Ordering::{Acquire, Relaxed, Release},
    },
};
use unsnarl_trace::raw::{RecordKind, flag};

/// Held during an operation: where threads run freely nothing else makes it one step.
static BUSY: AtomicBool = AtomicBool::new(false);

fn as_one_step<T>(operation: impl FnOnce() -> T) -> T {
    while BUSY
        .compare_exchange_weak(false, true, Acquire, Relaxed)
        .is_err()
    {
        core::hint::spin_loop();
    }
    let result = operation();
    BUSY.store(false, Release);
    result
}

/// The object of an operation.
#[derive(Clone, Copy)]
struct OddPlace {
    addr: *mut u8,
    bytes: usize,
    pc: u64,
}

impl OddPlace {
    /// The calling thread, unless a library calls that is not instrumented.
    fn caller(self) -> Option<&'static Thread> {
        let this = recording_memory().filter(|_| !modules::is_system(self.pc))?;
        log::resolve(this);
        Some(this)
    }

    fn ready(self, kind: RecordKind) -> Option<&'static Thread> {
        let this = self.caller()?;
        if controlled() {
            let changes = kind != RecordKind::AtomicRead;
            let next = Next::range(changes, self.pc, self.addr, self.bytes);
            scheduler::before_access(this, next, changes);
        }
        Some(this)
    }

    /// Logs what is in memory now. For a read-modify-write the words that were there before come from
    /// `old`, which is as long.
    ///
    /// # Safety
    /// The operation has just been done.
    unsafe fn log(
        self,
        this: Option<&Thread>,
        kind: RecordKind,
        order: c_int,
        old: Option<*const u8>,
    ) {
        let Some(this) = this else { return };
        let flags = flag::VALUE | flag::RANGE_WORD | ((order as u8 & 7) << flag::ORDER_SHIFT);
        access::for_words(self.addr, self.bytes, |word, size| {
            // SAFETY: the caller's.
            unsafe {
                let value = log::sample(word, size);
                log::push(this, kind, flags, size, self.pc, word as u64, value);
                if let Some(old) = old {
                    let before = old.add(word as usize - self.addr as usize);
                    let before = log::sample(before, size);
                    let flags = flag::VALUE;
                    log::push(this, RecordKind::Extra, flags, size, self.pc, 0, before);
                }
            }
        });
    }
}

/// The program's plain read of an argument.
///
/// # Safety
/// It may be read.
unsafe fn reads(this: Option<&Thread>, from: *const u8, bytes: usize, pc: u64) {
    if let Some(this) = this {
        // SAFETY: the caller's.
        unsafe { access::log_read(this, from, bytes, pc) };
    }
}

/// The program's plain write of a result, which has just been done.
fn written(this: Option<&Thread>, to: *const u8, bytes: usize, pc: u64) {
    if let Some(this) = this {
        access::log_written(this, to, bytes, pc);
    }
}

unsafe extern "C" fn on_load(bytes: usize, addr: *mut u8, to: *mut u8, order: c_int, pc: u64) {
    let place = OddPlace { addr, bytes, pc };
    let this = place.ready(RecordKind::AtomicRead);
    // SAFETY: the program's own operation.
    unsafe {
        on_behalf(this, pc, || as_one_step(|| copy_up(to, addr, bytes)));
        place.log(this, RecordKind::AtomicRead, order, None);
    }
    written(this, to, bytes, pc);
}

unsafe extern "C" fn on_store(bytes: usize, addr: *mut u8, from: *const u8, order: c_int, pc: u64) {
    let place = OddPlace { addr, bytes, pc };
    let this = place.ready(RecordKind::AtomicWrite);
    // SAFETY: the program's own operation.
    unsafe {
        reads(this, from, bytes, pc);
        on_behalf(this, pc, || as_one_step(|| copy_up(addr, from, bytes)));
        place.log(this, RecordKind::AtomicWrite, order, None);
    }
}

unsafe extern "C" fn on_exchange(
    bytes: usize,
    addr: *mut u8,
    from: *const u8,
    to: *mut u8,
    order: c_int,
    pc: u64,
) {
    let place = OddPlace { addr, bytes, pc };
    let this = place.ready(RecordKind::Rmw);
    // SAFETY: the program's own operation.
    unsafe {
        reads(this, from, bytes, pc);
        on_behalf(this, pc, || as_one_step(|| exchange(place, from, to)));
        place.log(this, RecordKind::Rmw, order, Some(to));
    }
    written(this, to, bytes, pc);
}

/// Puts what is at `from` into the place and what was there to `to`, byte by byte: the two may be the same.
///
/// # Safety
/// As `__atomic_exchange`.
unsafe fn exchange(place: OddPlace, from: *const u8, to: *mut u8) {
    for i in 0..place.bytes {
        // SAFETY: the caller's.
        unsafe {
            let new = from.add(i).read_volatile();
            let old = place.addr.add(i).read_volatile();
            place.addr.add(i).write_volatile(new);
            to.add(i).write_volatile(old);
        }
    }
}

unsafe extern "C" fn on_compare_exchange(
    bytes: usize,
    addr: *mut u8,
    expected: *mut u8,
    wanted: *const u8,
    success: c_int,
    failure: c_int,
    pc: u64,
) -> bool {
    let place = OddPlace { addr, bytes, pc };
    let this = place.caller();
    if let Some(this) = this.filter(|_| controlled()) {
        // A loop of failing attempts spins.
        scheduler::count_idle(this, Next::range(true, pc, addr, bytes));
    }
    let fits = Cell::new(false);
    // SAFETY: the program's own operation.
    unsafe {
        reads(this, expected, bytes, pc);
        reads(this, wanted, bytes, pc);
        on_behalf(this, pc, || {
            as_one_step(|| {
                let same =
                    |i: usize| addr.add(i).read_volatile() == expected.add(i).read_volatile();
                fits.set((0..bytes).all(same));
                match fits.get() {
                    true => copy_up(addr, wanted, bytes),
                    false => copy_up(expected, addr, bytes),
                }
            });
        });
        if fits.get() {
            if let Some(this) = this {
                this.idle.set(0);
            }
            place.log(this, RecordKind::Rmw, success, Some(expected));
        } else {
            place.log(this, RecordKind::AtomicRead, failure, None);
            written(this, expected, bytes, pc);
        }
    }
    fits.get()
}

entry! {
    __atomic_load, "r8" => on_load;
    __atomic_store, "r8" => on_store;
    __atomic_exchange, "r9" => on_exchange;
}

entry_on_stack! {
    __atomic_compare_exchange => on_compare_exchange;
}
