//! Calls of functions that hold a lock, from their first to their last locked access.

use super::{AtomicRegion, calls::CallsInProgress};
use crate::{
    orders::{LocksetId, LocksetWalk},
    predict::ForcedOrder,
};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, EventKind, ThreadId};

/// The locked accesses of one call.
struct Locked {
    stretch: AtomicRegion,
    /// Site of the first one, and its section.
    site: u32,
    section: Option<usize>,
}

/// The stretches, one for each call; one pass over the events.
pub(super) fn stretches(graph: &ForcedOrder<'_>) -> Vec<AtomicRegion> {
    let events = &graph.run().events;
    let mut calls = CallsInProgress::new(graph.run());
    let threads = (0..graph.threads().count()).map(|thread| ThreadId(thread as u16));
    let mut held: Vec<LocksetWalk<'_>> = threads
        .map(|thread| graph.locksets().walk(thread))
        .collect();
    let mut open: FxHashMap<u32, Locked> = FxHashMap::default();
    let mut done = Vec::new();
    let columns = events.threads().iter().zip(events.kinds());
    let columns = columns.zip(events.sites().iter().zip(events.stacks()));
    for (row, ((&thread, &kind), (&site, &stack))) in (0..).map(EventId).zip(columns) {
        let call = calls.of(thread, site, stack);
        let held = held.get_mut(usize::from(thread)).map(|walk| walk.at(row));
        let (lockset, section) = held.unwrap_or_default();
        if kind > EventKind::Rmw as u8 || lockset == LocksetId(0) {
            continue;
        }
        let again = |locked: &Locked| locked.site == site && locked.section != section;
        match open.get_mut(&call) {
            Some(locked) if !again(locked) => locked.stretch.last = row,
            _ => {
                let stretch = AtomicRegion {
                    thread: ThreadId(thread),
                    first: row,
                    last: row,
                };
                let locked = Locked {
                    stretch,
                    site,
                    section,
                };
                done.extend(open.insert(call, locked).map(|locked| locked.stretch));
            }
        }
    }
    done.extend(open.into_values().map(|locked| locked.stretch));
    done
}
