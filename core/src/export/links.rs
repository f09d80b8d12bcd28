//! Links between threads: values and synchronization that one thread got from another.

use crate::orders::{Accesses, DependencyKind, HappensBefore, dependencies};
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, EventKind, Run};

/// Kind of a link between two threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkKind {
    /// The later event read the value that the earlier one wrote.
    Value,
    /// The later event overwrote a value that the earlier one wrote or read.
    Overwrites,
    /// Synchronization: the earlier event happens before the later one.
    Order,
}

/// A link between events of two threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventLink {
    /// The later event.
    pub to: EventId,
    /// The earlier event.
    pub from: EventId,
    /// Kind of the link.
    pub kind: LinkKind,
}

/// The links between threads, sorted by their later event: each read with the write whose value it is the
/// first of its thread to see, each write with the accesses whose value it destroyed, and synchronization
/// without edges implied by others. Linear in the events, times the number of threads at events that learn of
/// others.
pub fn links(run: &Run) -> Vec<EventLink> {
    let mut found = Vec::new();
    dependencies(run, &Accesses::new(run), |dependency| {
        let kind = match dependency.kind {
            DependencyKind::Flow => LinkKind::Value,
            DependencyKind::Anti | DependencyKind::Output => LinkKind::Overwrites,
        };
        if dependency.direct {
            found.push(EventLink {
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

/// Synchronization links: the knowledge of each other thread that a thread gained at an event, except for
/// that gained by way of a third one.
fn synchronization(run: &Run, found: &mut Vec<EventLink>) {
    let order = HappensBefore::new(run, &mut Vec::new());
    let rows = rows_of_threads(run);
    for (&of, own) in &rows {
        // A thread's knowledge from its creation is recorded at the fork, which is no event of its own.
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
                    .map(|&(_, from)| EventLink {
                        to,
                        from,
                        kind: LinkKind::Order,
                    }),
            );
        }
    }
}

/// The rows of each thread. Branches are left out, since no other thread learns of them.
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
