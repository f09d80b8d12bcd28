//! The raw log: shared memory that the runtime fills while the user's program runs.
//!
//! The recorder creates the memory, writes the configuration into the [`Header`] and starts the
//! program; the runtime maps the same memory and appends [`Record`]s. A record is complete when its
//! kind is not zero and its index is below [`Header::records`], so the log is readable up to its last
//! event however the program ends.
//!
//! ```text
//! 0                HEADER_BYTES        one Header
//! modules_at       MAX_MODULES         Module table: what is loaded where
//! threads_at       MAX_THREADS         Thread table
//! replay_at        replay_len          EqualChoices: the schedule to follow, written by the recorder
//! decisions_at     decisions_cap       EqualChoices: the choices that were made
//! follow_at                            a proposed schedule, if there is one ([`follow`])
//! records_at       records_cap         Records, in the order of the run
//! input_at         input_cap           Inputs, each with its bytes: what came from outside
//! given_at         given_len           Inputs to give back, written by the recorder
//! ```
//!
//! All integers are in the machine's byte order: the log never leaves the machine that made it.

use core::sync::atomic::{AtomicU32, AtomicU64};

pub use crate::kinds::{RecordKind, WaitsFor};

pub mod children;
pub mod follow;
pub mod marks;
pub mod pack;
pub mod path;
pub mod serve;

/// `size` of an [`RecordKind::Alloc`] or [`RecordKind::Free`] of a mapping: `value` bytes at `addr`, for
/// `Free` perhaps a part of one.
pub const MAPPED: u32 = 1;

/// Byte with which the runtime fills freed memory: as a pointer it cannot be dereferenced.
pub const FREED: u8 = 0xdb;

/// First eight bytes of a raw log.
pub const MAGIC: u64 = u64::from_le_bytes(*b"unsnarlR");
/// Version of the layout; changes with every change of a struct or constant in this module.
const LAYOUT: u32 = 12;
/// Version of the log: that of the layout, and the number of kinds, so that a new one changes it.
pub const VERSION: u32 = LAYOUT << 8 | RecordKind::ALL.len() as u32;
/// Environment variable that holds the number of the file descriptor of the log.
pub const FD_VARIABLE: &core::ffi::CStr = c"UNSNARL_LOG_FD";
/// Environment variable that holds a path of the log, for programs that inherit the environment but not the descriptor.
pub const FILE_VARIABLE: &core::ffi::CStr = c"UNSNARL_LOG_FD_FILE";
/// Beginning of the names of variables that only fill up the environment; no other name comes before it in the order
/// of bytes.
pub const FILLER: &core::ffi::CStr = c"!UNSNARL";
/// The values of variables begin at multiples of this, as blocks of the heap do.
pub const VALUE_ALIGNMENT: usize = 16;
/// Bytes reserved for the [`Header`].
pub const HEADER_BYTES: usize = 8192;
/// Most threads of one run, ended ones included: each has a row and a number of its own.
pub const MAX_THREADS: usize = 16_384;
/// Most loaded modules that are remembered.
pub const MAX_MODULES: usize = 64;
/// Most change points of the PCT strategy.
pub const MAX_CHANGE_POINTS: usize = 32;

/// The decisions of which one may be a switch in a run of this length, so that no run switches much more often than a
/// run of 65,536 decisions can.
pub const fn switch_one_in_after(decisions: u64) -> u64 {
    decisions >> 16
}

/// The mode in which the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RawMode {
    /// Mode in which nothing is recorded.
    Off = 0,
    /// One thread at a time; the runtime decides at every recorded event.
    Controlled = 1,
    /// Threads run freely; the order of the log is the order in which records were reserved.
    Free = 2,
    /// Threads run freely; only their paths and their synchronization are recorded ([`path`]).
    Path = 3,
}

/// The strategy that chooses the next thread in controlled mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RawStrategy {
    /// The running thread goes on until it blocks, ends or yields.
    Sequential = 0,
    /// Seeded random walk over the enabled threads.
    Random = 1,
    /// Probabilistic concurrency testing with [`Header::depth`] - 1 priority change points.
    Pct = 2,
}

/// The way in which the run ended, as far as the runtime saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum End {
    /// The runtime never started: not an instrumented program, or it died before.
    NotStarted = 0,
    /// Still running, or killed from outside.
    Running = 1,
    /// `exit`, `_exit` or return from `main`; `exit_code` says with what.
    Exited = 2,
    /// `__assert_fail`; `message` holds expression, file and function, `fail_line` the line.
    Assert = 3,
    /// A fatal signal other than the program's own `abort`.
    Signal = 4,
    /// No thread can go on: all that are left wait.
    Deadlock = 5,
    /// `max_steps` decisions were made.
    StepLimit = 6,
    /// The log is full.
    LogFull = 7,
    /// `abort` without an assertion.
    Abort = 8,
    /// `std::terminate`, as after an uncaught C++ exception; `message` holds its text.
    Terminate = 9,
    /// The process image was replaced by `exec*`.
    Exec = 10,
    /// A block of the heap was freed twice.
    DoubleFree = 11,
    /// More than [`MAX_THREADS`] threads.
    TooManyThreads = 12,
    /// The program did something that the runtime cannot serve; `message` says what.
    Unsupported = 13,
    /// Memory for the log was not available.
    NoMemory = 14,
    /// The threads that can go on go round in circles, and nothing changes any more.
    Livelock = 15,
    /// A block of the heap was accessed after it had been freed.
    UseAfterFree = 16,
    /// An address was freed that is no heap block's.
    InvalidFree = 17,
    /// A report of UBSan ended the program; `message` holds its text, file and place.
    UndefinedBehavior = 18,
    /// A lock was unlocked that nobody held; `fail_addr` is the lock.
    UnlockFree = 19,
    /// A lock was unlocked that another thread held; `fail_addr` is the lock.
    UnlockForeign = 20,
    /// The program's assumption (`unsnarl_assume`) does not hold: the schedule does not count.
    Assumption = 21,
}

impl End {
    /// The variant with this number.
    pub fn from_u32(n: u32) -> Option<End> {
        use End::*;
        const ALL: [End; 22] = [
            NotStarted,
            Running,
            Exited,
            Assert,
            Signal,
            Deadlock,
            StepLimit,
            LogFull,
            Abort,
            Terminate,
            Exec,
            DoubleFree,
            TooManyThreads,
            Unsupported,
            NoMemory,
            Livelock,
            UseAfterFree,
            InvalidFree,
            UndefinedBehavior,
            UnlockFree,
            UnlockForeign,
            Assumption,
        ];
        ALL.get(n as usize).copied()
    }
}

/// The first page of the log. The recorder writes the first part, the runtime the second.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`VERSION`].
    pub version: u32,
    /// A [`RawMode`].
    pub mode: u32,
    /// A [`RawStrategy`].
    pub strategy: u32,
    /// PCT's depth d, at least 1.
    pub depth: u32,
    /// Seed of the random choices.
    pub seed: u64,
    /// PCT's k: the number of decisions that a run is expected to have.
    pub expected_steps: u64,
    /// Random walk: leave the running thread only once in this many decisions; 1 is uniform, 0 the number after
    /// [`switch_one_in_after`].
    pub switch_one_in: u32,
    /// Reads (or failed attempts) in a row after which a thread counts as spinning and yields.
    pub spin_limit: u32,
    /// Decisions after which the run is ended as [`End::StepLimit`].
    pub max_steps: u64,
    /// The virtual clock's start, nanoseconds since the epoch.
    pub start_time: u64,
    /// Nonzero: record function entry and exit.
    pub record_calls: u32,
    /// Nonzero: record the blocks of code that are entered ([`RecordKind::Branch`]).
    pub record_branches: u32,
    /// Bits of [`chance`]: the choices other than threads that the run has.
    pub chances: u32,
    /// Nonzero: note a [`Detail`] with every choice.
    pub note_details: u32,
    /// Allocations fail once in this many, when [`chance::ALLOCATION`] is on and the strategy draws.
    pub fail_one_in: u32,
    /// The recorder's process: without it the program ends too.
    pub recorder: u32,
    /// Nonzero: accesses to freed heap blocks do not end the run.
    pub allow_use_after_free: u32,
    /// One of [`children`]: who may claim the log.
    pub claimant: u32,
    /// Bytes used in `chosen`.
    pub chosen_len: u32,
    /// Path of the program that may claim the log, if that is [`children::CHOSEN`].
    pub chosen: [u8; children::MOST_OF_PATH],
    /// Length of the whole log in bytes.
    pub log_bytes: u64,
    /// Byte offset of the [`Module`] table.
    pub modules_at: u64,
    /// Byte offset of the [`Thread`] table.
    pub threads_at: u64,
    /// Byte offset of the schedule to follow before the strategy goes on.
    pub replay_at: u64,
    /// Number of [`EqualChoices`] in that schedule.
    pub replay_len: u64,
    /// Byte offset of the [`Directive`]s.
    pub plan_at: u64,
    /// Number of [`Directive`]s.
    pub plan_len: u64,
    /// Byte offset of the table of places that are passed over ([`quiet_slot`]).
    pub quiet_at: u64,
    /// Length of that table in `u32`s; 0 when nothing is passed over.
    pub quiet_len: u64,
    /// Byte offset of the choices made.
    pub decisions_at: u64,
    /// Room for that many [`EqualChoices`], and for the details of as many choices.
    pub decisions_cap: u64,
    /// Byte offset of the choices' details.
    pub details_at: u64,
    /// Byte offset of the records.
    pub records_at: u64,
    /// Room for that many records.
    pub records_cap: u64,
    /// Number of decision points from which on accesses that repeat others get no record; the largest number for never.
    pub repeats_after: u64,
    /// Byte offset of a proposed schedule ([`follow`]); 0 when there is none.
    pub follow_at: u64,
    /// Nonzero: a debugger watches. Events are counted, and the runtime calls `unsnarl_stop` at them.
    pub is_debugged: u32,
    /// The debugger writes here from which event on (by number, from 0) it wants to stop.
    pub stop_at: AtomicU64,
    /// Byte offset of the [`Input`]s.
    pub input_at: u64,
    /// Room for them in bytes; 0 when input is not recorded.
    pub input_cap: u64,
    /// Byte offset of the [`Input`]s of a recorded run, to give back.
    pub given_at: u64,
    /// Bytes that they take.
    pub given_len: u64,
    /// Nonzero: they are all that the recorded run had.
    pub given_all: u64,
    /// Nonzero: whoever was outside is there again, and says it anew. The [`Input`]s to give back tell when the
    /// program sees of it what.
    pub is_live: u32,
    /// Seed of the program's random numbers.
    pub input_seed: u64,

    /// Process that claimed the log; 0 while nobody did.
    pub pid: AtomicU32,
    /// An [`End`].
    pub end: AtomicU32,
    /// Records reserved so far (in free mode the last ones may be incomplete, kind 0).
    pub records: AtomicU64,
    /// Accesses that have no record, since they repeat others or the log was condensed.
    pub left_out: AtomicU64,
    /// Number of records, from the first on, that a condensed log has in place of more.
    pub condensed: AtomicU64,
    /// Nonzero while it is condensed, and its records are in no order.
    pub condensing: AtomicU32,
    /// Choices made so far, only those with two or more candidates, and those for which there was no room.
    pub decisions: AtomicU64,
    /// Rows of [`EqualChoices`] that hold them.
    pub decision_rows: AtomicU64,
    /// Decision points passed, those without a choice included.
    pub steps: AtomicU64,
    /// Threads created, `main` included.
    pub threads: AtomicU32,
    /// Modules in the table.
    pub modules: AtomicU32,
    /// Changes from one thread to another.
    pub switches: AtomicU64,
    /// Choices of the replayed schedule that could not be followed.
    pub diverged: AtomicU64,
    /// Index of the first of them, counted in choices, plus one; 0 when there is none.
    pub first_divergence: AtomicU64,
    /// Events so far, when a debugger watches: the number of the last one is one less.
    pub events: AtomicU64,
    /// Index of the record of the last of them.
    pub last_event: AtomicU64,
    /// Path mode: byte offset of the first chunk; 0 while there is none.
    pub chunks_at: AtomicU64,
    /// Path mode: chunks handed out. May exceed the room when that ran out.
    pub chunks: AtomicU64,
    /// Child processes that were forked.
    pub forks: AtomicU32,
    /// 1: the program asked to go on in the background, and went on in the foreground. 2: it ended while a
    /// child process of its own went on.
    pub detached: AtomicU32,
    /// Exit status, when `end` is [`End::Exited`] or a thread has called `exit`.
    pub exit_code: AtomicU32,
    /// Thread that has called `exit` or one like it, plus one; 0 while none has.
    pub exiting: AtomicU32,
    /// Signal number, when `end` is [`End::Signal`] or [`End::Abort`].
    pub signal: AtomicU32,
    /// Thread that failed.
    pub fail_thread: AtomicU32,
    /// Program counter of the failure.
    pub fail_pc: AtomicU64,
    /// Address that could not be accessed.
    pub fail_addr: AtomicU64,
    /// Line of the assertion.
    pub fail_line: AtomicU32,
    /// Bytes used in `message`.
    pub message_len: AtomicU32,
    /// Text, parts separated by NUL; what they are depends on `end`.
    pub message: [u8; 1024],
    /// Bytes of [`Input`]s written.
    pub input_used: AtomicU64,
    /// Inputs that there was no room for.
    pub input_lost: AtomicU64,
    /// Inputs of this run that were others than the ones given back in their place.
    pub input_differs: AtomicU32,
    /// The program used the random numbers that are drawn from `input_seed`.
    pub drew_random: AtomicU32,
    /// The first input that was another.
    pub difference: Difference,
    /// Bits of [`unlogged`]: what threads did while others lived.
    pub unlogged: AtomicU32,
    /// Calls of `unsnarl_check` that have begun.
    pub checks: AtomicU32,
    /// Number of the thread that has the turn, in controlled mode.
    pub current: AtomicU32,
    /// Nonzero while every thread waits, and somebody outside of the process could end one of the waits. What each
    /// waits for stands in its row.
    pub waits_outside: AtomicU32,
}

/// The first input that differed from the recorded one.
#[repr(C)]
pub struct Difference {
    /// Program counter of the call.
    pub pc: u64,
    /// Offset of the recorded [`Input`] from `given_at`; the largest number where the call had done
    /// all of what it was asked for.
    pub recorded: u64,
    /// Result of the call in this run.
    pub result: i64,
    /// `errno`, if the call failed.
    pub error: u32,
    /// Number of the thread.
    pub thread: u32,
    /// Number of bytes that came, of which `bytes` holds the first.
    pub length: u64,
    /// The first bytes that came.
    pub bytes: [u8; 64],
}

/// Something that came from outside the process: the result of a call, and `length` bytes that follow
/// in the log, filled up to a multiple of eight.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Result of the call.
    pub result: i64,
    /// Virtual time at which it returned.
    pub clock: u64,
    /// The thread's n-th call of those that may bring something in, from 1.
    pub nth: u32,
    /// Bytes that follow.
    pub length: u32,
    /// `errno`, if it failed.
    pub error: u32,
    /// Number of the thread.
    pub thread: u16,
    /// A [`Call`].
    pub call: u16,
}

/// The kind of call that brought something in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Call {
    /// `read`, `recv` and their relatives; the bytes are what was read.
    Read = 1,
    /// `write`, `send` and their relatives, where they did not do all of it.
    Write = 2,
    /// `accept`; the result is a descriptor.
    Accept = 3,
    /// `connect`.
    Connect = 4,
    /// `open` and `fopen`; the result is a descriptor.
    Open = 5,
    /// `poll`, `select`, `epoll_wait`; the bytes are what is ready.
    Poll = 6,
    /// The number of a process or thread.
    Process = 7,
    /// `waitpid` and its relatives; the bytes are the status.
    Wait = 8,
    /// A variable of the environment; the bytes are name and value.
    Environment = 9,
    /// Any other; the bytes are what it filled in.
    Other = 10,
    /// `stat` and its relatives; the bytes are the kernel's structure.
    Status = 11,
}

impl Call {
    /// The variant with this number.
    pub fn from_u16(n: u16) -> Option<Call> {
        use Call::*;
        const ALL: [Call; 11] = [
            Read,
            Write,
            Accept,
            Connect,
            Open,
            Poll,
            Process,
            Wait,
            Environment,
            Other,
            Status,
        ];
        ALL.into_iter().find(|call| *call as u16 == n)
    }
}

/// Choices other than threads: what the outside may do to a call although nothing in the program says so.
pub mod chance {
    /// A wait on a condition variable ends by itself.
    pub const SPURIOUS_WAKEUP: u32 = 1;
    /// The time of a timed wait is over at once.
    pub const EARLY_TIMEOUT: u32 = 2;
    /// A step that the standard allows to fail for no reason fails: a weak compare-and-exchange, `mtx_trylock`.
    pub const TRY: u32 = 4;
    /// Memory is not available.
    pub const ALLOCATION: u32 = 8;
    /// There are choices within calls of `unsnarl_check` only: elsewhere the threads run in their default order.
    pub const WITHIN_CHECKS: u32 = 16;
}

/// Dependences on other threads of which the log has no record.
pub mod unlogged {
    /// A thread read the clock or waited for a time.
    pub const TIME: u32 = 1;
    /// A thread waited for a descriptor, a child, or a lock of a file.
    pub const KERNEL: u32 = 2;
    /// A thread was cancelled.
    pub const CANCELLATION: u32 = 4;
    /// A thread could have gone on when the process ended.
    pub const CUT_OFF: u32 = 8;
    /// The program loads a library that has locks of its own. The recorder sets it: the runtime does not see them.
    pub const LIBRARY: u32 = 16;
}

/// The kind of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ChoiceKind {
    /// The thread that goes on.
    Thread = 0,
    /// The waiter that a signal wakes.
    Waiter = 1,
    /// The end of a wait: 0 when it is granted, 1 by itself, 2 because its time is over.
    Wait = 2,
    /// The outcome of a step that may fail for no reason: 1 when it fails.
    Try = 3,
    /// The outcome of an allocation: 1 when there is no memory.
    Allocation = 4,
    /// A value that the program asks for (`unsnarl_choose`).
    Value = 5,
}

impl ChoiceKind {
    /// The variant with this number.
    pub fn from_u8(n: u8) -> Option<ChoiceKind> {
        use ChoiceKind::*;
        [Thread, Waiter, Wait, Try, Allocation, Value]
            .get(usize::from(n))
            .copied()
    }
}

/// Slot at which the search for a place begins in the table of places that are passed over. Places are program
/// counters, counted from where the program was loaded, each in the first free slot from here on. Empty slots hold 0;
/// `len` is not 0.
pub fn quiet_slot(place: u32, len: u64) -> u64 {
    (u64::from(place).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % len
}

/// Equal choices in a row.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EqualChoices {
    /// The choice.
    pub choice: u16,
    /// Unused padding.
    pub unused: u16,
    /// Number of choices, at least 1.
    pub count: u32,
}

impl EqualChoices {
    /// A choice that is made so many times.
    pub const fn new(choice: u16, count: u32) -> EqualChoices {
        EqualChoices {
            choice,
            unused: 0,
            count,
        }
    }
}

/// Details of one choice, when [`Header::note_details`] asks for them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Records written before the choice.
    pub record: u64,
    /// Bit set of the candidates: numbers of threads, or of possible outcomes. Numbers from 64 on have no bit.
    pub candidates: u64,
    /// The thread that made the choice.
    pub running: u16,
    /// The candidate that was chosen.
    pub chosen: u16,
    /// A [`ChoiceKind`].
    pub kind: u8,
    /// Nonzero: the running thread gave way to the others.
    pub yields: u8,
    /// Nonzero: there were candidates without a bit.
    pub more: u8,
    /// Unused padding.
    pub unused: u8,
    /// Number of decisions that the choosing thread had come to, this one included.
    pub step: u64,
}

/// One choice that is prescribed by the position of its thread instead of by its index in the whole run: it means the
/// same when other choices before it change. Sorted by thread and step.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Directive {
    /// The thread that makes the choice.
    pub thread: u16,
    /// A [`ChoiceKind`].
    pub kind: u8,
    /// Unused padding.
    pub unused: u8,
    /// The prescribed choice. Passed over when it is not possible.
    pub choice: u16,
    /// Unused padding.
    pub unused_too: u16,
    /// Number of the decision within the thread, as in [`Detail::step`].
    pub step: u64,
}

/// One loaded module (the program or a shared library).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Module {
    /// Load bias: run-time address minus the file's own address.
    pub bias: u64,
    /// First mapped address.
    pub start: u64,
    /// One past the last mapped address.
    pub end: u64,
    /// Offset of a thread's copy of the thread-local variables below the thread pointer; 0 when there are none, or
    /// when it differs between threads.
    pub tls_below: u64,
    /// Bytes of the thread-local variables.
    pub tls_bytes: u64,
    /// Path, NUL-terminated; empty for the program itself. Longer paths are cut.
    pub path: [u8; 232],
}

/// One thread of the run. Its number is its index in the table: the order of creation.
#[repr(C)]
pub struct Thread {
    /// Number of the thread that created it; its own for `main`.
    pub parent: u32,
    /// Position among its parent's children, from 1; 0 for `main`.
    pub nth: u32,
    /// Start routine; 0 for `main`.
    pub start_pc: u64,
    /// Program counter of the call of `pthread_create`; 0 for `main`.
    pub create_pc: u64,
    /// Lowest address of the stack.
    pub stack_low: u64,
    /// One past the highest address of the stack.
    pub stack_high: u64,
    /// The thread pointer: thread-local variables lie below it.
    pub pointer: u64,
    /// A [`WaitsFor`]: what it waited for when the run ended.
    pub waits_for: AtomicU32,
    /// Nonzero once it has ended.
    pub ended: AtomicU32,
    /// The kernel's number for it, while it runs.
    pub kernel_id: AtomicU32,
    /// Address (or thread number) it waited for.
    pub wait_object: AtomicU64,
    /// Program counter of the wait.
    pub wait_pc: AtomicU64,
}

/// One step of one thread, 32 bytes. The meaning of `addr` and `value` depends on the [`RecordKind`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// A [`RecordKind`]; 0 while the record is not complete.
    pub kind: u8,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Number of the thread.
    pub thread: u16,
    /// Size of the access in bytes, or see the kind.
    pub size: u32,
    /// Program counter after the call of the callback: where the access stands in the program.
    pub pc: u64,
    /// Address accessed, or see the kind.
    pub addr: u64,
    /// Value read or written (the low eight bytes), or see the kind.
    pub value: u64,
}

impl Record {
    /// Returns whether the record becomes an event with a number of its own; one that is not complete does.
    pub fn is_event(&self) -> bool {
        RecordKind::from_u8(self.kind).is_none_or(|kind| kind.event().is_some())
    }
}

/// Bits of [`Record::flags`].
pub mod flag {
    /// `value` holds a value.
    pub const VALUE: u8 = 1;
    /// The write had not been executed when the log was last touched: `value` is not known.
    pub const PENDING: u8 = 2;
    /// A volatile access.
    pub const VOLATILE: u8 = 4;
    /// One word of a range access (`memcpy`, structure copy).
    pub const RANGE_WORD: u8 = 8;
    /// The lock was taken by an attempt that would not have waited, such as `pthread_mutex_trylock`.
    pub const TRIED: u8 = 16;
    /// Of a plain write: the last of several equal ones, those before which have no record but the first.
    pub const LAST_WRITE: u8 = 16;
    /// The lowest of the three bits that hold the memory order of an atomic access (0 relaxed, 1
    /// consume, 2 acquire, 3 release, 4 acq_rel, 5 seq_cst).
    pub const ORDER_SHIFT: u8 = 5;
}

/// The type of the lock that a [`RecordKind::Lock`] took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LockType {
    /// `pthread_mutex_t`, also inside `std::mutex` and `mtx_t`.
    Mutex = 0,
    /// `pthread_rwlock_t`.
    ReadWrite = 1,
    /// `pthread_spinlock_t`.
    Spin = 2,
    /// GLib's `GMutex`, and the lock of a `GCond`.
    GlibMutex = 3,
    /// GLib's `GRecMutex` and `GRWLock`.
    GlibPair = 4,
}

const _: () = {
    assert!(size_of::<Header>() <= HEADER_BYTES);
    assert!(size_of::<Record>() == 32);
    assert!(size_of::<Input>() == 32);
    assert!(size_of::<Module>() == 272);
    assert!(size_of::<Detail>() == 32);
    assert!(size_of::<EqualChoices>() == 8);
    assert!(size_of::<Directive>() == 16);
};
