//! Two locks in the same order everywhere.

use super::{
    Case,
    atomic::Changes,
    model::{Fix, FixKind, Guarded},
    text::{Refusal, lock_order},
};
use crate::explanation::{Role, SiteMark};

/// Takes the two locks of a deadlock in one order.
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
    let ([one, other], [_, _]) = (waits.as_slice(), holds.as_slice()) else {
        return ring(case, &waits, &holds);
    };
    let held = |by: &SiteMark| {
        holds
            .iter()
            .find(|mark| mark.thread == by.thread && mark.place.file == by.place.file)
    };
    let (Some(first), Some(second)) = (held(one), held(other)) else {
        return Err("where the held lock was taken is not known".to_owned());
    };
    let by_address = (first.place.line, one.place.line) == (second.place.line, other.place.line);
    let mut why = String::new();
    for (held, wanted) in [(first, one), (second, other)] {
        let source = case.files.get(&wanted.place.file)?;
        let changes = match by_address {
            true => lock_order::by_address(source, held.place.line, wanted.place.line),
            false => lock_order::earlier(source, held.place.line, wanted.place.line),
        };
        match changes {
            Ok(changes) => {
                let title = match by_address {
                    true => format!(
                        "take the locks of lines {} and {} in the order of their addresses",
                        held.place.line, wanted.place.line
                    ),
                    false => format!(
                        "take `{}` (line {}) before `{}` (line {})",
                        wanted.location, wanted.place.line, held.location, held.place.line
                    ),
                };
                let cost = match by_address {
                    true => "a comparison of addresses".to_owned(),
                    false => format!("`{}` is held for a few lines longer", wanted.location),
                };
                let edits = Changes::from([(wanted.place.file.clone(), changes)]);
                let edits = case.files.edits(&edits)?;
                return Ok(Fix {
                    assumes: vec!["no third lock closes the ring".to_owned()],
                    exclusive: between([(first, one), (second, other)]),
                    ..Fix::edit(FixKind::LockOrder, title, edits, cost)
                });
            }
            Err(new) => why = new,
        }
    }
    Err(why)
}

/// More than two threads that take two locks on the same lines: by their addresses, the locks have one order.
fn ring(case: &Case<'_>, waits: &[&SiteMark], holds: &[&SiteMark]) -> Result<Fix, Refusal> {
    let line = |mark: &&SiteMark| (mark.place.file.clone(), mark.place.line);
    let one_line = |marks: &[&SiteMark]| {
        let mut all: Vec<(String, u32)> = marks.iter().map(line).collect();
        all.dedup();
        <[(String, u32); 1]>::try_from(all).ok()
    };
    let (Some([(file, wanted)]), Some([(of_held, held)])) = (one_line(waits), one_line(holds))
    else {
        return Err("more than two threads wait for each other, on different lines".to_owned());
    };
    if file != of_held {
        return Err("the two locks are taken in different files".to_owned());
    }
    let changes = lock_order::by_address(case.files.get(&file)?, held, wanted)?;
    let edits = case.files.edits(&Changes::from([(file, changes)]))?;
    Ok(Fix {
        assumes: vec!["no other lock closes the ring".to_owned()],
        ..Fix::edit(
            FixKind::LockOrder,
            format!("take the locks of lines {held} and {wanted} in the order of their addresses"),
            edits,
            "a comparison of addresses".to_owned(),
        )
    })
}

/// From where a thread holds one of the locks to where it asks for the other: with one order two threads cannot both
/// be there.
fn between(pairs: [(&SiteMark, &SiteMark); 2]) -> Vec<Guarded> {
    let mut all: Vec<Guarded> = pairs
        .into_iter()
        .map(|(held, wanted)| Guarded {
            file: wanted.place.file.clone(),
            first: held.place.line.min(wanted.place.line),
            last: held.place.line.max(wanted.place.line),
            function: wanted.place.function.clone(),
        })
        .collect();
    all.dedup();
    all
}
