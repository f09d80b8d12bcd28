//! An order as the projection sees it: operations with their accesses, from a symbolic trace or a run.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventKind, kinds::EventRole};

/// The number of an operation, the same in both orders.
pub(super) type OperationNumber = u32;

/// Effect of an operation on a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LockEffect {
    /// No effect.
    None,
    /// Acquires it.
    Takes(u32),
    /// Releases it.
    Gives(u32),
    /// No lock: the operation creates or joins threads.
    Waits,
}

/// `true` for kinds that create or join threads. A region with such an operation cannot be atomic.
pub(super) fn waits(kind: EventKind) -> bool {
    matches!(kind.role(), EventRole::Fork | EventRole::Resume) || kind.role().waits_for_another()
}

/// Effect of an event of this kind on its lock.
pub(super) fn lock_of(kind: EventKind, lock: u32) -> LockEffect {
    match kind.role() {
        EventRole::Acquire { .. } => LockEffect::Takes(lock),
        EventRole::Release { .. } => LockEffect::Gives(lock),
        _ if waits(kind) => LockEffect::Waits,
        _ => LockEffect::None,
    }
}

/// An operation in one order.
#[derive(Clone, Debug)]
pub(super) struct SideOperation {
    pub key: OperationNumber,
    pub thread: u16,
    /// Cells that are read.
    pub reads: Vec<u32>,
    pub writes: Vec<u32>,
    pub lock: LockEffect,
}

impl SideOperation {
    /// Returns whether the operation accesses memory.
    pub fn is_access(&self) -> bool {
        !self.reads.is_empty() || !self.writes.is_empty()
    }

    /// Cells that the operation accesses.
    pub fn cells(&self) -> impl Iterator<Item = u32> {
        self.reads.iter().chain(&self.writes).copied()
    }

    /// Returns whether both access a cell that one of them writes.
    pub fn conflicts(&self, other: &SideOperation) -> bool {
        let meets = |mine: &[u32], theirs: &[u32]| mine.iter().any(|cell| theirs.contains(cell));
        meets(&self.writes, &other.writes)
            || meets(&self.writes, &other.reads)
            || meets(&self.reads, &other.writes)
    }
}

/// Destination of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum ValueTarget {
    /// An operation that reads it from this cell.
    Read(OperationNumber, u32),
    /// The cell's final value.
    End(u32),
}

/// An order of operations.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderSide {
    pub ops: Vec<SideOperation>,
    places: FxHashMap<OperationNumber, usize>,
    /// Index from which on operations are not compared.
    end: usize,
}

impl OrderSide {
    pub fn new(ops: Vec<SideOperation>) -> OrderSide {
        OrderSide::with_later(ops, Vec::new())
    }

    /// An order followed by a known continuation of the run.
    pub fn with_later(mut ops: Vec<SideOperation>, later: Vec<SideOperation>) -> OrderSide {
        let end = ops.len();
        ops.extend(later);
        let places = ops.iter().enumerate().map(|(at, op)| (op.key, at));
        OrderSide {
            places: places.collect(),
            ops,
            end,
        }
    }

    /// Position of an operation.
    pub fn place(&self, key: OperationNumber) -> Option<usize> {
        self.places.get(&key).copied()
    }

    /// The operation.
    pub fn op(&self, key: OperationNumber) -> Option<&SideOperation> {
        self.ops.get(self.place(key)?)
    }

    /// Operations between two positions, ends excluded.
    pub fn between(&self, from: usize, to: usize) -> &[SideOperation] {
        self.ops.get(from + 1..to).unwrap_or(&[])
    }

    /// The write of each destination's value; none for an initial value.
    pub fn flows(&self) -> FxHashMap<ValueTarget, Option<OperationNumber>> {
        let mut last: FxHashMap<u32, OperationNumber> = FxHashMap::default();
        let mut cells: FxHashSet<u32> = FxHashSet::default();
        let mut flows = FxHashMap::default();
        for op in self.ops.iter().take(self.end) {
            for &cell in &op.reads {
                cells.insert(cell);
                flows.insert(ValueTarget::Read(op.key, cell), last.get(&cell).copied());
            }
            for &cell in &op.writes {
                cells.insert(cell);
                last.insert(cell, op.key);
            }
        }
        for cell in cells {
            flows.insert(ValueTarget::End(cell), last.get(&cell).copied());
        }
        flows
    }
}
