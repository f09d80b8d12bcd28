//! The end of a run: assertion, abort, fatal signal, deadlock, exit.

use crate::{
    children, departure, log, lookup,
    real::real,
    state::{
        Mode, SHARED, Thread, Wait, header, live_threads, recording, this_thread, thread,
        unrecorded,
    },
    sys,
};
use core::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr::null_mut,
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use unsnarl_trace::raw::{End, RecordKind, WaitsFor};

/// Exit status of a process that the runtime itself ends.
const ENDED_BY_RUNTIME: c_int = 86;

/// Notes the end of the run, unless one was noted before. Returns whether this call did.
pub fn conclude(end: End) -> bool {
    let end = match end {
        // Whether the others come to an end without the thread whose assumption does not hold means nothing.
        End::Exited | End::Deadlock | End::Livelock | End::StepLimit
            if SHARED.does_not_count.get() =>
        {
            End::Assumption
        }
        end => end,
    };
    let from = |unsaid: End| {
        let (unsaid, end) = (unsaid as u32, end as u32);
        header()
            .end
            .compare_exchange(unsaid, end, AcqRel, Acquire)
            .is_ok()
    };
    from(End::Running) || from(End::Exec)
}

/// Returns whether an end of the run was noted.
fn has_ended() -> bool {
    let end = header().end.load(Acquire);
    end != End::Running as u32 && end != End::Exec as u32
}

/// Ends the process at once, with the reason in the log.
pub fn end_now(end: End) -> ! {
    conclude(end);
    sys::exit(ENDED_BY_RUNTIME)
}

/// Ends the process because it cannot be served.
pub fn unsupported(why: &CStr) -> ! {
    write_message(&[why.to_bytes()]);
    end_now(End::Unsupported)
}

/// Handles a deadlock, which no time-out will end: notes the waits of all threads and ends the process.
pub fn deadlock() -> ! {
    if conclude(End::Deadlock) {
        for &number in live_threads() {
            note_blocked(thread(number));
        }
    }
    end_now(End::Deadlock)
}

fn note_blocked(blocked: &Thread) {
    let (waits_for, object) = blocked.wait.get().raw();
    let pc = blocked.wait_pc.get();
    if let Wait::Condition { .. } | Wait::Lock(_) | Wait::SharedLock(_) = blocked.wait.get() {
        log::resolve(blocked);
    }
    log::push(
        blocked,
        RecordKind::Blocked,
        0,
        waits_for as u32,
        pc,
        object as u64,
        0,
    );
    note_wait(blocked, waits_for);
}

/// Notes a thread's wait in its row.
pub fn note_wait(waiting: &Thread, waits_for: WaitsFor) {
    let (_, object) = waiting.wait.get().raw();
    // SAFETY: every thread has a row in the log.
    let row = unsafe { &*waiting.row.get() };
    row.waits_for.store(waits_for as u32, Relaxed);
    row.wait_object.store(object as u64, Relaxed);
    row.wait_pc.store(waiting.wait_pc.get(), Release);
}

/// Writes the parts, separated by NUL, into the header's message; text that does not fit is cut.
pub fn write_message(parts: &[&[u8]]) {
    let header = SHARED.header.get();
    // SAFETY: the header is mapped; only the thread that concludes the run writes its message.
    let message = unsafe { &mut (*header).message };
    let mut used = 0;
    for (i, part) in parts.iter().enumerate() {
        let separator: &[u8] = if i == 0 { b"" } else { b"\0" };
        for byte in separator.iter().chain(*part) {
            if let Some(place) = message.get_mut(used) {
                *place = *byte;
                used += 1;
            }
        }
    }
    self::header().message_len.store(used as u32, Release);
}

fn note_failure(this: &Thread, end: End, pc: u64, address: u64) {
    let header = header();
    header
        .fail_thread
        .store(u32::from(this.number.get()), Relaxed);
    header.fail_pc.store(pc, Relaxed);
    header.fail_addr.store(address, Relaxed);
    log::push(this, RecordKind::Failure, 0, 0, pc, address, end as u64);
}

/// The bytes of a C string; empty for a null pointer.
///
/// # Safety
/// `text` is null or NUL-terminated.
pub unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return b"";
    }
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

unsafe extern "C-unwind" fn assert_fail(
    expression: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    pc: u64,
) -> ! {
    if let Some(this) = recording() {
        log::resolve(this);
        departure::fail(this);
        // From here on what is called is not the program's doing.
        this.inside.set(this.inside.get() + 1);
        if conclude(End::Assert) {
            // SAFETY: the C library's contract: the three are C strings.
            let parts = unsafe { [bytes(expression), bytes(file), bytes(function)] };
            write_message(&parts);
            header().fail_line.store(line, Relaxed);
            note_failure(this, End::Assert, pc, 0);
        }
    }
    let fail = real!(
        "__assert_fail",
        fn(*const c_char, *const c_char, u32, *const c_char) -> c_int
    );
    // SAFETY: the program's own call. It does not return.
    unsafe {
        fail(expression, file, line, function);
        libc::_exit(ENDED_BY_RUNTIME)
    }
}

unsafe extern "C-unwind" fn on_abort(pc: u64) -> ! {
    if let Some(this) = recording() {
        log::resolve(this);
        conclude_fault(this);
        if !has_ended() {
            departure::fail(this);
        }
        this.inside.set(this.inside.get() + 1);
        let exception = uncaught_exception();
        let end = if exception.is_some() {
            End::Terminate
        } else {
            End::Abort
        };
        if conclude(end) {
            header().signal.store(libc::SIGABRT as u32, Relaxed);
            write_message(&[exception.unwrap_or(b"")]);
            note_failure(this, end, pc, 0);
        }
    }
    let abort = real!("abort", fn() -> c_int);
    // SAFETY: ends the process.
    unsafe {
        abort();
        libc::_exit(ENDED_BY_RUNTIME)
    }
}

/// Mangled name of the type of the C++ exception that nobody caught, if it made the program abort.
fn uncaught_exception() -> Option<&'static [u8]> {
    let found = lookup::find(libc::RTLD_DEFAULT, c"__cxa_current_exception_type", None);
    if found.is_null() {
        return None;
    }
    // SAFETY: a C++ program has it, and it may be called at any time. A `std::type_info` begins with
    // its vtable, then the name.
    unsafe {
        let current: unsafe extern "C" fn() -> *const *const c_char = core::mem::transmute(found);
        let type_info = current();
        (!type_info.is_null()).then(|| bytes(*type_info.add(1)))
    }
}

/// Ends the run with this failure of the calling thread, whose message was written before.
pub fn note_last(this: &Thread, end: End) {
    log::resolve(this);
    if conclude(end) {
        note_failure(this, end, 0, 0);
    }
}

/// Ends the run because a thread unlocked a lock that it does not hold: anything may happen then. `is_free`: nobody
/// holds it.
#[cold]
pub fn unlock_not_held(this: &Thread, pc: u64, lock: usize, is_free: bool) -> ! {
    let end = match is_free {
        true => End::UnlockFree,
        false => End::UnlockForeign,
    };
    misuse(this, end, pc, lock)
}

/// Ends the run because the program misused the heap block or the lock at `address`: the C library would abort here,
/// if it noticed.
#[cold]
pub fn misuse(this: &Thread, end: End, pc: u64, address: usize) -> ! {
    if conclude(end) {
        note_failure(this, end, pc, address as u64);
    }
    this.inside.set(this.inside.get() + 1);
    let abort = real!("abort", fn() -> c_int);
    // SAFETY: ends the process.
    unsafe {
        abort();
        libc::_exit(ENDED_BY_RUNTIME)
    }
}

/// Handler of `exit` that runs to its end: registered first, called last.
pub unsafe extern "C" fn on_exit(status: c_int, _: *mut c_void) {
    if let Some(this) = recording().filter(|_| !has_ended() && departure::has_company()) {
        // While this thread lets the others go first, one of them may come to the end as well, or leave
        // something else to be done there.
        unrecorded(this, watch_exit);
    }
    finish(status);
}

unsafe extern "C" {
    #[link_name = "on_exit"]
    fn at_exit(handler: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Registers the handler of `exit`.
pub fn watch_exit() {
    // SAFETY: a handler with the right signature.
    unsafe { at_exit(on_exit, null_mut()) };
}

/// Notes that the thread calls what ends the program.
pub fn note_exit(pc: u64, status: c_int) {
    if let Some(this) = recording().filter(|_| is_our_process() && !has_ended()) {
        log::resolve(this);
        log::push(this, RecordKind::Exit, 0, 0, pc, 0, 0);
        header().exit_code.store(status as u32, Relaxed);
        let thread = u32::from(this.number.get());
        header().exiting.store(thread + 1, Relaxed);
    }
}

/// Finishes the log: the process ends with this status, and nothing is recorded any more.
pub fn finish(status: c_int) {
    if SHARED.mode.get() == Mode::Off || !is_our_process() || has_ended() {
        return;
    }
    if let Some(this) = recording() {
        log::resolve(this);
    }
    if let Some(this) = this_thread() {
        conclude_fault(this);
    }
    if let Some(this) = recording().filter(|_| !has_ended()) {
        departure::arrive(this);
    }
    header().exit_code.store(status as u32, Relaxed);
    if conclude(End::Exited) {
        if let Some(this) = this_thread() {
            header()
                .fail_thread
                .store(u32::from(this.number.get()), Relaxed);
        }
        children::note_left_behind();
    }
}

/// Returns `false` in a child that shares the log with the process that was started.
pub fn is_our_process() -> bool {
    header().pid.load(Relaxed) == sys::process_id() as u32
}

const FATAL: [c_int; 5] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
];

/// Catches fatal signals, on a stack of their own.
pub fn catch_signals() {
    for signal in FATAL {
        // SAFETY: a valid handler for a valid signal; nothing is recorded yet.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
            libc::sigaction(signal, &action, core::ptr::null_mut());
        }
    }
}

/// Returns whether the handler is one of this file.
pub fn is_ours(handler: usize) -> bool {
    handler == on_signal as *const () as usize
}

/// Notes that the process is about to be ended by a signal without a handler.
pub fn note_deadly(signal: c_int) {
    const HARMLESS: [c_int; 8] = [
        libc::SIGCHLD,
        libc::SIGCONT,
        libc::SIGURG,
        libc::SIGWINCH,
        libc::SIGSTOP,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ];
    if signal > 0 && !HARMLESS.contains(&signal) && conclude(End::Signal) {
        header().signal.store(signal as u32, Relaxed);
    }
}

/// The handler that stands in for the default action of a signal that ends the process.
pub fn handler_of(signal: c_int) -> Option<usize> {
    let is_fatal = FATAL.contains(&signal);
    is_fatal.then_some(on_signal as *const () as usize)
}

/// Returns whether the signal comes from the current instruction of the thread, or from `abort`, which does not
/// return.
pub fn is_fault(signal: c_int, code: c_int) -> bool {
    FATAL.contains(&signal) && (code > 0 || signal == libc::SIGABRT)
}

/// Notes that a handler of the program's own is about to run for a fault: the place of the fault is kept, in case the
/// handler ends the process.
///
/// # Safety
/// `info` and `context` are as the kernel gives them.
pub unsafe fn begin_fault(
    this: &Thread,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the caller's.
    let (address, pc) = unsafe { ((*info).si_addr() as u64, program_counter(context)) };
    let on_behalf = this.access_pc.swap(0, Relaxed);
    settle_pending(this, address);
    let pc = if on_behalf != 0 { on_behalf } else { pc + 1 };
    this.fault.set((signal, pc, address));
}

/// Notes that the handler has returned, or was left by a jump: the program goes on.
pub fn end_fault(this: &Thread) {
    this.fault.set((0, 0, 0));
}

/// Makes the fault whose handler ends the process the end of the run.
fn conclude_fault(this: &Thread) {
    let (signal, pc, address) = this.fault.get();
    if signal != 0 && signal != libc::SIGABRT && conclude(End::Signal) {
        header().signal.store(signal as u32, Relaxed);
        note_failure(this, End::Signal, pc, address);
    }
}

/// # Safety
/// `context` is as the kernel gives it.
unsafe fn program_counter(context: *mut c_void) -> u64 {
    // SAFETY: the caller's.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers.get(libc::REG_RIP as usize).copied().unwrap_or(0) as u64
}

unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid pointers.
    let (address, code, pc) = unsafe {
        let pc = program_counter(context);
        ((*info).si_addr() as u64, (*info).si_code, pc)
    };
    let sent = code <= 0;
    // A child that ends so says nothing about the process that is recorded.
    let is_recorded = SHARED.mode.get() != Mode::Off && is_our_process();
    if is_recorded && conclude(End::Signal) {
        header().signal.store(signal as u32, Relaxed);
        if let Some(this) = this_thread() {
            note_signal(this, pc, if sent { 0 } else { address });
        }
    }
    if sent || signal == libc::SIGABRT {
        sys::raise(signal);
    }
}

/// Handles a fault in memory that an announced write is about to touch: the write caused it and has no value.
fn settle_pending(this: &Thread, address: u64) {
    if log::pending_on_page(this, address) || !log::pending_is_readable(this) {
        log::forget_pending(this);
    } else {
        log::resolve(this);
    }
}

fn note_signal(this: &Thread, pc: u64, address: u64) {
    let on_behalf = this.access_pc.load(Relaxed);
    settle_pending(this, address);
    // `pc` is the faulting instruction; records hold the address after a call, one byte on is inside it.
    note_failure(
        this,
        End::Signal,
        if on_behalf != 0 { on_behalf } else { pc + 1 },
        address,
    );
}

crate::entry::entry! {
    __assert_fail, "r8" => assert_fail;
    abort, "rdi" => on_abort;
}
