//! Acquisition of two locks in the same order everywhere.

use super::{
    Case,
    atomic::Changes,
    model::{Fix, FixKind, Ordered},
    right,
    text::{Refusal, change::Change, lock_order},
};
use crate::{
    callers::parting,
    explanation::{Role, SiteMark},
};
use unsnarl_trace::EventId;

/// Makes all threads acquire the two locks of a deadlock in one order.
pub(super) fn same_order(case: &Case<'_>) -> Result<Fix, Refusal> {
    let of = |role: Role| -> Vec<&SiteMark> {
        case.explanation
            .sites
            .iter()
            .filter(|mark| mark.role == role)
            .collect()
    };
    let (waits, holds) = (of(Role::Cause), of(Role::Interference));
    if !waits.iter().all(|mark| mark.access.contains("lock")) {
        return Err("not only locks are waited for".to_owned());
    }
    let mut all = Vec::new();
    for wait in waits {
        all.push(nested(case, wait, &holds)?);
    }
    match all.as_slice() {
        [one, other] => two(case, one, other),
        _ => ring(case, &all),
    }
}

/// Two nested acquisitions of a thread, as they appear in the function that makes both, itself or through its
/// callees.
struct Nested<'a> {
    file: String,
    held: u32,
    wanted: u32,
    held_lock: &'a str,
    wanted_lock: &'a str,
}

fn nested<'a>(
    case: &Case<'_>,
    wanted: &'a SiteMark,
    holds: &[&'a SiteMark],
) -> Result<Nested<'a>, Refusal> {
    let unknown = || "where the held lock was taken is not known".to_owned();
    let mut own = holds.iter().filter(|mark| mark.thread == wanted.thread);
    let held = own.next().ok_or_else(unknown)?;
    let row = |mark: &SiteMark| {
        let at = mark.step?.checked_sub(1)?;
        let step = case.explanation.steps.get(at as usize)?;
        Some(EventId(step.event))
    };
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
    Ok(Nested {
        file: a.0.clone(),
        held: a.2,
        wanted: b.2,
        held_lock: &held.location,
        wanted_lock: &wanted.location,
    })
}

fn two(case: &Case<'_>, one: &Nested<'_>, other: &Nested<'_>) -> Result<Fix, Refusal> {
    if (&one.file, one.held, one.wanted) == (&other.file, other.held, other.wanted) {
        return by_address(case, one);
    }
    // What the text allows in one thread, a run may contradict: others nest the locks as that thread does.
    let first = right(case, earlier(case, one));
    first.or_else(|_| earlier(case, other))
}

/// Makes one of the threads acquire the lock it wants before the one it holds.
fn earlier(case: &Case<'_>, own: &Nested<'_>) -> Result<Fix, Refusal> {
    let changes = lock_order::earlier(case.files.get(&own.file)?, own.held, own.wanted)?;
    let title = format!(
        "take `{}` (line {}) before `{}` (line {})",
        own.wanted_lock, own.wanted, own.held_lock, own.held
    );
    let cost = format!("`{}` is held for a few lines longer", own.wanted_lock);
    fix(case, own, changes, Told { title, cost }, false)
}

fn by_address(case: &Case<'_>, own: &Nested<'_>) -> Result<Fix, Refusal> {
    let changes = lock_order::by_address(case.files.get(&own.file)?, own.held, own.wanted)?;
    let title = format!(
        "take the locks of lines {} and {} in the order of their addresses",
        own.held, own.wanted
    );
    let cost = "a comparison of addresses".to_owned();
    fix(case, own, changes, Told { title, cost }, true)
}

/// Makes more than two threads that acquire two locks on the same lines order them by address.
fn ring(case: &Case<'_>, all: &[Nested<'_>]) -> Result<Fix, Refusal> {
    let first = all.first().ok_or("nobody waits")?;
    let same = |one: &Nested<'_>| {
        (&one.file, one.held, one.wanted) == (&first.file, first.held, first.wanted)
    };
    match all.iter().all(same) {
        true => by_address(case, first),
        false => Err("more than two threads wait for each other, on different lines".to_owned()),
    }
}

/// Text of a fix.
struct Told {
    title: String,
    cost: String,
}

fn fix(
    case: &Case<'_>,
    own: &Nested<'_>,
    changes: Vec<Change>,
    told: Told,
    by_address: bool,
) -> Result<Fix, Refusal> {
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
