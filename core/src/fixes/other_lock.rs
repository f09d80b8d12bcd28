//! Takes the lock that guards the data where one function takes another, which nothing else takes.

use super::{
    Files, FixInput,
    atomic::{self, Changes},
    model::{Fix, FixKind, GuardedLines},
    mutexes, places,
    seen::{self, At, RunEvidence, SeenAccess},
    text::{
        EditRefusal,
        change::Change,
        declared_type,
        locks::{self, Mutex, last_name},
        source::{ParsedSource, children, descendants, lines},
    },
};
use crate::facts::{self, basename, family};
use std::collections::{BTreeMap, BTreeSet};

/// Line of a file.
type FileLine = (String, u32);

/// A line that acquires another lock than the one that is held at the same data elsewhere.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct OtherLockLine {
    at: FileLine,
    /// The function, as the runs name it.
    function: String,
    /// Its line with the access, or with the call that leads there.
    uses: u32,
    /// Family of the lock that it acquires.
    taken: String,
    /// Family of the lock that guards the data.
    usual: String,
}

/// Fixes that acquire the lock of the data instead of another one: where one function alone takes that one, so that
/// nothing else can be guarded by it.
pub(super) fn instead(case: &FixInput<'_>, seen: &RunEvidence) -> Vec<Result<Fix, EditRefusal>> {
    let all = others(case.files, seen).into_iter();
    let refused = |other: &OtherLockLine, why: String| {
        let (taken, usual) = (facts::in_block(&other.taken), facts::in_block(&other.usual));
        format!("taking `{usual}` instead of `{taken}`: {why}")
    };
    all.map(|other| exchanged(case.files, seen, &other).map_err(|why| refused(&other, why)))
        .collect()
}

/// Fixes of that kind for a signal that was lost: the data of the condition may be changed under another lock.
pub(super) fn of_condition(case: &FixInput<'_>) -> Vec<Result<Fix, EditRefusal>> {
    let data = places::families(case.explanation);
    instead(case, &seen::look(case.runs, &data, case.budget))
}

/// Forgets the locks that others should take the place of: they guard nothing.
pub(super) fn forget(files: &Files<'_>, seen: &mut RunEvidence) {
    let all = others(files, seen).into_iter();
    let wrong: BTreeSet<String> = all.map(|other| other.taken).collect();
    if wrong.is_empty() {
        return;
    }
    for (mut access, times) in std::mem::take(&mut seen.accesses) {
        access.held.retain(|lock| !wrong.contains(&family(lock)));
        *seen.accesses.entry(access).or_default() += times;
    }
}

/// The lines that acquire another lock. Linear in the accesses times the lines that acquire one of their locks.
fn others(files: &Files<'_>, seen: &RunEvidence) -> BTreeSet<OtherLockLine> {
    let mut taken: BTreeMap<String, BTreeSet<&FileLine>> = BTreeMap::new();
    for (line, names) in &seen.taken {
        for name in names {
            taken.entry(family(name)).or_default().insert(line);
        }
    }
    let count = |lock: &str| taken.get(lock).map_or(0, BTreeSet::len);
    let guards = guards(seen);
    let mut found = BTreeSet::new();
    for access in seen.accesses.keys() {
        let held: BTreeSet<String> = access.held.iter().map(|lock| family(lock)).collect();
        let all = guards.get(&family(&access.location)).into_iter().flatten();
        let usual = all.max_by_key(|lock| count(lock));
        let Some(usual) = usual.filter(|lock| !held.contains(*lock)) else {
            continue;
        };
        for lock in held {
            let own = taken.get(&lock).filter(|own| own.len() < count(usual));
            let Some((line, user)) = own.and_then(|own| only_place(files, own, access)) else {
                continue;
            };
            found.insert(OtherLockLine {
                at: line.clone(),
                function: user.function.clone(),
                uses: user.line,
                taken: lock,
                usual: usual.clone(),
            });
        }
    }
    found
}

/// The families of the locks that are held at accesses to each family of data.
fn guards(seen: &RunEvidence) -> BTreeMap<String, BTreeSet<String>> {
    let mut guards: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for access in seen.accesses.keys() {
        let own = access.held.iter();
        let own = own.filter(|lock| mutexes::guards(lock, &access.location));
        let known = guards.entry(family(&access.location)).or_default();
        known.extend(own.map(|lock| family(lock)));
    }
    guards
}

/// The line that acquires a lock in the function of an access, or of a call that leads there, with that access or call;
/// none when another function acquires it as well.
fn only_place<'l, 'a>(
    files: &Files<'_>,
    own: &BTreeSet<&'l FileLine>,
    access: &'a SeenAccess,
) -> Option<(&'l FileLine, &'a At)> {
    let mut lines = own.iter();
    let (line, user) = lines.find_map(|line| Some((*line, user_at(files, line, access)?)))?;
    let is_alone = own.iter().all(|it| is_one_function(files, it, line));
    is_alone.then_some((line, user))
}

/// The access, or the call that leads to it, in the function that acquires a lock on this line, after that.
fn user_at<'a>(files: &Files<'_>, line: &FileLine, access: &'a SeenAccess) -> Option<&'a At> {
    let mut frames = access.frames.iter();
    let is_it =
        |at: &&At| line.1 <= at.line && is_one_function(files, line, &(at.file.clone(), at.line));
    frames.find(is_it)
}

fn is_one_function(files: &Files<'_>, one: &FileLine, other: &FileLine) -> bool {
    let Some(source) = files.get(&one.0).ok().filter(|_| one.0 == other.0) else {
        return false;
    };
    let function = |line| source.function(line).map(|node| node.byte_range());
    function(one.1).is_some() && function(one.1) == function(other.1)
}

fn exchanged(
    files: &Files<'_>,
    seen: &RunEvidence,
    other: &OtherLockLine,
) -> Result<Fix, EditRefusal> {
    let (file, line) = &other.at;
    let source = files.get(file)?;
    let taken = mutexes::taken_on(source, *line).ok_or_else(|| {
        format!(
            "how line {line} of {} acquires it is not understood",
            basename(file)
        )
    })?;
    let usual = mutexes::in_function(source, file, other.uses, &other.usual, seen)?;
    if usual.is_declared_within(source, *line, other.uses) {
        let name = usual.name();
        return Err(format!("`{name}` is not known yet on line {line}"));
    }
    let (changes, last) = replaced(source, *line, (&taken, &usual))?;
    let edits = files.edits(&Changes::from([(file.clone(), changes)]))?;
    let title = format!(
        "take `{}` instead of `{}` on line {line}",
        usual.name(),
        taken.name()
    );
    let cost = format!("line {line} waits for those who hold `{}`", usual.name());
    Ok(Fix {
        exclusive: vec![GuardedLines {
            file: file.clone(),
            first: *line,
            last,
            function: other.function.clone(),
        }],
        lock: Some(other.usual.clone()),
        assumes: atomic::assumed(seen).into_iter().collect(),
        ..Fix::edit(FixKind::OtherLock, title, edits, cost)
    })
}

/// Names one lock instead of the other in the function at a line; with the last line on which it is held.
fn replaced(
    source: &ParsedSource,
    line: u32,
    (taken, usual): (&Mutex, &Mutex),
) -> Result<(Vec<Change>, u32), EditRefusal> {
    let unlike = || {
        format!(
            "`{}` and `{}` are not locked alike",
            taken.name(),
            usual.name()
        )
    };
    let kind = |mutex: &Mutex| declared_type(source, last_name(mutex.name()));
    let is_named = |mutex: &Mutex| mutex.has_address() && mutex.name() == mutex.object;
    let is_alike = taken.style == usual.style && is_named(taken) && is_named(usual);
    let unequal = kind(taken)
        .zip(kind(usual))
        .is_some_and(|(one, other)| one != other);
    if !is_alike || unequal {
        return Err(unlike());
    }
    let function = source.function(line).ok_or_else(unlike)?;
    let named = descendants(function).into_iter();
    let named = named.filter(|node| locks::same(source.str(*node), taken.name()));
    let mut last = line;
    let mut changes = BTreeSet::new();
    for node in named {
        last = last.max(*lines(node).end());
        changes.insert(Change {
            start: node.start_byte(),
            end: node.end_byte(),
            text: usual.name().to_owned(),
        });
    }
    let mut blocks = descendants(function).into_iter().filter(|node| {
        let statements = children(*node).into_iter();
        let mut guards = statements.filter(|it| locks::guard(source, *it).is_some());
        guards.any(|it| lines(it).contains(&line))
    });
    if let Some(block) = blocks.next() {
        last = last.max(*lines(block).end());
    }
    Ok((changes.into_iter().collect(), last))
}

#[cfg(test)]
mod tests {
    use crate::fixes::{FixKind, apply, tests::offered_of};

    const TEXT: &str = "static pthread_mutex_t lock, other;\nstatic int used;\nvoid add(void)\n{\n    pthread_mutex_lock(&lock);\n    used++;\n    pthread_mutex_unlock(&lock);\n}\nvoid take(void)\n{\n    pthread_mutex_lock(&other);\n    used--;\n    if (used < 0)\n        abort();\n    pthread_mutex_unlock(&other);\n}\nvoid clear(void)\n{\n    pthread_mutex_lock(&lock);\n    used = 0;\n    pthread_mutex_unlock(&lock);\n}\n";

    /// A run in which `add` comes between the two halves of `take`.
    fn failed(more: &str) -> String {
        let begin = "main fork main.1 @30 main\nmain fork main.2 @31 main\n";
        let clears = "main.2 lock lock @19 clear\nmain.2 W used =0 @20 clear\nmain.2 unlock lock @21 clear\n";
        let reads = "main.1 lock other @11 take\nmain.1 R used =0 @12 take\n";
        let adds = "main.2 lock lock @5 add\nmain.2 R used =0 @6 add\nmain.2 W used =1 @6 add\nmain.2 unlock lock @7 add\n";
        let writes = "main.1 W used =-1 @12 take\nmain.1 unlock other @15 take\n";
        let end = "main join main.1 @32 main\nmain join main.2 @32 main\nmain R used =-1 @33 main\nmain fails @33 main assertion `used == 0` failed\n";
        format!("{begin}{more}{clears}{reads}{adds}{writes}{end}")
    }

    #[test]
    fn the_lock_of_the_data_takes_the_place_of_another_one() {
        let offered = offered_of(&[("failed-1", &failed(""))], TEXT);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.kind, FixKind::OtherLock, "{offered:?}");
        assert_eq!(fix.title, "take `lock` instead of `other` on line 11");
        let expected = TEXT.replace("(&other)", "(&lock)");
        assert_eq!(apply(TEXT, "test.c", &fix.edits), Some(expected));
    }

    #[test]
    fn a_lock_that_other_functions_take_as_well_stays() {
        let elsewhere =
            "main.1 lock other @40 sum\nmain.1 W total =0 @41 sum\nmain.1 unlock other @42 sum\n";
        let offered = offered_of(&[("failed-1", &failed(elsewhere))], TEXT);
        let is_it = |kind| kind == FixKind::OtherLock;
        assert!(
            !offered.fixes.iter().any(|fix| is_it(fix.kind)),
            "{offered:?}"
        );
    }
}
