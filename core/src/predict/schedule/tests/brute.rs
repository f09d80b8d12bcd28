//! All feasible orders of a small run, by stepwise enumeration with a check of each prefix.

use crate::predict::feasible::Checker;
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind, Run};

/// Enumeration of the orders of a run.
pub(in crate::predict) struct AllOrders<'r> {
    run: &'r Run,
    checker: Checker<'r>,
    rows: Vec<Vec<u32>>,
}

/// Positions by thread, the steps of condition variables so far, the number of events shown.
type BruteStateKey = (Vec<usize>, Vec<u32>, usize);

impl<'r> AllOrders<'r> {
    pub fn new(run: &'r Run) -> AllOrders<'r> {
        let threads = run.meta.threads.len();
        let of = |thread: usize| {
            let rows = (0..).zip(run.events.threads());
            rows.filter(|(_, of)| usize::from(**of) == thread)
                .map(|(row, _)| row)
                .collect()
        };
        AllOrders {
            run,
            checker: Checker::new(run),
            rows: (0..threads).map(of).collect(),
        }
    }

    /// Returns whether some order shows these events, together or one after the other.
    pub fn has(&self, events: &[u32], together: bool) -> bool {
        self.reaches(&|order| is_shown(order, events, together), &|order| {
            let upto = |n: &usize| is_shown(order, &events[..*n], false);
            (0..=events.len()).rev().find(upto).unwrap()
        })
    }

    /// Calls back for each order, with the next row of each thread.
    pub fn each(&self, look: impl FnMut(&[u32], &[Option<u32>])) {
        let look = std::cell::RefCell::new(look);
        let never = |order: &[u32]| {
            let next = |rows: &Vec<u32>| rows.iter().copied().find(|row| !order.contains(row));
            let next: Vec<_> = self.rows.iter().map(next).collect();
            look.borrow_mut()(order, &next);
            false
        };
        assert!(!self.reaches(&never, &|_| 0));
    }

    fn reaches(&self, goal: &dyn Fn(&[u32]) -> bool, shown: &dyn Fn(&[u32]) -> usize) -> bool {
        let mut seen: BTreeSet<BruteStateKey> = BTreeSet::new();
        let mut stack = vec![Vec::new()];
        while let Some(order) = stack.pop() {
            if goal(&order) {
                return true;
            }
            for rows in &self.rows {
                let Some(next) = rows.iter().find(|row| !order.contains(row)) else {
                    continue;
                };
                let mut longer: Vec<u32> = order.clone();
                longer.push(*next);
                let events: Vec<EventId> = longer.iter().copied().map(EventId).collect();
                if self.checker.check(&events).is_ok()
                    && seen.insert(self.key(&longer, shown(&longer)))
                {
                    stack.push(longer);
                }
            }
        }
        false
    }

    /// Identity of a prefix; it includes the last two events, which matter for adjacency.
    fn key(&self, order: &[u32], shown: usize) -> BruteStateKey {
        let done = |rows: &Vec<u32>| rows.iter().filter(|row| order.contains(row)).count();
        let conditions = order.iter().copied().filter(|row| {
            let kind = self.run.events.get(EventId(*row)).unwrap().kind;
            matches!(
                kind,
                EventKind::Wait | EventKind::Wake | EventKind::Signal | EventKind::Broadcast
            )
        });
        let last = order.iter().rev().take(2).copied();
        (
            self.rows.iter().map(done).collect(),
            conditions.chain(last).collect(),
            shown,
        )
    }
}

/// Returns whether the order shows these events: at its end without others in between, or in this order.
pub(in crate::predict) fn is_shown(order: &[u32], events: &[u32], together: bool) -> bool {
    if together {
        return order.ends_with(events);
    }
    let mut places = events
        .iter()
        .map(|event| order.iter().position(|row| row == event));
    let mut last = None;
    places.all(|place| place.is_some() && std::mem::replace(&mut last, place) < place)
}
