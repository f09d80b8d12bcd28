//! Unserializable triples: two accesses of one thread to a location with an access of another thread in
//! between, without an equivalent serial order (Table 1 of LOCON, rows 4 to 7).

use crate::orders::Accesses;
use unsnarl_trace::{EventId, EventKind, IndexVec, LocationId, Run, ThreadId};

/// Bound on the intermediate accesses examined before the last one.
pub const LOOKED_AT: usize = 64;

/// One triple of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Triple {
    /// First access of the interrupted thread.
    pub first: EventId,
    /// An intermediate access of another thread that makes it unserializable.
    pub remote: EventId,
    /// The interrupted thread's next access to the location.
    pub second: EventId,
    /// Location of the three accesses.
    pub location: LocationId,
}

/// Calls back for each unserializable triple, location by location; of many intermediate accesses the last
/// one comes first, then those of the same class among the [`LOOKED_AT`] accesses before it. Earlier ones are
/// left out: any one of them suffices, and all of them would be quadratic in a long gap.
pub fn triples(run: &Run, accesses: &Accesses, mut found: impl FnMut(Triple)) {
    let mut last: IndexVec<ThreadId, Option<(EventId, EventKind)>> =
        IndexVec::filled(None, run.meta.threads.len());
    for location in accesses.shared() {
        last.iter_mut().for_each(|last| *last = None);
        let (mut writes, mut reads) = (LastTwo::default(), LastTwo::default());
        for &row in accesses.of(location) {
            let (thread, kind) = access(run, row);
            let mine = &mut last[ThreadId(thread)];
            if let Some((first, before)) = *mine
                && let Some(remote) = between(
                    before,
                    kind,
                    writes.other(thread),
                    reads.other(thread),
                    first,
                )
            {
                let triple = Triple {
                    first,
                    remote,
                    second: row,
                    location,
                };
                found(triple);
                earlier(run, accesses, triple, &mut found);
            }
            *mine = Some((row, kind));
            if kind.writes() {
                writes.note(thread, row);
            }
            if kind.reads() {
                reads.note(thread, row);
            }
        }
    }
}

/// Calls back for further intermediate accesses of the same class as the last one, any of which suffices.
fn earlier(run: &Run, accesses: &Accesses, triple: Triple, found: &mut impl FnMut(Triple)) {
    let thread = run.events.thread(triple.second).0;
    let writes = run.events.kind(triple.remote).writes();
    let before = accesses.before(triple.location, triple.remote).iter();
    for &remote in before
        .rev()
        .take(LOOKED_AT)
        .take_while(|row| **row > triple.first)
    {
        let same = |(by, kind): (u16, EventKind)| by != thread && kind.writes() == writes;
        if same(access(run, remote)) {
            found(Triple { remote, ..triple });
        }
    }
}

fn access(run: &Run, row: EventId) -> (u16, EventKind) {
    (run.events.thread(row).0, run.events.kind(row))
}

/// The intermediate access, if the three accesses have no equivalent serial order.
fn between(
    before: EventKind,
    now: EventKind,
    write: Option<EventId>,
    read: Option<EventId>,
    first: EventId,
) -> Option<EventId> {
    let write = write.filter(|&row| row > first);
    let read = read.filter(|&row| row > first);
    if write.is_some() && (now.reads() || before.reads()) {
        write
    } else if before.writes() && now.writes() {
        read
    } else {
        None
    }
}

/// The latest rows of the two threads that accessed the location last.
#[derive(Default)]
struct LastTwo {
    latest: Option<(u16, EventId)>,
    other: Option<(u16, EventId)>,
}

impl LastTwo {
    fn note(&mut self, thread: u16, row: EventId) {
        if self.latest.is_some_and(|(latest, _)| latest != thread) {
            self.other = self.latest;
        }
        self.latest = Some((thread, row));
    }

    /// The latest row of a thread other than this one.
    fn other(&self, thread: u16) -> Option<EventId> {
        match self.latest {
            Some((latest, row)) if latest != thread => Some(row),
            _ => self.other.map(|(_, row)| row),
        }
    }
}
