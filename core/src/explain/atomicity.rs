//! Atomicity violations: two accesses of one thread with another thread's access in between.

use super::{
    draft::Draft,
    locking::{lock_name, own_locks, same_section, taken_again},
    look::asks_again,
    unread::tell_unread,
    view::View,
};
use crate::{
    callers::common_sites,
    claims::{Claim, line},
    explanation::{BugKind, Explanation, Region, Role},
    facts::{self, ToldValue},
    orders::Section,
    pairs::Triple,
};
use unsnarl_trace::{EventId, EventKind, Location, Value};

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
    contrast(&mut draft, view, triple);
    if wait_between(view, triple).is_none() && barrier_between(view, triple).is_none() {
        draft.set().region = region(view, triple.first, triple.second);
    }
    draft.step(triple.first, "");
    if let Some(change) = missed(view, triple) {
        draft.step(change, "not seen");
    }
    draft.step(triple.remote, "in between");
    if let Some(last) = last_change(view, triple) {
        let is_back = is_changed_back(view, triple);
        draft.step(last, if is_back { "changes it back" } else { "" });
    }
    draft.step(triple.second, lost(view, triple));
    if view.event(triple.second).kind.reads() {
        tell_unread(&mut draft, view, triple.second);
    }
    draft.mark(triple.first, Role::Cause);
    draft.mark(triple.second, Role::Cause);
    draft.mark(triple.remote, Role::Interference);
    draft.fail();
    draft.finish()
}

/// The write of another thread that the second access meets, if it is a later one than the one in between and has another
/// value.
fn last_change(view: &View, triple: &Triple) -> Option<EventId> {
    let last = view
        .orders
        .last_write_before(triple.location, triple.second)?;
    let (meets, remote) = (view.event(last), view.event(triple.remote));
    let is_other = last > triple.remote && view.thread(last) != view.thread(triple.first);
    let is_known = meets.value.is_some() && remote.kind.writes();
    (is_other && is_known && meets.value != remote.value).then_some(last)
}

/// Returns whether other threads have changed the variable since the thread has read it, and it has the same value again when
/// it writes: no update is lost then, but the thread does not know of what else was done in between.
fn is_changed_back(view: &View, triple: &Triple) -> bool {
    let first = view.event(triple.first);
    let since = view.orders.accesses().after(triple.location, triple.first);
    let since = since.iter().take_while(|row| **row < triple.second);
    let writes = since
        .map(|row| view.event(*row))
        .filter(|event| event.kind.writes());
    let values: Vec<Option<Value>> = writes
        .filter(|event| event.thread != first.thread)
        .map(|event| event.value)
        .collect();
    let is_back = first.value.is_some() && values.last() == Some(&first.value);
    let is_other = |value: &Option<Value>| value.is_some() && *value != first.value;
    first.kind.reads() && !first.kind.writes() && is_back && values.iter().any(is_other)
}

/// Returns whether it is a lost update: the first access reads, the second writes a value computed from it.
fn is_lost_update(view: &View, triple: &Triple) -> bool {
    let (first, second) = (view.event(triple.first), view.event(triple.second));
    let is_other = is_copied(view, triple) || is_changed_back(view, triple);
    first.kind.reads() && !second.kind.reads() && !is_other
}

/// Returns whether the second access is in another function than the first one, and writes what that has read of another
/// variable just before: then it is not computed from the first.
fn is_copied(view: &View, triple: &Triple) -> bool {
    let (first, second) = (view.event(triple.first), view.event(triple.second));
    let function = view.place(triple.second).function;
    let before = view.own_before(triple.second).next();
    let is_source = before.filter(|row| *row > triple.first).is_some_and(|row| {
        let event = view.event(row);
        event.kind.reads()
            && event.location != second.location
            && event.value == second.value
            && view.place(row).function == function
    });
    is_source
        && second.value.is_some()
        && first.value != second.value
        && view.place(triple.first).function != function
}

/// Returns whether both threads wrote the same value, and the other one did not compute it from the old one,
/// as `n++` or `n = old + 1` do. Then nothing is lost.
fn is_same_value(view: &View, triple: &Triple) -> bool {
    let (remote, second) = (view.event(triple.remote), view.event(triple.second));
    let sets_constant = facts::sets_constant(&view.place(triple.remote).text);
    remote.value.is_some() && remote.value == second.value && sets_constant
}

fn headline(view: &View, triple: &Triple, name: &str) -> String {
    let (first, second) = (
        view.event(triple.first).kind,
        view.event(triple.second).kind,
    );
    let who = view.words(triple.first);
    if let Some(wait) = wait_between(view, triple).filter(|_| first.reads()) {
        match missed(view, triple) {
            Some(_) => {
                return format!("`{name}` changed and changed back before {who} looked again");
            }
            None if looks_again(view, triple, wait) => {}
            None => return format!("{who} did not look at `{name}` again after it had waited"),
        }
    }
    match (first.reads(), second.reads()) {
        (true, _) if is_changed_back(view, triple) => {
            let until = match (second.reads(), second.writes()) {
                (true, false) => "read it again",
                (true, true) => "updated it",
                (false, _) => "wrote it",
            };
            format!("`{name}` was changed and changed back before {who} {until}")
        }
        (true, false) if is_same_value(view, triple) || is_copied(view, triple) => {
            format!("`{name}` was changed between the read and the write of {who}")
        }
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
    let begin = format!("{who} {}", did_to(view, triple.first, name));
    let value = |row: EventId| view.value(row).filter(ToldValue::is_known);
    let end = match (is_lost_update(view, triple), value(triple.second)) {
        (true, Some(value)) => format!("and wrote {value}"),
        (true, None) => "and wrote it".to_owned(),
        (false, _) => format!("and {}", did(view, triple.second)),
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
    format!(
        "{places};\nin between {} {} at {}{}.",
        view.words(triple.remote),
        did_remote(view, triple),
        view.at(triple.remote),
        then_changed(view, triple),
    )
}

/// Clause about the change that the second access meets: `, and 0 at line 48`.
fn then_changed(view: &View, triple: &Triple) -> String {
    let Some(last) = last_change(view, triple) else {
        return String::new();
    };
    let who = match view.thread(last) == view.thread(triple.remote) {
        true => String::new(),
        false => format!("{} wrote ", view.words(last)),
    };
    let value = view.value(last).filter(ToldValue::is_known);
    let at = line(&view.place(last), &view.place(triple.remote));
    value.map_or_else(String::new, |value| format!(", and {who}{value} at {at}"))
}

/// An access in words: `read balance = 300`, `updated balance from 3 to 4`.
fn did_to(view: &View, row: EventId, name: &str) -> String {
    match (view.event(row).kind, view.update_in_words(row)) {
        (_, Some(update)) => format!("updated {name} {update}"),
        (kind, None) if kind.reads() => format!("read {name}{}", view.equals_read(row)),
        _ => format!("wrote {name}{}", view.equals(row)),
    }
}

/// An access in words without the name: `read 300`, `wrote it`, `updated it from 3 to 4`.
fn did(view: &View, row: EventId) -> String {
    let verb = match view.event(row).kind.reads() {
        true => "read",
        false => "wrote",
    };
    let value = view.read_value(row).filter(ToldValue::is_known);
    match (view.update_in_words(row), value) {
        (Some(update), _) => format!("updated it {update}"),
        (None, Some(value)) => format!("{verb} {value}"),
        (None, None) => format!("{verb} it"),
    }
}

/// The interfering access in words: its write, unless only its read matters.
fn did_remote(view: &View, triple: &Triple) -> String {
    let value = view.value(triple.remote).filter(ToldValue::is_known);
    let verb = match view.event(triple.remote).kind.writes() {
        true => "wrote",
        false => "read",
    };
    value.map_or_else(|| format!("{verb} it"), |value| format!("{verb} {value}"))
}

/// The lost value as a clause: `500 is lost`.
fn lost(view: &View, triple: &Triple) -> String {
    let gone = view.value(triple.remote).filter(ToldValue::is_known);
    let is_same = view.event(triple.remote).value == view.event(triple.second).value;
    match gone {
        _ if !is_lost_update(view, triple) || is_same_value(view, triple) => String::new(),
        Some(value) if !is_same => format!("{value} is lost"),
        _ => "overwrites it".to_owned(),
    }
}

/// Sentence about the locks: two critical sections, a lock that one side lacks, or none at all.
fn remark(view: &View, triple: &Triple, name: &str) -> String {
    let held = |row| own_locks(view, row);
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
        if taken_again(view, triple.first, triple.second) {
            return String::new();
        }
        return released_between(view, section, triple.second);
    }
    if let Some(section) = first.iter().find(|s| has(&second, s) && !has(&remote, s)) {
        if let Some(other) = remote.first() {
            return different_locks(view, (triple.first, section), (triple.remote, other));
        }
        let at = line(&view.place(triple.remote), &view.place(triple.first));
        return format!(
            "{} holds `{}`, {at} does not.",
            view.words(triple.first),
            lock_name(view, section)
        );
    }
    if let Some(section) = everywhere.filter(|section| section.shared) {
        return only_read(&lock_name(view, section));
    }
    let races = view.orders.is_race(triple.first, triple.remote)
        || view.orders.is_race(triple.remote, triple.second);
    let is_atomic = |row: &EventId| view.event(*row).kind.is_atomic();
    match (
        races,
        first.is_empty() && second.is_empty() && remote.is_empty(),
    ) {
        (true, _) if !view.sees_all_locks() => {
            format!(
                "These accesses of `{name}` have no lock in common, as far as locks were recorded."
            )
        }
        (true, true) => {
            format!("No lock is held at these accesses of `{name}`: this is also a data race.")
        }
        (true, false) => {
            format!("These accesses of `{name}` have no lock in common: this is also a data race.")
        }
        (false, true)
            if [triple.first, triple.remote, triple.second]
                .iter()
                .all(is_atomic) =>
        {
            "Each access is atomic, but the two together are not.".to_owned()
        }
        _ => String::new(),
    }
}

/// Sentence about two threads that hold a lock each. Where the source calls both by one name (`bucket->lock`), only the
/// objects distinguish them.
fn different_locks(
    view: &View,
    (own, section): (EventId, &Section),
    (remote, other): (EventId, &Section),
) -> String {
    let (name, others) = (lock_name(view, section), lock_name(view, other));
    let (who, whose) = (view.words(own), view.words(remote));
    if name != others {
        return format!("{who} holds `{name}`, but {whose} holds `{others}`: different locks.");
    }
    let object = |of: &Section| Location::in_words(view.run.location(of.lock));
    match (object(section), object(other)) {
        (one, another) if one != another => format!(
            "{who} and {whose} hold a `{name}` each, but not the same one: the first is {one}, the second {another}."
        ),
        _ => format!("{who} and {whose} hold a `{name}` each, but not the same one."),
    }
}

/// Sentence about a lock that all hold, but only for reading.
fn only_read(lock: &str) -> String {
    format!("All of these accesses hold `{lock}`, but for reading only, which lets others in.")
}

/// Sentence about the lock of a section that its thread releases, and holds again at a later access. It names the function
/// whose own section this was, by itself or through functions that lock for it. A caller of functions with sections of their
/// own releases nothing: it only does not hold the lock in between.
pub(super) fn released_between(view: &View, section: &Section, later: EventId) -> String {
    let mut again = view.orders.locks_held(later).into_iter();
    let again = again.find(|other| other.lock == section.lock);
    let taken = again.map_or(later, |again| again.acquired);
    let released = section.released.unwrap_or(section.acquired);
    let whose = enclosing(view, released, taken);
    let lock = lock_name(view, section);
    match enclosing(view, section.acquired, released) == whose {
        true => format!("Both accesses hold `{lock}`, but {whose} releases it between them."),
        false => format!(
            "Both accesses hold `{lock}`, but {whose} does not hold it from one to the other."
        ),
    }
}

/// The last wait on a condition variable between the two accesses of one thread.
fn wait_between(view: &View, triple: &Triple) -> Option<EventId> {
    let before = view.rows.before(view.thread(triple.second), triple.second);
    let mut between = before.iter().rev().copied();
    let mut between = between.by_ref().take_while(|row| *row > triple.first);
    between.find(|row| view.event(*row).kind == EventKind::Wait)
}

/// Returns whether the thread repeats its check after the wait, as a loop around a wait does.
fn looks_again(view: &View, triple: &Triple, wait: EventId) -> bool {
    let looked = view.event(triple.first);
    let column = |row: EventId| view.run.meta.site(view.event(row).site).column;
    let own = view.rows.before(looked.thread, triple.second).iter();
    let behind = own.rev().take_while(|row| **row > wait);
    let mut reads = behind
        .chain([&triple.second])
        .filter(|row| view.event(**row).kind.reads());
    // A loop may find that it need not look at all of what it asks for.
    let then = view.place(triple.first);
    let is_any = asks_again(&then);
    reads.any(|&row| {
        let now = view.place(row);
        let is_it = is_any || column(triple.first) == column(row);
        (&then.file, then.line) == (&now.file, now.line) && is_it
    })
}

/// A change by other threads that the thread, which checks again after its wait, did not see, since the old
/// value was restored by then.
fn missed(view: &View, triple: &Triple) -> Option<EventId> {
    let wait = wait_between(view, triple)?;
    let (first, second) = (view.event(triple.first), view.event(triple.second));
    let is_back = first.value.is_some() && first.value == second.value;
    if !is_back || !first.kind.reads() || !looks_again(view, triple, wait) {
        return None;
    }
    let between = view.orders.accesses().after(triple.location, wait).iter();
    let mut between = between.copied().take_while(|row| *row < triple.second);
    between.find(|&row| {
        let event = view.event(row);
        event.thread != first.thread && event.kind.writes() && event.value != first.value
    })
}

/// The last barrier that the thread reached between its two accesses.
fn barrier_between(view: &View, triple: &Triple) -> Option<EventId> {
    let before = view.rows.before(view.thread(triple.second), triple.second);
    let mut between = before.iter().rev().take_while(|row| **row > triple.first);
    between
        .find(|row| view.event(**row).kind == EventKind::BarrierArrive)
        .copied()
}

/// Explains accesses around a barrier, which are not one atomic step: the other thread left the barrier too
/// early.
fn behind_barrier(view: &View, triple: &Triple, arrival: EventId) -> String {
    let (second, at) = (view.place(triple.second), view.place(arrival));
    if !view.orders.concurrent(triple.remote, triple.second) {
        return String::new();
    }
    format!(
        "{} was at the barrier of {} in between: behind it nothing keeps {} from {} until {} has run.",
        view.words(triple.first),
        line(&at, &second),
        view.name(triple.remote),
        line(&view.place(triple.remote), &second),
        line(&second, &second)
    )
}

/// Sentence about a wait, which releases the lock: the checked data can change before it returns, and no lock
/// helps.
fn waited(view: &View, triple: &Triple, wait: EventId, lock: &str, name: &str) -> String {
    let (first, at) = (view.place(triple.first), view.place(wait));
    let again = match view.event(triple.first).kind.reads() {
        true if looks_again(view, triple, wait) => {
            "it looks again only when it has been woken and has the lock".to_owned()
        }
        true => "look again after the wait (`while` instead of `if`)".to_owned(),
        false => format!("`{name}` can change there"),
    };
    format!(
        "{} waits at {} in between, and that gives `{lock}` back: {again}.",
        view.words(triple.first),
        line(&at, &first)
    )
}

/// The function that contains or calls both rows; else the thread.
fn enclosing(view: &View, first: EventId, second: EventId) -> String {
    let common = common_sites(&view.run, first, second);
    match common.map(|(site, _)| &view.run.meta.site(site).function) {
        Some(function) if !function.is_empty() => facts::without_instance(function),
        _ => view.words(first),
    }
}

/// The lines that should be atomic.
pub(super) fn region(view: &View, first: EventId, second: EventId) -> Option<Region> {
    let (from, to) = common_sites(&view.run, first, second)?;
    if view.comes_again(first, second) || taken_again(view, first, second) {
        return None;
    }
    let (from, to) = (view.run.meta.site(from), view.run.meta.site(to));
    let (held, again) = (own_locks(view, first), own_locks(view, second));
    let mut held = held.iter();
    let guards = held.find(|section| again.iter().any(|s| s.lock == section.lock));
    (from.file == to.file && from.line != 0).then(|| Region {
        file: from.file.clone(),
        first: from.line.min(to.line),
        last: from.line.max(to.line),
        function: from.function.clone(),
        lock: guards.map(|section| lock_name(view, section)),
    })
}

/// Contrast with the passing runs by lines; where only the call path to the lines distinguishes runs, there
/// is none.
fn contrast(draft: &mut Draft, view: &View, triple: &Triple) {
    let claim = Claim::Between {
        first: view.operation(triple.first),
        remote: view.operation(triple.remote),
        second: view.operation(triple.second),
    };
    let is_new = view.corpus.counts().triple_runs(view.triple_key(triple)) == 0;
    draft.contrast(claim, true, |counted| !is_new || counted.holds_in == 0);
}
