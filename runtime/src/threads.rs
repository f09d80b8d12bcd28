//! Creation, end, join, detach and cancellation of threads.

use crate::{
    failure, follow, log, modules,
    mutex::ready,
    next::Next,
    path,
    real::real,
    robust, scheduler, signals, start,
    state::{
        Mode, SHARED, Thread, Wait, controlled, header, recording, set_this_thread, this_thread,
        thread, unrecorded,
    },
    sys,
};
use core::{
    ffi::{c_int, c_void},
    ptr::null_mut,
    sync::atomic::Ordering::Relaxed,
};
use libc::pthread_t;
use unsnarl_trace::raw::{self, End, RecordKind, flag};

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Rounds in which the library calls thread-specific destructors (POSIX's minimum, glibc's number).
const DESTRUCTOR_ROUNDS: u32 = 4;
/// Bytes of the stack on which a thread's fatal signals are handled.
const SIGNAL_STACK: usize = 32 << 10;

/// Reserves the table of threads and adopts `main`.
pub fn set_up() {
    let table = reserve(raw::MAX_THREADS * size_of::<Thread>());
    SHARED.threads.set(table.cast());
    SHARED
        .live
        .set(reserve(raw::MAX_THREADS * size_of::<u16>()).cast());
    let mut key = 0;
    // SAFETY: a valid place for the key and a destructor with the right signature.
    unsafe { libc::pthread_key_create(&mut key, Some(at_thread_exit)) };
    SHARED.exit_key.set(key);
    let main = new_thread();
    start::adopt_main(main, row(main));
    enlist(main);
    follow::set_up();
    on_this_thread(main);
}

/// Memory of the runtime's own, zeroed.
pub fn reserve(bytes: usize) -> *mut c_void {
    let Some(place) = sys::memory(bytes) else {
        failure::unsupported(c"no memory for the table of threads");
    };
    place
}

fn new_thread() -> &'static Thread {
    let number = SHARED.thread_count.fetch_add(1, Relaxed);
    if number as usize >= raw::MAX_THREADS {
        failure::end_now(End::TooManyThreads);
    }
    header().threads.store(number + 1, Relaxed);
    let new = thread(number as u16);
    new.number.set(number as u16);
    new.wait.set(Wait::Nothing);
    new.next.set(Next::NOTHING);
    let rows = SHARED.header.get() as usize + header().threads_at as usize;
    // SAFETY: the log has MAX_THREADS rows.
    new.row
        .set(unsafe { (rows as *mut raw::Thread).add(number as usize) });
    new
}

fn row(of: &Thread) -> &'static mut raw::Thread {
    // SAFETY: set by `new_thread`; written by the creator before the thread runs, then by the thread.
    unsafe { &mut *of.row.get() }
}

/// Adds a thread to the live ones. Numbers grow, so the list stays sorted.
fn enlist(new: &Thread) {
    let count = SHARED.live_count.get();
    // SAFETY: the list has room for every thread.
    unsafe { *SHARED.live.get().add(count) = new.number.get() };
    SHARED.live_count.set(count + 1);
    new.live.set(true);
}

fn delist(old: &Thread) {
    // Moving the numbers up may call the `memmove` that is recorded.
    unrecorded(old, || remove_from_list(old));
    old.live.set(false);
}

fn remove_from_list(old: &Thread) {
    let count = SHARED.live_count.get();
    // SAFETY: the list holds `count` numbers.
    let live = unsafe { core::slice::from_raw_parts_mut(SHARED.live.get(), count) };
    if let Some(at) = live.iter().position(|&number| number == old.number.get()) {
        live.copy_within(at + 1.., at);
        SHARED.live_count.set(count - 1);
    }
}

/// Prepares the new thread, on itself, before it runs any of the program.
fn on_this_thread(this: &'static Thread) {
    // SAFETY: no arguments.
    this.kernel_id
        .set(unsafe { sys::call(libc::SYS_gettid, [0; 6]) } as i32);
    row(this)
        .kernel_id
        .store(this.kernel_id.get() as u32, Relaxed);
    row(this).pointer = modules::thread_pointer();
    unrecorded(this, || {
        // SAFETY: the key exists; a fresh stack for signals; both belong to this thread.
        unsafe {
            libc::pthread_setspecific(SHARED.exit_key.get(), (&raw const *this).cast());
            let stack = libc::stack_t {
                ss_sp: reserve(SIGNAL_STACK),
                ss_flags: 0,
                ss_size: SIGNAL_STACK,
            };
            libc::sigaltstack(&stack, null_mut());
        }
        if this.number.get() != 0 {
            note_stack(this);
        }
    });
    path::begin(this);
    log::sync(this, RecordKind::Begin, this.start.get() as u64, 0, 0);
}

fn note_stack(this: &Thread) {
    let row = row(this);
    // SAFETY: valid places for the attributes.
    unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return;
        }
        let (mut low, mut bytes) = (null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut low, &mut bytes);
        libc::pthread_attr_destroy(&mut attributes);
        row.stack_low = low as u64;
        row.stack_high = low as u64 + bytes as u64;
    }
}

/// First function of every thread that the program creates.
unsafe extern "C-unwind" fn run_thread(this: *mut c_void) -> *mut c_void {
    // SAFETY: `create` passes a thread of the table.
    let this: &'static Thread = unsafe { &*this.cast::<Thread>() };
    set_this_thread(this);
    if controlled() {
        scheduler::wait_for_turn(this);
    }
    on_this_thread(this);
    // SAFETY: the routine that the program gave to `pthread_create`.
    unsafe {
        let start = core::mem::transmute::<usize, Start>(this.start.get());
        start(this.argument.get() as *mut c_void)
    }
}

/// Destructor of our thread-specific key. Asks to be called again until the program's destructors
/// have had all their rounds; then the thread has ended.
unsafe extern "C" fn at_thread_exit(this: *mut c_void) {
    // SAFETY: the key's value is a thread of the table.
    let this: &'static Thread = unsafe { &*this.cast::<Thread>() };
    if SHARED.mode.get() == Mode::Off || this.ended.get() {
        return;
    }
    this.rounds.set(this.rounds.get() + 1);
    if this.rounds.get() < DESTRUCTOR_ROUNDS {
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(SHARED.exit_key.get(), (&raw const *this).cast()) };
        return;
    }
    end_thread(this);
}

fn end_thread(this: &Thread) {
    // A signal that came before the end is handled before it.
    signals::deliver(this);
    log::resolve(this);
    robust::abandon_all(this);
    log::sync(this, RecordKind::End, 0, 0, 0);
    path::end();
    this.ended.set(true);
    row(this).ended.store(1, Relaxed);
    if controlled() {
        delist(this);
        scheduler::decide(this, Next::NOTHING);
    }
}

unsafe extern "C-unwind" fn create(
    handle: *mut pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: usize,
    argument: usize,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { create_as(handle, attributes, start, argument, start, pc) }
}

/// Creates a thread that begins at `start`; the log names `routine`.
///
/// # Safety
/// As `pthread_create`.
pub unsafe fn create_as(
    handle: *mut pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: usize,
    argument: usize,
    routine: usize,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_create",
        fn(*mut pthread_t, *const libc::pthread_attr_t, Start, *mut c_void) -> c_int
    );
    let Some(this) = recording() else {
        // SAFETY: the program's own call.
        return unsafe {
            let start = core::mem::transmute::<usize, Start>(start);
            library(handle, attributes, start, argument as *mut c_void)
        };
    };
    log::resolve(this);
    if controlled() {
        scheduler::decide(this, Next::of(RecordKind::Fork, pc, handle as usize));
        wait_for_ended_threads();
    }
    let new = new_thread();
    new.start.set(start);
    new.argument.set(argument);
    describe(new, this, routine, pc);
    // SAFETY: the program's own call but for the start routine.
    let result = unrecorded(this, || unsafe {
        library(
            handle,
            attributes,
            run_thread,
            (&raw const *new).cast_mut().cast(),
        )
    });
    if result != 0 {
        return result;
    }
    // SAFETY: the library has just written it.
    new.handle.set(unsafe { *handle });
    new.detached.set(begins_detached(attributes));
    new.priority.set(if controlled() {
        scheduler::initial_priority()
    } else {
        0
    });
    log::sync(
        this,
        RecordKind::Fork,
        pc,
        argument,
        u64::from(new.number.get()),
    );
    // SAFETY: as above.
    let written = unsafe { *handle };
    log::push(
        this,
        RecordKind::Write,
        flag::VALUE,
        8,
        pc,
        handle as u64,
        written,
    );
    if controlled() {
        enlist(new);
    }
    0
}

fn begins_detached(attributes: *const libc::pthread_attr_t) -> bool {
    let asks = real!(
        "pthread_attr_getdetachstate",
        fn(*const libc::pthread_attr_t, *mut c_int) -> c_int
    );
    let mut state = libc::PTHREAD_CREATE_JOINABLE;
    // SAFETY: the program's own attributes, which the library has just used.
    let is_known = !attributes.is_null() && unsafe { asks(attributes, &mut state) } == 0;
    is_known && state == libc::PTHREAD_CREATE_DETACHED
}

fn describe(new: &Thread, parent: &Thread, routine: usize, pc: u64) {
    parent.children.set(parent.children.get() + 1);
    new.blocked.set(parent.blocked.get());
    let row = row(new);
    row.parent = u32::from(parent.number.get());
    row.nth = parent.children.get();
    row.start_pc = routine as u64;
    row.create_pc = pc;
    new.next
        .set(Next::of(RecordKind::Begin, new.start.get() as u64, 0));
    follow::created(new, Some((parent, parent.children.get())));
}

/// Waits until threads that have ended are gone from the kernel too: only then are the stacks and arenas that the
/// next thread may get the same in every repetition.
fn wait_for_ended_threads() {
    for number in 1..SHARED.thread_count.load(Relaxed) as u16 {
        let other = thread(number);
        if other.ended.get() && other.kernel_id.get() > 0 {
            wait_until_gone(other);
            other.kernel_id.set(0);
        }
    }
}

fn wait_until_gone(other: &Thread) {
    // SAFETY: signal 0 only asks whether the thread exists.
    unsafe {
        let process = sys::process_id() as usize;
        let ended = [process, other.kernel_id.get() as usize, 0, 0, 0, 0];
        while sys::call(libc::SYS_tgkill, ended) == 0 {
            sys::call(libc::SYS_sched_yield, [0; 6]);
        }
    }
}

/// The thread with this handle: the youngest one that was not joined.
pub fn by_handle(handle: pthread_t) -> Option<&'static Thread> {
    (0..SHARED.thread_count.load(Relaxed) as u16)
        .rev()
        .map(thread)
        .find(|candidate| candidate.handle.get() == handle && !candidate.joined.get())
}

pub unsafe extern "C-unwind" fn join(
    handle: pthread_t,
    result: *mut *mut c_void,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { join_until(handle, result, 0, pc) }
}

unsafe extern "C-unwind" fn timed_join(
    handle: pthread_t,
    result: *mut *mut c_void,
    until: *const libc::timespec,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { join_until(handle, result, crate::time::deadline(until), pc) }
}

/// # Safety
/// As `pthread_join`.
unsafe fn join_until(handle: pthread_t, result: *mut *mut c_void, deadline: u64, pc: u64) -> c_int {
    let library = real!("pthread_join", fn(pthread_t, *mut *mut c_void) -> c_int);
    let known = recording().and_then(|this| Some((this, by_handle(handle)?)));
    let Some((this, other)) = known else {
        // SAFETY: the program's own call.
        return unsafe { library(handle, result) };
    };
    log::resolve(this);
    if other.detached.get() {
        // SAFETY: the program's own call.
        return refused(this, other, pc, || unsafe { library(handle, result) });
    }
    let next = Next::of(RecordKind::Join, pc, 0);
    if controlled() && !scheduler::block(this, next, Wait::Join(other.number.get()), deadline) {
        return libc::ETIMEDOUT;
    }
    act_on_cancel(this);
    // SAFETY: the program's own call.
    let status = unrecorded(this, || unsafe { library(handle, result) });
    if status == 0 {
        other.joined.set(true);
        log::sync(this, RecordKind::Join, pc, 0, u64::from(other.number.get()));
    }
    status
}

/// The library's answer to a join of a detached thread, which does not wait. Once that has ended its handle names nothing.
fn refused(this: &Thread, other: &Thread, pc: u64, library: impl FnOnce() -> c_int) -> c_int {
    if controlled() {
        scheduler::count_idle(this, Next::of(RecordKind::Join, pc, 0));
    }
    match other.ended.get() {
        true => libc::ESRCH,
        false => unrecorded(this, library),
    }
}

unsafe extern "C-unwind" fn try_join(
    handle: pthread_t,
    result: *mut *mut c_void,
    pc: u64,
) -> c_int {
    if let (true, Some(this), Some(other)) = (controlled(), recording(), by_handle(handle)) {
        log::resolve(this);
        scheduler::count_idle(this, Next::of(RecordKind::Join, pc, 0));
        if !other.ended.get() && !other.detached.get() {
            return libc::EBUSY;
        }
    }
    // SAFETY: the program's own call.
    unsafe { join_until(handle, result, 0, pc) }
}

pub unsafe extern "C-unwind" fn detach(handle: pthread_t, pc: u64) -> c_int {
    let library = real!("pthread_detach", fn(pthread_t) -> c_int);
    let mut other = None;
    if let Some(this) = recording() {
        log::resolve(this);
        if controlled() {
            scheduler::decide(this, Next::of(RecordKind::Detach, pc, 0));
        }
        other = by_handle(handle);
        if let Some(other) = other {
            log::sync(
                this,
                RecordKind::Detach,
                pc,
                0,
                u64::from(other.number.get()),
            );
        }
    }
    // SAFETY: the program's own call.
    let status = unsafe { library(handle) };
    if let (0, Some(other)) = (status, other) {
        other.detached.set(true);
    }
    status
}

unsafe extern "C-unwind" fn cancel(handle: pthread_t, _pc: u64) -> c_int {
    let library = real!("pthread_cancel", fn(pthread_t) -> c_int);
    let target = recording().and_then(|this| Some((this, by_handle(handle)?)));
    match target {
        Some((this, other)) if controlled() => {
            log::resolve(this);
            scheduler::decide(this, Next::NOTHING);
            other.cancelled.set(true);
            if other.asynchronous.get() {
                signals::cancel(other);
            }
            scheduler::note_unlogged(unsnarl_trace::raw::unlogged::CANCELLATION);
            if this.number.get() == other.number.get() {
                act_on_cancel(this);
            }
            0
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(handle) },
    }
}

/// Ends a cancelled thread at a cancellation point, as the library would.
pub fn act_on_cancel(this: &Thread) {
    if !this.cancelled.get() || !controlled() {
        return;
    }
    let (cancel, test) = (
        real!("pthread_cancel", fn(pthread_t) -> c_int),
        real!("pthread_testcancel", fn() -> ()),
    );
    // SAFETY: cancels the calling thread, which then unwinds unless it has disabled cancellation.
    unsafe {
        cancel(libc::pthread_self());
        test();
    }
}

unsafe extern "C-unwind" fn test_cancel(_pc: u64) {
    let library = real!("pthread_testcancel", fn() -> ());
    if let Some(this) = recording() {
        log::resolve(this);
        if controlled() {
            scheduler::decide(this, Next::NOTHING);
        }
        act_on_cancel(this);
    }
    // SAFETY: the program's own call.
    unsafe { library() }
}

unsafe extern "C-unwind" fn set_cancel_type(kind: c_int, old: *mut c_int, pc: u64) -> c_int {
    /// glibc's `PTHREAD_CANCEL_ASYNCHRONOUS`.
    const ASYNCHRONOUS: c_int = 1;
    let library = real!("pthread_setcanceltype", fn(c_int, *mut c_int) -> c_int);
    // SAFETY: the program's own call.
    let status = unsafe { library(kind, old) };
    if let Some(this) = ready(pc).filter(|_| status == 0 && controlled()) {
        this.asynchronous.set(kind == ASYNCHRONOUS);
        if this.asynchronous.get() {
            act_on_cancel(this);
        }
    }
    status
}

/// Stops the recording in a forked child.
pub fn leave_recording() {
    SHARED.mode.set(Mode::Off);
    path::end();
    if this_thread().is_some() {
        set_this_thread(core::ptr::null());
    }
}

crate::entry::entry! {
    pthread_create, "r8" => create;
    pthread_join, "rdx" => join;
    pthread_timedjoin_np, "rcx" => timed_join;
    pthread_tryjoin_np, "rdx" => try_join;
    pthread_detach, "rsi" => detach;
    pthread_cancel, "rsi" => cancel;
    pthread_testcancel, "rdi" => test_cancel;
    pthread_setcanceltype, "rdx" => set_cancel_type;
}
