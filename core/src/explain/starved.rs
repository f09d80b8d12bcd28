//! Threads that wait for a signal which only they would send, after their wait: jobs of a pool that wait for other jobs,
//! when every thread of the pool has such a job.

use super::{
    circle::wait_effect,
    draft::Draft,
    view::View,
    waiting::{WaitingThread, object_name, request},
};
use crate::{
    callers::call_sites,
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Place, Role},
    facts,
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{LocationId, raw::WaitsFor};

/// A thread that would send the signal once its own wait for it is over.
struct Starved<'a> {
    waiting: &'a WaitingThread,
    /// The call that leads to the wait, in the function that sends the signal further down.
    call: Place,
    /// Place of the signal in runs that pass.
    sends: Place,
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

/// The thread's wait, if each of the places comes after it in a function that leads to it.
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
    let mut pairs = places.iter().map(|sends| Some((leads_to(sends)?, *sends)));
    let (call, sends) = pairs.next()??;
    pairs.all(|pair| pair.is_some()).then(|| Starved {
        waiting,
        call: call.clone(),
        sends: sends.clone(),
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
    draft.set().certainty = Certainty::Likely;
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
    format!(
        "{} waits at {}, called from {}, and would signal on {} only after that",
        view.words(request),
        view.at(request),
        line(&one.call, &at),
        line(&one.sends, &at)
    )
}
