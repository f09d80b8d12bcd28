//! Backward dynamic slice: the accesses that flowed into the failure, with their distances.
//!
//! Data flows through memory exactly as recorded (a read saw the last write). Inside a thread the program's
//! registers and locals are not recorded, so nearness stands in: a write depends most on the reads of its own
//! line, then on earlier reads of the same location, of its function, and last on any earlier reads of the
//! thread.

use super::view::ThreadRows;
use crate::{callers::frames, facts, failed, orders::Orders};
use rustc_hash::FxHashMap;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};
use unsnarl_trace::{
    EventId, EventKind, Location, LocationId, Run, SiteId, SiteRow, ThreadId, Value,
};

/// Bound on the distances examined.
const FARTHEST: u32 = 24;
/// Bound on the accesses in a slice, the nearest ones.
const MOST: usize = 4000;
/// Bound on the rows of a thread that are searched for reads.
const WINDOW: usize = 400;

/// The distance of an access to the failure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Distance {
    /// Steps through lines that are not reached nearer.
    steps: u32,
    /// Steps to lines that are: iterations of loops, for the most part.
    repeats: u32,
}

impl Distance {
    fn of(steps: u32) -> Distance {
        Distance { steps, repeats: 0 }
    }
}

/// Distances of accesses to the failure, 0 for the reads of the failing line.
#[derive(Debug, Default)]
pub(super) struct FailureDistances {
    distance: BTreeMap<EventId, Distance>,
    nearest: Option<EventId>,
}

impl FailureDistances {
    /// Computes the slice of a failure of `failed` at `failure`; of the end of every thread when no thread
    /// failed.
    pub fn new(
        run: &Run,
        orders: &Orders,
        rows: &ThreadRows,
        failed: Option<ThreadId>,
        failure: EventId,
    ) -> FailureDistances {
        let mut walk = SliceWalk {
            run,
            orders,
            rows,
            is_text: run.locations.iter().map(|name| is_text(name)).collect(),
            distance: BTreeMap::new(),
            reached: FxHashMap::default(),
            queue: BinaryHeap::new(),
        };
        let end = EventId(run.events.len() as u32);
        let nearest = match failed {
            Some(thread) => walk.seed(thread, failure),
            None => {
                let threads = 0..run.meta.threads.len() as u16;
                for thread in threads {
                    walk.seed(ThreadId(thread), end);
                }
                None
            }
        };
        walk.run_out();
        FailureDistances {
            distance: walk.distance,
            nearest,
        }
    }

    /// Distance of an access to the failure; none when it did not flow into it.
    pub fn distance(&self, row: EventId) -> Option<u32> {
        self.distance.get(&row).map(|distance| distance.steps)
    }

    /// Iterations between an access and the failure, about; none when it did not flow into it.
    pub fn repeats(&self, row: EventId) -> Option<u32> {
        self.distance.get(&row).map(|distance| distance.repeats)
    }

    /// Accesses within a distance of the failure, in order.
    pub fn within(&self, distance: u32) -> impl Iterator<Item = EventId> {
        let near = self.distance.iter();
        near.filter(move |(_, of_row)| of_row.steps <= distance)
            .map(|(row, _)| *row)
    }

    /// The read on the failing line that is nearest to the failure.
    pub fn nearest(&self) -> Option<EventId> {
        self.nearest
    }
}

struct SliceWalk<'a> {
    run: &'a Run,
    orders: &'a Orders,
    rows: &'a ThreadRows,
    /// The constants among the run's locations, by id: asked for every read, often.
    is_text: Vec<bool>,
    distance: BTreeMap<EventId, Distance>,
    /// The least distance at which a line's access of a location was reached.
    reached: FxHashMap<(SiteId, LocationId), u32>,
    queue: BinaryHeap<Reverse<(Distance, Reverse<EventId>)>>,
}

/// Returns whether a location is a constant, as the message of an assertion.
fn is_text(location: &str) -> bool {
    location.starts_with(".rodata")
        || location.contains("__PRETTY_FUNCTION__")
        || location.contains("__func__")
}

impl SliceWalk<'_> {
    fn kind(&self, row: EventId) -> EventKind {
        self.run.events.kind(row)
    }

    fn site(&self, row: EventId) -> SiteId {
        self.run.events.site(row)
    }

    /// Returns whether the row reads a constant, as that of a failed assertion's message.
    fn is_text(&self, row: EventId) -> bool {
        let at = self.location(row).index();
        self.is_text.get(at).copied().unwrap_or(false)
    }

    /// Returns whether the row reads a block that was allocated on the failing line, as that of an exception which is thrown
    /// there.
    fn is_made_there(&self, row: EventId, failing: &SiteRow) -> bool {
        let location = self.location(row);
        let block = Location::of(self.run.location(location));
        block.is_allocated_at(facts::basename(&failing.file), failing.line)
            && !self.orders.accesses().is_shared(location)
    }

    fn push(&mut self, row: EventId, distance: Distance) {
        let known = self.distance.get(&row).copied();
        if distance.steps <= FARTHEST && known.is_none_or(|known| distance < known) {
            self.distance.insert(row, distance);
            let key = (self.site(row), self.location(row));
            let reached = self.reached.entry(key).or_insert(distance.steps);
            *reached = distance.steps.min(*reached);
            self.queue.push(Reverse((distance, Reverse(row))));
        }
    }

    /// Adds an access that flowed into one at `from`, `steps` farther away. A line that was reached before is no farther than
    /// it was then: what a loop did in its first iteration is in the sum that it ends with as much as what it did in its
    /// last.
    fn push_from(&mut self, from: Distance, row: EventId, steps: u32) {
        let key = (self.site(row), self.location(row));
        let farther = from.steps.saturating_add(steps);
        let known = self.reached.get(&key).filter(|known| **known <= farther);
        let distance = match known {
            Some(known) => Distance {
                steps: from.steps.max(*known),
                repeats: from.repeats.saturating_add(steps),
            },
            None => Distance {
                steps: farther,
                ..from
            },
        };
        self.push(row, distance);
    }

    fn run_out(&mut self) {
        let mut followed = 0;
        while let Some(Reverse((distance, Reverse(row)))) = self.queue.pop() {
            if self.distance.get(&row) != Some(&distance) {
                continue;
            }
            if followed == MOST {
                self.distance.remove(&row);
                continue;
            }
            followed += 1;
            let kind = self.kind(row);
            if kind.reads() {
                self.follow_read(row, distance);
            }
            if kind.writes() {
                self.follow_inside(row, distance);
            }
        }
    }

    /// Follows a read to the write that it saw.
    fn follow_read(&mut self, row: EventId, distance: Distance) {
        if let Some(write) = self.orders.last_write_before(self.location(row), row) {
            self.push_from(distance, write, 1);
        }
    }

    /// Follows a write to the thread's earlier reads, which may have flowed into it.
    fn follow_inside(&mut self, row: EventId, distance: Distance) {
        let event = self.run.events.event(row);
        let own = self.run.meta.site(event.site);
        let before = self.rows.before(event.thread, row);
        let mut others = 0;
        for &read in before.iter().rev().take(WINDOW) {
            if !self.kind(read).reads() || self.is_text(read) {
                continue;
            }
            let site = self.run.meta.site(self.site(read));
            let location = self.location(read);
            let near = match () {
                () if site.function == own.function && site.line == own.line => 1,
                () if location == event.location => 2,
                () if site.function == own.function && facts::carries(&site.text, &own.text) => 2,
                () if site.function == own.function => 3,
                () => 5,
            };
            self.push_from(distance, read, near + others / 4);
            others += u32::from(self.orders.accesses().is_shared(location));
            if others >= 24 {
                break;
            }
        }
    }

    fn location(&self, row: EventId) -> LocationId {
        self.run.events.location(row)
    }

    /// Adds the reads before the failure: those of its line at distance 0. Returns the nearest one.
    fn seed(&mut self, thread: ThreadId, failure: EventId) -> Option<EventId> {
        let failing = failed::site(self.run);
        // The end of the run has no site.
        let of_row = || Some(self.run.events.get(failure)?.site);
        let failing = failing.or_else(of_row).unwrap_or_default();
        let row = self.run.meta.site(failing).clone();
        let before = self
            .rows
            .before(thread, EventId(failure.0.saturating_add(1)));
        let reads = before.iter().rev().copied().take(WINDOW);
        let reads: Vec<EventId> = reads
            .filter(|&read| self.kind(read).reads() && !self.is_text(read))
            .filter(|&read| !self.is_made_there(read, &row))
            .collect();
        let calls = calls_to(self.run, failure);
        let mut nearest = None;
        let mut on_line = true;
        for (i, read) in reads.into_iter().take(40).enumerate() {
            let site = self.run.meta.site(self.site(read));
            let same_line = site.line == row.line && site.file == row.file;
            on_line &= same_line;
            let distance = match () {
                () if on_line => 0,
                // The arguments of the calls that led there.
                () if calls.contains(&(&*site.file, site.line)) => 1,
                () if facts::carries(&site.text, &row.text) => 1,
                () if site.function == row.function => 2,
                () => 3,
            };
            nearest = nearest
                .or(Some(read).filter(|&read| same_line && on_line && self.may_be_wrong(read)));
            let farther = if on_line { 0 } else { i as u32 / 3 };
            self.push(read, Distance::of(distance + farther));
        }
        if nearest.is_none() {
            self.seed_mentioned(&row.text);
        }
        nearest
    }

    /// Returns whether a value may be wrong: one without a write in this run is right, unless it is zero (as
    /// before an initialization).
    fn may_be_wrong(&self, row: EventId) -> bool {
        let value = self.run.events.event(row).value;
        let written = self
            .orders
            .last_write_before(self.location(row), row)
            .is_some();
        written || value.is_none_or(|value| value == Value::Bits(0))
    }

    /// Adds the last writes of the variables that the failing line's text mentions, for lines without a
    /// recorded read (a library made it).
    fn seed_mentioned(&mut self, text: &str) {
        const MOST_WRITES: usize = 64;
        let end = EventId(self.run.events.len() as u32);
        let accesses = self.orders.accesses();
        let mentioned = accesses.shared().filter(|location| {
            let name = facts::without_function(self.run, self.run.variable(*location));
            facts::mentions(text, name)
        });
        let writes = mentioned.filter_map(|location| self.orders.last_write_before(location, end));
        for write in writes.take(MOST_WRITES).collect::<Vec<_>>() {
            self.push(write, Distance::of(1));
        }
    }
}

/// Lines of the calls that led to a row, up to the second caller.
fn calls_to(run: &Run, row: EventId) -> Vec<(&str, u32)> {
    const NEAR: usize = 2;
    let event = run.events.get(row);
    let calls = event.into_iter().flat_map(|event| frames(run, event.stack));
    let sites = calls.take(NEAR).map(|call| run.meta.site(call));
    sites.map(|site| (&*site.file, site.line)).collect()
}
