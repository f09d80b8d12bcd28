//! Callers of the function of a step, where they are informative: a function that the run calls from only one
//! place needs no mention.

use crate::{explanation::Place, facts, pairs::Fnv};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{Event, EventId, EventKind, FrameRow, Run, SiteId, StackId};

/// Bound on the callers mentioned.
const MOST: usize = 3;

/// Call sites of the functions in one run.
pub struct Callers<'a> {
    run: &'a Run,
    /// Places of calls, by called function.
    calls: BTreeMap<&'a str, BTreeSet<(&'a str, u32)>>,
    /// Functions of which the run has one line: wrappers of what they call.
    wrappers: BTreeSet<&'a str>,
}

impl<'a> Callers<'a> {
    /// Collects the call sites from every event of the run.
    pub fn of(run: &'a Run) -> Callers<'a> {
        let events = &run.events;
        let seen: BTreeSet<(u32, u32)> = events
            .sites()
            .iter()
            .copied()
            .zip(events.stacks().iter().copied())
            .collect();
        let mut calls: BTreeMap<&str, BTreeSet<(&str, u32)>> = BTreeMap::new();
        let mut lines: BTreeMap<&str, BTreeSet<(&str, u32)>> = BTreeMap::new();
        for (site, stack) in seen {
            let mut called = run.meta.site(SiteId(site));
            lines
                .entry(&called.function)
                .or_default()
                .insert((&called.file, called.line));
            for call in frames(run, StackId(stack)) {
                let at = run.meta.site(call);
                let line = (at.file.as_str(), at.line);
                calls.entry(&called.function).or_default().insert(line);
                lines.entry(&at.function).or_default().insert(line);
                called = at;
            }
        }
        lines.retain(|_, lines| lines.len() == 1);
        Callers {
            run,
            calls,
            wrappers: lines.into_keys().collect(),
        }
    }

    /// The calls that led to an event, innermost first, as far as they distinguish it from other executions
    /// of the same lines, or call a wrapper of a lock or a wait.
    pub fn via(&self, row: EventId) -> Vec<Place> {
        let event = self.run.events.event(row);
        let (mut via, mut telling) = (Vec::new(), 0);
        let mut is_wrapped = is_about_an_object(event.kind);
        let mut called = event.site;
        for call in frames(self.run, event.stack).take(MOST) {
            let function = self.run.meta.site(called).function.as_str();
            via.push(facts::place(self.run, call));
            let calls = self.calls.get(function);
            is_wrapped = is_wrapped && self.wrappers.contains(function);
            if is_wrapped || calls.is_some_and(|calls| calls.len() > 1) {
                telling = via.len();
            }
            called = call;
        }
        via.truncate(telling.max(self.out_of_wrapper(event)));
        via
    }

    /// Number of callers up to the first in another file, where the event is all that its function does: a library of wrappers.
    fn out_of_wrapper(&self, event: Event) -> usize {
        let own = self.run.meta.site(event.site);
        let is_wrapper =
            is_about_an_object(event.kind) && self.wrappers.contains(own.function.as_str());
        let mut callers = frames(self.run, event.stack).take(MOST);
        let outside = callers.position(|call| self.run.meta.site(call).file != own.file);
        outside.filter(|_| is_wrapper).map_or(0, |at| at + 1)
    }
}

/// Returns whether an event is a use of a lock, a condition or the like, or a wait for one.
fn is_about_an_object(kind: EventKind) -> bool {
    let role = kind.role();
    kind == EventKind::Blocked || role.requests_lock() || role.object_use().is_some()
}

/// The calls that led to a row, outermost first, with the row's own site last; none for the end of the run.
pub(crate) fn call_sites(run: &Run, row: EventId) -> Vec<SiteId> {
    const DEEPEST: usize = 256;
    let Some(event) = run.events.get(row) else {
        return Vec::new();
    };
    let calls = frames(run, event.stack).take(DEEPEST - 1);
    let mut sites: Vec<SiteId> = std::iter::once(event.site).chain(calls).collect();
    sites.reverse();
    sites
}

/// Point at which the call paths of two rows of a thread diverge: the sites in the innermost function that
/// leads to both.
pub(crate) fn parting(run: &Run, first: EventId, second: EventId) -> Option<(SiteId, SiteId)> {
    let (one, other) = (run.events.event(first), run.events.event(second));
    if one.stack == other.stack {
        return Some((one.site, other.site));
    }
    let (a, b) = (call_sites(run, first), call_sites(run, second));
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    Some((*a.get(same).or(a.last())?, *b.get(same).or(b.last())?))
}

/// The number of calls that lead to both of two rows of a thread: the same ones, as far as their sites tell.
pub(crate) fn common_calls(run: &Run, first: EventId, second: EventId) -> usize {
    let (a, b) = (call_sites(run, first), call_sites(run, second));
    let calls = a.len().min(b.len()).saturating_sub(1);
    let both = a.iter().zip(&b).take(calls);
    both.take_while(|(a, b)| a == b).count()
}

/// The sites of two rows of a thread in the innermost function that leads to both.
pub(crate) fn common_sites(run: &Run, first: EventId, second: EventId) -> Option<(SiteId, SiteId)> {
    let (a, b) = parting(run, first, second)?;
    let function = |site: SiteId| &run.meta.site(site).function;
    (a == b || function(a) == function(b)).then_some((a, b))
}

/// Returns whether the rows are in one function that was called twice, from two places of the function that leads to both.
pub(crate) fn is_called_twice(run: &Run, first: EventId, second: EventId) -> bool {
    let own = |row: EventId| run.meta.site(run.events.site(row)).function.as_str();
    let is_callee = |site: SiteId| run.meta.site(site).function != own(first);
    own(first) == own(second)
        && common_sites(run, first, second).is_some_and(|(a, b)| a != b && is_callee(a))
}

/// Returns whether one line reads and then writes, as `n += 2` does.
pub(crate) fn is_update(run: &Run, first: EventId, second: EventId) -> bool {
    let is_one = |event: &Event| event.kind == EventKind::Rmw;
    let (Some(first), Some(second)) = (run.events.get(first), run.events.get(second)) else {
        return false;
    };
    first.kind.reads() && !is_one(&first) && second.kind.writes() && !is_one(&second)
}

/// Identity of the point at which the call paths of two rows diverge, the same in every run of a build.
pub(crate) fn within(run: &Run, first: EventId, second: EventId) -> u64 {
    let mut hash = Fnv::default();
    let (a, b) = parting(run, first, second).unwrap_or_default();
    for site in [a, b] {
        let row = run.meta.site(site);
        hash.text(&row.file);
        hash.text(&row.function);
        hash.bytes(&row.line.to_le_bytes());
        hash.bytes(&row.column.to_le_bytes());
    }
    hash.0
}

/// The sites of the calls on a stack, innermost first.
pub fn frames(run: &Run, stack: StackId) -> impl Iterator<Item = SiteId> {
    let mut stack = stack;
    std::iter::from_fn(move || {
        if stack == StackId(0) {
            return None;
        }
        // Rows refer to earlier ones: this ends.
        let FrameRow(caller, site) = run.meta.frame(stack);
        stack = caller;
        Some(site)
    })
}

/// `called from producer at queue.c:41, from main at queue.c:60`; empty for no callers.
pub fn in_words(via: &[Place]) -> String {
    let calls: Vec<String> = via
        .iter()
        .map(|place| format!("from {} at {}", place.function, facts::short(place)))
        .collect();
    match calls.as_slice() {
        [] => String::new(),
        calls => format!("called {}", calls.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::script;

    fn via(script: &str, row: u32) -> String {
        let run = script::parse(script).expect("a script");
        in_words(&Callers::of(&run).via(EventId(row)))
    }

    #[test]
    fn who_calls_a_wrapper_is_told_although_nobody_else_does() {
        let run = script::parse(
            "main.1 R x via=30@serve @11 get\nmain.1 lock m via=32@serve @5 enter\nmain.1 W x via=33@serve @20 put\nmain.1 lock n via=33@serve @21 put\n",
        );
        let run = run.expect("a script");
        let callers = Callers::of(&run);
        let told = [0, 1, 3].map(|row| callers.via(EventId(row)).len());
        assert_eq!(told, [0, 1, 0]);
    }

    #[test]
    fn only_functions_with_several_callers_are_told() {
        let script = "
            file queue.c
            main.1 W n via=41@producer           @10 push
            main.2 W n via=60@consumer           @10 push
            main.1 W m via=10@push,41@producer   @20 grow
            main.2 W m via=10@push,60@consumer   @20 grow
            main   W k via=80@main               @30 once
        ";
        assert_eq!(via(script, 0), "called from producer at queue.c:41");
        assert_eq!(via(script, 1), "called from consumer at queue.c:60");
        assert_eq!(
            via(script, 2),
            "called from push at queue.c:10, from producer at queue.c:41",
            "push is the only caller, but has two"
        );
        assert_eq!(via(script, 4), "");
    }

    #[test]
    fn as_many_callers_as_tell_them_apart() {
        let script = "
            main.1 W n via=2@add,11@left         @1 set
            main.2 W n via=2@add,12@right        @1 set
            main.2 W n via=3@take,12@right       @1 set
        ";
        assert_eq!(
            via(script, 0),
            "called from add at test.c:2, from left at test.c:11"
        );
        assert_eq!(via(script, 2), "called from take at test.c:3");
    }
}
