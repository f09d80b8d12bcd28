//! Atomic operations on 16 bytes: the callbacks, and the functions of libatomic that clang calls instead.
//! Each of their values is logged in two halves.

use crate::{
    access, log,
    memory::on_behalf,
    next::Next,
    scheduler,
    state::{Thread, controlled, recording_memory},
};
use core::{arch::asm, ffi::c_int};
use unsnarl_trace::raw::{RecordKind, flag};

const SIZE: u32 = 16;

struct WidePlace {
    addr: *mut u128,
    order: c_int,
    pc: u64,
}

/// # Safety
/// The program's own operation; `addr` is aligned.
unsafe fn exchange_if(addr: *mut u128, expected: u128, wanted: u128) -> u128 {
    let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
    // The instruction itself: the intrinsic may become a call of the library function defined below.
    // SAFETY: the caller's. All x86-64 processors but the very first have the instruction; `rbx`, which
    // the compiler keeps to itself, is put back.
    unsafe {
        asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b xmmword ptr [rdi]",
            "mov rbx, rsi",
            inout("rsi") wanted as u64 => _,
            in("rdi") addr,
            in("rcx") (wanted >> 64) as u64,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
    }
    joined(low, high)
}

impl WidePlace {
    fn ready(&self, kind: RecordKind) -> Option<&'static Thread> {
        let this = recording_memory()?;
        log::resolve(this);
        if controlled() {
            let next = Next::access(kind, self.pc, self.addr.cast(), SIZE);
            scheduler::before_access(this, next, kind != RecordKind::AtomicRead);
        }
        Some(this)
    }

    fn log(&self, this: Option<&Thread>, kind: RecordKind, value: u128) {
        let Some(this) = this else { return };
        let flags = flag::VALUE | ((self.order as u8 & 7) << flag::ORDER_SHIFT);
        log::push(
            this,
            kind,
            flags,
            SIZE,
            self.pc,
            self.addr as u64,
            value as u64,
        );
        if kind != RecordKind::Rmw {
            self.extra(this, (value >> 64) as u64);
        }
    }

    fn log_rmw(&self, this: Option<&Thread>, old: u128, new: u128) {
        self.log(this, RecordKind::Rmw, new);
        let Some(this) = this else { return };
        for half in [old as u64, (new >> 64) as u64, (old >> 64) as u64] {
            self.extra(this, half);
        }
    }

    fn extra(&self, this: &Thread, half: u64) {
        log::push(this, RecordKind::Extra, flag::VALUE, 8, self.pc, 0, half);
    }

    /// Changes the value; returns what was there.
    unsafe fn modify(&self, change: impl Fn(u128) -> u128) -> u128 {
        let this = self.ready(RecordKind::Rmw);
        let (old, new) = on_behalf(this, self.pc, || {
            let mut guess = 0;
            loop {
                let new = change(guess);
                // SAFETY: the program's own operation.
                let found = unsafe { exchange_if(self.addr, guess, new) };
                if found == guess {
                    break (guess, new);
                }
                guess = found;
            }
        });
        self.log_rmw(this, old, new);
        old
    }

    /// Puts `wanted` in the place of `expected`; a failure has an order of its own.
    unsafe fn compare_exchange(&self, expected: u128, wanted: u128, failure_order: c_int) -> u128 {
        let this = self.ready(RecordKind::Rmw);
        // SAFETY: the program's own operation.
        let found = on_behalf(this, self.pc, || unsafe {
            exchange_if(self.addr, expected, wanted)
        });
        if found == expected {
            self.log_rmw(this, found, wanted);
        } else {
            let failed = WidePlace {
                order: failure_order,
                ..*self
            };
            failed.log(this, RecordKind::AtomicRead, found);
        }
        found
    }
}

unsafe extern "C" fn load(addr: *mut u128, order: c_int, pc: u64) -> u128 {
    let place = WidePlace { addr, order, pc };
    let this = place.ready(RecordKind::AtomicRead);
    // SAFETY: the program's own operation; what is there stays.
    let value = on_behalf(this, pc, || unsafe { exchange_if(addr, 0, 0) });
    place.log(this, RecordKind::AtomicRead, value);
    value
}

unsafe extern "C" fn store(addr: *mut u128, low: u64, high: u64, order: c_int, pc: u64) {
    let place = WidePlace { addr, order, pc };
    let value = joined(low, high);
    let this = place.ready(RecordKind::AtomicWrite);
    on_behalf(this, pc, || {
        let mut guess = 0;
        loop {
            // SAFETY: the program's own operation.
            let found = unsafe { exchange_if(addr, guess, value) };
            if found == guess {
                break;
            }
            guess = found;
        }
    });
    place.log(this, RecordKind::AtomicWrite, value);
}

fn joined(low: u64, high: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

macro_rules! modifications {
    ($($function:ident: |$old:ident, $operand:ident| $new:expr;)*) => {$(
        unsafe extern "C" fn $function(
            addr: *mut u128,
            low: u64,
            high: u64,
            order: c_int,
            pc: u64,
        ) -> u128 {
            let $operand = joined(low, high);
            // SAFETY: the program's own operation.
            unsafe { WidePlace { addr, order, pc }.modify(|$old| $new) }
        }
    )*};
}

modifications! {
    exchange: |_old, operand| operand;
    add: |old, operand| old.wrapping_add(operand);
    sub: |old, operand| old.wrapping_sub(operand);
    and: |old, operand| old & operand;
    or: |old, operand| old | operand;
    xor: |old, operand| old ^ operand;
    nand: |old, operand| !(old & operand);
}

unsafe extern "C" fn compare_exchange(
    addr: *mut u128,
    expected: *mut u128,
    low: u64,
    high: u64,
    order: c_int,
    failure_order: c_int,
    pc: u64,
) -> bool {
    let place = WidePlace { addr, order, pc };
    // SAFETY: the program's own arguments.
    unsafe {
        access::read(expected.cast(), pc, SIZE, 0);
        let guess = expected.read_unaligned();
        let found = place.compare_exchange(guess, joined(low, high), failure_order);
        if found != guess {
            access::write(expected.cast(), pc, SIZE, 0);
            expected.write_unaligned(found);
        }
        found == guess
    }
}

unsafe extern "C" fn compare_exchange_val(
    addr: *mut u128,
    expected_low: u64,
    expected_high: u64,
    low: u64,
    high: u64,
    order: c_int,
    failure_order: c_int,
    pc: u64,
) -> u128 {
    let expected = joined(expected_low, expected_high);
    let place = WidePlace { addr, order, pc };
    // SAFETY: the program's own operation.
    unsafe { place.compare_exchange(expected, joined(low, high), failure_order) }
}

crate::entry::entry! {
    __tsan_atomic128_load, "rdx" => load;
    __tsan_atomic128_store, "r8" => store;
    __tsan_atomic128_exchange, "r8" => exchange;
    __tsan_atomic128_fetch_add, "r8" => add;
    __tsan_atomic128_fetch_sub, "r8" => sub;
    __tsan_atomic128_fetch_and, "r8" => and;
    __tsan_atomic128_fetch_or, "r8" => or;
    __tsan_atomic128_fetch_xor, "r8" => xor;
    __tsan_atomic128_fetch_nand, "r8" => nand;
    __atomic_load_16, "rdx" => load;
    __atomic_store_16, "r8" => store;
    __atomic_exchange_16, "r8" => exchange;
    __atomic_fetch_add_16, "r8" => add;
    __atomic_fetch_sub_16, "r8" => sub;
    __atomic_fetch_and_16, "r8" => and;
    __atomic_fetch_or_16, "r8" => or;
    __atomic_fetch_xor_16, "r8" => xor;
    __atomic_fetch_nand_16, "r8" => nand;
}

crate::entry::entry_on_stack! {
    __tsan_atomic128_compare_exchange_strong => compare_exchange;
    __tsan_atomic128_compare_exchange_weak => compare_exchange;
    __atomic_compare_exchange_16 => compare_exchange;
}

// The seventh argument, the order of a failure, is passed on the stack: the place becomes the eighth.
core::arch::global_asm!(
    ".pushsection .text.__tsan_atomic128_compare_exchange_val,\"ax\",@progbits",
    ".weak __tsan_atomic128_compare_exchange_val",
    ".type __tsan_atomic128_compare_exchange_val,@function",
    "__tsan_atomic128_compare_exchange_val:",
    ".cfi_startproc",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "push qword ptr [rsp + 8]",
    ".cfi_adjust_cfa_offset 8",
    "push qword ptr [rsp + 24]",
    ".cfi_adjust_cfa_offset 8",
    "call {target}",
    "add rsp, 24",
    ".cfi_adjust_cfa_offset -24",
    "ret",
    ".cfi_endproc",
    ".size __tsan_atomic128_compare_exchange_val,.-__tsan_atomic128_compare_exchange_val",
    ".popsection",
    target = sym compare_exchange_val,
);
