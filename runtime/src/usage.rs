//! Usage of the machine by the process, and properties of the machine. Processor time is virtual time, as all clocks
//! are; the rest is given back in a replay.

use crate::{
    access,
    entry::entry,
    input::{Answer, Parts, exchange_alike, part},
    mutex::ready,
    next::Next,
    real::real,
    scheduler,
    state::{SHARED, Thread, controlled, header, unrecorded},
    time,
};
use core::{
    ffi::{c_int, c_long},
    mem::size_of,
};
use libc::{clock_t, rusage, timeval, tms};
use unsnarl_trace::raw::{Call, Input};

const MICROSECOND: u64 = 1_000;
/// Nanoseconds of a tick of `times`, of which the kernel promises a hundred a second.
const TICK: u64 = 10_000_000;

/// The calling thread, after a decision, when the answer is to be recorded.
fn asking(pc: u64) -> Option<&'static Thread> {
    ready(pc).filter(|_| controlled())
}

/// Virtual nanoseconds since the start, by a look at the clock.
fn used(this: &Thread) -> u64 {
    time::look(this).saturating_sub(header().start_time)
}

unsafe extern "C-unwind" fn on_clock(pc: u64) -> clock_t {
    match asking(pc) {
        Some(this) => (used(this) / MICROSECOND) as clock_t,
        None => {
            let library = real!("clock", fn() -> clock_t);
            // SAFETY: no arguments.
            unsafe { library() }
        }
    }
}

unsafe extern "C-unwind" fn on_times(to: *mut tms, pc: u64) -> clock_t {
    let Some(this) = asking(pc) else {
        let library = real!("times", fn(*mut tms) -> clock_t);
        // SAFETY: the program's own call.
        return unsafe { library(to) };
    };
    let ticks = (used(this) / TICK) as clock_t;
    // SAFETY: the program's own argument, which may be null.
    if let Some(to) = unsafe { to.as_mut() } {
        *to = tms {
            tms_utime: ticks,
            tms_stime: 0,
            tms_cutime: 0,
            tms_cstime: 0,
        };
        access::log_written(this, (&raw const *to).cast(), size_of::<tms>(), pc);
    }
    (SHARED.clock.get() / TICK) as clock_t
}

unsafe extern "C-unwind" fn on_getrusage(whose: c_int, to: *mut rusage, pc: u64) -> c_int {
    let library = real!("getrusage", fn(c_int, *mut rusage) -> c_int);
    // SAFETY: the program's own call.
    let call = || unsafe { library(whose, to) };
    let Some(this) = asking(pc) else {
        return call();
    };
    let spent = used(this);
    let room = part(to.cast(), size_of::<rusage>());
    let make = || {
        let answer = Answer::of(i64::from(unrecorded(this, call)));
        if answer.result != 0 {
            return answer;
        }
        if whose != libc::RUSAGE_CHILDREN {
            // SAFETY: the call has just filled it.
            unsafe { set_times(to, spent) };
        }
        Answer {
            bytes: size_of::<rusage>(),
            ..answer
        }
    };
    let answer = exchange_alike(
        this,
        Call::Other,
        Parts::new(&room, 1),
        pc,
        |_, _| true,
        make,
    );
    access::log_written(this, to.cast(), answer.bytes, pc);
    answer.result as c_int
}

/// # Safety
/// `to` is valid.
unsafe fn set_times(to: *mut rusage, spent: u64) {
    let spent = time::timespec(spent);
    let none = timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let own = timeval {
        tv_sec: spent.tv_sec,
        tv_usec: spent.tv_nsec / 1_000,
    };
    // SAFETY: the caller's.
    unsafe {
        (*to).ru_utime = own;
        (*to).ru_stime = none;
    }
}

/// Answers a question with a number; `is_told`: a different answer in a replay is reported.
fn number(pc: u64, is_told: bool, call: impl FnOnce() -> i64) -> i64 {
    let Some(this) = asking(pc) else {
        return call();
    };
    scheduler::count_idle(this, Next::NOTHING);
    let make = || Answer::of(unrecorded(this, call));
    let alike = |entry: &'static Input, answer: Answer| !is_told || entry.result == answer.result;
    exchange_alike(this, Call::Other, Parts::NONE, pc, alike, make).result
}

unsafe extern "C-unwind" fn on_getcpu(pc: u64) -> c_int {
    let library = real!("sched_getcpu", fn() -> c_int);
    // SAFETY: no arguments.
    number(pc, false, || i64::from(unsafe { library() })) as c_int
}

unsafe extern "C-unwind" fn on_get_nprocs(pc: u64) -> c_int {
    let library = real!("get_nprocs", fn() -> c_int);
    // SAFETY: no arguments.
    number(pc, true, || i64::from(unsafe { library() })) as c_int
}

unsafe extern "C-unwind" fn on_sysconf(name: c_int, pc: u64) -> c_long {
    let library = real!("sysconf", fn(c_int) -> c_long);
    // SAFETY: the program's own call.
    let call = || unsafe { library(name) };
    match name {
        libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF | libc::_SC_PHYS_PAGES => {
            number(pc, true, call)
        }
        libc::_SC_AVPHYS_PAGES => number(pc, false, call),
        _ => call(),
    }
}

unsafe extern "C-unwind" fn on_getloadavg(to: *mut f64, count: c_int, pc: u64) -> c_int {
    let library = real!("getloadavg", fn(*mut f64, c_int) -> c_int);
    // SAFETY: the program's own call.
    let call = || unsafe { library(to, count) };
    let Some(this) = asking(pc) else {
        return call();
    };
    scheduler::count_idle(this, Next::NOTHING);
    let room = part(to.cast(), count.max(0) as usize * size_of::<f64>());
    let make = || {
        let answer = Answer::of(i64::from(unrecorded(this, call)));
        let filled = answer.result.max(0) as usize;
        Answer {
            bytes: filled * size_of::<f64>(),
            ..answer
        }
    };
    let answer = exchange_alike(
        this,
        Call::Other,
        Parts::new(&room, 1),
        pc,
        |_, _| true,
        make,
    );
    access::log_written(this, to.cast(), answer.bytes, pc);
    answer.result as c_int
}

entry! {
    clock, "rdi" => on_clock;
    times, "rsi" => on_times;
    getrusage, "rdx" => on_getrusage;
    sched_getcpu, "rdi" => on_getcpu;
    get_nprocs, "rdi" => on_get_nprocs;
    sysconf, "rsi" => on_sysconf;
    getloadavg, "rdx" => on_getloadavg;
}
