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

entry! {
    getpid, "rdi" => on_getpid;
    getppid, "rdi" => on_getppid;
    gettid, "rdi" => on_gettid;
}
