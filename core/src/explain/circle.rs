//! Threads that wait for each other in a cycle, in words.

use super::{
    draft::Draft,
    view::View,
    waiting::{Keeper, Keeps, WaitingThread, object_name, request, sends},
};
use crate::{
    callers,
    explanation::{BugKind, Certainty, EdgeKind, Explanation, Role},
    facts,
};
use unsnarl_trace::{EventId, ThreadId, raw::WaitsFor};

/// A thread of the cycle with its keeper.
type CycleThread = (WaitingThread, Keeper);

/// Explains a cycle.
pub(super) fn explain_circle(view: &View, circle: &[CycleThread]) -> Explanation {
    let mut draft = Draft::new(view, BugKind::Deadlock, headline(view, circle));
    let parts: Vec<String> = circle
        .iter()
        .map(|(waiting, keeper)| part(view, waiting, keeper, circle))
        .collect();
    draft.detail(format!("{}.", parts.join(";\n")));
    draft.set().certainty = Certainty::Likely;
    draft.set().remark = same_site_remark(view, circle);
    for (waiting, keeper) in circle {
        let request = request(view, waiting);
        tell_keeper(&mut draft, keeper, request);
        let mut step = view.step(request, "for ever");
        step.does(wait_effect(view, waiting));
        draft.add(step);
        draft.mark(request, Role::Cause);
    }
    let mut explanation = draft.finish();
    explanation
        .edges
        .iter_mut()
        .for_each(|edge| edge.kind = EdgeKind::WaitsFor);
    explanation
}

fn headline(view: &View, circle: &[CycleThread]) -> String {
    let locks_only = circle.iter().all(is_lock);
    let name = |(waiting, _): &CycleThread| facts::thread_name(&view.run, waiting.thread);
    match circle.iter().map(name).collect::<Vec<_>>().as_slice() {
        [one] => format!("{one} waits for a lock that it holds itself"),
        [a, b] if locks_only => format!("{a} and {b} wait for each other's lock"),
        [a, b] => format!("{a} and {b} wait for each other"),
        many => format!("{} threads wait for each other in a circle", many.len()),
    }
}

fn is_lock((_, keeper): &CycleThread) -> bool {
    matches!(keeper.by, Keeps::Lock(_))
}

fn tell_keeper(draft: &mut Draft, keeper: &Keeper, request: EventId) {
    match keeper.by {
        Keeps::Lock(held) => {
            draft.step(held, "holds it to the end");
            draft.mark(held, Role::Interference);
        }
        Keeps::Unit(taken) => {
            draft.step(taken, "never given back");
            draft.mark(taken, Role::Interference);
        }
        Keeps::Value { write, read } => {
            draft.step(write, "");
            // A thread that looks again and again waits by that.
            if read != request {
                draft.step(read, "");
            }
            draft.mark(write, Role::Interference);
        }
        Keeps::Running | Keeps::Silent => {}
    }
}

/// A wait in words: `waits for m`, `waits for the end of main.2`.
pub(super) fn wait_effect(view: &View, waiting: &WaitingThread) -> String {
    match waiting.waits_for {
        WaitsFor::Join => {
            let whom = waiting.keepers.first();
            let whom = whom.map(|keeper| facts::thread_name(&view.run, keeper.thread));
            let whom = whom.unwrap_or_else(|| "a thread".to_owned());
            format!("waits for the end of {whom}")
        }
        WaitsFor::Futex => format!(
            "waits for a change of {}",
            object_name(view, request(view, waiting))
        ),
        of => match object_name(view, request(view, waiting)).as_str() {
            "" => format!("waits for {}", of.words()),
            name => format!("waits for {name}"),
        },
    }
}

/// A thread's part in words: ``execute (main.1) holds `a` (line 30) and waits for `b` (line 31)``.
fn part(view: &View, waiting: &WaitingThread, keeper: &Keeper, circle: &[CycleThread]) -> String {
    let who = facts::thread_in_words(&view.run, waiting.thread);
    let request = request(view, waiting);
    let around = around_wrapper(view, waiting, circle);
    let [held_at, wanted_at] = around.map_or([None, None], |places| places.map(Some));
    let wants = match (waiting.waits_for, keeper.by) {
        (WaitsFor::Join, _) => wait_effect(view, waiting),
        (WaitsFor::Condition, Keeps::Value { write, read }) => format!(
            "waits for a signal of `{}` ({}): it had read {}{}, which {} had written at {}",
            object_name(view, request),
            view.at(request),
            view.variable_of(&[read, write]),
            view.equals_read(read),
            view.name(write),
            view.at(write)
        ),
        (WaitsFor::Condition, Keeps::Silent) => {
            let sent = sends(view, keeper.thread, waiting.object);
            let at = sent.map_or_else(String::new, |place| format!(" at {}", facts::short(place)));
            format!(
                "waits for a signal of `{}` ({}), which {} sends{at} in runs that pass",
                object_name(view, request),
                view.at(request),
                facts::thread_name(&view.run, keeper.thread)
            )
        }
        (WaitsFor::Futex, Keeps::Value { .. }) => format!(
            "waits for a change of `{}` ({})",
            object_name(view, request),
            view.at(request)
        ),
        (WaitsFor::Semaphore, _) => format!(
            "waits for a unit of `{}` ({})",
            object_name(view, request),
            view.at(request)
        ),
        _ => format!(
            "waits for `{}` ({}){}",
            object_name(view, request),
            wanted_at.unwrap_or_else(|| view.at(request)),
            other_name(view, request, keeper)
        ),
    };
    match has(view, waiting.thread, circle, held_at) {
        Some(has) => format!("{who} {has} and {wants}"),
        None => format!("{who} {wants}"),
    }
}

/// Clause such as ``, which is the `s.lock` of main.1``, where the thread that holds a lock has another name for it.
fn other_name(view: &View, request: EventId, keeper: &Keeper) -> String {
    let held = keeper.held().map(|held| object_name(view, held));
    let held = held.filter(|name| *name != object_name(view, request));
    held.map_or_else(String::new, |name| {
        let who = facts::thread_name(&view.run, keeper.thread);
        format!(", which is the `{name}` of {who}")
    })
}

/// The calls that lead to the lock that a thread of the cycle holds and to the one that it waits for, where one line of a
/// wrapper takes both.
fn around_wrapper(
    view: &View,
    waiting: &WaitingThread,
    circle: &[CycleThread],
) -> Option<[String; 2]> {
    let is_of_two = waiting.waits_for == WaitsFor::Lock;
    let [held, wanted] = locking_rows(view, waiting, circle).filter(|_| is_of_two)?;
    let is_one = view.place(held) == view.place(wanted);
    let (takes, asks) = callers::parting(&view.run, held, wanted).filter(|_| is_one)?;
    (takes != asks).then(|| [takes, asks].map(|site| facts::short(&facts::place(&view.run, site))))
}

/// The object held for the preceding thread of the cycle, in words: ``holds `a` (line 30)``, or at the place that is given.
fn has(
    view: &View,
    thread: ThreadId,
    circle: &[CycleThread],
    at: Option<String>,
) -> Option<String> {
    let mut links = circle.iter().filter(|(_, keeper)| keeper.thread == thread);
    let (word, row) = links.find_map(|(waiting, keeper)| match keeper.by {
        Keeps::Lock(row) => Some(("holds", row)),
        Keeps::Unit(row) => Some(("has a unit of", row)),
        Keeps::Value { write, .. } if waiting.waits_for == WaitsFor::Futex => {
            Some(("has set", write))
        }
        _ => None,
    })?;
    Some(format!(
        "{word} `{}` ({})",
        object_name(view, row),
        at.unwrap_or_else(|| view.at(row))
    ))
}

/// Remark for threads that all lock by the same lines, where only the names of the locks distinguish them. The
/// lines of a lock's wrapper are the same for all locks: what counts is the function that leads to both calls.
fn same_site_remark(view: &View, circle: &[CycleThread]) -> String {
    let places: Vec<_> = circle
        .iter()
        .map(|(waiting, _)| locking_places(view, waiting, circle))
        .collect();
    let same = places
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.is_some() && a == b));
    let locks_only = circle.iter().all(is_lock);
    let says = match (same && locks_only, circle.len()) {
        (false, _) | (_, 0 | 1) => "",
        (true, 2) => {
            "The same lines lock in both orders: which lock comes first depends on the arguments."
        }
        (true, _) => {
            "All lock on the same lines: which two locks these are differs from thread to thread."
        }
    };
    says.to_owned()
}

/// Rows at which a thread of the cycle takes the lock that it holds and asks for the next one.
fn locking_rows(
    view: &View,
    waiting: &WaitingThread,
    circle: &[CycleThread],
) -> Option<[EventId; 2]> {
    let held = circle.iter().find_map(|(_, keeper)| match keeper.by {
        Keeps::Lock(row) if keeper.thread == waiting.thread => Some(row),
        _ => None,
    })?;
    Some([held, request(view, waiting)])
}

/// Files and lines by which a thread of the cycle takes the lock that it holds and asks for the next one, in
/// the innermost function that leads to both.
fn locking_places(
    view: &View,
    waiting: &WaitingThread,
    circle: &[CycleThread],
) -> Option<[(String, u32); 2]> {
    let [held, wanted] = locking_rows(view, waiting, circle)?;
    let (takes, asks) = callers::parting(&view.run, held, wanted)?;
    Some([takes, asks].map(|site| {
        let place = facts::place(&view.run, site);
        (place.file, place.line)
    }))
}
