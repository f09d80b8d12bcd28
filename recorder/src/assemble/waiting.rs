//! Programs that wait for the world outside when their time is over: a server without a client does nothing wrong.

use super::{Launch, LogThread, ProgramDebugInfo, RawLog, names, site_of};
use unsnarl_trace::raw::WaitsFor;

/// Returns whether the run was ended while it waited for the outside, and that is no hang: the first thread waits so,
/// or those that it waits for; or no run with this input has ended.
pub(super) fn is_expected(log: &RawLog<'_>, launch: &Launch) -> bool {
    launch.waits_outside && (is_for_good(log) || !launch.others_end)
}

/// Returns whether the first thread, or one whose end it waits for, waits for the outside or for time: it does so in
/// every order of the threads.
pub(crate) fn is_for_good(log: &RawLog<'_>) -> bool {
    let threads: Vec<LogThread> = log.threads().collect();
    let mut number = 0;
    for _ in 0..=threads.len() {
        match threads.get(number) {
            Some(thread) if thread.waits_for == WaitsFor::Join => {
                number = usize::try_from(thread.wait_object).unwrap_or(usize::MAX);
            }
            Some(thread) => {
                let is_asleep = matches!(thread.waits_for, WaitsFor::Time | WaitsFor::Nothing);
                return !thread.ended && (is_asleep || is_outside(thread));
            }
            None => return false,
        }
    }
    false
}

fn is_outside(thread: &LogThread) -> bool {
    use WaitsFor::*;
    matches!(thread.waits_for, Connection | Io | Process | Signal)
}

/// The remark in a run about the waiting threads, with the next step.
pub(super) fn problem(
    log: &RawLog<'_>,
    program: &ProgramDebugInfo,
    launch: &Launch,
    threads: &[String],
) -> Option<String> {
    if !launch.timed_out || !is_expected(log, launch) {
        return None;
    }
    let waiting = log.threads().zip(threads);
    let waiting: Vec<(LogThread, &String)> = waiting
        .filter(|(thread, _)| !thread.ended && is_outside(thread))
        .collect();
    let (first, _) = waiting.first()?;
    let places: Vec<String> = waiting
        .iter()
        .map(|(thread, name)| {
            let what = words(thread.waits_for);
            match site_of(log, program, thread.wait_pc).filter(|site| site.line != 0) {
                Some(site) => {
                    let file = names::file_name(&site.file);
                    format!("{name} waits for {what} at {file}:{}", site.line)
                }
                None => format!("{name} waits for {what}"),
            }
        })
        .collect();
    Some(format!(
        "the program waits for the world outside, and nothing came: {}; {}",
        places.join(", "),
        advice(first.waits_for)
    ))
}

fn words(waits_for: WaitsFor) -> &'static str {
    match waits_for {
        WaitsFor::Connection => "a connection",
        WaitsFor::Process => "the end of a child process",
        WaitsFor::Signal => "a signal",
        _ => "input, output or a signal",
    }
}

fn advice(waits_for: WaitsFor) -> &'static str {
    match waits_for {
        WaitsFor::Connection => {
            "name a client that is started beside each run (--driver), or let the program start it itself, as a thread or a \
             child, and end when it is served"
        }
        WaitsFor::Process => "let the child end, or allow more time (--timeout)",
        WaitsFor::Signal => {
            "end it when it has done enough (--for, --stop-when), or let it end by itself"
        }
        _ => {
            "name a file for standard input (--stdin), or start beside each run whoever is to answer"
        }
    }
}
