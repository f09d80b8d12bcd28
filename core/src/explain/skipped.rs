//! Changes that a thread has gone on without: in runs that pass, whoever comes to a place changes a value after that, and in
//! a run that hangs one thread has not, as an error path that skips its turn does.

use super::view::View;
use crate::{
    explanation::Place,
    mining::{
        Trace,
        trace::{LineAccess, line_hash},
    },
    pairs::{AccessClass, Fnv},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind, LocationId, ThreadId};

/// Passing runs that tell what always follows a place.
const ENOUGH: u32 = 3;

/// Of so many passing runs one may be without: nobody waits for the last of all changes.
const ONE_OF: u32 = 5;

/// A change that a thread has gone on without.
pub(super) struct SkippedChange {
    /// The last row of the thread that the change follows in passing runs.
    pub last: EventId,
    /// The row with which it has gone on, or ended.
    pub on: EventId,
    /// Place of the change in passing runs.
    pub next: Place,
    /// Number of passing runs in which it follows each time.
    pub runs: u32,
    /// Number of passing runs that come to the place.
    pub of: u32,
}

/// The first change of a location that a thread of the run has gone on without. Linear in the passing runs.
pub(super) fn skipped(view: &View, location: LocationId) -> Option<SkippedChange> {
    let changes = Changes(Fnv::of(view.run.location(location)));
    let mut counted: FxHashMap<LineAccess, (u32, u32)> = FxHashMap::default();
    for run in view.corpus.passing() {
        for (line, follows) in changes.follow(&run.accesses) {
            let (runs, of) = counted.entry(line).or_default();
            *of += 1;
            *runs += u32::from(follows);
        }
    }
    counted.retain(|_, (runs, of)| *runs >= ENOUGH && (*of - *runs) * ONE_OF <= *of);
    let (last, on) = gone_on(view, location, &counted.keys().copied().collect())?;
    let line = line_of(view, last)?;
    let (runs, of) = *counted.get(&line)?;
    let passing = view.corpus.passing();
    let next: BTreeSet<LineAccess> = passing
        .flat_map(|run| changes.after(&run.accesses, line))
        .collect();
    let (change, access) = next.first().copied().filter(|_| next.len() == 1)?;
    let counts = view.corpus.counts();
    let next = counts.site(counts.key_at(change, access)?)?.place.clone();
    Some(SkippedChange {
        last,
        on,
        next,
        runs,
        of,
    })
}

/// The line of an access, as traces have it.
fn line_of(view: &View, row: EventId) -> Option<LineAccess> {
    let place = view.place(row);
    let access = AccessClass::of(view.event(row).kind)?;
    Some((line_hash(&place.file, place.line), access))
}

/// The first thread of the run that comes to one of these lines again, or ends, without a change since it came there: its last
/// such row, and the row with which it has gone on.
fn gone_on(
    view: &View,
    location: LocationId,
    lines: &FxHashSet<LineAccess>,
) -> Option<(EventId, EventId)> {
    let mut open: FxHashMap<ThreadId, FxHashMap<LineAccess, EventId>> = FxHashMap::default();
    for (row, event) in view.run.events.iter() {
        let own = open.entry(event.thread).or_default();
        let last = own.values().max().copied();
        if event.kind == EventKind::End
            && let Some(last) = last
        {
            return Some((last, row));
        }
        let Some(line) = line_of(view, row) else {
            continue;
        };
        if event.location == location && line.1 != AccessClass::Read {
            own.clear();
        } else if lines.contains(&line)
            && own.insert(line, row).is_some()
            && let Some(last) = last
        {
            return Some((last, row));
        }
    }
    None
}

/// The changes of a location.
struct Changes(u64);

impl Changes {
    /// The lines of a run, and whether each thread that comes there makes a change before it comes there again or ends.
    fn follow(&self, run: &Trace) -> FxHashMap<LineAccess, bool> {
        let mut open: FxHashMap<u64, FxHashSet<LineAccess>> = FxHashMap::default();
        let mut lines: FxHashMap<LineAccess, bool> = FxHashMap::default();
        let kinds = run.events.iter();
        for kind in kinds.filter_map(|event| run.kinds.get(*event as usize)) {
            let own = open.entry(kind.thread).or_default();
            let line = (kind.line, kind.access);
            if kind.location == self.0 && kind.access != AccessClass::Read {
                own.clear();
            } else {
                let is_first = own.insert(line);
                *lines.entry(line).or_insert(true) &= is_first;
            }
        }
        for line in open.into_values().flatten() {
            lines.insert(line, false);
        }
        lines
    }

    /// The lines at which a thread makes its next change after it came to this one.
    fn after(&self, run: &Trace, from: LineAccess) -> BTreeSet<LineAccess> {
        let mut open: FxHashSet<u64> = FxHashSet::default();
        let mut next = BTreeSet::new();
        let kinds = run.events.iter();
        for kind in kinds.filter_map(|event| run.kinds.get(*event as usize)) {
            let line = (kind.line, kind.access);
            if line == from {
                open.insert(kind.thread);
            } else if kind.location == self.0
                && kind.access != AccessClass::Read
                && open.remove(&kind.thread)
            {
                next.insert(line);
            }
        }
        next
    }
}
