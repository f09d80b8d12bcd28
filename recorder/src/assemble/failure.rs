//! The end of a run, in the words of a run file.

use super::{
    Exit, Launch, check, names, origins::RecordRole, program::ProgramDebugInfo, raw_log::RawLog,
    waiting, walk::LogWalk,
};
use crate::launch::check::FailedCheck;
use std::collections::BTreeMap;
use unsnarl_trace::{
    EventColumns, EventId, EventKind, Failure, FailureKind, Outcome, SiteId, SiteRow, ThreadId,
    ThreadRow,
    raw::{End, WaitsFor},
};

/// The end of a run.
pub(super) struct RunEnd {
    pub outcome: Outcome,
    /// Kind of the failure, and one line for a person.
    pub failure: Option<(FailureKind, String)>,
    /// The reason for which the record is not complete.
    pub problem: Option<String>,
}

impl RunEnd {
    fn failed(outcome: Outcome, kind: FailureKind, message: impl Into<String>) -> RunEnd {
        RunEnd {
            outcome,
            failure: Some((kind, message.into())),
            problem: None,
        }
    }

    fn cut_short(problem: impl Into<String>) -> RunEnd {
        RunEnd {
            outcome: Outcome::CutShort,
            failure: None,
            problem: Some(problem.into()),
        }
    }

    fn passed() -> RunEnd {
        RunEnd {
            outcome: Outcome::Passed,
            failure: None,
            problem: None,
        }
    }
}

/// Returns the end of the run, by the log, by what the launcher saw, and by what the driver or the parent program says of
/// a program that has done nothing wrong itself.
pub(super) fn ending(log: &RawLog<'_>, launch: &Launch) -> RunEnd {
    let ending = of_program(log, launch);
    match &launch.driver_failure {
        Some(message) if ending.outcome == Outcome::Passed => {
            RunEnd::failed(Outcome::Failed, FailureKind::Exit, message)
        }
        _ => ending,
    }
}

fn of_program(log: &RawLog<'_>, launch: &Launch) -> RunEnd {
    use FailureKind as K;
    let failed = |kind, message: String| RunEnd::failed(Outcome::Failed, kind, message);
    let parts = log.message_parts();
    let part = parts.first().map_or("", String::as_str);
    if let Some((_, code)) = exit_before(log, launch) {
        return exited_with(code, launch);
    }
    match log.end() {
        End::Assert => failed(K::Assert, format!("assertion `{part}` failed")),
        End::Abort if is_in_cpp_library(log) => {
            failed(K::Abort, "std::terminate was called".to_owned())
        }
        End::Abort => failed(K::Abort, "abort was called".to_owned()),
        End::Terminate if part.is_empty() => {
            failed(K::Abort, "std::terminate was called".to_owned())
        }
        End::Terminate => failed(
            K::Abort,
            format!("uncaught exception of type `{}`", names::type_name(part)),
        ),
        End::Signal if is_stack_exhausted(log) => failed(
            K::Signal,
            "segmentation fault: the stack is exhausted".to_owned(),
        ),
        End::Signal => failed(
            K::Signal,
            signal_message(log.signal(), Some(log.fail_addr())),
        ),
        End::DoubleFree => failed(K::DoubleFree, "a heap block was freed twice".to_owned()),
        End::UseAfterFree => failed(
            K::UseAfterFree,
            "a heap block was used after it was freed".to_owned(),
        ),
        End::InvalidFree => failed(
            K::InvalidFree,
            "an address was freed that is no heap block's".to_owned(),
        ),
        End::UndefinedBehavior => failed(
            K::UndefinedBehavior,
            format!("undefined behavior: {}", uncapitalized(part)),
        ),
        End::UnlockFree => failed(
            K::UnlockNotHeld,
            "unlock of a lock that nobody holds".to_owned(),
        ),
        End::UnlockForeign => failed(
            K::UnlockNotHeld,
            "unlock of a lock that another thread holds".to_owned(),
        ),
        End::Deadlock => {
            let message = "no thread can go on";
            RunEnd::failed(Outcome::Deadlocked, K::Deadlock, message)
        }
        End::Livelock => {
            let message = "does not end: nothing changes any more";
            RunEnd::failed(Outcome::TimedOut, K::Timeout, message)
        }
        End::StepLimit => {
            let message = format!("did not end within {} steps", log.steps());
            RunEnd::failed(Outcome::TimedOut, K::Timeout, message)
        }
        End::Exited => exited(Exit::Code(log.exit_code().cast_signed()), launch),
        End::Running => still_running(log, launch),
        End::Assumption => RunEnd {
            outcome: Outcome::CutShort,
            failure: None,
            problem: None,
        },
        other => RunEnd::cut_short(why_cut_short(other, part, log)),
    }
}

/// Lowers the first letter of a text that continues a sentence.
fn uncapitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Returns whether the failure lies in the C++ library: only `std::terminate` aborts from there.
fn is_in_cpp_library(log: &RawLog<'_>) -> bool {
    let pc = log.fail_pc();
    let of_it = |path: &str| names::file_name(path).starts_with("libstdc++");
    log.modules()
        .any(|module| module.start <= pc && pc < module.end && of_it(&module.path))
}

/// Returns whether the failed access lies where the failed thread's stack ends.
fn is_stack_exhausted(log: &RawLog<'_>) -> bool {
    const NEAR: u64 = 64 << 10;
    let low = log
        .threads()
        .nth(log.fail_thread() as usize)
        .map(|thread| thread.stack_low);
    low.is_some_and(|low| low != 0 && log.fail_addr().abs_diff(low) < NEAR)
}

fn why_cut_short(end: End, part: &str, log: &RawLog<'_>) -> String {
    match end {
        End::NotStarted => {
            "nothing was recorded: the program ended before the recorder in it started, or it was not built by this version of `unsnarl cc`"
                .to_owned()
        }
        End::LogFull => format!(
            "the log is full, and nothing in it can be left out: the run has more events than the {} that --max-events \
             allows; where it goes round for ever, --max-steps with a smaller number counts it as a failure; else give the program less to do, \
             allow more, or build it with `unsnarl cc --path` and record it with --strategy path, which leaves the memory accesses out",
            log.len()
        ),
        End::Exec => {
            "the program replaced itself by another one (exec): only what ran before is recorded"
                .to_owned()
        }
        End::NoMemory => {
            "the program may not have as much memory as its log needs: raise the limit (ulimit -v), or give the log less room (--max-events)".to_owned()
        }
        End::TooManyThreads => {
            format!("more than {} threads in one run cannot be recorded", unsnarl_trace::raw::MAX_THREADS)
        }
        _ => format!("the program did what the recorder cannot follow: {part}"),
    }
}

/// Number of the signal by which a program is asked to end.
const TERMINATED: i32 = 15;

/// The end of a program that ended by itself. The launcher's observation takes precedence: handlers may run after the
/// log is closed.
fn exited(logged: Exit, launch: &Launch) -> RunEnd {
    // A program that ends by itself may be asked to end at the same time.
    let exit = match launch.exit {
        Exit::Unknown => logged,
        Exit::Signal(TERMINATED) if launch.asked => logged,
        exit => exit,
    };
    match exit {
        Exit::Unknown => RunEnd::passed(),
        Exit::Code(code) if launch.criteria.expects(code) => RunEnd::passed(),
        // What its exit status means is for the parent to say.
        Exit::Code(_) if launch.parent.is_some() && launch.failed_check.is_none() => {
            RunEnd::passed()
        }
        Exit::Code(code) => exited_with(code, launch),
        Exit::Signal(signal) => {
            let message = signal_message(signal.unsigned_abs(), None);
            RunEnd::failed(Outcome::Failed, FailureKind::Signal, message)
        }
    }
}

/// The end of a run whose exit status is a failure.
fn exited_with(code: i32, launch: &Launch) -> RunEnd {
    let (kind, message) = match &launch.failed_check {
        Some(FailedCheck { file, line, .. }) => {
            let name = names::file_name(file);
            (
                FailureKind::Check,
                format!("the check at {name}:{line} failed"),
            )
        }
        None => {
            let message = format!("exit status {code} (counted as a failure)");
            (FailureKind::Exit, message)
        }
    };
    RunEnd::failed(Outcome::Failed, kind, message)
}

/// The thread that had ended the program with a failure's exit status before another one met what is gone: `exit` destroys
/// global objects while the other threads go on.
pub(super) fn exit_before(log: &RawLog<'_>, launch: &Launch) -> Option<(ThreadId, i32)> {
    let is_crash = matches!(
        log.end(),
        End::Assert
            | End::Signal
            | End::Abort
            | End::Terminate
            | End::DoubleFree
            | End::UseAfterFree
            | End::InvalidFree
            | End::UndefinedBehavior
            | End::UnlockFree
            | End::UnlockForeign
    );
    let by = u16::try_from(log.exiting().checked_sub(1)?).ok()?;
    let code = log.exit_code().cast_signed();
    let is_other = log.fail_thread() != u32::from(by);
    // What an exit status means may be for the parent to say.
    let is_failure =
        is_crash && is_other && launch.parent.is_none() && !launch.criteria.expects(code);
    is_failure.then_some((ThreadId(by), code))
}

/// The end of a run of which the log knows no end.
fn still_running(log: &RawLog<'_>, launch: &Launch) -> RunEnd {
    const FROM_OUTSIDE: [i32; 5] = [1, 2, 3, 9, TERMINATED];
    if launch.timed_out && waiting::is_expected(log, launch) {
        return RunEnd {
            outcome: Outcome::CutShort,
            failure: None,
            problem: None,
        };
    }
    if launch.timed_out {
        let message = "did not end within the time allowed";
        return RunEnd::failed(Outcome::TimedOut, FailureKind::Timeout, message);
    }
    match launch.exit {
        _ if launch.killed => RunEnd::cut_short("the run was stopped from outside"),
        // It has no handler, and need not have one.
        Exit::Signal(TERMINATED) if launch.asked => RunEnd::passed(),
        Exit::Signal(signal) if FROM_OUTSIDE.contains(&signal) => RunEnd::cut_short(format!(
            "the program was ended from outside: {}",
            signal_message(signal.unsigned_abs(), None)
        )),
        // Its parent has ended it, or has ended before it.
        Exit::Unknown if launch.parent.is_some() => RunEnd::passed(),
        Exit::Unknown => RunEnd::cut_short("the log ends before the program did"),
        exit => RunEnd {
            problem: Some("the program ended without the recorder noticing".to_owned()),
            ..exited(exit, launch)
        },
    }
}

/// A signal in words for a person.
fn signal_message(signal: u32, address: Option<u64>) -> String {
    const PAGE: u64 = 4096;
    let text = match signal {
        1 => "hang-up",
        2 => "interrupt",
        3 => "quit",
        4 => "illegal instruction",
        5 => "trap",
        6 => "aborted",
        7 => "bus error",
        8 => "arithmetic error, such as a division by zero",
        9 => "killed, as when memory runs out",
        11 if address.is_some_and(|address| address < PAGE) => {
            "segmentation fault: access through a null pointer"
        }
        11 => "segmentation fault",
        10 => "user signal 1",
        12 => "user signal 2",
        13 => "broken pipe",
        14 => "alarm clock: a timer that the program has no handler for",
        15 => "terminated",
        other => return format!("signal {other}"),
    };
    text.to_owned()
}

/// Lines in which the threads go round in circles: `; main.1 goes round at lost_stop.c:38 to 42`.
pub(super) fn circles(rows: &EventColumns, sites: &[SiteRow], threads: &[ThreadRow]) -> String {
    // Many times round, for what is noticed has gone on for much longer.
    const LAST: usize = 2_000;
    let mut lines: BTreeMap<(u16, &str), (u32, u32)> = BTreeMap::new();
    let all = rows.threads().iter().zip(rows.kinds()).zip(rows.sites());
    for ((&thread, &kind), &site) in all.rev().take(LAST) {
        let site = sites.get(site as usize).filter(|site| site.line != 0);
        if let Some(site) = site.filter(|_| kind != EventKind::Failure as u8) {
            let file = names::file_name(&site.file);
            let (first, last) = lines
                .entry((thread, file))
                .or_insert((site.line, site.line));
            *first = site.line.min(*first);
            *last = site.line.max(*last);
        }
    }
    let places = lines.iter().map(|((thread, file), (first, last))| {
        let name = threads
            .get(usize::from(*thread))
            .map_or("", |row| &row.name);
        match first == last {
            true => format!("; {name} goes round at {file}:{first}"),
            false => format!("; {name} goes round at {file}:{first} to {last}"),
        }
    });
    places.collect()
}

/// Combines the failure with its place in the run; `rows` get the site of an assertion.
pub(super) fn place(
    (kind, message): (FailureKind, String),
    launch: &Launch,
    log: &RawLog<'_>,
    program: &ProgramDebugInfo,
    walk: &mut LogWalk<'_>,
    rows: &mut EventColumns,
) -> Failure {
    let by = exited_by(kind, log, launch).filter(|_| launch.driver_failure.is_none());
    let exit = by.and_then(|by| walk.exit_of(usize::from(by.0)));
    let mut event = match by {
        Some(by) => last_access(by, exit.map_or(u64::MAX, |exit| exit.seq), rows),
        None => event(kind, rows),
    };
    let check = launch
        .failed_check
        .as_ref()
        .filter(|_| kind == FailureKind::Check);
    let check = check.map(|check| check::place(check, program, walk, rows));
    if let Some((_, Some(last))) = check {
        event = Some(last);
    }
    let mut thread = event.and_then(|event| Some(ThreadId(*rows.threads().get(event)?)));
    let mut site = event.and_then(|event| Some(SiteId(*rows.sites().get(event)?)));
    if matches!(kind, FailureKind::Assert | FailureKind::UndefinedBehavior) {
        let failed = log.fail_thread() as usize;
        let origin = walk.origin(failed, log.fail_pc(), RecordRole::Continued);
        thread = u16::try_from(failed).ok().map(ThreadId);
        site = Some(reported_site(log, program, walk, origin.site));
    }
    if let Some((at, _)) = check {
        site = Some(at);
    }
    if let Some(by) = by {
        thread = Some(by);
        site = exit.map(|exit| exit.site).or(site);
    }
    if matches!(kind, FailureKind::Deadlock | FailureKind::Timeout) {
        thread = None;
    }
    let is_failure = |event: &usize| rows.kinds().get(*event) == Some(&(EventKind::Failure as u8));
    if let Some((row, site)) = event.filter(is_failure).zip(site) {
        rows.set_site(row, site);
    }
    Failure {
        kind,
        message,
        thread,
        site: site.filter(|site| *site != SiteId(0)),
        event: event.map(|event| EventId(event as u32)),
    }
}

/// The thread that has ended the program with an exit status, where that is the failure.
fn exited_by(kind: FailureKind, log: &RawLog<'_>, launch: &Launch) -> Option<ThreadId> {
    if kind != FailureKind::Exit {
        return None;
    }
    let last = || u16::try_from(log.fail_thread()).ok().map(ThreadId);
    let before = exit_before(log, launch).map(|(by, _)| by);
    before.or_else(|| last().filter(|_| log.end() == End::Exited))
}

/// The last access of a thread before the event of this number.
fn last_access(by: ThreadId, seq: u64, rows: &EventColumns) -> Option<usize> {
    let is_own = |row: &usize| rows.threads().get(*row) == Some(&by.0);
    // An event may have several rows: one for each of the members that it accesses.
    let before = rows.sequence().partition_point(|other| *other < seq);
    (0..before)
        .rev()
        .find(|row| is_own(row) && is_access_somewhere(*row, rows))
}

/// Returns whether a row is an access with a place in the source.
fn is_access_somewhere(row: usize, rows: &EventColumns) -> bool {
    let kind = rows
        .kinds()
        .get(row)
        .and_then(|kind| EventKind::from_u8(*kind));
    kind.is_some_and(EventKind::is_access) && rows.sites().get(row).is_some_and(|site| *site != 0)
}

/// The row of the failure, or the closest one to it.
fn event(kind: FailureKind, rows: &EventColumns) -> Option<usize> {
    if kind == FailureKind::Deadlock {
        return blocked(rows);
    }
    let failure = |kind: &u8| *kind == EventKind::Failure as u8;
    rows.kinds()
        .iter()
        .rposition(failure)
        .or_else(|| {
            (0..rows.len())
                .rev()
                .find(|row| is_access_somewhere(*row, rows))
        })
        .or_else(|| rows.len().checked_sub(1))
}

/// The first thread that waits for something other than the end of another thread: those who join
/// wait because of the others.
fn blocked(rows: &EventColumns) -> Option<usize> {
    let joins = |size: u32| size == WaitsFor::Join as u32;
    let find = |wanted: &dyn Fn(u32) -> bool| {
        let mut all = rows.kinds().iter().zip(rows.sizes());
        all.position(|(kind, size)| *kind == EventKind::Blocked as u8 && wanted(*size))
    };
    find(&|size| !joins(size)).or_else(|| find(&|_| true))
}

/// Completes a file name as the code at `pc` has it with the folder that it was compiled in.
fn from_its_folder(written: &str, pc: u64, walk: &mut LogWalk<'_>) -> String {
    if written.is_empty() || written.starts_with('/') {
        return written.to_owned();
    }
    let at = walk.memory.modules.locate(pc.wrapping_sub(1));
    match at.and_then(|at| at.image.compiled_in(at.address)) {
        Some(folder) => format!("{folder}/{written}"),
        None => written.to_owned(),
    }
}

/// Site of an assertion or of a sanitizer's report: its own file and line count, whatever the debug info says.
fn reported_site(
    log: &RawLog<'_>,
    program: &ProgramDebugInfo,
    walk: &mut LogWalk<'_>,
    origin: SiteId,
) -> SiteId {
    let parts = log.message_parts();
    let written = parts.get(1).map_or("", String::as_str);
    let given = names::path(&from_its_folder(written, log.fail_pc(), walk));
    let is_same = |row: &SiteRow| row.file == given || row.file.ends_with(&format!("/{given}"));
    let seen = walk
        .sites
        .rows
        .get(origin.index())
        .cloned()
        .unwrap_or_default();
    if given.is_empty() || is_same(&seen) && seen.line == log.fail_line() {
        return origin;
    }
    let known = Some(&seen).filter(|row| is_same(row));
    let file = known.or_else(|| walk.sites.rows.iter().find(|row| is_same(row)));
    let file = file.map_or(given.clone(), |row| row.file.clone());
    let function = match parts.get(2) {
        Some(function) if seen.function.is_empty() => function.clone(),
        _ => seen.function.clone(),
    };
    let line = log.fail_line();
    let text = program.sources.line(&file, line);
    walk.sites.id(&SiteRow {
        file,
        line,
        column: 0,
        function,
        text,
    })
}
