//! Deviations of a schedule: the choices that threads would not have made by themselves, had each of them run until
//! it waits.

use super::super::Details;
use unsnarl_trace::raw::{ChoiceKind, Detail, Directive, RecordKind};

/// A choice that the sequential strategy would not have made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Deviation {
    /// The choice, by the position of its thread.
    pub directive: Directive,
    /// `true` if a thread was left that could have gone on.
    pub preempts: bool,
    /// Records written before it.
    pub record: u64,
}

/// The deviations of one run, in its order.
pub(super) fn deviations(details: &Details) -> Vec<Deviation> {
    let special = details.choices.iter().filter(|choice| is_special(choice));
    let deviation = |choice: &Detail| Deviation {
        directive: Directive {
            thread: choice.running,
            kind: choice.kind,
            choice: choice.chosen,
            step: choice.step,
            ..Directive::default()
        },
        preempts: preempts(choice),
        record: choice.record,
    };
    special.map(deviation).collect()
}

/// The directives in the order that the runtime expects: by thread and step.
pub(super) fn plan(deviations: &[Deviation]) -> Vec<Directive> {
    let mut plan: Vec<Directive> = deviations.iter().map(|one| one.directive).collect();
    // Stable: choices of one step stay in their order.
    plan.sort_by_key(|directive| (directive.thread, directive.step));
    plan
}

/// Number of deviations that leave a thread that could have gone on.
pub(super) fn preemptions(deviations: &[Deviation]) -> usize {
    deviations.iter().filter(|one| one.preempts).count()
}

fn has(choice: &Detail, number: u16) -> bool {
    match 1u64.checked_shl(number.into()) {
        Some(bit) => choice.candidates & bit != 0,
        // Numbers without a bit are not known one by one: at least that there are some.
        None => choice.more != 0,
    }
}

pub(super) fn is_of_threads(choice: &Detail) -> bool {
    choice.kind == ChoiceKind::Thread as u8
}

/// Returns whether a thread could have gone on and another one ran.
fn preempts(choice: &Detail) -> bool {
    is_of_threads(choice)
        && choice.yields == 0
        && choice.chosen != choice.running
        && has(choice, choice.running)
}

fn is_special(choice: &Detail) -> bool {
    match ChoiceKind::from_u8(choice.kind) {
        Some(ChoiceKind::Thread) => Some(choice.chosen) != usual(choice),
        // Which waiter is the first is not known.
        Some(ChoiceKind::Waiter) | None => true,
        Some(_) => choice.chosen != 0,
    }
}

/// The thread that runs without a deviation: the same one, or the next one in the order of creation. `None` when not
/// all candidates are known.
fn usual(choice: &Detail) -> Option<u16> {
    let running = choice.running;
    if choice.yields == 0 && has(choice, running) {
        return Some(running);
    }
    if choice.more != 0 {
        return None;
    }
    let after = running.saturating_add(1)..64;
    let before = 0..running.saturating_add(1).min(64);
    after.chain(before).find(|&number| has(choice, number))
}

/// The threads that could have run instead of the one that did.
pub(super) fn others(choice: &Detail) -> impl Iterator<Item = u16> {
    let choice = *choice;
    (0..64u16).filter(move |&number| number != choice.running && has(&choice, number))
}

/// Points at which a run could have switched from its thread to another one: before each step on an object that two
/// threads use.
pub(super) fn points(details: &Details) -> Vec<Deviation> {
    let shared = shared(details);
    let mut points = Vec::new();
    for choice in &details.choices {
        let stays = is_of_threads(choice)
            && choice.yields == 0
            && choice.chosen == choice.running
            && has(choice, choice.running);
        let at = usize::try_from(choice.record).unwrap_or(usize::MAX);
        let next = details.records.get(at);
        let matters =
            next.is_some_and(|next| !is_access(next.kind) || shared.contains(&(next.addr >> 3)));
        if !stays || !matters {
            continue;
        }
        points.extend(others(choice).map(|other| Deviation {
            directive: Directive {
                thread: choice.running,
                kind: choice.kind,
                choice: other,
                step: choice.step,
                ..Directive::default()
            },
            preempts: true,
            record: choice.record,
        }));
    }
    points
}

fn is_access(kind: u8) -> bool {
    matches!(
        RecordKind::from_u8(kind),
        Some(
            RecordKind::Read
                | RecordKind::Write
                | RecordKind::ReadRange
                | RecordKind::WriteRange
                | RecordKind::Enter
                | RecordKind::Leave
                | RecordKind::Extra
        )
    )
}

/// Words of memory that two threads use.
fn shared(details: &Details) -> rustc_hash::FxHashSet<u64> {
    let mut first: rustc_hash::FxHashMap<u64, u16> = rustc_hash::FxHashMap::default();
    let mut shared = rustc_hash::FxHashSet::default();
    for record in &details.records {
        let user = *first.entry(record.addr >> 3).or_insert(record.thread);
        if user != record.thread {
            shared.insert(record.addr >> 3);
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(running: u16, candidates: u64, chosen: u16, yields: u8) -> Detail {
        Detail {
            candidates,
            running,
            chosen,
            yields,
            ..Detail::default()
        }
    }

    #[test]
    fn staying_and_going_on_in_order_is_usual() {
        assert!(!is_special(&choice(0, 0b11, 0, 0)));
        assert!(!is_special(&choice(0, 0b110, 1, 0)));
        assert!(!is_special(&choice(2, 0b011, 0, 0)));
        assert!(!is_special(&choice(1, 0b111, 2, 1)));
    }

    #[test]
    fn leaving_a_thread_that_could_go_on_is_a_preemption() {
        assert!(preempts(&choice(0, 0b11, 1, 0)));
        // It gave way, or it had to wait.
        assert!(!preempts(&choice(0, 0b11, 1, 1)));
        assert!(!preempts(&choice(0, 0b10, 1, 0)));
        // Special all the same: the turn was the next one's.
        assert!(is_special(&choice(0, 0b110, 2, 0)));
        assert!(!preempts(&choice(0, 0b110, 2, 0)));
    }
}
