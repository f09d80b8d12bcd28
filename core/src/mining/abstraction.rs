//! Abstract events (Definition 7) and abstract traces.
//!
//! Macros that share an event become one abstract event, transitively: the classes are those of events that
//! occur together in macros, so a macro belongs to the class of its first event. All events of a class are of
//! one thread. An abstract event is the set of its macros, not a sequence of events: `⟨ab⟩` and `⟨cd⟩` are
//! one abstract event as soon as there is a macro `⟨bc⟩`, though they share nothing.

use super::macros::Macros;

/// Traces in which macros are replaced by abstract events.
#[derive(Debug, Default)]
pub struct Abstraction {
    /// For each macro: its abstract event.
    pub of_macros: Vec<u32>,
    /// Number of abstract events.
    pub count: usize,
    /// Number of macros in the common prefix of all traces.
    pub prefix: usize,
    /// Number of macros in the common suffix of all traces.
    pub suffix: usize,
}

impl Abstraction {
    /// Abstracts macros over events below `kinds`.
    pub fn new(macros: &Macros, kinds: usize) -> Abstraction {
        let mut classes = DisjointSets::new(kinds);
        for events in &macros.events {
            for pair in events.windows(2) {
                if let [a, b] = pair {
                    classes.unite(*a, *b);
                }
            }
        }
        let mut numbers = vec![None; kinds];
        let mut count = 0;
        let mut number = |events: &Vec<u32>| {
            let class = classes.find(events.first().copied().unwrap_or(0));
            let Some(slot) = numbers.get_mut(class as usize) else {
                return 0;
            };
            *slot.get_or_insert_with(|| {
                count += 1;
                count - 1
            })
        };
        let of_macros = macros.events.iter().map(&mut number).collect();
        let prefix = common(&macros.traces, 0, false);
        Abstraction {
            of_macros,
            count: count as usize,
            prefix,
            suffix: common(&macros.traces, prefix, true),
        }
    }

    /// Returns the part of a trace without the prefix and the suffix that all traces share (Section 3.3).
    pub fn pruned<'a>(&self, trace: &'a [u32]) -> &'a [u32] {
        let end = trace.len().saturating_sub(self.suffix);
        trace.get(self.prefix..end).unwrap_or(&[])
    }

    /// The abstract event of a macro.
    pub fn of(&self, id: u32) -> u32 {
        self.of_macros.get(id as usize).copied().unwrap_or(0)
    }
}

/// Number of further macros that all traces share at one end, when `taken` are gone already.
fn common(traces: &[Vec<u32>], taken: usize, at_end: bool) -> usize {
    let Some((first, others)) = traces.split_first() else {
        return 0;
    };
    let at = |trace: &[u32], i: usize| {
        let index = if at_end {
            trace.len().checked_sub(i + 1)?
        } else {
            i
        };
        trace.get(index).copied()
    };
    let shared = |other: &Vec<u32>| {
        let most = first.len().min(other.len()).saturating_sub(taken);
        let differs = (0..most).find(|&i| at(first, i) != at(other, i));
        differs.unwrap_or(most)
    };
    let alone = first.len().saturating_sub(taken);
    others.iter().map(shared).min().unwrap_or(alone)
}

/// Disjoint sets with union and find.
struct DisjointSets {
    parents: Vec<u32>,
}

impl DisjointSets {
    fn new(kinds: usize) -> DisjointSets {
        DisjointSets {
            parents: (0..kinds as u32).collect(),
        }
    }

    fn find(&mut self, mut event: u32) -> u32 {
        while let Some(&parent) = self.parents.get(event as usize) {
            if parent == event {
                break;
            }
            let above = self.parents.get(parent as usize).copied();
            let above = above.unwrap_or(parent);
            if let Some(slot) = self.parents.get_mut(event as usize) {
                *slot = above;
            }
            event = above;
        }
        event
    }

    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(slot) = self.parents.get_mut(a.max(b) as usize) {
            *slot = a.min(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, mining::macros::macros};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn abstraction(traces: &[Vec<u32>], thread: impl Fn(u32) -> u32) -> (Macros, Abstraction) {
        let slices: Vec<&[u32]> = traces.iter().map(Vec::as_slice).collect();
        let macros = macros(&slices, 16, thread, &Budget::unlimited()).unwrap();
        let abstraction = Abstraction::new(&macros, 16);
        (macros, abstraction)
    }

    /// The macros of each abstract event.
    fn classes(macros: &Macros, abstraction: &Abstraction) -> BTreeSet<Vec<Vec<u32>>> {
        let class = |a: u32| {
            let ids = (0..macros.events.len()).filter(|&m| abstraction.of(m as u32) == a);
            let mut class: Vec<Vec<u32>> = ids.map(|m| macros.events[m].clone()).collect();
            class.sort();
            class
        };
        (0..abstraction.count as u32).map(class).collect()
    }

    #[test]
    fn definition_7_the_example_of_section_3_1() {
        let traces = [vec![0, 2, 3, 4, 5, 6, 8, 9], vec![1, 2, 5, 6, 7, 3, 8, 9]];
        let (macros, abstraction) = abstraction(&traces, |e| u32::from((4..8).contains(&e)));
        assert_eq!(
            classes(&macros, &abstraction),
            BTreeSet::from([
                vec![vec![0, 2], vec![1, 2]],
                vec![vec![3]],
                vec![vec![4, 5, 6], vec![5, 6, 7]],
                vec![vec![8, 9]],
            ])
        );
        assert_eq!((abstraction.prefix, abstraction.suffix), (0, 1));
        let abstracted: Vec<Vec<u32>> = macros
            .traces
            .iter()
            .map(|trace| trace.iter().map(|&m| abstraction.of(m)).collect())
            .collect();
        assert_eq!(abstracted, [[0, 1, 2, 3], [0, 2, 1, 3]]);
    }

    #[test]
    fn sharing_is_transitive() {
        let traces = [vec![0, 1, 9], vec![1, 2, 9], vec![2, 3, 9], vec![5, 6, 9]];
        let (macros, abstraction) = abstraction(&traces, |e| u32::from(e == 9));
        assert_eq!(
            classes(&macros, &abstraction),
            BTreeSet::from([
                vec![vec![0, 1], vec![1, 2], vec![2, 3]],
                vec![vec![5, 6]],
                vec![vec![9]],
            ])
        );
    }

    #[test]
    fn an_event_in_its_own_macro_keeps_the_rest_apart() {
        let traces = [vec![0, 1, 2, 9], vec![1, 9]];
        let (macros, abstraction) = abstraction(&traces, |e| u32::from(e == 9));
        assert_eq!(abstraction.count, 4);
        assert_eq!(macros.events, [vec![0], vec![1], vec![2], vec![9]]);
    }

    #[test]
    fn what_all_traces_begin_and_end_with_is_pruned() {
        let traces = [vec![0, 9, 1, 8, 2], vec![0, 9, 2], vec![0, 9, 1, 2]];
        let (macros, abstraction) = abstraction(&traces, |e| u32::from(e > 7));
        let left: Vec<usize> = macros
            .traces
            .iter()
            .map(|trace| abstraction.pruned(trace).len())
            .collect();
        assert_eq!(
            (abstraction.prefix, abstraction.suffix, left),
            (2, 1, vec![2, 0, 1])
        );
    }

    #[test]
    fn equal_traces_have_nothing_left() {
        let (macros, abstraction) = abstraction(&[vec![0, 9, 0], vec![0, 9, 0]], |e| e);
        assert!(abstraction.pruned(&macros.traces[0]).is_empty());
    }

    proptest! {
        #[test]
        fn abstract_events_are_the_closure_of_sharing(
            traces in proptest::collection::vec(proptest::collection::vec(0u32..14, 0..20), 1..5),
        ) {
            let (macros, abstraction) = abstraction(&traces, |event| event / 7);
            let count = macros.events.len();
            let share = |a: usize, b: usize| {
                macros.events[a].iter().any(|event| macros.events[b].contains(event))
            };
            let mut related: Vec<Vec<bool>> =
                (0..count).map(|a| (0..count).map(|b| share(a, b)).collect()).collect();
            for via in 0..count {
                for a in 0..count {
                    for b in 0..count {
                        related[a][b] |= related[a][via] && related[via][b];
                    }
                }
            }
            for (a, of_a) in related.iter().enumerate() {
                for (b, related) in of_a.iter().enumerate() {
                    let same = abstraction.of(a as u32) == abstraction.of(b as u32);
                    prop_assert_eq!(same, *related);
                }
            }
        }
    }
}
