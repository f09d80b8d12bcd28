//! Numbers of processes and threads: the kernel gives others each time, so a replay tells the program
//! those of the recorded run and translates them back where they are used.

use crate::{
    entry::entry,
    input::{self, Answer, Parts},
    mutex::ready,
    next::Next,
    real::real,
    scheduler,
    state::{Thread, controlled},
};
use core::{cell::Cell, ffi::c_int};
use unsnarl_trace::raw::Call;

/// A number as the program knows it, and as the kernel does.
struct Pair {
    told: Cell<c_int>,
    real: Cell<c_int>,
}

const PAIRS: usize = 1024;

struct Pairs([Pair; PAIRS], Cell<usize>);

// SAFETY: used by the thread that has the turn.
unsafe impl Sync for Pairs {}

static KNOWN: Pairs = Pairs(
    [const {
        Pair {
            told: Cell::new(0),
            real: Cell::new(0),
        }
    }; PAIRS],
    Cell::new(0),
);

fn pairs() -> impl Iterator<Item = &'static Pair> {
    KNOWN.0.iter().take(KNOWN.1.get())
}

/// The kernel's number of the process or thread that the program names.
pub fn real(told: c_int) -> c_int {
    let known = pairs().filter(|pair| pair.told.get() == told);
    known.last().map_or(told, |pair| pair.real.get())
}

/// The number that the program knows the process or thread by.
pub fn told(real: c_int) -> c_int {
    let known = pairs().filter(|pair| pair.real.get() == real);
    known.last().map_or(real, |pair| pair.told.get())
}

fn remember(told: c_int, real: c_int) {
    let used = KNOWN.1.get();
    let is_known = pairs().any(|pair| pair.told.get() == told && pair.real.get() == real);
    if let Some(place) = KNOWN.0.get(used).filter(|_| !is_known) {
        place.told.set(told);
        place.real.set(real);
        KNOWN.1.set(used + 1);
    }
}

/// A call that gives a new number: the program gets the one that it got when it was recorded.
pub fn exchange(this: &Thread, make: impl FnOnce() -> Answer) -> c_int {
    if !controlled() {
        return make().result as c_int;
    }
    let given = input::next(this);
    let mut answer = make();
    if let Some(entry) = given.filter(|entry| entry.result > 0 && answer.result > 0) {
        remember(entry.result as c_int, answer.result as c_int);
        answer.result = entry.result;
    }
    input::note(this, Call::Process, answer, Parts::NONE);
    answer.with_errno().result as c_int
}

/// A call whose answer is a number that is known already.
pub fn exchange_known(
    this: &Thread,
    parts: Parts,
    pc: u64,
    make: impl FnOnce() -> Answer,
) -> c_int {
    let make = || {
        let answer = make();
        Answer {
            result: i64::from(told(answer.result as c_int)),
            ..answer
        }
    };
    input::exchange(this, Call::Wait, parts, pc, || true, make).result as c_int
}

fn number(pc: u64, library: unsafe extern "C-unwind" fn() -> c_int) -> c_int {
    // SAFETY: no arguments.
    let call = || unsafe { library() };
    match ready(pc).filter(|_| controlled()) {
        Some(this) => {
            scheduler::decide(this, Next::NOTHING);
            exchange(this, || Answer::of(i64::from(call())))
        }
        None => call(),
    }
}

unsafe extern "C-unwind" fn on_getpid(pc: u64) -> c_int {
    number(pc, real!("getpid", fn() -> c_int))
}

unsafe extern "C-unwind" fn on_getppid(pc: u64) -> c_int {
    number(pc, real!("getppid", fn() -> c_int))
}

unsafe extern "C-unwind" fn on_gettid(pc: u64) -> c_int {
    number(pc, real!("gettid", fn() -> c_int))
}

/// Defines calls about a process or thread, of which the kernel has to be told its own number.
macro_rules! about_a_process {
    ($($on:ident = $name:literal($($before:ident: $of:ty,)* @$id:ident $(, $after:ident: $ty:ty)*);)*) => {$(
        unsafe extern "C-unwind" fn $on($($before: $of,)* $id: c_int, $($after: $ty,)* pc: u64) -> c_int {
            let library = real!($name, fn($($of,)* c_int $(, $ty)*) -> c_int);
            let $id = match ready(pc).filter(|_| controlled()) {
                Some(this) => {
                    scheduler::decide(this, Next::NOTHING);
                    real($id)
                }
                None => $id,
            };
            // SAFETY: the program's own call.
            unsafe { library($($before,)* $id $(, $after)*) }
        }
    )*};
}

about_a_process! {
    on_getscheduler = "sched_getscheduler"(@id);
    on_setscheduler = "sched_setscheduler"(@id, policy: c_int, parameters: usize);
    on_getparam = "sched_getparam"(@id, parameters: usize);
    on_setparam = "sched_setparam"(@id, parameters: usize);
    on_getinterval = "sched_rr_get_interval"(@id, interval: usize);
    on_getpriority = "getpriority"(which: c_int, @id);
    on_setpriority = "setpriority"(which: c_int, @id, priority: c_int);
}

/// A system call as a program makes it by itself, with the kernel's numbers in it.
pub fn with_real(number: i64, arguments: [usize; 6]) -> [usize; 6] {
    let [a, b, ..] = arguments;
    let real = |told: usize| real(told as c_int) as usize;
    let mut arguments = arguments;
    match number {
        libc::SYS_kill
        | libc::SYS_tkill
        | libc::SYS_sched_getaffinity
        | libc::SYS_sched_setaffinity
        | libc::SYS_sched_getattr
        | libc::SYS_sched_setattr
        | libc::SYS_sched_getscheduler
        | libc::SYS_sched_setscheduler
        | libc::SYS_sched_getparam
        | libc::SYS_sched_setparam
        | libc::SYS_sched_rr_get_interval => arguments[0] = real(a),
        libc::SYS_getpriority
        | libc::SYS_setpriority
        | libc::SYS_ioprio_get
        | libc::SYS_ioprio_set => {
            arguments[1] = real(b);
        }
        libc::SYS_tgkill => (arguments[0], arguments[1]) = (real(a), real(b)),
        _ => {}
    }
    arguments
}

entry! {
    sched_getscheduler, "rsi" => on_getscheduler;
    sched_setscheduler, "rcx" => on_setscheduler;
    sched_getparam, "rdx" => on_getparam;
    sched_setparam, "rdx" => on_setparam;
    sched_rr_get_interval, "rdx" => on_getinterval;
    getpriority, "rdx" => on_getpriority;
    setpriority, "rcx" => on_setpriority;
    getpid, "rdi" => on_getpid;
    getppid, "rdi" => on_getppid;
    gettid, "rdi" => on_gettid;
}
