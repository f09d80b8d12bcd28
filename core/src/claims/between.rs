//! Claims about what comes between two accesses of a thread.

use super::{
    Operation,
    holds::{flag, is},
};
use crate::mining::Trace;
use rustc_hash::FxHashMap;

/// Third operations of a thread that count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Thirds {
    /// The next one after the first.
    Next,
    /// All up to the next first.
    All,
}

/// Returns whether the second operation, by another thread, comes between the first and a third one of a thread, all on one
/// location.
pub(super) fn between(
    run: &Trace,
    [first, remote, second]: [&Operation; 3],
    thirds: Thirds,
) -> bool {
    let (first, remote, second) = (is(run, first), is(run, remote), is(run, second));
    // For each location: threads that are past their first access, and whether another thread's access came
    // since.
    let mut open: FxHashMap<u64, Vec<(u64, bool)>> = FxHashMap::default();
    for &kind in &run.events {
        let (is_first, is_remote, is_second) =
            (flag(&first, kind), flag(&remote, kind), flag(&second, kind));
        let seen = run.kinds.get(kind as usize);
        let Some(seen) = seen.filter(|_| is_first || is_remote || is_second) else {
            continue;
        };
        let open = open.entry(seen.location).or_default();
        let own = |(thread, _): &(u64, bool)| *thread == seen.thread;
        if is_second && let Some(at) = open.iter().position(own) {
            if open.get(at).is_some_and(|(_, has_come)| *has_come) {
                return true;
            }
            if thirds == Thirds::Next {
                open.swap_remove(at);
            }
        }
        if is_remote {
            let others = open.iter_mut().filter(|(thread, _)| *thread != seen.thread);
            others.for_each(|(_, has_come)| *has_come = true);
        }
        if is_first {
            open.retain(|one| !own(one));
            open.push((seen.thread, false));
        }
    }
    false
}

/// Two successive accesses of a thread: positions in the run and locations.
struct SuccessiveAccesses {
    from: (usize, u64),
    to: (usize, u64),
}

/// For each thread the accesses `first` with the next `second` after them: they share at most their ends.
fn steps(
    run: &Trace,
    first: &Operation,
    second: &Operation,
) -> Vec<(u64, Vec<SuccessiveAccesses>)> {
    let (first, second) = (is(run, first), is(run, second));
    let mut begun: FxHashMap<u64, (usize, u64)> = FxHashMap::default();
    let mut steps: Vec<(u64, Vec<SuccessiveAccesses>)> = Vec::new();
    for (at, &kind) in run.events.iter().enumerate() {
        let Some(seen) = run.kinds.get(kind as usize) else {
            continue;
        };
        if flag(&second, kind)
            && let Some(from) = begun.remove(&seen.thread)
        {
            let to = (at, seen.location);
            match steps.iter_mut().find(|(thread, _)| *thread == seen.thread) {
                Some((_, own)) => own.push(SuccessiveAccesses { from, to }),
                None => steps.push((seen.thread, vec![SuccessiveAccesses { from, to }])),
            }
        }
        if flag(&first, kind) {
            begun.insert(seen.thread, (at, seen.location));
        }
    }
    steps
}

/// Returns whether a thread executes `own`, one after the other, while another thread executes the first of
/// `other` after the one and the second of `other` before the other, each on the same location.
pub(super) fn overlap(
    run: &Trace,
    [first, second]: [&Operation; 2],
    [after_first, before_second]: [&Operation; 2],
    in_this_order: bool,
) -> bool {
    let own = steps(run, first, second);
    let others = match in_this_order {
        true => steps(run, after_first, before_second),
        false => steps(run, before_second, after_first),
    };
    let fits = |step: &SuccessiveAccesses, other: &SuccessiveAccesses| {
        let (after, before) = match in_this_order {
            true => (other.from, other.to),
            false => (other.to, other.from),
        };
        step.from.0 < after.0
            && before.0 < step.to.0
            && (step.from.1, step.to.1) == (after.1, before.1)
    };
    own.iter().any(|(thread, own)| {
        let others = others.iter().filter(|(other, _)| other != thread);
        let mut others = others.map(|(_, steps)| steps);
        others.any(|others| {
            own.iter()
                .any(|step| meets(step, others).any(|one| fits(step, one)))
        })
    })
}

/// The steps of another thread that neither end before a step begins, nor begin after it has ended.
fn meets<'s>(
    step: &SuccessiveAccesses,
    others: &'s [SuccessiveAccesses],
) -> impl Iterator<Item = &'s SuccessiveAccesses> {
    let (from, to) = (step.from.0, step.to.0);
    let start = others.partition_point(|other| other.to.0 < from);
    let behind = others.get(start..).unwrap_or(&[]).iter();
    behind.take_while(move |other| other.from.0 < to)
}
