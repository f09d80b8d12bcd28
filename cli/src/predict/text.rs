//! Predictions for reading: errors first, then what did no harm, then hints, then the tally.

use super::{
    Report,
    verdict::{Failed, Finding, Tally, Verdict},
};
use crate::{explain::stopped, message};
use anstyle::{AnsiColor, Style};
use std::collections::BTreeMap;
use unsnarl_core::{
    facts::{place, short, thread_in_words, variable, verb},
    predict::Class,
};
use unsnarl_trace::{Event, Run};

/// Notes, hints and anomalies of one failure that are shown without --all.
const SHOWN: usize = 5;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const HINT: Style = AnsiColor::Yellow.on_default().bold();

/// Prints what was predicted from each run.
pub fn print(reports: &[Report], headlines: &BTreeMap<String, String>, all: bool) {
    for (number, report) in reports.iter().enumerate() {
        if number > 0 {
            anstream::println!();
        }
        let run = &report.subject.run;
        let is_of_same = |before: &Report| before.subject.run.meta.command == run.meta.command;
        let before = number.checked_sub(1).and_then(|number| reports.get(number));
        if report.findings.is_empty() && before.is_some_and(is_of_same) {
            anstream::println!("{}: nothing else", report.subject.name);
            limits(report);
            continue;
        }
        let command = run.meta.command.join(" ");
        anstream::println!("{command}: predicted from {}\n", report.subject.name);
        let printer = Printer {
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

struct Printer<'a> {
    run: &'a Run,
    most: usize,
}

impl Printer<'_> {
    /// One error for each way to fail, with the anomalies that lead to it.
    fn failures(&self, findings: &[Finding], headlines: &BTreeMap<String, String>) {
        let mut ways: BTreeMap<String, Vec<(&Finding, &Failed)>> = BTreeMap::new();
        for finding in findings {
            if let Verdict::Failed(failed) = &finding.verdict {
                ways.entry(way(failed)).or_default().push((finding, failed));
            }
        }
        for (way, found) in ways {
            let headline = found
                .iter()
                .find_map(|(_, failed)| headlines.get(&failed.run));
            match headline {
                Some(headline) => anstream::println!("{ERROR}error:{ERROR:#} {headline}\n  {way}"),
                None => anstream::println!("{ERROR}error:{ERROR:#} {way}"),
            }
            anstream::println!("  in the orders of {}:", anomalies(found.len()));
            self.list(found.iter().map(|(finding, failed)| {
                let how = match failed.reached {
                    true => "",
                    false => " (it failed on the way there)",
                };
                format!("{}{how}", self.words(finding))
            }));
            if let Some((_, failed)) = found.first() {
                anstream::println!("  kept as {}\n", failed.run);
            }
        }
    }

    fn harmless(&self, findings: &[Finding]) {
        let harmless = findings.iter();
        let harmless: Vec<&Finding> = harmless
            .filter(|finding| matches!(finding.verdict, Verdict::Harmless))
            .collect();
        if harmless.is_empty() {
            return;
        }
        let count = anomalies(harmless.len());
        anstream::println!("{NOTE}note:{NOTE:#} {count} happened, and nothing failed");
        self.list(harmless.iter().map(|finding| self.words(finding)));
        anstream::println!();
    }

    /// What did not happen, or was not tried: first what is possible for sure.
    fn unreproduced(&self, findings: &[Finding]) {
        let (mut certain, mut hints): (Vec<String>, Vec<String>) = Default::default();
        for finding in findings {
            if let Verdict::Not { reason, .. } = &finding.verdict {
                let list = if finding.certain {
                    &mut certain
                } else {
                    &mut hints
                };
                list.push(format!("{}\n      {reason}", self.words(finding)));
            }
        }
        for (lines, style, word, what) in [
            (
                certain,
                NOTE,
                "certain:",
                "can happen: an order of the recorded steps shows it",
            ),
            (hints, HINT, "hint:", "did not happen"),
        ] {
            if lines.is_empty() {
                continue;
            }
            let count = anomalies(lines.len());
            anstream::println!("{style}{word}{style:#} {count} {what}");
            self.list(lines.into_iter());
            anstream::println!();
        }
    }

    fn list(&self, lines: impl ExactSizeIterator<Item = String>) {
        let more = lines.len().saturating_sub(self.most);
        for line in lines.take(self.most) {
            anstream::println!("    {line}");
        }
        if more > 0 {
            anstream::println!("    and {more} more (--all, --format json)");
        }
    }

    /// ``atomicity violation r-w-w on `x`: main.2 reads at a.c:33, main.1 writes at a.c:43, ...``
    fn words(&self, finding: &Finding) -> String {
        let candidate = &finding.candidate;
        let rows = candidate.events.iter();
        let rows: Vec<Event> = rows.filter_map(|id| self.run.events.get(*id)).collect();
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

/// How and where it failed.
fn way(failed: &Failed) -> String {
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

/// `15 predicted (7 race, 8 atomicity-violation), 5 of them certain, 14 executed, 12 reproduced, 8 made the program fail; 3 not: ...`
fn tally(report: &Report) {
    let tally: Tally = report.tally();
    if tally.predicted() == 0 {
        anstream::println!(
            "nothing predicted: in no other order of this run's steps do threads race, interrupt what belongs together or deadlock\n  steps that this run did not take are not looked at: --runs N takes more runs, unsnarl record makes them"
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
    anstream::println!(
        "{} predicted{classes},{certain} {} executed in {} runs, {} reproduced, {} made the program fail",
        tally.predicted(),
        tally.executed,
        tally.schedules,
        tally.reproduced,
        tally.failed
    );
    for (why, count) in &tally.not_reproduced {
        anstream::println!("  {count} not: {}", why.words());
    }
}

/// What was left out.
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
        message::warning("stopped before everything was executed");
    }
}
