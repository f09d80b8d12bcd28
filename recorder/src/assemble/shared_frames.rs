//! Locals of a thread that other threads use by pointers: which call of the function a pointer means, and whether that call
//! goes on.
//!
//! The place of stack memory is named by the call that has it now. Who uses a local after its function has returned finds
//! whatever lies there since; only where the pointer comes from says which local was meant. So a pointer is followed
//! from the event that stores it, while the call goes on, to the events that read it.

use super::{
    calls::{Calls, EntryPoints, OpenCall},
    drafts::OriginId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use unsnarl_trace::{LeftLocal, ThreadId};

/// A call of a function, by the thread that makes it.
#[derive(Clone, Copy)]
pub(super) struct SharedFrame {
    owner: u16,
    call: OpenCall,
}

impl SharedFrame {
    fn key(&self) -> (u16, u64) {
        (self.owner, self.call.number)
    }

    fn is_left(&self, threads: &[Calls]) -> bool {
        let calls = threads.get(usize::from(self.owner));
        !calls.is_some_and(|calls| calls.is_in(self.call.number))
    }
}

/// A use of a local of another thread.
#[derive(Clone, Copy)]
pub(super) struct LocalUse {
    pub thread: u16,
    /// Thread whose local it is.
    pub owner: u16,
    pub address: u64,
    /// Its place in the program.
    pub origin: OriginId,
    /// Number of its event.
    pub seq: u64,
}

/// Pointers to locals that threads have from each other.
#[derive(Default)]
pub(super) struct SharedFrames {
    /// By the address of the word that holds it: a pointer, and the frame that it points into.
    held: BTreeMap<u64, (u64, SharedFrame)>,
    /// By the thread that knows them, and the pointer.
    known: BTreeMap<(u16, u64), SharedFrame>,
    /// Calls that other threads know pointers to, with the number of the next event after their end.
    ended: FxHashMap<(u16, u64), u64>,
    shared: FxHashSet<(u16, u64)>,
    /// Uses that are noted, each line once for each call.
    noted: FxHashSet<(u16, OriginId, (u16, u64))>,
    uses: Vec<(LocalUse, SharedFrame)>,
}

impl SharedFrames {
    /// A thread stores a pointer to a local of `owner`.
    pub fn stored(&mut self, thread: u16, at: u64, pointer: (u16, u64), threads: &[Calls]) {
        match self.meant(thread, pointer, threads) {
            Some(frame) => {
                self.shared.insert(frame.key());
                self.held.insert(at, (pointer.1, frame));
            }
            None => {
                self.held.remove(&at);
            }
        }
    }

    /// Forgets the pointers in a range that is written in a way that does not tell values.
    pub fn overwritten(&mut self, start: u64, size: u64) {
        let end = start.saturating_add(size);
        while let Some((&at, _)) = self.held.range(start..end).next() {
            self.held.remove(&at);
        }
    }

    /// A thread reads a pointer to a local of another one, or begins with it; `from` is where it reads it, and whether that is on
    /// its own stack.
    pub fn read(
        &mut self,
        thread: u16,
        from: Option<(u64, bool)>,
        pointer: (u16, u64),
        threads: &[Calls],
    ) {
        let held = from.and_then(|(at, _)| self.held.get(&at));
        let held = held.filter(|(value, _)| *value == pointer.1);
        let frame = match (held, from) {
            (Some((_, frame)), _) => Some(*frame),
            // A copy of what the thread had learned before.
            (None, Some((_, true))) => self.meant(thread, pointer, threads),
            (None, _) => open_at(pointer, threads),
        };
        match frame {
            Some(frame) => {
                self.shared.insert(frame.key());
                self.known.insert((thread, pointer.1), frame);
            }
            None => {
                self.known.remove(&(thread, pointer.1));
            }
        }
    }

    /// A thread has left a function; `next` is the number of the next event.
    pub fn left(&mut self, owner: u16, call: &OpenCall, next: u64) {
        let key = (owner, call.number);
        if self.shared.contains(&key) {
            self.ended.insert(key, next);
        }
    }

    /// A thread uses a local of another one: notes it if the call that the pointer means is over.
    pub fn used(&mut self, by: LocalUse, threads: &[Calls], entries: &EntryPoints) {
        let mut known = self.known.range((by.thread, 0)..=(by.thread, by.address));
        let Some((&(_, pointer), frame)) = known.next_back() else {
            return;
        };
        let of_one = || {
            let meant = variable(frame, pointer, entries);
            meant.is_some() && variable(frame, by.address, entries) == meant
        };
        let is_late = frame.owner == by.owner && frame.is_left(threads) && of_one();
        if is_late && self.noted.insert((by.thread, by.origin, frame.key())) {
            self.uses.push((by, *frame));
        }
    }

    /// All uses of locals whose function had returned.
    pub fn left_locals(&self, entries: &EntryPoints) -> Vec<LeftLocal> {
        let rows = self.uses.iter().filter_map(|(used, frame)| {
            let entry = entries.get(frame.call.entry)?;
            let into = used.address.wrapping_sub(frame.call.base).cast_signed();
            let (_, variable) = entry.variable(into)?;
            Some(LeftLocal {
                used: used.seq,
                ended: *self.ended.get(&frame.key())?,
                owner: ThreadId(frame.owner),
                variable: variable.name.clone(),
                function: entry.name.clone(),
                stack: frame.call.stack,
            })
        });
        rows.collect()
    }

    /// The call whose local a pointer means to a thread: the one that it has it from, or one that goes on.
    fn meant(&self, thread: u16, pointer: (u16, u64), threads: &[Calls]) -> Option<SharedFrame> {
        let known = self.known.get(&(thread, pointer.1)).copied();
        let known = known.filter(|_| thread != pointer.0);
        known.or_else(|| open_at(pointer, threads))
    }
}

/// The call in progress that has the stack memory which a pointer of a thread's stack points to.
fn open_at((owner, address): (u16, u64), threads: &[Calls]) -> Option<SharedFrame> {
    let call = threads.get(usize::from(owner))?.frame_at(address)?;
    Some(SharedFrame { owner, call: *call })
}

/// Number of the variable of a frame that has an address.
fn variable(frame: &SharedFrame, address: u64, entries: &EntryPoints) -> Option<u32> {
    let into = address.wrapping_sub(frame.call.base).cast_signed();
    let entry = entries.get(frame.call.entry)?;
    entry.variable(into).map(|(number, _)| number)
}
