//! Time. In controlled mode the program sees a virtual clock that decisions advance; to sleep is to give way: on a
//! busy machine any other thread may get that far meanwhile.

use crate::{
    entry::entry,
    livelock, log,
    mutex::ready,
    next::Next,
    outside,
    real::real,
    scheduler, signals,
    state::{SHARED, Thread, controlled, unrecorded},
    sys, threads, timers,
};
use core::{ffi::c_int, ptr::null_mut, sync::atomic::Ordering::Relaxed};
use unsnarl_trace::raw::{RecordKind, unlogged};

const SECOND: u64 = 1_000_000_000;
/// Virtual nanoseconds that a look at the clock takes: so a loop that waits for a time comes to an end.
const LOOK: u64 = 1_000;

/// The point in virtual time that `until` names; 1 (long past) for null or before the epoch. All
/// virtual clocks show the same time.
///
/// # Safety
/// `until` is null or points to a `timespec`.
pub unsafe fn deadline(until: *const libc::timespec) -> u64 {
    // SAFETY: the caller's.
    match unsafe { until.as_ref() } {
        Some(until) => nanoseconds(until).max(1),
        None => 1,
    }
}

pub fn nanoseconds(time: &libc::timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(SECOND).saturating_add(rest)
}

pub fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / SECOND) as i64,
        tv_nsec: (nanoseconds % SECOND) as i64,
    }
}

/// Sleeps for a span of virtual time; returns the rest of it when a handler has run.
pub fn sleep_for(this: &Thread, span: u64, pc: u64) -> u64 {
    log::sync(this, RecordKind::Yield, pc, 0, 0);
    livelock::look(this);
    sleep_until(this, SHARED.clock.get().saturating_add(span))
}

/// Sleeps until that virtual time. What is computed here is not part of the state that `livelock` compares.
#[inline(never)]
fn sleep_until(this: &Thread, wakes_at: u64) -> u64 {
    scheduler::rest(this, Next::NOTHING);
    loop {
        if this.signals.load(Relaxed) != 0 && this.inside.get() == 0 {
            let left = wakes_at.saturating_sub(SHARED.clock.get());
            signals::deliver(this);
            return left.max(1);
        }
        if SHARED.clock.get() >= wakes_at {
            break;
        }
        let until = wakes_at.min(timers::next());
        // What the compiler makes of moving a structure may be a call of the `memcpy` that is recorded.
        unrecorded(this, || outside::sleep(this, until));
        timers::go_on_to(until);
    }
    threads::act_on_cancel(this);
    0
}

/// The result of an interrupted sleep with this time left.
///
/// # Safety
/// `rest` is null or valid.
unsafe fn interrupted(left: u64, rest: *mut libc::timespec) -> c_int {
    if left == 0 {
        return 0;
    }
    // SAFETY: the caller's.
    if let Some(rest) = unsafe { rest.as_mut() } {
        *rest = timespec(left);
    }
    libc::EINTR
}

pub unsafe extern "C-unwind" fn yield_now(pc: u64) -> c_int {
    match ready(pc) {
        Some(this) if controlled() => {
            log::sync(this, RecordKind::Yield, pc, 0, 0);
            scheduler::give_way(this, Next::NOTHING);
            0
        }
        // SAFETY: no arguments.
        _ => unsafe { sys::with_errno(sys::call(libc::SYS_sched_yield, [0; 6])) as c_int },
    }
}

unsafe extern "C-unwind" fn on_sleep(seconds: u32, pc: u64) -> u32 {
    let library = real!("sleep", fn(u32) -> u32);
    match ready(pc) {
        Some(this) if controlled() => {
            sleep_for(this, u64::from(seconds) * SECOND, pc).div_ceil(SECOND) as u32
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(seconds) },
    }
}

unsafe extern "C-unwind" fn on_usleep(microseconds: u32, pc: u64) -> c_int {
    let library = real!("usleep", fn(u32) -> c_int);
    match ready(pc) {
        Some(this) if controlled() => match sleep_for(this, u64::from(microseconds) * 1_000, pc) {
            0 => 0,
            _ => crate::input::fail(libc::EINTR),
        },
        // SAFETY: the program's own call.
        _ => unsafe { library(microseconds) },
    }
}

pub unsafe extern "C-unwind" fn on_nanosleep(
    span: *const libc::timespec,
    rest: *mut libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "nanosleep",
        fn(*const libc::timespec, *mut libc::timespec) -> c_int
    );
    match ready(pc) {
        Some(this) if controlled() && !span.is_null() => {
            // SAFETY: the program's own argument.
            let left = sleep_for(this, nanoseconds(unsafe { &*span }), pc);
            // SAFETY: as above.
            match unsafe { interrupted(left, rest) } {
                0 => 0,
                error => crate::input::fail(error),
            }
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(span, rest) },
    }
}

unsafe extern "C-unwind" fn on_clock_nanosleep(
    clock: c_int,
    flags: c_int,
    span: *const libc::timespec,
    rest: *mut libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "clock_nanosleep",
        fn(c_int, c_int, *const libc::timespec, *mut libc::timespec) -> c_int
    );
    match ready(pc) {
        Some(this) if controlled() && !span.is_null() => {
            // SAFETY: the program's own argument.
            let span = nanoseconds(unsafe { &*span });
            let absolute = flags & libc::TIMER_ABSTIME != 0;
            let now = SHARED.clock.get();
            let span = if absolute {
                span.saturating_sub(now)
            } else {
                span
            };
            let left = sleep_for(this, span, pc);
            let rest = if absolute { null_mut() } else { rest };
            // SAFETY: the program's own argument.
            unsafe { interrupted(left, rest) }
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(clock, flags, span, rest) },
    }
}

/// Looks at the virtual clock; a thread that does only that is spinning.
pub fn look(this: &Thread) -> u64 {
    scheduler::count_idle(this, Next::NOTHING);
    scheduler::note_unlogged(unlogged::TIME);
    timers::go_on_to(SHARED.clock.get() + LOOK);
    SHARED.clock.get()
}

pub unsafe extern "C-unwind" fn on_clock_gettime(
    clock: c_int,
    time: *mut libc::timespec,
    pc: u64,
) -> c_int {
    let library = real!("clock_gettime", fn(c_int, *mut libc::timespec) -> c_int);
    match ready(pc) {
        Some(this) if controlled() && !time.is_null() => {
            let now = look(this);
            // SAFETY: the program's own argument.
            unsafe { *time = timespec(now) };
            0
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(clock, time) },
    }
}

unsafe extern "C-unwind" fn on_timespec_get(
    time: *mut libc::timespec,
    base: c_int,
    pc: u64,
) -> c_int {
    const UTC: c_int = 1;
    match ready(pc) {
        Some(this) if controlled() && !time.is_null() && base == UTC => {
            let now = look(this);
            // SAFETY: the program's own argument.
            unsafe { *time = timespec(now) };
            base
        }
        _ => {
            let library = real!("timespec_get", fn(*mut libc::timespec, c_int) -> c_int);
            // SAFETY: the program's own call.
            unsafe { library(time, base) }
        }
    }
}

unsafe extern "C-unwind" fn on_gettimeofday(
    time: *mut libc::timeval,
    zone: usize,
    pc: u64,
) -> c_int {
    let library = real!("gettimeofday", fn(*mut libc::timeval, usize) -> c_int);
    match ready(pc) {
        Some(this) if controlled() && !time.is_null() => {
            let now = timespec(look(this));
            // SAFETY: the program's own argument.
            unsafe {
                *time = libc::timeval {
                    tv_sec: now.tv_sec,
                    tv_usec: now.tv_nsec / 1_000,
                };
            }
            0
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(time, zone) },
    }
}

unsafe extern "C-unwind" fn on_time(time: *mut i64, pc: u64) -> i64 {
    let library = real!("time", fn(*mut i64) -> i64);
    match ready(pc) {
        Some(this) if controlled() => {
            let seconds = timespec(look(this)).tv_sec;
            if !time.is_null() {
                // SAFETY: the program's own argument.
                unsafe { *time = seconds };
            }
            seconds
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(time) },
    }
}

entry! {
    sched_yield, "rdi" => yield_now;
    pthread_yield, "rdi" => yield_now;
    sleep, "rsi" => on_sleep;
    usleep, "rsi" => on_usleep;
    nanosleep, "rdx" => on_nanosleep;
    clock_nanosleep, "r8" => on_clock_nanosleep;
    clock_gettime, "rdx" => on_clock_gettime;
    timespec_get, "rdx" => on_timespec_get;
    gettimeofday, "rdx" => on_gettimeofday;
    time, "rsi" => on_time;
}
