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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    /// Line of the step by which a run had failed that ended with an exit status after these steps.
    fn line(steps: &str) -> Option<u32> {
        let mut run = run(&format!("{steps}failed exit status 1\n"));
        let last = EventId(run.events.len() as u32 - 1);
        if let Some(failure) = &mut run.meta.failure {
            (failure.event, failure.thread) = (Some(last), Some(run.events.thread(last)));
        }
        step(&run).map(|row| run.meta.site(run.events.site(row)).line)
    }

    const LOOK: &str = "main R total =3 via=30@main @10 sum \"return total;\"\n";

    #[test]
    fn what_is_destroyed_behind_main_is_no_failure() {
        let destroyed = "main W name =0 @4 ~Tray\n";
        assert_eq!(line(&[LOOK, destroyed].concat()), Some(10));
        let in_main = "main W list =0 @33 main \"}\"\n";
        assert_eq!(line(&[LOOK, in_main, destroyed].concat()), Some(10));
    }

    #[test]
    fn main_at_work_and_other_threads_end_the_run_where_they_do() {
        assert_eq!(line(LOOK), None);
        assert_eq!(
            line(&[LOOK, "main.1 R total =3 @20 give_up\n"].concat()),
            None
        );
    }
}
