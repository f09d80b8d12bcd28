//! Fixes that order two steps as intended: join a thread earlier, or create it later.

use super::{
    FixInput,
    atomic::Changes,
    begins_later::begins_later,
    in_file,
    model::{Fix, FixKind, Ordered},
    right,
    seen::{self, At, frames},
    text::{
        EditRefusal,
        move_statement::{self, Joined},
        unjoined,
    },
};
use crate::{
    explanation::{BugKind, Role, SiteMark},
    facts::basename,
    orders::{Locks, other_thread},
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{Event, EventId, EventKind, LocationId, Run, SiteRow, ThreadId, ThreadRow};

/// Fixes for a step that came too early or too late; empty when the explanation is of another kind.
pub(super) fn ordered(case: &FixInput<'_>) -> Vec<Result<Fix, EditRefusal>> {
    let explanation = case.explanation;
    if !matches!(
        explanation.kind,
        BugKind::OrderViolation | BugKind::UseAfterFree
    ) {
        return Vec::new();
    }
    let Some((early, late)) = marks(case) else {
        return Vec::new();
    };
    // The fix relates the step that came too early to the thread that should have been first.
    let Some(frames) = reached(case, early) else {
        return Vec::new();
    };
    let other = thread_of(case, late);
    let mut fixes = Vec::new();
    let joined = other.as_ref().and_then(|(name, created)| {
        let mut known = frames.iter();
        let at = known.find(|at| at.function == created.function && at.file == created.file);
        let joins = joins_in_time(case, name, created, at?);
        match joins.iter().any(Result::is_ok) {
            true => Some(joins),
            // The text shows no join by this handle; the runs may.
            false => joined_sooner(case, name, &frames).or(Some(joins)),
        }
    });
    let starts = thread_of(case, early).filter(|(_, own)| own.function == late.place.function);
    match (joined, starts, other) {
        (Some(joins), ..) => fixes.extend(joins),
        (None, Some((name, own)), _) => fixes.extend(begins_later(case, &name, &own, late)),
        (None, None, Some((name, created))) => {
            let sooner = joined_sooner(case, &name, &frames);
            let instead = || instead_of_detach(case, &name, &created);
            let there = || where_detached(case, &name, &created);
            let joined = sooner.or_else(|| Some(vec![instead().or_else(there)?]));
            fixes.extend(joined.into_iter().flatten());
        }
        (None, None, None) => {}
    }
    fixes
}

/// The step that came too early, and the one that should have come before it.
pub(super) fn marks<'a>(case: &FixInput<'a>) -> Option<(&'a SiteMark, &'a SiteMark)> {
    let of = |role: Role| {
        case.explanation
            .sites
            .iter()
            .filter(move |mark| mark.role == role)
    };
    let mut causes = of(Role::Cause);
    let early = causes.next().filter(|_| causes.next().is_none())?;
    Some((early, of(Role::Interference).next()?))
}

/// Reason why the thread that should have been first is not waited for: it is created in another function. It is said where
/// there is no better one, since it tells nothing of the program.
pub(super) fn out_of_reach(case: &FixInput<'_>) -> Option<EditRefusal> {
    let kind = case.explanation.kind;
    let is_order = matches!(kind, BugKind::OrderViolation | BugKind::UseAfterFree);
    let (early, late) = marks(case).filter(|_| is_order)?;
    let (name, created) = thread_of(case, late)?;
    let at = &early.place;
    let file = |file: &str| match at.file == created.file {
        true => String::new(),
        false => format!(" of {}", basename(file)),
    };
    Some(format!(
        "{} created {name} on line {}{}, and its handle is not known on line {}{}",
        created.function,
        created.line,
        file(&created.file),
        at.line,
        file(&at.file)
    ))
}

/// Place of the step of a mark, with its calls.
pub(super) fn reached(case: &FixInput<'_>, mark: &SiteMark) -> Option<Vec<At>> {
    let step = case.explanation.step_of(mark)?;
    Some(frames(case.run, EventId(step.event)))
}

/// The thread of a mark and its creation: from the mark, from what is said of a step that the run lacks, or from a run that
/// reached the line.
fn thread_of(case: &FixInput<'_>, mark: &SiteMark) -> Option<(String, SiteRow)> {
    let lacked = case.explanation.absent.iter();
    let lacked = lacked
        .filter(|_| mark.thread.is_empty())
        .find(|one| one.place == mark.place);
    let thread = lacked.map_or(&mark.thread, |one| &one.thread);
    let named = thread
        .rsplit('(')
        .next()
        .unwrap_or("")
        .trim_end_matches(')');
    if let Some(site) = created_at(case.run, named) {
        return Some((named.to_owned(), site));
    }
    case.runs.iter().find_map(|(_, run)| {
        let at = run.events.iter().find(|(_, event)| {
            let site = run.meta.site(event.site);
            event.kind.is_access()
                && site.line == mark.place.line
                && site.file == mark.place.file
                && run.location(event.location) == mark.location
        });
        let name = &run.meta.thread(at?.1.thread).name;
        created_at(run, name).map(|site| (name.clone(), site))
    })
}

fn created_at(run: &Run, thread: &str) -> Option<SiteRow> {
    let row = run
        .meta
        .threads
        .iter()
        .find(|row| row.name == thread && row.parent.is_some())?;
    Some(run.meta.site(row.created_at).clone()).filter(|site| site.line != 0)
}

/// Joins a thread where another function detaches it by its stored handle; `None` unless one line does.
fn instead_of_detach(
    case: &FixInput<'_>,
    thread: &str,
    created: &SiteRow,
) -> Option<Result<Fix, EditRefusal>> {
    let handle = unjoined::stored_handle(case.files.get(&created.file).ok()?, created.line)?;
    let all = case.files.parsed.iter().flat_map(|(file, source)| {
        let own = unjoined::detaches(source, handle).into_iter();
        own.map(move |(line, changes)| (*file, line, changes))
    });
    let all: Vec<_> = all.collect();
    let [(file, line, changes)] = all.as_slice() else {
        return None;
    };
    let name = basename(file);
    let edits = (case.files).edits(&Changes::from([((*file).to_owned(), changes.clone())]));
    Some(edits.map(|edits| {
        Fix::edit(
            FixKind::JoinBefore,
            format!("join {thread} on line {line} of {name} instead of detaching it"),
            edits,
            format!("line {line} of {name} waits until {thread} has ended"),
        )
    }))
}

/// Joins a thread where the function that has created it detaches it.
fn where_detached(
    case: &FixInput<'_>,
    thread: &str,
    created: &SiteRow,
) -> Option<Result<Fix, EditRefusal>> {
    let source = case.files.get(&created.file).ok()?;
    let joined = unjoined::instead_of_detach(source, created.line, u32::MAX)?;
    let is_known = joined.before != u32::MAX;
    is_known.then(|| joining(case, thread, created, (&created.file, joined)))
}

/// Joins a thread sooner that a function on the way to the early step joins further down: before that step, and before the
/// first line of this function that takes away or changes what the thread uses. `None` when no run joins it there.
fn joined_sooner(
    case: &FixInput<'_>,
    thread: &str,
    early: &[At],
) -> Option<Vec<Result<Fix, EditRefusal>>> {
    let runs = || case.runs.iter().map(|(_, run)| &**run);
    let (at, joins) = runs().find_map(|run| joined_below(run, thread, early))?;
    let taken = runs().flat_map(|run| taken_away(run, thread, at));
    let first = taken.filter(|line| *line < at.line).min();
    let lines = first.into_iter().chain([at.line]);
    Some(
        lines
            .map(|line| sooner(case, thread, (at, line), joins))
            .collect(),
    )
}

/// The function that reaches the early step and, further down, joins the thread; with the line of the join.
fn joined_below<'e>(run: &Run, thread: &str, early: &'e [At]) -> Option<(&'e At, u32)> {
    let named = |id: u16| run.meta.thread(ThreadId(id)).name == thread;
    let is_join = |event: &Event| {
        event.kind == EventKind::Join && other_thread(event.value).is_some_and(named)
    };
    let (row, _) = run.events.iter().find(|(_, event)| is_join(event))?;
    let below = frames(run, row);
    let joining = |at: &At| {
        let mut own = below.iter().filter(|join| {
            (&join.file, &join.function) == (&at.file, &at.function) && join.line > at.line
        });
        own.next().map(|join| join.line)
    };
    early.iter().find_map(|at| Some((at, joining(at)?)))
}

/// Lines of a function on which another thread frees, or changes without a lock, what the thread uses.
fn taken_away(run: &Run, thread: &str, of: &At) -> BTreeSet<u32> {
    let is_own = |id: ThreadId| run.meta.thread(id).name == thread;
    let own = run.events.iter().filter(|(_, event)| is_own(event.thread));
    let used: BTreeSet<LocationId> = own.map(|(_, event)| event.location).collect();
    let blocks: BTreeSet<&str> = used.iter().map(|location| run.block(*location)).collect();
    let locks = Locks::new(run, &mut Vec::new());
    let takes = run.events.iter().filter(|(row, event)| {
        let is_free = event.kind == EventKind::Free && blocks.contains(run.block(event.location));
        let is_open = || locks.held_at(event.thread, *row).next().is_none();
        let changes = event.kind.writes() && used.contains(&event.location) && is_open();
        !is_own(event.thread) && (is_free || changes)
    });
    let lines = takes.filter_map(|(row, _)| {
        let mut frames = frames(run, row).into_iter();
        frames.find(|at| (&at.file, &at.function) == (&of.file, &of.function))
    });
    lines.map(|at| at.line).collect()
}

/// Moves the join of a thread before a line.
fn sooner(
    case: &FixInput<'_>,
    thread: &str,
    (at, line): (&At, u32),
    joins: u32,
) -> Result<Fix, EditRefusal> {
    let changes = move_statement::set_before(case.files.get(&at.file)?, &[joins], line)
        .map_err(|why| in_file(case.explanation, &at.file, &why))?;
    let edits = Changes::from([(at.file.clone(), changes)]);
    let created = case
        .runs
        .iter()
        .find_map(|(_, run)| created_at(run, thread));
    let names = created.map_or_else(|| vec![thread.to_owned()], |at| siblings(case, &at));
    let ordered = names.into_iter().map(|thread| Ordered::EndsBefore {
        thread,
        file: at.file.clone(),
        line,
    });
    let waits = format!(
        "line {line} of {} waits until {thread} has ended",
        basename(&at.file)
    );
    Ok(Fix {
        ordered: ordered.collect(),
        ..Fix::edit(
            FixKind::JoinBefore,
            format!("join {thread} before line {line}: move line {joins} there"),
            case.files.edits(&edits)?,
            waits,
        )
    })
}

/// Joins before the blamed line, before the first line that depends on the thread where waiting for it
/// returns, and before the first that shares data with it at all: the blamed access need not be the first that
/// came too early, and one under a lock (that tells others to stop) may be what the thread must not see yet.
fn joins_in_time(
    case: &FixInput<'_>,
    thread: &str,
    created: &SiteRow,
    at: &At,
) -> Vec<Result<Fix, EditRefusal>> {
    let runs = seen::within_bounds(case.runs).into_iter().take(RUNS);
    let (mut unlocked, mut shared) = (BTreeSet::new(), BTreeSet::new());
    for run in runs {
        for (line, is_locked) in shared_lines(run, created) {
            shared.insert(line);
            unlocked.extend((!is_locked).then_some(line));
        }
    }
    let first = |lines: BTreeSet<u32>| {
        let mut earlier = lines.into_iter().filter(|line| *line < at.line);
        earlier.find_map(|line| {
            let at = At { line, ..at.clone() };
            right(case, join(case, thread, created, &at)).ok()
        })
    };
    let mut fixes: Vec<_> = std::iter::once(join(case, thread, created, at))
        .chain(first(unlocked).map(Ok))
        .collect();
    if let Some(fix) = first(shared).map(Ok).filter(|fix| !fixes.contains(fix)) {
        fixes.push(fix);
    }
    fixes
}

/// Bound on the runs examined for premature accesses.
const RUNS: usize = 10;

/// Lines of the function that creates threads on which it uses, after the creation, data that one of them
/// changes, or changes data that one uses; with whether a lock is held there.
fn shared_lines(run: &Run, created: &SiteRow) -> BTreeSet<(u32, bool)> {
    let is_one = |row: &ThreadRow| {
        let site = run.meta.site(row.created_at);
        row.parent.is_some() && (&site.file, site.line) == (&created.file, created.line)
    };
    let threads = (0..).map(ThreadId).zip(&run.meta.threads);
    let own: BTreeMap<ThreadId, Option<ThreadId>> = threads
        .filter(|(_, row)| is_one(row))
        .map(|(id, row)| (id, row.parent))
        .collect();
    // Whoever takes a lock may change what the others look at with it held.
    let locks_it = |event: &Event| matches!(event.kind, EventKind::Lock | EventKind::LockWait);
    let mut used: BTreeMap<LocationId, bool> = BTreeMap::new();
    for (_, event) in run.events.iter() {
        let is_use = event.kind.is_access() || locks_it(&event);
        if own.contains_key(&event.thread) && is_use {
            *used.entry(event.location).or_default() |= event.kind.writes() || locks_it(&event);
        }
    }
    let locks = Locks::new(run, &mut Vec::new());
    let is_fork = |event: &Event| {
        let other = other_thread(event.value).map(ThreadId);
        event.kind == EventKind::Fork && other.is_some_and(|other| own.contains_key(&other))
    };
    let later = run.events.iter().skip_while(|(_, event)| !is_fork(event));
    let racing = later.filter(|(_, event)| {
        let writes = used.get(&event.location);
        own.values().any(|parent| *parent == Some(event.thread))
            && (event.kind.is_access() && !event.kind.is_atomic() || locks_it(event))
            && writes.is_some_and(|writes| *writes || event.kind.writes())
    });
    let lines = racing.filter_map(|(row, event)| {
        let mut frames = frames(run, row).into_iter();
        let own = |at: &At| (&at.file, &at.function) == (&created.file, &created.function);
        let is_locked = locks_it(&event) || locks.held_at(event.thread, row).next().is_some();
        frames.find(own).map(|at| (at.line, is_locked))
    });
    lines.filter(|(line, _)| *line > created.line).collect()
}

fn join(case: &FixInput<'_>, thread: &str, created: &SiteRow, at: &At) -> Result<Fix, EditRefusal> {
    let joined = move_statement::join_before(case.files.get(&at.file)?, created.line, at.line)
        .map_err(|why| in_file(case.explanation, &at.file, &why))?;
    joining(case, thread, created, (&at.file, joined))
}

/// The fix that joins a thread so in a file.
fn joining(
    case: &FixInput<'_>,
    thread: &str,
    created: &SiteRow,
    (file, joined): (&String, Joined),
) -> Result<Fix, EditRefusal> {
    if let Some(line) = joined.at.filter(|_| !joined.is_loop) {
        joins(case, thread, file, line)?;
    }
    let names = match joined.is_loop {
        true => siblings(case, created),
        false => vec![thread.to_owned()],
    };
    let edits = Changes::from([(file.clone(), joined.changes)]);
    let all = match names.as_slice() {
        [one] => one.clone(),
        several => format!("the {} threads of line {}", several.len(), created.line),
    };
    let before = joined.before;
    let waits = format!(
        "line {before} of {} waits until {all} {} ended",
        basename(file),
        if names.len() == 1 { "has" } else { "have" }
    );
    let ordered = names.into_iter().map(|thread| Ordered::EndsBefore {
        thread,
        file: file.clone(),
        line: before,
    });
    Ok(Fix {
        ordered: ordered.collect(),
        ..Fix::edit(
            FixKind::JoinBefore,
            format!("join {all} before line {before}"),
            case.files.edits(&edits)?,
            waits,
        )
    })
}

/// Checks that the join on this line waits for this thread, as far as runs have reached it.
fn joins(case: &FixInput<'_>, thread: &str, file: &str, line: u32) -> Result<(), EditRefusal> {
    for (_, run) in case.runs {
        let mut joins = run.events.iter().filter(|(_, event)| {
            let site = run.meta.site(event.site);
            event.kind == EventKind::Join && (site.file.as_str(), site.line) == (file, line)
        });
        if let Some((_, event)) = joins.next() {
            let other = other_thread(event.value).map(|id| &run.meta.thread(ThreadId(id)).name);
            return match other {
                Some(name) if name != thread => {
                    Err(format!("line {line} joins {name}, not {thread}"))
                }
                _ => Ok(()),
            };
        }
    }
    Ok(())
}

/// The threads created at the same place.
pub(super) fn siblings(case: &FixInput<'_>, created: &SiteRow) -> Vec<String> {
    let of_run = |run: &Run| -> Vec<String> {
        let is_one = |row: &&ThreadRow| {
            let site = run.meta.site(row.created_at);
            row.parent.is_some() && (&site.file, site.line) == (&created.file, created.line)
        };
        let own = run.meta.threads.iter().filter(is_one);
        own.map(|row| row.name.clone()).collect()
    };
    let all: BTreeSet<String> = case.runs.iter().flat_map(|(_, run)| of_run(run)).collect();
    all.into_iter().collect()
}
