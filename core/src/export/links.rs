//! What one thread got from another: the arrows between threads.

use crate::orders::{Accesses, DependencyKind, HappensBefore, dependencies};
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, EventKind, Run};

/// By what two threads met.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkKind {
    /// The later event read what the earlier one wrote.
    Value,
    /// The later event wrote over what the earlier one wrote or read.
    Overwrites,
    /// Synchronization: the later event knows of the earlier one.
    Order,
}

/// An arrow between events of two threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Link {
    /// The later event.
    pub to: EventId,
    /// The earlier event.
    pub from: EventId,
    /// By what.
    pub kind: LinkKind,
}

/// The arrows between threads, sorted by where they end: each read with the write whose value it is the first of its
/// thread to see, each write with what it destroyed, and synchronization without what follows from other arrows of
/// synchronization. Linear in the events, times the number of threads for those that learn of others.
pub fn links(run: &Run) -> Vec<Link> {
    let mut found = Vec::new();
    dependencies(run, &Accesses::new(run), |dependency| {
        let kind = match dependency.kind {
            DependencyKind::Flow => LinkKind::Value,
            DependencyKind::Anti | DependencyKind::Output => LinkKind::Overwrites,
        };
        if dependency.direct {
            found.push(Link {
                to: dependency.tail,
                from: dependency.head,
                kind,
            });
        }
    });
    synchronization(run, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// What a thread learned of each other thread where it learned something, less what it learned of a thread by way of
/// another one.
fn synchronization(run: &Run, found: &mut Vec<Link>) {
    let order = HappensBefore::new(run, &mut Vec::new());
    let rows = rows_of_threads(run);
    for (&of, own) in &rows {
        // What a thread knows from its creation stands at the fork, which is no event of its own.
        let learned = order.learned_at(of).into_iter();
        let mut at: Vec<usize> = learned
            .map(|row| own.partition_point(|&own| own < row))
            .collect();
        at.dedup();
        for at in at {
            let Some(&row) = own.get(at) else { continue };
            let to = EventId(row);
            let before = at.checked_sub(1).and_then(|at| own.get(at));
            let news: Vec<(u16, EventId)> = rows
                .iter()
                .filter(|&(&other, _)| other != of)
                .filter_map(|(&other, theirs)| {
                    let upto = order.known(to, of, other);
                    let known = before.map_or(0, |&row| order.known(EventId(row), of, other));
                    let last = theirs.partition_point(|&theirs| theirs < upto);
                    let last = *theirs.get(last.checked_sub(1)?)?;
                    (last >= known).then_some((other, EventId(last)))
                })
                .collect();
            let is_told = |(other, last): &(u16, EventId)| {
                news.iter()
                    .any(|(via, from)| via != other && order.ordered(*last, *other, *from, *via))
            };
            found.extend(
                news.iter()
                    .filter(|new| !is_told(new))
                    .map(|&(_, from)| Link {
                        to,
                        from,
                        kind: LinkKind::Order,
                    }),
            );
        }
    }
}

/// The rows of each thread. Branches are no steps that anybody learns of.
fn rows_of_threads(run: &Run) -> BTreeMap<u16, Vec<u32>> {
    let mut rows: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
    let events = run.events.threads().iter().zip(run.events.kinds());
    for (row, (&thread, &kind)) in events.enumerate() {
        if kind != EventKind::Branch as u8 {
            rows.entry(thread).or_default().push(row as u32);
        }
    }
    rows
}
