//! The place where a run had failed: that of the failure, or, for a program that ends with an exit status, the last step of
//! `main` itself. What is destroyed behind it has no part in that status.

use crate::callers::frames;
use unsnarl_trace::{Event, EventId, FailureKind, Run, SiteId, SiteRow, ThreadId};

/// Site of the failure; none when the run did not fail, or no site is known.
pub fn site(run: &Run) -> Option<SiteId> {
    let last = step(run).map(|row| run.events.site(row));
    last.or_else(|| run.meta.failure.as_ref()?.site)
}

/// The last access of `main`, or of what it calls, before its end; none for runs whose last access is no such end: that of
/// another thread, which may have ended the program, or of `main` at work.
pub(crate) fn step(run: &Run) -> Option<EventId> {
    const MAIN: ThreadId = ThreadId(0);
    let failure = run.meta.failure.as_ref();
    let failure = failure.filter(|failure| failure.kind == FailureKind::Exit)?;
    let last = run.events.get(failure.event?)?;
    if last.thread != MAIN || is_in_main(run, &last) {
        return None;
    }
    let rows = (0..run.events.len() as u32).rev().map(EventId);
    let mut own = rows.filter(|row| run.events.thread(*row) == MAIN);
    own.find(|row| run.events.kind(*row).is_access() && is_in_main(run, &run.events.event(*row)))
}

/// Returns whether `main` is at work: neither before it begins nor at the brace that ends it, where objects are destroyed.
fn is_in_main(run: &Run, event: &Event) -> bool {
    let of_main = |site: SiteId| Some(run.meta.site(site)).filter(|site| site.function == "main");
    let sites = std::iter::once(event.site).chain(frames(run, event.stack));
    let mut main = sites.filter_map(of_main);
    let is_brace = |site: &SiteRow| site.text.trim() == "}";
    main.next()
        .is_some_and(|site| site.line != 0 && !is_brace(site))
}
