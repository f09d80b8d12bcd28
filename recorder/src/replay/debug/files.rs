//! The files that gdb's scripts read: the events of the run, the steps, and the layout of the log.

use super::{DebugStep, Session};
use crate::{log::Log, replay::verbs};
use serde::Serialize;
use std::{
    collections::BTreeMap, ffi::OsString, fs, io, mem::offset_of, os::fd::AsRawFd, path::Path,
};
use unsnarl_trace::{
    EventKind, Run,
    raw::{End, Header, MAX_THREADS, Record, RecordKind, Thread, flag},
};

const COMMANDS: &str = include_str!("commands.py");
const MACHINE: &str = include_str!("machine.py");

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

/// Writes the scripts, the events and the other data that they need; returns the name of the last file.
pub fn write_files(
    folder: &Path,
    recorded: &Run,
    session: &Session,
    settings: Vec<String>,
    log: &Log,
) -> io::Result<OsString> {
    fs::write(folder.join("commands.py"), COMMANDS)?;
    fs::write(folder.join("machine.py"), MACHINE)?;
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
/// for; else, as for a check of a test framework that does not end the program, the last access before it.
pub fn failure_event(recorded: &Run) -> Option<u32> {
    let failure = recorded.meta.failure.as_ref()?;
    let is_it = |kind| matches!(kind, EventKind::Failure | EventKind::Blocked);
    let found = recorded.events.iter().find(|(_, event)| is_it(event.kind));
    found.map(|(row, _)| row).or(failure.event).map(|row| row.0)
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
