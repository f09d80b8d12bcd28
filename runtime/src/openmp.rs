//! OpenMP as gcc compiles it: the entry points of libgomp over the recorded threads.
//!
//! libgomp's own barriers and locks sleep in the kernel, which would take the turn along. So a recorded
//! program is given this team of threads: they are created as the program's own, their work is handed
//! out at decisions, and what orders them is in the log. Without the recorder every call goes to libgomp.
//!
//! Left out: nested teams (an inner region has one thread, as by default in libgomp), `teams`,
//! `target`, cancellation, reductions over tasks, `doacross`: the run ends with a message. A loop with
//! `schedule(runtime)` is handed out one iteration at a time.

mod entries;
mod entry;
mod locks;
mod queries;
mod shares;
mod tasks;
mod teams;

use crate::{
    failure, log,
    next::Next,
    scheduler,
    state::{Mode, SHARED, Thread, Wait, grant, this_thread},
    sys,
};
use core::{
    cell::Cell,
    ptr::null,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};
use shares::Share;
use tasks::{Group, Task};
use teams::Team;
use unsnarl_trace::raw::{self, RecordKind, WaitsFor};

/// Call site of the call that is being served. Written with the turn, read before it is given up.
static CALL_PC: AtomicU64 = AtomicU64::new(0);

/// A thread as OpenMP sees it.
struct Member {
    /// Null outside of all regions.
    team: Cell<*const Team>,
    number: Cell<u32>,
    /// Work-sharing constructs that it has entered in this region.
    entered: Cell<u64>,
    share: Cell<*const Share>,
    /// Number of chunks that it has had of a loop with a static schedule.
    trips: Cell<u64>,
    /// Its chunk of an ordered loop.
    chunk: Cell<(i128, i128)>,
    task: Cell<*const Task>,
    group: Cell<*const Group>,
    /// Region that a pool thread is to work in next.
    job: Cell<*const Team>,
    job_number: Cell<u32>,
    /// Semaphore at which a pool thread waits for work; only its address is used.
    dock: Cell<libc::pthread_t>,
    /// Number of threads of a region without an explicit number; 0 when not set.
    wanted: Cell<u32>,
}

struct Members([Member; raw::MAX_THREADS]);

// SAFETY: used in controlled mode only, by the thread that has the turn.
unsafe impl Sync for Members {}

static MEMBERS: Members = Members(
    [const {
        Member {
            team: Cell::new(null()),
            number: Cell::new(0),
            entered: Cell::new(0),
            share: Cell::new(null()),
            trips: Cell::new(0),
            chunk: Cell::new((0, 0)),
            task: Cell::new(null()),
            group: Cell::new(null()),
            job: Cell::new(null()),
            job_number: Cell::new(0),
            dock: Cell::new(0),
            wanted: Cell::new(0),
        }
    }; raw::MAX_THREADS],
);

/// Returns whether a call is served here. Not without the recorder, and not where threads run freely.
fn is_ours() -> bool {
    match SHARED.mode.get() {
        Mode::Off => false,
        Mode::Controlled => true,
        Mode::Free | Mode::Path => {
            failure::unsupported(c"OpenMP where threads run freely (--strategy free or path)")
        }
    }
}

/// The calling thread, its state, and the call site.
fn caller() -> (&'static Thread, &'static Member, u64) {
    let Some(this) = this_thread() else {
        failure::unsupported(c"OpenMP in a thread that was not created by pthread_create");
    };
    log::resolve(this);
    (this, member(this), CALL_PC.load(Relaxed))
}

fn member(of: &Thread) -> &'static Member {
    match MEMBERS.0.get(usize::from(of.number.get())) {
        Some(member) => member,
        None => failure::unsupported(c"more threads than can be recorded"),
    }
}

/// The address of something, as the object of a step.
fn address<T>(of: &T) -> usize {
    core::ptr::from_ref(of) as usize
}

/// Marks a step that others may come before: a look at state that the members share.
fn look(this: &Thread, object: usize) {
    scheduler::decide(this, Next::unrecorded(RecordKind::Rmw, object));
}

/// Waits until another thread calls [`wake`]; the caller looks again then.
fn park(this: &Thread, pc: u64, object: usize) {
    let next = Next::of(RecordKind::BarrierLeave, pc, object);
    scheduler::block(this, next, parked(object), 0);
}

fn parked(object: usize) -> Wait {
    Wait::Granted {
        object,
        waits_for: WaitsFor::Barrier,
    }
}

/// Wakes all threads that have parked there.
fn wake(object: usize) {
    grant(parked(object));
}

/// Reserves memory that lives as long as the process.
fn reserve(bytes: usize) -> *mut u8 {
    struct Arena(Cell<usize>, Cell<usize>);
    // SAFETY: as for the members.
    unsafe impl Sync for Arena {}
    static ARENA: Arena = Arena(Cell::new(0), Cell::new(0));
    const SIZE: usize = 1 << 30;
    if ARENA.0.get() == 0 {
        let Some(place) = sys::memory(SIZE) else {
            failure::unsupported(c"no memory for OpenMP's teams and tasks");
        };
        ARENA.0.set(place as usize);
    }
    let at = ARENA.1.get();
    let end = at + bytes.next_multiple_of(16);
    if end > SIZE {
        failure::unsupported(c"more than 1 GiB of OpenMP tasks");
    }
    ARENA.1.set(end);
    (ARENA.0.get() + at) as *mut u8
}
