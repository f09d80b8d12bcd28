//! Data and locks that a line uses, each with the visits of threads.

use super::{MOST_NAMED, listed, value_of};
use crate::{facts, orders::Orders};
use std::{cmp::Reverse, collections::BTreeMap};
use unsnarl_trace::{Event, EventId, EventKind, LocationId, Run, SiteId, ThreadId, Value};

/// One variable, lock or other thing with the events at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LineSubject {
    /// Name in the source, or words for what has none; empty for events at no data.
    pub name: String,
    /// The events, in order.
    rows: Vec<EventId>,
    rank: Rank,
}

/// The question that a hover answers.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The word under the cursor.
    pub word: Option<&'a str>,
    /// Events of an explanation.
    pub steps: &'a [EventId],
}

/// The order in which subjects are told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    is_asked: bool,
    is_step: bool,
    is_shared: bool,
    is_no_access: bool,
    is_named: bool,
    writers: usize,
}

impl LineSubject {
    /// The event to tell: the last one among the steps of an explanation, else the last one of all.
    pub fn row(&self, steps: &[EventId]) -> Option<EventId> {
        let told = self.rows.iter().rev().find(|row| steps.contains(row));
        told.or(self.rows.last()).copied()
    }

    /// Returns whether the source has a name for it.
    pub fn is_named(&self) -> bool {
        self.rank.is_named && !self.name.is_empty()
    }

    /// The data, if it is some that threads share.
    pub fn location(&self, run: &Run) -> Option<LocationId> {
        let last = run.events.event(*self.rows.last()?);
        (self.rank.is_shared && last.kind.is_access()).then_some(last.location)
    }
}

/// The subjects of these rows, the most important first: the word that is asked about, the data of an explanation, then what threads share. What only one
/// thread uses is left out beside others, and so is what has no name in the source.
pub(super) fn of(
    run: &Run,
    orders: &Orders,
    rows: &[EventId],
    asked: Asked<'_>,
) -> Vec<LineSubject> {
    // A line in a loop has many events of few kinds, and each kind has one name.
    let mut alike: BTreeMap<(LocationId, SiteId, &str), Vec<EventId>> = BTreeMap::new();
    for row in rows {
        let event = run.events.event(*row);
        let kind = (event.location, event.site, event.kind.name());
        alike.entry(kind).or_default().push(*row);
    }
    let mut named: BTreeMap<String, (bool, Vec<EventId>)> = BTreeMap::new();
    for rows in alike.into_values() {
        let first = rows.first().map(|row| run.events.event(*row));
        if let Some(first) = first.filter(|first| is_told(run, first)) {
            let entry = named.entry(facts::variable(run, &first)).or_default();
            entry.0 |= facts::named(run, &first).is_some();
            entry.1.extend(rows);
        }
    }
    let subjects = named.into_iter().map(|(name, (is_named, mut rows))| {
        rows.sort_unstable();
        LineSubject {
            rank: rank(run, orders, (&name, is_named), &rows, asked),
            name,
            rows,
        }
    });
    let mut subjects: Vec<LineSubject> = subjects.collect();
    subjects.sort_by_key(|one| (Reverse(one.rank), Reverse(one.rows.last().copied())));
    let matters =
        |one: &LineSubject| one.rank.is_asked || one.rank.is_shared || one.rank.is_no_access;
    if subjects.iter().any(matters) {
        subjects.retain(matters);
    }
    subjects
}

/// Returns whether the source has a name for what the event is about, if it is an access. Variables that a compiler makes
/// begin with two underscores.
fn is_told(run: &Run, event: &Event) -> bool {
    let own = || facts::named(run, event);
    !event.kind.is_access()
        || facts::is_named(run.location(event.location)) && own().is_none_or(|name| is_own(&name))
}

fn is_own(name: &str) -> bool {
    let is_frame = name.rsplit_once('-').is_some_and(|(_, offset)| {
        !offset.is_empty() && offset.bytes().all(|byte| byte.is_ascii_digit())
    });
    !is_frame && !name.starts_with("__") && !name.contains("::__")
}

fn rank(
    run: &Run,
    orders: &Orders,
    (name, is_named): (&str, bool),
    rows: &[EventId],
    asked: Asked<'_>,
) -> Rank {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut parts = name.split(|c| !is_word(c));
    let kinds = || rows.iter().map(|row| run.events.kind(*row));
    let is_shared = |row: &EventId| orders.accesses().is_shared(run.events.location(*row));
    let mut writers: Vec<ThreadId> = rows
        .iter()
        .filter(|row| run.events.kind(**row).writes())
        .map(|row| run.events.event(*row).thread)
        .collect();
    writers.sort_unstable_by_key(|thread| thread.0);
    writers.dedup();
    Rank {
        is_asked: asked
            .word
            .is_some_and(|word| parts.any(|part| part == word)),
        is_step: rows.iter().any(|row| asked.steps.contains(row)),
        is_shared: kinds().any(EventKind::is_access) && rows.iter().any(is_shared),
        is_no_access: !kinds().any(EventKind::is_access),
        is_named,
        writers: writers.len(),
    }
}

/// The deeds of the threads: `` `balance`: main.1 read 300 and wrote 500; main.2 wrote 250. `` Threads that did the same share a
/// clause.
pub(super) fn what_ran(run: &Run, orders: &Orders, subject: &LineSubject) -> String {
    let mut threads: Vec<(ThreadId, Vec<EventId>)> = Vec::new();
    for row in &subject.rows {
        let thread = run.events.event(*row).thread;
        match threads.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, rows)) => rows.push(*row),
            None => threads.push((thread, vec![*row])),
        }
    }
    let mut clauses: Vec<(Vec<ThreadId>, String)> = Vec::new();
    for (thread, rows) in threads {
        let did = deeds(run, orders, &rows);
        match clauses.iter_mut().find(|(_, known)| *known == did) {
            Some((threads, _)) => threads.push(thread),
            None => clauses.push((vec![thread], did)),
        }
    }
    let more = clauses.len().saturating_sub(MOST_NAMED);
    let told = clauses
        .iter()
        .skip(more)
        .map(|(threads, did)| format!("{} {did}", who(run, threads)));
    let mut told: Vec<String> = told.collect();
    if more > 0 {
        told.push(format!("{more} more did other things before"));
    }
    match subject.name.as_str() {
        "" => format!("{}.", told.join("; ")),
        name => format!("`{name}`: {}.", told.join("; ")),
    }
}

/// One thread with its function, or several by their names.
fn who(run: &Run, threads: &[ThreadId]) -> String {
    // The function of a lambda has no name that says anything.
    if let [one] = threads
        && !facts::is_lambda(&run.meta.thread(*one).start)
    {
        return facts::thread_in_words(run, *one);
    }
    let names: Vec<String> = threads
        .iter()
        .map(|thread| facts::thread_name(run, *thread))
        .collect();
    listed(&names)
}

/// The deeds of one thread, the last of each kind, and how often if more than once.
fn deeds(run: &Run, orders: &Orders, rows: &[EventId]) -> String {
    let mut last: Vec<(EventKind, EventId, usize)> = Vec::new();
    for row in rows {
        let kind = run.events.kind(*row);
        let times = match last.iter().position(|(known, ..)| *known == kind) {
            Some(at) => last.remove(at).2 + 1,
            None => 1,
        };
        last.push((kind, *row, times));
    }
    // That a lock was waited for says no more than that it was taken.
    let is_wait = |kind: EventKind| kind == EventKind::LockWait && last.len() > 1;
    let told = last.iter().filter(|(kind, ..)| !is_wait(*kind));
    let told = told.map(|(_, row, times)| match times {
        1 => deed(run, orders, *row),
        times => format!("{} (the last of {times})", deed(run, orders, *row)),
    });
    told.collect::<Vec<_>>().join(" and ")
}

fn deed(run: &Run, orders: &Orders, row: EventId) -> String {
    let event = run.events.event(row);
    let value = value_of(run, orders, row).map_or(String::new(), |value| format!(" {value}"));
    let other = || {
        let thread = event.other_thread();
        thread.map_or(String::new(), |thread| facts::thread_name(run, thread))
    };
    let old = facts::old_value(run, &event);
    match event.kind {
        EventKind::Rmw => match old {
            Some(old) => format!("updated {old} to{value}"),
            None => format!("updated it to{value}"),
        },
        kind if kind.is_access() && kind.writes() => format!("wrote{value}"),
        kind if kind.is_access() => format!("read{value}"),
        EventKind::Fork | EventKind::Join => format!("{} {}", did(event.kind), other()),
        EventKind::Signal | EventKind::Broadcast if event.value == Some(Value::Bits(0)) => {
            format!("{} it, but nobody waited", did(event.kind))
        }
        EventKind::Failure => "failed here".to_owned(),
        EventKind::Blocked => "stood here at the end of the run".to_owned(),
        kind if run.location(event.location).is_empty() => format!("passed a {}", kind.name()),
        kind => format!("{} it", did(kind)),
    }
}

/// The verb for an event at something that is no data, in the past.
fn did(kind: EventKind) -> &'static str {
    use EventKind::*;
    match kind {
        Lock | SharedLock => "locked",
        Unlock | SharedUnlock => "unlocked",
        LockWait | Wait => "waited for",
        Signal => "signalled",
        Broadcast => "woke all of",
        Wake => "woke up from",
        TryLockFailed => "did not get",
        BarrierArrive => "arrived at",
        BarrierLeave => "left",
        SemWait => "took a unit of",
        SemPost => "gave a unit to",
        OnceBegin => "began to initialize",
        OnceEnd => "initialized",
        OncePass => "found initialized",
        Alloc => "allocated",
        Free => "freed",
        Join => "joined",
        Fork => "created",
        kind => kind.name(),
    }
}
