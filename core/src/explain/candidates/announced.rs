//! Reads by a thread that went on because of another one's premature announcement, or that saw only one of two changes
//! which belong together.

use super::{Candidate, Story, candidate, distance};
use crate::{
    Budget,
    budget::Poll,
    explain::{
        announced::{Needs, gives_away, is_one_section, stands_above},
        handovers::handovers,
        order::Publication,
        torn::is_half,
        view::View,
    },
    pairs::{AccessClass, AccessKey, PairKey},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use unsnarl_trace::EventId;

/// Bound on the reads examined, the nearest to the failure.
const MOST: usize = 64;

/// Reads near the failure that depend on a later or missing write of another thread, though that thread had
/// announced it before.
pub(super) fn announced(view: &View, budget: &Budget) -> Vec<Candidate> {
    let reads = near_reads(view);
    let setters = setters(view, &reads);
    let (mut found, mut poll) = (Vec::new(), Poll::new(budget));
    for reader in reads {
        let own = setters.get(&view.key(reader));
        let of_reader = own.map_or(&[][..], Vec::as_slice);
        let given = handovers(view, reader).into_iter();
        let mut given = given.take_while(|_| !poll.is_over());
        found.extend(given.find_map(|given| told_by(view, reader, &given, of_reader)));
    }
    found
}

fn told_by(
    view: &View,
    reader: EventId,
    given: &Publication,
    setters: &[PairKey],
) -> Option<Candidate> {
    if !view.orders.happens_before(given.store, given.load) {
        return None;
    }
    let counts = view.corpus.counts();
    let (story, rows, new) = match written_later(view, reader, given) {
        AnnouncedWrite::Later(late) => {
            let pair = PairKey {
                head: view.key(reader),
                tail: view.key(late),
            };
            let new = counts.passing() > 0 && counts.ordered(pair) == 0;
            let story = Story::Order {
                early: reader,
                late,
            };
            (story, vec![reader, late], new)
        }
        AnnouncedWrite::Never => {
            let story = never_written(view, reader, given, setters)?;
            (story, vec![reader], false)
        }
        AnnouncedWrite::InTime => return None,
    };
    // A write that the run was cut off before may have been meant for something else.
    let absent = if rows.len() == 1 { 4 } else { 0 };
    let contrast = contrast(view, given) + absent;
    Some(candidate(view, story, &rows, contrast, new))
}

/// Cost of the contrast: units and signals exist to be waited for; of writes under a lock that is not
/// certain.
fn contrast(view: &View, given: &Publication) -> u32 {
    let (store, load) = (view.event(given.store).kind, view.event(given.load).kind);
    match !store.is_access() || store.is_atomic() && load.is_atomic() {
        true => 2,
        false => 4,
    }
}

/// Time of the write by the announcing thread, relative to the read.
enum AnnouncedWrite {
    /// After the announcement and before the read; or in no order that the source prescribes.
    InTime,
    /// After the read.
    Later(EventId),
    /// Never.
    Never,
}

fn written_later(view: &View, reader: EventId, given: &Publication) -> AnnouncedWrite {
    let by = view.thread(given.store);
    let accesses = view.orders.accesses();
    let after = accesses.after(view.event(reader).location, given.store);
    let mut writes = after.iter().copied().filter(|&row| {
        let event = view.event(row);
        event.thread == by && event.kind.writes()
    });
    match writes.next() {
        None => AnnouncedWrite::Never,
        Some(write) if write < reader => AnnouncedWrite::InTime,
        Some(write) => {
            let needs = Needs::written(view, reader, write);
            let is_one = is_one_section(view, given, &needs);
            match gives_away(view, given, &needs) && !is_one {
                true => AnnouncedWrite::Later(write),
                false => AnnouncedWrite::InTime,
            }
        }
    }
}

/// The write that passing runs have and that the announcing thread had still to do, if it wrote the current
/// value or no thread did.
fn never_written(
    view: &View,
    reader: EventId,
    given: &Publication,
    setters: &[PairKey],
) -> Option<Story> {
    let by = view.thread(given.store);
    let location = view.event(reader).location;
    let last = view.orders.last_write_before(location, reader);
    let is_its =
        last.is_none_or(|last| view.thread(last) == by || view.is_forced(last, given.store));
    let counts = view.corpus.counts();
    let place = |original: &PairKey| counts.site(original.head).map(|site| &site.place);
    let wanted = setters.iter().copied().filter(|original| {
        let place = place(original).cloned().unwrap_or_default();
        let needs = Needs::absent(reader, place, Some(by));
        gives_away(view, given, &needs) && !is_one_section(view, given, &needs)
            || is_half_done(view, given, &needs)
    });
    // Of several steps of one function the reader needs the last one: who fills a table has filled it then.
    let wanted = wanted.reduce(|first, other| {
        let function = |of| place(of).map(|at| (&at.file, &at.function));
        let line = |of| place(of).map(|at| at.line);
        let is_later = function(&first) == function(&other) && line(&first) < line(&other);
        if is_later { other } else { first }
    });
    let original = wanted.filter(|_| is_its)?;
    Some(Story::Missing {
        original,
        reader,
        by: Some(by),
    })
}

/// Returns whether the reader had seen the first of two changes that belong together, and looks at both in one step.
fn is_half_done(view: &View, given: &Publication, needs: &Needs) -> bool {
    is_half(view, given, needs) && stands_above(view, given.store, needs).is_some()
}

/// Reads of shared locations that flowed into the failure over a short distance.
fn near_reads(view: &View) -> Vec<EventId> {
    const NEAR: u32 = 6;
    let reads = view.slice.within(NEAR).filter(|row| {
        let event = view.event(*row);
        *row < view.failure
            && event.kind.reads()
            && view.orders.accesses().is_shared(event.location)
    });
    let mut reads: Vec<EventId> = reads.collect();
    reads.sort_by_key(|&row| (distance(view, &[row]), Reverse(row)));
    reads.truncate(MOST);
    reads
}

/// Writes that the sites of the reads read from in passing runs, to the same variables.
fn setters(view: &View, reads: &[EventId]) -> FxHashMap<AccessKey, Vec<PairKey>> {
    let counts = view.corpus.counts();
    let keys: FxHashSet<AccessKey> = reads.iter().map(|&row| view.key(row)).collect();
    let mut setters: FxHashMap<AccessKey, Vec<PairKey>> = FxHashMap::default();
    for (pair, _) in counts.pairs().filter(|(pair, _)| keys.contains(&pair.tail)) {
        let writes = counts.site(pair.head).map(|site| site.class) != Some(AccessClass::Read);
        if writes {
            setters.entry(pair.tail).or_default().push(pair);
        }
    }
    setters
}
