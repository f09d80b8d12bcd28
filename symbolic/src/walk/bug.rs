//! The bug condition, read back from the branches that led to the failure.

use super::{
    calls::COVERAGE,
    machine::PathMachine,
    thread::{Activity, FunctionFrame, TakenBranch},
    value::Scalar,
};
use crate::{
    expr::{Binary, ExprId},
    trace::{Action, Bug, StepId},
};
use rustc_hash::FxHashSet;
use unsnarl_trace::{
    ThreadId,
    program::{BlockId, Constant, Function, Op, Operand, UnitId},
};

/// Target of the other way of a branch that led to the failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherBranch {
    /// The failure as well.
    Fails,
    /// Code past the failure.
    Passes,
    /// Either, depending on later branches.
    Depends,
}

impl PathMachine<'_> {
    /// Ends the thread in a failure: the branches that led to its position are the bug condition.
    pub fn fails_here(&mut self, id: ThreadId) {
        let frames: Vec<FunctionFrame> = self.thread(id).map_or(Vec::new(), |thread| {
            let code = thread
                .stack
                .iter()
                .rev()
                .filter_map(|activity| match activity {
                    Activity::Code(frame) => Some((**frame).clone()),
                    Activity::Native(_) => None,
                });
            code.collect()
        });
        let found = frames.iter().find_map(|frame| self.deciding(frame));
        self.bug = match found {
            Some(deciding) => self.bug_of(id, &deciding),
            None => Bug::Unknown(
                "no branch decided that the run fails here\n  next: look at what the threads do before the failure in the recorded order".into(),
            ),
        };
        if matches!(self.bug, Bug::Unknown(_)) {
            self.last_branch_decides(id);
        }
    }

    /// The last branches of a frame that its current position is control dependent on, the last one first.
    fn deciding(&self, frame: &FunctionFrame) -> Option<Vec<(TakenBranch, OtherBranch)>> {
        let code = self.program.function(frame.unit, frame.function)?;
        let fails = frame.block;
        let mut deciding = Vec::new();
        for decision in frame.decisions.iter().rev() {
            let other = self.where_to((frame.unit, code), decision, fails);
            if deciding.is_empty() && other == OtherBranch::Fails {
                continue;
            }
            if other == OtherBranch::Depends && !deciding.is_empty() {
                break;
            }
            deciding.push((*decision, other));
            if other == OtherBranch::Depends {
                break;
            }
        }
        (!deciding.is_empty()).then_some(deciding)
    }

    /// The target of the way that a branch did not take.
    fn where_to(
        &self,
        (unit, code): (UnitId, &Function),
        decision: &TakenBranch,
        fails: BlockId,
    ) -> OtherBranch {
        if decision.other == decision.taken {
            return OtherBranch::Depends;
        }
        let other = self.through(unit, code, decision.block, decision.other);
        if other == fails {
            return OtherBranch::Fails;
        }
        let to_failure = reaches(code, other, decision.block, |block| block == fails);
        match to_failure {
            false => OtherBranch::Passes,
            true if leaves_without(code, other, fails) => OtherBranch::Depends,
            true => OtherBranch::Fails,
        }
    }

    /// The block behind those that only pass on a value decided by the way into them, as for `a || b` used as
    /// a value.
    fn through(&self, unit: UnitId, code: &Function, from: BlockId, to: BlockId) -> BlockId {
        let (mut from, mut to) = (from, to);
        for _ in 0..code.blocks.len() {
            let Some(next) = self.passed_on(unit, code, from, to) else {
                return to;
            };
            (from, to) = (to, next);
        }
        to
    }

    /// The successor of a block that does nothing: its only one, or the one chosen by a phi that is constant
    /// for this way.
    fn passed_on(
        &self,
        unit: UnitId,
        code: &Function,
        from: BlockId,
        to: BlockId,
    ) -> Option<BlockId> {
        let first = code.block(to).first()?;
        let Op::Phi(ways) = &first.op else {
            return self.only_goes_to(unit, code, to, 0);
        };
        let (condition, yes, no) = self.deciding_branch(unit, code, to)?;
        let (_, value) = ways.iter().find(|(came_from, _)| *came_from == from)?;
        let Operand::Constant(constant) = value else {
            return None;
        };
        let bits = match self.program.constant(unit, *constant)? {
            Constant::Integer { bits, .. } => *bits,
            Constant::Zero(_) => 0,
            _ => return None,
        };
        let way = if bits == 1 { yes } else { no };
        (first.result.map(Operand::Value) == Some(condition)).then_some(way)
    }

    /// The branch that a block starting with a phi reaches without doing anything else.
    fn deciding_branch(
        &self,
        unit: UnitId,
        code: &Function,
        block: BlockId,
    ) -> Option<(Operand, BlockId, BlockId)> {
        let (mut at, mut skipped) = (block, 1);
        for _ in 0..code.blocks.len() {
            let (last, between) = code.block(at).get(skipped..)?.split_last()?;
            if let Op::Branch { condition, yes, no } = &last.op {
                let is_bare = between.iter().all(|one| self.is_coverage(unit, &one.op));
                return is_bare.then_some((*condition, *yes, *no));
            }
            at = self.only_goes_to(unit, code, at, skipped)?;
            skipped = 0;
        }
        None
    }

    /// The successor of a block that does nothing but call back after so many instructions.
    fn only_goes_to(
        &self,
        unit: UnitId,
        code: &Function,
        block: BlockId,
        skipped: usize,
    ) -> Option<BlockId> {
        let (last, between) = code.block(block).get(skipped..)?.split_last()?;
        if !between.iter().all(|one| self.is_coverage(unit, &one.op)) {
            return None;
        }
        match &last.op {
            Op::Jump(next) => Some(*next),
            Op::Call { normal, .. } if self.is_coverage(unit, &last.op) => *normal,
            _ => None,
        }
    }

    fn is_coverage(&self, unit: UnitId, op: &Op) -> bool {
        let Op::Call { callee, .. } = op else {
            return false;
        };
        let name = self.callee_name(unit, *callee);
        name.is_some_and(|name| name.starts_with(COVERAGE))
    }

    fn bug_of(&mut self, id: ThreadId, deciding: &[(TakenBranch, OtherBranch)]) -> Bug {
        let mut condition: Option<(ExprId, ExprId)> = None;
        let mut folded: Vec<StepId> = Vec::new();
        let mut last = None;
        for (decision, other) in deciding {
            let so = decision.condition;
            // A condition that always holds decides nothing about other orders.
            let said = match self.exprs.constant(so) {
                Some(_) => so,
                None => decision.said,
            };
            let Some((inner, inner_said)) = condition else {
                condition = Some((so, said));
                last = decision.step;
                folded.extend(decision.step);
                continue;
            };
            let near = decision
                .step
                .is_none_or(|step| self.only_reads_since(id, step));
            if !near {
                break;
            }
            condition = Some(match other {
                OtherBranch::Fails => {
                    let (not, not_said) = (self.exprs.not(so), self.exprs.not(said));
                    (
                        self.exprs.binary(Binary::Or, not, inner),
                        self.exprs.binary(Binary::Or, not_said, inner_said),
                    )
                }
                _ => (
                    self.exprs.binary(Binary::And, so, inner),
                    self.exprs.binary(Binary::And, said, inner_said),
                ),
            });
            folded.extend(decision.step);
        }
        let always = self.exprs.number(1, 1);
        let (condition, said) = condition.unwrap_or((always, always));
        if self.exprs.constant(condition).is_some() || last.is_none() {
            return Bug::Unknown(
                "what decided that the run fails does not depend on what threads share\n  next: look for the failing order in the recorded run itself".into(),
            );
        }
        for step in folded {
            self.replace(step, Action::Assume(always));
        }
        let site = self.here(id);
        let step = self.step(id, None, site, Action::Assume(condition));
        self.says(id, said);
        Bug::Condition { step, condition }
    }

    /// Takes the last branch on shared values as the bug condition: no branch near the failure depends on
    /// them, but an earlier one may have set what the failing code looks at.
    pub fn last_branch_decides(&mut self, id: ThreadId) {
        let Some(decision) = self.thread(id).and_then(|thread| thread.last_branch) else {
            return;
        };
        self.gap("the failure is taken to hang on the last branch that depends on shared data; others may decide as well".into());
        self.bug = self.bug_of(id, &[(decision, OtherBranch::Depends)]);
    }

    /// `true` if the thread has only read and branched since a step.
    fn only_reads_since(&self, id: ThreadId, step: StepId) -> bool {
        let steps = self
            .thread(id)
            .and_then(|thread| thread.steps.get(step.index as usize..));
        steps.is_some_and(|steps| {
            steps
                .iter()
                .all(|step| matches!(step.action, Action::Read { .. } | Action::Assume(_)))
        })
    }

    fn replace(&mut self, step: StepId, action: Action) {
        let steps = self.thread_mut(step.thread).map(|thread| &mut thread.steps);
        if let Some(step) = steps.and_then(|steps| steps.get_mut(step.index as usize)) {
            step.action = action;
        }
    }

    /// Takes a condition as the bug condition where no branch decides but a value itself, such as an address.
    pub fn fails_if(&mut self, id: ThreadId, condition: Scalar, otherwise: &str) {
        if self.exprs.constant(condition.expr).is_some() {
            self.bug = Bug::Unknown(otherwise.into());
            return;
        }
        let site = self.here(id);
        let step = self.step(id, None, site, Action::Assume(condition.expr));
        self.says(id, condition.said);
        self.bug = Bug::Condition {
            step,
            condition: condition.expr,
        };
    }
}

/// `true` if some path from a block reaches the goal without passing through another block.
fn reaches(
    code: &Function,
    from: BlockId,
    without: BlockId,
    is_goal: impl Fn(BlockId) -> bool,
) -> bool {
    let mut seen = FxHashSet::from_iter([without]);
    let mut open = vec![from];
    while let Some(block) = open.pop() {
        if is_goal(block) {
            return true;
        }
        if seen.insert(block) {
            open.extend(successors(code, block));
        }
    }
    false
}

/// `true` if the function can be left from a block without passing through another one.
fn leaves_without(code: &Function, from: BlockId, without: BlockId) -> bool {
    reaches(code, from, without, |block| {
        let last = code.block(block).last().map(|last| &last.op);
        block != without && matches!(last, Some(Op::Return(_) | Op::Resume(_) | Op::Unreachable))
    })
}

fn successors(code: &Function, block: BlockId) -> Vec<BlockId> {
    match code.block(block).last().map(|last| &last.op) {
        Some(Op::Jump(to)) => vec![*to],
        Some(Op::Branch { yes, no, .. }) => vec![*yes, *no],
        Some(Op::Switch { cases, default, .. }) => {
            cases.iter().map(|case| case.to).chain([*default]).collect()
        }
        Some(Op::IndirectJump { to, .. }) => to.clone(),
        Some(Op::Call { normal, unwind, .. }) => normal.iter().chain(unwind).copied().collect(),
        _ => Vec::new(),
    }
}
