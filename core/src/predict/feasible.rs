//! A checker of orders: decides whether an order of a run's events is feasible. Shares no code with the
//! makers of orders.
//!
//! An order counts as feasible when each thread does what it did in the run, in its program order and from
//! its beginning, and the rules of synchronization hold: [`Rule`] lists them. The actions of a thread are
//! taken as recorded: whether a read that sees another value takes another branch, only an execution shows.
//!
//! The checker chooses where the rows leave something open:
//! * A failed attempt at a lock needs another thread that holds it, as it did in the run, for writing if that
//!   was so (the row does not record the mode requested); one that failed on a free lock may do so anywhere.
//! * A signal wakes one of the threads that wait at that moment, the one that resumes first in the order; a
//!   signal without a waiter is lost. Waits that end by timeout or spuriously need no signal and take none.
//! * A semaphore starts with as many units as the run needs. Barriers keep their generations.
//! * Objects whose recorded use already breaks a rule (a lock released by another thread, a wakeup without a
//!   signal) keep the recorded order.

mod recorded;
mod state;
#[cfg(test)]
mod tests;

use super::Order;
use crate::facts;
use recorded::Recorded;
use state::State;
use std::fmt;
use unsnarl_trace::{EventId, EventKind, Run};

/// Reason why an order is infeasible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Infeasible {
    /// The event that cannot come at its position in the order.
    pub event: EventId,
    /// The conflicting event: one that is missing before it, or that holds the object it needs.
    pub other: Option<EventId>,
    /// The violated rule.
    pub rule: Rule,
}

/// The rules of a feasible order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// The event is in the run, once.
    Known,
    /// Each thread's events come in program order and without gaps.
    Program,
    /// The rows of one access come together.
    Whole,
    /// A thread begins after it was created.
    Fork,
    /// A join comes after the joined thread's events before it.
    Join,
    /// A lock is acquired when no other thread holds it (by readers: for writing).
    Lock,
    /// An attempt fails while another thread holds the lock.
    Attempt,
    /// A wait resumes after a signal that came while it waited.
    Signal,
    /// A semaphore's unit is taken when there is one.
    Unit,
    /// A barrier is left when all threads of its generation have arrived, and entered again after that.
    Barrier,
    /// A once-only initialization is passed when it is done.
    Once,
    /// Objects whose recorded use breaks the rules keep their order.
    AsRecorded,
}

impl Rule {
    /// The rule as a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Rule::Known => "an order has events of the run, each once",
            Rule::Program => "each thread's events come in program order and without gaps",
            Rule::Whole => "the rows of one access come together",
            Rule::Fork => "a thread begins after it was created",
            Rule::Join => "a join comes after all that the other thread does",
            Rule::Lock => "a lock is taken when no other thread holds it",
            Rule::Attempt => "an attempt at a lock fails only while another thread holds it",
            Rule::Signal => "a wait goes on after a signal that came while it waited",
            Rule::Unit => "a unit of a semaphore is taken when there is one",
            Rule::Barrier => "a barrier is left when all have come",
            Rule::Once => "a once-only initialization is passed when it is done",
            Rule::AsRecorded => {
                "what was used against the rules in the run keeps the order of the run"
            }
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

impl Infeasible {
    /// `a lock is taken when no other thread holds it: main.1: lock m at a.c:7, against main: lock m at a.c:3`
    pub fn in_words(&self, run: &Run) -> String {
        let mut words = format!("{}: {}", self.rule, event_in_words(run, self.event));
        if let Some(other) = self.other {
            words.push_str(", against ");
            words.push_str(&event_in_words(run, other));
        }
        words
    }
}

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
pub fn check(run: &Run, order: &Order) -> Result<(), Infeasible> {
    Checker::new(run).check(&order.events)
}

/// Constraints of a run on its feasible orders: made once for a run, in time linear in its events (and in the
/// square of the threads at a barrier); each check is then linear in the order.
#[derive(Debug)]
pub struct Checker<'r> {
    run: &'r Run,
    recorded: Recorded,
}

impl<'r> Checker<'r> {
    /// Prepares the run.
    pub fn new(run: &'r Run) -> Checker<'r> {
        Checker {
            run,
            recorded: Recorded::new(run),
        }
    }

    /// Checks whether an order is feasible.
    pub fn check(&self, order: &[EventId]) -> Result<(), Infeasible> {
        let (threads, kinds) = (self.run.events.threads(), self.run.events.kinds());
        let mut state = State::of_order(&self.recorded, order);
        let mut progress = vec![recorded::NONE; self.recorded.threads];
        let mut before = recorded::NONE;
        for &event in order {
            let row = event.0;
            let (Some(&thread), Some(&kind)) =
                (threads.get(event.index()), kinds.get(event.index()))
            else {
                return Err(broken(row, None, Rule::Known));
            };
            let last = progress
                .get(usize::from(thread))
                .copied()
                .unwrap_or_default();
            self.in_program_order(row, last)?;
            if before != last {
                self.is_whole(row, last, before)?;
            }
            if kind > EventKind::Fence as u8 || last == recorded::NONE {
                self.has_what_it_needs(row, &progress)?;
                state
                    .step(self.run, row)
                    .map_err(|(_, other, rule)| broken(row, other, rule))?;
            }
            if let Some(mine) = progress.get_mut(usize::from(thread)) {
                *mine = row;
            }
            before = row;
        }
        Ok(())
    }

    fn in_program_order(&self, row: u32, last: u32) -> Result<(), Infeasible> {
        let expected = self.recorded.before(row);
        if expected == last {
            return Ok(());
        }
        let rule = if last != recorded::NONE && last == row {
            Rule::Known
        } else {
            Rule::Program
        };
        let other = [expected, last]
            .into_iter()
            .find(|other| *other != recorded::NONE);
        Err(broken(row, other, rule))
    }

    /// Checks that the rows of one access are adjacent; `last` is the thread's preceding event, `before` the
    /// order's.
    fn is_whole(&self, row: u32, last: u32, before: u32) -> Result<(), Infeasible> {
        let sequence = self.run.events.sequence();
        let of = |row: u32| sequence.get(row as usize);
        match last != recorded::NONE && of(row) == of(last) && before != recorded::NONE {
            true => Err(broken(row, Some(before), Rule::Whole)),
            false => Ok(()),
        }
    }

    fn has_what_it_needs(&self, row: u32, progress: &[u32]) -> Result<(), Infeasible> {
        let done = |need: u32| {
            let thread = self.run.events.threads().get(need as usize);
            thread
                .and_then(|thread| progress.get(usize::from(*thread)))
                .is_some_and(|&upto| upto != recorded::NONE && upto >= need)
        };
        let needs = self.recorded.needs(row);
        match needs.iter().find(|(need, _)| !done(*need)) {
            Some(&(need, rule)) => Err(broken(row, Some(need), rule)),
            None => Ok(()),
        }
    }
}

fn broken(row: u32, other: Option<u32>, rule: Rule) -> Infeasible {
    Infeasible {
        event: EventId(row),
        other: other.map(EventId),
        rule,
    }
}
