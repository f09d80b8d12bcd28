//! Acquires a lock for writing where a section that holds it for reading only writes: others that read are let in beside
//! it.

use super::{
    Files, FixInput,
    atomic::Changes,
    model::{Fix, FixKind, GuardedLines},
    mutexes::{lock_name, taken_on},
    places,
    sections::{EditRegion, RegionStatement},
    seen::{self, At, frames},
    text::{
        EditRefusal,
        change::Change,
        locks::{
            EXCLUSIVE, LockOperation, SHARED, callee_name, calls, exclusive_call, last_name,
            operation,
        },
        source::{ParsedSource, children, descendants, lines},
    },
};
use crate::{
    facts::{family, in_block},
    orders::{Locks, Section},
};
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;
use unsnarl_trace::{EventId, Run};

/// A section for reading only in which blamed data is written.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct WritingReader {
    /// The places that lead to its acquisition, innermost first.
    acquired: Vec<At>,
    /// Those that lead to its release.
    released: Vec<At>,
    /// Family of the lock.
    lock: String,
}

/// Functions of the program that take a lock for writing, where they do, by its family and the function that gives it back.
type Writers = BTreeMap<(String, String), At>;

/// Fixes of that kind for the blamed data.
pub(super) fn exclusively(case: &FixInput<'_>) -> Vec<Result<Fix, EditRefusal>> {
    let data = places::families(case.explanation);
    let (mut found, mut writers) = (BTreeSet::new(), Writers::new());
    for run in seen::within_bounds(case.runs) {
        let locks = Locks::new(run, &mut Vec::new());
        writing_readers(run, &locks, &data, &mut found);
        takes_for_writing(run, &locks, &mut writers);
    }
    let refused =
        |lock: &str, why: String| format!("taking `{}` for writing: {why}", in_block(lock));
    let fixes = found.into_iter();
    fixes
        .map(|one| {
            let fix = by_wrapper(case.files, &one, &writers);
            let fix = fix.unwrap_or_else(|| for_writing(case.files, &one));
            fix.map_err(|why| refused(&one.lock, why))
        })
        .collect()
}

/// The sections of a run. Linear in the run.
fn writing_readers(
    run: &Run,
    locks: &Locks,
    data: &BTreeSet<String>,
    found: &mut BTreeSet<WritingReader>,
) {
    let shared: Vec<&Section> = locks
        .sections()
        .iter()
        .filter(|section| section.shared)
        .collect();
    if shared.is_empty() {
        return;
    }
    let mut known: BTreeSet<EventId> = BTreeSet::new();
    for (row, event) in seen::shared(run, data) {
        if !event.kind.writes() || event.kind.is_atomic() {
            continue;
        }
        for section in locks.held_at(event.thread, row) {
            if section.shared && known.insert(section.acquired) {
                found.insert(WritingReader {
                    acquired: frames(run, section.acquired),
                    released: section
                        .released
                        .map_or_else(Vec::new, |row| frames(run, row)),
                    lock: family(&lock_name(run, section.acquired)),
                });
            }
        }
    }
}

/// Notes the functions that take locks for writing and leave them to another one to give back. Linear in the run.
fn takes_for_writing(run: &Run, locks: &Locks, writers: &mut Writers) {
    let whole = locks.sections().iter().filter(|section| !section.shared);
    for (section, released) in whole.filter_map(|section| Some((section, section.released?))) {
        let ends = [section.acquired, released].map(|row| frames(run, row).into_iter().next());
        let [Some(takes), Some(gives)] = ends else {
            continue;
        };
        if takes.function != gives.function {
            let lock = family(&lock_name(run, section.acquired));
            writers.insert((lock, gives.function), takes);
        }
    }
}

/// Calls the program's own function for writers in place of the one for readers; `None` where the lock is not taken by one, or
/// the runs show none for writers that does nothing else.
fn by_wrapper(
    files: &Files<'_>,
    reader: &WritingReader,
    writers: &Writers,
) -> Option<Result<Fix, EditRefusal>> {
    let ([takes, at, ..], [gives, end, ..]) = (&reader.acquired[..], &reader.released[..]) else {
        return None;
    };
    let is_wrapped =
        takes.function != gives.function && (&at.file, &at.function) == (&end.file, &end.function);
    let key = (reader.lock.clone(), gives.function.clone());
    let writer = writers.get(&key).filter(|_| is_wrapped)?;
    let text = files.get(&writer.file).ok()?;
    let body = text.function(writer.line)?.child_by_field_name("body")?;
    let does_more = children(body).len() != 1;
    if does_more {
        return None;
    }
    let source = files.get(&at.file).ok()?;
    let function = source.function(at.line)?;
    let mut on_line = calls(function).filter(|call| *lines(*call).start() == at.line);
    let name = on_line.find_map(|call| {
        callee_name(call).filter(|name| source.str(*name) == last_name(&takes.function))
    })?;
    let changed = ChangedLine {
        changes: vec![Change::of(name, last_name(&writer.function))],
        last: end.line,
        is_scoped: false,
    };
    Some(changed_section(files, reader, at, changed))
}

fn for_writing(files: &Files<'_>, reader: &WritingReader) -> Result<Fix, EditRefusal> {
    let own = reader.acquired.iter();
    let mut own = own.filter_map(|at| Some((at, files.get(&at.file).ok()?)));
    let not_found = || "no line that acquires it for reading is understood".to_owned();
    let (at, changed) = own
        .find_map(|(at, source)| Some((at, changed(source, at.line, &reader.lock)?)))
        .ok_or_else(not_found)?;
    changed_section(files, reader, at, changed)
}

/// The fix of a section that begins at a line where the lock is now taken for writing.
fn changed_section(
    files: &Files<'_>,
    reader: &WritingReader,
    at: &At,
    changed: ChangedLine,
) -> Result<Fix, EditRefusal> {
    let source = files.get(&at.file)?;
    let edits = files.edits(&Changes::from([(at.file.clone(), changed.changes)]))?;
    // A function of the program's own need not be given the lock.
    let taken = taken_on(source, at.line).map(|mutex| mutex.object);
    let taken = taken.filter(|object| !object.is_empty());
    let lock = taken.unwrap_or_else(|| in_block(&reader.lock));
    let lines = GuardedLines {
        file: at.file.clone(),
        first: at.line,
        last: changed.last,
        function: at.function.clone(),
    };
    Ok(Fix {
        exclusive: vec![lines.clone()],
        regions: vec![EditRegion {
            parts: vec![RegionStatement {
                first: lines.first,
                last: lines.last,
                is_loop: true,
            }],
            lines,
            opens: true,
            is_scoped: changed.is_scoped,
            ends: 0,
            for_writing: true,
        }],
        lock: Some(reader.lock.clone()),
        ..Fix::edit(
            FixKind::ForWriting,
            format!("take `{lock}` for writing on line {}", at.line),
            edits,
            format!("others that only read wait at line {}, too", at.line),
        )
    })
}

/// A line that acquires a lock for writing now.
struct ChangedLine {
    changes: Vec<Change>,
    /// The last line on which the lock is held.
    last: u32,
    /// An object holds it until the end of its scope.
    is_scoped: bool,
}

fn changed(source: &ParsedSource, line: u32, lock: &str) -> Option<ChangedLine> {
    let function = source.function(line)?;
    let on_line = descendants(function).into_iter();
    let mut on_line = on_line.filter(|node| *lines(*node).start() == line);
    on_line.find_map(|node| {
        guard(source, node, lock)
            .or_else(|| call(source, function, node))
            .or_else(|| method(source, function, node))
    })
}

/// The guard that a declaration makes, of the other class: `std::shared_lock<std::shared_mutex> lock(m)`, or of a class
/// that has another name in the program, which is left to the compiler to tell.
fn guard(source: &ParsedSource, node: Node<'_>, lock: &str) -> Option<ChangedLine> {
    let class = (node.kind() == "declaration")
        .then(|| node.child_by_field_name("type"))
        .flatten()?;
    let name = source.str(class);
    let is_given = source
        .slice(class.end_byte(), node.end_byte())
        .contains(last_name(lock));
    let text = match name.contains(SHARED) {
        true => name.replace(SHARED, EXCLUSIVE),
        false => format!("std::{EXCLUSIVE}"),
    };
    let scope = node.parent().filter(|_| is_given)?;
    Some(ChangedLine {
        changes: vec![Change::of(class, text)],
        last: *lines(scope).end(),
        is_scoped: true,
    })
}

/// The call of the other function: `pthread_rwlock_wrlock(&m)`.
/// A release for readers only becomes the other one as well.
fn call(source: &ParsedSource, function: Node<'_>, node: Node<'_>) -> Option<ChangedLine> {
    let taken = operation(source, node).filter(|found| found.what == LockOperation::Lock)?;
    let mut changes = vec![exclusive_call(source, node)?];
    let gives = |other: &Node<'_>| {
        let releases = operation(source, *other);
        releases.is_some_and(|found| {
            found.what == LockOperation::Unlock && found.object == taken.object
        })
    };
    let releases = calls(function).filter(gives);
    changes.extend(releases.filter_map(|call| exclusive_call(source, call)));
    Some(ChangedLine {
        changes,
        last: last_of(function, gives),
        is_scoped: false,
    })
}

/// The call of the other members: `m.lock()`, and `m.unlock()` in the same function.
fn method(source: &ParsedSource, function: Node<'_>, node: Node<'_>) -> Option<ChangedLine> {
    let (name, owner) = member(source, node, "lock_shared")?;
    let is_own = |call: &Node<'_>| {
        member(source, *call, "unlock_shared").is_some_and(|(_, other)| other == owner)
    };
    let own = calls(function).filter(is_own);
    let releases = own.filter_map(callee_name);
    let mut changes = vec![Change::of(name, "lock")];
    changes.extend(releases.map(|name| Change::of(name, "unlock")));
    Some(ChangedLine {
        changes,
        last: last_of(function, is_own),
        is_scoped: false,
    })
}

/// The name in a call of this member, and the object.
fn member<'t, 's>(
    source: &'s ParsedSource,
    call: Node<'t>,
    name: &str,
) -> Option<(Node<'t>, &'s str)> {
    let own = callee_name(call).filter(|own| source.str(*own) == name)?;
    let owner = call.child_by_field_name("function")?;
    Some((own, source.str(owner.child_by_field_name("argument")?)))
}

/// The last line of a function with such a node; that of its end without any.
fn last_of(function: Node<'_>, is_it: impl Fn(&Node<'_>) -> bool) -> u32 {
    let own = descendants(function).into_iter().filter(is_it);
    own.map(|node| *lines(node).end())
        .max()
        .unwrap_or(*lines(function).end())
}

#[cfg(test)]
mod tests {
    use crate::fixes::{
        FixKind, apply,
        tests::{offered_for, offered_of},
    };

    /// A run in which another thread comes between the read and the write of line 6, with the lock held for reading.
    const FAILED: &str = "main fork main.1 @30 main\nmain fork main.2 @31 main\n\
        main.1 shared-lock lock @5 extend\nmain.1 R used =0 @6 extend\n\
        main.2 shared-lock lock @5 extend\nmain.2 R used =0 @6 extend\nmain.2 W used =1 @6 extend\nmain.2 shared-unlock lock @7 extend\n\
        main.1 W used =1 @6 extend\nmain.1 shared-unlock lock @7 extend\n\
        main join main.1 @32 main\nmain join main.2 @32 main\nmain R used =1 @33 main\nmain fails @33 main assertion `used == 2` failed\n";

    #[test]
    fn a_section_that_writes_is_made_for_writing() {
        let text = "static pthread_rwlock_t lock;\nstatic int used;\nvoid extend(void)\n{\n    pthread_rwlock_rdlock(&lock);\n    used++;\n    pthread_rwlock_unlock(&lock);\n}\n";
        let offered = offered_of(&[("failed-1", FAILED)], text);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.kind, FixKind::ForWriting, "{offered:?}");
        assert_eq!(fix.title, "take `lock` for writing on line 5");
        let expected = text.replace("rdlock", "wrlock");
        assert_eq!(apply(text, "test.c", &fix.edits), Some(expected));
    }

    /// The debug info of optimized code loses a call that was inlined, while the lock is held.
    #[test]
    fn a_step_outside_of_the_lines_is_within_while_the_lock_is_held() {
        let text = "static pthread_rwlock_t lock;\nstatic int used;\nvoid extend(void)\n{\n    pthread_rwlock_rdlock(&lock);\n    used++;\n    pthread_rwlock_unlock(&lock);\n}\n";
        let first = "main.1 R used =0 @6 extend\n";
        let lost = FAILED.replace(first, &format!("{first}main.1 R other =0 @20 work\n"));
        assert_ne!(lost, FAILED);
        let offered = offered_of(&[("failed-1", &lost)], text);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.kind, FixKind::ForWriting, "{offered:?}");
    }

    #[test]
    fn glib_has_other_functions_for_both_ends() {
        let text = "static GRWLock lock;\nstatic int used;\nvoid extend(void)\n{\n    g_rw_lock_reader_lock(&lock);\n    used++;\n    g_rw_lock_reader_unlock(&lock);\n}\n";
        let offered = offered_of(&[("failed-1", FAILED)], text);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.kind, FixKind::ForWriting, "{offered:?}");
        let expected = text.replace("reader", "writer");
        assert_eq!(apply(text, "test.c", &fix.edits), Some(expected));
    }

    /// All readers take the lock by one function, and writers by another one.
    #[test]
    fn a_section_takes_the_lock_by_the_function_for_writers() {
        let text = "static pthread_rwlock_t lock;\nstatic int used;\nstatic void rd(void) { pthread_rwlock_rdlock(&lock); }\nstatic void wr(void) { pthread_rwlock_wrlock(&lock); }\nstatic void done(void) { pthread_rwlock_unlock(&lock); }\nvoid reset(void)\n{\n    wr();\n    used = 0;\n    done();\n}\nvoid extend(void)\n{\n    rd();\n    used++;\n    done();\n}\n";
        let resets = "main lock lock via=8@reset @4 wr\nmain W used =0 @9 reset\nmain unlock lock via=10@reset @5 done\n";
        let by_functions = FAILED
            .replace("@5 extend", "via=14@extend @3 rd")
            .replace("@6 extend", "@15 extend")
            .replace("@7 extend", "via=16@extend @5 done");
        let failed = format!("{resets}{by_functions}");
        let offered = offered_of(&[("failed-1", &failed)], text);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.kind, FixKind::ForWriting, "{offered:?}");
        assert_eq!(fix.title, "take `lock` for writing on line 14");
        let expected = text.replace("    rd();", "    wr();");
        assert_eq!(apply(text, "test.c", &fix.edits), Some(expected));
        // One that does more than that is no way to take it.
        let more = text.replace("wrlock(&lock); }", "wrlock(&lock); used = 0; }");
        let offered = offered_of(&[("failed-1", &failed)], &more);
        let edited = offered
            .fixes
            .iter()
            .map(|fix| apply(&more, "test.c", &fix.edits));
        let calls = more.replace("    rd();", "    wr();");
        assert!(!edited.flatten().any(|text| text == calls), "{offered:?}");
    }

    #[test]
    fn guards_are_of_the_other_class() {
        let check = |line: &str, end: &str, expected: &str, other_end: &str| {
            let text = |line: &str, end: &str| {
                format!(
                    "std::shared_mutex lock;\nint used;\nvoid extend()\n{{\n    {line}\n    used++;\n    {end}\n}}\n"
                )
            };
            let own = text(line, end);
            let offered = offered_for(
                &[("failed-1", &FAILED.replace('@', "@test.cc:"))],
                &[("test.cc", &own)],
            );
            let fix = offered.fixes.first().unwrap();
            assert_eq!(
                apply(&own, "test.cc", &fix.edits),
                Some(text(expected, other_end)),
                "{offered:?}"
            );
        };
        check(
            "std::shared_lock<std::shared_mutex> held(lock);",
            "",
            "std::unique_lock<std::shared_mutex> held(lock);",
            "",
        );
        check(
            "Reading held(lock);",
            "",
            "std::unique_lock held(lock);",
            "",
        );
        check(
            "lock.lock_shared();",
            "lock.unlock_shared();",
            "lock.lock();",
            "lock.unlock();",
        );
    }
}
