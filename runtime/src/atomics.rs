//! Callbacks of atomic operations: done here for real, always sequentially consistent, and logged.
//!
//! In controlled mode one thread runs at a time, so every execution is sequentially consistent
//! whatever order the source asks for; the order is logged as written.

use crate::{
    access, choices, follow, livelock, log,
    next::Next,
    scheduler,
    state::{Thread, controlled, recording_memory, this_thread},
};
use core::{
    ffi::c_int,
    sync::atomic::{
        AtomicU8, AtomicU16, AtomicU32, AtomicU64,
        Ordering::{Relaxed, SeqCst},
        compiler_fence, fence,
    },
};
use unsnarl_trace::raw::{RecordKind, flag};

/// The calling thread, ready for an atomic step.
#[inline(always)]
fn ready(next: Next, changes: bool) -> Option<&'static Thread> {
    let this = recording_memory()?;
    log::resolve(this);
    if controlled() {
        scheduler::before_access(this, next, changes);
    }
    Some(this)
}

fn flags(order: c_int) -> u8 {
    flag::VALUE | ((order as u8 & 7) << flag::ORDER_SHIFT)
}

/// Runs an atomic operation of the program; a fault in it is charged to the program.
#[inline(always)]
fn on_behalf<T>(this: Option<&Thread>, pc: u64, operation: impl FnOnce() -> T) -> T {
    let Some(this) = this else { return operation() };
    this.access_pc.store(pc, Relaxed);
    compiler_fence(SeqCst);
    let result = operation();
    compiler_fence(SeqCst);
    this.access_pc.store(0, Relaxed);
    result
}

struct Place {
    addr: u64,
    size: u32,
    pc: u64,
    order: c_int,
}

impl Place {
    fn next(&self, kind: RecordKind) -> Next {
        Next::access(kind, self.pc, self.addr as *const u8, self.size)
    }
}

fn log_one(this: Option<&Thread>, kind: RecordKind, place: &Place, value: u64) {
    let Some(this) = this else { return };
    log::push(
        this,
        kind,
        flags(place.order),
        place.size,
        place.pc,
        place.addr,
        value,
    );
}

/// Logs a read-modify-write. One that leaves the value as it is changes nothing: a loop of them spins.
fn log_rmw(this: Option<&Thread>, place: &Place, old: u64, new: u64) {
    let Some(this) = this else { return };
    let log = || {
        log_one(Some(this), RecordKind::Rmw, place, new);
        let (size, pc) = (place.size, place.pc);
        log::push(this, RecordKind::Extra, flag::VALUE, size, pc, 0, old);
    };
    if old == new {
        livelock::calmly(|| follow::in_vain(this, log));
    } else {
        this.idle.set(0);
        log();
    }
}

/// The operations on atomics of one size.
macro_rules! atomics {
    ($module:ident, $int:ty, $atomic:ty, $size:literal;
     $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident $xor:ident
     $nand:ident $strong:ident $weak:ident $val:ident) => {
        mod $module {
            use super::*;

            fn place(atomic: *const $atomic, order: c_int, pc: u64) -> Place {
                Place {
                    addr: atomic as u64,
                    size: $size,
                    pc,
                    order,
                }
            }

            pub unsafe extern "C" fn load(atomic: *const $atomic, order: c_int, pc: u64) -> $int {
                let place = place(atomic, order, pc);
                let this = ready(place.next(RecordKind::AtomicRead), false);
                // SAFETY: the program's own operation.
                let value = on_behalf(this, pc, || unsafe { (*atomic).load(SeqCst) });
                log_one(this, RecordKind::AtomicRead, &place, value as u64);
                value
            }

            pub unsafe extern "C" fn store(
                atomic: *const $atomic,
                value: $int,
                order: c_int,
                pc: u64,
            ) {
                let place = place(atomic, order, pc);
                let this = ready(place.next(RecordKind::AtomicWrite), true);
                // SAFETY: the program's own operation.
                on_behalf(this, pc, || unsafe { (*atomic).store(value, SeqCst) });
                log_one(this, RecordKind::AtomicWrite, &place, value as u64);
            }

            /// A read-modify-write that always succeeds: `OPERATION` counts exchange, add, sub, and,
            /// or, xor, nand.
            pub unsafe extern "C" fn modify<const OPERATION: u8>(
                atomic: *const $atomic,
                operand: $int,
                order: c_int,
                pc: u64,
            ) -> $int {
                let place = place(atomic, order, pc);
                // Others than sums may leave the value as it is, as taking a lock in vain does.
                let is_sum = matches!(OPERATION, 1 | 2);
                let this = ready(place.next(RecordKind::Rmw), is_sum);
                let (old, new) = on_behalf(this, pc, || {
                    // SAFETY: the program's own operation.
                    let atomic = unsafe { &*atomic };
                    let change = |old: $int| match OPERATION {
                        0 => operand,
                        1 => old.wrapping_add(operand),
                        2 => old.wrapping_sub(operand),
                        3 => old & operand,
                        4 => old | operand,
                        5 => old ^ operand,
                        _ => !(old & operand),
                    };
                    let old = match OPERATION {
                        0 => atomic.swap(operand, SeqCst),
                        1 => atomic.fetch_add(operand, SeqCst),
                        2 => atomic.fetch_sub(operand, SeqCst),
                        3 => atomic.fetch_and(operand, SeqCst),
                        4 => atomic.fetch_or(operand, SeqCst),
                        5 => atomic.fetch_xor(operand, SeqCst),
                        _ => atomic.fetch_nand(operand, SeqCst),
                    };
                    (old, change(old))
                });
                log_rmw(this, &place, old as u64, new as u64);
                old
            }

            fn exchange_if<const WEAK: bool>(
                atomic: *const $atomic,
                expected: $int,
                wanted: $int,
                (order, failure_order): (c_int, c_int),
                pc: u64,
            ) -> Result<$int, $int> {
                let this = recording_memory();
                let place = place(atomic, order, pc);
                if let Some(this) = this {
                    log::resolve(this);
                    if controlled() {
                        // A loop of failing attempts spins.
                        scheduler::count_idle(this, place.next(RecordKind::Rmw));
                    }
                }
                let result = on_behalf(this, pc, || {
                    // SAFETY: the program's own operation.
                    let atomic = unsafe { &*atomic };
                    // Where it would succeed, a weak one may fail.
                    if WEAK
                        && this.is_some()
                        && controlled()
                        && atomic.load(SeqCst) == expected
                        && choices::fails_for_no_reason()
                    {
                        return Err(expected);
                    }
                    atomic.compare_exchange(expected, wanted, SeqCst, SeqCst)
                });
                match result {
                    Ok(old) => log_rmw(this, &place, old as u64, wanted as u64),
                    Err(found) => {
                        let place = Place {
                            order: failure_order,
                            ..place
                        };
                        log_one(this, RecordKind::AtomicRead, &place, found as u64);
                    }
                }
                result
            }

            pub unsafe extern "C" fn compare_exchange<const WEAK: bool>(
                atomic: *const $atomic,
                expected: *mut $int,
                wanted: $int,
                order: c_int,
                failure_order: c_int,
                pc: u64,
            ) -> bool {
                // The compiler leaves both accesses to the expected value to the callback.
                // SAFETY: the program's own argument.
                let guess = unsafe {
                    access::read(expected.cast(), pc, $size, 0);
                    on_behalf(this_thread(), pc, || *expected)
                };
                let orders = (order, failure_order);
                match exchange_if::<WEAK>(atomic, guess, wanted, orders, pc) {
                    Ok(_) => true,
                    Err(found) => {
                        // SAFETY: the program's own argument.
                        unsafe {
                            access::write(expected.cast(), pc, $size, 0);
                            on_behalf(this_thread(), pc, || *expected = found);
                        }
                        false
                    }
                }
            }

            pub unsafe extern "C" fn compare_exchange_val(
                atomic: *const $atomic,
                expected: $int,
                wanted: $int,
                order: c_int,
                failure_order: c_int,
                pc: u64,
            ) -> $int {
                let orders = (order, failure_order);
                match exchange_if::<false>(atomic, expected, wanted, orders, pc) {
                    Ok(old) | Err(old) => old,
                }
            }
        }

        crate::entry::entry! {
            $load, "rdx" => $module::load;
            $store, "rcx" => $module::store;
            $exchange, "rcx" => $module::modify::<0>;
            $add, "rcx" => $module::modify::<1>;
            $sub, "rcx" => $module::modify::<2>;
            $and, "rcx" => $module::modify::<3>;
            $or, "rcx" => $module::modify::<4>;
            $xor, "rcx" => $module::modify::<5>;
            $nand, "rcx" => $module::modify::<6>;
            $strong, "r9" => $module::compare_exchange::<false>;
            $weak, "r9" => $module::compare_exchange::<true>;
            $val, "r9" => $module::compare_exchange_val;
        }
    };
}

atomics!(of8, u8, AtomicU8, 1;
    __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add
    __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or
    __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand __tsan_atomic8_compare_exchange_strong
    __tsan_atomic8_compare_exchange_weak __tsan_atomic8_compare_exchange_val);
atomics!(of16, u16, AtomicU16, 2;
    __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange __tsan_atomic16_fetch_add
    __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or
    __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_strong
    __tsan_atomic16_compare_exchange_weak __tsan_atomic16_compare_exchange_val);
atomics!(of32, u32, AtomicU32, 4;
    __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange __tsan_atomic32_fetch_add
    __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or
    __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_strong
    __tsan_atomic32_compare_exchange_weak __tsan_atomic32_compare_exchange_val);
atomics!(of64, u64, AtomicU64, 8;
    __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange __tsan_atomic64_fetch_add
    __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or
    __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_strong
    __tsan_atomic64_compare_exchange_weak __tsan_atomic64_compare_exchange_val);

/// Order of a store that publishes, as C has it.
const RELEASE: c_int = 3;

/// Stores four bytes as the program's own releasing store does.
///
/// # Safety
/// `atomic` points to them.
pub unsafe fn publish_half(atomic: *const AtomicU32, value: u32, pc: u64) {
    // SAFETY: the caller's.
    unsafe { of32::store(atomic, value, RELEASE, pc) };
}

/// Stores eight bytes as the program's own releasing store does.
///
/// # Safety
/// `atomic` points to them.
pub unsafe fn publish(atomic: *const AtomicU64, value: u64, pc: u64) {
    // SAFETY: the caller's.
    unsafe { of64::store(atomic, value, RELEASE, pc) };
}

unsafe extern "C" fn thread_fence(order: c_int, pc: u64) {
    let place = Place {
        addr: 0,
        size: 0,
        pc,
        order,
    };
    let this = ready(place.next(RecordKind::Fence), true);
    fence(SeqCst);
    log_one(this, RecordKind::Fence, &place, order as u64);
}

crate::entry::entry! {
    __tsan_atomic_thread_fence, "rsi" => thread_fence;
}

/// Orders the compiler only: nothing happens at run time.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {}
