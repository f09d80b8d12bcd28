//! Filter of abstract patterns by condition 2 of Section 4: each macro needs a dependency with another one.
//!
//! Abstract events without a dependency anywhere in the failing traces have none in a pattern. The miner uses
//! that not to grow patterns of which no instance could pass steps 3 and 6 of Algorithm 2: the result is the
//! same, and traces without common macros stay feasible.

use super::{
    closed::Guide,
    sequences::{has, put, width},
};

/// Dependence relation of abstract events.
#[derive(Debug)]
pub struct Related {
    width: usize,
    /// For each abstract event: those that depend on it later in a trace.
    later: Vec<u64>,
    /// Abstract events with a dependency on any other.
    any: Vec<u64>,
}

impl Related {
    /// Builds the relation from pairs of abstract events, the earlier one first.
    pub fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)>) -> Related {
        let width = width(count);
        let mut related = Related {
            width,
            later: vec![0; width * count],
            any: vec![0; width],
        };
        for (from, to) in pairs {
            let start = from as usize * width;
            put(
                related
                    .later
                    .get_mut(start..start + width)
                    .unwrap_or(&mut []),
                to,
            );
            put(&mut related.any, from);
            put(&mut related.any, to);
        }
        related
    }

    fn later(&self, event: u32) -> &[u64] {
        let start = event as usize * self.width;
        self.later.get(start..start + self.width).unwrap_or(&[])
    }

    /// Elements without a related element in the pattern.
    fn alone<'p>(&'p self, pattern: &'p [u32]) -> impl Iterator<Item = u32> + 'p {
        let is_alone = |(i, event): &(usize, &u32)| {
            let (before, after) = pattern.split_at(*i);
            !before.iter().any(|other| has(self.later(*other), **event))
                && !after
                    .iter()
                    .skip(1)
                    .any(|other| has(self.later(**event), *other))
        };
        let elements = pattern.iter().enumerate().filter(is_alone);
        elements.map(|(_, event)| *event)
    }

    /// Returns whether every element has a related one.
    pub fn is_covered(&self, pattern: &[u32]) -> bool {
        self.alone(pattern).next().is_none()
    }
}

impl Guide for Related {
    fn restrict(&self, pattern: &[u32], left: usize, next: &mut [u64]) {
        next.iter_mut()
            .zip(&self.any)
            .for_each(|(next, any)| *next &= any);
        match left {
            1 => self.last(pattern, next),
            2 => self.last_but_one(pattern, next),
            _ => {}
        }
    }

    fn wants(&self, pattern: &[u32]) -> bool {
        self.is_covered(pattern)
    }
}

impl Related {
    /// Restricts the last item: it must be related to all elements that are alone, and to some element.
    fn last(&self, pattern: &[u32], next: &mut [u64]) {
        let mut served = vec![0; self.width];
        for event in pattern {
            let later = served.iter_mut().zip(self.later(*event));
            later.for_each(|(served, later)| *served |= later);
        }
        next.iter_mut()
            .zip(&served)
            .for_each(|(next, served)| *next &= served);
        for event in self.alone(pattern) {
            let later = next.iter_mut().zip(self.later(event));
            later.for_each(|(next, later)| *next &= later);
        }
    }

    /// Restricts the last item but one: after it there must be an item that is related to all elements still
    /// alone.
    fn last_but_one(&self, pattern: &[u32], next: &mut [u64]) {
        let alone: Vec<u32> = self.alone(pattern).collect();
        let served_by_one = |still: &[u32]| {
            (0..self.width).any(|word| {
                let of = |event: &u32| self.later(*event).get(word).copied().unwrap_or(0);
                still.iter().map(of).fold(u64::MAX, |all, one| all & one) != 0
            })
        };
        for item in 0..next.len() as u32 * 64 {
            if !has(next, item) {
                continue;
            }
            let mut still: Vec<u32> = alone
                .iter()
                .copied()
                .filter(|event| !has(self.later(*event), item))
                .collect();
            if !pattern.iter().any(|event| has(self.later(*event), item)) {
                still.push(item);
            }
            if !still.is_empty()
                && !served_by_one(&still)
                && let Some(word) = next.get_mut(item as usize / 64)
            {
                *word &= !(1 << (item % 64));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Budget,
        mining::closed::{Everything, PatternLimits, SequencesToMine},
    };
    use proptest::prelude::*;

    fn mined(data: &SequencesToMine, guide: &impl Guide, longest: usize) -> Vec<Vec<u32>> {
        let limits = PatternLimits {
            least: 2,
            longest: Some(longest),
            effort: None,
        };
        let mut found = Vec::new();
        data.mine(&limits, guide, &Budget::unlimited(), |pattern, _| {
            found.push(pattern.to_vec());
            true
        });
        found
    }

    proptest! {
        #[test]
        fn nothing_that_is_covered_is_lost(
            list in proptest::collection::vec(proptest::collection::vec(0u32..6, 0..8), 1..5),
            pairs in proptest::collection::vec((0u32..6, 0u32..6), 0..8),
        ) {
            let data = SequencesToMine::new(6, list.iter().map(|items| (items.clone(), 1)));
            let related = Related::new(6, pairs.iter().copied());
            for longest in 2..=4 {
                let mut all = mined(&data, &Everything, longest);
                all.retain(|pattern| related.is_covered(pattern));
                let mut guided = mined(&data, &related, longest);
                guided.retain(|pattern| related.is_covered(pattern));
                prop_assert_eq!(guided, all);
            }
        }
    }
}
