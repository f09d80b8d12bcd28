//! Predictions for reading: errors first, then what did no harm, then hints, then the tally.

use super::{
    Report,
    engine::LookedAt,
    verdict::{AnomalyVerdict, ExecutedFailure, ExecutionVerdict, FindingTally, UnshownReason},
};
use crate::{explain::stopped, message};
use anstyle::{AnsiColor, Style};
use std::collections::BTreeMap;
use unsnarl_core::{
    facts::{place, short, thread_in_words, variable, verb},
    predict::Class,
};
use unsnarl_trace::{Event, Run, shell};

/// Number of notes, hints and anomalies of one failure that are shown without --all.
const SHOWN: usize = 5;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const HINT: Style = AnsiColor::Yellow.on_default().bold();

/// Prints what was predicted from each run.
pub fn print(reports: &[Report], headlines: &BTreeMap<String, String>, all: bool) {
    for (number, report) in reports.iter().enumerate() {
        if number > 0 {
            outln!();
        }
        let run = &report.subject.run;
        let is_of_same = |before: &Report| before.subject.run.meta.command == run.meta.command;
        let before = number.checked_sub(1).and_then(|number| reports.get(number));
        if report.findings.is_empty() && before.is_some_and(is_of_same) {
            outln!("{}: nothing else", report.subject.name);
            limits(report);
            continue;
        }
        let command = shell::command(&run.meta.command);
        outln!("{command}: predicted from {}\n", report.subject.name);
        let printer = AnomalyPrinter {
            run,
            most: if all { usize::MAX } else { SHOWN },
        };
        printer.failures(&report.findings, headlines);
        printer.harmless(&report.findings);
        printer.unreproduced(&report.findings);
        tally(report);
        limits(report);
    }
}

struct AnomalyPrinter<'a> {
    run: &'a Run,
    most: usize,
}

impl AnomalyPrinter<'_> {
    /// Prints one error for each failure mode, with the anomalies that lead to it.
    fn failures(&self, findings: &[AnomalyVerdict], headlines: &BTreeMap<String, String>) {
        let mut ways: BTreeMap<String, Vec<(&AnomalyVerdict, &ExecutedFailure)>> = BTreeMap::new();
        for finding in findings {
            if let ExecutionVerdict::Failed(failed) = &finding.verdict {
                ways.entry(way(failed)).or_default().push((finding, failed));
            }
        }
        for (way, found) in ways {
            let headline = found
                .iter()
                .find_map(|(_, failed)| headlines.get(&failed.run));
            match headline {
                Some(headline) => outln!("{ERROR}error:{ERROR:#} {headline}\n  {way}"),
                None => outln!("{ERROR}error:{ERROR:#} {way}"),
            }
            outln!("  in the orders of {}:", anomalies(found.len()));
            self.list(found.iter().map(|(finding, failed)| {
                let how = match failed.reached {
                    true => "",
                    false => " (it failed on the way there)",
                };
                format!("{}{how}", self.words(finding))
            }));
            if let Some((_, failed)) = found.first() {
                outln!("  kept as {}\n", failed.run);
            }
        }
    }

    fn harmless(&self, findings: &[AnomalyVerdict]) {
        let harmless = findings.iter();
        let harmless: Vec<&AnomalyVerdict> = harmless
            .filter(|finding| matches!(finding.verdict, ExecutionVerdict::Harmless))
            .collect();
        if harmless.is_empty() {
            return;
        }
        let count = anomalies(harmless.len());
        outln!("{NOTE}note:{NOTE:#} {count} happened, and nothing failed");
        self.list(harmless.iter().map(|finding| self.words(finding)));
        outln!();
    }

    /// Prints the anomalies that did not happen, or were not tried, grouped by their status: those that are certainly
    /// possible come first.
    fn unreproduced(&self, findings: &[AnomalyVerdict]) {
        let mut groups: BTreeMap<Group, Vec<String>> = BTreeMap::new();
        for finding in findings {
            if let ExecutionVerdict::Not { why, reason } = &finding.verdict {
                let words = format!("{}\n      {reason}", self.words(finding));
                groups
                    .entry(Group::of(finding, *why))
                    .or_default()
                    .push(words);
            }
        }
        for (group, lines) in groups {
            let (style, word) = group.mark();
            let count = anomalies(lines.len());
            outln!("{style}{word}{style:#} {count} {}", group.words());
            self.list(lines.into_iter());
            outln!();
        }
    }

    fn list(&self, lines: impl ExactSizeIterator<Item = String>) {
        let more = lines.len().saturating_sub(self.most);
        for line in lines.take(self.most) {
            outln!("    {line}");
        }
        if more > 0 {
            outln!("    and {more} more (--all, --format json)");
        }
    }

    /// An anomaly in words: ``atomicity violation r-w-w on `x`: main.2 reads at a.c:33, main.1 writes at a.c:43,
    /// ...``
    fn words(&self, finding: &AnomalyVerdict) -> String {
        let candidate = &finding.candidate;
        let rows = candidate.events.iter();
        let rows: Vec<Event> = rows.map(|id| self.run.events.event(*id)).collect();
        let mut names: Vec<String> = rows.iter().map(|row| variable(self.run, row)).collect();
        names.dedup();
        let is_one = names.len() == 1;
        let steps: Vec<String> = rows
            .iter()
            .map(|row| {
                let name = match is_one {
                    true => String::new(),
                    false => format!(" `{}`", variable(self.run, row)),
                };
                let thread = thread_in_words(self.run, row.thread);
                let at = short(&place(self.run, row.site));
                format!("{thread} {}{name} at {at}", verb(row.kind))
            })
            .collect();
        let on = match names.as_slice() {
            [name] => format!(" on `{name}`"),
            _ => String::new(),
        };
        let between = match candidate.class {
            Class::Race | Class::Deadlock => " while ",
            _ => ", then ",
        };
        format!(
            "{} ({}){on}: {}",
            candidate.class.name().replace('-', " "),
            candidate.pattern,
            steps.join(between)
        )
    }
}

/// Anomalies that were not reproduced, by status.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    CertainExecuted,
    CertainNotExecuted,
    Executed,
    NoOrder,
    NotPlaced,
    NotExecuted,
}

impl Group {
    fn of(finding: &AnomalyVerdict, why: UnshownReason) -> Group {
        match (finding.certain, finding.was_executed(), why) {
            (true, true, _) => Group::CertainExecuted,
            (true, false, _) => Group::CertainNotExecuted,
            (false, true, _) => Group::Executed,
            (false, false, UnshownReason::NoOrder) => Group::NoOrder,
            (false, false, UnshownReason::NotPlaced) => Group::NotPlaced,
            (false, false, _) => Group::NotExecuted,
        }
    }

    fn mark(self) -> (Style, &'static str) {
        match self {
            Group::CertainExecuted | Group::CertainNotExecuted => (NOTE, "certain:"),
            _ => (HINT, "hint:"),
        }
    }

    /// The status in words, behind `3 predicted anomalies`.
    fn words(self) -> &'static str {
        match self {
            Group::CertainExecuted => {
                "can happen: an order of the recorded steps shows it, though it did not come when executed"
            }
            Group::CertainNotExecuted => {
                "can happen: an order of the recorded steps shows it (not executed)"
            }
            Group::Executed => "did not happen when executed",
            Group::NoOrder => "not executed: no feasible order was found",
            Group::NotPlaced => "not executed: the program cannot be held at one of the steps",
            Group::NotExecuted => "not executed",
        }
    }
}

/// The failure and its place.
fn way(failed: &ExecutedFailure) -> String {
    match &failed.failure.site {
        Some(site) => format!("{} at {}", failed.failure.message, short(site)),
        None => failed.failure.message.clone(),
    }
}

fn anomalies(count: usize) -> String {
    match count {
        1 => "1 predicted anomaly".to_owned(),
        count => format!("{count} predicted anomalies"),
    }
}

/// Prints the tally: `15 predicted (7 race, 8 atomicity-violation), 5 of them certain, 14 executed, 12 reproduced, 8
/// made the program fail; 3 not: ...`
fn tally(report: &Report) {
    let tally: FindingTally = report.tally();
    if tally.predicted() == 0 {
        let LookedAt {
            locations,
            regions,
            sections,
        } = report.looked_at;
        let run = &report.subject.run;
        outln!(
            "nothing predicted: no pattern and no cycle of locks fits {} events of {} threads ({locations} locations that threads share, {sections} critical sections, {regions} regions meant to be atomic)\n  steps that this run did not take are not looked at: --runs N takes more runs, unsnarl record makes them",
            run.events.len(),
            run.meta.threads.len()
        );
        return;
    }
    let classes = tally.predicted.iter();
    let classes: Vec<String> = classes
        .map(|(class, count)| format!("{class} {count}"))
        .collect();
    let classes = match classes.is_empty() {
        true => String::new(),
        false => format!(" ({})", classes.join(", ")),
    };
    let certain = match tally.certain {
        0 => String::new(),
        count => format!(" {count} of them certain,"),
    };
    outln!(
        "{} predicted{classes},{certain} {} executed in {} runs, {} reproduced, {} made the program fail",
        tally.predicted(),
        tally.executed,
        tally.schedules,
        tally.reproduced,
        tally.failed
    );
    for (why, count) in &tally.not_reproduced {
        outln!("  {count} not: {}", why.words());
    }
}

/// Reports the limits that were met.
fn limits(report: &Report) {
    if let Some(reason) = stopped(report.stopped) {
        message::warning(&format!("the search ended early: {reason}"));
    }
    if report.over > 0 {
        message::warning(&format!(
            "{} predicted anomalies were not executed (--max)",
            report.over
        ));
    }
    if report.interrupted {
        let tally = report.tally();
        message::warning(&format!(
            "stopped after {} of {} predicted anomalies\n  next: --budget T gives it more time",
            tally.executed,
            tally.predicted()
        ));
    }
}
