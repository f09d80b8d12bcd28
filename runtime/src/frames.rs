//! The functions that each thread is in, kept only while a proposed schedule is followed: the source place of an
//! event in a header or a library is the call in the user's code.

use crate::{
    failure,
    state::{SHARED, Thread},
    sys,
};
use core::cell::Cell;
use unsnarl_trace::raw;

/// Number of calls that are kept; deeper ones are only counted.
const DEPTH: usize = 512;
/// Bound for the calls out of system code that are searched.
const MOST_STEPS: usize = 64;

/// One instrumented function that has been entered and not left.
struct Frame {
    /// Return address.
    ret: Cell<u64>,
    /// Stack pointer after it has allocated its variables.
    stack: Cell<u64>,
}

struct Stack {
    depth: Cell<usize>,
    frames: [Frame; DEPTH],
}

struct Stacks(Cell<*const Stack>);

// SAFETY: used in controlled mode only, by the thread that has the turn.
unsafe impl Sync for Stacks {}

static STACKS: Stacks = Stacks(Cell::new(core::ptr::null()));

/// Makes room for all threads; pages are used as calls nest.
pub fn reserve() {
    let Some(place) = sys::memory(raw::MAX_THREADS * size_of::<Stack>()) else {
        failure::unsupported(c"no memory for the call stacks of a schedule");
    };
    STACKS.0.set(place.cast());
}

fn stack(of: &Thread) -> Option<&'static Stack> {
    let stacks = STACKS.0.get();
    // SAFETY: there is one for each number that is given out.
    (!stacks.is_null()).then(|| unsafe { &*stacks.add(of.number.get() as usize) })
}

/// Enters a function. Frames further in have been left without notice, as by `longjmp`.
pub fn enter(this: &Thread, ret: u64, at: u64) {
    if !SHARED.is_watched.get() {
        return;
    }
    let Some(stack) = stack(this) else { return };
    // The same place: the compiler made the call that ends a function a jump.
    while top(stack).is_some_and(|top| top.stack.get() <= at) {
        stack.depth.set(stack.depth.get() - 1);
    }
    if let Some(frame) = stack.frames.get(stack.depth.get()) {
        frame.ret.set(ret);
        frame.stack.set(at);
    }
    stack.depth.set(stack.depth.get() + 1);
}

/// Leaves the innermost function.
pub fn leave(this: &Thread) {
    if !SHARED.is_watched.get() {
        return;
    }
    if let Some(stack) = stack(this) {
        stack.depth.set(stack.depth.get().saturating_sub(1));
    }
}

fn top(stack: &Stack) -> Option<&Frame> {
    stack.frames.get(stack.depth.get().checked_sub(1)?)
}

/// The first result of `find` for the innermost call in the user's code: for the call that returns to `pc` itself,
/// else for the library call that the innermost function is in, else for the calls that led there.
pub fn first<T>(this: &Thread, pc: u64, find: impl Fn(u64) -> Option<T>) -> Option<T> {
    if let Some(found) = find(pc) {
        return Some(found);
    }
    let stack = stack(this)?;
    let frames = stack.frames.get(..stack.depth.get())?;
    let innermost = frames.last()?;
    // A function that calls pushes the return address right below its own part of the stack.
    let pushed = (innermost.stack.get() - 8) as *const u64;
    // SAFETY: just below the frame of a function that is still running, on a live thread's stack.
    if let Some(found) = find(unsafe { pushed.read_volatile() }) {
        return Some(found);
    }
    let mut callers = frames.iter().rev().take(MOST_STEPS);
    callers.find_map(|frame| find(frame.ret.get()))
}
