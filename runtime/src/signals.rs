//! Handlers of the program's own. A signal may come at any moment, also while the runtime is at work or the thread
//! has no turn: the handler runs at the thread's next decision, as part of its steps. A fault is the exception: its
//! handler runs at once, for the instruction cannot go on.

use crate::{
    entry::{entry, passing},
    failure, identity,
    mutex::ready,
    next::Next,
    outside, path,
    real::real,
    scheduler,
    state::{
        Mode, SHARED, Thread, Wait, controlled, live_threads, recording, this_thread, thread,
        unrecorded,
    },
    sys, threads, time,
};
use core::{
    cell::Cell,
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    sync::atomic::Ordering::{AcqRel, Relaxed},
};
use libc::{SA_SIGINFO, SIG_DFL, SIG_IGN, sigaction, siginfo_t, sigset_t, timespec};
use unsnarl_trace::raw::RecordKind;

const SIGNALS: usize = 65;
const MILLISECOND: u64 = 1_000_000;
/// The signal by which the C library cancels threads: the program cannot use it.
const CANCELLATION: u32 = 32;

/// A handler as the program gave it, with the data of the last signal for it.
struct Slot {
    handler: Cell<usize>,
    flags: Cell<c_int>,
    info: Cell<MaybeUninit<siginfo_t>>,
}

struct Slots([Slot; SIGNALS]);

// SAFETY: handlers change with the turn; what comes with a signal is plain data for its handler.
unsafe impl Sync for Slots {}

static SLOTS: Slots = Slots(
    [const {
        Slot {
            handler: Cell::new(SIG_DFL),
            flags: Cell::new(0),
            info: Cell::new(MaybeUninit::uninit()),
        }
    }; SIGNALS],
);

type Simple = unsafe extern "C" fn(c_int);
type Full = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// Returns whether the program has a handler for some signal.
pub fn are_handled() -> bool {
    let has = |slot: &Slot| !matches!(slot.handler.get(), SIG_DFL | SIG_IGN);
    SLOTS.0.iter().any(has)
}

impl Slot {
    /// # Safety
    /// `info` and `context` are as the kernel gives them.
    unsafe fn run(&self, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let handler = self.handler.get();
        if handler == SIG_DFL || handler == SIG_IGN {
            return;
        }
        // SAFETY: the program's own handler, of the kind that its flags name.
        unsafe {
            match self.flags.get() & SA_SIGINFO {
                0 => core::mem::transmute::<usize, Simple>(handler)(signal),
                _ => core::mem::transmute::<usize, Full>(handler)(signal, info, context),
            }
        }
    }
}

/// Handler that takes the place of every handler of the program's.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(slot) = SLOTS.0.get(signal as usize) else {
        return;
    };
    let Some(this) = this_thread().filter(|_| SHARED.mode.get() != Mode::Off) else {
        // SAFETY: as the kernel gave them.
        return unsafe { slot.run(signal, info, context) };
    };
    // SAFETY: as the kernel gave them.
    unsafe {
        if failure::is_fault(signal, (*info).si_code) {
            failure::begin_fault(this, signal, info, context);
            slot.run(signal, info, context);
            failure::end_fault(this);
            return;
        }
        if !controlled() {
            // Threads run freely, and so do handlers.
            let path = path::suspend();
            slot.run(signal, info, context);
            path::resume(path);
            return;
        }
        slot.info.set(MaybeUninit::new(*info));
    }
    this.signals.fetch_or(1 << (signal as u64 % 64), AcqRel);
}

/// Runs the handlers of the signals that have come for the thread. Returns `false` when one of them was installed so
/// that an interrupted call does not go on (without `SA_RESTART`).
#[cold]
pub fn deliver(this: &Thread) -> bool {
    let mut restarts = true;
    if this.inside.get() != 0 || this.ended.get() {
        return restarts;
    }
    loop {
        let come = this.signals.load(Relaxed);
        if come == 0 {
            return restarts;
        }
        let bit = come.trailing_zeros();
        this.signals.fetch_and(!(1 << bit), AcqRel);
        if bit == CANCELLATION {
            threads::act_on_cancel(this);
            continue;
        }
        let number = if bit == 0 { 64 } else { bit as usize };
        if let Some(slot) = SLOTS.0.get(number) {
            restarts &= slot.flags.get() & libc::SA_RESTART != 0;
            let mut info = slot.info.get();
            // Whoever wants to know where the thread was interrupted finds nothing.
            let mut context: MaybeUninit<libc::ucontext_t> = MaybeUninit::uninit();
            // SAFETY: the information was stored when the signal came.
            unsafe {
                slot.run(
                    number as c_int,
                    info.as_mut_ptr(),
                    context.as_mut_ptr().cast(),
                )
            };
        }
    }
}

/// Notes that a thread was cancelled and does not wait for a cancellation point: it ends at its next decision.
pub fn cancel(other: &Thread) {
    other.signals.fetch_or(1 << CANCELLATION, AcqRel);
}

/// Runs handlers, at a point where the thread is at a place of its own.
fn deliver_to(this: Option<&Thread>) {
    if let Some(this) = this.filter(|this| this.signals.load(Relaxed) != 0) {
        deliver(this);
    }
}

unsafe extern "C-unwind" fn on_sigaction(
    signal: c_int,
    new: *const sigaction,
    old: *mut sigaction,
    pc: u64,
) -> c_int {
    let library = real!(
        "sigaction",
        fn(c_int, *const sigaction, *mut sigaction) -> c_int
    );
    let (Some(this), Some(slot)) = (ready(pc), SLOTS.0.get(signal as usize)) else {
        // SAFETY: the program's own call.
        return unsafe { library(signal, new, old) };
    };
    // What the compiler makes of copying an action is a call of the `memcpy` that is recorded.
    unrecorded(this, || {
        // SAFETY: the program's own call.
        unsafe { change(slot, library, signal, new, old) }
    })
}

type Library = unsafe extern "C-unwind" fn(c_int, *const sigaction, *mut sigaction) -> c_int;

/// # Safety
/// As `sigaction`.
unsafe fn change(
    slot: &Slot,
    library: Library,
    signal: c_int,
    new: *const sigaction,
    old: *mut sigaction,
) -> c_int {
    let before = (slot.handler.get(), slot.flags.get());
    // SAFETY: the program's own arguments.
    let status = unsafe {
        match new.as_ref() {
            Some(new) => {
                let (handler, flags) = (new.sa_sigaction, new.sa_flags);
                slot.handler.set(handler);
                slot.flags.set(flags);
                let status = library(signal, &replaced(new, signal), old);
                if status != 0 {
                    slot.handler.set(before.0);
                    slot.flags.set(before.1);
                }
                status
            }
            None => library(signal, new, old),
        }
    };
    let stands_in = on_signal as *const () as usize;
    let is_ours = |action: &&mut sigaction| {
        failure::is_ours(action.sa_sigaction) || action.sa_sigaction == stands_in
    };
    // SAFETY: as above.
    let old = unsafe { old.as_mut() }.filter(|_| status == 0);
    if let Some(old) = old.filter(is_ours) {
        (old.sa_sigaction, old.sa_flags) = before;
    }
    status
}

/// The action for the kernel: our handler in place of the program's, and in place of the default end.
fn replaced(wanted: &sigaction, signal: c_int) -> sigaction {
    let mut action = *wanted;
    match wanted.sa_sigaction {
        SIG_IGN => {}
        SIG_DFL => {
            if let Some(handler) = failure::handler_of(signal) {
                action.sa_sigaction = handler;
                action.sa_flags = SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
            }
        }
        _ => {
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags |= SA_SIGINFO;
        }
    }
    action
}

unsafe extern "C-unwind" fn on_signal_call(signal: c_int, handler: usize, pc: u64) -> usize {
    let library = real!(
        "sigaction",
        fn(c_int, *const sigaction, *mut sigaction) -> c_int
    );
    let plain = real!("signal", fn(c_int, usize) -> usize);
    let (Some(this), Some(slot)) = (ready(pc), SLOTS.0.get(signal as usize)) else {
        // SAFETY: the program's own call.
        return unsafe { plain(signal, handler) };
    };
    // SAFETY: zero is a valid action; the call is the program's own.
    unrecorded(this, || unsafe {
        let mut new: sigaction = core::mem::zeroed();
        let mut old: sigaction = core::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        match change(slot, library, signal, &new, &mut old) {
            0 => old.sa_sigaction,
            _ => libc::SIG_ERR,
        }
    })
}

unsafe extern "C-unwind" fn on_raise(signal: c_int, pc: u64) -> c_int {
    let library = real!("raise", fn(c_int) -> c_int);
    send(pc, || {
        if let Some(this) = this_thread().filter(|_| controlled()) {
            note_if_deadly(signal, Some(this));
        }
        // SAFETY: the program's own call.
        unsafe { library(signal) }
    })
}

unsafe extern "C-unwind" fn on_kill(process: c_int, signal: c_int, pc: u64) -> c_int {
    let library = real!("kill", fn(c_int, c_int) -> c_int);
    send(pc, || {
        let process = identity::real(process);
        if controlled() && process == sys::process_id() {
            note_if_deadly(signal, None);
        }
        // SAFETY: the program's own call.
        unsafe { library(process, signal) }
    })
}

unsafe extern "C-unwind" fn on_pthread_kill(
    thread: libc::pthread_t,
    signal: c_int,
    pc: u64,
) -> c_int {
    let library = real!("pthread_kill", fn(libc::pthread_t, c_int) -> c_int);
    send(pc, || {
        let target = threads::by_handle(thread).filter(|_| controlled());
        match target.filter(|target| is_handled(target, signal)) {
            Some(target) => {
                hand_over(target, signal);
                0
            }
            None => {
                if let Some(target) = target.filter(|target| !target.ended.get()) {
                    note_if_deadly(signal, Some(target));
                }
                // SAFETY: the program's own call.
                unsafe { library(thread, signal) }
            }
        }
    })
}

/// Returns whether the signal would run a handler of the program's in this thread, now or at its next decision. A
/// thread that is in the kernel or blocks the signal gets it from there.
fn is_handled(target: &Thread, signal: c_int) -> bool {
    let Some(slot) = SLOTS.0.get(signal as usize) else {
        return false;
    };
    let blocked = target.blocked.get() & 1 << (signal as u64 % 64) != 0;
    let has_handler = !matches!(slot.handler.get(), SIG_DFL | SIG_IGN);
    signal > 0
        && has_handler
        && !blocked
        && !target.ended.get()
        && target.wait.get() != Wait::Outside
}

/// Sends the signal of a timer that has run out, to a thread or else to any one of the process: preferably one whose
/// handler can run at once.
pub fn send_by_timer(signal: c_int, to: Option<&'static Thread>, value: usize) {
    let live = || live_threads().iter().map(|&number| thread(number));
    let can = |thread: &&'static Thread| is_handled(thread, signal);
    let waits = |thread: &&'static Thread| {
        matches!(
            thread.wait.get(),
            Wait::Condition { .. } | Wait::Granted { .. } | Wait::Futex(_)
        )
    };
    let target = match to {
        Some(thread) => Some(thread).filter(can),
        None => live()
            .find(|thread| can(thread) && !waits(thread))
            .or_else(|| live().find(can)),
    };
    match target {
        Some(target) => hand_over_with(target, signal, Some(value)),
        None => leave_to_kernel(signal, to),
    }
}

/// Handles a signal without a handler that could run: it is waited for, ignored or ends the process.
fn leave_to_kernel(signal: c_int, to: Option<&Thread>) {
    note_if_deadly(signal, to);
    let process = sys::process_id() as usize;
    // SAFETY: plain numbers.
    unsafe {
        match to {
            Some(to) => {
                let arguments = [
                    process,
                    to.kernel_id.get() as usize,
                    signal as usize,
                    0,
                    0,
                    0,
                ];
                sys::call(libc::SYS_tgkill, arguments)
            }
            None => sys::call(libc::SYS_kill, [process, signal as usize, 0, 0, 0, 0]),
        }
    };
}

/// Notes the end of the run if the signal, sent to this thread or else to the process, ends the process.
fn note_if_deadly(signal: c_int, to: Option<&Thread>) {
    let slot = SLOTS.0.get(signal as usize);
    let is_default = slot.is_some_and(|slot| slot.handler.get() == SIG_DFL);
    let blocks = |thread: &Thread| thread.blocked.get() & 1 << (signal as u64 % 64) != 0;
    let is_blocked = match to {
        Some(thread) => blocks(thread),
        None => live_threads().iter().all(|&number| blocks(thread(number))),
    };
    if is_default && !is_blocked && failure::handler_of(signal).is_none() {
        failure::note_deadly(signal);
    }
}

/// Gives a thread a signal without the kernel, which would interrupt it at any point.
fn hand_over(target: &Thread, signal: c_int) {
    hand_over_with(target, signal, None);
}

/// Like [`hand_over`]; `value` is that of the timer that sends the signal.
fn hand_over_with(target: &Thread, signal: c_int, value: Option<usize>) {
    /// Offset of `si_value`.
    const VALUE: usize = 24;
    const SI_TIMER: c_int = -2;
    if let Some(slot) = SLOTS.0.get(signal as usize) {
        let mut info: MaybeUninit<siginfo_t> = MaybeUninit::zeroed();
        // SAFETY: zero is valid information, and so are the number and the value.
        unsafe {
            (*info.as_mut_ptr()).si_signo = signal;
            if let Some(value) = value {
                (*info.as_mut_ptr()).si_code = SI_TIMER;
                let place = info.as_mut_ptr().cast::<u8>().add(VALUE);
                place.cast::<usize>().write(value);
            }
        }
        slot.info.set(info);
    }
    target.signals.fetch_or(1 << (signal as u64 % 64), AcqRel);
}

unsafe extern "C-unwind" fn on_sigqueue(
    process: c_int,
    signal: c_int,
    value: libc::sigval,
    pc: u64,
) -> c_int {
    let library = real!("sigqueue", fn(c_int, c_int, libc::sigval) -> c_int);
    // SAFETY: the program's own call.
    send(pc, || unsafe {
        library(identity::real(process), signal, value)
    })
}

/// Makes a call that sends a signal, perhaps to its own thread.
fn send(pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    let this = ready(pc);
    if let Some(this) = this.filter(|_| controlled()) {
        scheduler::decide(this, Next::NOTHING);
    }
    let result = call();
    deliver_to(this);
    result
}

unsafe extern "C-unwind" fn on_mask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
    pc: u64,
) -> c_int {
    let library = real!(
        "pthread_sigmask",
        fn(c_int, *const sigset_t, *mut sigset_t) -> c_int
    );
    let this = ready(pc);
    let mut now: u64 = 0;
    // SAFETY: the program's own call; then asks for what is blocked, of which 64 bits are of interest.
    let status = unsafe {
        let status = library(how, new, old);
        let (place, bytes) = (&raw mut now as usize, size_of::<u64>());
        sys::call(libc::SYS_rt_sigprocmask, [0, 0, place, bytes, 0, 0]);
        status
    };
    if let Some(this) = this {
        // The kernel's bit 0 is signal 1.
        this.blocked.set(now.rotate_left(1));
    }
    deliver_to(this);
    status
}

unsafe extern "C-unwind" fn on_process_mask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    match unsafe { on_mask(how, new, old, pc) } {
        0 => 0,
        error => crate::input::fail(error),
    }
}

/// Makes a call that waits for a signal in the kernel: others run meanwhile.
fn wait(pc: u64, call: impl FnOnce() -> c_int) -> c_int {
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        return call();
    };
    let result = outside::without_turn(this, Next::of(RecordKind::Yield, pc, 0), call);
    let error = crate::input::errno();
    deliver_to(Some(this));
    crate::input::fail(error);
    result
}

/// Waits until a handler has run.
fn until_handler(this: &Thread, pc: u64) -> c_int {
    let next = Next::of(RecordKind::Yield, pc, 0);
    scheduler::block_or_signal(this, next, Wait::Signal, 0, false);
    threads::act_on_cancel(this);
    crate::input::fail(libc::EINTR)
}

unsafe extern "C-unwind" fn on_pause(pc: u64) -> c_int {
    let library = real!("pause", fn() -> c_int);
    match ready(pc).filter(|_| controlled()) {
        Some(this) => until_handler(this, pc),
        // SAFETY: no arguments.
        None => unsafe { library() },
    }
}

unsafe extern "C-unwind" fn on_sigsuspend(mask: *const sigset_t, pc: u64) -> c_int {
    let library = real!("sigsuspend", fn(*const sigset_t) -> c_int);
    let Some(this) = ready(pc).filter(|_| controlled() && !mask.is_null()) else {
        // SAFETY: the program's own call.
        return unsafe { library(mask) };
    };
    let before = this.blocked.get();
    // SAFETY: the program's own argument; the kernel's sets have eight bytes, its bit 0 is signal 1.
    let wanted = unsafe { mask.cast::<u64>().read() };
    change_mask(this, wanted.rotate_left(1));
    if this.signals.load(Relaxed) != 0 {
        deliver(this);
        crate::input::fail(libc::EINTR);
    } else {
        until_handler(this, pc);
    }
    let error = crate::input::errno();
    change_mask(this, before);
    crate::input::fail(error)
}

/// Blocks these signals and no others.
fn change_mask(this: &Thread, blocked: u64) {
    let kernel = blocked.rotate_right(1);
    let (place, bytes) = (&raw const kernel as usize, size_of::<u64>());
    let how = libc::SIG_SETMASK as usize;
    this.blocked.set(blocked);
    // SAFETY: a valid set.
    unsafe { sys::call(libc::SYS_rt_sigprocmask, [how, place, 0, bytes, 0, 0]) };
}

unsafe extern "C-unwind" fn on_sigwait(set: *const sigset_t, signal: *mut c_int, pc: u64) -> c_int {
    let library = real!("sigwait", fn(*const sigset_t, *mut c_int) -> c_int);
    // SAFETY: the program's own call.
    wait(pc, || unsafe { library(set, signal) })
}

unsafe extern "C-unwind" fn on_sigwaitinfo(
    set: *const sigset_t,
    info: *mut siginfo_t,
    pc: u64,
) -> c_int {
    let library = real!("sigwaitinfo", fn(*const sigset_t, *mut siginfo_t) -> c_int);
    // SAFETY: the program's own call.
    wait(pc, || unsafe { library(set, info) })
}

unsafe extern "C-unwind" fn on_sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    limit: *const timespec,
    pc: u64,
) -> c_int {
    let library = real!(
        "sigtimedwait",
        fn(*const sigset_t, *mut siginfo_t, *const timespec) -> c_int
    );
    let Some(this) = ready(pc).filter(|_| controlled() && !limit.is_null()) else {
        // SAFETY: the program's own call.
        return wait(pc, || unsafe { library(set, info, limit) });
    };
    // SAFETY: the program's own argument.
    let until = SHARED.clock.get() + unsafe { time::nanoseconds(&*limit) };
    let now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    loop {
        scheduler::decide(this, Next::NOTHING);
        // SAFETY: the program's own call, without the wait.
        let signal = unrecorded(this, || unsafe { library(set, info, &now) });
        let left = until.saturating_sub(SHARED.clock.get());
        if signal >= 0 || crate::input::errno() != libc::EAGAIN || left == 0 {
            return signal;
        }
        // Others may send it meanwhile; a long time takes few looks all the same.
        let part = (left / 8).max(MILLISECOND).min(left);
        if time::sleep_for(this, part, pc) != 0 {
            return crate::input::fail(libc::EINTR);
        }
    }
}

/// Notes that the program leaves a handler, if it is in one, by a jump.
unsafe extern "C" fn note_jump(_pc: u64) {
    if let Some(this) = recording() {
        unrecorded(this, || failure::end_fault(this));
    }
}

passing! { note_jump;
    longjmp, find_longjmp;
    _longjmp, find_plain_longjmp;
    siglongjmp, find_siglongjmp;
    __longjmp_chk, find_longjmp_chk;
}

entry! {
    sigaction, "rcx" => on_sigaction;
    __sigaction, "rcx" => on_sigaction;
    signal, "rdx" => on_signal_call;
    raise, "rsi" => on_raise;
    kill, "rdx" => on_kill;
    pthread_kill, "rdx" => on_pthread_kill;
    sigqueue, "rcx" => on_sigqueue;
    pthread_sigmask, "rcx" => on_mask;
    sigprocmask, "rcx" => on_process_mask;
    pause, "rdi" => on_pause;
    sigsuspend, "rsi" => on_sigsuspend;
    sigwait, "rdx" => on_sigwait;
    sigwaitinfo, "rdx" => on_sigwaitinfo;
    sigtimedwait, "rcx" => on_sigtimedwait;
}
