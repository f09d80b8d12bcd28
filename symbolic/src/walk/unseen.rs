//! Writes of functions without instrumentation: they were not recorded, but later reads show them.
//!
//! The first walk finds where memory differs from the model, and the call of an unknown function since the
//! two last agreed; in the second walk that call performs the write. Where no call can have done it, a write
//! is inserted before the read that shows it.

use super::{access::By, calls::MadeCall, machine::PathMachine, thread::AccessChunk};
use crate::trace::{Action, CellId};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, ThreadId};

/// A call of an unknown function: the thread and the index of the call in it.
type CallId = (ThreadId, u32);

/// Unseen writes that the first walk found.
#[derive(Clone, Debug, Default)]
pub(super) struct Unseen {
    calls: Vec<UnseenCall>,
    /// The last event at which the model and the run agreed on the bytes at an address.
    agreed: FxHashMap<u64, EventId>,
    writes: FxHashMap<CallId, Vec<UnseenWrite>>,
}

#[derive(Clone, Debug)]
struct UnseenCall {
    id: CallId,
    when: EventId,
    /// Bases of the objects that its arguments point into.
    objects: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct UnseenWrite {
    address: u64,
    size: u8,
    bits: u128,
}

impl Unseen {
    /// The call that may have written to an address since the model was right: the last one that was given
    /// the object, else the last one.
    fn culprit(&self, address: u64, base: Option<u64>) -> Option<CallId> {
        let since = self.agreed.get(&address).copied().unwrap_or(EventId(0));
        let later = self
            .calls
            .iter()
            .rev()
            .take_while(|call| call.when >= since);
        let was_given = |call: &&UnseenCall| base.is_some_and(|base| call.objects.contains(&base));
        let given = later.clone().find(was_given);
        given.or_else(|| later.clone().next()).map(|call| call.id)
    }
}

impl PathMachine<'_> {
    /// Notes that bytes differ from the model.
    pub fn changed_unseen(&mut self, (address, size): (u64, u8), by: By, bits: u128) {
        let name = self.location_name(address, Some(by.location));
        let base = self.memory.object(address).map(|object| object.base);
        if self.is_first {
            let culprit = self.unseen.culprit(address, base);
            let written = UnseenWrite {
                address,
                size,
                bits,
            };
            if let Some(call) = culprit {
                self.unseen.writes.entry(call).or_default().push(written);
            }
            return self.agrees(address);
        }
        let whole = self
            .memory
            .object(address)
            .map(|object| object.name.clone());
        let name = whole.unwrap_or(name);
        self.gap(format!("`{name}` was changed by something that was not recorded: its values are those of the run"));
    }

    /// Notes that the model and the run agree on bytes.
    pub fn agrees(&mut self, address: u64) {
        if self.is_first {
            self.unseen.agreed.insert(address, self.now);
        }
    }

    /// Ends a call: performs the writes that later reads show.
    pub fn wrote_unseen(&mut self, id: ThreadId, made: &MadeCall) {
        let Some(thread) = self.thread_mut(id) else {
            return;
        };
        let call = (id, thread.strange_calls);
        thread.strange_calls += 1;
        if self.is_first {
            let pointers = made.arguments.iter().filter_map(|it| it.scalar()?.bits);
            let objects = pointers.filter_map(|at| Some(self.memory.object(at as u64)?.base));
            let objects = objects.collect();
            return self.unseen.calls.push(UnseenCall {
                id: call,
                when: self.now,
                objects,
            });
        }
        let writes = self.unseen.writes.get(&call).cloned().unwrap_or_default();
        for UnseenWrite {
            address,
            size,
            bits,
        } in writes
        {
            let name = format!("what {} wrote", made.name);
            let value = self.outside(id, name, size.saturating_mul(8), Some(bits));
            let by = self.by(id, None);
            let chunk = AccessChunk {
                offset: 0,
                size,
                value,
            };
            self.write((address, size.into()), by, &[chunk]);
        }
    }

    /// Inserts a write to a cell whose value differs from what steps have left there.
    pub fn write_unseen(&mut self, cell: CellId, by: By, seen: Option<u128>) {
        let made = self.made_cells.get_mut(cell.index());
        let (Some(seen), Some(made), None) = (seen, made, self.paths.as_ref()) else {
            return;
        };
        let (address, size) = (made.address, made.size);
        let known = match self.cell_holds.get(&cell).copied() {
            None => Some(*made.initial.get_or_insert(seen)),
            Some(value) => {
                if self.as_known(value).bits.is_none() {
                    self.learn(by.thread, value, seen);
                }
                self.as_known(value).bits
            }
        };
        // The content of a freed block is no thread's write.
        if known.is_none_or(|known| known == seen) || self.memory.is_freed(address) {
            return;
        }
        self.changed_unseen((address, size), by, seen);
        let name = self.source_name(by.thread, address, by.location);
        let value = self.outside(by.thread, name, size.saturating_mul(8), Some(seen));
        let action = Action::Write {
            cell,
            value: value.expr,
        };
        self.step(by.thread, None, by.site, action);
        self.says(by.thread, value.said);
        self.holds_now(by.thread, cell, value);
    }
}
