//! Random numbers from the system, drawn from a seed instead: the same run again sees the same ones,
//! and the runs of a campaign see different ones.

use crate::{
    access,
    entry::entry,
    livelock,
    mutex::ready,
    next::Next,
    real::real,
    scheduler,
    state::{SHARED, Thread, controlled, header},
};
use core::{
    ffi::{c_int, c_long},
    sync::atomic::Ordering::Relaxed,
};

/// The next 64 bits for the program.
fn draw() -> u64 {
    header().drew_random.store(1, Relaxed);
    let mut state = SHARED.entropy.get();
    let drawn = next(&mut state);
    SHARED.entropy.set(state);
    drawn
}

/// The next 64 bits from a state (splitmix64).
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let state = *state;
    let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// Fills the bytes.
pub fn fill(to: *mut u8, bytes: usize) {
    let mut word = 0u64;
    for i in 0..bytes {
        if i % 8 == 0 {
            word = draw();
        }
        // SAFETY: the program's own buffer.
        unsafe { to.add(i).write_volatile((word >> (8 * (i % 8))) as u8) };
    }
}

/// The calling thread, after a decision, when the numbers are to be drawn here.
fn drawing(pc: u64, to: *mut u8, bytes: usize) -> Option<&'static Thread> {
    let this = ready(pc).filter(|_| controlled())?;
    scheduler::decide(this, Next::range(true, pc, to, bytes));
    Some(this)
}

pub unsafe extern "C-unwind" fn on_getrandom(
    to: *mut u8,
    bytes: usize,
    flags: u32,
    pc: u64,
) -> isize {
    let library = real!("getrandom", fn(*mut u8, usize, u32) -> isize);
    let Some(this) = drawing(pc, to, bytes) else {
        // SAFETY: the program's own call.
        return unsafe { library(to, bytes, flags) };
    };
    fill(to, bytes);
    access::log_written(this, to, bytes, pc);
    bytes as isize
}

unsafe extern "C-unwind" fn on_getentropy(to: *mut u8, bytes: usize, pc: u64) -> c_int {
    const MOST: usize = 256;
    let library = real!("getentropy", fn(*mut u8, usize) -> c_int);
    match drawing(pc, to, bytes) {
        Some(this) if bytes <= MOST => {
            fill(to, bytes);
            access::log_written(this, to, bytes, pc);
            0
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(to, bytes) },
    }
}

unsafe extern "C-unwind" fn on_arc4random(pc: u64) -> u32 {
    match drawing(pc, core::ptr::null_mut(), 0) {
        Some(_) => draw() as u32,
        None => {
            let library = real!("arc4random", fn() -> u32);
            // SAFETY: the program's own call.
            unsafe { library() }
        }
    }
}

unsafe extern "C-unwind" fn on_arc4random_uniform(bound: u32, pc: u64) -> u32 {
    match drawing(pc, core::ptr::null_mut(), 0) {
        Some(_) => (((draw() >> 32) * u64::from(bound)) >> 32) as u32,
        None => {
            let library = real!("arc4random_uniform", fn(u32) -> u32);
            // SAFETY: the program's own call.
            unsafe { library(bound) }
        }
    }
}

unsafe extern "C-unwind" fn on_arc4random_buf(to: *mut u8, bytes: usize, pc: u64) {
    match drawing(pc, to, bytes) {
        Some(this) => {
            fill(to, bytes);
            access::log_written(this, to, bytes, pc);
        }
        None => {
            let library = real!("arc4random_buf", fn(*mut u8, usize) -> ());
            // SAFETY: the program's own call.
            unsafe { library(to, bytes) }
        }
    }
}

/// `std::random_device::operator()` of libstdc++: it asks the processor where it can.
unsafe extern "C-unwind" fn on_random_device(device: usize, pc: u64) -> u32 {
    match drawing(pc, core::ptr::null_mut(), 0) {
        Some(_) => draw() as u32,
        None => {
            let library = real!("_ZNSt13random_device9_M_getvalEv", fn(usize) -> u32);
            // SAFETY: the program's own call.
            unsafe { library(device) }
        }
    }
}

/// Functions that draw a number from a state which the C library keeps: each call changes what the next one gives.
macro_rules! drawn_by_library {
    ($($name:literal: $function:ident -> $number:ty;)*) => {$(
        unsafe extern "C-unwind" fn $function() -> $number {
            if controlled() {
                livelock::stir();
            }
            let library = real!($name, fn() -> $number);
            // SAFETY: no arguments.
            unsafe { library() }
        }
    )*};
}

drawn_by_library! {
    "rand": on_rand -> c_int;
    "random": on_random -> c_long;
    "lrand48": on_lrand48 -> c_long;
    "mrand48": on_mrand48 -> c_long;
    "drand48": on_drand48 -> f64;
}

entry! {
    rand, "rdi" => on_rand;
    random, "rdi" => on_random;
    lrand48, "rdi" => on_lrand48;
    mrand48, "rdi" => on_mrand48;
    drand48, "rdi" => on_drand48;
    getrandom, "rcx" => on_getrandom;
    getentropy, "rdx" => on_getentropy;
    arc4random, "rdi" => on_arc4random;
    arc4random_uniform, "rsi" => on_arc4random_uniform;
    arc4random_buf, "rdx" => on_arc4random_buf;
    _ZNSt13random_device9_M_getvalEv, "rsi" => on_random_device;
}
