//! Checks that patterns do not contradict themselves.

use super::{
    AccessType,
    parse::{Label, PatternSequences, Wrong, access_type},
};

/// Bound on the events of a pattern.
const MOST: usize = 255;

/// Finds the first contradiction. The sequences have equal length; `start` is the position of T.
pub(super) fn check(sequences: &PatternSequences<'_>, start: usize) -> Result<(), Wrong> {
    let count = sequences.threads.len();
    if !(2..=MOST).contains(&count) {
        let message = format!("the pattern has {count} events; expected 2 to {MOST}");
        return Err((start, message));
    }
    for access in &sequences.accesses {
        access_type(access)?;
    }
    one_thread_each(sequences)?;
    not_left_and_entered_again(sequences)?;
    if sequences.consecutive {
        consecutive(sequences, start)?;
    }
    conflict(sequences, start)
}

/// Checks that each region belongs to one thread.
fn one_thread_each(sequences: &PatternSequences<'_>) -> Result<(), Wrong> {
    let pairs = || sequences.regions.iter().zip(&sequences.threads);
    for (region, thread) in pairs() {
        if let Some((_, other)) = pairs().find(|(r, t)| r.0 == region.0 && t.0 != thread.0) {
            let message = format!(
                "region {} has events of thread {} and of thread {}; a region is one thread's",
                region.0, other.0, thread.0
            );
            return Err((region.1, message));
        }
    }
    Ok(())
}

/// Checks that regions of a thread don't overlap: an event of another region ends a region.
fn not_left_and_entered_again(sequences: &PatternSequences<'_>) -> Result<(), Wrong> {
    let events: Vec<(&Label<'_>, &Label<'_>)> =
        sequences.regions.iter().zip(&sequences.threads).collect();
    for (at, (region, thread)) in events.iter().enumerate() {
        let mut mine = events.iter().take(at).filter(|(_, t)| t.0 == thread.0);
        let seen = mine.clone().any(|(r, _)| r.0 == region.0);
        let newest = mine.next_back();
        if let Some((left_for, _)) = newest.filter(|(r, _)| seen && r.0 != region.0) {
            let message = format!(
                "thread {} comes back to region {} after region {}: this can never match; expected a new region",
                thread.0, region.0, left_for.0
            );
            return Err((region.1, message));
        }
    }
    Ok(())
}

fn consecutive(sequences: &PatternSequences<'_>, start: usize) -> Result<(), Wrong> {
    match (sequences.threads.as_slice(), sequences.variables.as_slice()) {
        ([_, _], [a, b]) if a.0 == b.0 => Ok(()),
        ([_, _], [_, b]) => Err((
            b.1,
            "consecutive events are accesses of one variable; expected the same twice".to_owned(),
        )),
        (events, _) => Err((
            start,
            format!(
                "`consecutive` is for two events and there are {}",
                events.len()
            ),
        )),
    }
}

/// Checks that two threads access some variable and one of them writes it.
fn conflict(sequences: &PatternSequences<'_>, start: usize) -> Result<(), Wrong> {
    let (Some(first), threads) = (sequences.threads.first(), &sequences.threads) else {
        return Ok(());
    };
    if threads.iter().all(|thread| thread.0 == first.0) {
        let message = format!(
            "all events are of thread {}: no order of threads changes them; expected two threads",
            first.0
        );
        return Err((start, message));
    }
    let events = || {
        sequences
            .variables
            .iter()
            .zip(threads)
            .zip(&sequences.accesses)
    };
    let writes = |access| matches!(access_type(access), Ok(AccessType::Write));
    let conflicts = events().any(|((variable, thread), access)| {
        writes(access) && events().any(|((v, t), _)| v.0 == variable.0 && t.0 != thread.0)
    });
    if conflicts {
        return Ok(());
    }
    Err((
        start,
        "no variable is written by one thread and accessed by another: every order gives the same"
            .to_owned(),
    ))
}
