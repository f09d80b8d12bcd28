//! Step 8 of Algorithm 2: patterns with the same dependencies and the same support form one group; groups are
//! ranked by relative support.

use super::{graph::EventDependency, mapping::MappedPattern, prepared::MiningSteps};
use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeMap,
};

/// Patterns with the same dependencies and support.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatternGroup {
    /// The common dependencies.
    pub dependencies: Vec<EventDependency>,
    /// Number of failing runs with one of its patterns (each has the same number).
    pub failing: u32,
    /// Number of passing runs with one.
    pub passing: u32,
    /// The patterns as numbers of macros, the shortest first.
    pub patterns: Vec<Vec<u32>>,
}

impl PatternGroup {
    /// The paper's `rel_supp`: the share of failing runs, in relation to the shares of failing and passing
    /// runs together. 1 when no passing run has it.
    pub fn relative_support(&self, failing: u32, passing: u32) -> f64 {
        let share = |runs: u32, of: u32| f64::from(runs) / f64::from(of.max(1));
        let of_failing = share(self.failing, failing);
        of_failing / (of_failing + share(self.passing, passing))
    }
}

/// Collects patterns into groups.
#[derive(Debug, Default)]
pub struct Grouping {
    groups: BTreeMap<(u32, u32, u32), Vec<Vec<u32>>>,
}

impl Grouping {
    /// Adds a pattern.
    pub fn add(&mut self, found: MappedPattern) {
        let key = (found.dependencies, found.failing, found.passing);
        self.groups.entry(key).or_default().push(found.macros);
    }

    /// Returns whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Adds the patterns of another grouping.
    pub fn join(&mut self, other: Grouping) {
        for (key, patterns) in other.groups {
            self.groups.entry(key).or_default().extend(patterns);
        }
    }

    /// Returns whether a pattern occurs in at least `least` failing runs with a relative support of at least
    /// 0.9.
    pub fn is_convincing(&self, least: u32, failing: u32, passing: u32) -> bool {
        let product = |a: u32, b: u32| u64::from(a) * u64::from(b);
        self.groups.keys().any(|&(_, with, without)| {
            with >= least && 9 * product(without, failing) <= product(with, passing)
        })
    }

    /// Number of patterns.
    pub fn patterns(&self) -> usize {
        self.groups.values().map(Vec::len).sum()
    }

    /// The groups, best first: by relative support; then those of more failing runs, of fewer dependencies
    /// (which a person has to read), of more patterns.
    pub fn ranked(self, prepared: &MiningSteps) -> Vec<PatternGroup> {
        let groups = self.groups.into_iter();
        let mut groups: Vec<PatternGroup> = groups
            .map(|((set, failing, passing), mut patterns)| {
                patterns.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
                PatternGroup {
                    dependencies: dependencies(prepared, set),
                    failing,
                    passing,
                    patterns,
                }
            })
            .collect();
        let order = |a: &PatternGroup, b: &PatternGroup| {
            by_support(a, b).then_with(|| {
                let key = |group: &PatternGroup| {
                    (
                        Reverse(group.failing),
                        group.dependencies.len(),
                        Reverse(group.patterns.len()),
                    )
                };
                key(a)
                    .cmp(&key(b))
                    .then_with(|| a.dependencies.cmp(&b.dependencies))
            })
        };
        groups.sort_by(order);
        groups
    }
}

fn dependencies(prepared: &MiningSteps, set: u32) -> Vec<EventDependency> {
    let ids = prepared.labels.sets.get(set).into_iter().flatten();
    let dependencies = ids.filter_map(|id| prepared.labels.dependencies.get(*id));
    dependencies.copied().collect()
}

/// Orders groups by falling relative support, compared without rounding.
fn by_support(a: &PatternGroup, b: &PatternGroup) -> Ordering {
    let product = |x: u32, y: u32| u64::from(x) * u64::from(y);
    product(b.failing, a.passing).cmp(&product(a.failing, b.passing))
}
