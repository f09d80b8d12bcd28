//! Timers. The program's clock is virtual, so its timers are too: they run out by virtual time, in every repetition
//! at the same step. The kernel's timers are armed only to make a descriptor readable.

use crate::{
    descriptors,
    entry::entry,
    identity, log,
    mutex::ready,
    next::Next,
    objects,
    real::real,
    scheduler, signals,
    state::{SHARED, Thread, Wait, controlled, live_threads, this_thread, thread},
    sys, threads, time,
};
use core::{
    cell::Cell,
    ffi::{c_int, c_uint, c_void},
};
use libc::{
    ITIMER_REAL, SIGALRM, TIMER_ABSTIME, itimerspec, itimerval, sigevent, timespec, timeval,
};
use unsnarl_trace::raw::RecordKind;

/// Bound for the timers that a program has at a time.
const MOST: usize = 256;
const SECOND: u64 = 1_000_000_000;

/// The effect of a timer that runs out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notice {
    /// The place is free.
    Free,
    Nothing,
    /// A signal, to this thread or to the process.
    Signal(c_int, Option<u16>),
    /// A call of a function, by a thread of the timer's own.
    Call(usize),
    /// A descriptor that becomes readable.
    Descriptor(c_int),
}

struct Timer {
    notice: Cell<Notice>,
    /// Virtual time at which it runs out; 0 while it is not armed.
    at: Cell<u64>,
    /// Time between two ends; 0 when there is only one.
    interval: Cell<u64>,
    /// The value that goes with the notice.
    value: Cell<usize>,
    /// Number of times that it has run out since the program asked.
    count: Cell<u64>,
}

/// The three timers of `setitimer`, then those of `timer_create` and `timerfd_create`.
struct Timers([Timer; MOST], Cell<u64>);

// SAFETY: used in controlled mode only, by the thread that has the turn.
unsafe impl Sync for Timers {}

const FIRST_MADE: usize = 3;

static TIMERS: Timers = Timers(
    [const {
        Timer {
            notice: Cell::new(Notice::Free),
            at: Cell::new(0),
            interval: Cell::new(0),
            value: Cell::new(0),
            count: Cell::new(0),
        }
    }; MOST],
    Cell::new(u64::MAX),
);

fn armed() -> impl Iterator<Item = &'static Timer> {
    TIMERS.0.iter().filter(|timer| timer.at.get() != 0)
}

/// The time at which the next timer runs out; the largest number when none is armed.
pub fn next() -> u64 {
    TIMERS.1.get()
}

/// Lets virtual time go on to `to`, unless it is later already, and the timers run out that are due.
pub fn go_on_to(to: u64) {
    SHARED.clock.set(SHARED.clock.get().max(to));
    match next() <= SHARED.clock.get() {
        true => run_out(),
        false => scheduler::look_again_by(next()),
    }
}

/// Lets the timers run out whose time has come, and notes the decision at which the next may be due.
pub fn run_out() {
    loop {
        let now = SHARED.clock.get();
        let due = armed().filter(|timer| timer.at.get() <= now);
        let Some(timer) = due.min_by_key(|timer| timer.at.get()) else {
            break;
        };
        let interval = timer.interval.get();
        // Ends that were slept through count, but tell of themselves once.
        let ends = match interval {
            0 => 1,
            interval => 1 + (now - timer.at.get()) / interval,
        };
        let following = timer.at.get().saturating_add(interval.saturating_mul(ends));
        timer.at.set(if interval == 0 { 0 } else { following });
        timer.count.set(timer.count.get() + ends);
        timer.tell();
    }
    let next = armed().map(|timer| timer.at.get()).min();
    TIMERS.1.set(next.unwrap_or(u64::MAX));
    scheduler::look_again_by(TIMERS.1.get());
}

impl Timer {
    fn tell(&self) {
        match self.notice.get() {
            Notice::Free | Notice::Nothing => {}
            Notice::Signal(signal, to) => {
                signals::send_by_timer(signal, to.map(thread), self.value.get());
            }
            Notice::Call(_) => {
                let calls = objects::at(self.place());
                calls.value.set(calls.value.get() + 1);
            }
            Notice::Descriptor(fd) => make_readable(fd),
        }
    }

    /// The object that the timer's own thread waits on.
    fn place(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// The time that is left, and the interval.
    fn setting(&self) -> (u64, u64) {
        let left = self.at.get().saturating_sub(SHARED.clock.get());
        let left = if self.at.get() != 0 { left.max(1) } else { 0 };
        (left, self.interval.get())
    }

    fn arm(&self, at: u64, interval: u64) {
        self.at.set(at);
        self.interval.set(interval);
        self.count.set(0);
        if let Notice::Descriptor(fd) = self.notice.get() {
            set_real(fd, 0);
        }
        run_out();
    }

    fn arm_in(&self, span: u64, interval: u64) {
        let at = SHARED.clock.get().saturating_add(span);
        self.arm(if span == 0 { 0 } else { at }, interval);
    }
}

/// The kernel's own timer behind a descriptor: armed for the next nanosecond, or not.
fn set_real(fd: c_int, nanoseconds: i64) {
    let none = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let setting = itimerspec {
        it_interval: none,
        it_value: timespec {
            tv_sec: 0,
            tv_nsec: nanoseconds,
        },
    };
    let place = &raw const setting as usize;
    // SAFETY: a valid setting; a descriptor that is none any more is an error.
    unsafe { sys::call(libc::SYS_timerfd_settime, [fd as usize, 0, place, 0, 0, 0]) };
}

/// Makes the descriptor readable before it returns.
fn make_readable(fd: c_int) {
    const LONGEST: c_int = 1000;
    set_real(fd, 1);
    let wanted = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    sys::poll(&mut [wanted], LONGEST);
}

fn of_descriptor(fd: c_int) -> Option<&'static Timer> {
    TIMERS
        .0
        .iter()
        .find(|timer| timer.notice.get() == Notice::Descriptor(fd))
}

/// Corrects the result of a read from a descriptor: if it is a timer's, the number that was read becomes that of the
/// virtual one.
///
/// # Safety
/// `bytes` bytes at `to` were filled.
pub unsafe fn correct(fd: c_int, to: *mut u8, bytes: isize) {
    if bytes != 8 {
        // SAFETY: the caller's.
        return unsafe { correct_senders(fd, to, bytes) };
    }
    if let Some(timer) = of_descriptor(fd) {
        // SAFETY: the caller's.
        unsafe {
            to.cast::<u64>()
                .write_unaligned(timer.count.replace(0).max(1))
        };
    }
}

/// Corrects the result of a read from a descriptor: if it is of signals, their senders get the numbers that the
/// program knows.
///
/// # Safety
/// `bytes` bytes at `to` were filled.
unsafe fn correct_senders(fd: c_int, to: *mut u8, bytes: isize) {
    const NEWS: usize = size_of::<libc::signalfd_siginfo>();
    let bytes = usize::try_from(bytes).unwrap_or(0);
    if bytes == 0 || !bytes.is_multiple_of(NEWS) || !descriptors::is_of_signals(fd) {
        return;
    }
    for at in (0..bytes).step_by(NEWS) {
        // SAFETY: the caller's; whole structures were filled.
        unsafe {
            let sender = &raw mut (*to.add(at).cast::<libc::signalfd_siginfo>()).ssi_pid;
            let known = identity::told(sender.read_unaligned() as c_int);
            sender.write_unaligned(known as u32);
        }
    }
}

/// Forgets a closed descriptor.
pub fn forget(fd: c_int) {
    if let Some(timer) = of_descriptor(fd) {
        timer.at.set(0);
        timer.notice.set(Notice::Free);
    }
}

fn free_place() -> Option<(usize, &'static Timer)> {
    let made = TIMERS.0.iter().enumerate().skip(FIRST_MADE);
    let mut free = made.filter(|(_, timer)| timer.notice.get() == Notice::Free);
    free.next()
}

fn nanoseconds(time: &timespec) -> u64 {
    time::nanoseconds(time)
}

fn of_timeval(time: &timeval) -> u64 {
    time.tv_sec as u64 * SECOND + time.tv_usec as u64 * 1_000
}

fn to_timeval(nanoseconds: u64) -> timeval {
    // A time that is left is never shown as none.
    let microseconds = nanoseconds.div_ceil(1_000);
    timeval {
        tv_sec: (microseconds / 1_000_000) as i64,
        tv_usec: (microseconds % 1_000_000) as i64,
    }
}

fn to_itimerspec((left, interval): (u64, u64)) -> itimerspec {
    itimerspec {
        it_interval: time::timespec(interval),
        it_value: time::timespec(left),
    }
}

/// The calling thread, at a step of its own; `None` where timers are the kernel's.
fn begin(pc: u64) -> Option<&'static Thread> {
    let this = ready(pc).filter(|_| controlled())?;
    scheduler::decide(this, Next::NOTHING);
    Some(this)
}

unsafe extern "C-unwind" fn on_setitimer(
    which: c_int,
    new: *const itimerval,
    old: *mut itimerval,
    pc: u64,
) -> c_int {
    let library = real!(
        "setitimer",
        fn(c_int, *const itimerval, *mut itimerval) -> c_int
    );
    let timer = TIMERS
        .0
        .get(which as usize)
        .filter(|_| (which as usize) < FIRST_MADE);
    let (Some(_), Some(timer)) = (begin(pc), timer) else {
        // SAFETY: the program's own call.
        return unsafe { library(which, new, old) };
    };
    // SAFETY: the program's own arguments.
    unsafe {
        let before = timer.setting();
        if let Some(new) = new.as_ref() {
            timer.notice.set(Notice::Signal(signal_of(which), None));
            timer.arm_in(of_timeval(&new.it_value), of_timeval(&new.it_interval));
        }
        if let Some(old) = old.as_mut() {
            (old.it_value, old.it_interval) = (to_timeval(before.0), to_timeval(before.1));
        }
    }
    0
}

fn signal_of(which: c_int) -> c_int {
    match which {
        ITIMER_REAL => SIGALRM,
        libc::ITIMER_VIRTUAL => libc::SIGVTALRM,
        _ => libc::SIGPROF,
    }
}

unsafe extern "C-unwind" fn on_getitimer(which: c_int, now: *mut itimerval, pc: u64) -> c_int {
    let library = real!("getitimer", fn(c_int, *mut itimerval) -> c_int);
    let timer = TIMERS
        .0
        .get(which as usize)
        .filter(|_| (which as usize) < FIRST_MADE);
    match (begin(pc), timer) {
        (Some(_), Some(timer)) if !now.is_null() => {
            let (left, interval) = timer.setting();
            // SAFETY: the program's own argument.
            unsafe {
                *now = itimerval {
                    it_value: to_timeval(left),
                    it_interval: to_timeval(interval),
                };
            }
            0
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(which, now) },
    }
}

/// Arms the timer of `alarm`; returns the time that was left of the previous one.
fn set_alarm(span: u64, interval: u64) -> u64 {
    let [timer, ..] = &TIMERS.0;
    let (left, _) = timer.setting();
    timer.notice.set(Notice::Signal(SIGALRM, None));
    timer.arm_in(span, interval);
    left
}

unsafe extern "C-unwind" fn on_alarm(seconds: c_uint, pc: u64) -> c_uint {
    let library = real!("alarm", fn(c_uint) -> c_uint);
    match begin(pc) {
        // A second that has begun is one.
        Some(_) => set_alarm(u64::from(seconds) * SECOND, 0).div_ceil(SECOND) as c_uint,
        // SAFETY: the program's own call.
        None => unsafe { library(seconds) },
    }
}

unsafe extern "C-unwind" fn on_ualarm(span: c_uint, interval: c_uint, pc: u64) -> c_uint {
    let library = real!("ualarm", fn(c_uint, c_uint) -> c_uint);
    let of = |microseconds: c_uint| u64::from(microseconds) * 1_000;
    match begin(pc) {
        Some(_) => set_alarm(of(span), of(interval)).div_ceil(1_000) as c_uint,
        // SAFETY: the program's own call.
        None => unsafe { library(span, interval) },
    }
}

/// The notice that the program wants, by the fields of `sigevent`.
///
/// # Safety
/// `event` is null or valid.
unsafe fn notice(event: *const sigevent) -> (Notice, Option<usize>) {
    /// Offset of the function of `SIGEV_THREAD`, at which other notices have the thread's number.
    const FUNCTION: usize = 16;
    // SAFETY: the caller's; the function is a field that the type here does not name.
    unsafe {
        let Some(wanted) = event.as_ref() else {
            return (Notice::Signal(SIGALRM, None), None);
        };
        let value = Some(wanted.sigev_value.sival_ptr as usize);
        let notice = match wanted.sigev_notify {
            libc::SIGEV_NONE => Notice::Nothing,
            libc::SIGEV_THREAD => Notice::Call(*event.cast::<u8>().add(FUNCTION).cast::<usize>()),
            libc::SIGEV_THREAD_ID => {
                let wanted_id = identity::real(wanted.sigev_notify_thread_id);
                let mut live = live_threads().iter().copied();
                let to = live.find(|number| thread(*number).kernel_id.get() == wanted_id);
                Notice::Signal(wanted.sigev_signo, to)
            }
            _ => Notice::Signal(wanted.sigev_signo, None),
        };
        (notice, value)
    }
}

unsafe extern "C-unwind" fn on_create(
    clock: c_int,
    event: *mut sigevent,
    made: *mut usize,
    pc: u64,
) -> c_int {
    let library = real!(
        "timer_create",
        fn(c_int, *mut sigevent, *mut usize) -> c_int
    );
    let Some(_) = begin(pc).filter(|_| !made.is_null()) else {
        // SAFETY: the program's own call.
        return unsafe { library(clock, event, made) };
    };
    let Some((number, timer)) = free_place() else {
        return crate::input::fail(libc::EAGAIN);
    };
    // SAFETY: the program's own arguments.
    unsafe {
        let (notice, value) = notice(event);
        timer.notice.set(notice);
        timer.value.set(value.unwrap_or(number));
        timer.arm(0, 0);
        *made = number;
        if let Notice::Call(function) = notice {
            return start_caller(timer, function, pc);
        }
    }
    0
}

/// Creates the thread that calls the program's function each time.
fn start_caller(timer: &'static Timer, function: usize, pc: u64) -> c_int {
    objects::at(timer.place()).reset();
    let mut handle: libc::pthread_t = 0;
    let (start, argument) = (call_each_time as *const () as usize, timer.place());
    // SAFETY: valid arguments; nobody joins the thread.
    unsafe {
        let attributes = core::ptr::null();
        let error = threads::create_as(&raw mut handle, attributes, start, argument, function, pc);
        if error != 0 {
            timer.notice.set(Notice::Free);
            return crate::input::fail(error);
        }
        threads::detach(handle, pc)
    }
}

unsafe extern "C-unwind" fn call_each_time(timer: *mut c_void) -> *mut c_void {
    // SAFETY: `start_caller` passes a timer of the table.
    let timer: &'static Timer = unsafe { &*timer.cast::<Timer>() };
    let place = timer.place();
    while let (Some(this), Notice::Call(function)) = (this_thread(), timer.notice.get()) {
        let pc = function as u64 + 1;
        let next = Next::of(RecordKind::SemWait, pc, place);
        scheduler::block(this, next, Wait::Semaphore(place), 0);
        let calls = objects::at(place);
        calls.value.set(calls.value.get() - 1);
        if timer.notice.get() != Notice::Call(function) {
            break;
        }
        log::sync(this, RecordKind::SemWait, pc, place, 0);
        // SAFETY: the program's own function, with the value that it gave.
        unsafe {
            let call: unsafe extern "C-unwind" fn(usize) = core::mem::transmute(function);
            call(timer.value.get());
        }
        log::resolve(this);
    }
    core::ptr::null_mut()
}

/// The timer of `timer_create` with this number.
fn by_number(number: usize) -> Option<&'static Timer> {
    let timer = TIMERS.0.get(number).filter(|_| number >= FIRST_MADE)?;
    let is_made = !matches!(timer.notice.get(), Notice::Free | Notice::Descriptor(_));
    is_made.then_some(timer)
}

/// # Safety
/// Both are as the call wants them.
unsafe fn set(
    timer: &Timer,
    is_absolute: bool,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let before = to_itimerspec(timer.setting());
        let Some(new) = new.as_ref() else {
            return crate::input::fail(libc::EINVAL);
        };
        let (value, interval) = (nanoseconds(&new.it_value), nanoseconds(&new.it_interval));
        match is_absolute {
            true => timer.arm(value, interval),
            false => timer.arm_in(value, interval),
        }
        if let Some(old) = old.as_mut() {
            *old = before;
        }
    }
    0
}

unsafe extern "C-unwind" fn on_settime(
    number: usize,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
    pc: u64,
) -> c_int {
    let library = real!(
        "timer_settime",
        fn(usize, c_int, *const itimerspec, *mut itimerspec) -> c_int
    );
    match (begin(pc), by_number(number)) {
        (Some(this), Some(timer)) => {
            if let Notice::Call(_) = timer.notice.get() {
                // What was done before is done before the function is called.
                log::sync(this, RecordKind::SemPost, pc, timer.place(), 0);
            }
            // SAFETY: the program's own arguments.
            unsafe { set(timer, flags & TIMER_ABSTIME != 0, new, old) }
        }
        // SAFETY: the program's own call.
        (None, _) => unsafe { library(number, flags, new, old) },
        (Some(_), None) => crate::input::fail(libc::EINVAL),
    }
}

unsafe extern "C-unwind" fn on_gettime(number: usize, now: *mut itimerspec, pc: u64) -> c_int {
    let library = real!("timer_gettime", fn(usize, *mut itimerspec) -> c_int);
    match (begin(pc), by_number(number)) {
        (Some(_), Some(timer)) if !now.is_null() => {
            // SAFETY: the program's own argument.
            unsafe { *now = to_itimerspec(timer.setting()) };
            0
        }
        // SAFETY: the program's own call.
        (None, _) => unsafe { library(number, now) },
        _ => crate::input::fail(libc::EINVAL),
    }
}

unsafe extern "C-unwind" fn on_getoverrun(number: usize, pc: u64) -> c_int {
    let library = real!("timer_getoverrun", fn(usize) -> c_int);
    match (begin(pc), by_number(number)) {
        (Some(_), Some(timer)) => timer.count.replace(0).saturating_sub(1) as c_int,
        // SAFETY: the program's own call.
        (None, _) => unsafe { library(number) },
        _ => crate::input::fail(libc::EINVAL),
    }
}

unsafe extern "C-unwind" fn on_delete(number: usize, pc: u64) -> c_int {
    let library = real!("timer_delete", fn(usize) -> c_int);
    match (begin(pc), by_number(number)) {
        (Some(_), Some(timer)) => {
            timer.at.set(0);
            let had_thread = matches!(timer.notice.replace(Notice::Nothing), Notice::Call(_));
            if had_thread {
                // Its thread ends; the place stays, for the thread looks at it once more.
                let calls = objects::at(timer.place());
                calls.value.set(calls.value.get() + 1);
            } else {
                timer.notice.set(Notice::Free);
            }
            0
        }
        // SAFETY: the program's own call.
        (None, _) => unsafe { library(number) },
        _ => crate::input::fail(libc::EINVAL),
    }
}

unsafe extern "C-unwind" fn on_descriptor(clock: c_int, flags: c_int, pc: u64) -> c_int {
    let library = real!("timerfd_create", fn(c_int, c_int) -> c_int);
    let this = begin(pc);
    // SAFETY: the program's own call.
    let fd = unsafe { library(clock, flags) };
    let place = this.filter(|_| fd >= 0).and_then(|_| free_place());
    if let Some((_, timer)) = place {
        timer.notice.set(Notice::Descriptor(fd));
        timer.arm(0, 0);
    }
    fd
}

unsafe extern "C-unwind" fn on_descriptor_settime(
    fd: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
    pc: u64,
) -> c_int {
    let library = real!(
        "timerfd_settime",
        fn(c_int, c_int, *const itimerspec, *mut itimerspec) -> c_int
    );
    match (begin(pc), of_descriptor(fd)) {
        (Some(_), Some(timer)) => {
            let is_absolute = flags & libc::TFD_TIMER_ABSTIME != 0;
            // SAFETY: the program's own arguments.
            unsafe { set(timer, is_absolute, new, old) }
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(fd, flags, new, old) },
    }
}

unsafe extern "C-unwind" fn on_descriptor_gettime(
    fd: c_int,
    now: *mut itimerspec,
    pc: u64,
) -> c_int {
    let library = real!("timerfd_gettime", fn(c_int, *mut itimerspec) -> c_int);
    match (begin(pc), of_descriptor(fd)) {
        (Some(_), Some(timer)) if !now.is_null() => {
            // SAFETY: the program's own argument.
            unsafe { *now = to_itimerspec(timer.setting()) };
            0
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(fd, now) },
    }
}

entry! {
    setitimer, "rcx" => on_setitimer;
    getitimer, "rdx" => on_getitimer;
    alarm, "rsi" => on_alarm;
    ualarm, "rdx" => on_ualarm;
    timer_create, "rcx" => on_create;
    timer_settime, "r8" => on_settime;
    timer_gettime, "rdx" => on_gettime;
    timer_getoverrun, "rsi" => on_getoverrun;
    timer_delete, "rsi" => on_delete;
    timerfd_create, "rdx" => on_descriptor;
    timerfd_settime, "r8" => on_descriptor_settime;
    timerfd_gettime, "rdx" => on_descriptor_gettime;
}
