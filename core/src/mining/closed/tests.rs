//! Tests of closed patterns against their definition.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Closed patterns of sequences.
fn mined(list: &[Vec<u32>], limits: PatternLimits) -> BTreeMap<Vec<u32>, u32> {
    let weighted = list.iter().map(|items| (items.clone(), 1));
    let data = SequencesToMine::new(130, weighted);
    let mut found = BTreeMap::new();
    let stopped = data.mine(
        &limits,
        &Everything,
        &Budget::unlimited(),
        |pattern, support| {
            assert_eq!(
                found.insert(pattern.to_vec(), support),
                None,
                "reported twice"
            );
            true
        },
    );
    assert_eq!(stopped, None);
    found
}

fn subsequences(items: &[u32], longest: usize) -> BTreeSet<Vec<u32>> {
    let mut all = BTreeSet::from([Vec::new()]);
    for &item in items {
        let longer = all.iter().filter(|pattern| pattern.len() < longest);
        let longer: Vec<Vec<u32>> = longer.map(|p| [&p[..], &[item]].concat()).collect();
        all.extend(longer);
    }
    all.remove(&Vec::new());
    all
}

fn is_part(small: &[u32], large: &[u32]) -> bool {
    let mut rest = large.iter();
    small.iter().all(|item| rest.any(|other| other == item))
}

/// The definition of Section 2.4, verbatim.
fn by_definition(list: &[Vec<u32>], least: u32, longest: usize) -> BTreeMap<Vec<u32>, u32> {
    let mut supports: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    for items in list {
        for pattern in subsequences(items, longest) {
            *supports.entry(pattern).or_default() += 1;
        }
    }
    supports.retain(|_, support| *support >= least);
    let is_closed = |(pattern, support): &(&Vec<u32>, &u32)| {
        !supports.iter().any(|(other, of_other)| {
            other.len() > pattern.len() && of_other == *support && is_part(pattern, other)
        })
    };
    let closed = supports.iter().filter(is_closed);
    closed
        .map(|(pattern, support)| (pattern.clone(), *support))
        .collect()
}

fn limits(least: u32, longest: Option<usize>) -> PatternLimits {
    PatternLimits {
        least,
        longest,
        effort: None,
    }
}

/// Section 2.4: R1 = 0, W1 = 1, R2 = 2, W2 = 3, the four traces of the table.
fn table_of_section_2_4() -> Vec<Vec<u32>> {
    vec![
        vec![0, 1, 2, 3, 0, 1],
        vec![0, 1, 0, 1, 2, 3],
        vec![0, 2, 1, 3, 0, 1],
        vec![2, 0, 3, 1, 0, 1],
    ]
}

#[test]
fn section_2_4_frequent_patterns_of_the_table() {
    let closed = mined(&table_of_section_2_4(), limits(4, None));
    let support = |pattern: &[u32]| {
        let supers = closed.iter().filter(|(closed, _)| is_part(pattern, closed));
        supers.map(|(_, support)| *support).max()
    };
    assert_eq!(support(&[2, 3]), Some(4), "R2 W2, as the text says");
    assert_eq!(support(&[0, 3]), Some(4), "R1 W2, as the text says");
    assert_eq!(support(&[0, 2]), None, "R1 R2 does not occur in trace 4");
    assert_eq!(
        closed,
        BTreeMap::from([(vec![0, 1, 0, 1], 4), (vec![0, 3], 4), (vec![2, 3], 4)])
    );
}

#[test]
fn longest_length_counts_as_closed() {
    let list = vec![vec![0, 1, 2, 3, 4]; 3];
    assert_eq!(mined(&list, limits(3, None)).len(), 1);
    let bounded = mined(&list, limits(3, Some(3)));
    assert_eq!(bounded.len(), 10, "all patterns of three");
    assert!(bounded.keys().all(|pattern| pattern.len() == 3));
}

#[test]
fn equal_sequences_can_stand_for_each_other() {
    let data = |list: &[(Vec<u32>, u32)]| {
        let data = SequencesToMine::new(4, list.iter().cloned());
        let mut found = Vec::new();
        data.mine(
            &limits(3, None),
            &Everything,
            &Budget::unlimited(),
            |p, s| {
                found.push((p.to_vec(), s));
                true
            },
        );
        found
    };
    let (a, b) = (vec![0, 1, 2], vec![1, 0, 2, 3]);
    let single = [
        (a.clone(), 1),
        (a.clone(), 1),
        (b.clone(), 1),
        (b.clone(), 1),
    ];
    assert_eq!(data(&single), data(&[(a, 2), (b, 2)]));
}

#[test]
fn a_long_common_trace_is_one_pattern() {
    let list = vec![(0..100).collect::<Vec<u32>>(); 2];
    let found = mined(&list, limits(2, None));
    assert_eq!(found.keys().map(Vec::len).collect::<Vec<_>>(), [100]);
}

#[test]
fn too_much_work_is_told() {
    let data = SequencesToMine::new(50, (0..4).map(|_| ((0..50).collect(), 1)));
    let limits = PatternLimits {
        effort: Some(100),
        ..limits(2, Some(4))
    };
    let stopped = data.mine(&limits, &Everything, &Budget::unlimited(), |_, _| true);
    assert_eq!(stopped, Some(StopReason::TooMuch("patterns")));
}

#[test]
fn a_spent_budget_is_told() {
    let budget = Budget::unlimited();
    budget.cancel();
    let list = (0..8).map(|k| ((0..60).map(|i| i * (2 * k + 1) % 61).collect(), 1));
    let data = SequencesToMine::new(61, list);
    let stopped = data.mine(&limits(2, None), &Everything, &budget, |_, _| true);
    assert_eq!(stopped, Some(StopReason::Cancelled));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn closed_patterns_are_those_of_the_definition(
        list in proptest::collection::vec(proptest::collection::vec(0u32..5, 0..9), 1..7),
        least in 1u32..5,
        longest in 1usize..7,
    ) {
        prop_assert_eq!(mined(&list, limits(least, None)), by_definition(&list, least, usize::MAX));
        let bounded = by_definition(&list, least, longest);
        prop_assert_eq!(mined(&list, limits(least, Some(longest))), bounded);
    }

    #[test]
    fn a_projection_that_is_given_up_loses_nothing(
        list in proptest::collection::vec(
            (proptest::collection::vec(0u32..5, 0..7), 1u32..4), 30..150),
        percent in 5u32..60,
        longest in 1usize..6,
    ) {
        let data = SequencesToMine::new(130, list.iter().cloned());
        let least = (data.weight() * percent).div_ceil(100);
        let single: Vec<Vec<u32>> = list
            .iter()
            .flat_map(|(items, weight)| vec![items.clone(); *weight as usize])
            .collect();
        for (bound, length) in [(None, usize::MAX), (Some(longest), longest)] {
            let mut found = BTreeMap::new();
            data.mine(&limits(least, bound), &Everything, &Budget::unlimited(), |pattern, support| {
                found.insert(pattern.to_vec(), support);
                true
            });
            prop_assert_eq!(found, by_definition(&single, least, length));
        }
    }

    #[test]
    fn long_sequences_are_mined_like_short_ones(
        list in proptest::collection::vec(proptest::collection::vec(0u32..3, 0..7), 1..6),
        least in 1u32..4,
    ) {
        // Padding with a number of its own makes sequences longer than a word of positions.
        let padded = |(n, items): (usize, &Vec<u32>)| {
            let pad = |i: usize| 10 + (n * 20 + i % 20) as u32;
            let mut long: Vec<u32> = (0..70).map(pad).collect();
            long.extend(items);
            long
        };
        let long: Vec<Vec<u32>> = list.iter().enumerate().map(padded).collect();
        let mut short = mined(&list, limits(least.max(2), None));
        short.retain(|_, support| *support >= 2);
        prop_assert_eq!(mined(&long, limits(least.max(2), None)), short);
    }
}
