//! gdb as a process: what is written to it, and what comes from it and from the program.

use crate::{
    link::Input,
    mi::{self, MiRecord, Results},
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc::Sender,
    },
    thread,
    time::{Duration, Instant},
};
use unsnarl_recorder::replay::debug::Debuggee;

/// Time for gdb to end by itself.
const PATIENCE: Duration = Duration::from_secs(1);

/// A gdb that is running. When it is dropped, it and the program that it debugs are ended.
pub struct Gdb {
    child: Child,
    to: Option<ChildStdin>,
    /// Number of this gdb among those of the session.
    pub generation: u32,
    token: u64,
    program: Option<Pid>,
    output: File,
    over: Arc<AtomicBool>,
}

impl Gdb {
    /// Starts gdb; what comes from it arrives as inputs of this generation. It ends with the calling thread.
    pub fn start(debuggee: &Debuggee, generation: u32, sender: &Sender<Input>) -> io::Result<Gdb> {
        let output = debuggee.output()?;
        let mut child = debuggee
            .machine()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let to = child.stdin.take();
        if let Some(from) = child.stdout.take() {
            let sender = sender.clone();
            thread::spawn(move || forward_lines(BufReader::new(from), generation, &sender));
        }
        let over = Arc::new(AtomicBool::new(false));
        let (pipe, sender, flag) = (output.try_clone()?, sender.clone(), over.clone());
        thread::spawn(move || forward_output(pipe, &flag, &sender));
        Ok(Gdb {
            child,
            to,
            generation,
            token: 0,
            program: None,
            output,
            over,
        })
    }

    /// Sends a command and returns the token that its answer has.
    pub fn send(&mut self, command: &str) -> io::Result<u64> {
        self.token += 1;
        let to = self.to.as_mut();
        let to = to.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        // One write: gdb never sees a part of a command.
        to.write_all(format!("{}{command}\n", self.token).as_bytes())?;
        Ok(self.token)
    }

    /// Takes note of the program's process.
    pub fn note(&mut self, class: &str, results: &Results) {
        match class {
            "thread-group-started" => {
                self.program = results.number("pid").and_then(Pid::from_raw);
            }
            "thread-group-exited" => self.program = None,
            _ => {}
        }
    }

    /// Stops the program where it is, if it runs.
    pub fn interrupt(&self) {
        if let Some(program) = self.program {
            // It may have ended just now.
            let _ = kill_process(program, Signal::INT);
        }
    }

    /// Ends the program; gdb, which hears nothing any more, then ends too.
    pub fn give_up(&mut self) {
        self.to = None;
        if let Some(program) = self.program.take() {
            // Its children are in its group, if it has one of its own.
            let _ = kill_process_group(program, Signal::KILL);
            let _ = kill_process(program, Signal::KILL);
        }
    }

    /// Waits for gdb, which takes the program's exit status when it has time to; else ends it.
    fn end(&mut self) {
        self.give_up();
        let start = Instant::now();
        while start.elapsed() < PATIENCE && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        // Also what the program has started, and what gdb would start now.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }

    /// Lets gdb end by itself, after the program has.
    pub fn leave(&mut self) -> io::Result<ExitStatus> {
        self.send("-gdb-exit")?;
        self.to = None;
        self.child.wait()
    }
}

impl Drop for Gdb {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end();
        }
        self.over.store(true, SeqCst);
        // The thread that reads the output waits for more of it.
        let _ = self.output.write_all(b"\n");
    }
}

fn forward_lines(mut from: impl BufRead, generation: u32, sender: &Sender<Input>) {
    let mut line = Vec::new();
    while matches!(from.read_until(b'\n', &mut line), Ok(length) if length > 0) {
        let text = String::from_utf8_lossy(&line);
        let record: MiRecord = mi::parse(text.trim_end_matches(['\r', '\n']));
        if sender.send(Input::Gdb(generation, record)).is_err() {
            return;
        }
        line.clear();
    }
    // Without a session nobody waits for it.
    let _ = sender.send(Input::GdbEnded(generation));
}

fn forward_output(mut pipe: File, over: &AtomicBool, sender: &Sender<Input>) {
    let mut buffer = [0; 4096];
    while let Ok(length) = pipe.read(&mut buffer) {
        let Some(bytes) = buffer.get(..length).filter(|_| !over.load(SeqCst)) else {
            return;
        };
        let text = String::from_utf8_lossy(bytes).into_owned();
        if sender.send(Input::Program(text)).is_err() {
            return;
        }
    }
}
