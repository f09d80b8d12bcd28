//! Acquisition of two locks in the same order everywhere.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind, Ordered},
    right,
    text::{EditRefusal, change::Change, lock_order},
};
use crate::{
    callers::parting,
    explanation::{Absent, BugKind, Role, SiteMark},
    facts::{basename, location_in_words, short},
};
use unsnarl_trace::EventId;

/// Refusal where no order of locks helps.
const NOT_ONLY_LOCKS: &str = "one of the threads waits for another thread's end, a signal or a change, not in a call that locks";

/// The lack of a program in which one of two threads takes its second lock in what it calls with the first one held, so that no edit
/// of one function brings them into one order.
pub(super) fn held_over_calls(case: &FixInput<'_>) -> Option<String> {
    let is_of_locks = case.explanation.kind == BugKind::Deadlock;
    let all = is_of_locks.then(|| nested_calls(case).ok())??;
    let [one, other] = all.as_slice() else {
        return None;
    };
    let is_circle = one.held_lock != one.wanted_lock && (one.calls || other.calls);
    let [first, second] = [one, other].map(|of| {
        let [held, wanted] = [of.held_lock, of.wanted_lock].map(location_in_words);
        let leads = if of.calls {
            "whose call leads to"
        } else {
            "which takes"
        };
        let at = format!("line {} of {}", of.wanted, basename(&of.file));
        format!("`{held}` is held over {at}, {leads} `{wanted}`")
    });
    is_circle.then(|| {
        format!(
            "{first}, and {second}: one of these lines has to run without the lock, or both locks be taken in one order"
        )
    })
}

/// Makes all threads acquire the two locks of a deadlock in one order.
pub(super) fn same_order(case: &FixInput<'_>) -> Result<Fix, EditRefusal> {
    let all = nested_calls(case)?;
    match all.as_slice() {
        [one] if one.held_lock == one.wanted_lock => Err(format!(
            "the thread that waits for `{}` holds it itself, since line {}: what line {} calls would have to be called without it",
            location_in_words(one.held_lock),
            one.held,
            one.wanted
        )),
        [one, _] if one.held_lock == one.wanted_lock => Err(format!(
            "the threads share `{}` already when each of them waits for more of it (line {}): no order of locks helps",
            location_in_words(one.held_lock),
            one.wanted
        )),
        [one, other] => two(case, one, other),
        _ => ring(case, &all),
    }
}

/// The nested acquisitions of the threads of a deadlock.
fn nested_calls<'a>(case: &FixInput<'a>) -> Result<Vec<NestedCalls<'a>>, EditRefusal> {
    let of = |role: Role| -> Vec<&SiteMark> {
        case.explanation
            .sites
            .iter()
            .filter(|mark| mark.role == role)
            .collect()
    };
    let (waits, holds) = (of(Role::Cause), of(Role::Interference));
    let holds_one = |wait: &&SiteMark| holds.iter().any(|mark| mark.thread == wait.thread);
    let is_for_lock = |wait: &&SiteMark| wait.access.contains("lock") && holds_one(wait);
    if !waits.iter().all(is_for_lock) {
        let lacked = case.explanation.absent.first();
        return Err(lacked.map_or_else(|| NOT_ONLY_LOCKS.to_owned(), in_words));
    }
    let nested = waits.into_iter().map(|wait| nested(case, wait, &holds));
    nested.collect()
}

/// A step that a thread lacks, as the reason for which no order helps.
fn in_words(lacked: &Absent) -> String {
    format!(
        "what {} lacks is a change like that at {}, and where it belongs is not known",
        lacked.thread,
        short(&lacked.place)
    )
}

/// Two nested acquisitions of a thread, as they appear in the function that makes both, itself or through its
/// callees.
struct NestedCalls<'a> {
    file: String,
    held: u32,
    wanted: u32,
    held_lock: &'a str,
    wanted_lock: &'a str,
    /// `true` if the second one is made in what the line calls.
    calls: bool,
}

fn nested<'a>(
    case: &FixInput<'_>,
    wanted: &'a SiteMark,
    holds: &[&'a SiteMark],
) -> Result<NestedCalls<'a>, EditRefusal> {
    let none = || NOT_ONLY_LOCKS.to_owned();
    let mut own = holds.iter().filter(|mark| mark.thread == wanted.thread);
    let held = own.next().ok_or_else(none)?;
    let row = |mark: &SiteMark| Some(EventId(case.explanation.step_of(mark)?.event));
    let rows = row(held).zip(row(wanted));
    let parted = rows.and_then(|(first, second)| parting(case.run, first, second));
    let place = |site| {
        let site = case.run.meta.site(site);
        (&site.file, &site.function, site.line)
    };
    let told = |mark: &'a SiteMark| (&mark.place.file, &mark.place.function, mark.place.line);
    let (a, b) = match parted {
        Some((a, b)) => (place(a), place(b)),
        None => (told(held), told(wanted)),
    };
    if (a.0, a.1) != (b.0, b.1) {
        return Err(format!(
            "the locks of lines {} and {} are not taken in one function",
            held.place.line, wanted.place.line
        ));
    }
    Ok(NestedCalls {
        file: a.0.clone(),
        held: a.2,
        wanted: b.2,
        held_lock: &held.location,
        wanted_lock: &wanted.location,
        calls: (b.0, b.2) != (&wanted.place.file, wanted.place.line),
    })
}

fn two(
    case: &FixInput<'_>,
    one: &NestedCalls<'_>,
    other: &NestedCalls<'_>,
) -> Result<Fix, EditRefusal> {
    if (&one.file, one.held, one.wanted) == (&other.file, other.held, other.wanted) {
        return by_address(case, one);
    }
    // What the text allows in one thread, a run may contradict: others nest the locks as that thread does.
    let first = right(case, earlier(case, one));
    first.or_else(|_| earlier(case, other))
}

/// Makes one of the threads acquire the lock it wants before the one it holds.
fn earlier(case: &FixInput<'_>, own: &NestedCalls<'_>) -> Result<Fix, EditRefusal> {
    let changes = lock_order::earlier(case.files.get(&own.file)?, own.held, own.wanted)?;
    let [wanted, held] = [own.wanted_lock, own.held_lock].map(location_in_words);
    let title = format!(
        "take `{wanted}` (line {}) before `{held}` (line {})",
        own.wanted, own.held
    );
    let cost = format!("`{wanted}` is held for a few lines longer");
    fix(case, own, changes, DeadlockFixText { title, cost }, false)
}

fn by_address(case: &FixInput<'_>, own: &NestedCalls<'_>) -> Result<Fix, EditRefusal> {
    let changes = lock_order::by_address(case.files.get(&own.file)?, own.held, own.wanted)?;
    let title = format!(
        "take the locks of lines {} and {} in the order of their addresses",
        own.held, own.wanted
    );
    let cost = "a comparison of addresses".to_owned();
    fix(case, own, changes, DeadlockFixText { title, cost }, true)
}

/// Makes more than two threads that acquire two locks on the same lines order them by address; of those on different lines, it
/// is enough that one of them takes its locks the other way round.
fn ring(case: &FixInput<'_>, all: &[NestedCalls<'_>]) -> Result<Fix, EditRefusal> {
    let first = all.first().ok_or("nobody waits")?;
    let same = |one: &NestedCalls<'_>| {
        (&one.file, one.held, one.wanted) == (&first.file, first.held, first.wanted)
    };
    match all.iter().all(same) {
        true => by_address(case, first),
        false => {
            let mut ways = all.iter().map(|one| right(case, earlier(case, one)));
            let first = ways.next().ok_or("nobody waits")?;
            ways.fold(first, Result::or)
        }
    }
}

/// Text of a fix.
struct DeadlockFixText {
    title: String,
    cost: String,
}

fn fix(
    case: &FixInput<'_>,
    own: &NestedCalls<'_>,
    changes: Vec<Change>,
    told: DeadlockFixText,
    by_address: bool,
) -> Result<Fix, EditRefusal> {
    let edits = Changes::from([(own.file.clone(), changes)]);
    let edits = case.files.edits(&edits)?;
    Ok(Fix {
        assumes: vec!["no third lock closes the ring".to_owned()],
        ordered: vec![Ordered::TakesFirst {
            file: own.file.clone(),
            line: own.wanted,
            before: own.held,
            by_address,
        }],
        ..Fix::edit(FixKind::LockOrder, told.title, edits, told.cost)
    })
}
