//! Threads that wait for a signal which only they would send, after their wait: jobs of a pool that wait for other jobs,
//! when every thread of the pool has such a job.

use super::{
    circle::wait_effect,
    draft::Draft,
    lost_wakeup::checked_before,
    view::View,
    waiting::{WaitingThread, changed_since, object_name, request},
};
use crate::{
    callers::call_sites,
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Place, Role},
    facts,
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, LocationId, raw::WaitsFor};

/// A thread that would send the signal once its own wait for it is over.
struct Starved<'a> {
    waiting: &'a WaitingThread,
    /// The call that leads to the wait, in the function that sends the signal further down; else the read by which the thread
    /// waits, of a value that has stayed as it is.
    since: Since,
    /// Place of the signal in runs that pass.
    sends: Place,
}

/// The place in the course of a thread that comes before its signal.
enum Since {
    Call(Place),
    Look(EventId),
}

/// Explains a run in which all threads that send a signal in runs that pass wait for it themselves, before they come to
/// that line; with one of them.
pub(super) fn starved<'a>(
    view: &View,
    waiting: &'a [WaitingThread],
) -> Option<(Explanation, &'a WaitingThread)> {
    let waits = waiting.iter();
    let waits = waits.filter(|one| one.waits_for == WaitsFor::Condition);
    let conditions: BTreeSet<LocationId> = waits.map(|one| one.object).collect();
    conditions.into_iter().find_map(|condition| {
        let starved = all_senders(view, waiting, condition)?;
        let first = starved.first()?.waiting;
        Some((told(view, &starved), first))
    })
}

/// All threads that send the signal; `None` if one of them does not wait for it, or none is known.
fn all_senders<'a>(
    view: &View,
    waiting: &'a [WaitingThread],
    condition: LocationId,
) -> Option<Vec<Starved<'a>>> {
    let name = view.run.location(condition);
    let mut senders: BTreeMap<&str, BTreeSet<&Place>> = BTreeMap::new();
    for sent in view.corpus.passing().flat_map(|run| &run.signals) {
        if sent.condition == name {
            senders.entry(&sent.thread).or_default().insert(&sent.place);
        }
    }
    let waits = |sender: &str| {
        let mut own = waiting.iter().filter(|one| one.object == condition);
        own.find(|one| facts::thread_name(&view.run, one.thread) == sender)
    };
    let all = senders
        .iter()
        .map(|(sender, places)| behind(view, waits(sender)?, places));
    let all: Vec<Starved<'a>> = all.collect::<Option<_>>()?;
    Some(all).filter(|all| !all.is_empty())
}

/// The thread's wait, if each of the places comes after it in a function that leads to it, or it will not end by itself: nobody
/// has changed what the thread looked at, as in a loop whose next round would send the signal.
fn behind<'a>(
    view: &View,
    waiting: &'a WaitingThread,
    places: &BTreeSet<&Place>,
) -> Option<Starved<'a>> {
    let sites = call_sites(&view.run, request(view, waiting));
    let calls: Vec<Place> = sites
        .into_iter()
        .map(|site| facts::place(&view.run, site))
        .collect();
    let leads_to = |sends: &Place| {
        let mut calls = calls.iter();
        calls.find(|call| {
            (&call.file, &call.function) == (&sends.file, &sends.function) && call.line < sends.line
        })
    };
    let sends = (*places.first()?).clone();
    let calls: Option<Vec<&Place>> = places.iter().map(|sends| leads_to(sends)).collect();
    let look = || {
        let look = checked_before(view, request(view, waiting))?;
        changed_since(view, look).is_none().then_some(look)
    };
    let since = match calls.as_deref() {
        Some([call, ..]) => Since::Call((*call).clone()),
        _ => Since::Look(look()?),
    };
    Some(Starved {
        waiting,
        since,
        sends,
    })
}

fn told(view: &View, starved: &[Starved<'_>]) -> Explanation {
    let what = starved.first().map_or_else(String::new, |one| {
        object_name(view, request(view, one.waiting))
    });
    let headline = format!("all threads that signal `{what}` wait for it themselves");
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    let parts: Vec<String> = starved.iter().map(|one| part(view, one)).collect();
    draft.detail(format!("{}.", parts.join(";\n")));
    // The value that they wait by may be one that somebody should not have set.
    let is_behind = |one: &Starved<'_>| matches!(one.since, Since::Call(_));
    draft.set().certainty = match starved.iter().all(is_behind) {
        true => Certainty::Likely,
        false => Certainty::Possible,
    };
    draft.set().remark = "No other thread sends it in runs that pass.".to_owned();
    for one in starved {
        let request = request(view, one.waiting);
        let mut step = view.step(request, "for ever");
        step.does(wait_effect(view, one.waiting));
        draft.add(step);
        draft.mark(request, Role::Cause);
    }
    draft.finish()
}

/// A thread's part in words: `worker (main.1) waits at pool.c:62, called from line 24, and would signal on line 28 only
/// after that`.
fn part(view: &View, one: &Starved<'_>) -> String {
    let request = request(view, one.waiting);
    let at = view.place(request);
    let since = match &one.since {
        Since::Call(call) => format!("called from {}", line(call, &at)),
        Since::Look(look) => format!(
            "where it had read {}{}",
            view.variable(*look),
            view.equals_read(*look)
        ),
    };
    format!(
        "{} waits at {}, {since}, and would signal on {} only after that",
        view.words(request),
        view.at(request),
        line(&one.sends, &at)
    )
}
