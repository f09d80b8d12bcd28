//! Atomicity violations: one thread's two accesses with another thread's in between.

use super::{
    draft::{Draft, in_runs, line},
    locking::{lock_name, same_section},
    view::View,
};
use crate::{
    callers,
    explanation::{BugKind, Explanation, Place, Region, Role},
    facts,
    orders::{Dependency, Section},
    pairs::{CoupleKey, CoupledPairs, PairKey, Triple},
};
use unsnarl_trace::{EventId, EventKind, SiteId};

/// Explains a triple on one location.
pub(super) fn single(view: &View, triple: &Triple) -> Explanation {
    let name = view.variable_of(&[triple.second, triple.first, triple.remote]);
    let mut draft = Draft::new(
        view,
        BugKind::AtomicityViolation,
        headline(view, triple, &name),
    );
    draft.detail(detail(view, triple, &name));
    draft.set().remark = match facts::shared_word(&name) {
        Some(word) => format!("{word} {}", remark(view, triple, &name)),
        None => remark(view, triple, &name),
    };
    draft.set().contrast = contrast(view, triple);
    if wait_between(view, triple).is_none() && barrier_between(view, triple).is_none() {
        draft.set().region = region(view, triple.first, triple.second);
    }
    draft.step(triple.first, "");
    draft.step(triple.remote, "in between");
    draft.step(triple.second, lost(view, triple));
    draft.mark(triple.first, Role::Cause);
    draft.mark(triple.second, Role::Cause);
    draft.mark(triple.remote, Role::Interference);
    draft.fail();
    draft.finish()
}

/// First access reads, second writes what came of it.
fn is_lost_update(view: &View, triple: &Triple) -> bool {
    view.event(triple.first).kind.reads() && !view.event(triple.second).kind.reads()
}

fn headline(view: &View, triple: &Triple, name: &str) -> String {
    let (first, second) = (
        view.event(triple.first).kind,
        view.event(triple.second).kind,
    );
    let who = view.words(triple.first);
    if first.reads() && wait_between(view, triple).is_some() {
        return format!("{who} did not look at `{name}` again after it had waited");
    }
    match (first.reads(), second.reads()) {
        (true, false) => format!("another thread's update of `{name}` was lost"),
        (true, true) => {
            format!("`{name}` changed between two accesses of {who} that belong together")
        }
        (false, true) => format!("`{name}` was overwritten before {who} read it back"),
        (false, false) => format!("`{name}` was read while {who} was only half done with it"),
    }
}

fn detail(view: &View, triple: &Triple, name: &str) -> String {
    let who = view.words(triple.first);
    let (first, second) = (view.place(triple.first), view.place(triple.second));
    let did = |row: EventId| {
        if view.event(row).kind.reads() {
            "read"
        } else {
            "wrote"
        }
    };
    let value = |row: EventId| view.value(row).filter(|value| value != "a pointer");
    let begin = format!(
        "{who} {} {name}{}",
        did(triple.first),
        view.equals(triple.first)
    );
    let end = match (is_lost_update(view, triple), value(triple.second)) {
        (true, Some(value)) => format!("and wrote {value}"),
        (true, None) => "and wrote it back".to_owned(),
        (false, Some(value)) => format!("and {} {value}", did(triple.second)),
        (false, None) => format!("and {} it", did(triple.second)),
    };
    let places = if (&first.file, first.line) == (&second.file, second.line) {
        format!("{begin} {end} at {}", view.at(triple.second))
    } else {
        format!(
            "{begin} at {} {end} at {}",
            view.at(triple.first),
            line(&second, &first)
        )
    };
    let remote = match value(triple.remote) {
        Some(value) => format!("{} {value}", did_remote(view, triple)),
        None => format!("{} it", did_remote(view, triple)),
    };
    let other = view.words(triple.remote);
    format!(
        "{places};\nin between {other} {remote} at {}.",
        view.at(triple.remote)
    )
}

/// What the access in between did that matters: its write, unless only reading mattered.
fn did_remote(view: &View, triple: &Triple) -> &'static str {
    if view.event(triple.remote).kind.writes() {
        "wrote"
    } else {
        "read"
    }
}

/// `500 is gone`.
fn lost(view: &View, triple: &Triple) -> String {
    let gone = view
        .value(triple.remote)
        .filter(|value| value != "a pointer");
    match gone {
        Some(value)
            if is_lost_update(view, triple)
                && Some(&value) != view.value(triple.second).as_ref() =>
        {
            format!("{value} is gone")
        }
        _ if is_lost_update(view, triple) => "overwrites it".to_owned(),
        _ => String::new(),
    }
}

/// What the locks say: two critical sections, a lock that one side lacks, none at all.
fn remark(view: &View, triple: &Triple, name: &str) -> String {
    let held = |row| view.orders.locks_held(row);
    let (first, second, remote) = (held(triple.first), held(triple.second), held(triple.remote));
    let has =
        |sections: &[Section], section: &Section| sections.iter().any(|s| s.lock == section.lock);
    let everywhere = first.iter().find(|s| has(&second, s) && has(&remote, s));
    if let Some(section) = everywhere
        && !same_section(view, triple.first, triple.second, section.lock)
    {
        let lock = lock_name(view, section);
        if let Some(wait) = wait_between(view, triple) {
            return waited(view, triple, wait, &lock, name);
        }
        if let Some(arrival) = barrier_between(view, triple) {
            return behind_barrier(view, triple, arrival);
        }
        let whose = enclosing(view, triple.first, triple.second);
        return format!(
            "Each access holds `{lock}`, but the two critical sections of {whose} are one step in meaning."
        );
    }
    if let Some(section) = first.iter().find(|s| has(&second, s) && !has(&remote, s)) {
        if let Some(other) = remote.first() {
            return format!(
                "{} holds `{}`, but {} holds `{}`: different locks.",
                view.words(triple.first),
                lock_name(view, section),
                view.words(triple.remote),
                lock_name(view, other)
            );
        }
        let at = line(&view.place(triple.remote), &view.place(triple.first));
        return format!(
            "{} holds `{}`, {at} does not.",
            view.words(triple.first),
            lock_name(view, section)
        );
    }
    let races = view.orders.is_race(triple.first, triple.remote)
        || view.orders.is_race(triple.remote, triple.second);
    match (
        races,
        first.is_empty() && second.is_empty() && remote.is_empty(),
    ) {
        (true, true) => format!("No lock guards `{name}`: this is also a data race."),
        (true, false) => format!("No common lock guards `{name}`: this is also a data race."),
        (false, true) if view.event(triple.second).kind.is_atomic() => {
            "Each access is atomic, but together they are not one step.".to_owned()
        }
        _ => String::new(),
    }
}

/// The last wait on a condition variable between the two accesses of one thread.
fn wait_between(view: &View, triple: &Triple) -> Option<EventId> {
    let before = view.rows.before(view.thread(triple.second), triple.second);
    let mut between = before.iter().rev().copied();
    let mut between = between.by_ref().take_while(|row| *row > triple.first);
    between.find(|row| view.event(*row).kind == EventKind::Wait)
}

/// The last barrier that the thread came to between its two accesses.
fn barrier_between(view: &View, triple: &Triple) -> Option<EventId> {
    let before = view.rows.before(view.thread(triple.second), triple.second);
    let mut between = before.iter().rev().take_while(|row| **row > triple.first);
    between
        .find(|row| view.event(**row).kind == EventKind::BarrierArrive)
        .copied()
}

/// Lines around a barrier are not one step: the other thread went on from the barrier too early.
fn behind_barrier(view: &View, triple: &Triple, arrival: EventId) -> String {
    let (second, at) = (view.place(triple.second), view.place(arrival));
    format!(
        "{} was at the barrier of {} in between: behind it nothing keeps {} from {} until {} has run.",
        view.words(triple.first),
        line(&at, &second),
        view.name(triple.remote),
        line(&view.place(triple.remote), &second),
        line(&second, &second)
    )
}

/// A wait gives the lock back: what was looked at before it can be another thing after it, and no lock helps.
fn waited(view: &View, triple: &Triple, wait: EventId, lock: &str, name: &str) -> String {
    let (first, at) = (view.place(triple.first), view.place(wait));
    let again = match view.event(triple.first).kind.reads() {
        true => "look again after the wait (`while` instead of `if`)".to_owned(),
        false => format!("`{name}` can change there"),
    };
    format!(
        "{} waits at {} in between, and that gives `{lock}` back: {again}.",
        view.words(triple.first),
        line(&at, &first)
    )
}

/// The function that both rows are in, or that called what they are in; else the thread.
fn enclosing(view: &View, first: EventId, second: EventId) -> String {
    match common_function(view, first, second) {
        Some((function, ..)) if !function.is_empty() => function,
        _ => view.words(first),
    }
}

/// The innermost function that leads to both rows, with the sites in it.
pub(super) fn common_function(
    view: &View,
    first: EventId,
    second: EventId,
) -> Option<(String, SiteId, SiteId)> {
    let (a, b) = callers::parting(&view.run, first, second)?;
    let (of_a, of_b) = (
        &view.run.meta.site(a).function,
        &view.run.meta.site(b).function,
    );
    (of_a == of_b).then(|| (of_a.clone(), a, b))
}

/// The lines that should be one step.
pub(super) fn region(view: &View, first: EventId, second: EventId) -> Option<Region> {
    let (function, from, to) = common_function(view, first, second)?;
    let (from, to) = (view.run.meta.site(from), view.run.meta.site(to));
    let held = view.orders.locks_held(first);
    let guards = held.iter().find(|section| {
        view.orders
            .locks_held(second)
            .iter()
            .any(|s| s.lock == section.lock)
    });
    (from.file == to.file && from.line != 0).then(|| Region {
        file: from.file.clone(),
        first: from.line.min(to.line),
        last: from.line.max(to.line),
        function,
        lock: guards.map(|section| lock_name(view, section)),
    })
}

fn contrast(view: &View, triple: &Triple) -> String {
    let counts = view.corpus.counts();
    let key = view.triple_key(triple);
    let (first, second) = (view.place(triple.first), view.place(triple.second));
    let remote = view.place(triple.remote);
    fn at(place: &Place) -> (&str, u32) {
        (&place.file, place.line)
    }
    let one_line = at(&first) == at(&second);
    match (counts.triple_runs(key), counts.passing()) {
        (_, 0) => String::new(),
        (0, of) if one_line && at(&remote) == at(&first) => {
            format!(
                "{} every thread's line {} ran as one step.",
                in_runs(of, of),
                first.line
            )
        }
        (0, of) if one_line => format!(
            "{} {} ran before or after line {} as a whole.",
            in_runs(of, of),
            line(&remote, &first),
            first.line
        ),
        (0, of) if [&first, &second].map(at).contains(&at(&remote)) => format!(
            "{} no other thread's {} came between line {} and {}.",
            in_runs(of, of),
            line(&remote, &first),
            first.line,
            line(&second, &first)
        ),
        (0, of) => format!(
            "{} {} ran before line {} or after {}.",
            in_runs(of, of),
            line(&remote, &first),
            first.line,
            line(&second, &first)
        ),
        (runs, of) => format!(
            "{} that happens too, without harm there.",
            in_runs(runs, of)
        ),
    }
}

/// Explains two pairs on two locations that run in opposite directions.
pub(super) fn multi(view: &View, couple: &CoupledPairs) -> Explanation {
    let first = &couple.first;
    let second = &Dependency {
        tail: what_came_of(view, couple.second.tail),
        ..couple.second
    };
    let couple = &CoupledPairs {
        first: *first,
        second: *second,
    };
    let x = view.variable_of(&[first.head, first.tail]);
    let y = view.variable_of(&[second.tail, second.head]);
    let headline = multi_headline(view, couple, &x, &y);
    let is_one = x == y;
    let mut draft = Draft::new(view, BugKind::MultiVariableAtomicityViolation, headline);
    let (who, other) = (view.words(first.head), view.words(first.tail));
    let (a, d) = (view.place(first.head), view.place(second.tail));
    let (b, c) = (view.place(first.tail), view.place(second.head));
    let do_x = |row| verb_of(view, row);
    let remote = if (&b.file, b.line) == (&c.file, c.line) {
        format!(
            "{other} {} both at {}",
            do_x(first.tail),
            view.at(first.tail)
        )
    } else {
        format!(
            "{other} {} {x} at {} and {} {y} at {}",
            do_x(first.tail),
            view.at(first.tail),
            do_x(second.head),
            line(&c, &b)
        )
    };
    let began = format!("{who} {} {x} at {}", do_x(first.head), view.at(first.head));
    let ended = match is_one {
        true => format!(
            "and {} another part of it at {}",
            do_x(second.tail),
            line(&d, &a)
        ),
        false => format!("and {} {y} at {}", do_x(second.tail), line(&d, &a)),
    };
    draft.detail(format!("{began} {ended};\nin between {remote}."));
    draft.set().contrast = multi_contrast(view, couple);
    draft.set().region = region(view, first.head, second.tail);
    draft.set().remark = multi_remark(view, couple);
    draft.step(first.head, "");
    draft.step(first.tail, "in between");
    draft.step(second.head, "in between");
    draft.step(second.tail, "");
    draft.mark(first.head, Role::Cause);
    draft.mark(second.tail, Role::Cause);
    draft.mark(first.tail, Role::Interference);
    draft.mark(second.head, Role::Interference);
    draft.fail();
    draft.finish()
}

/// A read before a write of the same thread to the same location is told by the write, if both belong to
/// one critical section or one function.
fn what_came_of(view: &View, row: EventId) -> EventId {
    let (event, held) = (view.event(row), view.orders.locks_held(row));
    if !event.kind.reads() || event.kind.writes() {
        return row;
    }
    let after = view
        .orders
        .accesses()
        .after(event.location, row)
        .iter()
        .copied();
    let own = after.take_while(|&next| view.thread(next) == event.thread);
    let mut writes = own.filter(|&next| view.event(next).kind.writes());
    let one_step = |next: &EventId| match held.first() {
        Some(section) => same_section(view, row, *next, section.lock),
        None => view.place(*next).function == view.place(row).function,
    };
    writes.next().filter(one_step).unwrap_or(row)
}

fn verb_of(view: &View, row: EventId) -> &'static str {
    match view.event(row).kind {
        kind if kind.writes() => "wrote",
        _ => "read",
    }
}

fn multi_headline(view: &View, couple: &CoupledPairs, x: &str, y: &str) -> String {
    let (tail, head) = (
        view.event(couple.first.tail).kind,
        view.event(couple.second.head).kind,
    );
    if !tail.writes() && !head.writes() {
        return format!("`{x}` and `{y}` were read while only one of them was new");
    }
    let who = view.words(couple.first.head);
    if x == y {
        return format!("`{x}` changed between two accesses of {who} that belong together");
    }
    format!("`{x}` and `{y}` changed between two steps of {who} that belong together")
}

fn multi_contrast(view: &View, couple: &CoupledPairs) -> String {
    let counts = view.corpus.counts();
    let [first, second] = [&couple.first, &couple.second].map(|pair| PairKey {
        head: view.key(pair.head),
        tail: view.key(pair.tail),
    });
    match (
        counts.couple_runs(CoupleKey::new(first, second)),
        counts.passing(),
    ) {
        (_, 0) => String::new(),
        (0, of) if counts.knows_all_couples() => format!(
            "{} the two threads have one order for both.",
            in_runs(of, of)
        ),
        // It may have happened where nobody looked.
        (0, _) => String::new(),
        (runs, of) => format!(
            "{} that happens too, without harm there.",
            in_runs(runs, of)
        ),
    }
}

fn multi_remark(view: &View, couple: &CoupledPairs) -> String {
    let (from, to) = (couple.first.head, couple.second.tail);
    let held = view.orders.locks_held(from);
    let second = view.orders.locks_held(to);
    match held
        .iter()
        .find(|section| second.iter().any(|s| s.lock == section.lock))
    {
        Some(section) if !same_section(view, from, to, section.lock) => format!(
            "Each access holds `{}`, but the two critical sections of {} are one step in meaning.",
            lock_name(view, section),
            enclosing(view, from, to)
        ),
        _ => String::new(),
    }
}
