//! Threads that all wait for results which only they would work out: tasks of a pool that wait for other tasks, when every
//! thread of the pool has such a one.

use super::{
    circle::wait_effect,
    deadlock::Hang,
    draft::Draft,
    view::View,
    waiting::{WaitingThread, request},
};
use crate::{
    callers::call_sites,
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Role},
    facts::{self, and},
    pairs::{AccessClass, Fnv},
};
use std::collections::BTreeSet;
use unsnarl_trace::{LocationId, ThreadId, raw::WaitsFor};

/// Explains a run in which all threads that set what a thread waits for, in runs that pass, wait for what others of them set.
/// Linear in the passing runs for each waiting thread.
pub(super) fn exhausted(view: &View, waiting: &[WaitingThread]) -> Option<Hang> {
    let stuck = waiting.iter();
    let stuck: Vec<&WaitingThread> = stuck
        .filter(|one| one.waits_for == WaitsFor::Futex)
        .collect();
    let pool = stuck
        .iter()
        .find_map(|first| pool_of(view, first, &stuck))?;
    let told = told(view, &pool, &stuck);
    let first = pool.first()?;
    Some(Hang::of(told, request(view, first)))
}

/// The threads of which one would set what a thread waits for, if each of them waits for another one of them.
fn pool_of<'w>(
    view: &View,
    first: &WaitingThread,
    stuck: &[&'w WaitingThread],
) -> Option<Vec<&'w WaitingThread>> {
    let mut pool: BTreeSet<ThreadId> = setters(view, first, stuck)?;
    loop {
        let members = stuck.iter().filter(|one| pool.contains(&one.thread));
        let more: Option<Vec<_>> = members.map(|one| setters(view, one, stuck)).collect();
        let more: BTreeSet<ThreadId> = more?.into_iter().flatten().collect();
        let known = pool.len();
        pool.extend(more);
        if pool.len() == known {
            break;
        }
    }
    let members = stuck.iter().copied();
    let members: Vec<_> = members.filter(|one| pool.contains(&one.thread)).collect();
    (members.len() > 1).then_some(members)
}

/// The other threads that set what a thread waits for in runs that pass; `None` if there is none, or one of them does not wait
/// for such a thing itself.
fn setters(
    view: &View,
    waiter: &WaitingThread,
    stuck: &[&WaitingThread],
) -> Option<BTreeSet<ThreadId>> {
    let own = name_hash(view, waiter.thread);
    let set = writers(view, waiter.object);
    let others = set.into_iter().filter(|name| *name != own);
    let thread = |name: u64| {
        let mut stuck = stuck.iter();
        let one = stuck.find(|one| name_hash(view, one.thread) == name)?;
        Some(one.thread)
    };
    let found: Option<BTreeSet<ThreadId>> = others.map(thread).collect();
    found.filter(|found| !found.is_empty())
}

fn name_hash(view: &View, thread: ThreadId) -> u64 {
    Fnv::of(&facts::thread_name(&view.run, thread))
}

/// The threads that write a location in runs that pass, by the hashes of their names.
fn writers(view: &View, object: LocationId) -> BTreeSet<u64> {
    let location = Fnv::of(view.run.location(object));
    let passing = view.corpus.passing();
    let all = passing.flat_map(|run| run.accesses.of(location));
    let writes = all.filter(|kind| kind.access != AccessClass::Read);
    writes.map(|kind| kind.thread).collect()
}

fn told(view: &View, pool: &[&WaitingThread], stuck: &[&WaitingThread]) -> Explanation {
    let names = pool
        .iter()
        .map(|one| facts::thread_name(&view.run, one.thread));
    let names: Vec<String> = names.collect();
    let headline = format!("{} wait for what only they would do", and(&names));
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    let others = stuck.iter().filter(|one| !pool.contains(one));
    let all: Vec<&WaitingThread> = pool.iter().chain(others).copied().collect();
    let parts: Vec<String> = all.iter().map(|one| part(view, one)).collect();
    draft.detail(format!("{}.", parts.join(";\n")));
    draft.set().certainty = Certainty::Likely;
    draft.set().remark = "In runs that pass no other thread sets what they wait for.".to_owned();
    for one in all {
        let request = request(view, one);
        let mut step = view.step(request, "for ever");
        step.does(wait_effect(view, one));
        draft.add(step);
        draft.mark(request, Role::Cause);
    }
    draft.finish()
}

/// A thread's part in words: `worker (main.1) waits at main.cpp:13, in what it has called at pool.h:45`.
fn part(view: &View, one: &WaitingThread) -> String {
    let request = request(view, one);
    let at = view.place(request);
    let who = view.words(request);
    let calls = call_sites(&view.run, request).into_iter();
    let calls = calls.map(|site| facts::place(&view.run, site));
    let own = calls.filter(|call| call.line != 0 && *call != at);
    let first = own.last().map_or_else(String::new, |call| {
        format!(", in what it has called at {}", line(&call, &at))
    });
    format!("{who} waits at {}{first}", view.at(request))
}

#[cfg(test)]
mod tests {
    use crate::{Budget, explain, fixture::corpus};

    const BEGIN: &str = "start main.1 work\nstart main.2 work\nmain fork main.1 @5 main\nmain fork main.2 @6 main\n";

    fn told(waits: &str) -> (String, String) {
        let passed = format!(
            "{BEGIN}main.1 rmw first 0->1 @13 load
            main.2 rmw first 1->2 @20 set
            main.1 R first =2 @13 load
            main.2 rmw second 0->2 @20 set
            main.1 rmw last 0->2 @20 set
            main R last =2 @27 main"
        );
        let failed = format!("{BEGIN}{waits}deadlocks");
        let found = explain(&corpus(&[&*passed; 6], &[&failed]), &Budget::unlimited());
        let told = found.findings.into_iter().next().expect("an explanation");
        (told.headline, told.detail)
    }

    #[test]
    fn tasks_that_wait_for_tasks_of_their_own_pool() {
        let main = "main blocked futex last @27 main\n";
        let both = "main.1 blocked futex first via=45@work @13 load\nmain.2 blocked futex second via=45@work @13 load\n";
        let (headline, _) = told(&format!("{both}{main}"));
        assert_ne!(
            headline, "main.1 and main.2 wait for what only they would do",
            "who sets `second` waits for nobody"
        );
        let both = "main.1 blocked futex first via=45@work @13 load\nmain.2 blocked futex last via=45@work @13 load\n";
        let (headline, detail) = told(&format!("{both}{main}"));
        assert_eq!(
            headline,
            "main.1 and main.2 wait for what only they would do"
        );
        assert_eq!(
            detail,
            "work (main.1) waits at test.c:13, in what it has called at line 45;\nwork (main.2) waits at test.c:13, in what it has called at line 45;\nmain waits at test.c:27."
        );
    }
}
