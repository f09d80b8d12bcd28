//! Choice of the advice: a region that should be atomic, or an operation that should come first.

use super::side::{LockEffect, OperationNumber, OrderSide, SideOperation};

/// Suggestion derived from two orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum OrderAdvice {
    Region {
        first: OperationNumber,
        last: OperationNumber,
        /// The region's bounds extended by the critical sections around it.
        from: OperationNumber,
        to: OperationNumber,
        between: Vec<OperationNumber>,
        /// A lock that is held at both ends, in separate critical sections.
        lock: Option<u32>,
    },
    Order {
        first: OperationNumber,
        second: OperationNumber,
    },
}

/// Facts beyond the orders.
pub(super) struct AdviceFacts<'a> {
    pub failing: &'a OrderSide,
    pub alternate: &'a OrderSide,
    /// Returns whether the failure depends on the operation.
    pub matters: &'a dyn Fn(OperationNumber) -> bool,
    /// Returns whether the run still fails when the others' operations up to the second come before the
    /// first.
    pub fails_all_the_same: &'a dyn Fn(OperationNumber, OperationNumber) -> bool,
}

/// Suggestion of a flipped pair: `pair.0` came first in the failing order. `has_lines` returns whether a
/// function contains a region (given by its operations, and by the bounds of the critical sections around
/// them).
pub(super) fn hint(
    asked: &AdviceFacts,
    pair: (OperationNumber, OperationNumber),
    has_lines: &dyn Fn([OperationNumber; 2], [OperationNumber; 2]) -> bool,
) -> OrderAdvice {
    let order = OrderAdvice::Order {
        first: pair.1,
        second: pair.0,
    };
    let regions = [
        ending(asked, pair),
        beginning(asked, pair),
        beginning_later(asked, pair),
    ];
    let found = regions.into_iter().flatten().find_map(|(first, last)| {
        if waits(asked.failing, first, last) {
            return None;
        }
        let between = between(asked, first, last)?;
        let until = *between.last()?;
        let (from, to, _) = around(asked.failing, first, last);
        if !has_lines([first, last], [from, to]) {
            return None;
        }
        (!(asked.fails_all_the_same)(first, until)).then_some((first, last, between))
    });
    let Some((first, last, between)) = found else {
        return order;
    };
    let (from, to, lock) = around(asked.failing, first, last);
    OrderAdvice::Region {
        first,
        last,
        from,
        to,
        between,
        lock,
    }
}

/// The region that ends with the pair's second: it begins with the thread's last access of the same cell
/// before the pair's first, or before another access in between by another thread that the failure depends
/// on.
fn ending(
    asked: &AdviceFacts,
    (a, b): (OperationNumber, OperationNumber),
) -> Option<(OperationNumber, OperationNumber)> {
    let (failing, op) = (asked.failing, asked.failing.op(b)?);
    let (from, to) = (failing.place(a)?, failing.place(b)?);
    let before = failing.ops.get(..from)?.iter().enumerate().rev();
    let mine: Vec<(usize, &SideOperation)> = before
        .filter(|(_, other)| other.thread == op.thread)
        .collect();
    let first = nearest(asked, &mine, op, |at| (at, to))?;
    Some((first, b))
}

/// The region that begins with the pair's first.
fn beginning(
    asked: &AdviceFacts,
    (a, b): (OperationNumber, OperationNumber),
) -> Option<(OperationNumber, OperationNumber)> {
    let (failing, op) = (asked.failing, asked.failing.op(a)?);
    let (from, to) = (failing.place(a)?, failing.place(b)?);
    let after = failing.ops.iter().enumerate().skip(to + 1);
    let mine: Vec<(usize, &SideOperation)> = after
        .filter(|(_, other)| other.thread == op.thread)
        .collect();
    let last = nearest(asked, &mine, op, |at| (from, at))?;
    Some((a, last))
}

/// The region that begins with the pair's first, when the failing run ended before the region did: the
/// alternate shows the rest. The region extends to the last of the accesses by which the thread changes other
/// variables for the other threads, each variable once, or to its next access of the same variable when there
/// are none.
fn beginning_later(
    asked: &AdviceFacts,
    (a, b): (OperationNumber, OperationNumber),
) -> Option<(OperationNumber, OperationNumber)> {
    let (failing, op, other) = (asked.failing, asked.failing.op(a)?, asked.failing.op(b)?);
    let from = failing.place(a)?;
    let after = failing.ops.iter().skip(from + 1);
    let theirs: Vec<&SideOperation> = after
        .filter(|met| met.thread == other.thread && met.is_access() && (asked.matters)(met.key))
        .collect();
    let start = asked.alternate.place(a)?;
    let later = asked.alternate.ops.iter().skip(start + 1);
    let mine = later.filter(|mine| mine.thread == op.thread);
    let mut last: Option<&SideOperation> = None;
    let mut seen: Vec<u32> = op.cells().collect();
    for mine in mine.take_while(|mine| mine.lock != LockEffect::Waits) {
        let is_met = theirs.iter().any(|theirs| mine.conflicts(theirs));
        let is_again = mine.cells().any(|cell| seen.contains(&cell));
        match (is_met, is_again) {
            (true, true) => {
                last = last.or(Some(mine));
                break;
            }
            (true, false) => {
                seen.extend(mine.cells());
                last = Some(mine);
            }
            (false, _) => {}
        }
    }
    let last = last.filter(|last| failing.place(last.key).is_none())?;
    Some((a, last.key))
}

/// The first of these operations of a thread that yields a region; `region` gives the bounds.
fn nearest(
    asked: &AdviceFacts,
    mine: &[(usize, &SideOperation)],
    op: &SideOperation,
    region: impl Fn(usize) -> (usize, usize),
) -> Option<OperationNumber> {
    let wanted: Vec<u32> = op.cells().collect();
    let same = |other: &SideOperation| other.cells().any(|cell| wanted.contains(&cell));
    let ops = asked.failing.ops.iter().enumerate();
    let others: Vec<(usize, &SideOperation)> = ops
        .filter(|(_, other)| {
            other.thread != op.thread && other.is_access() && (asked.matters)(other.key)
        })
        .collect();
    let met = |&&(at, mine): &&(usize, &SideOperation)| {
        let (from, to) = region(at);
        let mut within = others.iter().filter(|(at, _)| (from..to).contains(at));
        within.any(|(_, other)| mine.conflicts(other))
    };
    let found = mine.iter().find(|(_, other)| same(other));
    found
        .or_else(|| mine.iter().find(met))
        .map(|(_, op)| op.key)
}

/// Operations of other threads that interfere with the region in the failing order; none when the alternate
/// has interference, too. A thread that departs in the alternate may not reach one end of the region; all
/// interfering operations must then lie beyond the other end.
fn between(
    asked: &AdviceFacts,
    first: OperationNumber,
    last: OperationNumber,
) -> Option<Vec<OperationNumber>> {
    let between = within(asked, asked.failing, first, last)?;
    let alternate = asked.alternate;
    let place = |key: &OperationNumber| alternate.place(*key);
    let is_whole = match (alternate.place(first), alternate.place(last)) {
        (Some(_), Some(_)) => within(asked, alternate, first, last)?.is_empty(),
        (Some(first), None) => between
            .iter()
            .all(|key| place(key).is_some_and(|at| at < first)),
        (None, Some(last)) => between
            .iter()
            .all(|key| place(key).is_none_or(|at| at > last)),
        (None, None) => false,
    };
    (is_whole && !between.is_empty()).then_some(between)
}

/// `true` if the thread creates or joins threads between these operations.
fn waits(side: &OrderSide, first: OperationNumber, last: OperationNumber) -> bool {
    let (Some(from), Some(to)) = (side.place(first), side.place(last)) else {
        return false;
    };
    let thread = side.op(first).map(|op| op.thread);
    let mut inner = side.between(from, to).iter();
    inner.any(|op| Some(op.thread) == thread && op.lock == LockEffect::Waits)
}

/// Operations of other threads between two operations of a thread that conflict with them, or with relevant
/// ones between them. The failing run may have ended before the last.
fn within(
    asked: &AdviceFacts,
    side: &OrderSide,
    first: OperationNumber,
    last: OperationNumber,
) -> Option<Vec<OperationNumber>> {
    let from = side.place(first)?;
    let to = side.place(last).unwrap_or(side.ops.len());
    let end = side.op(last).or_else(|| asked.alternate.op(last))?;
    let ends = [side.ops.get(from)?, end];
    let inner = || side.between(from, to).iter();
    let mine: Vec<&SideOperation> = inner()
        .filter(|op| op.thread == ends[0].thread && (asked.matters)(op.key))
        .chain(ends)
        .collect();
    let others = inner().filter(|op| op.thread != ends[0].thread && op.is_access());
    let conflicting = others.filter(|op| mine.iter().any(|mine| mine.conflicts(op)));
    Some(conflicting.map(|op| op.key).collect())
}

/// The region extended by the critical sections that its ends lie in.
fn around(
    side: &OrderSide,
    first: OperationNumber,
    last: OperationNumber,
) -> (OperationNumber, OperationNumber, Option<u32>) {
    let unknown = (first, last, None);
    let (Some(from), Some(to)) = (side.place(first), side.place(last)) else {
        return unknown;
    };
    let Some(thread) = side.op(first).map(|op| op.thread) else {
        return unknown;
    };
    let before = side.ops.get(..from).unwrap_or(&[]).iter();
    let held = held(before.filter(|op| op.thread == thread));
    let held_at_end = self::held(
        side.ops
            .get(..to)
            .unwrap_or(&[])
            .iter()
            .filter(|op| op.thread == thread),
    );
    let begins = held.first().map_or(first, |(_, key)| *key);
    let ends = held_at_end.first().and_then(|(lock, _)| {
        let after = side.ops.get(to..).unwrap_or(&[]).iter();
        let mut mine = after.filter(|op| op.thread == thread);
        mine.find(|op| op.lock == LockEffect::Gives(*lock))
            .map(|op| op.key)
    });
    let common = held.iter().find(|(lock, taken)| {
        held_at_end
            .iter()
            .any(|(other, at)| other == lock && at != taken)
    });
    (begins, ends.unwrap_or(last), common.map(|(lock, _)| *lock))
}

/// Locks that a thread holds after these operations, the outermost first, with their acquisitions.
fn held<'s>(ops: impl Iterator<Item = &'s SideOperation>) -> Vec<(u32, OperationNumber)> {
    let mut held: Vec<(u32, OperationNumber)> = Vec::new();
    for op in ops {
        match op.lock {
            LockEffect::Takes(lock) => held.push((lock, op.key)),
            LockEffect::Gives(lock) => {
                if let Some(at) = held.iter().rposition(|(of, _)| *of == lock) {
                    held.remove(at);
                }
            }
            LockEffect::None | LockEffect::Waits => {}
        }
    }
    held
}
