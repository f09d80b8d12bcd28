//! Makes lines atomic: with the lock that guards the data already, or with a new one.

use super::{
    Files,
    model::{Fix, FixKind, GuardedLines},
    mutexes,
    places::{FunctionLines, WantedLines, by_function},
    sections::{EditRegion, RegionStatement},
    seen::{At, RunEvidence, SeenAccess},
    text::{
        EditRefusal,
        change::Change,
        declare::{MutexUser, declare},
        hold::{self, AtomicLines, HoldResult, hold},
        locks::{LockStyle, Mutex, last_name},
        member::declare_member,
        source::ParsedSource,
    },
};
use crate::facts::{self, basename, family};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::Location;

/// Changes by file.
pub(super) type Changes = BTreeMap<String, Vec<Change>>;

fn shown(lock: &str) -> String {
    facts::in_block(lock)
}

/// Puts the wanted lines, and all other accesses that lack it, into critical sections of an existing lock.
///
/// # Errors
/// The reason why that cannot be right.
pub(super) fn with_lock(
    wanted: &WantedLines,
    seen: &RunEvidence,
    files: &Files<'_>,
    lock: &str,
) -> Result<Fix, EditRefusal> {
    let places = all_places(wanted, seen, &BTreeSet::new(), &|access| {
        lacks(access, lock)
    });
    widened(places, seen, files, lock)
}

/// Puts the wanted lines alone into one critical section of an existing lock, where all other accesses that lack it are
/// atomic, so that they race with nothing; `None` where others are not, or there are none.
pub(super) fn with_lock_alone(
    wanted: &WantedLines,
    seen: &RunEvidence,
    files: &Files<'_>,
    lock: &str,
) -> Option<Result<Fix, EditRefusal>> {
    let others = meeting(wanted, seen).filter(|access| wanted.covering(access).is_none());
    let mut others = others.filter(|access| lacks(access, lock)).peekable();
    let are_atomic = others.peek().is_some() && others.all(|access| access.is_atomic);
    are_atomic.then(|| widened(wanted.places.clone(), seen, files, lock))
}

/// Returns whether an access is made without a lock of this family that guards what it accesses.
fn lacks(access: &SeenAccess, lock: &str) -> bool {
    let family = family(lock);
    let own =
        |held: &String| facts::family(held) == family && mutexes::guards(held, &access.location);
    !access.held.iter().any(own)
}

/// Puts lines into critical sections of an existing lock.
///
/// # Errors
/// The reason why that cannot be right.
pub(super) fn widened(
    places: Vec<FunctionLines>,
    seen: &RunEvidence,
    files: &Files<'_>,
    lock: &str,
) -> Result<Fix, EditRefusal> {
    let family = family(lock);
    let name = |place: &FunctionLines, line: u32| {
        let source = files.get(&place.file)?;
        mutexes::in_function(source, &place.file, line, &family, seen)
    };
    let in_words = |why| format!("keeping `{}`: {why}", shown(lock));
    let mut fix = guarded(places, files, Some(lock), &name).map_err(in_words)?;
    if fix.edits.is_empty() {
        return Err(in_words("it is held over these lines already".to_owned()));
    }
    fix.kind = FixKind::WidenSection;
    fix.lock = Some(lock.to_owned());
    fix.assumes.extend(assumed(seen));
    Ok(fix)
}

/// Puts the wanted lines, and all other accesses, into critical sections of a mutex that is declared for them; or the
/// outermost calls that lead there, where functions that do so call each other. Where no access races with another one, the
/// wanted lines alone come first. Each comes with the reason why it cannot be right, if it cannot.
pub(super) fn with_new(
    wanted: &WantedLines,
    seen: &RunEvidence,
    files: &Files<'_>,
) -> Vec<Result<Fix, EditRefusal>> {
    let home: BTreeSet<&str> = wanted.places.iter().map(|at| at.file.as_str()).collect();
    let mut places = Vec::new();
    if races_nowhere(meeting(wanted, seen)) {
        places.push(wanted.places.clone());
    }
    let steps = places.first().map(|_| whole_steps(wanted, seen));
    let wider = [
        steps.unwrap_or_default(),
        all_places(wanted, seen, &home, &|_| true),
        outermost_places(wanted, seen, &home),
    ];
    for wider in wider {
        if !wider.is_empty() && !places.contains(&wider) {
            places.push(wider);
        }
    }
    let fixes = places
        .into_iter()
        .flat_map(|places| guarded_anew(places, &wanted.data, seen, files));
    let said = |why| format!("a new mutex: {why}");
    fixes.map(|fix| fix.map_err(said)).collect()
}

/// The wanted lines, with all that their functions do with the data: what comes in between here is interrupted itself the other
/// way round, where both do the same.
fn whole_steps(wanted: &WantedLines, seen: &RunEvidence) -> Vec<FunctionLines> {
    let whole = |place: &FunctionLines| {
        let frames = seen.accesses.keys().flat_map(|access| &access.frames);
        let is_own = |at: &&At| (&at.file, &at.function) == (&place.file, &place.function);
        let own: BTreeSet<u32> = frames.filter(is_own).map(|at| at.line).collect();
        FunctionLines {
            first: own
                .first()
                .map_or(place.first, |line| place.first.min(*line)),
            last: own.last().map_or(place.last, |line| place.last.max(*line)),
            ..place.clone()
        }
    };
    wanted.places.iter().map(whole).collect()
}

/// Returns whether no access races with another one: all are atomic, or made under one lock.
fn races_nowhere<'s>(accesses: impl Iterator<Item = &'s SeenAccess>) -> bool {
    let plain = accesses.filter(|access| !access.is_atomic);
    let common = plain
        .map(|access| access.guards.clone())
        .reduce(|common, guards| &common & &guards);
    common.is_none_or(|common| !common.is_empty())
}

/// The places under a mutex of each object, where they are methods of one class, and under one for all.
fn guarded_anew(
    mut places: Vec<FunctionLines>,
    data: &str,
    seen: &RunEvidence,
    files: &Files<'_>,
) -> Vec<Result<Fix, EditRefusal>> {
    for place in &mut places {
        let lines = AtomicLines {
            first: place.first,
            last: place.last,
        };
        let Ok(source) = files.get(&place.file) else {
            continue;
        };
        let grown = hold::around_others(source, &lines);
        (place.first, place.last) = (grown.first, grown.last);
    }
    let member = declared_as_member(&places, files, seen);
    let member = member.map(|declared| with_declared(&places, declared, seen, files));
    let shared =
        declared(&places, files, data).and_then(|it| with_declared(&places, it, seen, files));
    member
        .into_iter()
        .filter(Result::is_ok)
        .chain([shared])
        .collect()
}

fn with_declared(
    places: &[FunctionLines],
    (mutex, changes): (Mutex, Changes),
    seen: &RunEvidence,
    files: &Files<'_>,
) -> Result<Fix, EditRefusal> {
    let mut fix = guarded(places.to_vec(), files, None, &|_, _| Ok(mutex.clone()))?;
    fix.kind = FixKind::NewMutex;
    fix.title = format!(
        "guard {} with a new mutex `{}`",
        said(&fix.exclusive),
        mutex.object
    );
    fix.edits.extend(files.edits(&changes)?);
    fix.edits
        .sort_by(|a, b| (&a.file, a.start, a.end).cmp(&(&b.file, b.start, b.end)));
    fix.assumes.extend(assumed(seen));
    Ok(fix)
}

/// A new mutex of the class whose methods all of these places are, and whose members all of the data, with the changes that
/// declare it.
fn declared_as_member(
    places: &[FunctionLines],
    files: &Files<'_>,
    seen: &RunEvidence,
) -> Option<(Mutex, Changes)> {
    let user = |place: &FunctionLines| {
        let source = files.get(&place.file).ok()?;
        Some(MutexUser {
            source,
            line: place.first,
        })
    };
    let users: Vec<MutexUser<'_>> = places.iter().map(user).collect::<Option<_>>()?;
    let data: BTreeSet<&str> = seen
        .accesses
        .keys()
        .map(|access| match Location::of(&access.location) {
            Location::Heap { path, .. } => path,
            _ => Location::variable(&access.location),
        })
        .collect();
    let data: Vec<&str> = data.into_iter().collect();
    let (names, sources): (Vec<&str>, Vec<&ParsedSource>) = files
        .parsed
        .iter()
        .map(|(name, source)| (*name, source))
        .unzip();
    let is_known = |name: &str| sources.iter().any(|file| file.text().contains(name));
    let member = declare_member(&users, &sources, &data, &is_known)?;
    let home = (*names.get(member.home)?).to_owned();
    Some((member.mutex, Changes::from([(home, member.changes)])))
}

/// A new mutex that is known at all of these places, with the changes that declare it.
fn declared(
    places: &[FunctionLines],
    files: &Files<'_>,
    data: &str,
) -> Result<(Mutex, Changes), EditRefusal> {
    let mut first: BTreeMap<&String, u32> = BTreeMap::new();
    for place in places {
        let line = first.entry(&place.file).or_insert(place.first);
        *line = place.first.min(*line);
    }
    let user = |(file, line): (&&String, &u32)| {
        let source = files.get(file)?;
        Ok(MutexUser {
            source,
            line: *line,
        })
    };
    let users: Vec<MutexUser<'_>> = first.iter().map(user).collect::<Result<_, EditRefusal>>()?;
    let is_known = |name: &str| files.parsed.values().any(|file| file.text().contains(name));
    let (mutex, changes) = declare(&users, data, &is_known)?;
    let changes = first.into_keys().cloned().zip(changes);
    let changes = changes.filter(|(_, changes)| !changes.is_empty());
    Ok((mutex, changes.collect()))
}

/// Assumption that accesses which no run has shown need no guard.
pub(super) fn assumed(seen: &RunEvidence) -> Option<String> {
    let (looked, all) = seen.runs;
    let runs = if looked == all {
        format!("the {all} runs")
    } else {
        format!("{looked} of the {all} runs")
    };
    Some(format!("all accesses that matter are in {runs}"))
}

/// The wanted lines, and those of further accesses that lack the lock and lie outside of them: the access itself, or the
/// call in one of the `home` files that leads to it.
fn all_places(
    wanted: &WantedLines,
    seen: &RunEvidence,
    home: &BTreeSet<&str>,
    lacks: &dyn Fn(&SeenAccess) -> bool,
) -> Vec<FunctionLines> {
    let mut places = wanted.places.clone();
    let inner: BTreeSet<&str> = seen
        .accesses
        .keys()
        .filter_map(|access| wanted.covering(access).map(|at| (access, at)))
        .flat_map(|(access, at)| {
            access
                .frames
                .iter()
                .take(at)
                .map(|frame| frame.function.as_str())
        })
        .collect();
    for access in meeting(wanted, seen) {
        if wanted.covering(access).is_some() || !lacks(access) {
            continue;
        }
        let mut frames = access.frames.iter();
        let outside = frames
            .by_ref()
            .find(|frame| !inner.contains(frame.function.as_str()));
        let at_home = |frame: &&At| home.contains(frame.file.as_str());
        let lifted = outside.into_iter().chain(frames).find(at_home);
        places.extend(lifted.or(outside).map(FunctionLines::of));
    }
    without_inner(by_function(places), seen)
}

/// Leaves out lines that are only come to by calls on others of them: who holds the lock there would take it once more.
fn without_inner(mut places: Vec<FunctionLines>, seen: &RunEvidence) -> Vec<FunctionLines> {
    let is_inner = |place: &FunctionLines, others: &[FunctionLines]| {
        let came = seen.accesses.keys().filter_map(|access| {
            let at = access.frames.iter().position(|frame| place.holds(frame))?;
            access.frames.get(at + 1..)
        });
        let mut callers = came.peekable();
        let guarded = |outer: &[At]| {
            outer
                .iter()
                .any(|frame| others.iter().any(|one| one.holds(frame)))
        };
        callers.peek().is_some() && callers.all(guarded)
    };
    let mut at = 0;
    while at < places.len() {
        let place = places.remove(at);
        if !is_inner(&place, &places) {
            places.insert(at, place);
            at += 1;
        }
    }
    places
}

/// The accesses that the wanted lines must not meet: all where these write, else those that write.
fn meeting<'s>(
    wanted: &WantedLines,
    seen: &'s RunEvidence,
) -> impl Iterator<Item = &'s SeenAccess> {
    let mut all = seen.accesses.keys();
    let writes = all.any(|access| access.writes && wanted.covering(access).is_some());
    let matters = move |access: &&SeenAccess| access.writes || writes;
    seen.accesses.keys().filter(matters)
}

/// The outermost calls in the `home` files that lead to the wanted lines and to further accesses.
fn outermost_places(
    wanted: &WantedLines,
    seen: &RunEvidence,
    home: &BTreeSet<&str>,
) -> Vec<FunctionLines> {
    let outermost = meeting(wanted, seen).filter_map(|access| {
        let at_home = |frame: &&At| home.contains(frame.file.as_str());
        let outer = access.frames.iter().rfind(at_home);
        outer.or(access.frames.first()).map(FunctionLines::of)
    });
    by_function(outermost.collect())
}

/// Holds the mutex of each place there.
pub(super) fn guarded(
    places: Vec<FunctionLines>,
    files: &Files<'_>,
    lock: Option<&str>,
    name: &dyn Fn(&FunctionLines, u32) -> Result<Mutex, EditRefusal>,
) -> Result<Fix, EditRefusal> {
    let (mut changes, mut titles) = (Changes::new(), Vec::new());
    let (mut exclusive, mut regions) = (Vec::new(), Vec::new());
    for place in &places {
        let source = files.get(&place.file)?;
        let mutex =
            name(place, place.first).or_else(|why| name(place, place.last).map_err(|_| why))?;
        let kept = hold(
            source,
            &mutex,
            &AtomicLines {
                first: place.first,
                last: place.last,
            },
        )
        .map_err(|why| format!("{why} ({})", facts::without_instance(&place.function)))?;
        if !kept.changes.is_empty() && mutex.is_declared_within(source, kept.first, kept.last) {
            return Err(format!(
                "`{}` is not known yet on line {}, where it would have to be taken",
                mutex.name(),
                kept.first
            ));
        }
        exclusive.push(GuardedLines {
            file: place.file.clone(),
            first: kept.first,
            last: kept.last,
            function: place.function.clone(),
        });
        if !kept.changes.is_empty() {
            regions.extend(
                exclusive
                    .last()
                    .map(|lines| region(files, lines, &mutex, &kept)),
            );
            titles.push(title(&mutex, lock, &kept));
            changes
                .entry(place.file.clone())
                .or_default()
                .extend(kept.changes);
        }
    }
    let many = titles.len() > 1;
    let mut title = titles.first().cloned().unwrap_or_default();
    if many {
        title = format!(
            "{title}, and in {} more {}",
            titles.len() - 1,
            if titles.len() == 2 { "place" } else { "places" }
        );
    }
    let cost = format!("threads take turns at {}", said(&exclusive));
    Ok(Fix {
        exclusive,
        regions,
        ..Fix::edit(FixKind::WidenSection, title, files.edits(&changes)?, cost)
    })
}

/// Description of an edit's critical section, by which runs are checked.
pub(super) fn region(
    files: &Files<'_>,
    lines: &GuardedLines,
    mutex: &Mutex,
    kept: &HoldResult,
) -> EditRegion {
    let part = |part: &hold::HeldStatement| RegionStatement {
        first: part.first,
        last: part.last,
        is_loop: part.is_loop || part.calls.iter().any(|name| files.goes_round(name)),
    };
    EditRegion {
        lines: lines.clone(),
        opens: kept.opens,
        for_writing: kept.for_writing,
        is_scoped: mutex.style == LockStyle::Guard,
        ends: kept.ends,
        parts: kept.parts.iter().map(part).collect(),
    }
}

/// Title of the fix. `lock` is its name in the runs: a function of the program's own is not always given the
/// mutex itself.
fn title(mutex: &Mutex, lock: Option<&str>, kept: &HoldResult) -> String {
    let is_named = |lock: &&str| last_name(mutex.name()) != last_name(lock);
    let own = lock.filter(|_| matches!(mutex.style, LockStyle::Wrapper(_)));
    let told = own
        .filter(is_named)
        .map(|lock| match Location::of(lock).is_on_heap() {
            // The block has no name, and the function is given the object in it.
            true => format!("{}` of `{}", last_name(lock), mutex.name()),
            false => shown(lock),
        });
    let object = told.as_deref().unwrap_or_else(|| mutex.name());
    match kept.first == kept.last {
        true => format!("hold `{object}` on line {}", kept.first),
        false if kept.joined == 0 => format!(
            "hold `{object}` from line {} to line {}",
            kept.first, kept.last
        ),
        false => format!(
            "keep `{object}`{} from line {} to line {}",
            if kept.for_writing { " for writing" } else { "" },
            kept.first,
            kept.last
        ),
    }
}

/// Places in words: `lines 23 to 25 and line 40`, with the files where there are several.
fn said(places: &[GuardedLines]) -> String {
    let several = places.windows(2).any(|two| match two {
        [one, other] => one.file != other.file,
        _ => false,
    });
    let one = |place: &GuardedLines| {
        let lines = match place.first == place.last {
            true => format!("line {}", place.first),
            false => format!("lines {} to {}", place.first, place.last),
        };
        match several {
            true => format!("{lines} of {}", basename(&place.file)),
            false => lines,
        }
    };
    let all: Vec<String> = places.iter().map(one).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(file: &str, function: &str, line: u32) -> At {
        At {
            file: file.to_owned(),
            function: function.to_owned(),
            line,
        }
    }

    /// The line at which a write of `table.h` is guarded that these calls led to, when lines 10 to 12 of `store.cpp` become atomic.
    fn guarded_at(calls: &[At]) -> (String, u32) {
        let wanted = WantedLines {
            places: vec![FunctionLines {
                file: "store.cpp".to_owned(),
                function: "flush".to_owned(),
                first: 10,
                last: 12,
            }],
            lock: None,
            data: "rows".to_owned(),
        };
        let access = |frames: Vec<At>| SeenAccess {
            frames,
            writes: true,
            location: "rows".to_owned(),
            held: Vec::new(),
            guards: BTreeSet::new(),
            is_atomic: false,
        };
        let own = access(vec![
            at("table.h", "take", 30),
            at("store.cpp", "flush", 10),
        ]);
        let other = access([&[at("table.h", "put", 20)], calls].concat());
        let seen = RunEvidence {
            accesses: BTreeMap::from([(own, 1), (other, 1)]),
            ..RunEvidence::default()
        };
        let places = all_places(&wanted, &seen, &BTreeSet::from(["store.cpp"]), &|_| true);
        let place = places.last().unwrap();
        (place.file.clone(), place.first)
    }

    /// Followed by hand it would lock itself out: the section began by a lock for reading.
    #[test]
    fn a_section_that_writes_is_kept_for_writing() {
        let mutex = Mutex {
            object: "t->rw".to_owned(),
            style: LockStyle::ReadWrite,
        };
        let kept = HoldResult {
            first: 23,
            last: 40,
            joined: 2,
            for_writing: true,
            ..HoldResult::default()
        };
        let told = title(&mutex, None, &kept);
        assert_eq!(told, "keep `t->rw` for writing from line 23 to line 40");
    }

    #[test]
    fn lines_that_are_come_to_within_others_are_not_guarded_themselves() {
        let lines = |function: &str, first: u32, last: u32| FunctionLines {
            file: "addr.c".to_owned(),
            function: function.to_owned(),
            first,
            last,
        };
        let access = |frames: Vec<At>| SeenAccess {
            frames,
            writes: true,
            location: "text".to_owned(),
            held: Vec::new(),
            guards: BTreeSet::new(),
            is_atomic: false,
        };
        let (filled, shown) = (at("addr.c", "fill", 23), at("addr.c", "show", 40));
        let both = [lines("fill", 22, 27), lines("show", 40, 40)];
        let left = |calls: &[&[At]]| {
            let all = calls.iter().map(|frames| (access(frames.to_vec()), 1));
            let seen = RunEvidence {
                accesses: all.collect(),
                ..RunEvidence::default()
            };
            without_inner(both.to_vec(), &seen)
        };
        let within: &[At] = &[filled.clone(), shown.clone()];
        assert_eq!(left(&[within, &[shown]]), [lines("show", 40, 40)]);
        // It is called from elsewhere, too.
        let elsewhere: &[At] = &[filled, at("addr.c", "dump", 50)];
        assert_eq!(left(&[within, elsewhere]), both);
    }

    #[test]
    fn accesses_under_two_locks_race() {
        let access = |guards: &[&str], is_atomic: bool| SeenAccess {
            frames: Vec::new(),
            writes: true,
            location: "rows".to_owned(),
            held: Vec::new(),
            guards: guards.iter().map(|&lock| lock.to_owned()).collect(),
            is_atomic,
        };
        let races = |all: &[SeenAccess]| !races_nowhere(all.iter());
        let (one, both) = (access(&["m"], false), access(&["m", "n"], false));
        assert!(!races(&[one.clone(), both, access(&[], true)]));
        assert!(races(&[one.clone(), access(&["n"], false)]));
        assert!(races(&[one, access(&[], false)]));
    }

    #[test]
    fn atomic_accesses_elsewhere_may_stay_without_the_lock() {
        let access = |line: u32, is_atomic: bool| SeenAccess {
            frames: vec![at("stream.cpp", "close", line)],
            writes: line == 12,
            location: "s.open".to_owned(),
            held: Vec::new(),
            guards: BTreeSet::new(),
            is_atomic,
        };
        let wanted = WantedLines {
            places: vec![FunctionLines {
                file: "stream.cpp".to_owned(),
                function: "close".to_owned(),
                first: 10,
                last: 12,
            }],
            lock: None,
            data: "open".to_owned(),
        };
        let no_sources = BTreeMap::new();
        let files = Files::new(&no_sources, &[]);
        let is_proposed = |others: &[SeenAccess]| {
            let own = [access(10, true), access(12, true)];
            let all = own.iter().chain(others).cloned();
            let seen = RunEvidence {
                accesses: all.map(|access| (access, 1)).collect(),
                ..RunEvidence::default()
            };
            with_lock_alone(&wanted, &seen, &files, "s.lock").is_some()
        };
        assert!(is_proposed(&[access(30, true)]));
        assert!(!is_proposed(&[access(30, true), access(40, false)]));
        // With the lock over all places that lack it nothing else is left.
        assert!(!is_proposed(&[]));
    }

    #[test]
    fn a_call_in_the_file_of_the_atomic_lines_is_guarded_instead_of_the_access() {
        let (client, main) = (at("store.cpp", "put", 6), at("main.cpp", "main", 50));
        assert_eq!(
            guarded_at(&[client, main.clone()]),
            ("store.cpp".to_owned(), 6)
        );
        assert_eq!(guarded_at(&[main]), ("table.h".to_owned(), 20));
    }
}
