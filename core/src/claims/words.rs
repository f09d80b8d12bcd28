//! Claims in words, with their counts.

use super::{Claim, Counted, Operation, Visit};
use crate::{
    explanation::Place,
    facts::{self, ordinal, short},
    pairs::AccessClass,
};

impl Counted {
    /// A sentence about the passing runs; empty when there are none, or when the numbers are uninformative.
    pub fn in_words(&self) -> String {
        if self.of == 0 {
            return String::new();
        }
        match &self.claim {
            Claim::Between {
                first,
                remote,
                second,
            } => {
                let beside = beside(&[first, remote, second]);
                self.never_or(&Happening {
                    who: other(remote, [first, second], &beside),
                    verb: COME,
                    where_to: format!("between {}{SAME}", gap(first, second, &beside)),
                })
            }
            Claim::Overlap {
                first,
                second,
                after_first,
                before_second,
                in_this_order,
            } => self.never_or(&overlapping(
                [first, second],
                [after_first, before_second],
                *in_this_order,
            )),
            Claim::Before {
                early,
                late,
                visit,
                location,
            } => {
                let (early, beside) = (line(&early.place, &early.place), &early.place);
                let late = line(&late.place, beside);
                let late = match visit {
                    Some(visit) => visit_of(visit, &late, location),
                    None => late + same_of_kin(location),
                };
                self.when_any(&format!("{early} ran before {late}"))
            }
            Claim::After { early, late, .. } => self.never_or(&Happening {
                who: line(&late.place, &late.place),
                verb: RUN,
                where_to: format!("after {}{SAME}", line(&early.place, &late.place)),
            }),
            Claim::BeforeBy {
                early,
                by,
                late,
                visit,
                location,
            } => {
                let (early, beside) = (line(&early.place, &early.place), &early.place);
                let late = visit_of(visit, &line(&late.place, beside), location);
                let again = for_the_time(by.number);
                let who = &by.thread;
                match self.holds_in {
                    0 => self.never_or(&Happening {
                        who: who.clone(),
                        verb: RUN,
                        where_to: format!("{early}{again} before {late}"),
                    }),
                    _ => self.when_any(&format!("{who} ran {early}{again} before {late}")),
                }
            }
            Claim::Together { one, other } => self.together(one, other),
            Claim::ReadsFrom {
                write,
                read,
                more_than,
            } => {
                let at = line(&read.place, &read.place);
                let from = line(&write.place, &read.place);
                let more = more_than_in_words(*more_than);
                self.when_any(&format!(
                    "{at} read what another thread wrote at {from}{more}"
                ))
            }
            // Headlines state it; a count of passing runs that have it too would say that it explains
            // nothing.
            Claim::Follows { .. } => String::new(),
        }
    }

    /// The sentence, only if the claim holds in some run.
    fn when_any(&self, says: &str) -> String {
        match self.holds_in {
            0 => String::new(),
            runs => format!("{} {says}.", in_runs(runs, self.of)),
        }
    }

    /// `In none of 50 passing runs did line 75 come between ...`, or the number of runs in which it did.
    fn never_or(&self, happening: &Happening) -> String {
        let Happening {
            who,
            verb: (plain, past),
            where_to,
        } = happening;
        match (self.holds_in, self.of) {
            (0, 1) => format!("In the only passing run {who} did not {plain} {where_to}."),
            (0, of) => format!("In none of {of} passing runs did {who} {plain} {where_to}."),
            (runs, of) => format!(
                "{} {who} {past} {where_to} too, without harm.",
                in_runs(runs, of)
            ),
        }
    }

    fn together(
        &self,
        one: &(Operation, Operation, String),
        other: &(Operation, Operation, String),
    ) -> String {
        let beside = &one.0.place;
        let is_told = |(early, late, _): &(Operation, Operation, String)| {
            (&early.place.file, early.place.line) != (&late.place.file, late.place.line)
        };
        // Of a line that comes before itself nobody knows which time is meant.
        if !is_told(one) || !is_told(other) {
            return String::new();
        }
        let pair = |(early, late, _): &(Operation, Operation, String)| {
            format!(
                "{} ran before {}",
                line(&early.place, beside),
                line(&late.place, beside)
            )
        };
        match self.holds_in == self.of {
            true => format!(
                "{} {} exactly when {}.",
                in_runs(self.of, self.of),
                pair(one),
                pair(other)
            ),
            false => String::new(),
        }
    }
}

/// Text ` on the same data` for one of several of a kind, as an element of an array or a block: its lines run for others as
/// well.
fn same_of_kin(location: &str) -> &'static str {
    match facts::family(location) == location {
        true => "",
        false => SAME,
    }
}

/// `main.1 ran line 40`, `main.1 ran line 40 for the 3rd time`.
fn visit_of(visit: &Visit, line: &str, location: &str) -> String {
    let (same, again) = (same_of_kin(location), for_the_time(visit.number));
    format!("{} ran {line}{same}{again}", visit.thread)
}

/// ` for the 3rd time`; nothing for the first one.
fn for_the_time(number: u32) -> String {
    match number {
        1 => String::new(),
        number => format!(" for the {} time", ordinal(number)),
    }
}

/// An event that may have happened in a run: its subject, the verb in its plain form and in the past, and the
/// rest.
struct Happening {
    who: String,
    verb: (&'static str, &'static str),
    where_to: String,
}

/// Other elements and objects may have the same lines in that order.
const SAME: &str = " on the same data";
const COME: (&str, &str) = ("come", "came");
const RUN: (&str, &str) = ("run", "ran");

fn overlapping(
    [first, second]: [&Operation; 2],
    [after_first, before_second]: [&Operation; 2],
    in_this_order: bool,
) -> Happening {
    let beside = &beside(&[first, second, after_first, before_second]);
    let of = |one: &Operation| line(&one.place, beside);
    match in_this_order {
        true => Happening {
            who: both(after_first, before_second, beside),
            verb: COME,
            where_to: format!("between {}{SAME}", gap(first, second, beside)),
        },
        false if first == second => Happening {
            who: format!("a thread's {}s on {}", noun(first), of(first)),
            verb: COME,
            where_to: format!(
                "after another thread's {} and before its {}{SAME}",
                of(before_second),
                of(after_first)
            ),
        },
        false => Happening {
            who: format!("another thread's {}", of(before_second)),
            verb: RUN,
            where_to: format!(
                "before {} and then {} after {}{SAME}",
                of(second),
                match is_same(&before_second.place, &after_first.place) {
                    true => "again".to_owned(),
                    false => format!("its {}", of(after_first)),
                },
                of(first)
            ),
        },
    }
}

/// The intervening access: `line 75`; `another thread's line 9` where that is one of the two lines.
fn other(remote: &Operation, ends: [&Operation; 2], beside: &Place) -> String {
    let own = |end: &&Operation| is_same(&end.place, &remote.place);
    let at = line(&remote.place, beside);
    match ends.iter().any(own) {
        true => format!("another thread's {at}"),
        false => at,
    }
}

/// A place in the file that all of these are in, beside which their lines need no file; none where there are several.
fn beside(all: &[&Operation]) -> Place {
    let first = all.first().map(|one| one.place.clone());
    let first = first.unwrap_or_default();
    let is_one = all.iter().all(|one| one.place.file == first.file);
    if is_one { first } else { Place::default() }
}

/// `lines 61 and 62`, `the read and the write of line 9`.
fn gap(first: &Operation, second: &Operation, beside: &Place) -> String {
    if !is_same(&first.place, &second.place) {
        return both(first, second, beside);
    }
    let at = line(&first.place, beside);
    match first.access == second.access {
        true => format!("two visits of {at}"),
        false => format!("the {} and the {} of {at}", noun(first), noun(second)),
    }
}

fn noun(operation: &Operation) -> &'static str {
    match operation.access {
        AccessClass::Read => "read",
        AccessClass::Write => "write",
        AccessClass::Update => "update",
    }
}

/// `lines 21 and 22`, `line 21`, `line 21 and list.c:4`.
fn both(first: &Operation, second: &Operation, beside: &Place) -> String {
    let (a, b) = (&first.place, &second.place);
    let is_beside = |place: &Place| place.file == beside.file && place.line != 0;
    match () {
        () if is_same(a, b) => line(a, beside),
        () if is_beside(a) && is_beside(b) => format!("lines {} and {}", a.line, b.line),
        () => format!("{} and {}", line(a, beside), line(b, beside)),
    }
}

fn is_same(a: &Place, b: &Place) -> bool {
    (&a.file, a.line) == (&b.file, b.line)
}

fn more_than_in_words(number: u32) -> String {
    match number {
        0 => String::new(),
        1 => " more than once".to_owned(),
        2 => " more than twice".to_owned(),
        other => format!(" more than {other} times"),
    }
}

/// `line 100`, or `bank.c:100` when it is in another file than `beside`.
pub fn line(place: &Place, beside: &Place) -> String {
    if place.file == beside.file && place.line != 0 {
        format!("line {}", place.line)
    } else {
        short(place)
    }
}

/// `In all 97 passing runs`, `In 12 of 97 passing runs`, `In the only passing run`.
pub fn in_runs(runs: u32, of: u32) -> String {
    match (runs, of) {
        (1, 1) => "In the only passing run".to_owned(),
        (runs, of) if runs == of => format!("In all {of} passing runs"),
        (runs, of) => format!("In {runs} of {of} passing runs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_are_counted_as_people_do() {
        let told = [1, 2, 3, 11, 22].map(|number| {
            let thread = "main.1".to_owned();
            visit_of(&Visit { thread, number }, "line 4", "count")
        });
        let times = |time: &str| format!("main.1 ran line 4 for the {time} time");
        assert_eq!(told[0], "main.1 ran line 4");
        assert_eq!(told[1..], ["2nd", "3rd", "11th", "22nd"].map(times));
        let (thread, number) = ("main.1".to_owned(), 2);
        assert_eq!(
            visit_of(&Visit { thread, number }, "line 4", "rod[2]"),
            "main.1 ran line 4 on the same data for the 2nd time"
        );
    }
}
