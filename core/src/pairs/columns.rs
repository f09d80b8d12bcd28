//! Sorted columns with a count for each key: the statistics of a corpus's passing runs.
//!
//! Runs bring their keys sorted, so that adding one walks two columns side by side, from one hit to the next;
//! a galloping search skips keys that the run does not have, so the cost is that of the run.

/// For each of `wanted` (sorted, each once): calls `hit` with its position in `keys`, or `miss`. Both also
/// get the index of the wanted key.
pub(super) fn walk<K: Ord>(
    keys: &[K],
    wanted: impl Iterator<Item = K>,
    mut hit: impl FnMut(usize, usize),
    mut miss: impl FnMut(usize, K),
) {
    let mut at = 0;
    for (number, key) in wanted.enumerate() {
        at = seek(keys, at, &key);
        match keys.get(at) {
            Some(found) if *found == key => {
                hit(at, number);
                at += 1;
            }
            _ => miss(number, key),
        }
    }
}

/// The first position from `from` on whose key is not less than `key`.
fn seek<K: Ord>(keys: &[K], from: usize, key: &K) -> usize {
    let is_less = |at: usize| keys.get(at).is_some_and(|other| other < key);
    if !is_less(from) {
        return from;
    }
    let (mut low, mut step) = (from, 1);
    while is_less(low + step) {
        low += step;
        step *= 2;
    }
    let end = (low + step).min(keys.len());
    let rest = keys.get(low..end).unwrap_or(&[]);
    low + rest.partition_point(|other| other < key)
}

/// Inserts values into a column; `places` (ascending) are positions in the old column. Moves every value
/// once.
pub(super) fn spread<T: Copy + Default>(column: &mut Vec<T>, places: &[usize], values: &[T]) {
    let (mut from, mut to) = (column.len(), column.len() + values.len());
    column.resize(to, T::default());
    for (&place, &value) in places.iter().zip(values).rev() {
        column.copy_within(place..from, to - (from - place));
        to -= from - place + 1;
        from = place;
        if let Some(slot) = column.get_mut(to) {
            *slot = value;
        }
    }
}

/// Number of runs that contain each key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeyCounts<K> {
    keys: Vec<K>,
    runs: Vec<u32>,
}

impl<K> Default for KeyCounts<K> {
    fn default() -> Self {
        KeyCounts {
            keys: Vec::new(),
            runs: Vec::new(),
        }
    }
}

impl<K: Ord + Copy + Default> KeyCounts<K> {
    /// Counts the keys of a run (sorted, each once).
    pub fn insert(&mut self, keys: impl Iterator<Item = K>) {
        let KeyCounts { keys: known, runs } = self;
        let mut new = Vec::new();
        let hit = |at: usize, _| {
            if let Some(runs) = runs.get_mut(at) {
                *runs += 1;
            }
        };
        walk(known, keys, hit, |_, key| new.push(key));
        if !new.is_empty() {
            let places = places(known, &new);
            spread(known, &places, &new);
            spread(runs, &places, &vec![1; new.len()]);
        }
    }

    /// Removes the keys of a run again.
    pub fn remove(&mut self, keys: impl Iterator<Item = K>) {
        let KeyCounts { keys: known, runs } = self;
        let mut gone = false;
        let hit = |at: usize, _| {
            if let Some(runs) = runs.get_mut(at) {
                *runs = runs.saturating_sub(1);
                gone |= *runs == 0;
            }
        };
        walk(known, keys, hit, |_, _| {});
        if gone {
            let mut kept = runs.iter().map(|&runs| runs > 0);
            known.retain(|_| kept.next().unwrap_or(false));
            runs.retain(|&runs| runs > 0);
        }
    }

    /// Number of runs that contain the key.
    pub fn get(&self, key: &K) -> u32 {
        let at = self.keys.binary_search(key).ok();
        at.and_then(|at| self.runs.get(at)).copied().unwrap_or(0)
    }
}

/// Insertion positions of new keys (sorted).
pub(super) fn places<K: Ord + Copy>(keys: &[K], new: &[K]) -> Vec<usize> {
    let mut at = 0;
    let place = |key: &K| {
        at = seek(keys, at, key);
        at
    };
    new.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        /// The columns hold the same counts as a map.
        #[test]
        fn tallies_are_maps(runs in proptest::collection::vec(proptest::collection::btree_set(0u16..60, 0..30), 0..8), gone in 0usize..8) {
            let mut tally = KeyCounts::default();
            runs.iter().for_each(|run| tally.insert(run.iter().copied()));
            let count = |runs: &[BTreeSet<u16>]| {
                let mut counts: BTreeMap<u16, u32> = BTreeMap::new();
                runs.iter().flatten().for_each(|key| *counts.entry(*key).or_default() += 1);
                counts
            };
            let held = |tally: &KeyCounts<u16>| -> BTreeMap<u16, u32> {
                tally.keys.iter().copied().zip(tally.runs.iter().copied()).collect()
            };
            prop_assert_eq!(held(&tally), count(&runs));
            prop_assert!(tally.keys.is_sorted());
            for key in 0..60 {
                prop_assert_eq!(tally.get(&key), count(&runs).get(&key).copied().unwrap_or(0));
            }
            if let Some(run) = runs.get(gone) {
                tally.remove(run.iter().copied());
                let mut left = runs.clone();
                left.remove(gone);
                prop_assert_eq!(held(&tally), count(&left));
            }
        }
    }
}
