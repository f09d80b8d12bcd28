//! The process that started the server, which must not outlive it.

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};

/// Calls `gone` when the process with this number ends. Does nothing where there is no such process here: the client
/// may live in another container or on another machine.
pub fn watch(pid: u32, gone: impl FnOnce() + Send + 'static) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let Some(process) = process else { return };
    let thread = std::thread::Builder::new().name("unsnarl-parent".to_owned());
    let watching = thread.spawn(move || {
        let ended = loop {
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], None) {
                Err(Errno::INTR) => {}
                ended => break ended,
            }
        };
        if ended.is_ok() {
            gone();
        }
    });
    // Without a thread to spare the end of the input has to tell.
    drop(watching);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{process::Command, sync::mpsc::channel, time::Duration};

    #[test]
    fn the_end_of_a_process_is_noticed() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let (sender, receiver) = channel();
        watch(child.id(), move || sender.send(()).unwrap());
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err());
        child.kill().unwrap();
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        child.wait().unwrap();
    }
}
