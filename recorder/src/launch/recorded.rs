//! The process that is recorded: the one that was started, or a descendant of it.

use super::{Request, span};
use crate::log::Log;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{
    fs, io,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

/// The process that has the log.
pub(super) struct RecordedProcess {
    /// Its number; that of the process that was started, if there is no other.
    pub number: Pid,
    /// It, where it is not a child of this process and has not ended.
    descendant: Option<OwnedFd>,
}

/// Longest time that the kernel may take to end a process that was killed.
const LONGEST_END: Duration = Duration::from_secs(10);

impl RecordedProcess {
    /// The process that fills the log of a run for which `started` was started.
    pub fn of(request: &Request, started: Pid, log: &Log) -> RecordedProcess {
        let claimed = log.process().filter(|_| request.parent.is_some());
        RecordedProcess {
            number: claimed.unwrap_or(started),
            descendant: claimed.and_then(|number| {
                // In this order: the number may be another process's by now, and what was opened stays the same.
                let process = pidfd_open(number, PidfdFlags::empty()).ok()?;
                let program = fs::read_link(format!("/proc/{}/exe", number.as_raw_nonzero()));
                (program.ok()? == request.program).then_some(process)
            }),
        }
    }

    /// Ends it if it is there still, and waits until nobody writes to its log any more. It may have left its parent's
    /// process group.
    pub fn end(&self) -> io::Result<()> {
        let Some(process) = &self.descendant else {
            return Ok(());
        };
        match pidfd_send_signal(process, Signal::KILL) {
            Ok(()) => {}
            Err(Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let deadline = Instant::now() + LONGEST_END;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match poll(
                &mut [PollFd::new(process, PollFlags::IN)],
                Some(&span(left)),
            ) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
