//! Messages that are written over before the thread that takes them has read them: in passing runs it reads each one
//! before the next is there. Reads and writes come at the same lines in all runs, so no pair of lines tells them apart.

use super::{Candidate, Story, candidate};
use crate::{
    explain::view::View,
    facts,
    mining::Trace,
    pairs::{AccessClass, Fnv},
};
use unsnarl_trace::{EventId, LocationId, ThreadId};

/// Passing runs with several messages that tell that each is read.
const ENOUGH: u32 = 3;

/// Use of a variable by a thread, for the one that takes messages from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The taker reads it.
    Takes,
    /// Another thread writes it, without having read it.
    Sends,
    /// The taker writes it, or another thread looks at it.
    Other,
}

/// The state of a variable as a place for messages.
#[derive(Default)]
struct Slot {
    is_full: bool,
    /// A message was taken.
    is_used: bool,
}

impl Slot {
    /// Goes on; returns whether a message that nobody has taken is written over.
    fn is_overwritten_by(&mut self, by: Use) -> bool {
        match by {
            Use::Sends => std::mem::replace(&mut self.is_full, true),
            Use::Takes => {
                self.is_used |= self.is_full;
                self.is_full = false;
                false
            }
            Use::Other => {
                self.is_full = false;
                false
            }
        }
    }
}

/// The writes of the failing run that come too early, each with the next read by the taker. Linear in the run, and in the
/// passing runs for each variable with such a write.
pub(super) fn overwritten(view: &View) -> Vec<Candidate> {
    let accesses = view.orders.accesses();
    let named = |of: &LocationId| facts::is_named(view.run.location(*of));
    let found = accesses.shared().filter(named).filter_map(|location| {
        let (early, late) = first_of(view, location)?;
        let taker = view.thread(late);
        is_taken_in_passing(view, location, taker).then_some((early, late))
    });
    let told = found.map(|(early, late)| {
        let story = Story::Order { early, late };
        candidate(view, story, &[early, late], 2, true)
    });
    told.collect()
}

/// The first write over a message that its taker has not read, and that thread's next read.
fn first_of(view: &View, location: LocationId) -> Option<(EventId, EventId)> {
    let rows = view.orders.accesses().of(location);
    let kind = |row: &EventId| view.event(*row).kind;
    let last_read = rows.iter().rev().find(|row| kind(row).reads())?;
    let taker = view.thread(*last_read);
    let mut slot = Slot::default();
    let mut last = None;
    let early = rows.iter().copied().find(|row| {
        let by = match (view.thread(*row) == taker, kind(row).reads()) {
            (true, true) => Use::Takes,
            (false, false) => Use::Sends,
            _ => Use::Other,
        };
        // Messages are sent one like the other.
        let place = (view.thread(*row), view.event(*row).site);
        let is_alike = by == Use::Sends && last.replace(place) == Some(place);
        slot.is_overwritten_by(by) && is_alike
    })?;
    let mut after = rows.iter().copied().filter(|row| *row > early);
    let late = after.find(|row| view.thread(*row) == taker && kind(row).reads())?;
    Some((early, late))
}

/// Returns whether in no passing run a message is written over, and enough of them have more than one.
fn is_taken_in_passing(view: &View, location: LocationId, taker: ThreadId) -> bool {
    let location = Fnv::of(view.run.location(location));
    let taker = Fnv::of(&facts::thread_name(&view.run, taker));
    let is_kept = |run: &Trace| {
        let mut slot = Slot::default();
        let (mut sent, mut is_kept) = (0, true);
        for kind in run.of(location) {
            let by = match (kind.thread == taker, kind.access) {
                (true, AccessClass::Read) => Use::Takes,
                (false, AccessClass::Write) => Use::Sends,
                _ => Use::Other,
            };
            sent += u32::from(by == Use::Sends);
            is_kept &= !slot.is_overwritten_by(by);
        }
        (is_kept, sent > 1 && slot.is_used)
    };
    let mut enough = 0;
    let mut passing = view.corpus.passing();
    let all = passing.all(|run| {
        let (is_kept, has_several) = is_kept(&run.accesses);
        enough += u32::from(has_several);
        is_kept
    });
    all && enough >= ENOUGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, explain, fixture::corpus};

    const SEND: &str = "main.1 W slot =1 @19 send\n";
    const AGAIN: &str = "main.1 W slot =10 @19 send\n";
    const TAKE: &str = "main R slot =1 @13 on_message\nmain W slot =0 @14 on_message\n";
    const TAKE_LAST: &str = "main R slot =10 @13 on_message\nmain W slot =0 @14 on_message\n";

    fn found(fine: &str, fails: &str) -> Vec<Story> {
        let fails = format!("{fails}main fails @41");
        let corpus = corpus(&[fine; 4], &[&fails]);
        let view = View::new(&corpus, corpus.get("failed-0").unwrap()).unwrap();
        overwritten(&view).iter().map(|one| one.story).collect()
    }

    #[test]
    fn a_message_that_was_not_taken_is_written_over() {
        let fine = [SEND, TAKE, AGAIN, TAKE_LAST].concat();
        let fails = [SEND, AGAIN, TAKE_LAST].concat();
        let (early, late) = (EventId(1), EventId(2));
        assert_eq!(found(&fine, &fails), [Story::Order { early, late }]);
        assert!(found(&fine, &fine).is_empty());
    }

    #[test]
    fn the_message_that_nobody_took_is_told() {
        let fine = [SEND, TAKE, AGAIN, TAKE_LAST].concat();
        let fails = [SEND, AGAIN, TAKE_LAST, "main fails @41"].concat();
        let runs = corpus(&[&*fine; 4], &[&fails]);
        let told = explain(&runs, &Budget::unlimited()).findings.remove(0);
        assert_eq!(
            told.headline,
            "`slot` was changed before on_message (main) had read it"
        );
        let said = "main had not read `slot` = 1, which main.1 had set there before.";
        assert!(told.remark.contains(said), "{}", told.remark);
    }

    #[test]
    fn what_passing_runs_write_over_is_no_message() {
        let fine = [SEND, AGAIN, TAKE_LAST].concat();
        assert!(found(&fine, &fine).is_empty());
    }

    #[test]
    fn who_looks_at_it_first_updates_it() {
        let look = "main.1 R slot =1 @18 send\n";
        let fine = [SEND, TAKE, AGAIN, TAKE_LAST].concat();
        assert!(found(&fine, &[SEND, look, AGAIN, TAKE_LAST].concat()).is_empty());
    }
}
