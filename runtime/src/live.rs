//! Input that is said anew while a recorded run is repeated: the driver, or the script that starts the program, is there
//! again. What it says comes from it, but not when it likes: each thread sees of it at each call what it saw then, so that
//! a request which comes sooner than in the recorded run is not read sooner.
//!
//! That holds as long as the run is repeated. When something does not come that came then, the call sees what there is.

use crate::{
    blocking::is_ready,
    descriptors::{self, Source},
    input::{self, Answer, Parts},
    outside::REPLAY_PATIENCE,
    polling,
    state::{SHARED, Thread, controlled, header},
    sys,
};
use core::{
    ffi::{c_int, c_short},
    sync::atomic::Ordering::{Relaxed, Release},
};
use libc::POLLIN;
use unsnarl_trace::raw::{Call, Input};

/// Returns whether this repeats a run whose input is said anew.
pub fn repeats() -> bool {
    controlled()
        && header().is_live != 0
        && header().given_len != 0
        && header().diverged.load(Relaxed) == 0
}

/// The recorded result of a call, by which its repetition waits.
#[derive(Clone, Copy)]
pub struct Seen(&'static Input);

impl Seen {
    /// The result of the thread's next call, if that is of this kind; `None` where it may see whatever there is.
    pub fn next(this: &Thread, call: Call) -> Option<Seen> {
        let entry = repeats().then(|| input::recorded_next(this))??;
        (entry.call == call as u16).then_some(Seen(entry))
    }

    /// The result of the call that the thread makes now, on a descriptor that is fed from outside.
    pub fn of_current(this: &Thread, call: Call, fd: c_int) -> Option<Seen> {
        Seen::current(this, call).filter(|_| descriptors::source(fd) == Source::Outside)
    }

    /// The result of the call of this kind that the thread makes now, which is counted already.
    pub fn current(this: &Thread, call: Call) -> Option<Seen> {
        let entry = repeats().then(|| input::recorded_now(this))??;
        (entry.call == call as u16).then_some(Seen(entry))
    }

    /// The error that the call met: nothing had come yet, or the connection was gone.
    pub fn error(self) -> Option<Answer> {
        (self.0.result < 0).then(|| Answer::error(self.0.error as c_int))
    }

    /// Waits until as much can be read from the descriptor as was read then. The call reads no more than that.
    pub fn await_bytes(self, fd: c_int) {
        let wanted = self.0.length as usize;
        let is_stream = descriptors::is_pipe(fd) || descriptors::is_stream(fd);
        match wanted {
            0 => drop(until(|| is_ready(fd, POLLIN))),
            _ if !is_stream => drop(until(|| is_ready(fd, POLLIN))),
            _ => {
                until(|| available(fd) >= wanted || has_ended(fd));
                SHARED.most_bytes.set(wanted);
            }
        }
    }

    /// Waits until somebody connects.
    pub fn await_connection(self, fd: c_int) {
        until(|| is_ready(fd, POLLIN));
    }

    /// Gives back which descriptors were ready, as soon as those are that are fed from outside; `None` when they do not
    /// become so. `is_there` tells it from the recorded bytes.
    pub fn readiness(self, parts: Parts, is_there: impl Fn(&[u8]) -> bool) -> Option<Answer> {
        let bytes = input::bytes_of(self.0);
        let is_nothing = self.0.result <= 0;
        (is_nothing || until(|| is_there(bytes))).then(|| input::restore(self.0, parts))
    }

    /// Returns whether the call had nothing to report when its time was over.
    pub fn is_nothing(self) -> bool {
        self.0.result == 0
    }

    /// Lets virtual time go on to that of the recorded call.
    pub fn keep_time(self) {
        input::go_on_to_time_of(self.0);
    }
}

/// The number of bytes that a call may ask for.
pub fn most(bytes: usize) -> usize {
    bytes.min(SHARED.most_bytes.get())
}

/// Lets calls ask for as many bytes as they like again.
pub fn end_limit() {
    SHARED.most_bytes.set(usize::MAX);
}

/// Returns whether a descriptor of a recorded answer is ready now, as far as the outside decides that.
pub fn is_ready_again(fd: c_int, events: c_short) -> bool {
    !polling::may_be_fed_from_outside(fd) || is_ready(fd, events)
}

/// Waits in real time until something is there, or for so long that it will not come; whether it is. Nobody in this
/// process has to do anything for it: what others did before it when the run was recorded, they have done.
fn until(is_there: impl Fn() -> bool) -> bool {
    const MILLISECOND: u32 = 1_000_000;
    if is_there() {
        return true;
    }
    // Whoever starts a driver starts it now.
    header().waits_outside.store(1, Release);
    let came = (0..REPLAY_PATIENCE).any(|_| {
        sys::sleep(MILLISECOND);
        is_there()
    });
    header().waits_outside.store(0, Release);
    came
}

/// Number of bytes that can be read without waiting.
fn available(fd: c_int) -> usize {
    let mut bytes: c_int = 0;
    let place = &raw mut bytes as usize;
    let arguments = [fd as usize, libc::FIONREAD as usize, place, 0, 0, 0];
    // SAFETY: a place for the number.
    match unsafe { sys::call(libc::SYS_ioctl, arguments) } {
        0 => usize::try_from(bytes).unwrap_or(0),
        _ => 0,
    }
}

/// Returns whether nothing more will come.
fn has_ended(fd: c_int) -> bool {
    let mut asked = [libc::pollfd {
        fd,
        events: libc::POLLRDHUP,
        revents: 0,
    }];
    sys::poll(&mut asked, 0) != 0
}
