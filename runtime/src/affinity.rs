//! The processors that a thread may use. The recorder keeps the program on one, and tells it of those that it had before:
//! libraries for parallel loops start as many threads.

use crate::{
    access,
    entry::entry,
    identity,
    input::{Answer, Parts, exchange_alike, part},
    mutex::ready,
    next::Next,
    real::real,
    scheduler,
    state::{controlled, unrecorded},
    sys,
};
use core::{
    cell::UnsafeCell,
    ffi::c_int,
    mem::{size_of, zeroed},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use libc::cpu_set_t;
use unsnarl_trace::raw::Call;

/// The processors at the start.
struct Given(UnsafeCell<cpu_set_t>);

// SAFETY: written before there is a second thread.
unsafe impl Sync for Given {}

// SAFETY: the set is plain data.
static GIVEN: Given = Given(UnsafeCell::new(unsafe { zeroed() }));
/// `true` once the program has said itself which it wants: from then on the kernel's answer counts.
static IS_CHOSEN: AtomicBool = AtomicBool::new(false);

/// One core for all threads: handing over is then a switch on that core, never a wake-up elsewhere.
pub fn pin_to_one_core() {
    // SAFETY: valid sets of processors; there is one thread.
    unsafe {
        let all = GIVEN.0.get() as usize;
        sys::call(
            libc::SYS_sched_getaffinity,
            [0, size_of::<cpu_set_t>(), all, 0, 0, 0],
        );
        let mut one: cpu_set_t = zeroed();
        libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut one);
        let one = &raw const one as usize;
        sys::call(
            libc::SYS_sched_setaffinity,
            [0, size_of::<cpu_set_t>(), one, 0, 0, 0],
        );
    }
}

/// Copies the processors at the start to the program, as far as it has room for them.
///
/// # Safety
/// `bytes` bytes at `to` are the program's.
unsafe fn tell(to: *mut u8, bytes: usize) {
    for at in 0..bytes {
        // SAFETY: the caller's; within the set.
        unsafe {
            let of_set = GIVEN.0.get().cast::<u8>();
            let known = (at < size_of::<cpu_set_t>()).then(|| *of_set.add(at));
            to.add(at).write_volatile(known.unwrap_or(0));
        }
    }
}

/// Answers a question for a thread's processors; `call` asks the kernel.
fn ask(bytes: usize, to: *mut u8, pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        return call();
    };
    scheduler::decide(this, Next::NOTHING);
    let room = part(to, bytes);
    let make = || {
        let result = unrecorded(this, call);
        if result == 0 && !IS_CHOSEN.load(Relaxed) {
            // SAFETY: the call has just filled it.
            unsafe { tell(to, bytes) };
        }
        Answer {
            bytes: if result == 0 { bytes } else { 0 },
            ..Answer::of(i64::from(result))
        }
    };
    let parts = Parts::new(&room, 1);
    let answer = exchange_alike(this, Call::Other, parts, pc, |_, _| true, make);
    access::log_written(this, to, answer.bytes, pc);
    answer.with_errno().result as c_int
}

unsafe extern "C-unwind" fn on_getaffinity(id: c_int, bytes: usize, to: *mut u8, pc: u64) -> c_int {
    let library = real!("sched_getaffinity", fn(c_int, usize, *mut u8) -> c_int);
    // SAFETY: the program's own call.
    ask(bytes, to, pc, || unsafe {
        library(identity::real(id), bytes, to)
    })
}

unsafe extern "C-unwind" fn on_getaffinity_of_thread(
    thread: libc::pthread_t,
    bytes: usize,
    to: *mut u8,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_getaffinity_np",
        fn(libc::pthread_t, usize, *mut u8) -> c_int
    );
    // SAFETY: the program's own call.
    ask(bytes, to, pc, || unsafe { library(thread, bytes, to) })
}

/// Makes a call by which the program chooses processors.
fn choose(pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    if let Some(this) = ready(pc).filter(|_| controlled()) {
        scheduler::decide(this, Next::NOTHING);
        IS_CHOSEN.store(true, Relaxed);
    }
    call()
}

unsafe extern "C-unwind" fn on_setaffinity(
    id: c_int,
    bytes: usize,
    wanted: *const u8,
    pc: u64,
) -> c_int {
    let library = real!("sched_setaffinity", fn(c_int, usize, *const u8) -> c_int);
    // SAFETY: the program's own call.
    choose(pc, || unsafe { library(identity::real(id), bytes, wanted) })
}

unsafe extern "C-unwind" fn on_setaffinity_of_thread(
    thread: libc::pthread_t,
    bytes: usize,
    wanted: *const u8,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_setaffinity_np",
        fn(libc::pthread_t, usize, *const u8) -> c_int
    );
    // SAFETY: the program's own call.
    choose(pc, || unsafe { library(thread, bytes, wanted) })
}

entry! {
    sched_getaffinity, "rcx" => on_getaffinity;
    pthread_getaffinity_np, "rcx" => on_getaffinity_of_thread;
    sched_setaffinity, "rcx" => on_setaffinity;
    pthread_setaffinity_np, "rcx" => on_setaffinity_of_thread;
}
