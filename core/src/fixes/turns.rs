//! Locks around all of a thread's work, which make threads take turns, so that they need not be threads.

use super::{EditRegion, Fix, FixKind, sections::LockSpan};
use crate::{callers::call_sites, facts};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, Run, ThreadId};

/// Percentage of a thread's accesses that counts as nearly all: before and after them are its arguments and
/// its result.
const NEARLY_ALL: usize = 90;

/// Reason why a new mutex would only make threads take turns, if it does: two of them loop within it, or make several calls,
/// and do nearly nothing else.
pub(super) fn refuse(fix: &Fix, run: &Run, new: &[LockSpan]) -> Option<String> {
    if fix.kind != FixKind::NewMutex {
        return None;
    }
    let mut spans: BTreeMap<u16, Vec<&LockSpan>> = BTreeMap::new();
    for span in new {
        spans.entry(span.thread).or_default().push(span);
    }
    let whole = spans.iter().filter_map(|(thread, spans)| match spans[..] {
        [span] if is_all(fix, run, span) => Some(facts::thread_in_words(run, ThreadId(*thread))),
        _ => None,
    });
    let [one, other, ..] = &whole.collect::<Vec<_>>()[..] else {
        return None;
    };
    Some(format!(
        "all that {one} and {other} do would be in it: they would take turns, one as a whole after the other"
    ))
}

/// Returns whether a section has nearly all of its thread's accesses, and loops or makes calls from several lines.
fn is_all(fix: &Fix, run: &Run, span: &LockSpan) -> bool {
    let mut regions = fix.regions.iter();
    let Some((region, depth)) =
        regions.find_map(|region| Some((region, depth(run, span, region)?)))
    else {
        return false;
    };
    let goes_round = region.parts.iter().any(|part| part.is_loop);
    if !goes_round && calls(run, span, depth).len() < 2 {
        return false;
    }
    let own = run
        .events
        .iter()
        .filter(|(_, event)| event.thread.0 == span.thread && event.kind.is_access());
    let (mut all, mut within) = (0, 0);
    for (row, _) in own {
        all += 1;
        within += usize::from((span.first..=span.last).contains(&row.0));
    }
    within * 100 >= all * NEARLY_ALL
}

/// Number of calls that lead to the function of a region where a section begins; none where it begins elsewhere.
fn depth(run: &Run, span: &LockSpan, region: &EditRegion) -> Option<usize> {
    let mut sites = call_sites(run, EventId(span.first)).into_iter();
    sites.position(|site| {
        let site = run.meta.site(site);
        (&site.file, &site.function) == (&region.lines.file, &region.lines.function)
    })
}

/// Lines from which a function makes calls in a section.
fn calls(run: &Run, span: &LockSpan, depth: usize) -> BTreeSet<u32> {
    let rows = (span.first..=span.last).map(EventId);
    let own = rows.filter(|row| {
        let event = run.events.get(*row);
        event.is_some_and(|event| event.thread.0 == span.thread)
    });
    let lines = own.filter_map(|row| {
        let sites = call_sites(run, row);
        let line = run.meta.site(*sites.get(depth)?).line;
        (sites.len() > depth + 1).then_some(line)
    });
    lines.collect()
}
