//! A checker of orders: decides whether an order of a run's events is feasible. Shares no code with the
//! makers of orders.
//!
//! An order counts as feasible when each thread does what it did in the run, in its program order and from
//! its beginning, and the rules of synchronization hold ([`unsnarl_order::Rule`]). The actions of a thread are
//! taken as recorded: whether a read that sees another value takes another branch, only an execution shows.

#[cfg(test)]
mod tests;

use super::WitnessOrder;
use crate::facts;
use unsnarl_order::{
    NONE, Rule, Violation,
    checker::{Constraints, Replay},
};
use unsnarl_trace::{EventId, EventKind, Run};

/// Reason why an order is infeasible.
pub type Infeasible = Violation<EventId>;

/// `main.1: lock m at a.c:7`.
pub(super) fn event_in_words(run: &Run, id: EventId) -> String {
    let Some(event) = run.events.get(id) else {
        return format!("event {}, which the run does not have", id.0);
    };
    let mut words = format!(
        "{}: {}",
        facts::thread_name(run, event.thread),
        event.kind.name()
    );
    let location = run.location(event.location);
    if !location.is_empty() {
        words.push_str(&format!(" {location}"));
    }
    let place = facts::place(run, event.site);
    if place.line != 0 {
        words.push_str(&format!(" at {}", facts::short(&place)));
    }
    words
}

/// Checks one order. Make a [`Checker`] for many orders of a run.
pub fn check(run: &Run, order: &WitnessOrder) -> Result<(), Infeasible> {
    Checker::new(run).check(&order.events)
}

/// Constraints of a run on its feasible orders: made once for a run, in time linear in its events (and in the
/// square of the threads at a barrier); each check is then linear in the order.
#[derive(Debug)]
pub struct Checker<'r> {
    run: &'r Run,
    constraints: Constraints,
    /// The thread's preceding row, by row.
    previous: Vec<u32>,
    /// Exclusive bound of the thread numbers.
    threads: usize,
}

impl<'r> Checker<'r> {
    /// Prepares the run.
    pub fn new(run: &'r Run) -> Checker<'r> {
        let threads = run.events.threads();
        let most = threads.iter().max();
        let mut last = vec![NONE; most.map_or(0, |most| usize::from(*most) + 1)];
        let previous = (0..).zip(threads).map(|(row, &thread)| {
            let last = last.get_mut(usize::from(thread));
            last.map_or(NONE, |last| std::mem::replace(last, row))
        });
        Checker {
            run,
            constraints: Constraints::new(run),
            previous: previous.collect(),
            threads: last.len(),
        }
    }

    /// Checks whether an order is feasible.
    pub fn check(&self, order: &[EventId]) -> Result<(), Infeasible> {
        let (threads, kinds) = (self.run.events.threads(), self.run.events.kinds());
        let rows = order.iter().map(|event| event.0);
        let mut replay = Replay::new(&self.constraints, self.run, rows);
        let mut progress = vec![NONE; self.threads];
        let mut before = NONE;
        for &event in order {
            let row = event.0;
            let (Some(&thread), Some(&kind)) =
                (threads.get(event.index()), kinds.get(event.index()))
            else {
                return Err(broken(row, None, Rule::Known));
            };
            let mut mine = NONE;
            let last = progress.get_mut(usize::from(thread)).unwrap_or(&mut mine);
            self.in_program_order(row, *last)?;
            if before != *last {
                self.is_whole(row, *last, before)?;
            }
            match kind > EventKind::Fence as u8 || *last == NONE {
                true => replay
                    .step(row)
                    .map_err(|(_, other, rule)| broken(row, other, rule))?,
                false => replay.pass(row),
            }
            *last = row;
            before = row;
        }
        Ok(())
    }

    fn in_program_order(&self, row: u32, last: u32) -> Result<(), Infeasible> {
        let expected = self.previous.get(row as usize).copied().unwrap_or(NONE);
        if expected == last {
            return Ok(());
        }
        let rule = if last == row {
            Rule::Known
        } else {
            Rule::Program
        };
        let other = [expected, last].into_iter().find(|other| *other != NONE);
        Err(broken(row, other, rule))
    }

    /// Checks that the rows of one access are adjacent; `last` is the thread's preceding event, `before` the
    /// order's.
    fn is_whole(&self, row: u32, last: u32, before: u32) -> Result<(), Infeasible> {
        let sequence = self.run.events.sequence();
        let of = |row: u32| sequence.get(row as usize);
        match last != NONE && of(row) == of(last) && before != NONE {
            true => Err(broken(row, Some(before), Rule::Whole)),
            false => Ok(()),
        }
    }
}

fn broken(row: u32, other: Option<u32>, rule: Rule) -> Infeasible {
    Violation {
        step: EventId(row),
        other: other.map(EventId),
        rule,
    }
}
