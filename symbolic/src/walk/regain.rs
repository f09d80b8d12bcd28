//! Recovery of threads that could not be followed: from the start routine where the run names it, or from the
//! next function entry that an event identifies.

use super::{
    calls::COVERAGE,
    machine::PathMachine,
    points::Spot,
    thread::{Activity, BranchState, Todo},
    value::Val,
};
use unsnarl_trace::{
    Event, EventKind, ThreadId,
    program::{BlockId, FunctionId, Op, UnitId},
};

impl PathMachine<'_> {
    /// The initial activity of a thread whose creation was not followed: its start routine, if that leads to
    /// its first event, with an unknown argument.
    pub fn begin_by_name(&mut self, id: ThreadId) -> Option<Vec<Todo>> {
        let start = self.run.meta.thread(id).start.clone();
        let (_, row) = self.peek(id).filter(|_| !start.is_empty())?;
        let at = self.function_named(&start)?;
        let home = *self.code_at.get(&at)?;
        let goal = self.points.get(row.point);
        let leads = match goal {
            Some(goal) => self.leads_to(id, home, BlockId(0), goal).is_some(),
            None => row.kind == EventKind::End,
        };
        let arguments = leads.then(|| self.unknown_arguments(id, home))?;
        let function = super::value::Scalar::address(&mut self.exprs, at);
        Some(vec![Todo::Call(function, arguments), Todo::End])
    }

    /// Unknown arguments for a function.
    fn unknown_arguments(
        &mut self,
        id: ThreadId,
        (unit, function): (UnitId, FunctionId),
    ) -> Vec<Val> {
        let Some(code) = self.program.function(unit, function) else {
            return Vec::new();
        };
        let name = format!("an argument of {}", code.display);
        let types = code.parameters.iter();
        types.map(|&ty| self.strange(id, unit, ty, &name)).collect()
    }

    /// Follows a lost thread again when its event is the first one that a function can have; `true` if it
    /// does.
    pub fn regain(&mut self, id: ThreadId, row: Event) -> bool {
        let is_lost = self
            .thread(id)
            .is_some_and(|thread| thread.state == BranchState::Lost);
        let spot = self.points.get(row.point).filter(|_| is_lost);
        let Some(spot) = spot.filter(|spot| self.paths.is_none() && self.is_first_event(*spot))
        else {
            return false;
        };
        let home = (spot.0, spot.1);
        let arguments = self.unknown_arguments(id, home);
        if let Some(thread) = self.thread_mut(id) {
            thread.state = BranchState::Followed;
            thread.idle = 0;
            thread.announced.clear();
            thread.stack = vec![Activity::Native([Todo::Lost].into())];
        }
        self.enter(id, home, arguments)
    }

    /// `true` if no instruction of the function before this one makes an event.
    fn is_first_event(&self, (unit, function, at): Spot) -> bool {
        let Some(code) = self.program.function(unit, function) else {
            return false;
        };
        let Some(first) = code.blocks.first() else {
            return false;
        };
        let before = code.instructions.get(first.from as usize..at as usize);
        let is_silent = |op: &Op| match op {
            Op::Call { callee, .. } => self.callee_name(unit, *callee).is_some_and(|name| {
                name.starts_with("llvm.")
                    || name.starts_with("__tsan_func_entry")
                    || name.starts_with(COVERAGE)
            }),
            _ => true,
        };
        at < first.to && before.is_some_and(|all| all.iter().all(|one| is_silent(&one.op)))
    }

    /// Loses the thread again after the function in which it was regained has returned.
    pub fn lost_again(&mut self, id: ThreadId) {
        self.chose_right(id);
        if let Some(thread) = self.thread_mut(id) {
            thread.state = BranchState::Lost;
            thread.stack.clear();
        }
    }
}
