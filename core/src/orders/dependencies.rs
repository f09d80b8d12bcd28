//! Immediate dependencies between threads: flow (RAW), anti (WAR), output (WAW).

use super::Accesses;
use serde::{Deserialize, Serialize};
use unsnarl_trace::{EventId, EventKind, LocationId, Run};

/// Kinds of dependencies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DependencyKind {
    /// Read after write.
    Flow,
    /// Write after read.
    Anti,
    /// Write after write.
    Output,
}

/// Dependency of `tail` on `head`, an access of another thread with no write to the location in between.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dependency {
    /// The earlier access.
    pub head: EventId,
    /// The later access.
    pub tail: EventId,
    /// Location of both accesses.
    pub location: LocationId,
    /// Kind of the dependency.
    pub kind: DependencyKind,
    /// `true` if no relevant access lies in between: `false` for a write after a write that has been read,
    /// for further reads of a thread that has read the value already, and for all but a thread's last read
    /// before a write.
    pub direct: bool,
}

/// Calls back for each immediate dependency between threads, location by location.
///
/// Of the reads before a write only the last of each thread is direct; a read-modify-write counts as a write
/// whose flow dependency is its read.
pub fn dependencies(run: &Run, accesses: &Accesses, mut found: impl FnMut(Dependency)) {
    let mut state = LastAccesses::default();
    for location in accesses.shared() {
        state.clear();
        for &row in accesses.of(location) {
            let thread = run.events.thread(row).0;
            let kind = run.events.kind(row);
            state.step(location, row, thread, kind, &mut found);
        }
    }
}

/// Accesses to one location so far: its last write, and the reads since.
#[derive(Default)]
struct LastAccesses {
    writer: Option<(u16, EventId)>,
    /// Last read since then, by thread.
    readers: Vec<Option<EventId>>,
    /// Threads with an entry in `readers`, in the order of their first read.
    reading: Vec<u16>,
    /// Reads since then that are not the last of their thread.
    earlier: Vec<(u16, EventId)>,
}

impl LastAccesses {
    fn clear(&mut self) {
        self.writer = None;
        self.forget_readers();
    }

    fn forget_readers(&mut self) {
        self.earlier.clear();
        for thread in self.reading.drain(..) {
            if let Some(reader) = self.readers.get_mut(usize::from(thread)) {
                *reader = None;
            }
        }
    }

    fn step(
        &mut self,
        location: LocationId,
        tail: EventId,
        thread: u16,
        kind: EventKind,
        found: &mut impl FnMut(Dependency),
    ) {
        if let Some((writer, head)) = self.writer
            && writer != thread
        {
            let kind = if kind.reads() {
                DependencyKind::Flow
            } else {
                DependencyKind::Output
            };
            let direct = match kind {
                DependencyKind::Flow => !self.has_read(thread),
                _ => self.reading.is_empty(),
            };
            found(Dependency {
                head,
                tail,
                location,
                kind,
                direct,
            });
        }
        if kind.writes() {
            self.anti(location, tail, thread, found);
            self.forget_readers();
            self.writer = Some((thread, tail));
        } else {
            self.note_reader(thread, tail);
        }
    }

    fn has_read(&self, thread: u16) -> bool {
        matches!(self.readers.get(usize::from(thread)), Some(Some(_)))
    }

    fn anti(
        &self,
        location: LocationId,
        tail: EventId,
        thread: u16,
        found: &mut impl FnMut(Dependency),
    ) {
        for &(_, head) in self.earlier.iter().filter(|(reader, _)| *reader != thread) {
            found(Dependency {
                head,
                tail,
                location,
                kind: DependencyKind::Anti,
                direct: false,
            });
        }
        for &reader in self.reading.iter().filter(|&&reader| reader != thread) {
            if let Some(Some(head)) = self.readers.get(usize::from(reader)).copied() {
                found(Dependency {
                    head,
                    tail,
                    location,
                    kind: DependencyKind::Anti,
                    direct: true,
                });
            }
        }
    }

    fn note_reader(&mut self, thread: u16, row: EventId) {
        if self.readers.len() <= usize::from(thread) {
            self.readers.resize(usize::from(thread) + 1, None);
        }
        if let Some(reader) = self.readers.get_mut(usize::from(thread)) {
            if reader.is_none() {
                self.reading.push(thread);
            }
            self.earlier.extend(reader.map(|earlier| (thread, earlier)));
            *reader = Some(row);
        }
    }
}
