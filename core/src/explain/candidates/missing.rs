//! Writes that never happened.

use super::{
    Candidate, NOT_NEW, Story, UNRELATED, candidate, distance,
    visits::{WritesBefore, before_visits},
};
use crate::{
    callers,
    explain::{
        look::asks,
        missing::{end_of, never_comes},
        view::View,
    },
    explanation::Place,
    facts,
    mining::trace::line_hash,
    pairs::{AccessClass, AccessKey, CoupledPairs, PairKey, procedure_two},
};
use rustc_hash::FxHashMap;
use std::{cmp::Reverse, collections::BTreeMap};
use unsnarl_trace::{EventId, LocationId, ThreadId};

/// Test Procedure II: reads of the failure without the write that precedes them in passing runs.
pub(super) fn missing(view: &View) -> Vec<Candidate> {
    let counts = view.corpus.counts();
    if counts.passing() == 0 {
        return Vec::new();
    }
    let readers = NearReads::of(view);
    let pairs = procedure_two(view.pairs(), counts);
    let of_reads = pairs.iter().filter_map(|pair| {
        let reader = readers.lacking(view, pair.original)?;
        let writes = counts.site(pair.original.head)?.class != AccessClass::Read;
        writes.then_some((pair, reader))
    });
    let of_reads: Vec<_> = of_reads.collect();
    let reads: Vec<EventId> = of_reads.iter().map(|(_, reader)| *reader).collect();
    let before = before_visits(view, &reads);
    let stories = of_reads.into_iter().zip(&before);
    let stories = stories.filter_map(|((pair, reader), before)| {
        let story = Story::Missing {
            original: pair.original,
            reader,
            by: None,
        };
        let later = comes_later(view, pair.original, before)?;
        let contrast = if pair.partner.is_some() { 4 } else { 2 };
        let contrast =
            contrast + later + too_late_to_come(view, pair.original, reader) + usual(view, reader);
        let contrast = match is_only_shown(view, reader) {
            true => contrast + UNRELATED,
            false => contrast,
        };
        Some(candidate(view, story, &[reader], contrast, later == 0))
    });
    stories.collect()
}

/// The reads of a run, of each place and location the nearest to the failure.
struct NearReads<'a> {
    /// By the place and the [`facts::family`] of the location, with its name: a compiler may give both reads of `a - b` one
    /// place, and what the passing runs wrote may be another element of an array.
    by_place: FxHashMap<(AccessKey, String), BTreeMap<&'a str, EventId>>,
}

impl<'a> NearReads<'a> {
    fn of(view: &'a View) -> NearReads<'a> {
        let mut nearest: FxHashMap<(AccessKey, LocationId), EventId> = FxHashMap::default();
        let rows = view.run.events.iter();
        for (row, event) in rows.filter(|(_, event)| event.kind.reads()) {
            let slot = nearest
                .entry((view.key(row), event.location))
                .or_insert(row);
            if distance(view, &[row]) <= distance(view, &[*slot]) {
                *slot = row;
            }
        }
        let mut by_place: FxHashMap<_, BTreeMap<&str, EventId>> = FxHashMap::default();
        for ((key, location), row) in nearest {
            let name = view.run.location(location);
            let alike = by_place.entry((key, facts::family(name))).or_default();
            alike.insert(name, row);
        }
        NearReads { by_place }
    }

    /// The read that lacks a write of passing runs: of the location that they wrote first, or of one of its family that
    /// nobody has written there.
    fn lacking(&self, view: &View, original: PairKey) -> Option<EventId> {
        let name = view.corpus.counts().location(original);
        let alike = self.by_place.get(&(original.tail, facts::family(name)))?;
        let lacks = |row: &EventId| !ran(view, original, *row);
        let own = alike.get(name).copied().filter(lacks);
        let writer = view.corpus.counts().site(original.head);
        if writer.is_some_and(|site| names_the_element(&site.place.text, name)) {
            return own;
        }
        own.or_else(|| {
            let others = alike.values().copied().filter(lacks);
            others.min_by_key(|row| (distance(view, &[*row]), Reverse(*row)))
        })
    }
}

/// Returns whether a line names an element of an array by its number, as `slots[0] = value;` for `table.slots[0]`: then it
/// writes no other one.
fn names_the_element(text: &str, location: &str) -> bool {
    let element = location.rsplit('.').next().unwrap_or(location);
    let text: String = text.split_whitespace().collect();
    element.ends_with(']') && text.contains(element)
}

/// Reads near the failure that see what they never saw in the passing runs which come there, since another thread's write is
/// missing that these had before: the other passing runs end without such a read.
pub(super) fn wherever_read(view: &View) -> Vec<Candidate> {
    const NEAR: u32 = 2;
    const ENOUGH: u32 = 3;
    const IN_PART: u32 = 6;
    let counts = view.corpus.counts();
    let rows = view.run.events.iter();
    let reads = rows.filter(|(_, event)| event.kind.reads() && Some(event.thread) == view.failed);
    let near =
        reads.filter(|(row, _)| distance(view, &[*row]) <= NEAR && seen_alike(view, *row) == 0);
    // One place of the source may read other things besides, as libraries do.
    let mut readers: FxHashMap<AccessKey, Vec<EventId>> = FxHashMap::default();
    for (row, _) in near {
        readers.entry(view.key(row)).or_default().push(row);
    }
    let pairs = counts.pairs().filter_map(|(original, stats)| {
        let mut rows = readers.get(&original.tail)?.iter().copied();
        let reader = rows.find(|row| same_variable(view, original, *row))?;
        let writes = counts.site(original.head)?.class != AccessClass::Read;
        // What all passing runs have is missing anyhow.
        let is_missing = writes
            && (ENOUGH..counts.passing()).contains(&stats.runs)
            && !ran(view, original, reader)
            && too_late_to_come(view, original, reader) == 0;
        is_missing.then_some((original, reader))
    });
    let stories = pairs.map(|(original, reader)| {
        let story = Story::Missing {
            original,
            reader,
            by: None,
        };
        candidate(view, story, &[reader], IN_PART, true)
    });
    stories.collect()
}

/// Cost of a write that comes after the read's corresponding visit in some of the passing runs that have it;
/// none when it comes later in all of them: then it is not missing in a run that was cut off there.
fn comes_later(view: &View, original: PairKey, before: &WritesBefore) -> Option<u32> {
    let counts = view.corpus.counts();
    let site = counts.site(original.head)?;
    // The names of threads mean nothing if the thread never gets there.
    let with = counts.stats(original).runs.min(before.runs);
    match before.written(site) {
        _ if before.runs == 0 => Some(0),
        0 => None,
        runs => Some(2 * NOT_NEW * with.saturating_sub(runs) / with.max(1)),
    }
}

/// Reads near the failure before which another thread, which still runs, had not written yet, or less often, than it had
/// before the same visit in every passing run; other threads may have, perhaps on the same line.
pub(super) fn uncounted(view: &View) -> Vec<Candidate> {
    const NEAR: u32 = 2;
    const NEAR_AT_FIRST: u32 = 6;
    const ENOUGH: u32 = 3;
    const MOST: usize = 32;
    const LESS_OFTEN: u32 = 6;
    if view.corpus.counts().passing() < ENOUGH {
        return Vec::new();
    }
    let rows = view.run.events.iter();
    let reads = rows.filter(|(_, event)| event.kind.reads() && Some(event.thread) == view.failed);
    let is_near = |row| {
        let steps = distance(view, &[row]);
        steps <= NEAR || steps <= NEAR_AT_FIRST && view.visit(row).number == 1
    };
    let near = reads.map(|(row, _)| row).filter(|row| is_near(*row));
    let reads: Vec<EventId> = near.take(MOST).collect();
    let before = before_visits(view, &reads);
    let mut found = Vec::new();
    for (reader, before) in reads.into_iter().zip(&before) {
        if before.runs == view.corpus.counts().passing() {
            let late = not_there_yet(view, reader, before);
            found.extend(late.map(|late| {
                let story = Story::Missing {
                    original: late.original,
                    reader,
                    by: Some(late.by),
                };
                let cost = if late.has_come { LESS_OFTEN } else { 3 };
                candidate(view, story, &[reader], cost, true)
            }));
        }
    }
    found
}

/// A thread that had not written as often as in the passing runs.
struct LateWriter {
    by: ThreadId,
    /// The write and the read.
    original: PairKey,
    /// It has written, but less often.
    has_come: bool,
}

/// The first thread that had written in every passing run and has not in this one, though it can; else the first that had
/// written more often in each of them, or that is about to write as often as whoever did there.
fn not_there_yet(view: &View, reader: EventId, before: &WritesBefore) -> Option<LateWriter> {
    let accesses = view.orders.accesses();
    let rows = accesses.before(view.event(reader).location, reader).iter();
    let writes = rows.filter(|row| view.event(**row).kind.writes());
    let mut here: FxHashMap<_, u32> = FxHashMap::default();
    for row in writes {
        let (site, event) = (view.place(*row), view.event(*row));
        let class = AccessClass::of(event.kind).unwrap_or(AccessClass::Write);
        let line = (line_hash(&site.file, site.line), class);
        *here.entry((event.thread, line)).or_default() += 1;
    }
    let is_running = |by| by != view.thread(reader) && end_of(view, by) > reader;
    let always = before.always(view).into_iter();
    let late = always.filter_map(|(by, line, least)| {
        let times = here.get(&(by, line)).copied().unwrap_or(0);
        (is_running(by) && times < least).then_some((times > 0, by, line))
    });
    let late = late.min_by_key(|(has_come, ..)| *has_come);
    let unfinished = || {
        before.always_by_anyone().find_map(|(line, least)| {
            let mut all = here.iter().filter(|((_, one), _)| *one == line);
            let times = all.clone().map(|(_, times)| times).sum::<u32>();
            let (((by, _), _), is_alone) = (all.next()?, all.next().is_none());
            let is_late = is_alone && times < least && is_running(*by);
            is_late.then_some((true, *by, line))
        })
    };
    // Who looks again and again may look at any time.
    let is_first = view.visit(reader).number == 1;
    let late = late.or_else(|| unfinished().filter(|_| is_first));
    let (has_come, by, (line, class)) = late?;
    let head = view.corpus.counts().key_at(line, class)?;
    let tail = view.key(reader);
    Some(LateWriter {
        by,
        original: PairKey { head, tail },
        has_come,
    })
}

/// Cost of a read that sees the same value in passing runs, too: the write was not missing, but came later.
fn usual(view: &View, reader: EventId) -> u32 {
    let passing = view.corpus.counts().passing();
    NOT_NEW / 2 * seen_alike(view, reader).min(passing) / passing.max(1)
}

/// Returns whether a thread fails by what another one has set, which its failing line reads, and only shows the value of this
/// earlier read, as a report does: the lines that lead to it keep nothing in a variable of their own, and ask for nothing.
fn is_only_shown(view: &View, reader: EventId) -> bool {
    let Some(decides) = view
        .slice
        .nearest()
        .filter(|_| Some(view.thread(reader)) == view.failed)
    else {
        return false;
    };
    let source = view
        .orders
        .last_write_before(view.event(decides).location, decides);
    let is_of_another = source.is_some_and(|head| Some(view.thread(head)) != view.failed);
    let at = |row: EventId| (view.place(row).file, view.place(row).line);
    let to_both = callers::call_sites(&view.run, decides);
    let sites = callers::call_sites(&view.run, reader).into_iter();
    let own = sites.filter(|site| !to_both.contains(site));
    let mut lines = own.map(|site| facts::place(&view.run, site));
    is_of_another
        && at(reader) != at(decides)
        && !lines.any(|line| asks(&line) || facts::sets_local(&line.text))
}

/// Number of passing runs in which a read sees the same write as here, or none either.
fn seen_alike(view: &View, reader: EventId) -> u32 {
    let counts = view.corpus.counts();
    let source = view
        .orders
        .last_write_before(view.event(reader).location, reader);
    match source {
        Some(head) => counts.ordered(PairKey {
            head: view.key(head),
            tail: view.key(reader),
        }),
        None => counts.unwritten(view.key(reader)),
    }
}

/// Cost of a write that cannot happen any more: it did not run for another reason.
fn too_late_to_come(view: &View, original: PairKey, reader: EventId) -> u32 {
    let site = view.corpus.counts().site(original.head);
    match site.is_some_and(|site| never_comes(view, &site.place, reader)) {
        true => NOT_NEW,
        false => 0,
    }
}

/// Reads of the failure at sites that see other threads' writes elsewhere, as of other array elements, but
/// here only the initial value, while a thread may still write it; in passing runs they see such writes more
/// often.
pub(super) fn unset_sibling(view: &View) -> Vec<Candidate> {
    let counts = view.corpus.counts();
    let written = |row: EventId| {
        let location = view.event(row).location;
        view.orders.last_write_before(location, row).is_some()
    };
    let flows = view.pairs().pairs.iter().filter(|pair| {
        let stats = counts.stats(pair.key);
        let class = counts.site(pair.key.head).map(|site| site.class);
        class.is_some_and(|class| class != AccessClass::Read)
            && stats.times > u64::from(pair.times) * u64::from(stats.runs)
    });
    let flows: FxHashMap<AccessKey, PairKey> =
        flows.map(|pair| (pair.key.tail, pair.key)).collect();
    let rows = view.run.events.iter();
    let reads = rows
        .filter(|(_, event)| event.kind.reads())
        .map(|(row, _)| row);
    let unset = reads.filter(|&row| distance(view, &[row]) < UNRELATED && !written(row));
    let stories = unset.filter_map(|reader| {
        let original = *flows.get(&view.key(reader))?;
        let (theirs, own) = (counts.location(original), view.event(reader).location);
        if facts::family(theirs) != facts::family(view.run.location(own)) {
            return None;
        }
        let story = Story::Missing {
            original,
            reader,
            by: None,
        };
        let may_come =
            !ran(view, original, reader) && too_late_to_come(view, original, reader) == 0;
        may_come.then(|| candidate(view, story, &[reader], 2, true))
    });
    stories.collect()
}

/// Fallback candidates: reads of the failure before which only some passing runs have the write. These runs
/// may have passed for another reason.
pub(super) fn seldom(view: &View) -> Vec<Candidate> {
    const NEVER_SURE: u32 = 60;
    let counts = view.corpus.counts();
    let mut readers: FxHashMap<AccessKey, EventId> = FxHashMap::default();
    let rows = view
        .run
        .events
        .iter()
        .filter(|(_, event)| event.kind.reads());
    let near = rows.filter(|(row, _)| distance(view, &[*row]) < UNRELATED);
    for (row, _) in near {
        readers.insert(view.key(row), row);
    }
    let pairs = counts.pairs().filter_map(|(original, _)| {
        let reader = *readers.get(&original.tail)?;
        let writes = counts.site(original.head)?.class != AccessClass::Read;
        let fits = writes
            && same_variable(view, original, reader)
            && view.pairs().find(original).is_none()
            && !ran(view, original, reader);
        fits.then_some((original, reader))
    });
    let stories = pairs.map(|(original, reader)| {
        let story = Story::Missing {
            original,
            reader,
            by: None,
        };
        candidate(view, story, &[reader], NEVER_SURE, false)
    });
    stories.collect()
}

/// Returns whether both are of one variable of the program, whatever parts of it a library accesses.
fn same_variable(view: &View, original: PairKey, reader: EventId) -> bool {
    let here = view.run.location(view.event(reader).location);
    facts::own_part(view.corpus.counts().location(original)) == facts::own_part(here)
}

/// Returns whether the write happened after all, before the read (and another write came in between) or after it. A line may
/// write in several ways, as when it copies a shared pointer.
fn ran(view: &View, original: PairKey, reader: EventId) -> bool {
    let site = view.corpus.counts().site(original.head);
    let rows = view.orders.accesses().of(view.event(reader).location);
    let is_there = |row: EventId| {
        let event = view.event(row);
        let own = view.run.meta.site(event.site);
        let is_line = |place: &Place| (&place.file, place.line) == (&own.file, own.line);
        event.kind.writes() && site.is_some_and(|site| is_line(&site.place))
    };
    rows.iter()
        .any(|&row| view.key(row) == original.head || is_there(row))
}

/// Returns whether a missing pair that came late is explained better together with the pair that came in
/// time.
pub(super) fn is_half(candidate: &Candidate, couples: &[Candidate]) -> bool {
    let Story::Missing { reader: row, .. } = candidate.story else {
        return false;
    };
    let about = |couple: &CoupledPairs| couple.second.head == row || couple.first.head == row;
    couples
        .iter()
        .any(|other| matches!(&other.story, Story::MultiVariable(couple) if about(couple)))
}

#[cfg(test)]
mod tests {
    use super::{is_only_shown, names_the_element};
    use crate::{Budget, explain, explain::view::View, fixture::corpus};
    use unsnarl_trace::EventId;

    /// A thread fails by the flag that another one has lowered, and has shown a count before that.
    #[test]
    fn what_a_report_shows_is_beside_the_path() {
        let shown = |text: &str, looks: &str| {
            let failing = format!(
                "main fork main.1 @1\nmain.1 W ok =0 @9 draw\nmain R drawn =0 @20 main \"{text}\"\n{looks}main fails @21 main"
            );
            let corpus = corpus(&[], &[&failing]);
            let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
            is_only_shown(&view, EventId(2))
        };
        let ok = "main R ok =0 @21 main\n";
        assert!(shown("printf(\"%d\", drawn);", ok));
        assert!(!shown("int n = drawn;", ok));
        assert!(!shown("if (drawn == 0)", ok));
        // The thread has set itself what fails.
        let own = "main W ok =0 @20 main\nmain R ok =0 @21 main\n";
        assert!(!shown("printf(\"%d\", drawn);", own));
        assert!(!shown("printf(\"%d\", drawn);", ""));
    }

    /// The line that copies a shared pointer counts it twice: in the failing run, only the first copy came before the read.
    #[test]
    fn a_write_of_another_part_of_the_line_is_not_missing() {
        let begin = "main fork main.1 @1\nmain rmw uses 1->2 @50 resolve\n";
        let second = "main rmw uses 2->3 @50 operator=\n";
        let read = |uses: u32| format!("main.1 R uses ={uses} @60 erase\n");
        let fine = [begin, second, &read(3)].concat();
        let failing = |part: &str| {
            let begin = begin.replace("@50 resolve", part);
            [&*begin, &read(2), "main.1 fails @60 erase"].concat()
        };
        let told = |failing: &str| {
            let found = explain(&corpus(&[&*fine; 6], &[failing]), &Budget::unlimited()).findings;
            found.iter().any(|one| one.detail.contains("had not"))
        };
        assert!(!told(&failing("@50 resolve")));
        assert!(told(&failing("@40 resolve")));
    }

    #[test]
    fn a_line_that_names_an_element_writes_no_other_one() {
        assert!(names_the_element("slots[0] = value;", "slots[0]"));
        assert!(names_the_element(
            "table->slots[ 0 ] = value;",
            "table.slots[0]"
        ));
        assert!(!names_the_element("slots[i + 1] = value;", "slots[0]"));
        assert!(!names_the_element("total = value;", "total"));
    }
}
