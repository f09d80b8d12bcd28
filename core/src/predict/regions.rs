//! Atomic regions: stretches of one thread that should appear indivisible to others.
//!
//! Their sources are options: critical sections, calls of functions that hold a lock, the user's annotations,
//! and stretches that correct runs never show interrupted.

mod annotated;
mod callers;
mod calls;
mod functions;
mod inferred;
#[cfg(test)]
mod tests;

pub use annotated::Annotation;
pub use inferred::Inferred;

use super::{ForcedOrder, graph::Threads};
use crate::orders::Locks;
use unsnarl_trace::{EventId, EventKind, Run, ThreadId};

/// Sources of regions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionOptions {
    /// Outermost critical sections.
    pub sections: bool,
    /// Calls of functions that hold a lock, from the first to the last locked access of the call: the
    /// counterpart of synchronized methods in [pecan]'s Java. A call whose first locked line recurs under a
    /// lock that was acquired anew ends there: it was a loop.
    ///
    /// [pecan]: crate::predict
    pub functions: bool,
    /// Calls of functions that call several functions which hold a lock, from the first to the last locked
    /// access: a check and its action in two functions. They end where one of the calls recurs.
    pub callers: bool,
    /// Regions that the user declares atomic.
    pub annotations: Vec<Annotation>,
    /// Regions learned from correct runs.
    pub inferred: Inferred,
}

impl Default for RegionOptions {
    fn default() -> RegionOptions {
        RegionOptions {
            sections: true,
            functions: true,
            callers: false,
            annotations: Vec::new(),
            inferred: Inferred::default(),
        }
    }
}

/// A region of one run: index into [`Regions`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegionId(pub u32);

/// A stretch of a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AtomicRegion {
    /// Thread of the region.
    pub thread: ThreadId,
    /// Its first row.
    pub first: EventId,
    /// Its last row.
    pub last: EventId,
}

/// The atomic regions of a run. They do not overlap: of nested ones the outermost counts, as in Section 4.1
/// of [pecan], and regions that overlap otherwise are merged.
///
/// [pecan]: crate::predict
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Regions {
    /// Regions by thread, then by row.
    all: Vec<AtomicRegion>,
    /// Start of each thread's regions.
    starts: Vec<u32>,
}

impl Regions {
    /// Finds the regions of a run from the enabled sources. One pass over the events for each source.
    pub fn new(graph: &ForcedOrder<'_>, options: &RegionOptions) -> Regions {
        let mut stretches = Vec::new();
        if options.sections {
            stretches.extend(sections(graph.locks()));
        }
        if options.functions {
            stretches.extend(functions::stretches(graph));
        }
        if options.callers {
            stretches.extend(callers::stretches(graph));
        }
        if !options.annotations.is_empty() {
            stretches.extend(annotated::stretches(graph.run(), &options.annotations));
        }
        if !options.inferred.is_empty() {
            stretches.extend(options.inferred.stretches(graph.run()));
        }
        Regions::of(graph.run(), graph.threads(), stretches)
    }

    /// The outermost critical sections, up to events by which threads communicate.
    pub(super) fn of_sections(run: &Run, threads: &Threads, locks: &Locks) -> Regions {
        Regions::of(run, threads, sections(locks).collect())
    }

    /// Regions of stretches in any order, which may overlap and may contain boundaries.
    pub(super) fn of(run: &Run, threads: &Threads, mut stretches: Vec<AtomicRegion>) -> Regions {
        stretches.sort_unstable();
        let mut joined: Vec<AtomicRegion> = Vec::with_capacity(stretches.len());
        for next in stretches {
            match joined.last_mut() {
                Some(last) if last.thread == next.thread && next.first <= last.last => {
                    last.last = last.last.max(next.last);
                }
                _ => joined.push(next),
            }
        }
        let boundaries = Boundaries::new(run, threads);
        let mut all = Vec::with_capacity(joined.len());
        joined
            .into_iter()
            .for_each(|region| boundaries.cut(region, &mut all));
        let starts = (0..=threads.count()).map(|thread| {
            all.partition_point(|region: &AtomicRegion| region.thread.index() < thread) as u32
        });
        Regions {
            starts: starts.collect(),
            all,
        }
    }

    /// The region that contains the event of `thread`.
    pub fn at(&self, thread: ThreadId, event: EventId) -> Option<RegionId> {
        let start = |thread: usize| self.starts.get(thread).map(|&start| start as usize);
        let (from, to) = (start(thread.index())?, start(thread.index() + 1)?);
        let mine = self.all.get(from..to)?;
        let upto = mine.partition_point(|region| region.first <= event);
        let at = upto.checked_sub(1)?;
        let inside = mine.get(at).is_some_and(|region| event <= region.last);
        inside.then_some(RegionId((from + at) as u32))
    }

    /// The regions of a thread, in order.
    pub fn of_thread(&self, thread: ThreadId) -> &[AtomicRegion] {
        let start = |thread: usize| self.starts.get(thread).map(|&start| start as usize);
        match (start(thread.index()), start(thread.index() + 1)) {
            (Some(from), Some(to)) => self.all.get(from..to).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// A region by its id.
    pub fn get(&self, id: RegionId) -> Option<&AtomicRegion> {
        self.all.get(id.0 as usize)
    }

    /// All regions, by thread and then in order; a region's id is its place.
    pub fn all(&self) -> &[AtomicRegion] {
        &self.all
    }
}

/// Critical sections, up to the end of the run where they were not left.
fn sections(locks: &Locks) -> impl Iterator<Item = AtomicRegion> + '_ {
    locks.sections().iter().map(|section| AtomicRegion {
        thread: section.thread,
        first: section.acquired,
        last: section.released.unwrap_or(EventId(u32::MAX)),
    })
}

/// Boundaries of regions: events at which a thread waits for others or lets them go on.
struct Boundaries<'a> {
    threads: &'a Threads,
    rows: Vec<Vec<EventId>>,
}

impl<'a> Boundaries<'a> {
    fn new(run: &Run, threads: &'a Threads) -> Boundaries<'a> {
        let mut rows = vec![Vec::new(); threads.count()];
        let columns = run.events.threads().iter().zip(run.events.kinds());
        for (row, (&thread, &kind)) in columns.enumerate() {
            if is_boundary(kind)
                && let Some(rows) = rows.get_mut(usize::from(thread))
            {
                rows.push(EventId(row as u32));
            }
        }
        Boundaries { threads, rows }
    }

    /// Cuts a stretch at boundaries into parts with at least one event.
    fn cut(&self, region: AtomicRegion, into: &mut Vec<AtomicRegion>) {
        let rows = self.rows.get(region.thread.index());
        let rows = rows.map_or(&[][..], Vec::as_slice);
        let from = rows.partition_point(|&row| row < region.first);
        let inside = rows.get(from..).unwrap_or(&[]).iter();
        let mut first = region.first;
        for &boundary in inside.take_while(|&&row| row <= region.last) {
            self.add(region.thread, first, boundary.0.checked_sub(1), into);
            first = EventId(boundary.0 + 1);
        }
        self.add(region.thread, first, Some(region.last.0), into);
    }

    /// Adds the events of the thread from `first` to `last`, if there are any.
    fn add(
        &self,
        thread: ThreadId,
        first: EventId,
        last: Option<u32>,
        into: &mut Vec<AtomicRegion>,
    ) {
        let events = self.threads.of(thread);
        let from = events.partition_point(|&event| event < first);
        let to = events.partition_point(|&event| last.is_some_and(|last| event.0 <= last));
        let inside = events.get(from..to).unwrap_or(&[]);
        if let (Some(&first), Some(&last)) = (inside.first(), inside.last()) {
            into.push(AtomicRegion {
                thread,
                first,
                last,
            });
        }
    }
}

fn is_boundary(kind: u8) -> bool {
    EventKind::from_u8(kind).is_some_and(|kind| kind.role().bounds_regions())
}
