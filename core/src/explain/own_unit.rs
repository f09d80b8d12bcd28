//! Units of a semaphore that a thread posts for others and takes itself, as in a barrier of one gate: who comes last lets the
//! others go, and is back at the gate before they have gone through.

use super::{
    deadlock::{Hang, add_wait},
    draft::Draft,
    leaked::gives_back,
    view::View,
    waiting::{WaitingThread, object_name, request},
};
use crate::{
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Role},
    orders::UnitStep,
};
use unsnarl_trace::{EventId, LocationId, raw::WaitsFor};

/// A unit that came back to the thread that had posted it.
struct OwnUnit {
    posted: EventId,
    taken: EventId,
}

/// Explains the first wait for a unit that its poster has taken. Linear in the run for each thread that waits.
pub(super) fn own_unit(view: &View, waiters: &[WaitingThread]) -> Option<Hang> {
    let mut of_units = waiters
        .iter()
        .filter(|waiter| waiter.waits_for == WaitsFor::Semaphore);
    of_units.find_map(|waiter| {
        let told = OwnUnit::of(view, waiter.object)?.explain(view, waiter);
        Some(Hang::of(told, request(view, waiter)))
    })
}

impl OwnUnit {
    /// The last unit of the run, if it was the only one there then. A semaphore that has units from the start is a resource, and
    /// so is one of which a thread gives back what it has taken: it may take that again.
    fn of(view: &View, semaphore: LocationId) -> Option<OwnUnit> {
        let rows = view.run.events.iter();
        let steps = rows.filter(|(_, event)| event.location == semaphore);
        let steps = steps.filter_map(|(row, event)| Some((row, UnitStep::of(&event)?)));
        let (mut free, mut last) = (Vec::new(), None);
        for (row, step) in steps {
            match step {
                UnitStep::Given => free.push(row),
                UnitStep::Taken => {
                    let posted = free.pop()?;
                    last = Some(OwnUnit { posted, taken: row }).filter(|_| free.is_empty());
                }
            }
        }
        last.filter(|unit| free.is_empty() && view.thread(unit.posted) == view.thread(unit.taken))
            .filter(|unit| !unit.is_given_back(view))
    }

    /// Returns whether its thread had taken a unit by the same visit of a function before it posted this one.
    fn is_given_back(&self, view: &View) -> bool {
        let semaphore = view.event(self.posted).location;
        let taken = view.own_before(self.posted).find(|row| {
            let event = view.event(*row);
            event.location == semaphore && UnitStep::of(&event) == Some(UnitStep::Taken)
        });
        taken.is_some_and(|taken| gives_back(&view.run, taken, self.posted))
    }

    fn explain(&self, view: &View, waiter: &WaitingThread) -> Explanation {
        let (name, who) = (object_name(view, self.taken), view.words(self.taken));
        let wait = request(view, waiter);
        let headline = format!("{who} took the unit of `{name}` that it had posted for others");
        let mut draft = Draft::new(view, BugKind::Deadlock, headline);
        let at = view.place(self.posted);
        draft.detail(format!(
            "{who} posted it at {} and took it itself at {};\n{} waits for a unit at {}, and nobody posts one any more.",
            view.at(self.posted),
            line(&view.place(self.taken), &at),
            view.words(wait),
            line(&view.place(wait), &at),
        ));
        draft.set().certainty = Certainty::Likely;
        draft.set().remark = format!(
            "One semaphore does not tell who is to go: a thread that comes to {} again before the others have gone takes their unit.",
            line(&view.place(self.taken), &at)
        );
        draft.step(self.posted, "");
        draft.step(self.taken, "its own unit");
        draft.mark(self.posted, Role::Cause);
        draft.mark(self.taken, Role::Interference);
        add_wait(view, &mut draft, waiter);
        draft.finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, explain, fixture::corpus};

    fn told(steps: &[&str]) -> [String; 2] {
        let begin = "start main.1 work\nstart main.2 work\nmain fork main.1 @60 main\nmain fork main.2 @60 main\n";
        let blocked = "main.1 blocked semaphore gate @32 barrier\ndeadlocks";
        let text = [begin, &steps.concat(), blocked].concat();
        let found = explain(&corpus(&[], &[&text]), &Budget::unlimited()).findings;
        let told = found.into_iter().next().expect("an explanation");
        [told.headline, told.detail]
    }

    const POSTS: &str = "main.2 sem-post gate @30 barrier\n";
    const TAKES: &str = "main.2 sem-wait gate @32 barrier\n";

    #[test]
    fn a_thread_takes_the_unit_that_it_has_posted_for_another_one() {
        assert_eq!(
            told(&[POSTS, TAKES]),
            [
                "work (main.2) took the unit of `gate` that it had posted for others",
                "work (main.2) posted it at test.c:30 and took it itself at line 32;\n\
                 work (main.1) waits for a unit at line 32, and nobody posts one any more."
            ]
        );
    }

    #[test]
    fn what_another_thread_takes_or_was_there_before_is_no_such_unit() {
        let by_another = POSTS.replace("main.2", "main");
        // One that main makes a lock of: who gives it back may take it again.
        let lock = [&*by_another, TAKES, POSTS, TAKES];
        let ended = "main.2 end\n";
        let others: [&[&str]; 3] = [&[&by_another, TAKES], &[TAKES, POSTS], &lock];
        for steps in others {
            let [headline, _] = told(&[steps, &[ended]].concat());
            assert!(!headline.contains("posted for others"), "{headline}");
        }
    }
}
