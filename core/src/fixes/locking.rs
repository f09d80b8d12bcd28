//! Fixes that hold a lock for longer, ordered from the smallest change to a new mutex.

use super::{
    FixInput, atomic, exclusively, kept, lacking,
    model::Fix,
    mutexes, other_lock, places, rejoin, right,
    seen::{self, RunEvidence},
    text::EditRefusal,
};
use crate::explanation::BugKind;
use std::collections::BTreeSet;

/// Reason given when the search for fixes was cut short.
const LATE: &str = "the time was over before all ways to hold a lock were looked at";

/// Bound on the fixes offered, which trials distinguish; those in doubt are as many again.
const MOST: usize = 3;

/// Fixes that make the blamed accesses atomic, the best first: the explanation's region under the lock that
/// guards it, sections that were split, the lock where it is missing, a new mutex. `is_last` when no other
/// kind of fix is offered.
pub(super) fn held(case: &FixInput<'_>, is_last: bool, refused: &mut Vec<EditRefusal>) -> Vec<Fix> {
    let blamed = places::families(case.explanation);
    let wanted = || places::wanted(case);
    let known = match case.explanation.kind {
        // The check and the wait are atomic already.
        BugKind::LostWakeup => None,
        _ => wanted().map(|wanted| (wanted, blamed.clone())),
    };
    let known = match is_last && case.explanation.kind != BugKind::LostWakeup {
        true => known.or_else(|| places::both_sides(case)),
        false => known,
    };
    let data = known.as_ref().map_or(&blamed, |(_, data)| data);
    if data.is_empty() || known.is_none() && !is_last {
        return Vec::new();
    }
    let mut seen = seen::look(case.runs, data, case.budget);
    let (mut fixes, mut in_doubt) = (Vec::new(), Vec::new());
    let mut tried = |fix: Result<Fix, EditRefusal>, refused: &mut Vec<EditRefusal>| {
        let is_known = |fix: &Fix| !is_new(&fixes, fix) || !is_new(&in_doubt, fix);
        if fix.as_ref().is_ok_and(is_known) || fixes.len() == MOST {
            return;
        }
        if case.budget.stop().is_some() {
            if !refused.iter().any(|why| why == LATE) {
                refused.push(LATE.to_owned());
            }
            return;
        }
        match right(case, fix) {
            Ok(fix) if fix.doubt.is_none() => fixes.push(fix),
            Ok(fix) => in_doubt.push(fix),
            Err(why) if refused.contains(&why) => {}
            Err(why) => refused.push(why),
        }
    };
    let other = other_lock::instead(case, &seen).into_iter();
    for fix in other.chain(exclusively::exclusively(case)) {
        tried(fix, refused);
    }
    other_lock::forget(case.files, &mut seen);
    if let Some((wanted, _)) = &known {
        let lock = wanted.lock.clone().or_else(|| mutexes::usual(&seen));
        if let Some(lock) = lock {
            let wide = atomic::with_lock(wanted, &seen, case.files, &lock);
            let narrow = atomic::with_lock_alone(wanted, &seen, case.files, &lock);
            for fix in std::iter::once(wide).chain(narrow) {
                tried(fix, refused);
            }
        }
    }
    for fix in elsewhere(case, data, &seen) {
        tried(fix, refused);
    }
    if let Some((wanted, _)) = &known {
        let apart = places::wanted_apart(case, wanted);
        let apart = apart.map(|apart| atomic::with_new(&apart, &seen, case.files));
        let first = apart.and_then(|fixes| fixes.into_iter().find(Result::is_ok));
        for fix in first
            .into_iter()
            .chain(atomic::with_new(wanted, &seen, case.files))
        {
            tried(fix, refused);
        }
    }
    fixes.extend(in_doubt.into_iter().take(MOST));
    fixes
}

/// Fixes based on the locks in the runs, independent of the explanation's region.
fn elsewhere(
    case: &FixInput<'_>,
    data: &BTreeSet<String>,
    seen: &RunEvidence,
) -> Vec<Result<Fix, EditRefusal>> {
    let mut fixes = rejoin::rejoined(case, seen);
    fixes.extend(kept::until_used(case));
    fixes.extend(lacking::taken(case, data, seen));
    fixes
}

fn is_new(fixes: &[Fix], fix: &Fix) -> bool {
    fixes.iter().all(|known| known.edits != fix.edits)
}
