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

/// Steps that count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    /// Those that have ended.
    Ended,
    /// Also those that had begun when the run ended: their second access would have come.
    Begun,
}

/// The location of an access that has not come.
const UNKNOWN: u64 = u64::MAX;

/// For each thread the accesses `first` with the next `second` after them: they share at most their ends.
fn steps(
    run: &Trace,
    first: &Operation,
    second: &Operation,
    which: Steps,
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
    let begun = begun.into_iter().filter(|_| which == Steps::Begun);
    for (thread, from) in begun {
        let to = (usize::MAX, UNKNOWN);
        match steps.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, own)) => own.push(SuccessiveAccesses { from, to }),
            None => steps.push((thread, vec![SuccessiveAccesses { from, to }])),
        }
    }
    steps
}

/// The accesses of a thread on one line in one go: positions by location, until it comes to one of them again.
#[derive(Default)]
struct Pass {
    /// Position and location of the first access.
    from: (usize, u64),
    /// Those of the last one.
    to: (usize, u64),
    at: FxHashMap<u64, usize>,
}

impl Pass {
    fn of(at: usize, location: u64) -> Pass {
        let mut pass = Pass {
            from: (at, location),
            ..Pass::default()
        };
        pass.add(at, location);
        pass
    }

    fn add(&mut self, at: usize, location: u64) {
        self.to = (at, location);
        self.at.insert(location, at);
    }
}

/// For each thread what it does in one go on a line, as in a loop over an array.
fn passes(run: &Trace, operation: &Operation) -> Vec<(u64, Vec<Pass>)> {
    let operation = is(run, operation);
    let mut passes: Vec<(u64, Vec<Pass>)> = Vec::new();
    for (at, &kind) in run.events.iter().enumerate() {
        let seen = run.kinds.get(kind as usize);
        let Some(seen) = seen.filter(|_| flag(&operation, kind)) else {
            continue;
        };
        let Some((_, own)) = passes.iter_mut().find(|(thread, _)| *thread == seen.thread) else {
            passes.push((seen.thread, vec![Pass::of(at, seen.location)]));
            continue;
        };
        match own.last_mut() {
            Some(pass) if !pass.at.contains_key(&seen.location) => pass.add(at, seen.location),
            _ => own.push(Pass::of(at, seen.location)),
        }
    }
    passes
}

/// Returns whether a thread executes `own`, one after the other, while another thread executes the first of
/// `other` after the one and the second of `other` before the other, each on the same location. Where `own` are one line, the
/// two are of one pass over several locations.
pub(super) fn overlap(
    run: &Trace,
    [first, second]: [&Operation; 2],
    [after_first, before_second]: [&Operation; 2],
    in_this_order: bool,
    which: Steps,
) -> bool {
    let others = match in_this_order {
        true => steps(run, after_first, before_second, which),
        false => steps(run, before_second, after_first, which),
    };
    let ends = |other: &SuccessiveAccesses| match in_this_order {
        true => (other.from, other.to),
        false => (other.to, other.from),
    };
    if first == second {
        let fits = |pass: &Pass, other: &SuccessiveAccesses| {
            let (after, before) = ends(other);
            let from = match after.1 {
                UNKNOWN => Some(&pass.from.0),
                location => pass.at.get(&location),
            };
            matches!((from, pass.at.get(&before.1)), (Some(&from), Some(&to))
                if from < to && from < after.0 && before.0 < to)
        };
        let span = |pass: &Pass| (pass.from.0, pass.to.0);
        return any_meet(&passes(run, first), &others, span, fits);
    }
    let fits = |step: &SuccessiveAccesses, other: &SuccessiveAccesses| {
        let (after, before) = ends(other);
        step.from.0 < after.0
            && before.0 < step.to.0
            && (after.1 == UNKNOWN || step.from.1 == after.1)
            && (step.to.1 == UNKNOWN || step.to.1 == before.1)
    };
    let span = |step: &SuccessiveAccesses| (step.from.0, step.to.0);
    any_meet(&steps(run, first, second, which), &others, span, fits)
}

/// Returns whether something of a thread fits a step of another thread that it meets.
fn any_meet<T>(
    own: &[(u64, Vec<T>)],
    others: &[(u64, Vec<SuccessiveAccesses>)],
    span: impl Fn(&T) -> (usize, usize),
    fits: impl Fn(&T, &SuccessiveAccesses) -> bool,
) -> bool {
    own.iter().any(|(thread, own)| {
        let others = others.iter().filter(|(other, _)| other != thread);
        let mut others = others.map(|(_, steps)| steps);
        others.any(|others| {
            own.iter()
                .any(|one| meets(span(one), others).any(|other| fits(one, other)))
        })
    })
}

/// The steps of another thread that neither end before a span begins, nor begin after it has ended.
fn meets(
    (from, to): (usize, usize),
    others: &[SuccessiveAccesses],
) -> impl Iterator<Item = &SuccessiveAccesses> {
    let start = others.partition_point(|other| other.to.0 < from);
    let behind = others.get(start..).unwrap_or(&[]).iter();
    behind.take_while(move |other| other.from.0 < to)
}
