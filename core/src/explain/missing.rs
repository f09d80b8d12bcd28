//! Writes that passing runs have and the failing run lacks.

use super::{
    announced::{Needs, announcement},
    draft::Draft,
    look::tell_look,
    order::{publication, published_early, ran_before},
    too_early::too_early,
    torn,
    view::View,
};
use crate::{
    claims::{Claim, Operation, Visit, line},
    explanation::{BugKind, Edge, EdgeKind, Explanation, Place, Role, SiteMark},
    facts::{self, and},
    pairs::{AccessClass, PairKey},
};
use unsnarl_trace::{EventId, EventKind, ThreadId, Value};

/// Explains that a write which passing runs do before the read never happened.
///
/// `by` is the thread that does it in every passing run, where known.
pub(super) fn missing(
    view: &View,
    original: PairKey,
    reader: EventId,
    by: Option<ThreadId>,
) -> Explanation {
    let half = half_done(view, original, reader, by);
    half.unwrap_or_else(|| alone(view, original, reader, by))
}

/// Explains that the thread had seen another change already, to which the missing write belongs.
pub(super) fn half_done(
    view: &View,
    original: PairKey,
    reader: EventId,
    by: Option<ThreadId>,
) -> Option<Explanation> {
    let needs = Needs::absent(reader, setter_of(view, original), by);
    let seen = torn::seen_before(view, &needs)?;
    let other = (seen.store, seen.load);
    let are_two = is_other_variable(view, seen.load, reader);
    (are_two && is_half(view, seen.store, reader, &needs.setter))
        .then(|| half_new(view, original, reader, other))
}

/// Returns whether two reads are of different variables of the program, not of two parts of one that a library made.
fn is_other_variable(view: &View, one: EventId, other: EventId) -> bool {
    view.variable(one) != view.variable(other)
}

/// Place of the write of passing runs.
fn setter_of(view: &View, original: PairKey) -> Place {
    let site = view.corpus.counts().site(original.head);
    site.map(|site| site.place.clone()).unwrap_or_default()
}

/// Explains the missing write without another change that it belongs to.
pub(super) fn alone(
    view: &View,
    original: PairKey,
    reader: EventId,
    by: Option<ThreadId>,
) -> Explanation {
    let setter = setter_of(view, original);
    let needs = Needs::absent(reader, setter.clone(), by);
    if let Some(by) = by {
        return match announcement(view, &needs) {
            Some(announced) => too_early(view, &announced, &needs),
            None => not_by(view, original, reader, &setter, by),
        };
    }
    if let Some(published) = publication(view, reader)
        && published.comes_before(view, &setter)
        && let Some(told) = published_early(view, &published, &needs)
    {
        return told;
    }
    if let Some(announced) = announcement(view, &needs) {
        return too_early(view, &announced, &needs);
    }
    if let Some(other) = other_half(view, original, reader, &setter)
        && is_other_variable(view, other.1, reader)
        && is_half(view, other.0, reader, &setter)
    {
        return half_new(view, original, reader, other);
    }
    if never_comes(view, &setter, reader) {
        return never(view, original, reader, &setter);
    }
    not_yet(view, original, reader, &setter)
}

/// Explains a write that may still happen, but too late.
pub(super) fn not_yet(
    view: &View,
    original: PairKey,
    reader: EventId,
    setter: &Place,
) -> Explanation {
    let name = view.variable(reader);
    let old = has_old_value(view, reader);
    let headline = match old {
        true => format!("`{name}` was read before it was changed"),
        false => format!("`{name}` was used before it was set"),
    };
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    draft.detail(format!(
        "{} read {name}{} at {}, but {} had not {} it yet.",
        view.words(reader),
        view.equals_read(reader),
        view.at(reader),
        line(setter, &view.place(reader)),
        if old { "changed" } else { "set" }
    ));
    before_in_passing(&mut draft, view, original, reader, setter);
    draft.set().remark = started_early(view, reader, setter);
    if draft.set().remark.is_empty() {
        draft.set().remark = not_waited_for(view, reader, setter);
        tell_look(&mut draft, view, reader, &could_write(view, setter, reader));
    }
    if let Some(fork) = fork_of(view, view.thread(reader)) {
        draft.step(fork, "");
    }
    draft.source(reader, EventId::default());
    draft.step(reader, if old { "the old value" } else { "not set yet" });
    draft.absent(reader, writer(view, setter, reader), setter.clone());
    draft.mark(reader, Role::Cause);
    draft.mark_place(absent(view, reader, setter.clone()));
    draft.fail();
    let mut explanation = draft.finish();
    passing_edge(&mut explanation);
    explanation
}

/// Explains a missing write: the threads that could do it have ended.
fn never(view: &View, original: PairKey, reader: EventId, setter: &Place) -> Explanation {
    let name = view.variable(reader);
    let diverted = diverted(view, setter, reader);
    // Runs of the same cause may have had the line a number of times before the thread ended.
    let headline = match diverted {
        Some((_, seen)) => {
            let set = match has_old_value(view, reader) {
                true => "changed",
                false => "set",
            };
            format!("{} ended before it had {set} `{name}`", view.words(seen))
        }
        None => never_headline(view, &name, setter, reader),
    };
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    let read = format!(
        "{} read {name}{} at {}",
        view.words(reader),
        view.equals_read(reader),
        view.at(reader)
    );
    before_in_passing(&mut draft, view, original, reader, setter);
    match diverted {
        Some((write, seen)) => {
            let learned = tell_learned(&mut draft, view, (write, seen));
            draft.detail(format!(
                "{} {learned}, and ended;\nthen {read}.",
                view.words(seen)
            ));
            draft.mark(write, Role::Cause);
            draft.mark(seen, Role::Interference);
        }
        None => {
            let ended = could_write(view, setter, reader).into_iter();
            let ended: Vec<String> = ended.map(|by| facts::thread_name(&view.run, by)).collect();
            draft.detail(format!("{read}; {} had ended by then.", and(&ended)));
            draft.mark(reader, Role::Cause);
            draft.mark_place(absent(view, reader, setter.clone()));
        }
    }
    draft.step(reader, "not set");
    draft.absent(reader, writer(view, setter, reader), setter.clone());
    draft.fail();
    draft.finish()
}

/// Headline for a missing write: the variable was never set, the line that sets it did not run, or both.
fn never_headline(view: &View, name: &str, setter: &Place, reader: EventId) -> String {
    let place = line(setter, &view.place(reader));
    let own = view.event(reader).location;
    let ran = view.run.events.iter().any(|(_, event)| {
        let site = view.run.meta.site(event.site);
        (&site.file, site.line) == (&setter.file, setter.line)
    });
    let mut accesses = view.orders.accesses().of(own).iter();
    let is_set = accesses.any(|&row| view.event(row).kind.writes());
    match (is_set, ran) {
        (false, false) => format!("`{name}` was never set: {place} did not run"),
        (false, true) => format!("`{name}` was never set"),
        (true, false) => format!("`{name}` was not changed: {place} did not run"),
        (true, true) => format!("`{name}` was not changed by {place}"),
    }
}

/// Explains that a thread read a value that another one had not changed yet, as it does in every passing run.
fn not_by(
    view: &View,
    original: PairKey,
    reader: EventId,
    setter: &Place,
    by: ThreadId,
) -> Explanation {
    let name = view.variable(reader);
    let (who, writer) = (view.words(reader), facts::thread_in_words(&view.run, by));
    let times = changes_before(view, reader, setter, by);
    let (again, changed) = match times {
        0 => ("", "not changed it".to_owned()),
        times => (" again", format!("changed it {}", only(times))),
    };
    let headline = format!("{who} read `{name}` before {writer} had changed it{again}");
    let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
    let at = view.place(reader);
    draft.detail(format!(
        "{who} read {name}{} at {}, but {writer} had {changed} at {} {}.",
        view.equals_read(reader),
        view.at(reader),
        line(setter, &at),
        match times {
            0 => "yet",
            _ => "until then; in passing runs it was changed more often",
        },
    ));
    let site = view.corpus.counts().site(original.head);
    if let Some(site) = site.filter(|_| times == 0) {
        draft.contrast(
            Claim::BeforeBy {
                early: Operation {
                    place: setter.clone(),
                    access: site.class,
                },
                by: Visit {
                    thread: facts::thread_name(&view.run, by),
                    number: 1,
                },
                late: view.operation(reader),
                location: view.run.location(view.event(reader).location).to_owned(),
                visit: view.visit(reader),
            },
            false,
            |counted| counted.holds_in > 0,
        );
    }
    draft.set().remark = not_joined(view, reader, &[by]);
    tell_look(&mut draft, view, reader, &[by]);
    if let Some(last) = view
        .orders
        .last_write_before(view.event(reader).location, reader)
    {
        draft.step(last, "");
    }
    draft.step(reader, "too early");
    draft.absent(reader, facts::thread_name(&view.run, by), setter.clone());
    draft.mark(reader, Role::Cause);
    draft.mark_place(absent(view, reader, setter.clone()));
    draft.fail();
    let mut explanation = draft.finish();
    passing_edge(&mut explanation);
    explanation
}

/// Number of changes of what a row reads, by one thread at one place before it.
fn changes_before(view: &View, reader: EventId, setter: &Place, by: ThreadId) -> usize {
    let location = view.event(reader).location;
    let before = view.orders.accesses().before(location, reader).iter();
    let is_it = |row: &&EventId| {
        let place = view.place(**row);
        view.thread(**row) == by
            && view.event(**row).kind.writes()
            && (place.line, &place.file) == (setter.line, &setter.file)
    };
    before.filter(is_it).count()
}

/// Text such as `only once`.
fn only(times: usize) -> String {
    match times {
        1 => "only once".to_owned(),
        2 => "only twice".to_owned(),
        times => format!("only {times} times"),
    }
}

/// Returns whether there was a value other than the initial one.
pub(super) fn has_old_value(view: &View, reader: EventId) -> bool {
    let event = view.event(reader);
    let written = view.orders.last_write_before(event.location, reader);
    // A constructor clears what is set later.
    let is_initial = written.is_none_or(|write| view.is_forced(write, reader));
    !is_initial || !matches!(event.value, None | Some(Value::Bits(0)))
}

/// Returns whether all threads that could do the write ended before the read: those that were in its
/// function, or all others when none was.
pub(super) fn never_comes(view: &View, setter: &Place, reader: EventId) -> bool {
    let writers = could_write(view, setter, reader);
    !writers.is_empty() && writers.iter().all(|&thread| end_of(view, thread) < reader)
}

/// The threads that could do a write before a read: those that were in its function, or all others when none was.
pub(super) fn could_write(view: &View, setter: &Place, reader: EventId) -> Vec<ThreadId> {
    let own = view.thread(reader);
    let others = (0..view.run.meta.threads.len() as u16).map(ThreadId);
    let others: Vec<ThreadId> = others.filter(|&thread| thread != own).collect();
    let end = EventId(u32::MAX);
    let was_there = |thread: &ThreadId| {
        let mut rows = view.rows.before(*thread, end).iter();
        rows.any(|&row| view.place(row).function == setter.function)
    };
    let there: Vec<ThreadId> = others.iter().copied().filter(was_there).collect();
    if there.is_empty() { others } else { there }
}

/// Name of the thread that does the write in passing runs, if only one could; else empty.
fn writer(view: &View, setter: &Place, reader: EventId) -> String {
    match could_write(view, setter, reader).as_slice() {
        [one] => facts::thread_name(&view.run, *one),
        _ => String::new(),
    }
}

/// The row at which a thread ended; after all rows when it did not.
pub(super) fn end_of(view: &View, thread: ThreadId) -> EventId {
    const NEVER: EventId = EventId(u32::MAX);
    let last = view.rows.before(thread, NEVER).last().copied();
    last.filter(|&row| view.event(row).kind == EventKind::End)
        .unwrap_or(NEVER)
}

/// The last value that a thread which ended without the write had learned from another thread: the write and
/// the read.
fn diverted(view: &View, setter: &Place, reader: EventId) -> Option<(EventId, EventId)> {
    let threads = could_write(view, setter, reader);
    threads
        .into_iter()
        .filter_map(|thread| learned(view, thread, reader))
        .max_by_key(|(_, read)| *read)
}

/// Adds the steps of a value that a thread learned last, and says it: `had read removed = 1 at sync.c:13, written by main.2 at
/// line 20`.
pub(super) fn tell_learned(
    draft: &mut Draft,
    view: &View,
    (write, seen): (EventId, EventId),
) -> String {
    draft.step(write, "");
    draft.step(seen, "the last that it learned");
    format!(
        "had read {}{} at {}, written by {} at {}",
        view.variable_of(&[seen, write]),
        view.equals_read(seen),
        view.at(seen),
        view.words(write),
        line(&view.place(write), &view.place(seen)),
    )
}

/// The last value that a thread learned from another one before a row: the write and its read.
pub(super) fn learned(
    view: &View,
    thread: ThreadId,
    before: EventId,
) -> Option<(EventId, EventId)> {
    let rows = view.rows.before(thread, before).iter().rev().copied();
    let reads = rows.filter(|&row| view.event(row).kind.reads());
    let mut flows = reads.filter_map(|row| Some((view.source(row)?, row)));
    flows.find(|&(write, row)| view.thread(write) != thread && !view.is_forced(write, row))
}

/// States in how many passing runs the write comes before the read, or the line reads such a value more often
/// than in this run.
fn before_in_passing(
    draft: &mut Draft,
    view: &View,
    original: PairKey,
    reader: EventId,
    setter: &Place,
) {
    let site = view.corpus.counts().site(original.head);
    let write = Operation {
        place: setter.clone(),
        access: site.map_or(AccessClass::Write, |site| site.class),
    };
    match view.pairs().find(original) {
        None => ran_before(draft, view, &write, reader),
        Some(_) => {
            let read = view.operation(reader);
            let more_than = Claim::times_read_from(&view.summary.accesses, &write, &read);
            let claim = Claim::ReadsFrom {
                write,
                read,
                more_than,
            };
            draft.contrast(claim, false, |_| true);
        }
    }
}

/// Sentence about the event that the thread did not wait for: a signal, or the end of other threads.
fn not_waited_for(view: &View, reader: EventId, setter: &Place) -> String {
    let before = view.rows.before(view.thread(reader), reader);
    let mut waits = before.iter().rev().copied();
    let of_kind = |kind: EventKind| move |row: &EventId| view.event(*row).kind == kind;
    let Some(wake) = waits.find(of_kind(EventKind::Wake)) else {
        return not_joined(view, reader, &could_write(view, setter, reader));
    };
    let Some(wait) = waits.find(of_kind(EventKind::Wait)) else {
        return String::new();
    };
    match view.event(wake).value {
        Some(Value::Bits(1)) => format!("The wait at {} timed out.", view.at(wait)),
        Some(Value::Bits(2)) => format!(
            "The wait at {} ended without a signal: a spurious wakeup, which POSIX and C++ allow.",
            view.at(wait)
        ),
        _ => String::new(),
    }
}

/// Sentence about missing joins: `main joins main.1 and main.2 but not main.3 before.`
fn not_joined(view: &View, reader: EventId, writers: &[ThreadId]) -> String {
    let thread = view.thread(reader);
    let before = view.rows.before(thread, reader).iter().copied();
    let of_kind = |kind: EventKind| -> Vec<ThreadId> {
        let rows = before.clone().filter(|&row| view.event(row).kind == kind);
        let threads = rows.filter_map(|row| crate::orders::other_thread(view.event(row).value));
        threads.map(ThreadId).collect()
    };
    let (started, joined) = (of_kind(EventKind::Fork), of_kind(EventKind::Join));
    let left = started
        .into_iter()
        .filter(|thread| !joined.contains(thread) && writers.contains(thread));
    let names = |threads: Vec<ThreadId>| -> Vec<String> {
        let name = |thread| facts::thread_name(&view.run, thread);
        threads.into_iter().map(name).collect()
    };
    let left = names(left.collect());
    match (names(joined), left.is_empty()) {
        (_, true) => String::new(),
        (joined, false) if joined.is_empty() => {
            format!("{} does not join {} before.", view.name(reader), and(&left))
        }
        (joined, false) => format!(
            "{} joins {} but not {} before.",
            view.name(reader),
            and(&joined),
            and(&left)
        ),
    }
}

/// The dependency that accompanies the missing one in every passing run, and that the failing run has: from
/// the function of the missing write to the function of the read.
fn other_half(
    view: &View,
    original: PairKey,
    reader: EventId,
    setter: &Place,
) -> Option<(EventId, EventId)> {
    let counts = view.corpus.counts();
    let stats = counts.stats(original);
    if stats.runs == counts.passing() {
        return None;
    }
    let function = view.place(reader).function;
    // Other elements of an array belong to other updates.
    let own = view.run.location(view.event(reader).location);
    let mut found = None;
    crate::orders::dependencies(&view.run, view.orders.accesses(), |d| {
        let key = PairKey {
            head: view.key(d.head),
            tail: view.key(d.tail),
        };
        let fits = counts.stats(key).signature == stats.signature
            && view.thread(d.tail) == view.thread(reader)
            && view.place(d.tail).function == function
            && view.place(d.head).function == setter.function
            && d.location != view.event(reader).location
            && !facts::are_elements(view.run.location(d.location), own);
        if fits {
            found = Some((d.head, d.tail));
        }
    });
    found
}

/// Returns whether the thread of a write had not come to the line of another one since: where it had, its update was whole
/// and what is missing belongs to a later one.
pub(super) fn is_half(view: &View, written: EventId, reader: EventId, setter: &Place) -> bool {
    let own = view.rows.before(view.thread(written), reader).iter().rev();
    let mut since = own.take_while(|&&row| row > written);
    !since.any(|&row| {
        let place = view.place(row);
        view.event(row).kind.writes() && (place.line, &place.file) == (setter.line, &setter.file)
    })
}

/// Explains that two variables were read while only one of them was new, and the run ended before the other
/// was written.
fn half_new(
    view: &View,
    original: PairKey,
    reader: EventId,
    other: (EventId, EventId),
) -> Explanation {
    let counts = view.corpus.counts();
    let (written, seen) = other;
    let setter = setter_of(view, original);
    let (x, y) = (view.variable_of(&[seen, written]), view.variable(reader));
    let headline = format!("`{x}` and `{y}` were read while only one of them was new");
    let mut draft = Draft::new(view, BugKind::MultiVariableAtomicityViolation, headline);
    draft.detail(format!(
        "{} read {x}{} at {} and {y}{} at {},\nbetween the two updates of {} at {}.",
        view.words(reader),
        view.equals_read(seen),
        view.at(seen),
        view.equals_read(reader),
        line(&view.place(reader), &view.place(seen)),
        view.words(written),
        lines(view.place(written).line, setter.line)
    ));
    let pair = |write: Operation, read: EventId| {
        let location = view.run.location(view.event(read).location);
        (write, view.operation(read), location.to_owned())
    };
    let class = counts.site(original.head).map(|site| site.class);
    let set = Operation {
        place: setter.clone(),
        access: class.unwrap_or(AccessClass::Write),
    };
    let claim = Claim::Together {
        one: pair(view.operation(written), seen),
        other: pair(set, reader),
    };
    draft.contrast(claim, false, |_| true);
    for row in [written, seen, reader] {
        draft.step(row, if row == written { "" } else { "in between" });
    }
    draft.mark(written, Role::Cause);
    draft.mark(seen, Role::Interference);
    draft.mark(reader, Role::Interference);
    draft.absent(reader, view.name(written), setter.clone());
    let mut mark = absent(view, reader, setter);
    mark.role = Role::Cause;
    draft.mark_place(mark);
    draft.fail();
    draft.finish()
}

/// Line numbers in words: `lines 29 and 33`, `line 29`.
fn lines(first: u32, second: u32) -> String {
    match first == second {
        true => format!("line {first}"),
        false => format!("lines {first} and {second}"),
    }
}

/// Adds the edge of passing runs, in which the absent write comes first.
pub(super) fn passing_edge(explanation: &mut Explanation) {
    let at = |role| {
        explanation
            .sites
            .iter()
            .position(|mark| mark.role == role)
            .map(|at| at as u32)
    };
    if let (Some(from), Some(to)) = (at(Role::Interference), at(Role::Cause)) {
        explanation.edges.push(Edge {
            from,
            to,
            kind: EdgeKind::Passing,
        });
    }
}

/// The mark of a write that the failing run did not reach.
pub(super) fn absent(view: &View, reader: EventId, place: Place) -> SiteMark {
    SiteMark {
        place,
        thread: String::new(),
        access: EventKind::Write.name().to_owned(),
        location: view.run.location(view.event(reader).location).to_owned(),
        role: Role::Interference,
        step: None,
    }
}

fn fork_of(view: &View, thread: ThreadId) -> Option<EventId> {
    let forks = view
        .run
        .events
        .iter()
        .filter(|(_, event)| event.kind == EventKind::Fork);
    let of_thread = |value| crate::orders::other_thread(value) == Some(thread.0);
    forks
        .filter(|(_, event)| of_thread(event.value))
        .map(|(row, _)| row)
        .next()
}

/// Sentence about a thread started too early: `session_new creates main.1 at line 57 and sets it only at line
/// 58.`
fn started_early(view: &View, reader: EventId, setter: &Place) -> String {
    let Some(fork) = fork_of(view, view.thread(reader)) else {
        return String::new();
    };
    let created = view.place(fork);
    if created.function != setter.function
        || created.file != setter.file
        || created.line >= setter.line
    {
        return String::new();
    }
    format!(
        "{} starts {} at line {} and sets it only at line {}.",
        setter.function,
        view.name(reader),
        created.line,
        setter.line
    )
}
