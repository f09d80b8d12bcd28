//! Threads that look at a value again and again which another one has set, and which has ended since: nobody changes it any
//! more, as where a thread gives up without taking back what it had announced.

use super::{
    draft::Draft,
    missing::{end_of, learned, tell_learned},
    view::View,
    waiting::WaitingThread,
};
use crate::{
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Role},
};
use unsnarl_trace::{EventId, Value, raw::WaitsFor};

/// Explains the first of these waits whose value was set by a thread that has ended. Linear in that thread's rows.
pub(super) fn left_behind(view: &View, spinning: &[WaitingThread]) -> Option<Explanation> {
    let looking = spinning.iter();
    let mut looking = looking.filter(|waiter| waiter.waits_for == WaitsFor::Futex);
    looking.find_map(|waiter| {
        let look = waiter.row;
        let before = view.orders.accesses().before(waiter.object, look).iter();
        let mut before = before.rev().copied();
        let write = before.find(|row| {
            let event = view.event(*row);
            let is_change = event.kind.writes() && !event.is_update_in_vain();
            is_change && event.thread != waiter.thread
        })?;
        leaves(view, write, look).then_some(())?;
        let end = end_of(view, view.thread(write));
        (end < view.failure.max(look)).then(|| explain(view, (write, look), end))
    })
}

/// Returns whether what a thread looks at is what another one has left there, or a part of it that remains: a lock that is free
/// again was taken by the one that looks.
fn leaves(view: &View, write: EventId, look: EventId) -> bool {
    match (view.event(write).value, view.event(look).value) {
        (Some(Value::Bits(left)), Some(Value::Bits(seen))) => left == seen || left & seen != 0,
        (left, seen) => left == seen,
    }
}

fn explain(view: &View, (write, look): (EventId, EventId), end: EventId) -> Explanation {
    let (name, setter) = (view.variable_of(&[look, write]), view.words(write));
    let headline = format!(
        "{} looks at `{name}` for ever, since {setter} has set it and ended",
        view.words(look)
    );
    let mut draft = Draft::new(view, BugKind::Deadlock, headline);
    draft.set().certainty = Certainty::Likely;
    let learned = learned(view, view.thread(write), end).filter(|(_, seen)| *seen > write);
    let before = learned.map_or(String::new(), |learned| {
        let told = tell_learned(&mut draft, view, learned);
        format!("; before it ended, it {told}")
    });
    draft.detail(format!(
        "{setter} set {name}{} at {} and did not change it again{before};\n{} reads {name}{} at {} again and again.",
        view.equals(write),
        view.at(write),
        view.name(look),
        view.equals_read(look),
        line(&view.place(look), &view.place(write)),
    ));
    draft.step(write, "not changed again");
    draft.step(look, "");
    draft.mark(write, Role::Cause);
    draft.mark(look, Role::Interference);
    draft.fail();
    draft.finish()
}

#[cfg(test)]
mod tests {
    use crate::{Budget, explain, fixture::corpus};

    /// A writer announces itself, and gives up or not; the reader looks for as long as it sees that.
    fn told(end: &str) -> String {
        let looks = "main.2 R state =2 @34 lock_read\n".repeat(100);
        let failing = format!(
            "start main.1 refresh
            start main.2 query
            main fork main.1 @65 main
            main fork main.2 @65 main
            main.2 W state =16 @37 lock_read
            main.1 W state =18 @22 lock_write
            main.2 W state =2 @42 unlock_read
            {end}
            {looks}
            times-out nothing changes"
        );
        let found = explain(&corpus(&[], &[&failing]), &Budget::unlimited()).findings;
        let told = found.first().map(|told| (&told.headline, &told.detail));
        told.map_or(String::new(), |(headline, detail)| {
            format!("{headline}: {detail}")
        })
    }

    #[test]
    fn who_has_ended_changes_nothing_any_more() {
        let gives_up = "main.1 R state =2 @28 lock_write\nmain.1 end";
        assert_eq!(
            told(gives_up),
            "query (main.2) looks at `state` for ever, since refresh (main.1) has set it and ended: \
             refresh (main.1) set state = 18 at test.c:22 and did not change it again; before it ended, it had read \
             state = 2 at test.c:28, written by query (main.2) at line 42;\nmain.2 reads state = 2 at line 34 again and again."
        );
        assert!(!told("").contains("for ever, since"));
        // What it has left is not what is seen.
        let gives_back =
            "main.1 W state =0 @29 unlock_write\nmain.2 W state =2 @44 lock_write\nmain.1 end";
        assert!(!told(gives_back).contains("for ever, since"));
    }
}
