//! Trace of a run for mining: its accesses in order, as small numbers (Definitions 1 and 2).

use crate::{
    orders::Accesses,
    pairs::{AccessClass, Fnv},
};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, EventKind, LocationId, Run, SiteId, ThreadId, model::flags};

/// A read-write event by its identity: thread, line, type and location. Names are kept as hashes, so that a
/// run's trace is small and runs need not share a table; the run that it is from has the words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventIdentity {
    /// Hash of all parts: equal keys are equal events in all runs of a build.
    pub key: u64,
    /// Hash of the thread.
    pub thread: u64,
    /// Hash of the location.
    pub location: u64,
    /// Hash of the line, the same in every thread: see [`line_hash`].
    pub line: u64,
    /// Reads, writes or both.
    pub access: AccessClass,
    /// Event of its first occurrence in the run.
    pub first: EventId,
}

/// The accesses of one run to memory that another thread could access.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The events as indices into `kinds`, in the order of the run.
    pub events: Vec<u32>,
    /// The distinct events, in the order of their first occurrence.
    pub kinds: Vec<EventIdentity>,
}

impl Trace {
    /// The accesses to the location of this name's hash, in order.
    pub fn of(&self, location: u64) -> impl Iterator<Item = &EventIdentity> {
        let all = self.events.iter();
        let all = all.filter_map(|event| self.kinds.get(*event as usize));
        all.filter(move |kind| kind.location == location)
    }

    /// Extracts the trace of a run, in one pass. Accesses of a thread to its own stack are left out, unless
    /// another thread accesses it too.
    pub fn new(run: &Run, accesses: &Accesses) -> Trace {
        let mut names = NameHashes::new(run);
        let mut known: FxHashMap<(u16, u32, u32, u8), u32> = FxHashMap::default();
        let mut trace = Trace::default();
        let events = &run.events;
        let columns = events.threads().iter().zip(events.kinds());
        let columns = columns.zip(events.sites().iter().zip(events.locations()));
        for (row, ((&thread, &kind), (&site, &location))) in columns.enumerate() {
            let Some(access) = EventKind::from_u8(kind).and_then(AccessClass::of) else {
                continue;
            };
            let row = EventId(row as u32);
            if !others_may_access(run, accesses, row, LocationId(location)) {
                continue;
            }
            let line = names.line(site);
            let new = || {
                trace
                    .kinds
                    .push(names.kind(thread, site, location, access, row));
                trace.kinds.len() as u32 - 1
            };
            let id = (thread, line, location, access as u8);
            trace.events.push(*known.entry(id).or_insert_with(new));
        }
        trace.events.shrink_to_fit();
        trace
    }
}

/// Returns whether the trace has an access of this row to a location: not one of a thread to its own stack that no other thread
/// accesses.
pub fn others_may_access(
    run: &Run,
    accesses: &Accesses,
    row: EventId,
    location: LocationId,
) -> bool {
    location.0 != 0 && (accesses.is_shared(location) || !own_stack(run, row))
}

fn own_stack(run: &Run, row: EventId) -> bool {
    let of_row = run.events.flags().get(row.index());
    of_row.is_some_and(|of_row| of_row & flags::OWN_STACK != 0)
}

/// Hashes of names, each computed once.
struct NameHashes<'a> {
    run: &'a Run,
    /// For each site: the first site on its line.
    lines: Vec<Option<u32>>,
    first_of_line: FxHashMap<(&'a str, u32), u32>,
}

impl<'a> NameHashes<'a> {
    fn new(run: &'a Run) -> NameHashes<'a> {
        NameHashes {
            run,
            lines: vec![None; run.meta.sites.len()],
            first_of_line: FxHashMap::default(),
        }
    }

    fn line(&mut self, site: u32) -> u32 {
        if let Some(Some(line)) = self.lines.get(site as usize) {
            return *line;
        }
        let row = self.run.meta.site(SiteId(site));
        let at = (row.file.as_str(), row.line);
        let line = *self.first_of_line.entry(at).or_insert(site);
        if let Some(slot) = self.lines.get_mut(site as usize) {
            *slot = Some(line);
        }
        line
    }

    fn kind(
        &self,
        thread: u16,
        site: u32,
        location: u32,
        access: AccessClass,
        first: EventId,
    ) -> EventIdentity {
        let run = self.run;
        let thread = crate::facts::thread_name(run, ThreadId(thread));
        let location = run.location(unsnarl_trace::LocationId(location));
        let row = run.meta.site(SiteId(site));
        let mut key = Fnv::default();
        key.text(&thread);
        key.text(&row.file);
        key.bytes(&row.line.to_le_bytes());
        key.text(location);
        key.bytes(&[access as u8]);
        EventIdentity {
            key: key.0,
            thread: Fnv::of(&thread),
            location: Fnv::of(location),
            line: line_hash(&row.file, row.line),
            access,
            first,
        }
    }
}

/// A line, by its [`line_hash`], with the kind of access.
pub type LineAccess = (u64, AccessClass);

/// Identity of a line of the source, the same in every run of a build.
pub fn line_hash(file: &str, line: u32) -> u64 {
    let mut hash = Fnv::default();
    hash.text(file);
    hash.bytes(&line.to_le_bytes());
    hash.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    fn trace(text: &str) -> Trace {
        let run = run(text);
        Trace::new(&run, &Accesses::new(&run))
    }

    #[test]
    fn definition_1_events_are_equal_by_thread_line_type_and_address() {
        let t = trace(
            "main.1 R x @1\nmain.1 R x @1\nmain.1 W x @1\nmain.2 R x @1\nmain.1 R x @2\nmain.1 R y @1",
        );
        assert_eq!(t.events, [0, 0, 1, 2, 3, 4]);
        let other = trace("main.2 R x @1\nmain.1 R y @1");
        assert_eq!(other.kinds[0].key, t.kinds[2].key);
        assert_eq!(other.kinds[1].key, t.kinds[4].key);
    }

    #[test]
    fn only_accesses_count_and_a_line_has_no_columns() {
        let t = trace(
            "main lock m @1\nmain R x @2:3\nmain R x @2:9\nmain rmw x 1->2 @3\nmain unlock m @4",
        );
        assert_eq!(t.events, [0, 0, 1]);
        assert_eq!(t.kinds[1].access, AccessClass::Update);
    }

    #[test]
    fn a_threads_own_stack_is_left_out_until_somebody_else_gets_there() {
        let own = trace("main W a own-stack @1\nmain W b own-stack @2\nmain.1 R b @3");
        assert_eq!(own.events.len(), 2);
    }
}
