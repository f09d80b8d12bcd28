//! Literal evaluation of the claims on whole runs: quadratic and worse, for tests.

use super::{Claim, Operation, Visit};
use crate::{facts, pairs::AccessClass};
use std::collections::BTreeSet;
use unsnarl_trace::Run;

struct NaiveRow<'a> {
    thread: String,
    place: (&'a str, u32),
    access: AccessClass,
    location: &'a str,
}

impl NaiveRow<'_> {
    fn is(&self, operation: &Operation) -> bool {
        let place = &operation.place;
        self.place == (place.file.as_str(), place.line) && self.access == operation.access
    }
}

fn rows(run: &Run) -> Vec<NaiveRow<'_>> {
    let accesses = run.events.iter().filter_map(|(_, event)| {
        let site = run.meta.site(event.site);
        Some(NaiveRow {
            thread: facts::thread_name(run, event.thread),
            place: (&site.file, site.line),
            access: AccessClass::of(event.kind)?,
            location: run.location(event.location),
        })
    });
    accesses.collect()
}

/// Returns whether a run has what is claimed.
pub(crate) fn is_had(claim: &Claim, run: &Run) -> bool {
    match claim {
        Claim::Between {
            first,
            remote,
            second,
        } => between(&rows(run), [first, remote, second], false),
        other => holds(other, run),
    }
}

/// Returns whether the claim holds in this run.
pub(crate) fn holds(claim: &Claim, run: &Run) -> bool {
    let rows = rows(run);
    match claim {
        Claim::Between {
            first,
            remote,
            second,
        } => between(&rows, [first, remote, second], true),
        Claim::Overlap {
            first,
            second,
            after_first,
            before_second,
            in_this_order,
        } => {
            let (p, q) = match in_this_order {
                true => (after_first, before_second),
                false => (before_second, after_first),
            };
            let own = match first == second {
                true => passes(&rows, first),
                false => steps(&rows, first, second),
            };
            let others = steps(&rows, p, q);
            own.iter().any(|(a, d)| {
                others.iter().any(|(p, q)| {
                    let (b, c) = if *in_this_order { (p, q) } else { (q, p) };
                    rows[*a].thread != rows[*p].thread
                        && a < b
                        && c < d
                        && rows[*a].location == rows[*b].location
                        && rows[*c].location == rows[*d].location
                })
            })
        }
        Claim::Before {
            early,
            late,
            location,
            visit,
        } => before(&rows, early, None, late, location, visit.as_ref()),
        Claim::After {
            early,
            late,
            location,
        } => (0..rows.len()).any(|j| {
            let is_before = |i: usize| {
                rows[i].is(early)
                    && rows[i].location == location
                    && rows[i].thread != rows[j].thread
            };
            rows[j].is(late) && rows[j].location == location && (0..j).any(is_before)
        }),
        Claim::BeforeBy {
            early,
            by,
            late,
            location,
            visit,
        } => before(&rows, early, Some(by), late, location, Some(visit)),
        Claim::Together { one, other } => {
            let of = |(early, late, location): &(Operation, Operation, String)| {
                before(&rows, early, None, late, location, None)
            };
            of(one) == of(other)
        }
        Claim::ReadsFrom {
            write,
            read,
            more_than,
        } => {
            let from = |at: &usize| {
                let source = last_write(&rows, *at);
                rows[*at].is(read)
                    && source.is_some_and(|source| {
                        rows[source].is(write) && rows[source].thread != rows[*at].thread
                    })
            };
            (0..rows.len()).filter(from).count() > *more_than as usize
        }
        Claim::Follows { head, tail } => (0..rows.len()).any(|at| follows(&rows, head, tail, at)),
    }
}

fn last_write(rows: &[NaiveRow<'_>], at: usize) -> Option<usize> {
    (0..at).rev().find(|&earlier| {
        rows[earlier].location == rows[at].location && rows[earlier].access != AccessClass::Read
    })
}

fn follows(rows: &[NaiveRow<'_>], head: &Operation, tail: &Operation, at: usize) -> bool {
    let source = last_write(rows, at);
    let other = |earlier: usize| rows[earlier].is(head) && rows[earlier].thread != rows[at].thread;
    let since = source.map_or(0, |source| source + 1);
    let is_reader = |earlier: usize| {
        rows[earlier].location == rows[at].location
            && rows[earlier].access == AccessClass::Read
            && other(earlier)
    };
    let overwrites = rows[at].access != AccessClass::Read && (since..at).any(is_reader);
    rows[at].is(tail) && (source.is_some_and(other) || overwrites)
}

fn between(
    rows: &[NaiveRow<'_>],
    [first, remote, second]: [&Operation; 3],
    only_the_next: bool,
) -> bool {
    let same = |a: usize, b: usize| {
        rows[a].thread == rows[b].thread && rows[a].location == rows[b].location
    };
    (0..rows.len()).filter(|&k| rows[k].is(second)).any(|k| {
        let last = (0..k).rev().find(|&i| same(i, k) && rows[i].is(first));
        last.is_some_and(|i| {
            let is_next = !only_the_next || !(i + 1..k).any(|j| same(j, k) && rows[j].is(second));
            let comes = |j: usize| {
                rows[j].is(remote)
                    && rows[j].thread != rows[k].thread
                    && rows[j].location == rows[k].location
            };
            is_next && (i + 1..k).any(comes)
        })
    })
}

/// Positions of `first` and the next `second` of one thread.
fn steps(rows: &[NaiveRow<'_>], first: &Operation, second: &Operation) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for k in (0..rows.len()).filter(|&k| rows[k].is(second)) {
        let own = |j: &usize| rows[*j].thread == rows[k].thread;
        let last = (0..k).rev().filter(own).find(|&i| rows[i].is(first));
        if let Some(i) = last
            && !(i + 1..k).filter(own).any(|j| rows[j].is(second))
        {
            found.push((i, k));
        }
    }
    found
}

/// Each two accesses of different locations that a thread makes without coming to a location again. A pass begins where it
/// does.
fn passes(rows: &[NaiveRow<'_>], operation: &Operation) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let threads: BTreeSet<&str> = rows.iter().map(|row| row.thread.as_str()).collect();
    for thread in threads {
        let own = (0..rows.len()).filter(|&i| rows[i].thread == thread && rows[i].is(operation));
        let mut pass: Vec<usize> = Vec::new();
        for k in own {
            if pass.iter().any(|&i| rows[i].location == rows[k].location) {
                pass.clear();
            }
            found.extend(pass.iter().map(|&i| (i, k)));
            pass.push(k);
        }
    }
    found
}

fn before(
    rows: &[NaiveRow<'_>],
    early: &Operation,
    by: Option<&Visit>,
    late: &Operation,
    location: &str,
    visit: Option<&Visit>,
) -> bool {
    let here: Vec<&NaiveRow<'_>> = rows.iter().filter(|row| row.location == location).collect();
    let visits = here
        .iter()
        .enumerate()
        .filter(|(_, row)| row.is(late) && visit.is_none_or(|visit| visit.thread == row.thread));
    let number = visit.map_or(1, |visit| visit.number) as usize;
    let Some((at, _)) = visits.take(number).nth(number - 1) else {
        return false;
    };
    let early = here[..at]
        .iter()
        .filter(|row| row.is(early) && by.is_none_or(|by| by.thread == row.thread));
    early.count() >= by.map_or(1, |by| by.number) as usize
}
