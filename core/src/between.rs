//! Interference with a region: actions of other threads while a thread was inside some lines, which show
//! whether the region is as undivided as it looks.

use crate::{
    callers::call_sites,
    facts::{self, short},
    orders::Locks,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};
use unsnarl_trace::{Event, EventId, LocationId, Run, ThreadId};

/// Evidence of runs about some lines of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Between {
    file: String,
    lines: RangeInclusive<u32>,
    runs: u64,
    passages: u64,
    crossed: u64,
    /// The best example of interference: its relevance, and a sentence.
    seen: Option<(u8, String)>,
    /// The locks that every passage holds from its first event to its last; none before the first passage.
    held: Option<BTreeSet<String>>,
}

/// A thread's passage through the lines: rows, and the line of its first event.
struct Passage {
    thread: ThreadId,
    first: EventId,
    last: EventId,
    begin: u32,
    line: u32,
}

impl Between {
    /// No evidence yet, for these lines (from 1) of a file, by the name that the runs give it.
    pub fn new(file: &str, lines: RangeInclusive<u32>) -> Between {
        Between {
            file: file.to_owned(),
            lines,
            runs: 0,
            passages: 0,
            crossed: 0,
            seen: None,
            held: None,
        }
    }

    /// Examines a run, unless its order is inexact. Linear in its events, times the depth of calls.
    pub fn add(&mut self, name: &str, run: &Run) {
        if !run.meta.exact {
            return;
        }
        self.runs += 1;
        let locks = Locks::new(run, &mut Vec::new());
        for passage in self.passages_of(run) {
            self.passages += 1;
            self.hold(run, &locks, &passage);
            if let Some((weight, what)) = crossing(run, &passage) {
                self.crossed += 1;
                if self.seen.as_ref().is_none_or(|(known, _)| *known < weight) {
                    let who = facts::thread_in_words(run, passage.thread);
                    let (first, last) = (self.lines.start(), self.lines.end());
                    let said =
                        format!("in {name} {what} while {who} is between lines {first} and {last}");
                    self.seen = Some((weight, said));
                }
            }
        }
    }

    /// The answer in words.
    pub fn in_words(&self) -> String {
        let (first, last) = (self.lines.start(), self.lines.end());
        let passages = match self.passages {
            1 => "the only time that a thread".to_owned(),
            many => format!("the {many} times that a thread"),
        };
        let runs = match self.runs {
            1 => "one run".to_owned(),
            many => format!("{many} runs"),
        };
        let held: Vec<String> = self
            .held
            .iter()
            .flatten()
            .map(|lock| format!("`{lock}`"))
            .collect();
        match (&self.seen, held.as_slice()) {
            _ if self.passages == 0 => {
                format!("Nobody was seen within lines {first} to {last} in {runs}.")
            }
            (Some((_, seen)), _) => format!(
                "Yes: {seen}. So it was in {} of {passages} was there, in {runs}.",
                self.crossed
            ),
            (None, []) => format!(
                "Not seen in {passages} was there, in {runs}. But no lock is held all along: nothing keeps another thread out."
            ),
            (None, held) => format!(
                "Not seen in {passages} was there, in {runs}. {} is held all along: that keeps out who takes it, nobody else.",
                held.join(" and ")
            ),
        }
    }

    /// The line of the region that contains an event or a call that led to it.
    fn line(&self, run: &Run, row: EventId) -> Option<u32> {
        let sites = call_sites(run, row).into_iter().rev();
        let rows = sites.map(|site| run.meta.site(site));
        let mut inside =
            rows.filter(|site| site.file == self.file && self.lines.contains(&site.line));
        inside.next().map(|site| site.line)
    }

    fn passages_of(&self, run: &Run) -> Vec<Passage> {
        let mut known: BTreeMap<(u32, u32), Option<u32>> = BTreeMap::new();
        let mut open: BTreeMap<u16, Passage> = BTreeMap::new();
        let mut all = Vec::new();
        for (row, event) in run.events.iter() {
            let line = *known
                .entry((event.site.0, event.stack.0))
                .or_insert_with(|| self.line(run, row));
            let there = open.remove(&event.thread.0);
            let Some(line) = line else {
                all.extend(there);
                continue;
            };
            // Back at the line where it came in: the next way through.
            let goes_on = |passage: &Passage| line != passage.begin || passage.line == line;
            let passage = match there {
                Some(passage) if goes_on(&passage) => Passage {
                    last: row,
                    line,
                    ..passage
                },
                ended => {
                    all.extend(ended);
                    Passage {
                        thread: event.thread,
                        first: row,
                        last: row,
                        begin: line,
                        line,
                    }
                }
            };
            open.insert(event.thread.0, passage);
        }
        all.extend(open.into_values());
        // A passage of one event leaves no room for interference.
        all.retain(|passage| passage.first < passage.last);
        all
    }

    fn hold(&mut self, run: &Run, locks: &Locks, passage: &Passage) {
        let holds = locks.sections().iter().filter(|section| {
            section.thread == passage.thread
                && section.acquired <= passage.first
                && section
                    .released
                    .is_none_or(|released| released >= passage.last)
        });
        let now: BTreeSet<String> = holds
            .map(|section| run.location(section.lock).to_owned())
            .collect();
        self.held = Some(match self.held.take() {
            Some(before) => before.intersection(&now).cloned().collect(),
            None => now,
        });
    }
}

/// The most relevant interference within a passage, with its relevance: a write of data that the thread
/// itself accesses there, a read of it, an access of other data.
fn crossing(run: &Run, passage: &Passage) -> Option<(u8, String)> {
    let rows = || (passage.first.0..=passage.last.0).map(EventId);
    let events = || rows().map(|row| run.events.event(row));
    let own: BTreeSet<LocationId> = events()
        .filter(|event| event.thread == passage.thread && event.kind.is_access())
        .map(|event| event.location)
        .collect();
    let weight = |event: &Event| match own.contains(&event.location) {
        true if event.kind.writes() => 3,
        true => 2,
        false => 1,
    };
    let others = events().filter(|event| event.thread != passage.thread && event.kind.is_access());
    let told = others.filter(|event| run.meta.site(event.site).line != 0);
    let mut best: Option<(u8, Event)> = None;
    for event in told {
        if best
            .as_ref()
            .is_none_or(|(known, _)| *known < weight(&event))
        {
            best = Some((weight(&event), event));
        }
    }
    best.map(|(weight, event)| (weight, done(run, &event)))
}

/// An event in words: `deposit (main.1) writes balance = 500 at bank.c:38`.
fn done(run: &Run, event: &Event) -> String {
    let who = facts::thread_in_words(run, event.thread);
    let (verb, variable) = (facts::verb(event.kind), facts::variable(run, event));
    let value = facts::value(run, event, false);
    let value = value.map_or(String::new(), |value| format!(" = {value}"));
    let place = short(&facts::place(run, event.site));
    format!("{who} {verb} {variable}{value} at {place}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use expect_test::{Expect, expect};

    fn check(runs: &[&str], lines: RangeInclusive<u32>, expected: Expect) {
        let mut between = Between::new("bank.c", lines);
        for (at, text) in runs.iter().enumerate() {
            between.add(&format!("run-{at}"), &fixture::run(text));
        }
        expected.assert_eq(&between.in_words());
    }

    const CROSSED: &str = r#"
        file bank.c
        main fork main.1 @9 main
        main fork main.2 @10 main
        main.1 R n =0 @4 add "int old = n;"
        main.2 W other =1 @20 count "other++;"
        main.2 W n =7 @21 count "n = 7;"
        main.1 W n =1 @5 add "n = old + 1;"
    "#;
    const GUARDED: &str = r#"
        file bank.c
        main fork main.1 @9 main
        main fork main.2 @10 main
        main.1 lock m @3 add
        main.1 R n =0 @4 add "int old = n;"
        main.1 W n =1 @5 add "n = old + 1;"
        main.1 unlock m @6 add
        main.2 lock m @3 add
        main.2 R n =1 @4 add "int old = n;"
        main.2 W n =2 @5 add "n = old + 1;"
        main.2 unlock m @6 add
    "#;
    const ALONE: &str = r#"
        file bank.c
        main fork main.1 @9 main
        main fork main.2 @10 main
        main.1 R n =0 @4 add "int old = n;"
        main.1 W n =1 @5 add "n = old + 1;"
        main.1 R n =1 @4 add "int old = n;"
        main.1 W n =2 @5 add "n = old + 1;"
        main.2 W n =7 @21 count "n = 7;"
    "#;

    #[test]
    fn the_most_telling_step_in_between_is_told() {
        check(
            &[ALONE, CROSSED],
            4..=5,
            expect![
                "Yes: in run-1 count (main.2) writes n = 7 at bank.c:21 while add (main.1) is between lines 4 and 5. So it was in 1 of the 3 times that a thread was there, in 2 runs."
            ],
        );
    }

    #[test]
    fn what_keeps_others_out_is_told() {
        check(
            &[GUARDED],
            4..=5,
            expect![
                "Not seen in the 2 times that a thread was there, in one run. `m` is held all along: that keeps out who takes it, nobody else."
            ],
        );
        check(
            &[GUARDED, ALONE],
            4..=5,
            expect![
                "Not seen in the 4 times that a thread was there, in 2 runs. But no lock is held all along: nothing keeps another thread out."
            ],
        );
        check(
            &[ALONE],
            4..=5,
            expect![
                "Not seen in the 2 times that a thread was there, in one run. But no lock is held all along: nothing keeps another thread out."
            ],
        );
    }

    #[test]
    fn where_nobody_was() {
        check(
            &[CROSSED],
            6..=8,
            expect!["Nobody was seen within lines 6 to 8 in one run."],
        );
        check(
            &[CROSSED],
            4..=4,
            expect!["Nobody was seen within lines 4 to 4 in one run."],
        );
    }
}
