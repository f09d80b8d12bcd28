//! State of the runtime: one [`Shared`] for the process, one [`Thread`] per thread.
//!
//! Everything is in `Cell`s: in controlled mode only the thread with the turn touches them; in free
//! mode a thread touches its own [`Thread`] and the fields of [`Shared`] that never change.

use crate::{
    copies::Copying,
    follow::FollowingThread,
    livelock::{Circle, LocksSince},
    next::Next,
    path::Path,
    pct::Yielders,
};
use core::{
    arch::{asm, global_asm},
    cell::Cell,
    ptr::null_mut,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence},
};
use unsnarl_trace::raw;

/// The mode in which the process runs.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Not recorded: every call goes straight to the library.
    Off,
    /// One thread at a time.
    Controlled,
    /// Recorded without control.
    Free,
    /// Only paths and synchronization are recorded, without control.
    Path,
}

/// The wish of a waiting thread. It is enabled once its wish can be granted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Nothing,
    Lock(usize),
    SharedLock(usize),
    Condition {
        condition: usize,
        mutex: usize,
    },
    Join(u16),
    Semaphore(usize),
    Once(usize),
    /// Another thread's operation on the object, which ends the wait by [`grant`].
    Granted {
        object: usize,
        waits_for: raw::WaitsFor,
    },
    /// A descriptor that can be read.
    Input(i32),
    /// A descriptor that can be written.
    Output(i32),
    /// One of these, in the thread's own array.
    Poll {
        descriptors: usize,
        count: usize,
    },
    /// The return of a call that was made without the turn.
    Outside,
    /// The end of a child process, as `waitid` names it.
    Child {
        kind: u32,
        id: i32,
    },
    /// A lock of a file: a `files::Attempt` on the thread's stack.
    FileLock(usize),
    /// A wake-up through the word at this address.
    Futex(usize),
    /// A handler of a signal.
    Signal,
}

impl Wait {
    /// Kind and object as the log names them.
    pub fn raw(self) -> (raw::WaitsFor, usize) {
        match self {
            Wait::Nothing => (raw::WaitsFor::Nothing, 0),
            Wait::Lock(object) => (raw::WaitsFor::Lock, object),
            Wait::SharedLock(object) => (raw::WaitsFor::SharedLock, object),
            Wait::Condition { condition, .. } => (raw::WaitsFor::Condition, condition),
            Wait::Join(thread) => (raw::WaitsFor::Join, thread as usize),
            Wait::Semaphore(object) => (raw::WaitsFor::Semaphore, object),
            Wait::Granted { object, waits_for } => (waits_for, object),
            Wait::Once(object) => (raw::WaitsFor::Once, object),
            Wait::Input(_) | Wait::Output(_) | Wait::Poll { .. } => (raw::WaitsFor::Io, 0),
            Wait::Outside | Wait::FileLock(_) => (raw::WaitsFor::Io, 0),
            Wait::Signal => (raw::WaitsFor::Signal, 0),
            Wait::Child { .. } => (raw::WaitsFor::Process, 0),
            Wait::Futex(word) => (raw::WaitsFor::Futex, word),
        }
    }
}

/// A thread of the program.
pub struct Thread {
    /// Place in the order of creation.
    pub number: Cell<u16>,
    /// Futex: 1 when the turn was given to this thread.
    pub turn: AtomicU32,
    /// `true` if it can be chosen: created, not ended.
    pub live: Cell<bool>,
    pub ended: Cell<bool>,
    pub joined: Cell<bool>,
    /// Nobody can join it.
    pub detached: Cell<bool>,
    /// Above zero while the runtime itself calls the library: such calls are not recorded.
    pub inside: Cell<u32>,
    /// First of the records whose values are filled in at the next event, and their number.
    pub pending: Cell<*mut raw::Record>,
    pub pending_count: Cell<u32>,
    /// A structure that is being copied.
    pub copying: Copying,
    pub wait: Cell<Wait>,
    /// Number of regions that it is in and has asked for to be atomic.
    pub atomic: Cell<u32>,
    /// Decisions that it has come to.
    pub passed: Cell<u64>,
    /// The first directive that may still be its next one.
    pub plan_at: Cell<u64>,
    /// Its next step, once it has the turn.
    pub next: Cell<Next>,
    /// Its state in a schedule that is followed by its events.
    pub follow: FollowingThread,
    /// Virtual time at which the wait ends by itself; 0 when it does not.
    pub deadline: Cell<u64>,
    pub timed_out: Cell<bool>,
    /// Program counter of its wait, for the report of a deadlock.
    pub wait_pc: Cell<u64>,
    /// PCT: higher runs first.
    pub priority: Cell<i64>,
    /// `true` if it is about to end the process; see `departure`.
    pub departs: Cell<bool>,
    /// The decision until which the others go first, while it is about to end the process.
    pub stands_back_until: Cell<u64>,
    /// Reads and failed attempts since the last step that changed something.
    pub idle: Cell<u32>,
    /// Program counter of the access on whose behalf the runtime reads the program's memory. A fault then is the
    /// program's.
    pub access_pc: AtomicU64,
    /// Call site of the operator `new` or `delete` that is about to call `malloc` or `free`.
    pub alloc_pc: Cell<u64>,
    pub handle: Cell<libc::pthread_t>,
    pub kernel_id: Cell<i32>,
    pub start: Cell<usize>,
    pub argument: Cell<usize>,
    pub children: Cell<u32>,
    pub cancelled: Cell<bool>,
    /// `true` if it can be cancelled at any step, not at cancellation points only.
    pub asynchronous: Cell<bool>,
    /// The last taken of the robust mutexes that it holds; 0 for none.
    pub robust: Cell<usize>,
    /// Rounds of thread-specific destructors that have run.
    pub rounds: Cell<u32>,
    /// Its row in the log.
    pub row: Cell<*mut raw::Thread>,
    /// Path mode: memory of its path.
    pub path: Path,
    /// Number of calls that may have brought something in from outside.
    pub inputs: Cell<u32>,
    /// Position from which its next recorded input is searched, in a replay.
    pub given: Cell<usize>,
    /// `true` if a replay has the answer that the thread waits for.
    pub forced: Cell<bool>,
    /// 1 when a call that was made without the turn has returned.
    pub done: AtomicU32,
    /// Signals that have come for it and whose handlers have not run yet, a bit each (64 is bit 0).
    pub signals: AtomicU64,
    /// `true` if a handler can run while it waits.
    pub heeds_signals: Cell<bool>,
    /// Signals that it blocks, a bit each as above.
    pub blocked: Cell<u64>,
    /// The fault whose handler it is in: signal, program counter and address.
    pub fault: Cell<(i32, u64, u64)>,
    /// The bits that wake it while it waits for a futex.
    pub futex_bits: Cell<u32>,
    /// Detector of repeated states.
    pub circle: Circle,
}

/// State that all threads share. A debugger finds it by its name and switches the mode, the first byte, off while it
/// calls functions of the program.
#[repr(C)]
pub struct Shared {
    pub mode: Cell<Mode>,
    pub header: Cell<*mut raw::Header>,
    pub records: Cell<*mut raw::Record>,
    pub records_cap: Cell<u64>,
    pub decisions: Cell<*mut raw::EqualChoices>,
    /// The last row of the choices that were made; null when there is none, or no room for another one.
    pub decision_row: Cell<*mut raw::EqualChoices>,
    /// The next row of the schedule that is followed.
    pub replay: Cell<*const raw::EqualChoices>,
    /// Choices of that row that were read.
    pub replay_taken: Cell<u32>,
    /// Choices of the schedule that were read, and all of them.
    pub replay_at: Cell<u64>,
    pub replay_len: Cell<u64>,
    /// Details of the choices; null when nobody asked.
    pub details: Cell<*mut raw::Detail>,
    /// Bits of [`raw::chance`].
    pub chances: Cell<u32>,
    /// Most bytes that a call may read; the largest number outside of [`crate::live`].
    pub most_bytes: Cell<usize>,
    /// `true` while nothing is chosen but what a schedule says: outside of `unsnarl_check`, if the run has choices there only.
    pub keeps_order: Cell<bool>,
    /// Calls of `unsnarl_check` that have not ended.
    pub checks: Cell<u32>,
    pub plan: Cell<*const raw::Directive>,
    pub plan_len: Cell<u64>,
    /// The table of places that are passed over.
    pub quiet: Cell<*const u32>,
    pub quiet_len: Cell<u64>,
    pub strategy: Cell<raw::RawStrategy>,
    pub threads: Cell<*const Thread>,
    pub thread_count: AtomicU32,
    /// Numbers of the live threads, ascending, and their count.
    pub live: Cell<*mut u16>,
    pub live_count: Cell<usize>,
    /// Thread that has the turn.
    pub current: Cell<u16>,
    pub random: Cell<u64>,
    /// Virtual time in nanoseconds since the epoch.
    pub clock: Cell<u64>,
    /// Decision points passed, alone or not: the guard against endless runs.
    pub ticks: Cell<u64>,
    pub steps: Cell<u64>,
    pub spin_limit: Cell<u32>,
    /// Decision points since the last change of thread.
    pub stretch: Cell<u32>,
    pub max_steps: Cell<u64>,
    /// The next decision point with a check: the limit of steps, or a timer.
    pub alert: Cell<u64>,
    /// Decisions since the last change: see `livelock`.
    pub calm: Cell<u32>,
    /// Locks that were taken, given back or tried since then.
    pub locks: LocksSince,
    pub switch_one_in: Cell<u32>,
    pub record_calls: Cell<bool>,
    /// Number of decision points from which on repeated accesses are left out.
    pub repeats_after: Cell<u64>,
    /// `true` if each record is reported: see `watch`.
    pub is_watched: Cell<bool>,
    pub change_points: [Cell<u64>; raw::MAX_CHANGE_POINTS],
    pub change_count: Cell<usize>,
    /// Threads that are about to end the process.
    pub departing: Cell<u32>,
    /// Threads among them that are about to fail.
    pub failing: Cell<u32>,
    /// An assumption of the program does not hold in this run.
    pub does_not_count: Cell<bool>,
    /// PCT: priorities for threads that yield.
    pub yielders: Yielders,
    pub exit_key: Cell<libc::pthread_key_t>,
    /// Child processes that were made.
    pub children: Cell<u32>,
    /// State of the generator of the program's random numbers.
    pub entropy: Cell<u64>,
}

// SAFETY: see the module's text: the turn is the lock.
unsafe impl Sync for Shared {}

#[unsafe(export_name = "unsnarl_shared")]
pub static SHARED: Shared = Shared {
    mode: Cell::new(Mode::Off),
    header: Cell::new(null_mut()),
    records: Cell::new(null_mut()),
    records_cap: Cell::new(0),
    decisions: Cell::new(null_mut()),
    decision_row: Cell::new(null_mut()),
    replay: Cell::new(core::ptr::null()),
    replay_taken: Cell::new(0),
    replay_at: Cell::new(0),
    replay_len: Cell::new(0),
    details: Cell::new(null_mut()),
    chances: Cell::new(0),
    most_bytes: Cell::new(usize::MAX),
    keeps_order: Cell::new(false),
    checks: Cell::new(0),
    plan: Cell::new(core::ptr::null()),
    plan_len: Cell::new(0),
    quiet: Cell::new(core::ptr::null()),
    quiet_len: Cell::new(0),
    strategy: Cell::new(raw::RawStrategy::Sequential),
    threads: Cell::new(core::ptr::null()),
    thread_count: AtomicU32::new(0),
    live: Cell::new(null_mut()),
    live_count: Cell::new(0),
    current: Cell::new(0),
    random: Cell::new(1),
    clock: Cell::new(0),
    ticks: Cell::new(0),
    steps: Cell::new(0),
    spin_limit: Cell::new(0),
    stretch: Cell::new(0),
    max_steps: Cell::new(0),
    alert: Cell::new(0),
    calm: Cell::new(0),
    locks: LocksSince::nothing(),
    switch_one_in: Cell::new(0),
    record_calls: Cell::new(false),
    repeats_after: Cell::new(u64::MAX),
    is_watched: Cell::new(false),
    change_points: [const { Cell::new(0) }; raw::MAX_CHANGE_POINTS],
    change_count: Cell::new(0),
    departing: Cell::new(0),
    failing: Cell::new(0),
    does_not_count: Cell::new(false),
    yielders: Yielders::new(),
    exit_key: Cell::new(0),
    children: Cell::new(0),
    entropy: Cell::new(0),
};

// One thread-local word: `#[thread_local]` is not to be had without std, and a library call would be
// slow on a path that every access takes.
global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".type unsnarl_this_thread,@object",
    ".size unsnarl_this_thread,8",
    "unsnarl_this_thread:",
    ".zero 8",
    ".popsection",
);

/// The calling thread, unless the runtime does not know it.
#[inline(always)]
pub fn this_thread() -> Option<&'static Thread> {
    let thread: *const Thread;
    // SAFETY: reads the thread-local word above, which is null or points to a `Thread` that lives for ever.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + unsnarl_this_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) thread,
            options(nostack, preserves_flags, readonly),
        );
        thread.as_ref()
    }
}

/// Makes `thread` the calling thread; null for none.
pub fn set_this_thread(thread: *const Thread) {
    // SAFETY: writes the thread-local word above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + unsnarl_this_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) thread,
            options(nostack, preserves_flags),
        );
    }
}

/// The thread with this number. The number must come from the table.
#[inline(always)]
pub fn thread(number: u16) -> &'static Thread {
    // SAFETY: the table has room for every number that is given out and is never unmapped.
    unsafe { &*SHARED.threads.get().add(number as usize) }
}

/// Numbers of the live threads, ascending.
#[inline(always)]
pub fn live_threads() -> &'static [u16] {
    // SAFETY: `live` has room for every thread; the slice is read before the set changes.
    unsafe { core::slice::from_raw_parts(SHARED.live.get(), SHARED.live_count.get()) }
}

/// Ends all waits for this.
pub fn grant(wish: Wait) {
    for &number in live_threads() {
        let waiting = &thread(number).wait;
        if waiting.get() == wish {
            waiting.set(Wait::Nothing);
        }
    }
}

/// The log's header. Only when the mode is not `Off`.
#[inline(always)]
pub fn header() -> &'static raw::Header {
    // SAFETY: set at the start to a mapping that is never unmapped.
    unsafe { &*SHARED.header.get() }
}

/// Returns whether the mode is controlled.
#[inline(always)]
pub fn controlled() -> bool {
    matches!(SHARED.mode.get(), Mode::Controlled)
}

/// Like [`recording`], for accesses to memory, which path mode does not record.
#[inline(always)]
pub fn recording_memory() -> Option<&'static Thread> {
    if matches!(SHARED.mode.get(), Mode::Path) {
        return None;
    }
    recording()
}

/// The calling thread if its steps are to be recorded. In controlled mode a thread without the turn (a signal
/// handler, the last steps of an ended thread) is not recorded.
#[inline(always)]
pub fn recording() -> Option<&'static Thread> {
    if matches!(SHARED.mode.get(), Mode::Off) {
        return None;
    }
    let this = this_thread()?;
    if this.inside.get() != 0
        || this.ended.get()
        || (controlled() && SHARED.current.get() != this.number.get())
    {
        return None;
    }
    Some(this)
}

/// Runs `call` as the runtime's own: the calls in it are not recorded.
#[inline(always)]
pub fn unrecorded<T>(this: &Thread, call: impl FnOnce() -> T) -> T {
    this.inside.set(this.inside.get() + 1);
    // The compiler knows that `memset` does not look at the count: without these it leaves both
    // changes out around one that it makes itself.
    compiler_fence(Ordering::SeqCst);
    let result = call();
    compiler_fence(Ordering::SeqCst);
    this.inside.set(this.inside.get() - 1);
    result
}
