//! Branches: the successor that a thread took, and the path condition of having taken it.

use super::{
    machine::{InstructionResult, PathMachine},
    points::Spot,
    thread::{Activity, TakenBranch},
    value::Scalar,
};
use crate::expr::Comparison;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use unsnarl_trace::{
    ThreadId,
    program::{BlockId, Function, FunctionId, Instruction, Op, Operand, UnitId},
};

/// Bound on the instructions searched for the way that leads to the next event.
const MOST_LOOKED_AT: usize = 4000;
/// Bound on the depth of calls that this search enters.
const DEEPEST: u32 = 6;

impl PathMachine<'_> {
    pub fn branch(
        &mut self,
        id: ThreadId,
        instruction: &Instruction,
    ) -> Result<InstructionResult, String> {
        match &instruction.op {
            Op::Branch { condition, yes, no } => {
                let condition = self.scalar(id, *condition)?;
                self.two_ways(id, condition, *yes, *no)
            }
            Op::Switch {
                value,
                cases,
                default,
            } => {
                let value = self.scalar(id, *value)?;
                if self.paths.is_some() {
                    return self.switch_of_path(id, value, cases, *default);
                }
                let width = self.exprs.width(value.expr);
                let bits = match value.bits {
                    Some(bits) => bits,
                    None => {
                        let ways: Vec<BlockId> =
                            cases.iter().map(|case| case.to).chain([*default]).collect();
                        let Some(way) = self.choose(id, &ways)? else {
                            return Ok(InstructionResult::Stop);
                        };
                        let Some(case) = cases.get(way) else {
                            return self.jump(id, *default);
                        };
                        self.learn(id, value, case.bits);
                        case.bits
                    }
                };
                let value = Scalar {
                    bits: Some(bits),
                    ..value
                };
                let taken = cases.iter().find(|case| case.bits == bits);
                if let Some(case) = taken {
                    let number = Scalar::number(&mut self.exprs, case.bits, width);
                    let holds = value.compare(&mut self.exprs, Comparison::Eq, number);
                    let step = self.assume(id, holds);
                    self.decided(
                        id,
                        TakenBranch {
                            block: BlockId(0),
                            taken: case.to,
                            other: case.to,
                            condition: holds.expr,
                            said: holds.said,
                            step,
                        },
                    );
                    return self.jump(id, case.to);
                }
                for case in cases {
                    let number = Scalar::number(&mut self.exprs, case.bits, width);
                    let holds = value.compare(&mut self.exprs, Comparison::Eq, number);
                    let not = holds.not(&mut self.exprs);
                    let step = self.assume(id, not);
                    self.decided(
                        id,
                        TakenBranch {
                            block: BlockId(0),
                            taken: *default,
                            other: case.to,
                            condition: not.expr,
                            said: not.said,
                            step,
                        },
                    );
                }
                self.jump(id, *default)
            }
            _ => Err("a jump to a computed place".into()),
        }
    }

    fn two_ways(
        &mut self,
        id: ThreadId,
        condition: Scalar,
        yes: BlockId,
        no: BlockId,
    ) -> Result<InstructionResult, String> {
        let holds = match condition.bits {
            _ if self.paths.is_some() => match self.way_of_path(id, &[yes, no])? {
                Some(way) => way == 0,
                None => return Ok(self.path_is_over(id)),
            },
            Some(bits) => bits == 1,
            None => {
                let Some(way) = self.choose(id, &[yes, no])? else {
                    return Ok(InstructionResult::Stop);
                };
                self.learn(id, condition, u128::from(way == 0));
                way == 0
            }
        };
        let (taken, other) = if holds { (yes, no) } else { (no, yes) };
        let so = Scalar {
            bits: Some(u128::from(holds)),
            ..condition
        };
        let step = self.assume(id, so);
        let taken_for = match holds {
            true => condition,
            false => condition.not(&mut self.exprs),
        };
        self.decided(
            id,
            TakenBranch {
                block: BlockId(0),
                taken,
                other,
                condition: taken_for.expr,
                said: taken_for.said,
                step,
            },
        );
        self.jump(id, taken)
    }

    pub fn decided(&mut self, id: ThreadId, decision: TakenBranch) {
        if let Some(thread) = self.thread_mut(id).filter(|_| decision.step.is_some()) {
            thread.last_branch = Some(decision);
        }
        self.says_branch(id, &decision);
        if let Some(frame) = self.frame_mut(id) {
            let block = frame.block;
            frame.decisions.push(TakenBranch { block, ..decision });
        }
    }

    /// Distance from a block to an instruction, over ways without an event in between; `None` if the thread
    /// cannot get there on such a way.
    pub fn leads_to(
        &self,
        id: ThreadId,
        (unit, function): (UnitId, FunctionId),
        to: BlockId,
        goal: Spot,
    ) -> Option<usize> {
        let mut seen = FxHashSet::default();
        let mut open = VecDeque::new();
        let code = self.program.function(unit, function)?;
        // Depth counts frames of the thread that were left (positive) or calls that were entered.
        open.push_back(SearchPosition {
            unit,
            function,
            at: start(code, to),
            left: 0,
            entered: Vec::new(),
        });
        let mut looked_at = 0;
        while let Some(place) = open.pop_front() {
            looked_at += 1;
            if looked_at > MOST_LOOKED_AT {
                return Some(usize::MAX);
            }
            if !seen.insert((place.unit, place.function, place.at, place.left)) {
                continue;
            }
            if (place.unit, place.function, place.at) == goal {
                return Some(looked_at);
            }
            self.follow(id, place, &mut open);
        }
        None
    }

    fn follow(&self, id: ThreadId, place: SearchPosition, open: &mut VecDeque<SearchPosition>) {
        let Some(code) = self.program.function(place.unit, place.function) else {
            return;
        };
        let Some(instruction) = code.instructions.get(place.at as usize) else {
            return;
        };
        let mut go = |to: BlockId| {
            open.push_back(SearchPosition {
                at: start(code, to),
                ..place.clone()
            });
        };
        match &instruction.op {
            Op::Jump(to) => go(*to),
            Op::Branch { yes, no, .. } => [*yes, *no].into_iter().for_each(go),
            Op::Switch { cases, default, .. } => {
                cases
                    .iter()
                    .map(|case| case.to)
                    .chain([*default])
                    .for_each(go);
            }
            Op::IndirectJump { to, .. } => to.iter().copied().for_each(go),
            Op::Return(_) => open.extend(self.behind_return(id, place)),
            Op::Unreachable | Op::Resume(_) => {}
            Op::Call { callee, normal, .. } => {
                let name = self.callee_name(place.unit, *callee);
                let home =
                    name.and_then(|name| self.points.function(self.program, place.unit, name));
                if let Some((unit, function)) = home {
                    if (place.entered.len() as u32) < DEEPEST {
                        let mut entered = place.entered.clone();
                        entered.push((place.unit, place.function, place.at));
                        open.push_back(SearchPosition {
                            unit,
                            function,
                            at: 0,
                            entered,
                            left: place.left,
                        });
                    }
                } else if !name.is_some_and(makes_events) {
                    match normal {
                        Some(normal) => go(*normal),
                        None => open.push_back(SearchPosition {
                            at: place.at + 1,
                            ..place
                        }),
                    }
                }
            }
            _ => open.push_back(SearchPosition {
                at: place.at + 1,
                ..place
            }),
        }
    }

    fn behind_return(&self, id: ThreadId, mut place: SearchPosition) -> Option<SearchPosition> {
        let (unit, function, at) = match place.entered.pop() {
            Some(caller) => caller,
            None => {
                place.left += 1;
                let stack = &self.thread(id)?.stack;
                let caller = stack.len().checked_sub(1 + place.left)?;
                match stack.get(caller)? {
                    Activity::Code(frame) => (frame.unit, frame.function, frame.at),
                    Activity::Native(_) => return None,
                }
            }
        };
        let code = self.program.function(unit, function)?;
        let at = match &code.instructions.get(at as usize)?.op {
            Op::Call {
                normal: Some(normal),
                ..
            } => start(code, *normal),
            _ => at + 1,
        };
        Some(SearchPosition {
            unit,
            function,
            at,
            ..place
        })
    }

    /// The linker's name of a function that is called directly.
    pub fn callee_name(&self, unit: UnitId, callee: Operand) -> Option<&str> {
        use unsnarl_trace::program::Constant;
        let Operand::Constant(constant) = callee else {
            return None;
        };
        match self.program.constant(unit, constant)? {
            Constant::Function(function) => Some(&self.program.function(unit, *function)?.name),
            _ => None,
        }
    }
}

/// A position in the search for the next event.
#[derive(Clone)]
struct SearchPosition {
    unit: UnitId,
    function: FunctionId,
    at: u32,
    /// Frames of the thread that the search has returned from.
    left: usize,
    /// Calls that the search has entered.
    entered: Vec<Spot>,
}

fn start(code: &Function, block: BlockId) -> u32 {
    code.blocks
        .get(block.index())
        .map_or(u32::MAX, |block| block.from)
}

/// `true` if a call of this library function always leaves an event.
fn makes_events(name: &str) -> bool {
    const ALWAYS: [&str; 8] = [
        "pthread_mutex_lock",
        "pthread_mutex_unlock",
        "pthread_cond_wait",
        "pthread_create",
        "pthread_join",
        "sem_post",
        "sem_wait",
        "malloc",
    ];
    let is_access =
        name.starts_with("__tsan_") && !name.starts_with("__tsan_func_") && name != "__tsan_init";
    is_access || ALWAYS.contains(&name)
}
