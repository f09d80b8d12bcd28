//! Runs a program once with a raw log: starts it, keeps it fed and drained, ends it in time.

pub mod addresses;
pub mod calls;
pub mod check;
pub(crate) mod command;
mod company;
mod filter;
mod gate;
pub mod parent;
mod recorded;
mod server;
pub(crate) mod stack;
mod starter;

pub use command::Given;
pub use company::{Company, Driven, DrivenBy};
pub use starter::Starter;

use self::{
    calls::InCall, company::Companion, gate::Gate, parent::ParentProgram, recorded::RecordedProcess,
};
use crate::{assemble::Exit, log::Log, permit::Permit};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus,
        kill_process_group, pidfd_open, test_kill_process_group, waitid, waitpid,
    },
};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// A program to run, and the circumstances of the run.
#[derive(Clone, Debug)]
pub struct Request {
    /// The file of the program that is recorded.
    pub program: PathBuf,
    /// The program that is started in its place, and starts it.
    pub parent: Option<ParentProgram>,
    /// The name that the program, or its parent, is called by, and its arguments.
    pub command: Vec<OsString>,
    /// Working directory.
    pub directory: PathBuf,
    /// Environment variables that differ from those of this process.
    pub environment: Given,
    /// Limit of the stack in bytes; `None` for the limit of this process.
    pub stack: Option<u64>,
    /// File for standard input; `None` for an empty one.
    pub stdin: Option<PathBuf>,
    /// Treatment of the program's output.
    pub output: Output,
    /// Time that a run may take.
    pub timeout: Duration,
    /// The permission for this execution.
    pub permit: Permit,
}

impl Request {
    /// The file of the program that is started.
    fn started(&self) -> &Path {
        let parent = self.parent.as_ref();
        parent.map_or(&self.program, |parent| &parent.path)
    }
}

/// Treatment of the program's output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// Read, with only its beginning and end kept.
    Kept,
    /// The same, and passed on to unsnarl's own output.
    Shown,
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    /// The way in which the recorded process ended. Where a parent program has started it, only that knows.
    pub exit: Exit,
    /// The run was ended because its time was over.
    pub timed_out: bool,
    /// System calls in which its threads were when its time was over.
    pub calls: Vec<InCall>,
    /// All threads waited at that time, and only somebody outside of the process could end one of the waits.
    pub waits_outside: bool,
    /// The run was ended because the user wanted to stop.
    pub stopped: bool,
    /// It was asked to end.
    pub asked: bool,
    /// End of its driver or parent program, if it had one that has ended.
    pub driven: Option<Driven>,
    /// Its standard output.
    pub stdout: Excerpt,
    /// Its standard error.
    pub stderr: Excerpt,
}

/// An error that keeps a run from starting or from being watched.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The file for standard input cannot be read.
    #[error("cannot read {path} for standard input: {error}\n  next: check the name after --stdin")]
    Stdin {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The program could not be started.
    #[error("cannot start {program}: {error}\n  next: try it by itself: {program}")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        error: io::Error,
    },
    /// The permission is for something else.
    #[error(
        "{} is not what the permission to execute is for, or its command, folder or input is another\n  next: this is a fault of unsnarl, please report it",
        .0.display()
    )]
    NotPermitted(PathBuf),
    /// The run cannot be made beside others.
    #[error("the run cannot be made beside others: {0}")]
    Alone(String),
    /// The kernel refused something while the program ran.
    #[error("lost sight of the program: {0}")]
    Watch(#[from] io::Error),
}

/// The beginning and the end of an output: a program that prints a gigabyte must not fill the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    first: Vec<u8>,
    last: Vec<u8>,
    left_out: u64,
}

impl Excerpt {
    /// Bytes that are kept of the beginning, and as many of the end.
    const PART: usize = 16 * 1024;

    fn add(&mut self, bytes: &[u8]) {
        let room = Self::PART.saturating_sub(self.first.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.first.extend(first);
        self.last.extend(rest);
        if self.last.len() > 2 * Self::PART {
            let surplus = self.last.len() - Self::PART;
            self.last.drain(..surplus);
            self.left_out += surplus as u64;
        }
    }

    /// The text, with a line in place of what was left out.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.first).into_owned();
        if self.left_out > 0 {
            text.push_str(&format!("\n[{} bytes left out]\n", self.left_out));
        }
        text.push_str(&String::from_utf8_lossy(&self.last));
        text
    }
}

/// Longest time between two checks of the user's wish to stop.
const PATIENCE: Duration = Duration::from_millis(100);
/// The same interval where the kernel cannot report the end of a process.
const SHORT_PATIENCE: Duration = Duration::from_millis(5);

/// Starts the program anew and runs it to its end. Whatever it started in its process group ends with it.
pub fn launch(request: &Request, log: &Log, stop: &AtomicBool) -> Result<FinishedRun, LaunchError> {
    Starter::anew().launch(request, false, log, stop)
}

impl Starter {
    /// Launches a program like [`launch`], but perhaps in another way. `serves` says whether the program can
    /// make copies of itself.
    pub fn launch(
        &self,
        request: &Request,
        serves: bool,
        log: &Log,
        stop: &AtomicBool,
    ) -> Result<FinishedRun, LaunchError> {
        if !request.permit.covers(request) {
            return Err(LaunchError::NotPermitted(request.program.clone()));
        }
        let process = self.start(request, serves, log, stop)?;
        let pid = process.pid;
        let gate = self.gate();
        let mut companion = Companion::new(self.company(), &request.directory);
        let watching = Watching {
            log,
            gate: gate.as_deref(),
            text: self.company().text.as_deref(),
            output: request.output,
            timeout: request.timeout,
            stop,
        };
        let watched = watch(process, &watching, &mut companion);
        let is_late = matches!(&watched, Ok(watched) if watched.ending == WatchEnd::Timeout);
        let recorded = RecordedProcess::of(request, pid, log);
        let calls = match is_late {
            true => calls::of(recorded.number),
            false => Vec::new(),
        };
        // Who has a driver does not wait for somebody who does not come.
        let waits_outside = is_late && !companion.is_busy() && waits_outside(log);
        let asked = companion.asked.is_some();
        let driven = companion.leave();
        // The group is ended before its leader is waited for: until then its number cannot be reused.
        // Nobody may be left in it, which is as good.
        let _ = kill_process_group(pid, Signal::KILL);
        let status = wait_for(pid)?;
        recorded.end()?;
        // Nobody may be left in the group that dies a little later. What a parent has started may have left the group, and
        // start a program that claims the log.
        if request.parent.is_none() && test_kill_process_group(pid) == Err(Errno::SRCH) {
            log.has_ended();
        }
        let watched = watched?;
        if let WatchEnd::Alone(why) = watched.ending {
            return Err(LaunchError::Alone(why));
        }
        let parent = request.parent.as_ref().filter(|_| !is_late);
        let parent = parent.map(|parent| Driven {
            by: DrivenBy::Parent(parent.name()),
            exit: exit(status),
            line: last_line(&watched.stdout, &watched.stderr),
        });
        Ok(FinishedRun {
            exit: match request.parent {
                Some(_) => Exit::Unknown,
                None => exit(status),
            },
            timed_out: is_late,
            calls,
            waits_outside,
            stopped: watched.ending == WatchEnd::Stopped,
            asked,
            driven: driven?.or(parent),
            stdout: watched.stdout.excerpt,
            stderr: watched.stderr.excerpt,
        })
    }
}

/// Returns whether the program still waits for the outside after some time: one whose timers run out does something
/// in between.
fn waits_outside(log: &Log) -> bool {
    const LOOKS: u32 = 50;
    const BETWEEN: Duration = Duration::from_millis(1);
    (0..LOOKS).any(|_| {
        let waits = log.waits_outside();
        if !waits {
            std::thread::sleep(BETWEEN);
        }
        waits
    })
}

/// A child of this process that leads a process group.
struct Process {
    pid: Pid,
    /// Read end of its standard output.
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> LaunchError {
    |error| LaunchError::Stdin {
        path: path.to_owned(),
        error,
    }
}

/// Waits for the end of a child that was told to end.
fn wait_for(pid: Pid) -> io::Result<Option<WaitStatus>> {
    loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(ended) => return Ok(ended.map(|(_, status)| status)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Starts a program while nobody else in this process does: what one program is to inherit is no other's.
fn spawning<T>(start: impl FnOnce() -> T) -> T {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    // It guards nothing of this process's own.
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    start()
}

/// Reason why watching ended.
#[derive(Clone, PartialEq, Eq)]
enum WatchEnd {
    Exit,
    Timeout,
    Stopped,
    /// It was about to do what runs beside it could notice.
    Alone(String),
}

struct Watched {
    ending: WatchEnd,
    stdout: OutputStream,
    stderr: OutputStream,
}

/// Settings for watching a run.
struct Watching<'a> {
    log: &'a Log,
    gate: Option<&'a Gate>,
    /// To be looked for in its output.
    text: Option<&'a [u8]>,
    output: Output,
    timeout: Duration,
    stop: &'a AtomicBool,
}

impl Watching<'_> {
    /// Time that is left. Who was asked to end has all of it again.
    fn left(&self, begin: Instant, companion: &Companion<'_>) -> Option<Duration> {
        let deadline = companion.asked.unwrap_or(begin).checked_add(self.timeout)?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }
}

fn watch(
    process: Process,
    watching: &Watching<'_>,
    companion: &mut Companion<'_>,
) -> io::Result<Watched> {
    let (begin, pid) = (Instant::now(), process.pid);
    // Kernels before 5.3 have none: then the end is asked for, a little later.
    let ends = pidfd_open(pid, PidfdFlags::empty()).ok();
    let is_shown = watching.output == Output::Shown;
    let mut stdout = OutputStream::new(process.stdout, watching.text)?;
    let mut stderr = OutputStream::new(process.stderr, watching.text)?;
    stdout.own = is_shown.then(|| Box::new(io::stdout()) as Box<dyn Write>);
    stderr.own = is_shown.then(|| Box::new(io::stderr()) as Box<dyn Write>);
    let ending = loop {
        // Asked before the pipes are read: what was written before the end is read after it.
        let ended = has_ended(pid)?;
        stdout.drain();
        stderr.drain();
        let has_printed = stdout.has_found() || stderr.has_found();
        companion.act(pid, watching.log, ended, has_printed)?;
        if ended && !companion.is_busy() {
            break WatchEnd::Exit;
        }
        if watching.stop.load(Ordering::Relaxed) {
            break WatchEnd::Stopped;
        }
        let left = watching.left(begin, companion);
        if left.is_some_and(|left| left.is_zero()) {
            break WatchEnd::Timeout;
        }
        let patience = match ends {
            Some(_) => PATIENCE,
            None => SHORT_PATIENCE,
        };
        let patience = companion.patience(left.map_or(patience, |left| left.min(patience)));
        let ends = ends.as_ref().filter(|_| !ended);
        let asks = wait(ends, [&stdout, &stderr], watching.gate, patience)?;
        if let Some(gate) = watching.gate.filter(|_| asks)
            && let Some(why) = gate.answer(pid.as_raw_nonzero().get())?
        {
            break WatchEnd::Alone(why);
        }
    };
    Ok(Watched {
        ending,
        stdout,
        stderr,
    })
}

/// Returns whether the process has ended; it is not waited for yet.
fn has_ended(pid: Pid) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match waitid(WaitId::Pid(pid), options) {
        Ok(status) => Ok(status.is_some()),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Sleeps until something can be read, the process ends, it asks at the gate or the time is over; whether it asks.
fn wait(
    ends: Option<&OwnedFd>,
    streams: [&OutputStream; 2],
    gate: Option<&Gate>,
    time: Duration,
) -> io::Result<bool> {
    let mut sources: Vec<PollFd<'_>> = Vec::with_capacity(4);
    sources.extend(gate.map(|gate| PollFd::new(gate, PollFlags::IN)));
    let open = streams
        .iter()
        .filter_map(|stream| stream.pipe.as_ref())
        .map(AsFd::as_fd);
    for source in ends.into_iter().map(AsFd::as_fd).chain(open) {
        sources.push(PollFd::from_borrowed_fd(source, PollFlags::IN));
    }
    match poll(&mut sources, Some(&span(time))) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut first = sources.iter().filter(|_| gate.is_some());
    Ok(first
        .next()
        .is_some_and(|gate| gate.revents().contains(PollFlags::IN)))
}

fn span(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs().cast_signed(),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// One of the program's outputs.
struct OutputStream {
    /// The read end; `None` when the output has been closed.
    pipe: Option<File>,
    excerpt: Excerpt,
    search: Option<OutputSearch>,
    /// The output of unsnarl that it is passed on to.
    own: Option<Box<dyn Write>>,
}

/// A text that is looked for in an output.
struct OutputSearch {
    text: Vec<u8>,
    /// The end of what was printed, which may be the beginning of the text.
    tail: Vec<u8>,
    has_found: bool,
}

impl OutputSearch {
    fn add(&mut self, bytes: &[u8]) {
        self.tail.extend(bytes);
        let mut places = self.tail.windows(self.text.len().max(1));
        self.has_found |= places.any(|place| place == self.text);
        let surplus = self.tail.len().saturating_sub(self.text.len());
        self.tail.drain(..surplus);
    }
}

impl OutputStream {
    fn new(pipe: Option<OwnedFd>, text: Option<&[u8]>) -> io::Result<OutputStream> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(OutputStream {
            pipe: pipe.map(File::from),
            excerpt: Excerpt::default(),
            search: text.map(|text| OutputSearch {
                text: text.to_owned(),
                tail: Vec::new(),
                has_found: false,
            }),
            own: None,
        })
    }

    /// Returns whether the text that is looked for was printed.
    fn has_found(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.has_found)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.excerpt.add(bytes);
        if let Some(search) = &mut self.search {
            search.add(bytes);
        }
        if let Some(own) = &mut self.own
            && own.write_all(bytes).and_then(|()| own.flush()).is_err()
        {
            // Nobody reads it any more; the run is not less worth for that.
            self.own = None;
        }
    }

    /// Reads what is there, for a bounded time: the program may write faster than this reads.
    fn drain(&mut self) {
        let mut buffer = [0; 64 * 1024];
        for _ in 0..64 {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.add(buffer.get(..count).unwrap_or(&[])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

/// The last line that was printed: to standard output if anything was.
fn last_line(stdout: &OutputStream, stderr: &OutputStream) -> String {
    let last = |stream: &OutputStream| {
        let text = stream.excerpt.text();
        let mut lines = text.lines().rev().map(str::trim);
        lines.find(|line| !line.is_empty()).map(str::to_owned)
    };
    last(stdout).or_else(|| last(stderr)).unwrap_or_default()
}

fn exit(status: Option<WaitStatus>) -> Exit {
    let code = status.and_then(WaitStatus::exit_status);
    let signal = status.and_then(WaitStatus::terminating_signal);
    match (code, signal) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogConfig;
    use unsnarl_trace::Criteria;

    fn shell(script: &str) -> Request {
        shell_in(Path::new("/"), script)
    }

    fn shell_in(directory: &Path, script: &str) -> Request {
        let command = ["sh", "-c", script].map(OsString::from).to_vec();
        Request {
            program: "/bin/sh".into(),
            parent: None,
            permit: Permit::named(Path::new("/bin/sh"), &command, directory),
            command,
            directory: directory.into(),
            environment: Given::new(),
            stack: None,
            stdin: None,
            output: Output::Kept,
            timeout: Duration::from_secs(60),
        }
    }

    fn run(request: &Request) -> FinishedRun {
        let log = Log::create(&LogConfig::default()).unwrap();
        launch(request, &log, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn a_text_is_found_across_pieces() {
        let mut search = OutputSearch {
            text: b"ready".to_vec(),
            tail: Vec::new(),
            has_found: false,
        };
        for (piece, found) in [
            ("not rea", false),
            ("d", false),
            ("rea", false),
            ("dy!", true),
        ] {
            search.add(piece.as_bytes());
            assert_eq!(search.has_found, found, "{piece}");
        }
    }

    fn with(company: Company, script: &str) -> FinishedRun {
        let log = Log::create(&LogConfig::default()).unwrap();
        let starter = Starter::anew().with_company(company);
        let stop = AtomicBool::new(false);
        starter.launch(&shell(script), false, &log, &stop).unwrap()
    }

    #[test]
    fn a_driver_ends_the_program_and_says_how_it_went() {
        let driven = |driver: &str, script: &str| {
            let company = Company {
                driver: Some(driver.into()),
                ..Company::default()
            };
            let finished = with(company, script);
            (finished.asked, finished.exit, finished.driven.unwrap())
        };
        let usual = Criteria::default();
        let (asked, exit, driven_well) = driven("echo well", "sleep 1000");
        assert!(asked && exit == Exit::Signal(15) && driven_well.failure(&usual).is_none());
        let (_, exit, driven) = driven(
            "echo bad; echo; exit 3",
            "trap 'exit 4' TERM; sleep 1000 & wait",
        );
        assert_eq!(exit, Exit::Code(4));
        assert_eq!(
            driven.failure(&usual).unwrap(),
            "the driver ended with exit status 3: bad"
        );
    }

    #[test]
    fn a_program_is_asked_to_end_by_time_and_by_text() {
        let company = Company {
            time: Some(Duration::from_millis(50)),
            ..Company::default()
        };
        let finished = with(company, "sleep 1000");
        assert!(finished.asked && !finished.timed_out && finished.exit == Exit::Signal(15));
        let company = Company {
            text: Some(b"ready".to_vec()),
            ..Company::default()
        };
        let finished = with(company.clone(), "echo all is ready; sleep 1000");
        assert!(finished.asked && finished.exit == Exit::Signal(15));
        assert!(!with(company, "echo nothing").asked);
    }

    #[test]
    fn status_and_both_outputs() {
        let finished = run(&shell("echo out; echo err >&2; exit 3"));
        assert_eq!(finished.exit, Exit::Code(3));
        assert_eq!(
            (finished.stdout.text(), finished.stderr.text()),
            ("out\n".into(), "err\n".into())
        );
        assert_eq!(run(&shell("kill -SEGV $$")).exit, Exit::Signal(11));
    }

    #[test]
    fn a_flood_is_cut_and_its_end_kept() {
        let finished = run(&shell(
            "head -c 20000000 /dev/zero | tr '\\0' x; echo the end",
        ));
        let text = finished.stdout.text();
        assert!(text.len() < 80_000, "{} bytes", text.len());
        assert!(text.starts_with("xxx") && text.ends_with("xthe end\n"));
        assert!(text.contains("bytes left out"));
    }

    #[test]
    fn too_long_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mut request = shell_in(folder.path(), "sleep 1000 & echo $! > child; wait");
        request.timeout = Duration::from_millis(300);
        let finished = run(&request);
        assert!(finished.timed_out && !finished.stopped);
        let child = std::fs::read_to_string(folder.path().join("child")).unwrap();
        let child = Pid::from_raw(child.trim().parse().unwrap()).unwrap();
        // No such process any more, or one whose end can be waited for.
        if let Ok(ends) = pidfd_open(child, PidfdFlags::empty()) {
            poll(&mut [PollFd::new(&ends, PollFlags::IN)], None).unwrap();
        }
    }

    #[test]
    fn a_child_that_keeps_the_pipe_does_not_keep_us() {
        let begin = Instant::now();
        assert_eq!(run(&shell("sleep 1000 & exit 0")).exit, Exit::Code(0));
        assert!(begin.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn nothing_else_than_what_was_permitted_is_started() {
        let log = Log::create(&LogConfig::default()).unwrap();
        let mut request = shell("exit 0");
        request.command.pop();
        let refused = launch(&request, &log, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(refused, LaunchError::NotPermitted(_)));
    }

    #[test]
    fn the_wish_to_stop_is_heard() {
        let log = Log::create(&LogConfig::default()).unwrap();
        let finished = launch(&shell("sleep 1000"), &log, &AtomicBool::new(true)).unwrap();
        assert!(finished.stopped);
    }

    #[test]
    fn standard_input_from_a_file_or_from_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("input");
        std::fs::write(&file, "hello").unwrap();
        let mut request = shell("cat");
        assert_eq!(run(&request).stdout.text(), "");
        request.stdin = Some(file);
        assert_eq!(run(&request).stdout.text(), "hello");
        request.stdin = Some("/nowhere".into());
        let log = Log::create(&LogConfig::default()).unwrap();
        let refused = launch(&request, &log, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(refused, LaunchError::Stdin { .. }));
    }

    #[test]
    fn the_log_is_inherited() {
        let finished = run(&shell("readlink /proc/self/fd/$(expr $UNSNARL_LOG_FD + 0)"));
        assert!(
            finished.stdout.text().contains("unsnarl-log"),
            "{}",
            finished.stdout.text()
        );
    }
}
