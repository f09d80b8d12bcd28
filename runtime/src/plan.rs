//! Choices that are prescribed by the position of their thread ([`Directive`]): the part of a schedule that the
//! strategy would not have chosen by itself.

use crate::state::{SHARED, thread};
use unsnarl_trace::raw::{ChoiceKind, Directive};

/// The prescribed choice of the thread with the turn, if there is one here. Called once for each choice: it uses the
/// directive up.
#[inline(always)]
pub fn next_planned(kind: ChoiceKind) -> Option<u16> {
    if SHARED.plan_len.get() == 0 {
        return None;
    }
    find(kind)
}

fn find(kind: ChoiceKind) -> Option<u16> {
    let this = thread(SHARED.current.get());
    let here = (this.number.get(), this.passed.get());
    let mut at = this.plan_at.get();
    while directive(at).is_some_and(|next| (next.thread, next.step) < here) {
        at += 1;
    }
    this.plan_at.set(at);
    let next = directive(at)?;
    let is_it = (next.thread, next.step) == here && next.kind == kind as u8;
    if is_it {
        this.plan_at.set(at + 1);
    }
    is_it.then_some(next.choice)
}

fn directive(at: u64) -> Option<Directive> {
    // SAFETY: below the length that the recorder wrote.
    (at < SHARED.plan_len.get()).then(|| unsafe { *SHARED.plan.get().add(at as usize) })
}
