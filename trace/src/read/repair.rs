//! References that lead nowhere, in a run that was read: cut, so that no user of a run has to check them.

use crate::{
    meta::{FrameRow, PointRow, RunMeta},
    model::{Event, EventId, EventKind, PointId, SiteId, StackId, ThreadId, Value},
    run::{Events, Run},
};
use arrow_buffer::ScalarBuffer;

/// Sets every id that is in no table to "none" and says so in the run's damage. From here on all ids of the run name rows:
/// users index its tables by them.
pub(super) fn repair(run: &mut Run) {
    let mut cut = Cut::default();
    let Run {
        meta,
        locations,
        events,
        ..
    } = run;
    addressable(&mut cut, meta);
    columns(&mut cut, events, meta, locations.len());
    named_threads(&mut cut, events, meta.threads.len());
    let sizes = sizes(events);
    points(&mut cut, meta);
    threads(&mut cut, meta);
    frames(&mut cut, meta);
    blocks(&mut cut, meta);
    failure(&mut cut, meta, events.len());
    preemptions(&mut cut, meta, events.len());
    meta.locks
        .retain(|lock| cut.within(lock.index(), locations.len()));
    let threads = meta.threads.len();
    let frames = meta.frames.len();
    meta.left_locals.retain(|local| {
        let is_within = local.stack == StackId(0) || cut.within(local.stack.index(), frames);
        cut.within(local.owner.index(), threads) && is_within
    });
    meta.paths
        .retain(|path| cut.within(path.thread.index(), threads));
    // A file that was cut off refers to what it lost; that is said already.
    if cut.count > 0 && run.damage.is_empty() {
        run.damage.push(format!(
            "{} references in it lead nowhere and were left out",
            cut.count
        ));
    }
    if sizes > 0 {
        run.damage.push(format!(
            "{sizes} accesses in it are larger than any access can be: their sizes were left out"
        ));
    }
}

/// Most bytes of one access: more than a program touches by one call.
const MOST_BYTES: u32 = 1 << 30;

/// Sets impossible sizes of accesses to "not known"; their number.
fn sizes(events: &mut Events) -> usize {
    let is_access = |kind: &u8| EventKind::from_u8(*kind).is_some_and(EventKind::is_access);
    let rows = || events.kind.iter().zip(events.size.iter());
    let is_impossible = |(kind, size): &(&u8, &u32)| **size > MOST_BYTES && is_access(kind);
    let count = rows().filter(is_impossible).count();
    if count > 0 {
        let repaired = rows().map(|row| if is_impossible(&row) { 0 } else { *row.1 });
        events.size = repaired.collect();
    }
    count
}

/// Counts what is cut.
#[derive(Default)]
struct Cut {
    count: usize,
}

impl Cut {
    fn within(&mut self, id: usize, table: usize) -> bool {
        let within = id < table;
        self.count += usize::from(!within);
        within
    }

    /// A site; 0 needs no table.
    fn site(&mut self, site: SiteId, meta_sites: usize) -> SiteId {
        if self.within(site.index(), meta_sites.max(1)) {
            site
        } else {
            SiteId(0)
        }
    }

    /// A column of ids; 0 needs no table.
    fn column(&mut self, ids: &ScalarBuffer<u32>, table: usize) -> Option<ScalarBuffer<u32>> {
        let lost = |id: u32| id != 0 && id as usize >= table;
        let count = ids.iter().filter(|id| lost(**id)).count();
        self.count += count;
        let repaired = || {
            ids.iter()
                .map(|id| if lost(*id) { 0 } else { *id })
                .collect()
        };
        (count > 0).then(repaired)
    }
}

/// A thread for which there is no id is in no event.
fn addressable(cut: &mut Cut, meta: &mut RunMeta) {
    const MOST: usize = 1 << u16::BITS;
    cut.count += meta.threads.len().saturating_sub(MOST);
    meta.threads.truncate(MOST);
}

fn columns(cut: &mut Cut, events: &mut Events, meta: &RunMeta, locations: usize) {
    if let Some(stack) = cut.column(&events.stack, meta.frames.len()) {
        events.stack = stack;
    }
    if let Some(point) = cut.column(&events.point, meta.points.len()) {
        events.point = point;
    }
    if let Some(pointee) = cut.column(&events.pointee, locations) {
        events.pointee = pointee;
    }
}

/// A thread in the value of an event that is in no table is not known.
fn named_threads(cut: &mut Cut, events: &mut Events, threads: usize) {
    const KINDS: [EventKind; 3] = [EventKind::Fork, EventKind::Join, EventKind::Blocked];
    let is_lost = |event: &Event| match (event.value, event.other_thread()) {
        (Some(Value::Bits(_)), Some(other)) => other.index() >= threads,
        (Some(Value::Bits(_)), None) => event.names_thread(),
        _ => false,
    };
    let kinds = (0..).map(EventId).zip(events.kinds());
    let naming = kinds.filter(|(_, kind)| KINDS.iter().any(|it| *it as u8 == **kind));
    let count = naming
        .filter_map(|(row, _)| events.get(row))
        .filter(is_lost)
        .count();
    cut.count += count;
    if count > 0 {
        let repaired = events.iter().map(|(_, event)| Event {
            value: event.value.filter(|_| !is_lost(&event)),
            ..event
        });
        *events = Events::from_rows(&repaired.collect::<Vec<_>>());
    }
}

/// A point in no unit is not known.
fn points(cut: &mut Cut, meta: &mut RunMeta) {
    let units = meta.units.len();
    for row in meta.points.iter_mut().skip(1) {
        if !cut.within(row.0.index(), units) {
            *row = PointRow::default();
        }
    }
}

fn threads(cut: &mut Cut, meta: &mut RunMeta) {
    let sites = meta.sites.len();
    for (id, row) in meta.threads.iter_mut().enumerate() {
        // A parent stands before its children: following parents always ends.
        row.parent = row.parent.filter(|parent| cut.within(parent.index(), id));
        row.created_at = cut.site(row.created_at, sites);
    }
}

fn frames(cut: &mut Cut, meta: &mut RunMeta) {
    let sites = meta.sites.len();
    for (id, FrameRow(caller, site)) in meta.frames.iter_mut().enumerate() {
        // Callers stand before callees, and the root is its own.
        if *caller != StackId(0) && !cut.within(caller.index(), id) {
            *caller = StackId(0);
        }
        *site = cut.site(*site, sites);
    }
}

fn blocks(cut: &mut Cut, meta: &mut RunMeta) {
    let (sites, points) = (meta.sites.len(), meta.points.len());
    for row in &mut meta.blocks {
        row.site = cut.site(row.site, sites);
        if !row.point.is_unknown() && !cut.within(row.point.index(), points) {
            row.point = PointId(0);
        }
    }
}

/// A preemption of a thread that is in no table is none of this run.
fn preemptions(cut: &mut Cut, meta: &mut RunMeta, events: usize) {
    let threads = meta.threads.len();
    let Some(minimized) = &mut meta.minimized else {
        return;
    };
    minimized.preemptions.retain_mut(|row| {
        row.event = row.event.filter(|event| cut.within(event.index(), events));
        cut.within(row.thread.index(), threads) && cut.within(row.to.index(), threads)
    });
}

fn failure(cut: &mut Cut, meta: &mut RunMeta, events: usize) {
    let (threads, sites) = (meta.threads.len(), meta.sites.len());
    if let Some(failure) = &mut meta.failure {
        failure.thread = failure
            .thread
            .filter(|thread: &ThreadId| cut.within(thread.index(), threads));
        failure.site = failure
            .site
            .map(|site| cut.site(site, sites))
            .filter(|site| *site != SiteId(0));
        failure.event = failure
            .event
            .filter(|event| cut.within(event.index(), events));
    }
}
