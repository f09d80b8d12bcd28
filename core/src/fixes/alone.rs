//! Joins right after the creation of a thread: it would have nothing to run beside, which is no reason to create one.

use super::{
    Ordered,
    needs::reached,
    seen::{At, frames},
};
use crate::orders::other_thread;
use std::collections::BTreeSet;
use unsnarl_trace::{Event, EventKind, Run, SiteRow, ThreadId};

/// Returns whether the thread of `order` would run alone in this run: the thread that creates it goes on with the line that
/// is to wait for it, and no other one is alive. Linear in the run.
pub(super) fn would_run_alone(run: &Run, order: &Ordered) -> bool {
    let Ordered::EndsBefore { thread, file, line } = order else {
        return false;
    };
    let mut threads = (0..).map(ThreadId).zip(&run.meta.threads);
    let Some((own, row)) = threads.find(|(_, row)| row.name == *thread) else {
        return false;
    };
    let created = run.meta.site(row.created_at);
    let from = row
        .parent
        .and_then(|parent| Some((parent, reached(run, own, parent, (file, *line))?)));
    let Some((parent, from)) = from else {
        return false;
    };
    let is_fork =
        |event: &Event| event.kind == EventKind::Fork && other_thread(event.value) == Some(own.0);
    let rows = || run.events.iter();
    let Some((fork, _)) = rows().find(|(_, event)| is_fork(event)) else {
        return false;
    };
    let mut between =
        rows().filter(|(row, event)| *row > fork && *row < from && event.thread == parent);
    let is_of_creation = |at: &At| is_at(created, at);
    let works = between.any(|(row, _)| !frames(run, row).iter().any(is_of_creation));
    let others: BTreeSet<ThreadId> = alive_at(run, fork.0);
    !works && others.iter().all(|other| [own, parent].contains(other))
}

fn is_at(site: &SiteRow, at: &At) -> bool {
    (&site.file, site.line) == (&at.file, at.line)
}

/// The threads that have steps before and after a row.
fn alive_at(run: &Run, row: u32) -> BTreeSet<ThreadId> {
    let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
    for (at, event) in run.events.iter() {
        match at.0 < row {
            true => before.insert(event.thread),
            false => after.insert(event.thread),
        };
        if event.kind == EventKind::Fork
            && at.0 < row
            && let Some(other) = other_thread(event.value)
        {
            before.insert(ThreadId(other));
        }
    }
    before.intersection(&after).copied().collect()
}
