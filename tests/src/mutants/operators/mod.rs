//! The operators: each makes one kind of mistake, at every place of a program where it fits.

mod atomics;
mod locks;
mod publication;
mod sections;
mod signals;
mod starts;
mod threads;
mod waits;

use super::{
    edits::Edits,
    model::{BaseProgram, LockedStatements},
};
use std::ops::Range;
use unsnarl_core::BugKind;

/// One mutant in the making.
pub struct MutantDraft {
    /// The change.
    pub edits: Edits,
    /// Parts of the program, before the change, that it concerns.
    pub region: Vec<Range<usize>>,
    /// Classes that are right for it.
    pub classes: Vec<BugKind>,
}

/// Finds the places of an operator.
type Operator = fn(&BaseProgram) -> Vec<MutantDraft>;

/// All operators whose mutants count, with their names.
pub const OPERATORS: [(&str, Operator); 17] = [
    ("drop-lock", locks::drop_lock),
    ("other-lock", locks::other_lock),
    ("leak-lock", locks::leak_lock),
    ("reverse-locks", locks::reverse_locks),
    ("shrink-section", sections::shrink),
    ("split-section", sections::split),
    ("check-outside", sections::check_outside),
    ("swap-publication", publication::swap),
    ("publish-early", publication::early),
    ("delay-init", starts::delay_init),
    ("drop-join", threads::drop_join),
    ("free-early", threads::free_early),
    ("if-wait", waits::look_once),
    ("drop-wait", waits::drop_wait),
    ("signal-one", signals::signal_one),
    ("drop-signal", signals::drop_signal),
    ("split-atomic", atomics::split),
];

/// The operator whose mutants do not count: unsnarl's schedules are sequentially consistent, so no order shows what
/// a weaker memory order allows.
pub const NOT_SHOWN: (&str, Operator) = ("weaken", atomics::weaken);

/// Bug classes of a section whose statements are no longer atomic.
fn broken_section(program: &BaseProgram, section: &LockedStatements) -> Vec<BugKind> {
    let mut classes = vec![
        BugKind::AtomicityViolation,
        BugKind::MultiVariableAtomicityViolation,
    ];
    if program.frees_under(&section.acquire.lock) {
        classes.push(BugKind::UseAfterFree);
    }
    if program.signals_under(&section.acquire.lock) {
        classes.push(BugKind::LostWakeup);
    }
    classes
}
