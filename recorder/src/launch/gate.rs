//! The gate of runs that are made side by side: a system call by which they could notice each other waits until it was
//! looked at here. A run that makes one is ended before the call has done anything, and made again by itself.
//!
//! The kernel asks about the calls that [`super::filter`] names, also those of child processes and of code that the
//! runtime does not see.

use super::filter::{self, Reason};
use rustix::io::Errno;
use std::{
    fs::File,
    io,
    mem::zeroed,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::FileExt,
    },
};

/// Listener through which the kernel asks about the calls of a server's copies.
#[derive(Debug)]
pub struct Gate {
    listener: OwnedFd,
}

impl AsFd for Gate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Gate {
    /// The gate behind a descriptor of the kernel's.
    pub fn new(listener: OwnedFd) -> Gate {
        Gate { listener }
    }

    /// Answers the question that has come: lets the call of process `run` pass, or says why it must not be made beside
    /// other runs. The caller that made it waits until it is ended then.
    pub fn answer(&self, run: i32) -> io::Result<Option<String>> {
        let Some(asked) = self.receive()? else {
            return Ok(None);
        };
        match reason(&asked, run) {
            Some(reason) => Ok(Some(reason)),
            None => self.let_pass(asked.id).map(|()| None),
        }
    }

    fn receive(&self) -> io::Result<Option<libc::seccomp_notif>> {
        // SAFETY: zero is a valid value, and the one that the kernel wants.
        let mut asked: libc::seccomp_notif = unsafe { zeroed() };
        let number = self.listener.as_raw_fd();
        // SAFETY: the kernel fills it in.
        let got = unsafe { libc::ioctl(number, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) };
        match got {
            0 => Ok(Some(asked)),
            _ => gone_is_none(),
        }
    }

    fn let_pass(&self, id: u64) -> io::Result<()> {
        let mut answer = libc::seccomp_notif_resp {
            id,
            val: 0,
            error: 0,
            flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        };
        let number = self.listener.as_raw_fd();
        // SAFETY: a whole answer.
        let sent = unsafe { libc::ioctl(number, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
        match sent {
            0 => Ok(()),
            _ => gone_is_none::<()>().map(|_| ()),
        }
    }
}

/// Whoever has asked may have ended meanwhile.
fn gone_is_none<T>() -> io::Result<Option<T>> {
    let error = io::Error::last_os_error();
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::INTR | Errno::AGAIN) => Ok(None),
        _ => Err(error),
    }
}

/// Returns the reason why a call must not be made beside other runs; `None` when they cannot notice it.
fn reason(asked: &libc::seccomp_notif, run: i32) -> Option<String> {
    let data = &asked.data;
    let memory = File::open(format!("/proc/{}/mem", asked.pid)).ok();
    let caller = CallingProcess { memory, run };
    match filter::reason_of(data.nr) {
        Reason::Opens(place) => caller.opens(*data.args.get(place)?),
        Reason::TakesAddress => caller.takes_address(data.args),
        Reason::Connects => caller.connects(data.args),
        Reason::SendsMessage => caller.sends_message(data.args),
        Reason::Signals => caller.signals(data.args),
        Reason::Other(what) => Some(what.to_owned()),
    }
}

/// Process that makes the call.
struct CallingProcess {
    memory: Option<File>,
    run: i32,
}

/// Files that anybody may write to, since nobody finds there what was written.
const HARMLESS: [&[u8]; 3] = [b"/dev/null", b"/dev/zero", b"/dev/full"];
const MOST_OF_PATH: usize = 4096;
/// Offset of the port in the address of an internet socket.
const PORT: usize = 2;

impl CallingProcess {
    fn opens(&self, path: u64) -> Option<String> {
        let path = self.text(path);
        let is_harmless = path.as_deref().is_some_and(|path| HARMLESS.contains(&path));
        let name = path.map(|path| String::from_utf8_lossy(&path).into_owned());
        let name = name.unwrap_or_else(|| "a file".to_owned());
        (!is_harmless).then(|| format!("the program opens {name} for writing"))
    }

    /// A port that the kernel draws is nobody else's.
    fn takes_address(&self, [_, name, length, ..]: [u64; 6]) -> Option<String> {
        match self.internet(name, length) {
            Some((_, 0)) => None,
            Some((_, port)) => Some(format!("the program takes port {port}")),
            None => Some("the program gives a socket a name".to_owned()),
        }
    }

    fn connects(&self, [_, name, length, ..]: [u64; 6]) -> Option<String> {
        let is_undone = self.family(name) == Some(libc::AF_UNSPEC);
        if is_undone {
            return None;
        }
        Some(match self.internet(name, length) {
            Some((_, port)) => format!("the program connects to port {port}"),
            None => "the program connects to a socket with a name".to_owned(),
        })
    }

    fn sends_message(&self, [_, message, ..]: [u64; 6]) -> Option<String> {
        let is_named = self.word(message) != Some(0);
        is_named.then(|| "the program sends messages to an address".to_owned())
    }

    /// To itself, or to its own group.
    fn signals(&self, [to, ..]: [u64; 6]) -> Option<String> {
        let to = to as u32 as i32;
        (to != 0 && to.abs() != self.run)
            .then(|| "the program sends a signal to another process".to_owned())
    }

    /// The family and the port of an internet socket's name.
    fn internet(&self, name: u64, length: u64) -> Option<(libc::c_int, u16)> {
        let family = self.family(name)?;
        let is_internet = matches!(family, libc::AF_INET | libc::AF_INET6);
        let bytes = self.bytes::<{ PORT + 2 }>(name)?;
        let [.., high, low] = bytes;
        (is_internet && length as usize >= bytes.len())
            .then_some((family, u16::from_be_bytes([high, low])))
    }

    fn family(&self, name: u64) -> Option<libc::c_int> {
        self.bytes(name)
            .map(|family| u16::from_ne_bytes(family).into())
    }

    fn word(&self, place: u64) -> Option<u64> {
        self.bytes(place).map(u64::from_ne_bytes)
    }

    fn bytes<const COUNT: usize>(&self, place: u64) -> Option<[u8; COUNT]> {
        let mut bytes = [0; COUNT];
        let memory = self.memory.as_ref()?;
        memory.read_exact_at(&mut bytes, place).ok()?;
        Some(bytes)
    }

    /// The text that a C string in the caller's memory is.
    fn text(&self, place: u64) -> Option<Vec<u8>> {
        let mut text = vec![0; MOST_OF_PATH];
        let got = self.memory.as_ref()?.read_at(&mut text, place).ok()?;
        text.truncate(got);
        let end = text.iter().position(|byte| *byte == 0)?;
        text.truncate(end);
        Some(text)
    }
}
