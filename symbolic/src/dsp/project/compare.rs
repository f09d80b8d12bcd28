//! Differences between two orders: data flow, and the order itself.

use super::side::{OperationNumber, OrderSide, ValueTarget};
use rustc_hash::{FxHashMap, FxHashSet};

/// A destination whose value comes from different writes in the two orders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Variation {
    pub to: ValueTarget,
    /// The write in the failing order; none for the initial value.
    pub failing: Option<OperationNumber>,
    /// The write in the alternate.
    pub alternate: Option<OperationNumber>,
}

impl Variation {
    /// The operations of the variation.
    pub fn keys(&self) -> impl Iterator<Item = OperationNumber> {
        let reader = match self.to {
            ValueTarget::Read(key, _) => Some(key),
            ValueTarget::End(_) => None,
        };
        [self.failing, reader, self.alternate].into_iter().flatten()
    }

    /// The cell of the destination.
    pub fn cell(&self) -> u32 {
        match self.to {
            ValueTarget::Read(_, cell) | ValueTarget::End(cell) => cell,
        }
    }
}

/// Data-flow variations, in the failing order of their reads: reads that both orders have, once for each
/// operation and pair of writes; and final values of cells whose last writes both orders have, when no read
/// shows the same.
pub(super) fn variations(failing: &OrderSide, alternate: &OrderSide) -> Vec<Variation> {
    let (in_failing, in_alternate) = (failing.flows(), alternate.flows());
    let mut varying: Vec<Variation> = in_failing
        .iter()
        .filter_map(|(&to, &from)| {
            let other = *in_alternate.get(&to)?;
            (from != other).then_some(Variation {
                to,
                failing: from,
                alternate: other,
            })
        })
        .collect();
    let both = |key: Option<OperationNumber>| {
        key.is_none_or(|key| failing.place(key).is_some() && alternate.place(key).is_some())
    };
    varying.sort_by_key(|variation| {
        let place = match variation.to {
            ValueTarget::Read(key, _) => failing.place(key),
            ValueTarget::End(_) => None,
        };
        (place.unwrap_or(usize::MAX), *variation)
    });
    let mut shown: FxHashSet<(u32, Option<OperationNumber>, Option<OperationNumber>)> =
        FxHashSet::default();
    let mut read: FxHashSet<(
        OperationNumber,
        Option<OperationNumber>,
        Option<OperationNumber>,
    )> = FxHashSet::default();
    varying.retain(|variation| {
        let from = (variation.failing, variation.alternate);
        match variation.to {
            ValueTarget::Read(key, cell) => {
                shown.insert((cell, from.0, from.1));
                read.insert((key, from.0, from.1))
            }
            ValueTarget::End(cell) => {
                both(from.0) && both(from.1) && shown.insert((cell, from.0, from.1))
            }
        }
    });
    varying
}

/// The fewest operations to move to make one order of the other, among those that both have: all but a
/// longest common subsequence. Of several subsequences, the one with the later operations. `n log n`.
pub(super) fn moved(
    from: &[OperationNumber],
    to: &[OperationNumber],
) -> FxHashSet<OperationNumber> {
    let place: FxHashMap<OperationNumber, usize> =
        to.iter().enumerate().map(|(at, &key)| (key, at)).collect();
    let common: Vec<(OperationNumber, usize)> = from
        .iter()
        .filter_map(|key| Some((*key, *place.get(key)?)))
        .collect();
    // Patience sorting: the last element of the best sequence of each length, and each element's predecessor.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(common.len());
    let at = |i: usize| common.get(i).map_or(0, |(_, place)| *place);
    for i in 0..common.len() {
        let length = ends.partition_point(|&end| at(end) < at(i));
        before.push(length.checked_sub(1).and_then(|j| ends.get(j)).copied());
        match ends.get_mut(length) {
            Some(end) => *end = i,
            None => ends.push(i),
        }
    }
    let mut stays: FxHashSet<OperationNumber> = FxHashSet::default();
    let mut next = ends.last().copied();
    while let Some(i) = next {
        stays.extend(common.get(i).map(|(key, _)| *key));
        next = before.get(i).copied().flatten();
    }
    let keys = common.iter().map(|(key, _)| *key);
    keys.filter(|key| !stays.contains(key)).collect()
}
