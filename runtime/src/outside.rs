//! Waits for the outside world: when no thread of this process can go on, when a replayed choice needs input that has
//! not come yet, and while a thread is in a call that cannot be asked beforehand.

use crate::{
    blocking::{Pollfds, is_ready},
    choices,
    descriptors::{self, Source},
    failure, input, live, log,
    next::Next,
    polling, scheduler, signals,
    state::{SHARED, Thread, Wait, header, live_threads, thread, unrecorded},
    sys, timers,
};
use core::{
    ffi::{c_int, c_short},
    sync::atomic::Ordering::{Acquire, Release},
};
use libc::{POLLIN, POLLOUT};
use unsnarl_trace::raw::{Call, WaitsFor};

const MILLISECOND: u64 = 1_000_000;
/// Longest real wait before virtual time goes on, in milliseconds.
const PATIENCE: u64 = 20;
/// Time in milliseconds that data may be on its way within this process, through the network of the machine itself.
const ON_ITS_WAY: u64 = 200;
/// Time in milliseconds for which a replay waits for input that came when the run was recorded.
pub const REPLAY_PATIENCE: u64 = 3_000;
/// The same for a signal that a timer of the program may send instead: the recorded run waited for [`PATIENCE`] before it
/// let the timer run out, and the machine may be slower now.
const SIGNAL_PATIENCE: u64 = 10 * PATIENCE;

/// The objects of all waits.
struct Waits {
    descriptors: Pollfds,
    /// `true` if somebody outside could end one of the waits.
    outside: bool,
    /// `true` if there is a wait that `poll` does not report.
    unseen: bool,
    /// `true` if what this process has written may not have come to one of the waits yet.
    on_its_way: bool,
    /// A thread whose wait has a recorded answer.
    given: Option<&'static Thread>,
}

impl Waits {
    fn of(threads: impl Iterator<Item = &'static Thread>) -> Waits {
        let mut waits = Waits {
            descriptors: Pollfds::new(),
            outside: false,
            unseen: false,
            on_its_way: false,
            given: None,
        };
        threads.for_each(|thread| waits.add(thread));
        waits
    }

    fn add(&mut self, thread: &'static Thread) {
        match thread.wait.get() {
            Wait::Input(fd) => self.add_descriptor(fd, POLLIN),
            Wait::Output(fd) => self.add_descriptor(fd, POLLOUT),
            Wait::Poll { descriptors, count } => {
                // SAFETY: the array of a thread that is inside `poll`.
                let wanted = unsafe { polling::array(descriptors, count) };
                let wanted = wanted.iter().filter(|one| one.fd >= 0);
                wanted.for_each(|one| self.add_descriptor(one.fd, one.events));
            }
            Wait::Outside | Wait::Child { .. } | Wait::FileLock(_) | Wait::Signal => {
                self.unseen = true;
                self.outside = true;
            }
            _ => return,
        }
        if input::is_given(thread) {
            self.given = Some(thread);
        }
    }

    fn add_descriptor(&mut self, fd: c_int, events: c_short) {
        self.outside |= polling::may_be_fed_from_outside(fd);
        self.on_its_way |= descriptors::may_be_on_its_way(fd);
        self.unseen |= !self.descriptors.add(fd, events);
    }

    fn is_empty(&self) -> bool {
        !self.unseen && self.descriptors.is_empty()
    }

    /// Waits like [`Waits::wait`] and notes the wait in the log: when the time of the run is over, the recorder sees
    /// the reason.
    fn wait_openly(&mut self, patience: Option<u64>) -> bool {
        let says_so = self.outside && self.given.is_none();
        if says_so {
            waiting().for_each(|thread| failure::note_wait(thread, waits_for(thread)));
        }
        header().waits_outside.store(u32::from(says_so), Release);
        let came = self.wait(patience);
        header().waits_outside.store(0, Release);
        came
    }

    /// Waits for real, for at most this time; returns whether something came.
    fn wait(&mut self, patience: Option<u64>) -> bool {
        let anybody = || {
            live_threads()
                .iter()
                .any(|&n| scheduler::enabled(thread(n)))
        };
        if !self.unseen {
            return match patience {
                Some(patience) => self.descriptors.poll(patience as c_int) != 0,
                None if !signals::are_handled() => self.descriptors.poll(-1) != 0,
                // A signal may come before the kernel waits, or to another thread: then it does not interrupt the wait.
                None => loop {
                    if self.descriptors.poll(PATIENCE as c_int) != 0 || anybody() {
                        break true;
                    }
                },
            };
        }
        for _ in 0..patience.unwrap_or(u64::MAX) {
            if anybody() {
                return true;
            }
            self.descriptors.poll(1);
        }
        anybody()
    }
}

fn waiting() -> impl Iterator<Item = &'static Thread> {
    live_threads().iter().map(|&number| thread(number))
}

/// Waits for the outside world when no thread can go on, if some thread waits for it. Returns whether one can go on
/// now. `until` is the virtual time of the next event, 0 when there is none.
pub fn wait_for_outside(until: u64) -> bool {
    let mut waits = Waits::of(waiting());
    if waits.is_empty() {
        return false;
    }
    let left = until.saturating_sub(SHARED.clock.get()) / MILLISECOND;
    let patience = match (until, waits.outside, waits.given) {
        (_, _, Some(_)) => Some(PATIENCE),
        (0, true, None) => None,
        (0, false, None) if waits.on_its_way => Some(ON_ITS_WAY),
        (0, false, None) => Some(0),
        (_, true, None) => Some(left.min(PATIENCE)),
        (_, false, None) => Some(1),
    };
    if waits.wait_openly(patience) {
        return true;
    }
    if let Some(thread) = waits.given {
        thread.forced.set(true);
    }
    waits.given.is_some()
}

/// Handles a sleeping thread. While all others wait, and somebody outside could end one of their waits, the sleep
/// takes real time: to a peer from outside, no years have passed.
pub fn sleep(this: &Thread, until: u64) {
    let is_other = |number: &u16| *number != this.number.get();
    let others = || live_threads().iter().copied().filter(is_other).map(thread);
    if choices::follows() || input::replays() || others().next().is_none() {
        return;
    }
    let mut waits = Waits::of(others());
    if !waits.outside || others().any(scheduler::enabled) {
        return;
    }
    // Nobody who looks takes this thread for one that can go on.
    this.done.store(0, Release);
    this.deadline.set(until);
    this.wait.set(Wait::Outside);
    let left = until.saturating_sub(SHARED.clock.get()) / MILLISECOND;
    waits.wait_openly(Some(left.min(PATIENCE)));
    this.wait.set(Wait::Nothing);
    this.deadline.set(0);
}

/// The object that a thread waits for, in more detail than its wait has.
fn waits_for(thread: &Thread) -> WaitsFor {
    let wait = thread.wait.get();
    if thread.deadline.get() != 0 {
        return WaitsFor::Time;
    }
    let is_connection = match wait {
        Wait::Input(fd) => descriptors::listens(fd),
        Wait::Poll { descriptors, count } => {
            // SAFETY: the array of a thread that is inside `poll`.
            let all = unsafe { polling::array(descriptors, count) };
            all.iter().any(|one| descriptors::listens(one.fd))
        }
        _ => false,
    };
    match is_connection {
        true => WaitsFor::Connection,
        false => wait.raw().0,
    }
}

/// Helps a thread that a replayed choice names and that still waits: repeats what made it go on when the run was
/// recorded. Returns `false` when nothing can.
pub fn help(chosen: &'static Thread) -> bool {
    let mut waits = Waits::of(core::iter::once(chosen));
    if !waits.is_empty() && waits.outside {
        let given = waits.given.is_some();
        // It went on because its time was over: what comes now came later.
        let is_over = live::Seen::next(chosen, Call::Poll).is_some_and(live::Seen::is_nothing);
        if is_over && chosen.deadline.get() != 0 {
            timers::go_on_to(chosen.deadline.get());
            return true;
        }
        let patience = match given {
            true => PATIENCE,
            false if may_be_sent_by_timer(chosen) => SIGNAL_PATIENCE,
            false => REPLAY_PATIENCE,
        };
        // Who starts a client beside the program starts it now.
        header().waits_outside.store(u32::from(!given), Release);
        let came = waits.wait_for(chosen, patience);
        header().waits_outside.store(0, Release);
        if came {
            return true;
        }
        chosen.forced.set(given);
        if given {
            return true;
        }
    }
    let deadline = chosen.deadline.get();
    timers::go_on_to(deadline);
    deadline != 0
}

/// Returns whether the thread waits for a signal while a timer is armed.
fn may_be_sent_by_timer(chosen: &Thread) -> bool {
    matches!(chosen.wait.get(), Wait::Signal) && timers::next() != u64::MAX
}

impl Waits {
    fn wait_for(&mut self, chosen: &Thread, patience: u64) -> bool {
        for _ in 0..patience {
            if scheduler::enabled(chosen) {
                return true;
            }
            match self.unseen {
                true => sys::sleep(MILLISECOND as u32),
                false => {
                    self.descriptors.poll(1);
                }
            }
        }
        scheduler::enabled(chosen)
    }
}

/// Makes a call that may wait in the kernel and cannot be asked beforehand. Others run meanwhile, so the call must
/// touch nothing that they touch except by the program's own fault.
pub fn without_turn<T>(this: &Thread, next: Next, call: impl FnOnce() -> T) -> T {
    log::resolve(this);
    scheduler::decide(this, next);
    this.wait.set(Wait::Outside);
    this.wait_pc.set(next.pc);
    this.done.store(0, Release);
    this.next.set(next);
    let left = scheduler::leave(this);
    let result = unrecorded(this, call);
    this.done.store(1, Release);
    if left {
        scheduler::wait_for_turn(this);
    }
    this.wait.set(Wait::Nothing);
    result
}

/// Returns whether a thread that is outside has come back.
pub fn is_back(thread: &Thread) -> bool {
    thread.done.load(Acquire) != 0
}

/// Returns whether a wait for this descriptor could end.
pub fn is_granted(other: &Thread, fd: c_int, events: c_short) -> bool {
    other.forced.get() || is_ready(fd, events)
}

/// Returns whether bytes read from the descriptor come from outside of the process.
pub fn is_foreign(fd: c_int) -> bool {
    matches!(descriptors::source(fd), Source::File | Source::Outside)
}
