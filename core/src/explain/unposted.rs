//! Posts that a thread leaves out since a flag tells it that one is under way, while the thread that is to be woken sets the
//! flag back only after that: an event loop that clears `notified` behind its work, and then waits for ever.

use super::{
    deadlock::{Hang, add_wait},
    draft::Draft,
    view::View,
    waiting::{WaitingThread, object_name, request},
};
use crate::{
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Role},
};
use std::collections::BTreeMap;
use unsnarl_trace::{Event, EventId, EventKind, Value, raw::WaitsFor};

/// A look at a flag after which nothing is posted.
struct Unposted {
    /// A look at which the flag was free, and the post after it.
    asked: EventId,
    post: EventId,
    /// The look at the flag without a post.
    look: EventId,
    /// The row at which the waiting thread has set the flag back.
    cleared: EventId,
}

/// Explains a wait for a unit by the last look at a flag that has kept a thread from posting it. Linear in the run for each line
/// behind which units are posted.
pub(super) fn unposted(view: &View, waiters: &[WaitingThread]) -> Option<Hang> {
    let of_units = waiters
        .iter()
        .filter(|waiter| waiter.waits_for == WaitsFor::Semaphore);
    let mut found = of_units.filter_map(|waiter| {
        let told = Unposted::of(view, waiter)?.explain(view, waiter);
        Some(Hang::of(told, request(view, waiter)))
    });
    found.next()
}

impl Unposted {
    fn of(view: &View, waiter: &WaitingThread) -> Option<Unposted> {
        let rows = view.run.events.iter();
        let posts = rows.filter(|(_, event)| {
            event.kind == EventKind::SemPost && event.location == waiter.object
        });
        let asked = posts.filter_map(|(post, _)| Some((post, look_before(view, post)?)));
        // One look for each line: a program that posts often does so in few places.
        let lines: BTreeMap<_, _> = asked
            .map(|(post, asked)| (view.event(asked).site, (post, asked)))
            .collect();
        let mut lines = lines.into_values();
        lines.find_map(|(post, asked)| Unposted::after(view, waiter, (post, asked)))
    }

    /// The last visit of the line at which the flag was free before a post, if nothing was posted then and the waiting thread
    /// has freed the flag since.
    fn after(
        view: &View,
        waiter: &WaitingThread,
        (post, asked): (EventId, EventId),
    ) -> Option<Unposted> {
        let flag = view.event(asked);
        let looks = view.run.events.iter().filter(|(_, event)| {
            event.site == flag.site
                && event.location == flag.location
                && event.thread != waiter.thread
        });
        let (look, event) = looks.last()?;
        let is_taken = found(&event).is_some() && found(&event) != found(&flag);
        let after = view.rows.after(event.thread, look).iter();
        let posts = after.filter(|row| **row > look).any(|row| {
            let event = view.event(*row);
            event.kind == EventKind::SemPost && event.location == waiter.object
        });
        let own = view.rows.after(waiter.thread, look).iter().copied();
        let cleared = own.filter(|row| *row > look).find(|row| {
            let event = view.event(*row);
            event.location == flag.location && event.kind.writes()
        })?;
        let is_freed = view.event(cleared).value.and_then(Value::bits) == found(&flag);
        (is_taken && !posts && is_freed).then_some(Unposted {
            asked,
            post,
            look,
            cleared,
        })
    }

    fn explain(&self, view: &View, waiter: &WaitingThread) -> Explanation {
        let Unposted {
            asked,
            post,
            look,
            cleared,
        } = *self;
        let (flag, who) = (view.variable(look), view.words(look));
        let (what, waits) = (object_name(view, post), view.words(cleared));
        let headline = format!(
            "`{flag}` was set back after {who} had looked at it, and `{what}` was not posted"
        );
        let mut draft = Draft::new(view, BugKind::LostWakeup, headline);
        draft.set().certainty = Certainty::Likely;
        draft.detail(format!(
            "{who} found {flag}{} at {} and did not post `{what}`, as {} did on {} after {flag}{};\n{waits} set {flag}{} at {}, and waits for a unit of `{what}` at {}.",
            view.equals_read(look),
            view.at(look),
            view.words(post),
            line(&view.place(post), &view.place(look)),
            view.equals_read(asked),
            view.equals(cleared),
            view.at(cleared),
            view.at(request(view, waiter)),
        ));
        draft.step(look, "nothing is posted");
        draft.mark(look, Role::Cause);
        draft.step(cleared, "too late");
        draft.mark(cleared, Role::Interference);
        add_wait(view, &mut draft, waiter);
        draft.finish()
    }
}

/// The last access before a post, in the same function, if it has looked at something.
fn look_before(view: &View, post: EventId) -> Option<EventId> {
    let row = view.own_before(post).next()?;
    let is_look =
        view.event(row).kind.reads() && view.place(row).function == view.place(post).function;
    is_look.then_some(row)
}

/// The value that a look has found.
fn found(event: &Event) -> Option<u64> {
    match event.kind {
        EventKind::Rmw => event.old,
        _ => event.value.and_then(Value::bits),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, explain, fixture::corpus};

    /// A loop takes what was posted, and clears its flag before or after that.
    fn told(clears: &str) -> String {
        let text = format!(
            "start main.1 io_main
            start main.2 client
            main fork main.1 @40 main
            main fork main.2 @41 main
            main W l.head =1 @27 loop_post
            main rmw l.notified 0->1 via=30@loop_post @19 loop_notify
            main sem-post l.wake via=30@loop_post @20 loop_notify
            main.1 sem-wait l.wake @59 loop_run
            main.1 R l.head =1 @38 loop_take
            {clears}
            main.1 blocked semaphore l.wake @59 loop_run
            main.2 blocked condition c.cv @25 call
            deadlocks"
        );
        let found = explain(&corpus(&[], &[&text]), &Budget::unlimited()).findings;
        found.first().map_or(String::new(), |told| {
            format!("{}: {}", told.headline, told.detail)
        })
    }

    #[test]
    fn a_flag_that_is_set_back_too_late() {
        let posts = "main.2 W l.head =2 @27 loop_post\nmain.2 rmw l.notified 1->1 via=30@loop_post @19 loop_notify\n";
        let clears = "main.1 atomic-write l.notified =0 @62 loop_run\n";
        assert_eq!(
            told(&format!("{posts}{clears}")),
            "`l.notified` was set back after client (main.2) had looked at it, and `l.wake` was not posted: client (main.2) found \
             l.notified = 1 at test.c:19 and did not post `l.wake`, as main did on line 20 after l.notified = 0;\nio_main (main.1) \
             set l.notified = 0 at test.c:62, and waits for a unit of `l.wake` at test.c:59."
        );
        let in_time = posts.replace("1->1", "0->1");
        let told = told(&format!(
            "{clears}{in_time}main.2 sem-post l.wake via=30@loop_post @20 loop_notify\n"
        ));
        assert!(!told.contains("was set back"), "{told}");
    }
}
