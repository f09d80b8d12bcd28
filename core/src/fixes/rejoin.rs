//! Merges two critical sections: a function released a lock and reacquired it, and another thread's section
//! on the data of both came in between.

use super::{
    FixInput, atomic,
    gaps::{self, Gap},
    invocation::Invocations,
    model::{Fix, FixKind},
    mutexes::{self, lock_name},
    places::{self, FunctionLines},
    seen::RunEvidence,
    text::EditRefusal,
};
use crate::{
    facts::{family, in_block},
    orders::Section,
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, LocationId, Run};

/// Critical sections that were split, in one function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Split {
    place: FunctionLines,
    lock: String,
}

/// Bound on the fixes tried.
const MOST: usize = 3;

/// Merged sections, those first that access the blamed data.
pub(super) fn rejoined(case: &FixInput<'_>, seen: &RunEvidence) -> Vec<Result<Fix, EditRefusal>> {
    let data = places::families(case.explanation);
    let own = |name: &String| case.explanation.runs.contains(name);
    let failing = case.runs.iter().filter(|(name, _)| own(name));
    let mut found = RankedCandidates::new();
    let mut given_up = BTreeMap::new();
    for (_, run) in failing.take_while(|_| case.budget.stop().is_none()) {
        let calls = Invocations::of(run);
        count(&mut found, splits(&calls, &data));
        count(&mut given_up, gaps_of(&calls, &data));
        count(&mut given_up, unfinished_gaps(case, &calls, &data));
    }
    let gaps = best(given_up).into_iter().filter_map(|(gap, lock)| {
        let fix = gaps::closed(case, &gap, &lock)?;
        Some(fix.map_err(|why| format!("keeping `{}` all the time: {why}", in_block(&lock))))
    });
    let fixes = best(found).into_iter().map(|split| {
        let lock = in_block(&split.lock);
        joined(case, seen, split)
            .map_err(|why| format!("joining the critical sections of `{lock}`: {why}"))
    });
    gaps.chain(fixes).collect()
}

/// Candidates with whether they are about the blamed data, and the number of times they were met.
type RankedCandidates<T> = BTreeMap<T, (bool, usize)>;

fn count<T: Ord>(counted: &mut RankedCandidates<T>, found: Vec<(T, bool)>) {
    for (one, is_blamed) in found {
        let (known, times) = counted.entry(one).or_default();
        *known |= is_blamed;
        *times += 1;
    }
}

fn best<T: Ord>(counted: RankedCandidates<T>) -> Vec<T> {
    let mut all: Vec<(T, (bool, usize))> = counted.into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.into_iter().take(MOST).map(|(one, _)| one).collect()
}

/// The moments at which a function has given a lock up and another thread came in between, with the lock's name
/// and whether it accessed the data.
fn gaps_of(calls: &Invocations<'_>, data: &BTreeSet<String>) -> Vec<((Gap, String), bool)> {
    let given_up = calls.given_up().into_iter();
    let found = given_up.filter_map(|(one, other)| {
        let between = calls.between(one, other);
        let met = met(calls.run, (one, other), &between);
        if met.is_empty() {
            return None;
        }
        let gap = gaps::between(calls, one, other.acquired)?;
        Some((
            (gap, lock_name(calls.run, one.acquired)),
            is_blamed(calls.run, &met, data),
        ))
    });
    found.collect()
}

/// The gaps in which threads were when the run ended, where another thread has changed or used meanwhile what such a thread
/// accessed before; with the lock's name and whether that is the data.
fn unfinished_gaps(
    case: &FixInput<'_>,
    calls: &Invocations<'_>,
    data: &BTreeSet<String>,
) -> Vec<((Gap, String), bool)> {
    let run = calls.run;
    let end = EventId(run.events.len() as u32);
    let last = calls.last_sections().into_iter();
    let found = last.filter_map(|one| {
        let whole = Section {
            acquired: end,
            ..*one
        };
        let own = accesses(run, one);
        let later = calls.between(one, &whole).into_iter();
        let others = later.filter(|section| section.thread != one.thread);
        let met = others.flat_map(|section| conflicts(&own, &accesses(run, section)));
        let met: BTreeSet<LocationId> = met.collect();
        if met.is_empty() {
            return None;
        }
        let gap = gaps::unfinished(case, run, one)?;
        let lock = lock_name(run, one.acquired);
        Some(((gap, lock), is_blamed(run, &met, data)))
    });
    found.collect()
}

fn joined(case: &FixInput<'_>, seen: &RunEvidence, split: Split) -> Result<Fix, EditRefusal> {
    let Split { place, lock } = split;
    let begin = place.first;
    let name = |place: &FunctionLines, line: u32| {
        let source = case.files.get(&place.file)?;
        let taken = mutexes::taken_on(source, begin);
        taken.map_or_else(
            || mutexes::in_function(source, &place.file, line, &family(&lock), seen),
            Ok,
        )
    };
    let mut fix = atomic::guarded(vec![place], case.files, Some(&lock), &name)?;
    if fix.edits.is_empty() {
        return Err("the critical sections are one already".to_owned());
    }
    fix.kind = FixKind::WidenSection;
    fix.lock = Some(lock);
    Ok(fix)
}

/// The splits of a run, each with whether it accesses the data.
fn splits(calls: &Invocations<'_>, data: &BTreeSet<String>) -> Vec<(Split, bool)> {
    let mut found = Vec::new();
    for sections in calls.sections() {
        for pair in sections.windows(2) {
            if let [one, other] = pair {
                let between = calls.between(one, other);
                found.extend(split(calls, (one, other), &between, data));
            }
        }
    }
    found
}

fn split(
    calls: &Invocations<'_>,
    (one, other): (&Section, &Section),
    between: &[&Section],
    data: &BTreeSet<String>,
) -> Option<(Split, bool)> {
    let run = calls.run;
    let end = other.released?;
    if between.is_empty() {
        return None;
    }
    let taken = calls.together(one.acquired, other.acquired)?;
    let whole = calls.together(one.acquired, end)?;
    if taken.depth != whole.depth || taken.lines.0 >= taken.lines.1 {
        return None;
    }
    let met = met(run, (one, other), between);
    let split = Split {
        place: whole.place(),
        lock: lock_name(run, one.acquired),
    };
    (!met.is_empty()).then(|| (split, is_blamed(run, &met, data)))
}

/// Locations on which a section in between meets both.
fn met(
    run: &Run,
    (one, other): (&Section, &Section),
    between: &[&Section],
) -> BTreeSet<LocationId> {
    let (first, second) = (accesses(run, one), accesses(run, other));
    let mut met = BTreeSet::new();
    for section in between {
        let inner = accesses(run, section);
        let (before, after) = (conflicts(&first, &inner), conflicts(&inner, &second));
        if !before.is_empty() && !after.is_empty() {
            met.extend(before);
            met.extend(after);
        }
    }
    met
}

fn is_blamed(run: &Run, met: &BTreeSet<LocationId>, data: &BTreeSet<String>) -> bool {
    let mut met = met.iter();
    met.any(|location| data.contains(&family(run.location(*location))))
}

/// Locations with whether they are written, by location: there are many sections, and most access little.
type WrittenLocations = Vec<(LocationId, bool)>;

/// Accesses of a section's thread within it.
fn accesses(run: &Run, section: &Section) -> WrittenLocations {
    let end = section
        .released
        .map_or(run.events.len() as u32, |row| row.0);
    let rows = (section.acquired.0..end).map(EventId);
    let own = rows.filter(|row| run.events.thread(*row) == section.thread);
    let kinds = own.map(|row| (row, run.events.kind(row)));
    let mut found: WrittenLocations = kinds
        .filter(|(_, kind)| kind.is_access())
        .map(|(row, kind)| (run.events.location(row), kind.writes()))
        .collect();
    // Of each location the write comes first, and stays.
    found.sort_unstable_by_key(|(location, writes)| (*location, !writes));
    found.dedup_by_key(|(location, _)| *location);
    found
}

fn conflicts(one: &WrittenLocations, other: &WrittenLocations) -> Vec<LocationId> {
    let is_conflict = |(location, writes): &&(LocationId, bool)| {
        let at = other.binary_search_by_key(location, |(location, _)| *location);
        let theirs = at.ok().and_then(|at| other.get(at));
        theirs.is_some_and(|(_, other)| *writes || *other)
    };
    let met = one.iter().filter(is_conflict);
    met.map(|(location, _)| *location).collect()
}

#[cfg(test)]
mod tests {
    use crate::fixes::{apply, tests::offered_of};

    const TEXT: &str = "int used;\nint bag[9];\nvoid put(int what)\n{\n    pthread_mutex_lock(&m);\n    int at = used;\n    pthread_mutex_unlock(&m);\n    pthread_mutex_lock(&m);\n    bag[at] = what;\n    used = at + 1;\n    pthread_mutex_unlock(&m);\n}\n";

    #[test]
    fn sections_that_were_split_become_one() {
        let first = |thread: &str| {
            format!("{thread} lock m @5 put\n{thread} R used =0 @6\n{thread} unlock m @7\n")
        };
        let second = |thread: &str| {
            format!(
                "{thread} lock m @8 put\n{thread} W bag[0] @9\n{thread} W used =1 @10\n{thread} unlock m @11\n"
            )
        };
        let both = |thread: &str| first(thread) + &second(thread);
        let end = "main R used =1 @20 main\nmain fails @20 main assertion `used == 2` failed\n";
        let failed = first("main.1") + &both("main.2") + &second("main.1") + end;
        let offered = offered_of(&[("failed-1", &failed)], TEXT);
        let fix = offered.fixes.first().expect("a fix");
        assert_eq!(fix.title, "do not release `m` from line 7 to line 8");
        let expected = TEXT.replace(
            "    pthread_mutex_unlock(&m);\n    pthread_mutex_lock(&m);\n",
            "",
        );
        assert_eq!(apply(TEXT, "test.c", &fix.edits), Some(expected));
    }
}
