//! Stretches of functions that call several others which hold a lock: a check in one and its action in
//! another are meant as one step.

use super::AtomicRegion;
use crate::{
    orders::{LocksetId, LocksetWalk},
    predict::ForcedOrder,
};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, EventKind, FrameRow, IndexVec, Run, SiteId, StackId, ThreadId};

/// A calling function of a thread: the stack of its own call, and its number.
type Caller = (u16, u32, u32);

/// Calls made so far by a function.
struct OpenCalls {
    stretch: AtomicRegion,
    /// Sites of the calls, in order.
    calls: Vec<u32>,
    /// The section of the last access.
    section: Option<usize>,
}

/// The stretches with at least two calls; one pass over the events.
pub(super) fn stretches(graph: &ForcedOrder<'_>) -> Vec<AtomicRegion> {
    let run = graph.run();
    let functions = FunctionNumbers::new(run);
    let events = &run.events;
    let threads = (0..graph.threads().count()).map(|thread| ThreadId(thread as u16));
    let mut held: Vec<LocksetWalk<'_>> = threads
        .map(|thread| graph.locksets().walk(thread))
        .collect();
    let mut open: FxHashMap<Caller, OpenCalls> = FxHashMap::default();
    let mut done = Vec::new();
    let columns = events.threads().iter().zip(events.kinds());
    let columns = columns.zip(events.stacks());
    for (row, ((&thread, &kind), &stack)) in (0..).map(EventId).zip(columns) {
        let held = held.get_mut(usize::from(thread)).map(|walk| walk.at(row));
        let (lockset, section) = held.unwrap_or_default();
        if kind > EventKind::Rmw as u8 || lockset == LocksetId(0) {
            continue;
        }
        let Some((caller, call)) = functions.caller(run, thread, stack) else {
            continue;
        };
        match open.get_mut(&caller) {
            Some(known) if known.goes_on(call, section) => known.extend(row, call, section),
            _ => {
                let new = OpenCalls::new(ThreadId(thread), row, call, section);
                done.extend(open.insert(caller, new).and_then(OpenCalls::stretch));
            }
        }
    }
    done.extend(open.into_values().filter_map(OpenCalls::stretch));
    done
}

impl OpenCalls {
    fn new(thread: ThreadId, row: EventId, call: u32, section: Option<usize>) -> OpenCalls {
        OpenCalls {
            stretch: AtomicRegion {
                thread,
                first: row,
                last: row,
            },
            calls: vec![call],
            section,
        }
    }

    /// Returns whether an access continues the stretch: the same call in the same section, or a call that has
    /// not come yet; otherwise it is a loop.
    fn goes_on(&self, call: u32, section: Option<usize>) -> bool {
        let is_same = self.calls.last() == Some(&call) && self.section == section;
        is_same || !self.calls.contains(&call)
    }

    fn extend(&mut self, row: EventId, call: u32, section: Option<usize>) {
        self.stretch.last = row;
        self.section = section;
        if self.calls.last() != Some(&call) {
            self.calls.push(call);
        }
    }

    fn stretch(self) -> Option<AtomicRegion> {
        (self.calls.len() > 1).then_some(self.stretch)
    }
}

/// Numbers of the functions that contain each site.
struct FunctionNumbers(IndexVec<SiteId, u32>);

impl FunctionNumbers {
    fn new(run: &Run) -> FunctionNumbers {
        let mut numbers: FxHashMap<(&str, &str), u32> = FxHashMap::default();
        let sites = run.meta.sites.iter();
        let numbered = sites.map(|site| {
            let next = numbers.len() as u32;
            *numbers.entry((&site.file, &site.function)).or_insert(next)
        });
        FunctionNumbers(numbered.collect())
    }

    /// The caller of an event's function, and the site of the call.
    fn caller(&self, run: &Run, thread: u16, stack: u32) -> Option<(Caller, u32)> {
        if stack == 0 {
            return None;
        }
        let FrameRow(outer, call) = run.meta.frame(StackId(stack));
        Some(((thread, outer.0, self.0[call]), call.0))
    }
}
