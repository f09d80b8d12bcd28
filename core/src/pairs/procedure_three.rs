//! Test Procedure III (LOCON, Algorithm 3): pairs that passing runs have, too, but never together.
//!
//! Two pairs are a candidate when the failing run has them on different locations between the same two
//! threads; from tid precision on, in opposite directions (the other form is in no multi-variable scenario);
//! at loop precision, in one iteration of every loop around both (regions that are meant to be atomic rarely
//! extend over the border of an iteration). Every passing run strikes the candidates that it has together at
//! that precision. The paper compares all pairs with all in every run; here the candidates are a bit matrix,
//! and a run strikes whole rows of a group at once.

use super::{
    collect::RunPairs,
    columns::walk,
    counts::PairCounts,
    keys::PairKey,
    matrix::{Matrix, MatrixItem, together},
    meetings::{MetPair, SEVERAL},
    predictable::predictable_couples,
};
use crate::{Budget, StopReason};
use rustc_hash::FxHashMap;
use std::ops::Range;
use unsnarl_trace::{EventId, Run};

/// Condition under which two pairs of a run occur together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Precision {
    /// The run has both.
    Pc,
    /// Between the same two threads, in opposite directions.
    Tid,
    /// As `Tid`, and in one iteration of their loops.
    Loop,
}

/// A pair of a couple with its events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CoupledPair {
    /// The later access.
    pub tail: EventId,
    /// The earlier access.
    pub head: EventId,
    /// Identity of the pair.
    pub key: PairKey,
}

/// Two pairs of the failing run that no passing run has together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Couple {
    /// The pair that was complete first.
    pub first: CoupledPair,
    /// The other pair.
    pub second: CoupledPair,
}

/// Result of the procedure.
#[derive(Clone, Debug)]
pub struct Couples {
    /// Couples in the order of completion, without those that make others predictable.
    pub couples: Vec<Couple>,
    /// Number of couples left out, beyond those that can be distinguished.
    pub left_out: u64,
    /// Stop reason of the procedure.
    pub stopped: StopReason,
}

/// Size of the part of the matrix that is processed at a time, in bytes.
const BLOCK: usize = 64 << 20;
/// Bound on the distinguished couples. More of them mean that there are too few passing runs to compare with.
const MOST: usize = 100_000;

/// Finds couples of the failing run that no passing run has; `counts` are those of the passing runs.
pub fn procedure_three(
    run: &Run,
    failing: &RunPairs,
    passing: &[&RunPairs],
    counts: &PairCounts,
    precision: Precision,
    budget: &Budget,
) -> Couples {
    let mut found = candidates(failing, passing, counts, precision, budget);
    if found.stopped != StopReason::Complete {
        return found;
    }
    match predictable_couples(run, &found.couples, budget) {
        Ok(predictable) => {
            let mut predictable = predictable.into_iter();
            let couples = &mut found.couples;
            couples.retain(|_| !predictable.next().unwrap_or(false));
        }
        Err(stopped) => found.stopped = stopped,
    }
    found
}

/// Steps 1 and 2: the couples before those that make others predictable are removed.
pub(super) fn candidates(
    failing: &RunPairs,
    passing: &[&RunPairs],
    counts: &PairCounts,
    precision: Precision,
    budget: &Budget,
) -> Couples {
    let numbers = Numbers::of(failing, counts);
    let mut found = Couples {
        couples: Vec::new(),
        left_out: 0,
        stopped: StopReason::Complete,
    };
    let width = numbers.keys.len();
    let rows = (BLOCK / (width / 8 + 8)).max(1);
    for first in (0..width).step_by(rows) {
        let block = first..(first + rows).min(width);
        let searched = search(
            failing, passing, &numbers, precision, block, budget, &mut found,
        );
        if let Err(stopped) = searched {
            found.stopped = stopped;
            break;
        }
    }
    found.couples.sort_unstable();
    found
}

/// Numbers of the pairs of the failing run that passing runs have, too (step 1).
struct Numbers {
    keys: Vec<PairKey>,
    of_failing: Vec<u32>,
}

/// Marks a pair that is no candidate.
const NONE: u32 = u32::MAX;

impl Numbers {
    fn of(failing: &RunPairs, counts: &PairCounts) -> Numbers {
        let known = counts.known(&failing.pairs);
        let mut keys = Vec::new();
        let number = |(pair, known): (&super::SeenPair, bool)| {
            if !known {
                return NONE;
            }
            keys.push(pair.key);
            keys.len() as u32 - 1
        };
        let of_failing = failing.pairs.iter().zip(known).map(number).collect();
        Numbers { keys, of_failing }
    }

    /// Numbers of a passing run's pairs that may still be coupled.
    fn in_run(&self, run: &RunPairs, matrix: &Matrix) -> Vec<u32> {
        let mut numbers = vec![NONE; run.pairs.len()];
        let hit = |at: usize, pair: usize| {
            if let Some(slot) = numbers.get_mut(pair).filter(|_| matrix.has_any(at as u32)) {
                *slot = at as u32;
            }
        };
        let keys = run.pairs.iter().map(|pair| pair.key);
        walk(&self.keys, keys, hit, |_, _| {});
        numbers
    }
}

/// Steps 1 and 2 for candidates whose first pair is in `block`.
fn search(
    failing: &RunPairs,
    passing: &[&RunPairs],
    numbers: &Numbers,
    precision: Precision,
    block: Range<usize>,
    budget: &Budget,
    found: &mut Couples,
) -> Result<(), StopReason> {
    let mut matrix = Matrix::new(block, numbers.keys.len());
    let groups = in_failing(failing, &numbers.of_failing, precision);
    for group in &groups {
        stop(budget)?;
        group.each(|forward, backward| {
            matrix.mark(forward, backward);
        });
    }
    for run in passing {
        stop(budget)?;
        matrix.refresh();
        if matrix.is_empty() {
            return Ok(());
        }
        let numbers = numbers.in_run(run, &matrix);
        for group in in_passing(run, &numbers, precision) {
            group.each(|forward, backward| matrix.strike(forward, backward));
        }
    }
    harvest(&matrix, &groups, numbers, found);
    Ok(())
}

fn stop(budget: &Budget) -> Result<(), StopReason> {
    budget.stop().map_or(Ok(()), Err)
}

/// Pairs that occur together: those of one half with those of the other.
struct Halves {
    forward: Vec<MatrixItem>,
    /// The other half; none when it equals `forward`.
    backward: Option<Vec<MatrixItem>>,
}

impl Halves {
    fn of(forward: &[MetPair], backward: &[MetPair], numbers: &[u32]) -> Halves {
        Halves {
            forward: items(forward, numbers),
            backward: Some(items(backward, numbers)),
        }
    }

    /// Calls back for each two parts that occur together.
    fn each(&self, mut found: impl FnMut(&[MatrixItem], &[MatrixItem])) {
        match &self.backward {
            Some(backward) => together(&self.forward, backward, found),
            None => found(&self.forward, &self.forward),
        }
    }
}

fn items(met: &[MetPair], numbers: &[u32]) -> Vec<MatrixItem> {
    let item = |met: &MetPair| {
        let number = *numbers.get(met.pair as usize)?;
        (number != NONE).then_some(MatrixItem {
            number,
            ..MatrixItem::of(met)
        })
    };
    met.iter().filter_map(item).collect()
}

/// Merges both directions: each pair once.
fn both_ways(mut items: Vec<MatrixItem>) -> Vec<MatrixItem> {
    items.sort_unstable_by_key(|item| (item.number, item.tail, item.head));
    items.dedup_by(|again, first| {
        let same = again.number == first.number;
        if same && again.location != first.location {
            first.location = SEVERAL;
        }
        same
    });
    items
}

/// The groups of the failing run; at pc precision those of two threads, whatever the direction.
fn in_failing(run: &RunPairs, numbers: &[u32], precision: Precision) -> Vec<Halves> {
    match precision {
        Precision::Pc => {
            let groups = run.by_threads.groups();
            let groups = groups.map(|group| Halves {
                forward: both_ways(items(&[group.forward, group.backward].concat(), numbers)),
                backward: None,
            });
            groups.collect()
        }
        Precision::Tid | Precision::Loop => directed(run, numbers, precision),
    }
}

/// The groups of a passing run; at pc precision the whole run.
fn in_passing(run: &RunPairs, numbers: &[u32], precision: Precision) -> Vec<Halves> {
    if precision != Precision::Pc {
        return directed(run, numbers, precision);
    }
    let item = |(pair, &number): (&super::SeenPair, &u32)| {
        (number != NONE).then_some(MatrixItem {
            number,
            location: if pair.elsewhere {
                SEVERAL
            } else {
                pair.location
            },
            within: (0, 0),
            head: pair.head,
            tail: pair.tail,
        })
    };
    vec![Halves {
        forward: run.pairs.iter().zip(numbers).filter_map(item).collect(),
        backward: None,
    }]
}

fn directed(run: &RunPairs, numbers: &[u32], precision: Precision) -> Vec<Halves> {
    let meetings = match precision {
        Precision::Loop => &run.by_iterations,
        _ => &run.by_threads,
    };
    let groups = meetings.groups();
    let halves = groups.map(|group| Halves::of(group.forward, group.backward, numbers));
    let both = |halves: &Halves| {
        let backward = halves.backward.as_deref().unwrap_or(&[]);
        !halves.forward.is_empty() && !backward.is_empty()
    };
    halves.filter(both).collect()
}

/// Makes couples of the remaining candidates, each with its first occurrence.
fn harvest(matrix: &Matrix, groups: &[Halves], numbers: &Numbers, found: &mut Couples) {
    let mut couples: FxHashMap<(u32, u32), Couple> = FxHashMap::default();
    let mut left_out = 0;
    for group in groups {
        group.each(|forward, backward| {
            matrix.each(forward, backward, |a, b| {
                let couple = couple(a, b, numbers);
                let names = (a.number.min(b.number), a.number.max(b.number));
                let full = found.couples.len() + couples.len() >= MOST;
                if full && !couples.contains_key(&names) {
                    left_out += 1;
                    return;
                }
                let slot = couples.entry(names).or_insert(couple);
                *slot = (*slot).min(couple);
            });
        });
    }
    found.couples.extend(couples.into_values());
    found.left_out += left_out;
}

fn couple(a: &MatrixItem, b: &MatrixItem, numbers: &Numbers) -> Couple {
    let pair = |item: &MatrixItem| CoupledPair {
        tail: item.tail,
        head: item.head,
        key: numbers
            .keys
            .get(item.number as usize)
            .copied()
            .unwrap_or_default(),
    };
    let (a, b) = (pair(a), pair(b));
    Couple {
        first: a.min(b),
        second: a.max(b),
    }
}
