//! Waits ended by a signal after which the condition was not checked again, though another thread had
//! consumed the signalled object by then.

use super::{
    Candidate, PER_STEP, Story, candidate,
    spurious::{looks, matters, next_use, not_looked_at_again, spurious},
};
use crate::{
    explain::{begins, handovers::signals, spurious::obtains_nothing_since, view::View},
    pairs::Triple,
};
use unsnarl_trace::{EventId, EventKind, Value};

/// A story with its wait.
pub(super) struct Woken {
    /// The story.
    pub story: Candidate,
    /// End of the wait.
    wake: EventId,
}

impl Woken {
    /// Finds waits ended by a spurious wakeup and by signals.
    pub fn all(view: &View) -> Vec<Woken> {
        let spurious = spurious(view).into_iter().filter_map(|story| {
            let Story::Unchecked { wake, .. } = story.story else {
                return None;
            };
            Some(Woken { story, wake })
        });
        spurious.chain(woken_in_vain(view)).collect()
    }

    /// Returns whether a story is about a read of the thread after the wait, before it obtains anything else.
    /// Data that are missing there, or come later, are no cause: the thread should not have got there.
    pub fn explains(&self, view: &View, other: &Candidate) -> bool {
        let (Story::Missing { reader, .. } | Story::Order { early: reader, .. }) = other.story
        else {
            return false;
        };
        let is_behind = reader > self.wake
            && view.thread(reader) == view.thread(self.wake)
            && view.event(reader).kind.reads();
        is_behind && obtains_nothing_since(&view.run, self.wake, view.own_before(reader))
    }
}

/// The last waits of the failing thread that ended this way, and of threads whose later writes flowed into the failure.
fn woken_in_vain(view: &View) -> Vec<Woken> {
    /// Stories, and waits that are looked at for them, the nearest to the failure.
    const MOST: usize = 8;
    const LOOKED_AT: usize = 256;
    let wakes = view.run.events.iter().map(|(row, _)| row);
    let wakes = wakes.filter(|&row| {
        let event = view.event(row);
        row < view.failure && event.kind == EventKind::Wake && event.value == Some(Value::Bits(0))
    });
    let wakes: Vec<EventId> = wakes.collect();
    let nearest = wakes.into_iter().rev().take(LOOKED_AT);
    let stories = nearest.filter_map(|wake| {
        let story = in_vain(view, wake).filter(|_| matters(view, wake))?;
        Some(Woken { story, wake })
    });
    stories.take(MOST).collect()
}

/// The check before a wait, with the write in between by which another thread invalidated it; or without a
/// change in between, as when the signal is for an object consumed earlier.
fn in_vain(view: &View, wake: EventId) -> Option<Candidate> {
    let check = not_looked_at_again(view, wake)?;
    let wait = begins::wait(&view.run, wake, view.own_before(wake))?;
    let signal = *signals(view, wake).first()?;
    let looks = looks(view, check, wake);
    let changed = |look: EventId| {
        let write = view
            .orders
            .last_write_before(view.event(look).location, wake)?;
        (write > wait).then_some(write)
    };
    let is_unchanged = looks.iter().all(|look| changed(*look).is_none());
    let found = looks.iter().filter_map(|&look| {
        let next = next_use(view, look, wake)?;
        match changed(look) {
            Some(write) => taken(view, look, write, next, signal),
            None => is_unchanged.then(|| {
                let story = Story::Unchecked { check: look, wake };
                candidate(view, story, &[next], 0, true)
            }),
        }
    });
    found.min_by_key(|one| one.cost)
}

/// A third thread's write between the check and the next read.
fn taken(
    view: &View,
    first: EventId,
    remote: EventId,
    second: EventId,
    signal: EventId,
) -> Option<Candidate> {
    let triple = Triple {
        first,
        remote,
        second,
        location: view.event(first).location,
    };
    let by = view.thread(remote);
    let is_third = by != view.thread(first) && by != view.thread(signal);
    let counts = view.corpus.counts();
    let new = counts.passing() > 0 && counts.triple_runs(view.triple_key(&triple)) == 0;
    let story = Story::Atomicity(triple);
    let found = candidate(view, story, &[second, remote], 0, new);
    // What it sees after that may be anything: the wait comes before all of it.
    let cost = found.cost.min(PER_STEP);
    is_third.then_some(Candidate { cost, ..found })
}
