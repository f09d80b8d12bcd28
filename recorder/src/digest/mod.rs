//! Digest of a log, read in one pass, which decides whether a run is worth assembling.
//!
//! The hash of a run's order of conflicting events: runs with equal hashes are the same run as far as the program can
//! tell (one *Mazurkiewicz trace*), however their independent steps interleave. Two events conflict when they belong
//! to one thread, or when both use a byte or an object in common and one of them changes it. So an order is the
//! sequence of each thread's steps, and for each byte its changes in order with the looks between them; the order
//! among these looks does not matter. Both are hashed as they come, with names for memory that are the same in every
//! run.
//!
//! The digest also holds the meetings of threads, for the coverage and for the filter. A run that is not kept costs
//! no more than this.

mod blocks;
mod cells;
mod forks;
mod frames;
mod hash;
mod history;
mod memory;
mod names;
mod places;
mod sets;

#[cfg(test)]
mod tests;

pub(crate) use self::{
    history::{Met, PlaceMeeting},
    places::{CampaignPlaces, NumberedPlaces},
};

use self::{
    cells::{CellAccess, ELSEWHERE, Touch},
    frames::Frames,
    hash::{go_on, mix},
    history::{History, MemoryStep, StepCells},
    names::{MemoryNames, NameRequest},
    places::{DigestPlace, RunPlaces},
};
use crate::assemble::{ProgramDebugInfo, RawLog};
use rustc_hash::FxHashMap;
use unsnarl_trace::{
    kinds::{EventRole, ObjectUse},
    raw::{MAPPED, Record, RecordKind},
};

/// The result of one pass over a log.
#[derive(Default)]
pub(crate) struct Digest {
    /// Hash of the order of conflicting events, 16 hexadecimal digits. Does not depend on addresses, nor on how
    /// threads are numbered.
    pub order: String,
    /// Number of events.
    pub events: u64,
    /// Meetings of threads, with their counts.
    pub meetings: FxHashMap<PlaceMeeting, Met>,
    /// Places of accesses, with `true` if threads met on something that the access touched.
    pub accesses: Vec<(u32, bool)>,
}

impl Digest {
    /// Reads a log; numbers its places in `places`.
    pub fn of(log: &RawLog<'_>, program: &ProgramDebugInfo, places: &mut CampaignPlaces) -> Digest {
        let mut pass = DigestPass::new(log, places.of_run(log, program));
        for record in log.records() {
            pass.record(&record);
        }
        pass.finish()
    }
}

/// A thread during the pass.
struct DigestThread {
    /// Hash of its steps so far.
    path: u64,
    frames: Frames,
}

/// One pass over a log.
struct DigestPass<'a> {
    places: RunPlaces<'a>,
    history: History,
    threads: Vec<DigestThread>,
    events: u64,
}

/// Size above which an access is taken for a broken record.
const MOST_OF_ACCESS: u64 = 1 << 16;
/// Size above which a range accessed by one call is taken for a broken record.
const MOST_OF_RANGE: u64 = 1 << 32;
/// Size in bytes of the part of an object that stands for it.
const OBJECT: u64 = 4;

impl<'a> DigestPass<'a> {
    fn new(log: &RawLog<'_>, places: RunPlaces<'a>) -> DigestPass<'a> {
        let names = MemoryNames::new(log);
        let threads = names.threads().map(|path| DigestThread {
            path,
            frames: Frames::default(),
        });
        DigestPass {
            threads: threads.collect(),
            places,
            history: History::new(names),
            events: 0,
        }
    }

    fn record(&mut self, record: &Record) {
        let thread = self.threads.get_mut(usize::from(record.thread));
        let kind = RecordKind::from_u8(record.kind);
        let Some((thread, kind)) = thread.zip(kind) else {
            // Incomplete, but an event all the same.
            self.events += 1;
            return;
        };
        match kind {
            RecordKind::Enter => thread.frames.enter(record.addr),
            RecordKind::Leave => thread.frames.leave(),
            RecordKind::Extra if thread.frames.takes_caller() => {
                thread.frames.called_from(self.places.at(record.value));
            }
            RecordKind::Extra | RecordKind::Detach | RecordKind::Exit => {}
            kind => {
                self.events += 1;
                self.event(record, kind);
            }
        }
    }

    fn event(&mut self, record: &Record, kind: RecordKind) {
        use RecordKind as K;
        let access = match kind {
            K::Read | K::AtomicRead => Some((Touch::Looks, u64::from(record.size))),
            K::Write | K::AtomicWrite | K::Rmw => Some((Touch::Changes, u64::from(record.size))),
            K::ReadRange => Some((Touch::Looks, record.value)),
            K::WriteRange => Some((Touch::Changes, record.value)),
            _ => None,
        };
        match (access, kind) {
            (Some((touch, bytes)), _) => self.access(record, kind, touch, bytes),
            // That it had to wait, or was let wait, says nothing about what the program does; nor does it matter
            // whether somebody asked for its branches.
            (None, K::LockWait | K::Yield | K::Blocked | K::Branch) => {}
            (None, K::Alloc) => self.allocate(record),
            (None, K::Free) => self.free(record),
            (None, _) => self.operation(record, kind),
        }
    }

    /// The step that a record is, and the cells that it touches; advances its thread by the step.
    #[inline(always)]
    fn step(&mut self, record: &Record, kind: RecordKind, touch: Touch) -> (MemoryStep, StepCells) {
        let place = self.places.at(record.pc);
        let asker = NameRequest {
            thread: record.thread,
            place: place.hash,
        };
        let spot = self.history.spot(record.addr, asker);
        let (id, around) = self.go_on(record, kind, place, spot.name);
        let by = CellAccess {
            at: self.events as u32,
            place: match around == place.id {
                true => around,
                false => around | ELSEWHERE,
            },
            thread: record.thread,
        };
        let step = MemoryStep {
            asker,
            id,
            by,
            touch,
            access: Some(place.id),
        };
        (step, spot)
    }

    /// Advances a thread: returns the hash of its path so far, and the place in the user's code.
    fn go_on(
        &mut self,
        record: &Record,
        kind: RecordKind,
        place: DigestPlace,
        name: u64,
    ) -> (u64, u32) {
        let Some(thread) = self.threads.get_mut(usize::from(record.thread)) else {
            return (0, place.id);
        };
        let size = u64::from(record.size) << 8 | kind as u64;
        thread.path = go_on(thread.path, place.hash ^ size.rotate_left(32) ^ name);
        (thread.path, thread.frames.in_user_code(place))
    }

    fn access(&mut self, record: &Record, kind: RecordKind, touch: Touch, bytes: u64) {
        let most = match kind {
            RecordKind::ReadRange | RecordKind::WriteRange => MOST_OF_RANGE,
            _ => MOST_OF_ACCESS,
        };
        let (step, spot) = self.step(record, kind, touch);
        self.history
            .touch(record.addr, bytes.min(most), spot, &step);
    }

    /// Handles an operation on an object as a whole, or on nothing.
    fn operation(&mut self, record: &Record, kind: RecordKind) {
        let Some(touch) = touch(kind).filter(|_| record.addr != 0) else {
            let place = self.places.at(record.pc);
            self.go_on(record, kind, place, 0);
            return self.thread_operation(record, kind);
        };
        let (step, spot) = self.step(record, kind, touch);
        let step = MemoryStep {
            access: None,
            ..step
        };
        self.history.touch(record.addr, OBJECT, spot, &step);
        if let Some(touch) = meets(kind) {
            self.history.meet(spot.name, touch, step.by);
        }
    }

    fn thread_operation(&mut self, record: &Record, kind: RecordKind) {
        let (own, other) = (record.thread, u16::try_from(record.value));
        let now = self.events as u32;
        match (kind, other) {
            (RecordKind::Fork, Ok(child)) => {
                self.history.forks.fork(own, child, now);
                self.begin(child, record);
            }
            (RecordKind::Join, Ok(child)) => self.history.forks.join(own, child, now),
            (RecordKind::Begin, _) => self.begin(own, record),
            _ => {}
        }
    }

    /// Begins a thread; if it has another's stack, that is other memory from now on.
    fn begin(&mut self, thread: u16, record: &Record) {
        let place = self.places.at(record.pc).hash;
        if let Some((low, high)) = self.history.names.begin(thread) {
            self.history
                .forget(low, high, NameRequest { thread, place });
        }
    }

    fn allocate(&mut self, record: &Record) {
        let place = self.places.at(record.pc);
        self.go_on(record, RecordKind::Alloc, place, 0);
        let (start, size) = (record.addr, record.value);
        let is_mapping = record.size == MAPPED;
        let names = &mut self.history.names;
        if start == 0 || is_mapping && names.blocks.is_part(start, size) {
            return;
        }
        let thread = names.threads().nth(record.thread.into());
        let name = mix(place.hash, thread.unwrap_or(0));
        let name = names.blocks.next_name(name);
        let asker = NameRequest {
            thread: record.thread,
            place: place.hash,
        };
        let end = start.saturating_add(size.max(1));
        self.history.forget(start, end, asker);
        let blocks = &mut self.history.names.blocks;
        blocks.insert(start, size, name, is_mapping);
    }

    fn free(&mut self, record: &Record) {
        let (step, _) = self.step(record, RecordKind::Free, Touch::Changes);
        let unmapped = (record.size == MAPPED).then_some(record.value);
        let blocks = &mut self.history.names.blocks;
        if let Some(block) = blocks.freed(record.addr, unmapped, step.id) {
            self.history.free((block.start, block.end), &step);
        }
    }

    fn finish(self) -> Digest {
        let paths = self.threads.iter().zip(self.history.names.threads());
        let paths = paths.map(|(thread, name)| mix(name, thread.path));
        let sum = paths.fold(self.history.hash(), u64::wrapping_add);
        Digest {
            order: format!("{:016x}", mix(sum, 2)),
            events: self.events,
            accesses: self.history.sets.places().collect(),
            meetings: self.history.meetings,
        }
    }
}

/// Effect of an operation on its object; `None` if it does not share one with others.
fn touch(kind: RecordKind) -> Option<Touch> {
    match kind.event()?.role().object_use()? {
        ObjectUse::Looks => Some(Touch::Looks),
        ObjectUse::Changes => Some(Touch::Changes),
    }
}

/// Effect as which other threads meet an operation: a signal meets those that are asleep. Locks say no more than the
/// data that they guard.
fn meets(kind: RecordKind) -> Option<Touch> {
    match kind.event()?.role() {
        EventRole::Sleep => Some(Touch::Looks),
        EventRole::Notify { .. } => Some(Touch::Changes),
        _ => None,
    }
}
