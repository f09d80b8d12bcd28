//! One order executed: did the program have it, and how did it end?

use crate::{
    dsp::{Executor, WAYS, why_not},
    executable::listed,
};
use anyhow::Result;
use unsnarl_core::{Tally, explain::Turned};
use unsnarl_recorder::proposal::{ScheduleEnd, TrialError};
use unsnarl_trace::{Event, EventId, EventKind, Outcome, Policy, Proposal, Run, Wanted};

/// Result of executing an order.
pub enum OrderAttempt {
    /// The program had it, and passed so often of so many executions.
    Passes { passes: u32, of: u32 },
    /// The program had it, and failed however it went on.
    Fails { run: Box<Run>, why: String },
    /// The program did not have it.
    NotHad,
    /// Its time is over, or the user stopped it.
    Stopped,
}

/// Executes an order of a failing run, as far as it says; `passed` is a run in which what is awaited comes.
pub fn attempt(
    executor: &Executor<'_>,
    turned: &Turned,
    passed: Option<&Run>,
) -> Result<OrderAttempt> {
    let mut last = OrderAttempt::NotHad;
    for order in &turned.orders {
        let Some(proposal) = beginning(executor, turned, order, passed) else {
            return Ok(OrderAttempt::NotHad);
        };
        last = ways(executor, &proposal)?;
        if !matches!(last, OrderAttempt::NotHad) {
            break;
        }
    }
    Ok(last)
}

/// One of the orders as a proposal; none when what it waits for comes in no run that passed.
fn beginning(
    executor: &Executor<'_>,
    turned: &Turned,
    order: &[EventId],
    passed: Option<&Run>,
) -> Option<Proposal> {
    let events = listed(executor.run, &turned.pair, order);
    let mut proposal = Proposal::of_events(executor.run, &events);
    if let Some(absent) = &turned.awaited {
        let place = &absent.place;
        let of = AwaitedWrite {
            place: (&place.file, place.line),
            by: &absent.thread,
            location: location(executor.run, turned.until),
        };
        let passed = passed?;
        let comes = anywhere(passed, of.row(passed)?)?;
        let comes = next_in(executor.run, &events, comes, absent.times);
        proposal.events.push(comes);
    }
    Some(proposal)
}

/// The name of the location of a row.
pub fn location(run: &Run, row: EventId) -> &str {
    let event = run.events.get(row);
    event.map_or("", |event| run.location(event.location))
}

/// A write that the failing run never reached.
pub struct AwaitedWrite<'a> {
    /// File and line.
    pub place: (&'a str, u32),
    /// Its thread; empty where several threads could do it.
    pub by: &'a str,
    /// The location that was read before it. A line may write several, as in a loop over an array.
    pub location: &'a str,
}

impl AwaitedWrite<'_> {
    /// The first row of another run that writes there: the location if it has one of that name, else any.
    pub fn row(&self, run: &Run) -> Option<EventId> {
        let here = |kind: EventKind, site| {
            let site = run.meta.site(site);
            kind.writes() && (site.file.as_str(), site.line) == self.place
        };
        let is_by = |thread| self.by.is_empty() || run.meta.thread(thread).name == self.by;
        let events = run.events.iter();
        let mut found =
            events.filter(|(_, event)| here(event.kind, event.site) && is_by(event.thread));
        let first = found.next()?;
        let is_it = |(_, event): &(EventId, Event)| run.location(event.location) == self.location;
        let (row, _) = std::iter::once(first)
            .chain(found)
            .find(is_it)
            .unwrap_or(first);
        Some(row)
    }
}

/// An event of another run, whatever its location is called.
pub fn anywhere(run: &Run, row: EventId) -> Option<Wanted> {
    let mut wanted = Proposal::of_events(run, &[row]).events.pop()?;
    wanted.location = String::new();
    Some(wanted)
}

/// The event as the next one of its kind that the failing run lacks: in a loop, that of the round in which it ended. It is
/// counted from the thread's last one of the events that come before it in a schedule. It is the one with the number `times` of
/// the whole run, if that comes later.
pub fn next_in(failing: &Run, before: &[EventId], wanted: Wanted, times: u32) -> Wanted {
    let is_own = |thread| failing.meta.thread(thread).name == wanted.thread;
    let mut own = before.iter().rev().copied();
    let after = own.find(|row| is_own(failing.events.thread(*row)));
    let rows = failing.events.iter().filter(|(_, event)| {
        let site = failing.meta.site(event.site);
        let is_here = (site.line, site.column) == (wanted.line, wanted.column);
        let is_it = !wanted.changes || event.is_changing_update();
        let is_same = event.kind == wanted.kind && is_it && is_here && site.file == wanted.file;
        is_same && is_own(event.thread)
    });
    let mut done: Vec<(bool, u64)> = rows
        .map(|(row, event)| (after.is_some_and(|after| row <= after), event.seq))
        .collect();
    done.dedup();
    let before = done.iter().filter(|(is_before, _)| *is_before).count() as u32;
    let since = done.len() as u32 - before;
    Wanted {
        nth: (since + 1).max(times.saturating_sub(before)),
        ..wanted
    }
}

/// Executes a beginning and goes on after it in several ways, until one passes.
fn ways(executor: &Executor<'_>, proposal: &Proposal) -> Result<OrderAttempt> {
    let mut fails = None;
    for then in WAYS {
        let proposal = Proposal {
            then,
            ..proposal.clone()
        };
        let verdict = match executor.once(&proposal) {
            Ok(Some(verdict)) => verdict,
            Ok(None) => return Ok(OrderAttempt::Stopped),
            Err(TrialError::NoSite(..)) => return Ok(OrderAttempt::NotHad),
            Err(error) => return Err(error.into()),
        };
        match &verdict.ended {
            ScheduleEnd::Reached if verdict.run.meta.outcome == Outcome::Passed => {
                return again(executor, &proposal);
            }
            ScheduleEnd::Reached => {
                let why = why_not(&verdict).unwrap_or_default();
                fails.get_or_insert((Box::new(verdict.run), why));
            }
            // How it goes on does not matter to an order that was not had.
            ScheduleEnd::Diverged(_) | ScheduleEnd::Deadlocked(_) => {
                return Ok(OrderAttempt::NotHad);
            }
        }
    }
    Ok(match fails {
        Some((run, why)) => OrderAttempt::Fails { run, why },
        None => OrderAttempt::NotHad,
    })
}

/// The other executions of an order that passed once.
fn again(executor: &Executor<'_>, proposal: &Proposal) -> Result<OrderAttempt> {
    let (mut passes, mut of) = (1, 1);
    while u64::from(of) < executor.times() {
        let Some(verdict) = executor.once(proposal)? else {
            break;
        };
        of += 1;
        passes += u32::from(why_not(&verdict).is_none());
    }
    Ok(OrderAttempt::Passes { passes, of })
}

/// Ways in which the failing order goes on, to be compared with.
const CONTROL: [Policy; 6] = [
    Policy::Sequential,
    Policy::Random { seed: 0 },
    Policy::Random { seed: 1 },
    Policy::Random { seed: 2 },
    Policy::Random { seed: 3 },
    Policy::Random { seed: 4 },
];

/// Does the order that is turned round decide it?
pub enum Control {
    /// The failing run, executed as far as the order goes, fails however it goes on, or much more often.
    Decides,
    /// It passes as well, so often of so many executions: that the turned order passes shows nothing.
    PassesToo { passes: u32, of: u32 },
    /// The program does not have the failing run's own beginning when it is executed so.
    NotHad,
    /// Its time is over, or the user stopped it.
    Stopped,
}

/// Compares an order that passed with the failing run's own, up to the same point and in the same ways.
pub fn control(executor: &Executor<'_>, turned: &Turned, passed: Option<&Run>) -> Result<Control> {
    let own: Vec<EventId> = (0..=turned.until.0).map(EventId).collect();
    let mut important = turned.pair.clone();
    important.push(turned.until);
    let events = listed(executor.run, &important, &own);
    let failing = Proposal::of_events(executor.run, &events);
    let Some((without, of)) = passes(executor, &failing)? else {
        return Ok(Control::Stopped);
    };
    if of == 0 {
        return Ok(Control::NotHad);
    }
    if without == 0 {
        return Ok(Control::Decides);
    }
    // Runs pass with the failing order, too: then it is a matter of how often.
    for order in &turned.orders {
        let Some(turned) = beginning(executor, turned, order, passed) else {
            break;
        };
        match passes(executor, &turned)? {
            None => return Ok(Control::Stopped),
            Some((_, 0)) => {}
            Some((with, tried)) if tried == of && with >= without + 4 => {
                return Ok(Control::Decides);
            }
            Some(_) => break,
        }
    }
    Ok(Control::PassesToo {
        passes: without,
        of,
    })
}

/// Counts how often a beginning passes, and of how many ways that have it; none when it was stopped.
fn passes(executor: &Executor<'_>, proposal: &Proposal) -> Result<Option<(u32, u32)>> {
    let (mut passes, mut of) = (0, 0);
    for then in CONTROL {
        let proposal = Proposal {
            then,
            ..proposal.clone()
        };
        let verdict = match executor.once(&proposal) {
            Ok(Some(verdict)) => verdict,
            Ok(None) => return Ok(None),
            Err(TrialError::NoSite(..)) => return Ok(Some((0, 0))),
            Err(error) => return Err(error.into()),
        };
        if verdict.ended == ScheduleEnd::Reached {
            of += 1;
            passes += u32::from(verdict.run.meta.outcome == Outcome::Passed);
        }
    }
    Ok(Some((passes, of)))
}

/// A tally in which everything went as it should, and anything was done.
pub fn is_whole(tally: Tally) -> bool {
    tally.fails > 0
        && tally.passes > 0
        && (tally.fails, tally.passes) == (tally.of_fails, tally.of_passes)
}
