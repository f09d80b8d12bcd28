//! Writes that come too late for a read, in a run that had failed before they came.

use super::{
    instances::{LineAndKind, key, key_of},
    turned::Blamed,
};
use crate::facts::kin;
use rustc_hash::FxHashSet;
use unsnarl_trace::{EventKind, Run, ThreadId};

/// Returns whether a failing run ends between a read that comes too early and the write that comes after it in the explained
/// run: the write's thread had done what is blamed before that write, and the write itself not again. Where nothing is blamed
/// before it, nobody had come to the write. Linear in the run.
pub(super) fn is_outstanding(
    run: &Run,
    blamed: &[Blamed<'_>],
    (read, write): (LineAndKind<'_>, LineAndKind<'_>),
) -> bool {
    let is_read_before_write =
        kind(read).is_some_and(EventKind::reads) && kind(write).is_some_and(EventKind::writes);
    if !run.meta.outcome.is_failure() || !is_read_before_write {
        return false;
    }
    let Some((before, variable)) = before(blamed, write) else {
        return false;
    };
    let mut begun: FxHashSet<ThreadId> = FxHashSet::default();
    let (mut is_written, mut is_early) = (false, false);
    for (row, event) in run.events.iter() {
        let Some(found) = key_of(run, row) else {
            continue;
        };
        // A line that appends to a list writes the element before the length.
        let is_it = || kin(run.location(event.location)) == variable;
        if found == write && is_it() {
            begun.remove(&event.thread);
            (is_written, is_early) = (true, false);
        }
        if Some(found) == before {
            begun.insert(event.thread);
        }
        if found == read && is_it() {
            let by_other = begun.iter().any(|thread| *thread != event.thread);
            is_early = match before {
                Some(_) => by_other,
                None => !is_written,
            };
        }
    }
    is_early
}

fn kind((_, _, name): LineAndKind<'_>) -> Option<EventKind> {
    EventKind::from_name(name)
}

/// The access of the write's thread that is blamed before the write, and the variable of the write.
fn before<'a>(
    blamed: &[Blamed<'a>],
    write: LineAndKind<'_>,
) -> Option<(Option<LineAndKind<'a>>, String)> {
    let at = blamed.iter().position(|one| key(one.step) == write)?;
    let (earlier, late) = (blamed.get(..at)?, blamed.get(at)?.step);
    let mut own = earlier.iter().rev().map(|one| one.step);
    let own = own.find(|step| step.thread == late.thread).map(key);
    Some((own, kin(&late.location)))
}

#[cfg(test)]
mod tests {
    use super::{super::turned::blamed, is_outstanding};
    use crate::{
        Budget,
        explain::{bears_out, explain},
        fixture::{corpus, run},
    };

    /// A table counts an entry before it is there.
    fn table(then: &str) -> String {
        format!(
            "start main.1 adder
            main W count =0 @1
            main W size =0 @2
            main fork main.1 @3
            main.1 W count =1 @10 add
            main R count =1 @20 call
            main R size =0 @21 call
            {then}"
        )
    }

    #[test]
    fn a_run_that_fails_before_the_late_write_has_the_order() {
        let late = table("main.1 W size =1 @11 add\nmain fails @22");
        let never = table("main fails @22");
        let fine = "start main.1 adder
            main W count =0 @1
            main W size =0 @2
            main fork main.1 @3
            main.1 W count =1 @10 add
            main.1 W size =1 @11 add
            main R count =1 @20 call
            main R size =1 @21 call";
        let failing_later = format!("{fine}\nmain fails @22");
        let found = explain(&corpus(&[fine; 6], &[&late]), &Budget::unlimited()).findings;
        let told = found.first().unwrap();
        assert!(
            told.headline
                .contains("`count` was changed before `size` was"),
            "{}",
            told.headline
        );
        let has = |text: &str| bears_out(told, &run(text));
        assert_eq!(has(&late), Some(true));
        assert_eq!(has(&never), Some(true));
        // The element is there, its number is not.
        let element = table("main.1 W list[0] =7 @11 add\nmain fails @22");
        assert_eq!(has(&element), Some(true));
        assert_eq!(has(fine), Some(false));
        assert_eq!(has(&failing_later), Some(false));
        // A read that is missing after a write is no write that is late.
        let written = "start main.1 adder\nmain fork main.1 @3\nmain.1 W count =1 @10 add\n\
            main.1 W size =1 @11 add\nmain fails @22";
        let (written, blamed) = (run(written), blamed(told));
        let turned_round = (("test.c", 11, "write"), ("test.c", 21, "read"));
        assert!(!is_outstanding(&written, &blamed, turned_round));
        // Nothing was begun.
        let other = "start main.1 adder\nmain fork main.1 @3\nmain R count =0 @20 call\nmain R size =0 @21 call\nmain fails @22";
        assert_eq!(has(other), Some(false));
    }
}
