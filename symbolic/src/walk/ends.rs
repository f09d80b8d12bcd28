//! Ends of runs: exits, failures, bad addresses, accesses of freed blocks.

use super::{
    calls::{Did, MadeCall},
    machine::{Due, PathMachine},
    thread::Todo,
    value::Scalar,
};
use crate::trace::{Bug, StepId};
use unsnarl_trace::{EventKind, FailureKind, ThreadId};

/// Bound below which no object lies: such an address is null plus a member's offset.
pub(super) const NEAR_NULL: u64 = 1 << 16;

impl PathMachine<'_> {
    /// Functions that end the program.
    pub fn ends(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        match made.name {
            "__assert_fail"
            | "abort"
            | "_ZSt9terminatev"
            | "__assert_perror_fail"
            | "__stack_chk_fail"
            | "__cxa_pure_virtual"
            | "__assert" => {
                match self.due_inside(id) {
                    Due::Later | Due::Over => return Ok(Did::Wait),
                    Due::Elsewhere => return Ok(Did::Strange),
                    Due::Now(_, row) => {
                        self.raw(id);
                        if row.kind != EventKind::Failure {
                            return Ok(Did::Wait);
                        }
                    }
                }
                self.fails_here(id);
                Ok(self.gone(id))
            }
            "exit" | "_exit" | "_Exit" | "quick_exit" => {
                let status = made.argument(0).ok_or("a call without arguments")?;
                self.exits_with(id, status);
                if let Some(thread) = self.thread_mut(id) {
                    thread.stack.clear();
                }
                self.begin_native(id, [Todo::Exit]);
                Ok(Did::Entered)
            }
            _ => Ok(Did::Strange),
        }
    }

    /// Notes the program's exit status, which fails the run unless it is 0.
    pub fn exits_with(&mut self, id: ThreadId, status: Scalar) {
        let is_exit = self
            .run
            .meta
            .failure
            .as_ref()
            .is_some_and(|failure| failure.kind == FailureKind::Exit);
        if !is_exit || status.bits == Some(0) {
            return;
        }
        if status.is_symbolic(&self.exprs) {
            let width = self.exprs.width(status.expr);
            let zero = Scalar::number(&mut self.exprs, 0, width);
            let fails = status
                .compare(&mut self.exprs, crate::expr::Comparison::Eq, zero)
                .not(&mut self.exprs);
            return self.fails_if(id, fails, "the exit status is always the same");
        }
        self.fails_here(id);
    }

    /// Ends the run in an access through this pointer.
    pub fn bad_address(&mut self, id: ThreadId, pointer: Scalar) {
        let Some(bits) = pointer.bits else {
            self.bug = Bug::Unknown("the address of the access that failed is not known\n  next: look at the access itself".into());
            return;
        };
        let at = bits as u64;
        if at >= NEAR_NULL {
            if let Some(freed) = self.freed_at(at) {
                let step = self.last_access(id);
                self.bug = Bug::AfterFree { step, freed };
                return;
            }
            self.bug = Bug::Unknown("an access failed at an address that is not null\n  next: look at where the pointer comes from".into());
            return;
        }
        let condition = self.as_it_was(pointer);
        match condition {
            Some(condition) => self.fails_if(id, condition, "the null pointer does not depend on what threads share\n  next: look at where the pointer comes from"),
            None => self.fails_here(id),
        }
    }

    fn last_access(&self, id: ThreadId) -> StepId {
        let count = self
            .thread(id)
            .map_or(0, |thread| thread.steps.len() as u32);
        StepId {
            thread: id,
            index: count.saturating_sub(1),
        }
    }

    fn freed_at(&self, at: u64) -> Option<StepId> {
        let base = self.memory.object(at)?.base;
        self.freed.get(&base).copied()
    }

    /// Notes an access of a freed block, which explains a later failure.
    pub fn meets_freed(&mut self, id: ThreadId, at: u64) {
        if !self.memory.is_freed(at) || self.after_free.is_some() {
            return;
        }
        if let Some(freed) = self.freed_at(at) {
            let step = self
                .thread(id)
                .map(|thread| thread.next_step())
                .unwrap_or_default();
            self.after_free = Some((step, freed));
        }
    }

    /// Returns whether the last access ended the run, as that of a freed block does, and then uses its
    /// failure event.
    pub fn ends_with_access(&mut self, id: ThreadId) -> bool {
        let failure = self.run.meta.failure.as_ref();
        let is_kind = failure.is_some_and(|failure| failure.kind == FailureKind::UseAfterFree);
        let next = self
            .peek(id)
            .filter(|(_, row)| row.kind == EventKind::Failure);
        match next.filter(|_| is_kind) {
            Some((_, row)) => {
                self.use_event(id, row.site);
                true
            }
            None => false,
        }
    }

    pub fn freed_twice(&mut self, id: ThreadId, at: u64) {
        let Some(freed) = self.freed_at(at) else {
            self.bug = Bug::Unknown("a block was freed that is none".into());
            return;
        };
        let site = self.here(id);
        let action = crate::trace::Action::Sync {
            kind: EventKind::Free,
            object: self.names.get(&(at, 0)).copied().unwrap_or_default(),
            value: 0,
        };
        let step = self.step(id, None, site, action);
        self.bug = Bug::AfterFree { step, freed };
    }
}
