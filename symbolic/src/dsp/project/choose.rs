//! Choice of the differences that are shown: few, and those that the failure depends on.

use super::{
    Projection,
    advice::OrderAdvice,
    compare::Variation,
    needed,
    side::{self, OperationNumber, OrderSide, ValueTarget},
};
use rustc_hash::FxHashSet;

/// A flipped pair and its suggestion.
pub(super) type ToldPair = ((OperationNumber, OperationNumber), OrderAdvice);

/// Bound on the operations shown, as long as a variation is left to choose.
const TO_READ: usize = 6;

impl Projection<'_> {
    /// The variations to show: departures, and those that the failure depends on, from the failure backwards,
    /// as many as are quickly read beside the advised region. Others are shown only when there are none of
    /// these. When the failing read itself was flipped, departures after it mean nothing.
    pub(super) fn chosen(&self, varying: &[Variation], told: Option<&ToldPair>) -> Vec<Variation> {
        let pair = told.map(|(pair, _)| *pair);
        let failing = self.failure(varying);
        let is_direct = match pair {
            Some((a, b)) => failing == Some(a) || failing == Some(b),
            None => failing.is_some_and(|failing| self.came_early(failing, varying)),
        };
        let rank = |variation: &Variation| match variation.to {
            ValueTarget::Read(key, _) if is_direct && failing == Some(key) => 0,
            ValueTarget::Read(key, _) if !is_direct && self.source.decides(key) => 0,
            ValueTarget::Read(key, _) if self.source.matters(key) => 1,
            _ => 2,
        };
        let mut ranked: Vec<Variation> = varying.iter().rev().copied().collect();
        let mut keys: FxHashSet<OperationNumber> = failing.into_iter().collect();
        if let Some((pair, hint @ OrderAdvice::Region { .. })) = told {
            keys.extend(needed(*pair, hint));
        }
        let new = |variation: &Variation, keys: &FxHashSet<OperationNumber>| {
            variation.keys().filter(|key| !keys.contains(key)).count()
        };
        ranked.sort_by_key(|variation| {
            let is_too_much = keys.len() + new(variation, &keys) > TO_READ;
            (rank(variation), is_too_much)
        });
        let best = ranked.first().map_or(2, rank);
        let mut chosen: Vec<Variation> = Vec::new();
        for variation in ranked {
            let tells = best == 2 || rank(&variation) < 2;
            if chosen.is_empty() || (tells && keys.len() + new(&variation, &keys) <= TO_READ) {
                keys.extend(variation.keys());
                chosen.push(variation);
            }
        }
        chosen.sort_by_key(|chosen| varying.iter().position(|other| other == chosen));
        chosen
    }

    /// `true` if the order of the failing read and a write it takes its value from differs between the
    /// orders.
    fn came_early(&self, failing: OperationNumber, varying: &[Variation]) -> bool {
        let mut about = varying.iter().filter(
            |variation| matches!(variation.to, ValueTarget::Read(read, _) if read == failing),
        );
        about.any(|variation| {
            let one = std::slice::from_ref(variation);
            let pair = self.pair(one).or_else(|| Some(self.new_write(one)?.0));
            pair.is_some_and(|(a, b)| a == failing || b == failing)
        })
    }

    /// `true` if a shown variation leads to the failure, or makes a thread depart.
    pub(super) fn explains(&self, shown: &[Variation]) -> bool {
        shown.iter().any(|variation| match variation.to {
            ValueTarget::Read(key, _) => self.source.decides(key) || self.source.matters(key),
            ValueTarget::End(_) => false,
        })
    }

    /// The pair to show and its suggestion: the given one if it makes a region, or is visible in the shown
    /// variations; else one of the shown variations; else a write that the failing run did not reach, which
    /// should come first.
    pub(super) fn told(&self, given: Option<ToldPair>, shown: &[Variation]) -> Option<ToldPair> {
        let mut seen: FxHashSet<OperationNumber> = shown.iter().flat_map(Variation::keys).collect();
        seen.extend(self.failure(shown));
        let fits = |((a, b), hint): &ToldPair| {
            matches!(hint, OrderAdvice::Region { .. }) || (seen.contains(a) && seen.contains(b))
        };
        if given.as_ref().is_some_and(fits) {
            return given;
        }
        let failing = self.failure(shown);
        let direct: Vec<Variation> = shown
            .iter()
            .filter(|variation| matches!(variation.to, ValueTarget::Read(read, _) if Some(read) == failing))
            .copied()
            .collect();
        let seen = |shown: &[Variation]| {
            let pair = self.pair(shown);
            let seen = pair.map(|pair| (pair, self.hint(pair)));
            seen.or_else(|| self.new_write(shown))
        };
        seen(&direct).or_else(|| seen(shown)).or(given)
    }

    fn new_write(&self, shown: &[Variation]) -> Option<ToldPair> {
        shown.iter().rev().find_map(|variation| {
            let ValueTarget::Read(read, _) = variation.to else {
                return None;
            };
            let write = variation.alternate?;
            let order = OrderAdvice::Order {
                first: write,
                second: read,
            };
            let is_new = self.failing.place(write).is_none();
            is_new.then_some(((read, write), order))
        })
    }

    /// The operation that fails: among the last reads on its line that the failure depends on, one that
    /// varies, or else the last; the check itself where there is none.
    pub(super) fn failure(&self, varying: &[Variation]) -> Option<OperationNumber> {
        let failure = self.source.failure()?;
        let check = self.source.describe(failure);
        let op = self.failing.op(failure);
        if op.is_some_and(side::SideOperation::is_access) {
            return Some(failure);
        }
        let thread = op.map(|op| op.thread);
        let end = self.failing.place(failure).map_or(0, |place| place + 1);
        let before = self.failing.ops.get(..end).unwrap_or(&[]).iter().rev();
        let mine = before.filter(|op| Some(op.thread) == thread && op.is_access());
        let near: Vec<OperationNumber> = mine
            .take_while(|op| {
                let place = self.source.describe(op.key).place;
                let on_line = place.file == check.place.file && place.line == check.place.line;
                on_line && !op.reads.is_empty() && self.source.matters(op.key)
            })
            .map(|op| op.key)
            .collect();
        let varies = |key: &&OperationNumber| {
            let mut read = varying.iter().map(|variation| variation.to);
            read.any(|to| matches!(to, ValueTarget::Read(read, _) if read == **key))
        };
        let shown = near.iter().find(varies).or(near.first());
        Some(shown.copied().unwrap_or(failure))
    }

    /// A flipped pair from the variations: a read and the write that it takes its value from, in the failing
    /// order or in the alternate.
    fn pair(&self, shown: &[Variation]) -> Option<(OperationNumber, OperationNumber)> {
        let swapped = |first: OperationNumber, second: OperationNumber| {
            let before = |side: &OrderSide| Some(side.place(first)? < side.place(second)?);
            before(self.failing) == Some(true) && before(self.alternate) == Some(false)
        };
        let of = |variation: &Variation| {
            let ValueTarget::Read(read, _) = variation.to else {
                let (first, second) = (variation.alternate?, variation.failing?);
                return swapped(first, second).then_some((first, second));
            };
            let lost = variation.failing.filter(|&write| swapped(write, read));
            let found = variation.alternate.filter(|&write| swapped(read, write));
            let writes = || {
                let (first, second) = (variation.alternate?, variation.failing?);
                swapped(first, second).then_some((first, second))
            };
            let lost = lost.map(|write| (write, read));
            lost.or(found.map(|write| (read, write))).or_else(writes)
        };
        shown.iter().rev().find_map(of)
    }
}
