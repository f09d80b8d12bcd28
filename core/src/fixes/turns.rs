//! Locks around all of a thread's work, which make threads take turns, so that they need not be threads.

use super::{EditRegion, Fix, FixKind, sections::LockSpan};
use crate::{callers::call_sites, facts};
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, Run, ThreadId};

/// Percentage of a thread's accesses that counts as nearly all: before and after them are its arguments and
/// its result.
const NEARLY_ALL: usize = 90;

/// Reason why a new mutex would only make threads take turns, if it does: two of them loop within it and do
/// nearly nothing else.
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

/// Returns whether a section has nearly all of its thread's accesses, and loops.
fn is_all(fix: &Fix, run: &Run, span: &LockSpan) -> bool {
    let first = call_sites(run, EventId(span.first));
    let start = first.iter().map(|site| run.meta.site(*site));
    let start = start.map(|site| &site.function).next();
    let goes_round = |region: &EditRegion| {
        let of_thread = start == Some(&region.lines.function);
        of_thread && region.parts.iter().any(|part| part.is_loop)
    };
    if !fix.regions.iter().any(goes_round) {
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
