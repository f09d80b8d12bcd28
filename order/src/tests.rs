//! Tests of clocks, cycles and held locks against their definitions, and of the kernel against the checker.

use super::{
    checker::{Constraints, Replay},
    kernel::{SyncEffect, SyncState, Transitions},
    *,
};
use crate::fixture;
use proptest::prelude::*;
use unsnarl_trace::{Run, script};

/// The rows of a run, with the points that they leave open not settled by the record.
struct Unsettled(Run);

impl SyncSteps for Unsettled {
    const AS_RECORDED: bool = false;

    fn count(&self) -> u32 {
        self.0.count()
    }

    fn thread(&self, step: u32) -> u16 {
        self.0.thread(step)
    }

    fn sync(&self, step: u32) -> Option<SyncOp> {
        self.0.sync(step)
    }

    fn recorded(&self) -> impl Iterator<Item = u32> {
        self.0.recorded()
    }
}

/// Returns whether the checker accepts all steps of the order.
fn is_feasible(steps: &impl SyncSteps, constraints: &Constraints, order: &[u32]) -> bool {
    let mut replay = Replay::new(constraints, steps, order.iter().copied());
    order.iter().all(|step| replay.step(*step).is_ok())
}

/// Takes random steps, and checks before each that the kernel blocks those that the checker refuses. Ends
/// before a signal that could wake several threads: the checker leaves that open.
fn kernel_agrees(steps: &impl SyncSteps, picks: &[u8]) -> Result<(), TestCaseError> {
    let (constraints, transitions) = (Constraints::new(steps), Transitions::new(steps));
    let mut state = SyncState::new(&transitions);
    let mut order: Vec<u32> = Vec::new();
    for &pick in picks {
        let mut able: Vec<u32> = Vec::new();
        let mut seen: Vec<u16> = Vec::new();
        for step in steps.steps().filter(|step| !order.contains(step)) {
            let thread = steps.thread(step);
            if seen.contains(&thread) {
                continue;
            }
            seen.push(thread);
            let done = |step: u32| order.contains(&step);
            let blocked = state.blocked(&transitions, step, thread, done);
            let extended = [order.as_slice(), &[step]].concat();
            let allowed = is_feasible(steps, &constraints, &extended);
            prop_assert_eq!(blocked.is_none(), allowed, "{:?}: {:?}", extended, blocked);
            able.extend(blocked.is_none().then_some(step));
        }
        let Some(&step) = able.get(usize::from(pick) % able.len().max(1)) else {
            break;
        };
        let signals = |of: &&kernel::Transition| of.effect == SyncEffect::Signal;
        let signal = transitions.get(step).filter(signals);
        if signal.is_some_and(|signal| state.waiters(signal.object).count() > 1) {
            break;
        }
        state.apply(&transitions, step, steps.thread(step));
        order.push(step);
    }
    Ok(())
}

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
    fn the_kernel_blocks_what_the_checker_refuses(
        run in fixture::feasible(70),
        picks in prop::collection::vec(any::<u8>(), 70),
    ) {
        kernel_agrees(&run, &picks)?;
        kernel_agrees(&Unsettled(run), &picks)?;
    }

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

#[test]
fn a_thread_that_waits_for_ever_needs_no_signal() {
    let run = script::parse(
        "main fork main.1 @1\nmain lock m @2\nmain.1 signal c =0 @9\nmain wait c @3\nmain unlock m @3\nmain blocked condition c @3\ndeadlocks\n",
    );
    let transitions = Transitions::new(&Unsettled(run.unwrap()));
    let effect = |step| transitions.get(step).map(|one| one.effect);
    let resumes = NONE;
    let signalled = true;
    assert_eq!(effect(2), Some(SyncEffect::Signal));
    assert_eq!(effect(3), Some(SyncEffect::Wait { signalled, resumes }));
    assert!(
        transitions
            .get(5)
            .is_some_and(|blocked| blocked.ends.is_none())
    );
}

#[test]
fn a_gate_is_passed_after_all_that_opened_it() {
    let run = script::parse(
        "main once-begin g @1\nmain fork main.1 @2\nmain fork main.2 @3\nmain.1 once-end g @4\nmain.2 once-end g @5\nmain once-pass g @6\n",
    );
    let run = run.unwrap();
    let constraints = Constraints::new(&run);
    assert!(is_feasible(&run, &constraints, &[0, 1, 2, 4, 3, 5]));
    assert!(!is_feasible(&run, &constraints, &[0, 1, 2, 3, 5]));
    assert!(!is_feasible(&run, &constraints, &[0, 1, 2, 4, 5]));
    let transitions = Transitions::new(&run);
    let needs = transitions.get(5).map(|pass| pass.needs.clone());
    assert_eq!(needs, Some(vec![3, 4]));
}
