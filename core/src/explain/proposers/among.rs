//! Orders of conflicting accesses of a failing run, told without a look at other runs: experiments tell which of them
//! hold.

use crate::{
    explain::{atomicity, before_any::before_any, deadlock::deadlock, order, view::View},
    explanation::{Certainty, Explanation},
    pairs::{Triple, triples},
};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, Outcome};

/// Interruptions that are told.
const INTERRUPTIONS: usize = 4;

/// Orders of two accesses that are told.
const PAIRS: usize = 24;

/// Orders of some rows.
#[derive(Default)]
pub(super) struct Among {
    /// Interruptions.
    pub interruptions: Vec<Triple>,
    /// One access before a conflicting one of another thread.
    pub pairs: BTreeSet<(EventId, EventId)>,
}

impl Among {
    /// The orders that one of these rows has a part in, as far as another schedule could have them otherwise.
    pub fn touching(view: &View, rows: &BTreeSet<EventId>) -> Among {
        let pairs = rows.iter().flat_map(|row| neighbours(view, *row));
        Among {
            interruptions: interruptions(view, rows),
            pairs: pairs.collect(),
        }
    }

    /// The orders that are between these rows only.
    pub fn within(view: &View, rows: &BTreeSet<EventId>) -> Among {
        let mut among = Among::touching(view, rows);
        let has = |row: &EventId| rows.contains(row);
        let is_within = |of: &Triple| [of.first, of.remote, of.second].iter().all(has);
        among.interruptions.retain(is_within);
        among.pairs.retain(|(early, late)| has(early) && has(late));
        among
    }

    /// An explanation of each: what is half of an interruption is told as one first, and last alone.
    pub fn told(self, view: &View, engine: &str, says: &str) -> Vec<Explanation> {
        let halves = self.interruptions.iter();
        let halves: BTreeSet<(EventId, EventId)> = halves
            .flat_map(|of| [(of.first, of.remote), (of.remote, of.second)])
            .collect();
        let whole = self.pairs.difference(&halves);
        let pairs = whole.chain(self.pairs.intersection(&halves)).take(PAIRS);
        let atomic = self.interruptions.iter().take(INTERRUPTIONS);
        let atomic = atomic.map(|triple| atomicity::single(view, triple));
        let ordered = pairs.flat_map(|(early, late)| {
            let one = order::swapped(view, *early, *late);
            [one].into_iter().chain(before_any(view, *early, *late))
        });
        let behind = behind(view);
        let told = atomic.chain(ordered).map(|mut told| {
            told.certainty = Certainty::Possible;
            if let Some(behind) = &behind {
                told.remark_first(behind);
            }
            told.join(engine, says.to_owned());
            told
        });
        told.collect()
    }
}

/// Interruptions in which one of the rows takes part.
fn interruptions(view: &View, rows: &BTreeSet<EventId>) -> Vec<Triple> {
    let mut found = Vec::new();
    triples(&view.run, view.orders.accesses(), |triple| {
        let of = [triple.first, triple.remote, triple.second];
        let is_forced = view.is_first(triple.first, triple.remote);
        if !is_forced && of.iter().any(|row| rows.contains(row)) {
            found.push(triple);
        }
    });
    found
}

/// The access with the next conflicting one of another thread, and with the one before it.
fn neighbours(view: &View, row: EventId) -> Vec<(EventId, EventId)> {
    let location = view.event(row).location;
    let writes = |row: EventId| view.event(row).kind.writes();
    let conflicts = |other: &EventId| {
        view.thread(*other) != view.thread(row) && (writes(row) || writes(*other))
    };
    let accesses = view.orders.accesses();
    let mut after = accesses.after(location, row).iter().copied();
    let mut before = accesses.before(location, row).iter().rev().copied();
    let next = after.find(conflicts).map(|late| (row, late));
    let last = before.find(conflicts).map(|early| (early, row));
    let is_open = |(early, late): &(EventId, EventId)| !view.is_forced(*early, *late);
    next.into_iter().chain(last).filter(is_open).collect()
}

/// `main.1 waits for ever at line 18.`: what becomes of it, where nothing fails otherwise.
fn behind(view: &View) -> Option<String> {
    let hangs = view.summary.outcome == Outcome::Deadlocked;
    let hang = deadlock(view).filter(|_| hangs)?;
    Some(format!("{}.", view.waits_for_ever(hang.wait)))
}
