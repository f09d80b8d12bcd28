//! A program that is started once and makes a copy of itself for each run
//! ([`serve`](unsnarl_trace::raw::serve)).
//!
//! A copy is a child of this process, as a program that is started anew is: it is waited for, ended and
//! looked at in the same way.

use super::{
    Given, PATIENCE, Request, addresses,
    command::{LogAccess, command},
    filter,
    gate::Gate,
    spawning,
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{OFlags, fcntl_setfl},
    io::Errno,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg,
        socketpair,
    },
    pipe::{PipeFlags, pipe_with},
    process::Pid,
};
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, IoSlice, IoSliceMut, Read},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
    process::Child,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use unsnarl_trace::raw::serve::{DESCRIPTORS, NOT_FIRST, READY, UNKNOWN_LIBRARY};

/// A program that serves, or is about to.
#[derive(Debug)]
pub struct Server {
    process: Child,
    socket: OwnedFd,
    serves: CopiedProgram,
    /// `true` once it has made a copy.
    has_served: bool,
    /// The kernel asks here about what its copies do, where they run beside others.
    gate: Option<Arc<Gate>>,
}

/// The program of which a server makes copies.
#[derive(PartialEq, Eq, Debug)]
struct CopiedProgram {
    program: PathBuf,
    command: Vec<OsString>,
    directory: PathBuf,
    environment: Given,
    stack: Option<u64>,
}

impl CopiedProgram {
    fn of(request: &Request) -> CopiedProgram {
        CopiedProgram {
            program: request.program.clone(),
            command: request.command.clone(),
            directory: request.directory.clone(),
            environment: request.environment.clone(),
            stack: request.stack,
        }
    }
}

/// The reason for which there is no server, or no longer one.
#[derive(Debug, thiserror::Error)]
pub enum NoServer {
    /// The program has code that must run in every run, and does so before the runtime.
    #[error("it has initializers of its own that run before all others (.preinit_array)")]
    NotFirst,
    /// The C library is not one of those that are known.
    #[error("its C library is not known well enough")]
    UnknownLibrary,
    /// Something was printed before the program began.
    #[error("the loader prints something when it starts: {0}")]
    Prints(String),
    /// Something runs in the process before the program has begun.
    #[error("threads are started before it begins")]
    HasThreads,
    /// The server ended.
    #[error("it ended before it began")]
    Ended,
    /// The server did not answer in time.
    #[error("it did not answer before it began")]
    Silent,
    /// The server cannot make a copy, or cannot be asked to.
    #[error("the kernel refused a copy of it: {0}")]
    Refused(#[from] io::Error),
}

impl From<Errno> for NoServer {
    fn from(error: Errno) -> NoServer {
        NoServer::Refused(error.into())
    }
}

/// Longest time that a server may take to answer.
const MOST_SILENCE: Duration = Duration::from_secs(10);

impl Server {
    /// Starts the program and stops it before any of its code has run.
    pub fn start(request: &Request, stop: &AtomicBool) -> Result<Server, NoServer> {
        let (socket, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let (said, output) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&said, OFlags::NONBLOCK)?;
        // The program inherits no descriptor of this number, so that it is free for the logs.
        let socket_only = LogAccess {
            inherited: socket.as_fd(),
            own: socket.as_fd(),
        };
        let mut command = command(request, &socket_only);
        command
            .stdin(theirs)
            .stdout(output.try_clone()?)
            .stderr(output);
        let process = spawning(|| addresses::fixed(|| command.spawn()))?;
        drop(command);
        let server = Server {
            process,
            socket,
            serves: CopiedProgram::of(request),
            has_served: false,
            gate: None,
        };
        match server.answer(request.timeout, stop)? {
            READY => {}
            NOT_FIRST => return Err(NoServer::NotFirst),
            UNKNOWN_LIBRARY => return Err(NoServer::UnknownLibrary),
            _ => return Err(NoServer::Ended),
        }
        server.check_untouched(said)?;
        Ok(server)
    }

    /// Checks that nothing has happened so far that every run would have to repeat.
    fn check_untouched(&self, said: OwnedFd) -> Result<(), NoServer> {
        let mut text = Vec::new();
        match File::from(said).read_to_end(&mut text) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => drop(other?),
        }
        if !text.is_empty() {
            let text = String::from_utf8_lossy(&text);
            return Err(NoServer::Prints(text.trim_end().to_owned()));
        }
        let threads = fs::read_dir(format!("/proc/{}/task", self.process.id()))?;
        match threads.count() {
            1 => Ok(()),
            _ => Err(NoServer::HasThreads),
        }
    }

    /// Puts all copies from now on behind a gate.
    pub fn put_behind_gate(&mut self, stop: &AtomicBool) -> Result<(), NoServer> {
        send(
            &self.socket,
            &bytes_of(&filter::program()),
            SendFlags::NOSIGNAL,
        )?;
        self.until_answered(MOST_SILENCE, stop)?;
        let mut word = [0; size_of::<i32>()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut passed = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut word)];
        let got = recvmsg(
            &self.socket,
            &mut parts,
            &mut passed,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        if got.bytes == 0 {
            return Err(NoServer::Ended);
        }
        let listener = passed.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        let refused = || io::Error::from_raw_os_error(-i32::from_ne_bytes(word));
        self.gate = Some(Arc::new(Gate::new(listener.ok_or_else(refused)?)));
        Ok(())
    }

    /// The gate that its copies are behind.
    pub fn gate(&self) -> Option<Arc<Gate>> {
        self.gate.clone()
    }

    /// Returns whether its copies are the program that is asked for.
    pub fn is_for(&self, request: &Request) -> bool {
        self.serves == CopiedProgram::of(request)
    }

    /// Makes a copy that goes on with standard input, standard output, standard error and log as given.
    pub fn copy(
        &mut self,
        descriptors: [BorrowedFd<'_>; DESCRIPTORS],
        timeout: Duration,
        stop: &AtomicBool,
    ) -> Result<Pid, NoServer> {
        send_descriptors(&self.socket, descriptors)?;
        let answer = self.answer(timeout, stop).or_else(|failed| {
            // Without the server the answer is what its copy says, or the end of the socket: then there
            // is no copy.
            self.end()?;
            self.answer(MOST_SILENCE, &AtomicBool::new(false))
                .map_err(|_| failed)
        })?;
        if answer < 0 {
            return Err(io::Error::from_raw_os_error(-answer).into());
        }
        self.has_served = true;
        Pid::from_raw(answer).ok_or(NoServer::Ended)
    }

    /// Returns whether it has ever made a copy.
    pub fn has_served(&self) -> bool {
        self.has_served
    }

    /// The next answer, if it comes in time.
    fn answer(&self, timeout: Duration, stop: &AtomicBool) -> Result<i32, NoServer> {
        self.until_answered(timeout, stop)?;
        self.receive()
    }

    fn until_answered(&self, timeout: Duration, stop: &AtomicBool) -> Result<(), NoServer> {
        let deadline = Instant::now() + timeout.min(MOST_SILENCE);
        loop {
            let mut source = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut source, Some(&super::span(PATIENCE))) {
                Ok(0) if stop.load(Ordering::Relaxed) => return Err(NoServer::Silent),
                Ok(0) if Instant::now() > deadline => return Err(NoServer::Silent),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn receive(&self) -> Result<i32, NoServer> {
        let mut word = [0; size_of::<i32>()];
        match recv(&self.socket, &mut word, RecvFlags::empty()) {
            Ok((_, 0)) | Err(Errno::CONNRESET) => Err(NoServer::Ended),
            Ok(_) => Ok(i32::from_ne_bytes(word)),
            Err(error) => Err(error.into()),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that is gone already is as good.
        let _ = self.end();
    }
}

/// Statements as they lie in memory.
fn bytes_of(program: &[libc::sock_filter]) -> Vec<u8> {
    let bytes = |one: &libc::sock_filter| {
        let [code_low, code_high] = one.code.to_ne_bytes();
        let [a, b, c, d] = one.k.to_ne_bytes();
        [code_low, code_high, one.jt, one.jf, a, b, c, d]
    };
    program.iter().flat_map(bytes).collect()
}

fn send_descriptors(
    socket: &OwnedFd,
    descriptors: [BorrowedFd<'_>; DESCRIPTORS],
) -> Result<(), NoServer> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut passed = SendAncillaryBuffer::new(&mut space);
    passed.push(SendAncillaryMessage::ScmRights(&descriptors));
    let byte = [IoSlice::new(&[0])];
    match sendmsg(socket, &byte, &mut passed, SendFlags::NOSIGNAL) {
        Ok(_) => Ok(()),
        Err(Errno::PIPE | Errno::CONNRESET) => Err(NoServer::Ended),
        Err(error) => Err(error.into()),
    }
}
