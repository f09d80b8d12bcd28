//! Division of the tree of schedules into units, of which each shard explores some.
//!
//! Which options of a choice are tried is found out by the runs below it ([`super::search`]), and no shard knows what the
//! others find. So at the choices of some runs all options are tried, whether or not a run has asked for them: each of
//! them is a unit, and what is tried within a unit depends on that unit alone. These runs are made by every shard, and
//! belong to one of them. An option of a divided run is a unit by itself until it is divided, too: the options that have
//! cost no preemption are, since as much lies below them as below the beginning.
//!
//! The price is that there are more units than options that a search of the whole would have tried. Most of them are cut
//! after one run: what the divided run has shown is passed over in them, too.

use super::{
    path::{ExecutedPath, bit, options},
    search::{BoundedSearch, ExploredChoice},
    sleep::Explored,
};
use crate::shard::Shard;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Number of units with which the shards have enough to share out.
const ENOUGH_UNITS: usize = 16;
/// Upper bound for the runs that are divided, all of which every shard makes.
const MOST_DIVIDED: usize = 32;
/// Number of choices in divided runs beyond which no other run is divided: they are kept.
const MOST_CHOICES: usize = 1 << 17;

/// The units of a search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Division {
    divided: Vec<DividedRun>,
    /// Units that have not begun; all shards' ones until the last run is divided.
    waiting: BTreeSet<Unit>,
    /// Number of the unit that is being explored.
    current: u64,
    /// Units that were made so far.
    units: u64,
    /// `true` when no more runs are divided.
    is_divided: bool,
    /// Units of the shard that are not divided.
    own: u64,
}

/// A run at whose choices all options are tried.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct DividedRun {
    nodes: Vec<ExploredChoice>,
    /// The first step after each choice, for the options in its place.
    first: Vec<Option<Explored>>,
}

/// An option of a divided run: all schedules that begin with the choices before it, and it. Cheap ones come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
struct Unit {
    /// Its preemptions.
    spent: u32,
    /// Its number, which decides to whom it belongs.
    number: u64,
    /// Index of the run.
    run: usize,
    /// Index of the choice.
    at: usize,
    option: u16,
}

impl Division {
    /// Begins with the run that nothing is prescribed for, which is the first unit.
    pub fn new() -> Division {
        Division {
            units: 1,
            ..Division::default()
        }
    }

    /// Returns whether the run that is made next belongs to the shard.
    pub fn is_own(&self, shard: Shard) -> bool {
        self.is_divided || shard.owns(self.current)
    }

    /// Learns from a run of the unit, and turns to the next one when there is nothing left in this one.
    pub fn learn(&mut self, search: &mut BoundedSearch, path: &ExecutedPath, shard: Shard) {
        match self.is_divided {
            true => search.learn(path),
            false => self.divide(search, path, shard),
        }
        self.turn(search, shard);
    }

    /// Skips the run: it left nothing to learn from.
    pub fn skip(&mut self, search: &mut BoundedSearch, shard: Shard) {
        search.skip();
        self.turn(search, shard);
    }

    /// Number of the shard's units, and of those that have not begun; `None` as long as not all are known.
    pub fn left(&self) -> Option<(u64, u64)> {
        let waiting = self.waiting.len() as u64;
        self.is_divided.then_some((self.own, waiting))
    }

    fn turn(&mut self, search: &mut BoundedSearch, shard: Shard) {
        if !search.is_done {
            return;
        }
        if let Some(unit) = self.next(search.bound, shard) {
            self.current = unit.number;
            search.begin_at(self.prefix(&unit));
        }
    }

    fn next(&mut self, bound: u32, shard: Shard) -> Option<Unit> {
        if !self.is_divided {
            if let Some(unit) = self.to_divide(bound) {
                self.waiting.remove(&unit);
                return Some(unit);
            }
            self.is_divided = true;
            self.waiting.retain(|unit| shard.owns(unit.number));
            self.own = self.waiting.len() as u64;
        }
        self.waiting.pop_first()
    }

    /// The unit that is to be divided next.
    fn to_divide(&self, bound: u32) -> Option<Unit> {
        let choices: usize = self.divided.iter().map(|run| run.nodes.len()).sum();
        let may = self.divided.len() < MOST_DIVIDED && choices < MOST_CHOICES;
        let unit = self.waiting.first().filter(|_| may)?;
        let is_large = unit.spent == 0;
        let is_wanted = unit.spent < bound && self.waiting.len() < ENOUGH_UNITS;
        (is_large || is_wanted).then_some(*unit)
    }

    /// Makes a unit of each option that the run did not take by itself.
    fn divide(&mut self, search: &mut BoundedSearch, path: &ExecutedPath, shard: Shard) {
        let fixed = search.nodes.len();
        let Some(mut nodes) = search.whole_path(path, shard.owns(self.current)) else {
            return;
        };
        let run = self.divided.len();
        for (at, node) in nodes.iter_mut().enumerate().skip(fixed) {
            node.wanted = node.choice.candidates;
            let affordable = node.affordable(search.bound);
            search.is_cut |= affordable != node.wanted;
            for option in options(affordable & !bit(node.choice.chosen)) {
                self.waiting.insert(Unit {
                    spent: node.cost_of(option),
                    number: self.units,
                    run,
                    at,
                    option,
                });
                self.units += 1;
            }
        }
        let first = (0..nodes.len()).map(|at| Explored::of(path, at));
        let first = first.collect();
        self.divided.push(DividedRun { nodes, first });
    }

    /// The choices that a unit begins with. At each of them the divided run's own option counts as explored.
    fn prefix(&self, unit: &Unit) -> Vec<ExploredChoice> {
        let Some(run) = self.divided.get(unit.run) else {
            return Vec::new();
        };
        let mut nodes = run.nodes.get(..=unit.at).unwrap_or_default().to_vec();
        if let Some(node) = nodes.last_mut() {
            node.choice.chosen = unit.option;
            node.begun |= bit(unit.option);
            let first = run.first.get(unit.at).cloned().flatten();
            node.explored.extend(first);
        }
        nodes
    }
}
