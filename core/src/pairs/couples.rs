//! Couples: two dependencies in opposite directions between the same two threads, on different locations,
//! from which multi-variable explanations are made.
//!
//! [`procedure_three()`](super::procedure_three()) examines all couples of pairs of a failing run, this
//! module couples of occurrences that belong to one step: if one thread repeats an end of a dependency
//! between the two, they are of different steps and no couple. So the partners of a dependency are at most
//! those whose heads are the last of their place, back to the preceding occurrence of its own tail: a body of
//! a loop, or a straight piece of code.
//!
//! A straight piece of code has as many couples as the square of its length. The number examined is therefore
//! bounded by the length of the run, the number kept is bounded as well, and a run that has more is marked
//! ([`RunPairs::couples_cut`](super::RunPairs::couples_cut)).

use super::{
    collect::CollectedPairs,
    counts::PairCounts,
    keys::{Fnv, PairKey},
    meetings::LocatedOccurrence,
    radix::sort_by_number,
    ranks::Ranks,
};
use crate::orders::{Accesses, Dependency};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventId, IndexVec, Run, SiteRow};

/// Number of partners examined in any run, whatever its length.
const ANYWAY: usize = 1 << 18;
/// Number of further partners examined for each dependency of the run.
const FOR_EACH: usize = 4;
/// Bound on the different couples kept of a run: 1.6 MB.
const MOST: usize = 200_000;
/// Number of partners, the nearest, of one dependency when those are used up.
const NEAREST: usize = 24;

/// Two dependencies: `first` from the interrupted thread to the other, `second` back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CoupledPairs {
    /// The dependency whose head is where the interrupted thread began.
    pub first: Dependency,
    /// The dependency whose tail is where the interrupted thread went on.
    pub second: Dependency,
}

/// Identity of a couple: a hash of both pairs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CoupleKey(pub u64);

impl CoupleKey {
    /// The key of two pairs.
    pub fn new(first: PairKey, second: PairKey) -> CoupleKey {
        let (a, b) = if first < second {
            (first, second)
        } else {
            (second, first)
        };
        let mut hash = Fnv::default();
        for key in [a.head, a.tail, b.head, b.tail] {
            hash.bytes(&key.0.to_le_bytes());
        }
        CoupleKey(hash.0)
    }
}

/// The couples of a run, sorted, and whether there are more than were examined.
pub(super) fn couple_keys(
    run: &Run,
    found: &CollectedPairs,
    ranks: &Ranks,
) -> (Vec<CoupleKey>, bool) {
    let count = found.pairs.len() as u64;
    let mut seen = FxHashSet::default();
    let mut too_many = false;
    let cut = couples(run, found, ranks, ANYWAY, |first, second| {
        let (a, b) = (first.pair.min(second.pair), first.pair.max(second.pair));
        let both = u64::from(a) * count + u64::from(b);
        if seen.len() < MOST {
            seen.insert(both);
        } else {
            too_many |= !seen.contains(&both);
        }
    });
    let pair = |number: u64| found.pairs.get(number as usize).map(|pair| pair.key);
    let key = |both: u64| Some(CoupleKey::new(pair(both / count)?, pair(both % count)?));
    let mut keys: Vec<CoupleKey> = seen.into_iter().filter_map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    (keys, cut || too_many)
}

/// Couples of the failing run with the number of passing runs that have them too, in the order of completion.
/// [`RunPairs::couples_cut`](super::RunPairs::couples_cut) says whether there are more.
pub fn seen_couples(
    run: &Run,
    accesses: &Accesses,
    passing: &PairCounts,
) -> Vec<(CoupledPairs, u32)> {
    let ranks = Ranks::new(run, accesses);
    let found = CollectedPairs::new(run, accesses, &ranks);
    let key = |occurrence: &LocatedOccurrence| {
        let pair = found.pairs.get(occurrence.pair as usize);
        pair.map_or(PairKey::default(), |pair| pair.key)
    };
    let mut seen = Vec::new();
    couples(run, &found, &ranks, ANYWAY, |first, second| {
        let runs = passing.couple_runs(CoupleKey::new(key(first), key(second)));
        let (first, second) = (first.dependency, second.dependency);
        seen.push((CoupledPairs { first, second }, runs));
    });
    seen.sort_by_key(|(couple, _)| (couple.first.tail.max(couple.second.tail), *couple));
    seen
}

/// Calls back for each couple, the interrupted thread's first dependency before the second. Returns `true`
/// when partners were not examined: more than `anyway` plus the number that the run's length allows.
pub(super) fn couples(
    run: &Run,
    found: &CollectedPairs,
    ranks: &Ranks,
    anyway: usize,
    mut coupled: impl FnMut(&LocatedOccurrence, &LocatedOccurrence),
) -> bool {
    let occurrences = &found.occurrences;
    let location = |occurrence: &LocatedOccurrence| occurrence.dependency.location;
    if occurrences
        .chunk_by(|a, b| location(a) == location(b))
        .count()
        < 2
    {
        return false;
    }
    let places = Recurrences::new(run, occurrences, ranks);
    let mut firsts = by_row(occurrences, |dependency| dependency.head)
        .into_iter()
        .peekable();
    let mut partners = ThreadOccurrences::new(run, occurrences);
    let mut left = anyway + FOR_EACH * occurrences.len();
    let mut cut = false;
    for number in by_row(occurrences, |dependency| dependency.tail) {
        let Some(second) = occurrences.get(number as usize) else {
            continue;
        };
        let tail = second.dependency.tail;
        let is_before = |first: &u32| {
            let first = occurrences.get(*first as usize);
            first.is_some_and(|first| first.dependency.head < tail)
        };
        while let Some(first) = firsts.next_if(is_before) {
            partners.add(first);
        }
        let most = if left > 0 { usize::MAX } else { NEAREST };
        let mut seen = 0;
        cut |= partners.each(second, &places, |first| {
            seen += 1;
            if seen <= most && places.are_one_step(&first.dependency, &second.dependency) {
                coupled(first, second);
            }
            seen <= most
        });
        left = left.saturating_sub(seen);
    }
    cut
}

/// Indices of the occurrences in the order of one of their ends.
fn by_row(occurrences: &[LocatedOccurrence], end: impl Fn(&Dependency) -> EventId) -> Vec<u32> {
    let row = |occurrence: &LocatedOccurrence| u64::from(end(&occurrence.dependency).0);
    let mut order: Vec<(u64, u32)> = occurrences.iter().map(row).zip(0..).collect();
    sort_by_number(&mut order, |(row, _)| *row);
    order.into_iter().map(|(_, number)| number).collect()
}

/// Occurrences from one thread to another: numbers of lists, each linked from the latest head back.
struct ThreadOccurrences<'a> {
    run: &'a Run,
    occurrences: &'a [LocatedOccurrence],
    latest: FxHashMap<(u16, u16), u32>,
    /// For each occurrence, the preceding one in its list.
    before: Vec<u32>,
}

/// Marks the absence of a row or an occurrence.
const NONE: u32 = u32::MAX;

impl<'a> ThreadOccurrences<'a> {
    fn new(run: &'a Run, occurrences: &'a [LocatedOccurrence]) -> ThreadOccurrences<'a> {
        ThreadOccurrences {
            run,
            occurrences,
            latest: FxHashMap::default(),
            before: vec![NONE; occurrences.len()],
        }
    }

    fn thread(&self, row: EventId) -> u16 {
        self.run.events.thread(row).0
    }

    fn add(&mut self, number: u32) {
        let Some(occurrence) = self.occurrences.get(number as usize) else {
            return;
        };
        let Dependency { head, tail, .. } = occurrence.dependency;
        let threads = (self.thread(head), self.thread(tail));
        let latest = self.latest.insert(threads, number);
        if let Some(before) = self.before.get_mut(number as usize) {
            *before = latest.unwrap_or(NONE);
        }
    }

    /// Calls back, the latest head first, for those in the other direction whose heads are the last of their
    /// places before the tail of `second`, back to where its place was before, while that returns true.
    /// Returns whether it was stopped. Heads that are not the last never become so again: they are unlinked.
    fn each(
        &mut self,
        second: &LocatedOccurrence,
        places: &Recurrences,
        mut found: impl FnMut(&LocatedOccurrence) -> bool,
    ) -> bool {
        let Dependency {
            head,
            tail,
            location,
            ..
        } = second.dependency;
        let threads = (self.thread(tail), self.thread(head));
        let (mut at, mut later) = (self.latest.get(&threads).copied().unwrap_or(NONE), NONE);
        let start = places.before(tail);
        while let Some(first) = self.occurrences.get(at as usize) {
            let next = self.before.get(at as usize).copied().unwrap_or(NONE);
            let head = first.dependency.head;
            if start.is_some_and(|start| head < start) {
                return false;
            }
            if places.next(head).is_some_and(|next| next < tail) {
                match self.before.get_mut(later as usize) {
                    Some(before) => *before = next,
                    None => {
                        self.latest.insert(threads, next);
                    }
                }
            } else {
                if first.dependency.location != location && !found(first) {
                    return true;
                }
                later = at;
            }
            at = next;
        }
        false
    }
}

/// Recurrences of the ends of dependencies: the same thread, the same access, the same location, in another statement that
/// the thread executes. What one statement does twice is one visit, as when a library's function counts elements and then
/// copies them.
struct Recurrences {
    /// By row: the preceding and the next row at its place.
    around: IndexVec<EventId, (u32, u32)>,
}

impl Recurrences {
    fn new(run: &Run, occurrences: &[LocatedOccurrence], ranks: &Ranks) -> Recurrences {
        let mut around = IndexVec::filled((NONE, NONE), run.events.len());
        let mut rows = ends(run, occurrences);
        let thread = |row: EventId| u64::from(run.events.thread(row).0);
        let location = |row: EventId| u64::from(run.events.location(row).0);
        let access = |row: EventId| thread(row) << 32 | u64::from(ranks.of(row));
        sort_by_number(&mut rows, |row| access(*row));
        sort_by_number(&mut rows, |row| location(*row));
        let statement = statements(run);
        let statement = |row: &EventId| statement.get(row.index());
        let is_same =
            |a: &EventId, b: &EventId| (access(*a), location(*a)) == (access(*b), location(*b));
        for rows in rows.chunk_by(is_same) {
            let visits = rows.chunk_by(|a, b| statement(a) == statement(b));
            let (mut visits, mut before) = (visits.peekable(), NONE);
            while let Some(visit) = visits.next() {
                let next = visits.peek().and_then(|next| next.first());
                let next = next.map_or(NONE, |next| next.0);
                for row in visit {
                    around[*row] = (before, next);
                }
                before = visit.last().map_or(NONE, |last| last.0);
            }
        }
        Recurrences { around }
    }

    fn before(&self, row: EventId) -> Option<EventId> {
        let (before, _) = self.around[row];
        (before != NONE).then_some(EventId(before))
    }

    fn next(&self, row: EventId) -> Option<EventId> {
        let (_, next) = self.around[row];
        (next != NONE).then_some(EventId(next))
    }

    /// Returns whether the other thread repeats neither of its two accesses in between.
    fn are_one_step(&self, first: &Dependency, second: &Dependency) -> bool {
        let (from, to) = (first.tail.min(second.head), first.tail.max(second.head));
        self.next(from).is_none_or(|next| next >= to)
            && self.before(to).is_none_or(|before| before <= from)
    }
}

/// For each row, the number of statements that its thread has begun by then: it begins one where the line or the call is
/// another one than before. Linear in the run.
fn statements<'a>(run: &'a Run) -> Vec<u32> {
    let mut lines: FxHashMap<(&str, &str, u32), u32> = FxHashMap::default();
    let mut number = |site: &'a SiteRow| {
        let next = lines.len() as u32;
        let line = (site.file.as_str(), site.function.as_str(), site.line);
        *lines.entry(line).or_insert(next)
    };
    let line: Vec<u32> = run.meta.sites.iter().map(&mut number).collect();
    // What each thread is at: a line, the call that led there, and the number of the statement.
    let mut at: FxHashMap<u16, (Option<u32>, u32, u32)> = FxHashMap::default();
    let events = &run.events;
    let rows = events
        .threads()
        .iter()
        .zip(events.sites().iter().zip(events.stacks()));
    let begun = rows.map(|(thread, (site, stack))| {
        let line = line.get(*site as usize).copied();
        let now = at.entry(*thread).or_default();
        if (now.0, now.1) != (line, *stack) {
            *now = (line, *stack, now.2 + 1);
        }
        now.2
    });
    begun.collect()
}

/// The rows that are ends of dependencies, in order.
fn ends(run: &Run, occurrences: &[LocatedOccurrence]) -> Vec<EventId> {
    let mut is_end = vec![false; run.events.len()];
    for occurrence in occurrences {
        let Dependency { head, tail, .. } = occurrence.dependency;
        for row in [head, tail] {
            if let Some(is_end) = is_end.get_mut(row.index()) {
                *is_end = true;
            }
        }
    }
    let rows = (0..).zip(is_end).filter(|(_, is_end)| *is_end);
    rows.map(|(row, _)| EventId(row)).collect()
}
