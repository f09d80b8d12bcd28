//! gdb on a program that follows the schedule of a run.
//!
//! gdb starts the program; the log's memory is inherited by both. `commands.py`, which gdb runs first, reads the
//! program's progress there and writes the event at which it is to stop; the runtime calls `unsnarl_stop` at that
//! event (`runtime/src/watch.rs`).

use super::{Departure, ReplayError, ReplayOptions, attempt, compare, prepare, verbs};
use crate::{
    assemble::{Exit, RawLog, assemble},
    launch::{Excerpt, FinishedRun, Given, LaunchError, command::variables, stack as limits},
    log::{Log, LogConfig},
    record::{Job, RecordError, check_input, config, environment, seen, stack},
    wrapper::compiler::in_path,
};
use rustix::io::{FdFlags, fcntl_setfd};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs, io,
    mem::offset_of,
    os::fd::AsRawFd,
    path::Path,
    process::{Command, ExitStatus},
};
use unsnarl_trace::{
    EventKind, Outcome, Run,
    raw::{End, Header, MAX_THREADS, Record, RecordKind, Thread, flag},
    shell,
};

const COMMANDS: &str = include_str!("commands.py");
/// Environment variable with the name of the file that `commands.py` reads.
const VARIABLE: &str = "UNSNARL_DEBUG";

/// A step of an explanation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DebugStep {
    /// Row of the run file.
    pub event: u32,
    /// Text of the step.
    pub text: String,
}

/// The subject of the debugging, besides the run itself.
#[derive(Clone, Debug)]
pub struct Session {
    /// Name of the run.
    pub name: String,
    /// The steps of an explanation of the run, in the order of the run.
    pub steps: Vec<DebugStep>,
    /// More arguments for gdb.
    pub arguments: Vec<OsString>,
}

/// The result of a debugging session.
#[derive(Debug)]
pub struct Debugged {
    /// gdb's own status.
    pub status: ExitStatus,
    /// The program was run.
    pub has_run: bool,
    /// The program came to its end by itself.
    pub has_ended: bool,
    /// The point at which it left the recorded run.
    pub difference: Option<Departure>,
}

/// An error that keeps the debugger from starting.
#[derive(Debug, thiserror::Error)]
pub enum DebugError {
    /// The run cannot be run again.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// gdb starts the program itself.
    #[error(
        "the program was started by {0}, and gdb starts a program by itself\n  next: record the command that {0} starts it by: unsnarl record -- PROGRAM ARGUMENTS"
    )]
    HasParent(String),
    /// There is no gdb.
    #[error("there is no gdb in PATH\n  next: install it (Debian: apt-get install gdb)")]
    NoGdb,
    /// gdb did not start.
    #[error("cannot start gdb: {0}\n  next: try it by itself: gdb --version")]
    Start(io::Error),
    /// The files for gdb could not be written.
    #[error(
        "cannot write files for gdb: {0}\n  next: make room in the folder for temporary files (TMPDIR)"
    )]
    Files(io::Error),
}

/// Starts gdb on the program and waits until the user leaves it.
pub fn debug(
    recorded: &Run,
    options: &ReplayOptions,
    session: &Session,
) -> Result<Debugged, DebugError> {
    let (target, job) = prepare(recorded, options)?;
    if let Some(parent) = &job.parent {
        return Err(DebugError::HasParent(parent.name()));
    }
    let gdb = in_path(OsStr::new("gdb")).ok_or(DebugError::NoGdb)?;
    let attempt = attempt(recorded);
    if !job
        .permit
        .is_for(target.program.path(), &job.command, &job.directory)
    {
        let program = target.program.path().to_owned();
        return Err(ReplayError::from(LaunchError::NotPermitted(program)).into());
    }
    check_input(&job, &target.program, &attempt).map_err(ReplayError::from)?;
    let config = LogConfig {
        is_debugged: true,
        ..config(&job, target.program.path(), &attempt)
    };
    let log = Log::create(&config).map_err(|error| ReplayError::from(RecordError::Log(error)))?;
    let folder = tempfile::tempdir().map_err(DebugError::Files)?;
    // gdb hands it on to the program.
    fcntl_setfd(log.descriptor(), FdFlags::empty())
        .map_err(|error| ReplayError::from(RecordError::Log(error.into())))?;
    let limit = stack(&attempt);
    let settings = settings(&job, environment(&job, &attempt), limit, &log);
    let about = write_files(folder.path(), recorded, session, settings, &log);
    let about = about.map_err(DebugError::Files)?;
    let status = Command::new(gdb)
        .arg("-q")
        .args([
            OsStr::new("-x"),
            folder.path().join("commands.py").as_os_str(),
        ])
        .args(&session.arguments)
        .arg(target.program.path())
        .current_dir(&job.directory)
        .env(VARIABLE, &about)
        .status()
        .map_err(DebugError::Start)?;
    let raw = RawLog::new(log.bytes()).map_err(RecordError::from);
    let raw = raw.map_err(ReplayError::from)?;
    let launch = seen(&job, &attempt, &unseen()).map_err(ReplayError::from)?;
    let run = assemble(&raw, &target.program, &launch);
    let has_ended = run.meta.outcome != Outcome::CutShort;
    Ok(Debugged {
        status,
        has_run: !raw.is_empty(),
        has_ended,
        difference: difference(recorded, &run, has_ended),
    })
}

/// The end of a process that only gdb saw.
fn unseen() -> FinishedRun {
    FinishedRun {
        exit: Exit::Unknown,
        timed_out: false,
        calls: Vec::new(),
        waits_outside: false,
        stopped: false,
        asked: false,
        driven: None,
        stdout: Excerpt::default(),
        stderr: Excerpt::default(),
    }
}

/// The first difference, of steps or of values; a run that was ended on the way is compared as far as it came.
fn difference(recorded: &Run, run: &Run, has_ended: bool) -> Option<Departure> {
    let compared = compare(recorded, run);
    // Values come before the step that is another one.
    let value = compared.values.map(|values| values.first);
    let found = value.or(compared.difference)?;
    // The last event of a run that was ended may be a write that has no value yet.
    let is_end = found.event + 1 >= run.events.len();
    (has_ended || !is_end).then_some(found)
}

/// The data that `commands.py` needs.
#[derive(Serialize)]
struct About<'a> {
    run: &'a str,
    outcome: &'static str,
    failure: Option<&'a str>,
    failure_event: Option<u32>,
    rows: usize,
    threads: Vec<&'a str>,
    steps: &'a [DebugStep],
    events: String,
    log: i32,
    log_bytes: usize,
    header: BTreeMap<&'static str, usize>,
    thread: BTreeMap<&'static str, usize>,
    record: BTreeMap<&'static str, usize>,
    running: u32,
    kinds: BTreeMap<u8, &'static str>,
    returns: Vec<&'static str>,
    settings: Vec<String>,
}

/// Writes the script, the events and the other data that the script needs; returns the name of the last file.
fn write_files(
    folder: &Path,
    recorded: &Run,
    session: &Session,
    settings: Vec<String>,
    log: &Log,
) -> io::Result<OsString> {
    fs::write(folder.join("commands.py"), COMMANDS)?;
    let events = folder.join("events.tsv");
    fs::write(&events, events_table(recorded))?;
    let meta = &recorded.meta;
    let about = About {
        run: &session.name,
        outcome: meta.outcome.name(),
        failure: meta
            .failure
            .as_ref()
            .map(|failure| failure.message.as_str()),
        failure_event: failure_event(recorded),
        rows: recorded.events.len(),
        threads: meta.threads.iter().map(|row| row.name.as_str()).collect(),
        steps: &session.steps,
        events: events.to_string_lossy().into_owned(),
        log: log.descriptor().as_raw_fd(),
        log_bytes: log.bytes().len(),
        header: header(),
        thread: BTreeMap::from([
            ("size", size_of::<Thread>()),
            ("kernel_id", offset_of!(Thread, kernel_id)),
            ("most", MAX_THREADS),
        ]),
        record: BTreeMap::from([
            ("size", size_of::<Record>()),
            ("range_word", usize::from(flag::RANGE_WORD)),
        ]),
        running: End::Running as u32,
        kinds: kinds(),
        returns: RETURNS.iter().map(|kind| kind.name()).collect(),
        settings,
    };
    let file = folder.join("about.json");
    fs::write(&file, serde_json::to_vec(&about)?)?;
    Ok(file.into_os_string())
}

/// Events after which the runtime returns to the program at once.
const RETURNS: [EventKind; 11] = [
    EventKind::Read,
    EventKind::Write,
    EventKind::AtomicRead,
    EventKind::AtomicWrite,
    EventKind::Rmw,
    EventKind::Fence,
    EventKind::Lock,
    EventKind::Unlock,
    EventKind::Signal,
    EventKind::Broadcast,
    EventKind::SemPost,
];

/// Table of the events: one line for each step of the program with its first row, thread, kind and description.
fn events_table(recorded: &Run) -> String {
    let mut text = String::new();
    let mut last = None;
    for (row, event) in recorded.events.iter() {
        if last == Some(event.seq) {
            continue;
        }
        last = Some(event.seq);
        let sentence = verbs::sentence(recorded, &event).replace(['\n', '\t'], " ");
        let (thread, kind) = (event.thread.0, event.kind.name());
        text.push_str(&format!("{}\t{thread}\t{kind}\t{sentence}\n", row.0));
    }
    text
}

/// The event that shows the failure: the one of that kind, or the first that says what a thread of a deadlock waits
/// for.
fn failure_event(recorded: &Run) -> Option<u32> {
    recorded.meta.failure.as_ref()?;
    let is_it = |kind| matches!(kind, EventKind::Failure | EventKind::Blocked);
    let found = recorded.events.iter().find(|(_, event)| is_it(event.kind));
    found.map(|(row, _)| row.0)
}

fn header() -> BTreeMap<&'static str, usize> {
    BTreeMap::from([
        ("stop_at", offset_of!(Header, stop_at)),
        ("records_at", offset_of!(Header, records_at)),
        ("threads_at", offset_of!(Header, threads_at)),
        ("threads", offset_of!(Header, threads)),
        ("end", offset_of!(Header, end)),
        ("events_so_far", offset_of!(Header, events)),
        ("last_event", offset_of!(Header, last_event)),
        // What the runtime writes: zero before each start.
        ("written", offset_of!(Header, pid)),
        ("written_end", size_of::<Header>()),
    ])
}

/// Names of events by the numbers of records.
fn kinds() -> BTreeMap<u8, &'static str> {
    let kinds = RecordKind::ALL.iter();
    kinds
        .filter_map(|kind| Some((*kind as u8, kind.event()?.name())))
        .collect()
}

/// Commands that make gdb start the program as it was recorded, under the recorded name: so everything has the
/// address that it has without gdb.
fn settings(job: &Job, mut given: Given, limit: Option<u64>, log: &Log) -> Vec<String> {
    let input = match &job.stdin {
        Some(path) => shell::word(path),
        None => "/dev/null".to_owned(),
    };
    // The wrapper gets the program's path and calls it by the name that was recorded.
    let limit = limit.map_or(String::new(), |limit| {
        format!("ulimit -S -s {}; ", limits::in_words(limit))
    });
    let call = format!("{limit}exec {} <{input}", shell::command(&job.command));
    // The shell corrects it.
    given.insert("PWD".into(), Some(job.directory.clone().into()));
    let name = job.command.first().cloned().unwrap_or_default();
    let number = log.descriptor().as_raw_fd();
    let variables = variables(Path::new(&name), &job.command, &given, number);
    let set = variables.iter().filter_map(|(name, value)| {
        let pair = format!("{} = {}", name.to_string_lossy(), value.to_string_lossy());
        // A command of gdb is one line.
        (!pair.contains('\n')).then(|| format!("set environment {pair}"))
    });
    let fixed = [
        "set pagination off".to_owned(),
        "set print inferior-events off".to_owned(),
        "set print thread-events off".to_owned(),
        "set startup-with-shell on".to_owned(),
        "set disable-randomization on".to_owned(),
        "set schedule-multiple off".to_owned(),
        format!("set exec-wrapper /bin/sh -c {}", shell::word(&call)),
        "unset environment".to_owned(),
    ];
    fixed.into_iter().chain(set).collect()
}
