//! Passes of a thread over several locations on one line, each under its own lock, and changes of two of them by another thread
//! of which the pass sees one half: a total that is torn.

use super::apart;
use crate::{
    explain::{multi_variable::overlap, view::View},
    orders::{Dependency, DependencyKind},
    pairs::{AccessKey, CoupleKey, CoupledPairs, PairKey},
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, LocationId, ThreadId};

/// The couples whose thread goes over several locations on one line, with the number of passing runs in which it does so
/// while another thread is between two of them. Their pairs alone, which name lines, may be of other locations there: of
/// another transfer.
#[derive(Default)]
pub(super) struct Passes(FxHashMap<(CoupleKey, bool), u32>);

impl Passes {
    /// Bound on the couples counted: each is looked for in all passing runs.
    const MOST: usize = 16;

    /// Number of passing runs that have it; none for couples of two lines.
    pub fn runs(&mut self, view: &View, couple: &CoupledPairs) -> Option<u32> {
        let CoupledPairs { first, second } = couple;
        let pair = |d: &Dependency| PairKey {
            head: view.key(d.head),
            tail: view.key(d.tail),
        };
        let in_this_order = first.tail < second.head;
        let key = (CoupleKey::new(pair(first), pair(second)), in_this_order);
        if !is_pass(view, couple) || self.0.len() >= Self::MOST && !self.0.contains_key(&key) {
            return None;
        }
        let count = || overlap(view, couple).count(view.corpus).holds_in;
        Some(*self.0.entry(key).or_insert_with(count))
    }
}

/// Returns whether the thread makes both of its accesses on one line, as in a loop over objects.
pub(super) fn is_pass(view: &View, CoupledPairs { first, second }: &CoupledPairs) -> bool {
    view.key(first.head) == view.key(second.tail)
}

/// Bound on the passes that are looked at, the nearest to the failure.
const NEAREST: usize = 16;

/// The reads of one pass, by location.
type PassReads = BTreeMap<LocationId, EventId>;

/// Passes that read one location before another thread changed it and another one after that thread had changed it as well, in
/// one operation, whatever others have changed since: one couple for each two lines of the other thread. Linear in the run, and in
/// the writes to the locations of each pass.
pub(super) fn torn_passes(view: &View) -> Vec<CoupledPairs> {
    let mut found: BTreeMap<[AccessKey; 4], CoupledPairs> = BTreeMap::new();
    let mut passes = seen_passes(view);
    let near = |pass: &PassReads| pass.values().map(|row| view.slice.distance(*row)).min();
    passes.sort_by_key(|(_, pass)| near(pass));
    for (thread, pass) in passes.into_iter().take(NEAREST) {
        for (one, other) in operations(view, thread, &pass) {
            let Some(couple) = torn(view, &pass, one, other) else {
                continue;
            };
            let CoupledPairs { first, second } = &couple;
            let keys = [first.head, first.tail, second.head, second.tail].map(|row| view.key(row));
            found.insert(keys, couple);
        }
    }
    found.into_values().collect()
}

/// Passes with at least two reads of which a value flowed into the failure.
fn seen_passes(view: &View) -> Vec<(ThreadId, PassReads)> {
    let mut passes: Vec<(ThreadId, PassReads)> = Vec::new();
    let mut latest: FxHashMap<(ThreadId, AccessKey), usize> = FxHashMap::default();
    let is_read = |row: EventId| {
        let kind = view.event(row).kind;
        kind.is_access() && kind.reads() && !kind.writes()
    };
    let rows = view.run.events.iter().map(|(row, _)| row);
    let seen = rows.filter(|row| view.slice.distance(*row).is_some() && is_read(*row));
    for row in seen.filter(|row| *row < view.failure) {
        let event = view.event(row);
        let key = (event.thread, view.key(row));
        let open = latest.get(&key).and_then(|at| passes.get_mut(*at));
        match open.filter(|(_, pass)| !pass.contains_key(&event.location)) {
            Some((_, pass)) => {
                pass.insert(event.location, row);
            }
            None => {
                latest.insert(key, passes.len());
                passes.push((event.thread, PassReads::from([(event.location, row)])));
            }
        }
    }
    passes.retain(|(_, pass)| pass.len() > 1);
    passes
}

/// Two successive writes of another thread to locations of the pass, in one operation: the second one after the pass has begun,
/// and the first one before it has ended.
fn operations(view: &View, own: ThreadId, pass: &PassReads) -> Vec<(EventId, EventId)> {
    let mut last: FxHashMap<ThreadId, EventId> = FxHashMap::default();
    let mut found = Vec::new();
    let all = pass
        .keys()
        .flat_map(|location| view.orders.accesses().of(*location));
    let mut writes: Vec<EventId> = all.copied().collect();
    writes.retain(|row| view.thread(*row) != own && view.event(*row).kind.writes());
    writes.sort_unstable();
    let (begin, end) = (pass.values().min(), pass.values().max());
    for row in writes {
        let before = last.insert(view.thread(row), row);
        let is_one = |before: &EventId| {
            Some(&row) > begin
                && Some(before) < end
                && view.event(*before).location != view.event(row).location
                && apart(view, *before, row) == 0
        };
        found.extend(before.filter(is_one).map(|before| (before, row)));
    }
    found
}

/// The couple of a pass that reads one of the two locations before its change and, after that, the other one behind its own.
fn torn(view: &View, pass: &PassReads, one: EventId, other: EventId) -> Option<CoupledPairs> {
    let read_of = |write: EventId| pass.get(&view.event(write).location).copied();
    let (of_one, of_other) = (read_of(one)?, read_of(other)?);
    let (missed, unseen, read, seen) = match of_one < of_other {
        true => (of_one, one, of_other, other),
        false => (of_other, other, of_one, one),
    };
    let pair = |head: EventId, tail: EventId, kind| Dependency {
        head,
        tail,
        location: view.event(head).location,
        kind,
        direct: false,
    };
    (missed < unseen && seen < read).then(|| CoupledPairs {
        first: pair(missed, unseen, DependencyKind::Anti),
        second: pair(seen, read, DependencyKind::Flow),
    })
}

#[cfg(test)]
mod tests {
    use super::torn_passes;
    use crate::{explain::view::View, fixture::corpus};

    /// A total sees one half of a transfer, although another one has changed the accounts since.
    #[test]
    fn a_total_is_torn_by_a_transfer_before_the_last_one() {
        let read =
            |which: u32, value: u32| format!("main.1 R a[{which}] ={value} via=32@total @26 get\n");
        let transfer = |from: u32, to: u32| {
            format!(
                "main.2 W a[{from}] =7 via=41@run @21 move\nmain.2 W a[{to}] =9 via=41@run @22 move\n"
            )
        };
        let begin = "main fork main.1 @50 main\nmain fork main.2 @51 main\n";
        let lines = |reads: [String; 2], between: &str| {
            let [first, second] = reads;
            let text = [begin, &first, between, &second, "main.1 fails @15 check\n"].concat();
            let corpus = corpus(&[], &[&text]);
            let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
            let found = torn_passes(&view);
            let rows = found.iter().map(|one| (one.first.tail, one.second.head));
            rows.map(|(one, other)| (view.place(one).line, view.place(other).line))
                .collect::<Vec<_>>()
        };
        let between = [transfer(1, 0), transfer(0, 2)].concat();
        assert_eq!(lines([read(0, 5), read(1, 7)], &between), [(22, 21)]);
        assert_eq!(lines([read(0, 5), read(2, 9)], &between), [(21, 22)]);
        assert!(lines([read(0, 5), read(3, 5)], &between).is_empty());
    }
}
