//! Threads that wait at the end of a run that would never end: those that ask for a lock, and those that look at a variable
//! again and again, as a spin lock of the program's own does.

use super::{
    view::View,
    waiting::{Keeper, Keeps, WaitingThread, holder},
};
use unsnarl_trace::{EventId, EventKind, ThreadId, raw::WaitsFor};

/// Looks at one variable by which a thread is known to go round: a loop that ends soon has fewer.
const LOOKS: usize = 64;

/// The threads that wait, in the order of their numbers.
pub(super) fn spinning(view: &View) -> Vec<WaitingThread> {
    let threads = 0..view.run.meta.threads.len() as u16;
    threads
        .filter_map(|thread| at_the_end(view, ThreadId(thread)))
        .collect()
}

fn at_the_end(view: &View, thread: ThreadId) -> Option<WaitingThread> {
    let rows = view.rows.before(thread, EventId(u32::MAX));
    let is_step = |row: &EventId| view.event(*row).kind != EventKind::Failure;
    let last = rows.iter().rev().copied().find(is_step)?;
    let event = view.event(last);
    let waiting = |row, waits_for, keeper: Option<Keeper>| WaitingThread {
        thread,
        row,
        waits_for,
        object: view.event(row).location,
        keepers: keeper.into_iter().collect(),
    };
    match event.kind {
        EventKind::End => None,
        EventKind::LockWait => {
            let keeper = holder(view, event.location, thread);
            Some(waiting(last, WaitsFor::Lock, keeper))
        }
        _ => {
            let look = looks(view, rows)?;
            Some(waiting(look, WaitsFor::Futex, setter(view, look)))
        }
    }
}

/// The last of many looks of a thread, if all are at one variable and see the same.
fn looks(view: &View, rows: &[EventId]) -> Option<EventId> {
    let shared = rows.iter().rev().copied().filter(|row| {
        let event = view.event(*row);
        let is_shared = view.orders.accesses().is_shared(event.location);
        event.kind.is_access() && (is_shared || view.is_of_spin_lock(*row))
    });
    let all: Vec<EventId> = shared.take(LOOKS).collect();
    let last = *all.first()?;
    let seen = |row: &EventId| {
        let event = view.event(*row);
        (event.location, event.value, event.kind.reads())
    };
    let is_same = all.iter().all(|row| seen(row) == seen(&last));
    (is_same && seen(&last).2 && all.len() == LOOKS).then_some(last)
}

/// Another thread that has set what a thread looks at. Who has exchanged it for the same value has set nothing.
fn setter(view: &View, look: EventId) -> Option<Keeper> {
    let before = view
        .orders
        .accesses()
        .before(view.event(look).location, look);
    let changes = |row: &EventId| {
        let event = view.event(*row);
        event.kind.writes() && !event.is_update_in_vain()
    };
    let write = before.iter().rev().copied().find(changes)?;
    let keeper = Keeper {
        thread: view.thread(write),
        by: Keeps::Value { write, read: look },
    };
    (keeper.thread != view.thread(look)).then_some(keeper)
}

#[cfg(test)]
mod tests {
    use crate::{Budget, explain, fixture::corpus};

    /// `word` is a lock that is taken by exchanging it.
    fn told(looks: usize) -> String {
        let begin = "
            start main.1 writer
            start main.2 flusher
            main fork main.1 @40 main
            main fork main.2 @41 main
            main.1 lock m @10 writer
            main.2 rmw word 0->1 @20 flusher";
        let passes = "
            main.2 W word =0 @22 flusher
            main.1 rmw word 0->1 @11 writer
            main.1 W word =0 @12 writer
            main.1 unlock m @13 writer
            main.1 end @14 writer
            main.2 lock m @21 flusher
            main.2 unlock m @21 flusher
            main.2 end @23 flusher";
        let looks = "main.1 rmw word 1->1 @11 writer\n".repeat(looks);
        let failing =
            format!("{begin}\nmain.2 lock-wait m @21 flusher\n{looks}times-out nothing changes");
        let passing = [begin, passes].concat();
        let corpus = corpus(&[passing.as_str(); 4], &[&failing]);
        let told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
        format!("{}: {}", told.headline, told.detail)
    }

    #[test]
    fn a_spin_lock_and_a_mutex_in_both_orders() {
        assert_eq!(
            told(100),
            "main.1 and main.2 wait for each other: writer (main.1) holds `m` (test.c:10) and waits for a change of `word` \
             (test.c:11);\nflusher (main.2) has set `word` (test.c:20) and waits for `m` (test.c:21)."
        );
        assert!(!told(10).contains("wait for each other"));
    }

    /// Two threads look at `word` in vain, one after the other: neither has set it.
    #[test]
    fn who_spins_has_set_nothing() {
        let begin = "
            start main.1 writer
            start main.2 flusher
            main fork main.1 @40 main
            main fork main.2 @41 main
            main rmw word 0->1 @30 main";
        let looks =
            "main.1 rmw word 1->1 @11 writer\nmain.2 rmw word 1->1 @11 flusher\n".repeat(100);
        let failing = format!("{begin}\n{looks}times-out nothing changes");
        let passing = format!("{begin}\nmain W word =0 @31 main\nmain.1 rmw word 0->1 @11 writer");
        let corpus = corpus(&[passing.as_str(); 4], &[&failing]);
        let told = explain(&corpus, &Budget::unlimited()).findings;
        assert!(told.iter().all(|one| !one.headline.contains("each other")));
    }
}
