//! Acquires the lock that guards the data where it is missing: in the call that came without it, and not in
//! functions that others call with the lock held.

use super::{
    FixInput, LATE, arguments, atomic,
    invocation::Invocations,
    model::{Fix, FixKind},
    mutexes::{self, lock_name},
    places::{self, FunctionLines},
    seen::{self, At, RunEvidence, frames},
    text::{
        EditRefusal,
        locks::Mutex,
        source::ParsedSource,
        uses::{self, DataNames},
    },
};
use crate::{
    callers::call_sites,
    facts::{family, in_block},
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{Event, EventId, EventKind, LocationId, Run, ThreadId};

/// Bound on the locks tried.
const MOST: usize = 3;

/// An access without the lock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Lacking {
    /// Place of the access, innermost first.
    frames: Vec<At>,
    /// Family of the location.
    location: String,
    /// Place where the same call of a function acquires that very lock: the function and the line.
    neighbour: Option<At>,
    /// The access is atomic: without the lock it races with nothing.
    is_atomic: bool,
}

/// Evidence of the runs about one family of locks.
#[derive(Clone, Default)]
struct FamilyEvidence {
    lacking: BTreeSet<Lacking>,
    /// Families of locations that are accessed with the lock held.
    guarded: BTreeSet<String>,
    /// Functions that are called with the lock held.
    called_with: BTreeSet<String>,
    /// Names of the missing locks.
    names: BTreeSet<String>,
}

impl FamilyEvidence {
    /// The accesses without the lock in functions that also take it, where all others without it are atomic: a look before
    /// the lock that decides what is done with it. None where there are no others.
    fn of_functions_that_take_it(&self, case: &FixInput<'_>) -> Option<FamilyEvidence> {
        let takes = |at: &At| {
            let source = case.files.get(&at.file);
            source.is_ok_and(|source| mutexes::taken_on(source, at.line).is_some())
        };
        let all = self.lacking.iter().cloned();
        let (own, others): (BTreeSet<Lacking>, BTreeSet<Lacking>) =
            all.partition(|it| it.neighbour.as_ref().is_some_and(takes));
        let is_atomic = !others.is_empty() && others.iter().all(|it| it.is_atomic);
        is_atomic.then(|| FamilyEvidence {
            lacking: own,
            ..self.clone()
        })
    }
}

/// Evidence for the blamed data, and for all data beside the lock.
#[derive(Default)]
struct Both {
    of_blamed: FamilyEvidence,
    of_struct: FamilyEvidence,
}

/// Threads that read and that write each location.
type Users = BTreeMap<LocationId, (BTreeSet<ThreadId>, BTreeSet<ThreadId>)>;

/// Fixes that acquire the lock of the data where it is missing, one for each lock that may guard it.
pub(super) fn taken(
    case: &FixInput<'_>,
    data: &BTreeSet<String>,
    seen: &RunEvidence,
) -> Vec<Result<Fix, EditRefusal>> {
    let candidates = candidates(seen);
    let locks: Vec<String> = candidates.into_iter().take(MOST).collect();
    let looked = match look(case, data, &locks) {
        Ok(looked) => looked.into_iter().zip(locks),
        Err(late) => return vec![Err(late)],
    };
    let kinds = looked.flat_map(|(found, lock)| {
        let takers = found.of_blamed.of_functions_that_take_it(case);
        // A lock in a struct guards the whole struct, not only the blamed members.
        let all = [Some(found.of_struct), Some(found.of_blamed), takers];
        all.into_iter()
            .flatten()
            .map(move |found| (found, lock.clone()))
    });
    let lacking = kinds.filter(|(found, _)| !found.lacking.is_empty());
    let both = lacking.flat_map(|(found, lock)| {
        [true, false].map(|is_wide| {
            let held = held(case, seen, (&found, is_wide), &lock).transpose();
            let in_words = |why| format!("taking `{}` where it is lacking: {why}", in_block(&lock));
            held.map(|held| held.map_err(in_words))
        })
    });
    both.flatten().collect()
}

/// Candidate families of locks: those held at accesses, most often first; else those beside the data.
fn candidates(seen: &RunEvidence) -> Vec<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (access, times) in &seen.accesses {
        let own = access
            .held
            .iter()
            .filter(|lock| mutexes::guards(lock, &access.location));
        for lock in own {
            *counts.entry(family(lock)).or_default() += times;
        }
    }
    if counts.is_empty() {
        let locks: BTreeSet<&String> = seen.taken.values().flatten().collect();
        let accesses = || seen.accesses.keys();
        let beside = locks
            .into_iter()
            .filter(|lock| accesses().any(|access| mutexes::is_beside(lock, &access.location)));
        return beside.map(|lock| family(lock)).collect();
    }
    let mut all: Vec<(String, u64)> = counts.into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.into_iter().map(|(lock, _)| lock).collect()
}

/// Evidence of the runs about each of the locks.
///
/// # Errors
/// The time is over.
fn look(
    case: &FixInput<'_>,
    data: &BTreeSet<String>,
    locks: &[String],
) -> Result<Vec<Both>, EditRefusal> {
    let mut found: Vec<Both> = locks.iter().map(|_| Both::default()).collect();
    for run in seen::within_bounds(case.runs) {
        let rows = seen::shared(run, &families(run, data, locks));
        let users = users(&rows);
        let calls = Invocations::of(run);
        let mut known = EquivalentRow::new();
        for (row, event) in &rows {
            if conflicts(&users, event) && known.insert(key(&calls, *row, event)) {
                if case.budget.stop().is_some() {
                    return Err(LATE.to_owned());
                }
                sort_in(&calls, (*row, event), data, locks.iter().zip(&mut found));
            }
        }
    }
    for (lock, found) in locks.iter().zip(&mut found) {
        // What lies deeper may have a lock of its own.
        let FamilyEvidence {
            lacking, guarded, ..
        } = &mut found.of_struct;
        let is_guarded = |it: &Lacking| {
            mutexes::is_right_beside(lock, &it.location) || guarded.contains(&it.location)
        };
        lacking.retain(is_guarded);
    }
    Ok(found)
}

/// The data, and other members of structs that contain some of it and a lock.
fn families(run: &Run, data: &BTreeSet<String>, locks: &[String]) -> BTreeSet<String> {
    let blamed = |lock: &&String| {
        let mut data = data.iter();
        data.any(|location| mutexes::is_beside(lock, location))
    };
    let structs = locks.iter().filter(blamed);
    let structs: Vec<&str> = structs.filter_map(|lock| mutexes::owner(lock)).collect();
    let is_it = |name: &String| {
        let mut structs = structs.iter();
        data.contains(name) || structs.any(|owner| mutexes::lies_in(owner, name))
    };
    let all = run.locations.iter().map(|name| family(name));
    all.filter(is_it).collect()
}

fn sort_in<'l>(
    calls: &Invocations<'_>,
    (row, event): (EventId, &Event),
    data: &BTreeSet<String>,
    locks: impl Iterator<Item = (&'l String, &'l mut Both)>,
) {
    let name = family(calls.run.location(event.location));
    for (lock, found) in locks {
        if data.contains(&name) {
            add(calls, (row, event), lock, &mut found.of_blamed);
        }
        if mutexes::is_beside(lock, &name) {
            add(calls, (row, event), lock, &mut found.of_struct);
        }
    }
}

fn users(rows: &[(EventId, Event)]) -> Users {
    let mut users = Users::new();
    for (_, event) in rows {
        let (reading, writing) = users.entry(event.location).or_default();
        match event.kind.reads() {
            true => reading.insert(event.thread),
            false => writing.insert(event.thread),
        };
        if event.kind.writes() {
            writing.insert(event.thread);
        }
    }
    users
}

/// Returns whether another thread writes the location read, or accesses the location written.
fn conflicts(users: &Users, event: &Event) -> bool {
    let is_other = |thread: &ThreadId| *thread != event.thread;
    users
        .get(&event.location)
        .is_some_and(|(reading, writing)| {
            let writes = event.kind.writes() || event.kind == EventKind::Free;
            writing.iter().any(is_other) || writes && reading.iter().any(is_other)
        })
}

/// Rows with the same call path, location and locks are equivalent.
type EquivalentRow = BTreeSet<(u32, u32, u32, Vec<u32>)>;

fn key(calls: &Invocations<'_>, row: EventId, event: &Event) -> (u32, u32, u32, Vec<u32>) {
    let held = calls.locks.held_at(event.thread, row);
    let held = held.map(|section| section.lock.0).collect();
    (event.site.0, event.stack.0, event.location.0, held)
}

fn add(
    calls: &Invocations<'_>,
    (row, event): (EventId, &Event),
    lock: &str,
    found: &mut FamilyEvidence,
) {
    let run = calls.run;
    let location = run.location(event.location);
    let is_it = |name: &str| family(name) == lock && mutexes::guards(name, location);
    let mut held = calls.locks.held_at(event.thread, row);
    let own = held.find(|section| is_it(&lock_name(run, section.acquired)));
    if let Some(section) = own {
        let (taken, used) = (call_sites(run, section.acquired), call_sites(run, row));
        let same = taken.iter().zip(&used).take_while(|(a, b)| a == b).count();
        let inner = used.iter().skip(same + 1);
        let names = inner.map(|site| run.meta.site(*site).function.clone());
        found.called_with.extend(names);
        found.guarded.insert(family(location));
        return;
    }
    let neighbour = neighbour(calls, (row, event), &is_it);
    found
        .names
        .extend(neighbour.as_ref().map(|it| it.1.clone()));
    found.lacking.insert(Lacking {
        frames: frames(run, row),
        location: family(location),
        neighbour: neighbour.map(|it| it.0),
        is_atomic: event.kind.is_atomic(),
    });
}

/// The section of the lock that is next to a row in the innermost call that has one, with the name of the
/// lock.
fn neighbour(
    calls: &Invocations<'_>,
    (row, event): (EventId, &Event),
    is_it: &dyn Fn(&str) -> bool,
) -> Option<(At, String)> {
    let all: Vec<_> = calls.named(event.thread, is_it).collect();
    let before = all.iter().filter(|section| section.acquired < row);
    let after = all.iter().filter(|section| row < section.acquired);
    let nearest = [
        after.min_by_key(|section| section.acquired),
        before.max_by_key(|section| section.acquired),
    ];
    let found = nearest.into_iter().flatten().filter_map(|section| {
        let is_later = row < section.acquired;
        let together = match is_later {
            true => calls.together(row, section.acquired)?,
            false => calls.together(section.acquired, row)?,
        };
        let (one, other) = together.lines;
        let at = At {
            line: if is_later { other } else { one },
            file: together.file,
            function: together.function,
        };
        let name = lock_name(calls.run, section.acquired);
        Some((together.depth, (at, name)))
    });
    let found = found.max_by_key(|(depth, _)| *depth);
    found.map(|(_, found)| found)
}

/// Holds the lock from, or up to, the critical section that the same function has, or over all that a function
/// without one does with the data (`is_wide`), or around the accesses alone. None where the text holds it there.
fn held(
    case: &FixInput<'_>,
    seen: &RunEvidence,
    (found, is_wide): (&FamilyEvidence, bool),
    lock: &str,
) -> Result<Option<Fix>, EditRefusal> {
    let mut places = Vec::new();
    let mut begins: BTreeMap<(String, String), u32> = BTreeMap::new();
    for lacking in &found.lacking {
        let (place, begin) = place(case, (found, is_wide), lacking)
            .ok_or_else(|| format!("`{lock}` is lacking where no line is known"))?;
        if let Some(begin) = begin {
            begins.insert((place.file.clone(), place.function.clone()), begin);
        }
        places.push(place);
    }
    let members: BTreeSet<String> = (found.guarded.iter())
        .chain(found.lacking.iter().map(|it| &it.location))
        .map(|location| mutexes::member(lock, location).to_owned())
        .collect();
    let name = |place: &FunctionLines, line: u32| -> Result<Mutex, EditRefusal> {
        let source = case.files.get(&place.file)?;
        let begin = begins.get(&(place.file.clone(), place.function.clone()));
        if let Some(mutex) = begin.and_then(|begin| mutexes::taken_on(source, *begin)) {
            return Ok(mutex);
        }
        let named = mutexes::in_function(source, &place.file, line, lock, seen);
        named.or_else(|why| through_call(case, found, (place, line), lock, seen).ok_or(why))
    };
    let shown = match found.names.iter().collect::<Vec<_>>()[..] {
        [one] => one.clone(),
        _ => lock.to_owned(),
    };
    let mut places = places::by_function(places);
    if is_wide {
        for place in &mut places {
            let known = (place.file.clone(), place.function.clone());
            if !begins.contains_key(&known) {
                let mutex = name(place, place.first)?;
                grow(case.files.get(&place.file)?, place, &mutex, &members);
            }
        }
    }
    let mut fix = atomic::guarded(places, case.files, Some(&shown), &name)?;
    if fix.edits.is_empty() {
        return Ok(None);
    }
    fix.kind = FixKind::WidenSection;
    fix.lock = Some(shown);
    fix.assumes.extend(atomic::assumed(seen));
    Ok(Some(fix))
}

/// Extends lines to all statements of their function that use the data of the lock, as far as one block has them.
fn grow(
    source: &ParsedSource,
    place: &mut FunctionLines,
    mutex: &Mutex,
    members: &BTreeSet<String>,
) {
    let name = mutex.name();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let object = name.find(|c| !is_word(c)).and_then(|end| name.get(..end));
    let names = DataNames { object, members };
    for line in [place.first, place.last] {
        if let Some(lines) = uses::around(source, line, &names) {
            place.first = place.first.min(lines.first);
            place.last = place.last.max(lines.last);
        }
    }
}

/// Name in the function for the lock that it passes on with the object that contains it.
fn through_call(
    case: &FixInput<'_>,
    found: &FamilyEvidence,
    (place, line): (&FunctionLines, u32),
    lock: &str,
    seen: &RunEvidence,
) -> Option<Mutex> {
    let is_there =
        |at: &At| (&at.file, &at.function, at.line) == (&place.file, &place.function, line);
    let mut ways = found.lacking.iter().filter_map(|lacking| {
        let at = lacking.frames.iter().position(is_there)?;
        let inner = lacking.frames.get(at.checked_sub(1)?)?;
        let (outer, source) = (
            case.files.get(&place.file).ok()?,
            case.files.get(&inner.file).ok()?,
        );
        let mutex = mutexes::in_function(source, &inner.file, inner.line, lock, seen).ok()?;
        arguments::through_call((outer, line), (source, inner.line), &mutex)
    });
    ways.next()
}

/// The lines of the innermost function of this program that is not called with the lock held, with the line
/// on which it acquires the lock, if it does.
fn place(
    case: &FixInput<'_>,
    (found, is_wide): (&FamilyEvidence, bool),
    lacking: &Lacking,
) -> Option<(FunctionLines, Option<u32>)> {
    let is_own =
        |at: &At| case.files.get(&at.file).is_ok() && !found.called_with.contains(&at.function);
    let near = lacking.neighbour.as_ref().filter(|_| is_wide);
    let is_near = |at: &&At| {
        near.is_some_and(|near| (&near.file, &near.function) == (&at.file, &at.function))
    };
    let own = || lacking.frames.iter().filter(|at| is_own(at));
    let at = own().find(is_near).or_else(|| own().next())?;
    let begin = near.filter(|_| is_near(&at)).map(|near| near.line);
    let other = begin.unwrap_or(at.line);
    let place = FunctionLines {
        file: at.file.clone(),
        function: at.function.clone(),
        first: at.line.min(other),
        last: at.line.max(other),
    };
    Some((place, begin))
}

#[cfg(test)]
mod tests {
    use crate::fixes::{
        apply,
        tests::{offered_for, offered_of},
    };

    const TEXT: &str = "struct box { pthread_mutex_t lock; int used; } boxes[2];\nvoid add(struct box *b)\n{\n    int used = b->used;\n    b->used = used + 1;\n}\nvoid with(struct box *b)\n{\n    pthread_mutex_lock(&b->lock);\n    add(b);\n    pthread_mutex_unlock(&b->lock);\n}\nvoid without(int i)\n{\n    add(&boxes[i]);\n}\n";

    /// A run of `add`; `via` is its call.
    fn adds(thread: &str, via: &str, at: (u32, u32)) -> (String, String) {
        let (old, new) = at;
        (
            format!("{thread} R boxes[1].used ={old} via={via} @4 add\n"),
            format!("{thread} W boxes[1].used ={new} via={via} @5 add\n"),
        )
    }

    /// `closed` is looked at before the lock, in `close` and elsewhere: only the look of `close` decides what is done under it.
    #[test]
    fn a_look_before_the_lock_is_done_with_it() {
        const STREAM: &str = "struct stream { std::mutex lock; std::atomic<int> open; int *buffer; } s;\nbool is_open()\n{\n    return s.open;\n}\nvoid close()\n{\n    if (!is_open()) return;\n    std::lock_guard<std::mutex> guard(s.lock);\n    s.open = 0;\n    s.buffer = nullptr;\n}\nvoid watch()\n{\n    is_open();\n}\n";
        let look = |thread: &str, value: u32| {
            format!("{thread} atomic-read s.open ={value} via=8@close @4 is_open\n")
        };
        let close = |thread: &str| {
            format!(
                "{thread} lock s.lock @9 close\n{thread} atomic-write s.open =0 @10 close\n{thread} W s.buffer =0 @11 close\n{thread} unlock s.lock @12 close\n"
            )
        };
        let begin = "file test.cpp\nmain fork main.1 @20 main\nmain fork main.2 @21 main\nmain atomic-read s.open =1 via=15@watch @4 is_open\n";
        let fails = "main.2 fails @11 close\n";
        let failed = [
            begin,
            &look("main.1", 1),
            &look("main.2", 1),
            &close("main.1"),
            &close("main.2"),
            fails,
        ]
        .concat();
        let offered = offered_for(&[("failed-1", &failed)], &[("test.cpp", STREAM)]);
        let guard = "    std::lock_guard<std::mutex> guard(s.lock);\n";
        let look = "    if (!is_open()) return;\n";
        let expected = STREAM.replace(&[look, guard].concat(), &[guard, look].concat());
        let mut fixes = offered.fixes.iter();
        let is_it =
            fixes.any(|fix| apply(STREAM, "test.cpp", &fix.edits).as_ref() == Some(&expected));
        assert!(is_it, "{offered:?}");
    }

    #[test]
    fn the_call_that_comes_without_the_lock_gets_it() {
        let locked = |thread: &str, inner: &str| {
            format!(
                "{thread} lock boxes[1].lock @9 with\n{inner}{thread} unlock boxes[1].lock @11 with\n"
            )
        };
        let (read, write) = adds("main.1", "15@without", (0, 1));
        let (other_read, other_write) = adds("main.2", "10@with", (0, 1));
        let between = locked("main.2", &(other_read + &other_write));
        let begin = "main fork main.1 @17 main\nmain fork main.2 @18 main\n".to_owned();
        let end = "main join main.1 @19 main\nmain join main.2 @19 main\nmain R boxes[1].used =1 @20 main\nmain fails @20 main assertion `boxes[1].used == 2` failed\n";
        let failed = begin + &read + &between + &write + end;
        let offered = offered_of(&[("failed-1", &failed)], TEXT);
        let mut fixes = offered.fixes.iter();
        let fix = fixes
            .find(|fix| fix.title == "hold `boxes[i].lock` on line 15")
            .unwrap_or_else(|| panic!("{offered:?}"));
        let expected = TEXT.replace(
            "    add(&boxes[i]);\n",
            "    pthread_mutex_lock(&boxes[i].lock);\n    add(&boxes[i]);\n    pthread_mutex_unlock(&boxes[i].lock);\n",
        );
        assert_eq!(apply(TEXT, "test.c", &fix.edits), Some(expected));
    }
}
