//! Tests of clocks, cycles and held locks against their definitions.

use super::*;
use proptest::prelude::*;

/// Requests with the requests that each waits for.
struct Listed {
    holders: Vec<Vec<usize>>,
    found: Vec<Vec<usize>>,
}

impl Requests for Listed {
    fn count(&self) -> usize {
        self.holders.len()
    }

    fn holders(&self, request: usize) -> &[usize] {
        &self.holders[request]
    }

    fn waits_for(&self, request: usize, holder: usize) -> bool {
        self.holders[request].contains(&holder)
    }

    fn at_once(&self, a: usize, b: usize) -> bool {
        a != b
    }

    fn go_on(&mut self) -> bool {
        true
    }

    fn found(&mut self, cycle: &[usize]) -> bool {
        self.found.push(cycle.to_vec());
        true
    }
}

/// All sequences of different requests from the lowest on that wait for each other in turn.
fn all_cycles(holders: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut open: Vec<Vec<usize>> = (0..holders.len()).map(|first| vec![first]).collect();
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        let last = &holders[*path.last().unwrap()];
        if path.len() > 1 && last.contains(&path[0]) {
            found.push(path.clone());
        }
        for &next in last.iter().filter(|next| **next > path[0]) {
            if !path.contains(&next) {
                open.push([path.as_slice(), &[next]].concat());
            }
        }
    }
    found.sort();
    found
}

proptest! {
    #[test]
    fn cycles_are_found_once_each(edges in prop::collection::btree_set((0usize..6, 0usize..6), 0..16)) {
        let of = |from: usize| edges.iter().filter(move |edge| edge.0 == from).map(|edge| edge.1);
        let holders: Vec<Vec<usize>> = (0..6).map(|from| of(from).collect()).collect();
        let expected = all_cycles(&holders);
        let mut listed = Listed { holders, found: Vec::new() };
        cycles(&mut listed);
        prop_assert_eq!(listed.found, expected);
    }

    #[test]
    fn clocks_join_to_the_later_entries(
        a in prop::collection::vec(0u32..5, 0..6),
        b in prop::collection::vec(0u32..5, 0..6),
    ) {
        let mut clock = VectorClock::default();
        clock.join(&a);
        let mut rose = Vec::new();
        clock.learn(&b, |thread, upto| rose.push((thread, upto)));
        let entry = |of: &[u32], thread: usize| of.get(thread).copied().unwrap_or(0);
        for thread in 0..6 {
            let (mine, theirs) = (entry(&a, thread), entry(&b, thread));
            prop_assert_eq!(clock.get(thread as u16), mine.max(theirs));
            prop_assert_eq!(rose.contains(&(thread as u16, theirs)), theirs > mine);
        }
        prop_assert!(!clock.join(&b));
        let mut table = ClockTable::new(6, 0);
        let padded = |of: &[u32]| (0..6).map(|thread| entry(of, thread)).collect::<Vec<_>>();
        let (first, second) = (table.push(&padded(&a)), table.push(&padded(&b)));
        table.join(first, second);
        prop_assert_eq!(table.get(first), &padded(clock.entries())[..]);
        prop_assert_eq!(table.get(second), &padded(&b)[..]);
    }

    #[test]
    fn locks_are_held_to_the_last_release(steps in prop::collection::vec((0u32..3, any::<bool>()), 0..20)) {
        let mut held = HeldLocks::default();
        let mut naive: Vec<(u32, usize)> = Vec::new();
        for (at, &(lock, takes)) in steps.iter().enumerate() {
            if takes {
                held.take(lock, (lock, at));
                naive.push((lock, at));
            } else {
                held.give(lock);
                let last = naive.iter().rposition(|(of, _)| *of == lock);
                last.map(|last| naive.remove(last));
            }
            let mut firsts = naive.clone();
            let mut seen = Vec::new();
            firsts.retain(|(lock, _)| !seen.contains(lock) && { seen.push(*lock); true });
            prop_assert_eq!(held.iter().copied().collect::<Vec<_>>(), firsts);
        }
    }
}
