//! Results for reading: a line per case, and the summary.

use super::{Results, shown};
use crate::{message, record::explaining};
use anstyle::{AnsiColor, Style};
use std::path::Path;
use unsnarl_recorder::suite::{CaseFailure, CaseReport, CaseVerdict, SuiteSettings};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const OPEN: Style = AnsiColor::Yellow.on_default();

/// Prints a case that is done.
pub fn tell(name: &str, report: &CaseReport) {
    let (style, word) = mark(&report.verdict);
    let how = how(report);
    outln!("{style}{word}{style:#}  {name}  {how}");
    if let CaseVerdict::Failed(failure) = &report.verdict {
        failure
            .message
            .lines()
            .for_each(|line| outln!("      {line}"));
    }
}

fn mark(verdict: &CaseVerdict) -> (Style, &'static str) {
    match verdict {
        CaseVerdict::Passed => (GOOD, "PASS"),
        CaseVerdict::Failed(failure) if failure.is_hang() => (BAD, "HANG"),
        CaseVerdict::Failed(_) => (BAD, "FAIL"),
        CaseVerdict::Disabled => (OPEN, "SKIP"),
        CaseVerdict::NotRecordable(_) | CaseVerdict::NotRun => (OPEN, "NONE"),
    }
}

/// Describes what became of a case.
fn how(report: &CaseReport) -> String {
    let tally = &report.tally;
    let seconds = report.time.as_secs_f64();
    match &report.verdict {
        CaseVerdict::Passed if tally.chose == 0 => {
            format!("nothing to choose, {seconds:.2} s")
        }
        CaseVerdict::Passed => format!(
            "{}, {} different, {seconds:.2} s",
            schedules(tally.passed),
            tally.different
        ),
        CaseVerdict::Failed(failure) => {
            let place = place(failure).unwrap_or_else(|| "no line is known".to_owned());
            match tally.chose {
                0 => format!("{place}: nothing to choose, {seconds:.2} s"),
                _ => format!(
                    "{place}: {} of {} schedules fail, the first one is number {}, {seconds:.2} s",
                    tally.failing(),
                    tally.runs,
                    failure.schedule
                ),
            }
        }
        CaseVerdict::Disabled => "disabled".to_owned(),
        CaseVerdict::NotRecordable(why) => format!("cannot be recorded: {why}"),
        CaseVerdict::NotRun => "not run: the time was over, or it was stopped".to_owned(),
    }
}

/// File and line of a failure.
pub fn place(failure: &CaseFailure) -> Option<String> {
    let file = file(failure)?;
    Some(format!("{file}:{}", failure.line))
}

/// The source file of a failure, relative to the current folder if it lies there.
pub fn file(failure: &CaseFailure) -> Option<&str> {
    let file = failure.file.as_deref()?;
    let here = std::env::current_dir().ok();
    let within = here.and_then(|here| Path::new(file).strip_prefix(here).ok()?.to_str());
    Some(within.unwrap_or(file))
}

fn schedules(count: u64) -> String {
    match count {
        1 => "1 schedule".to_owned(),
        count => format!("{count} schedules"),
    }
}

/// Prints the counts, the failing cases again, and the next step.
pub fn summarize(results: &Results<'_>, settings: &SuiteSettings) {
    let runs: u64 = results.cases().map(|(_, report)| report.tally.runs).sum();
    errln!(
        "{}: {}; {} in {:.1} s, seed {}",
        cases(results.reports.len()),
        counts(results),
        schedules(runs),
        results.time.as_secs_f64(),
        results.seed
    );
    for (case, report) in results.cases() {
        if let CaseVerdict::Failed(failure) = &report.verdict {
            let place = place(failure).map_or_else(String::new, |place| format!("  {place}"));
            errln!("  {}{place}", shown(results.suite, case));
        }
    }
    match results.status() {
        1 => {
            errln!("runs are in {}", settings.out.display());
            errln!("  next: {}", explaining(&settings.out));
        }
        0 => {}
        _ => message::error("no case could be recorded; the lines above say why"),
    }
}

fn cases(count: usize) -> String {
    match count {
        1 => "1 case".to_owned(),
        count => format!("{count} cases"),
    }
}

/// The counts by verdict: `7 passed, 2 failed, 1 hangs`
fn counts(results: &Results<'_>) -> String {
    let failed = |hangs: bool| {
        results.count(|verdict| match verdict {
            CaseVerdict::Failed(failure) => failure.is_hang() == hangs,
            _ => false,
        })
    };
    let hangs = failed(true);
    let all = [
        (results.count(|it| *it == CaseVerdict::Passed), "passed"),
        (failed(false), "failed"),
        (hangs, if hangs == 1 { "hangs" } else { "hang" }),
        (results.count(|it| *it == CaseVerdict::Disabled), "disabled"),
        (
            results.count(|it| matches!(it, CaseVerdict::NotRecordable(_))),
            "not recordable",
        ),
        (results.count(|it| *it == CaseVerdict::NotRun), "not run"),
    ];
    let seen = all.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = seen
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    words.join(", ")
}
