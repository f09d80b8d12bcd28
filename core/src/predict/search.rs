//! Pattern-directed search for candidates (Section 5.2 of [pecan]).
//!
//! No pairs of events are enumerated: accesses are grouped into classes (`classes.rs`), and the mutation
//! conditions (`fits.rs`) are evaluated once for each combination of source lines, of classes. The cost is
//! linear in the events for the classes, and depends on lines, locksets and epochs after that. Patterns of
//! the built-in shapes take this way; all others are searched by enumerating assignments (`general.rs`), with
//! a limit that is reported.
//!
//! [pecan]: Huang and Zhang, *Persuasive Prediction of Concurrency Access Anomalies*, ISSTA 2011.

mod classes;
mod fits;
mod found;
mod general;
mod places;
mod rank;
mod region;
mod shape;
mod stretches;
#[cfg(test)]
mod tests;

use super::{AnomalyCandidate, ForcedOrder, Pattern, Patterns};
use crate::{Budget, EngineOutcome, StopReason};
use classes::{ClassMember, ClassPair, RunClasses, WantedClasses, does};
use fits::Fits;
use found::FoundCandidates;
use places::SiteLines;
use rustc_hash::FxHashMap;
use shape::PatternShape;

/// Text of [`StopReason::TooMuch`] for a region with more accesses than are paired.
const MANY_ACCESSES: &str =
    "a region has more than 256 different accesses; of those, pairs across locations were left out";

/// Options of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchOptions {
    /// Maximum number of candidates of one pattern on the same source lines, 1 or more. The paper's tables
    /// count one; further ones differ in location, thread or locks.
    pub per_lines: usize,
}

impl Default for SearchOptions {
    fn default() -> SearchOptions {
        SearchOptions { per_lines: 1 }
    }
}

/// Finds the candidates of the patterns, most likely to matter first (see `rank.rs`).
///
/// A candidate has, for each pair of events in one region with foreign events between them in the pattern,
/// places between the pair's events in which no common lock and no order excludes the foreign events.
/// Patterns that are `consecutive` need events that are independent. Decisions of the program by the values
/// it reads are not examined.
pub fn search(
    graph: &ForcedOrder<'_>,
    patterns: &Patterns,
    options: &SearchOptions,
    budget: &Budget,
) -> EngineOutcome<AnomalyCandidate> {
    let places = SiteLines::new(graph.run());
    let shapes: Vec<(&Pattern, Option<PatternShape>)> = patterns
        .all
        .iter()
        .map(|pattern| (pattern, PatternShape::of(pattern)))
        .collect();
    let classes = RunClasses::new(graph, &places, wanted(&shapes), budget);
    let mut search = PatternSearch {
        fits: Fits::new(graph, &classes),
        classes: &classes,
        budget,
        found: FoundCandidates::new(options.per_lines),
        stopped: classes.stopped,
    };
    search.on_one_location(&shapes);
    search.on_two_locations(&shapes);
    let others = shapes
        .iter()
        .enumerate()
        .filter(|(_, (_, shape))| shape.is_none());
    let others: Vec<(usize, &Pattern)> = others.map(|(n, (pattern, _))| (n, *pattern)).collect();
    let stopped = general::search(graph, &places, &classes, &others, budget, &mut search.found);
    let stopped = search.stopped.or(stopped);
    EngineOutcome {
        findings: rank::ranked(graph, search.found.candidates),
        stopped: stopped.unwrap_or(StopReason::Complete),
    }
}

fn wanted(shapes: &[(&Pattern, Option<PatternShape>)]) -> WantedClasses {
    let any = |is: fn(&Option<PatternShape>) -> bool| shapes.iter().any(|(_, shape)| is(shape));
    WantedClasses {
        triples: any(|shape| matches!(shape, Some(PatternShape::Triple(_)))),
        sets: any(|shape| matches!(shape, Some(PatternShape::Set { .. }))),
        regions: any(Option::is_none),
    }
}

struct PatternSearch<'a> {
    fits: Fits<'a>,
    classes: &'a RunClasses,
    budget: &'a Budget,
    found: FoundCandidates,
    stopped: Option<StopReason>,
}

/// Classes grouped by a key, each sorted.
type GroupedClasses<K> = Vec<(K, Vec<u32>)>;

fn grouped<T, K: Ord + Copy>(keys: &[T], what: impl Fn(&T) -> Option<K>) -> GroupedClasses<K> {
    let numbered = keys.iter().zip(0u32..);
    let mut all: Vec<(K, u32)> = numbered
        .filter_map(|(key, number)| Some((what(key)?, number)))
        .collect();
    all.sort_unstable();
    let groups = all.chunk_by(|a, b| a.0 == b.0);
    let group = |group: &[(K, u32)]| {
        let first = group.first()?.0;
        Some((first, group.iter().map(|&(_, number)| number).collect()))
    };
    groups.filter_map(group).collect()
}

impl PatternSearch<'_> {
    /// Polls the budget and notes when it is exhausted.
    fn over(&mut self) -> bool {
        if let Some(why) = self.budget.stop() {
            self.stopped = Some(why);
        }
        matches!(
            self.stopped,
            Some(StopReason::OutOfTime | StopReason::Cancelled)
        )
    }

    fn on_one_location(&mut self, shapes: &[(&Pattern, Option<PatternShape>)]) {
        let accesses = grouped(&self.classes.accesses.keys, |key: &ClassMember| {
            Some(key.location)
        });
        let pairs = grouped(&self.classes.pairs.keys, |key: &ClassPair| {
            let [first, last] = key.locations;
            (first == last).then_some(first)
        });
        let mut pairs = pairs.iter().peekable();
        for (location, accesses) in &accesses {
            if self.over() {
                return;
            }
            while pairs.next_if(|(of, _)| of < location).is_some() {}
            let pairs = pairs.peek().filter(|(of, _)| of == location);
            let pairs = pairs.map_or(&[][..], |(_, pairs)| pairs);
            for (number, (pattern, shape)) in shapes.iter().enumerate() {
                match shape {
                    Some(PatternShape::Race(does)) => self.races(number, pattern, *does, accesses),
                    Some(PatternShape::Order(does)) => {
                        self.orders(number, pattern, *does, accesses)
                    }
                    Some(PatternShape::Triple(does)) => {
                        self.triples(number, pattern, *does, pairs, accesses);
                    }
                    _ => {}
                }
            }
        }
    }

    fn access(&self, class: u32) -> Option<&ClassMember> {
        self.classes.accesses.keys.get(class as usize)
    }

    fn pair(&self, class: u32) -> Option<&ClassPair> {
        self.classes.pairs.keys.get(class as usize)
    }

    fn that_do(&self, accesses: &[u32], does: u8) -> Vec<(u32, ClassMember)> {
        let keys = accesses
            .iter()
            .filter_map(|&class| Some((class, *self.access(class)?)));
        keys.filter(|(_, key)| key.does & does != 0).collect()
    }

    fn races(&mut self, number: usize, pattern: &Pattern, does: [u8; 2], accesses: &[u32]) {
        let (firsts, seconds) = (
            self.that_do(accesses, does[0]),
            self.that_do(accesses, does[1]),
        );
        for (a, first) in &firsts {
            if self.over() {
                return;
            }
            for (b, second) in &seconds {
                let atomic = first.does & second.does & does::ATOMIC != 0;
                let lines = [first.place, second.place, 0, 0];
                if first.thread == second.thread || atomic || self.found.enough(number, lines) {
                    continue;
                }
                if let Some(events) = self.fits.independent(*a, *b) {
                    self.found.add(number, pattern, lines, &events);
                }
            }
        }
    }

    fn orders(&mut self, number: usize, pattern: &Pattern, does: [u8; 2], accesses: &[u32]) {
        let firsts = self.that_do(accesses, does[0]);
        let seconds = self.that_do(accesses, does[1]);
        for (a, first) in &firsts {
            if self.over() {
                return;
            }
            for (b, second) in &seconds {
                let lines = [first.place, second.place, 0, 0];
                if first.thread == second.thread || self.found.enough(number, lines) {
                    continue;
                }
                if let Some(events) = self.fits.turned(*a, *b) {
                    self.found.add(number, pattern, lines, &events);
                }
            }
        }
    }

    fn triples(
        &mut self,
        number: usize,
        pattern: &Pattern,
        does: [u8; 3],
        pairs: &[u32],
        accesses: &[u32],
    ) {
        let foreign = self.that_do(accesses, does[1]);
        for &pair in pairs {
            if self.over() {
                return;
            }
            let Some(key) = self.pair(pair).copied() else {
                continue;
            };
            if key.does[0] & does[0] == 0 || key.does[1] & does[2] == 0 {
                continue;
            }
            for (class, other) in &foreign {
                let lines = [key.places[0], other.place, key.places[1], 0];
                if other.thread == key.thread || self.found.enough(number, lines) {
                    continue;
                }
                if let Some(events) = self.fits.between(pair, *class) {
                    self.found.add(number, pattern, lines, &events);
                }
            }
        }
    }

    fn on_two_locations(&mut self, shapes: &[(&Pattern, Option<PatternShape>)]) {
        let pairs = grouped(&self.classes.pairs.keys, |key: &ClassPair| {
            let [first, last] = key.locations;
            (first != last).then_some(key.locations)
        });
        let of: FxHashMap<[u32; 2], &Vec<u32>> = pairs
            .iter()
            .map(|(locations, pairs)| (*locations, pairs))
            .collect();
        for (locations, mine) in &pairs {
            if self.over() {
                return;
            }
            let [first, last] = *locations;
            for (number, (pattern, shape)) in shapes.iter().enumerate() {
                let Some(PatternShape::Set { does, swapped }) = shape else {
                    continue;
                };
                let theirs = if *swapped {
                    [last, first]
                } else {
                    [first, last]
                };
                if let Some(theirs) = of.get(&theirs) {
                    self.sets(number, pattern, *does, mine, theirs);
                }
            }
        }
    }

    fn pairs_that_do(&self, pairs: &[u32], does: [u8; 2]) -> Vec<(u32, ClassPair)> {
        let keys = pairs
            .iter()
            .filter_map(|&class| Some((class, *self.pair(class)?)));
        keys.filter(|(_, key)| key.does[0] & does[0] != 0 && key.does[1] & does[1] != 0)
            .collect()
    }

    fn sets(
        &mut self,
        number: usize,
        pattern: &Pattern,
        does: [u8; 4],
        mine: &[u32],
        theirs: &[u32],
    ) {
        let mine = self.pairs_that_do(mine, [does[0], does[3]]);
        let theirs = self.pairs_that_do(theirs, [does[1], does[2]]);
        for (pair, key) in &mine {
            if self.over() {
                return;
            }
            for (foreign, other) in &theirs {
                let [first, last] = key.places;
                let lines = [first, other.places[0], other.places[1], last];
                if key.thread == other.thread || self.found.enough(number, lines) {
                    continue;
                }
                if let Some(events) = self.fits.both_between(*pair, *foreign) {
                    self.found.add(number, pattern, lines, &events);
                }
            }
        }
    }
}
