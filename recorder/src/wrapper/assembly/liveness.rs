//! Liveness: the registers in use before each instruction of a file.

use std::collections::HashSet;

use super::{
    registers::{self, ALL, FLAGS, RegisterSet},
    text::{AssemblyStep, AssemblyText, is_jump},
};

/// The continuation of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextSteps {
    /// The next step.
    On,
    /// This step.
    To(usize),
    /// The next step or this one.
    Either(usize),
    /// An address in a register or memory.
    Anywhere,
    /// A place outside of the function: it returns, or jumps to a function that is not in this file.
    Out,
    /// The next step, or a function that is not in this file.
    OnOrOut,
}

/// The continuation of a step.
pub fn way(text: &AssemblyText<'_>, step: &AssemblyStep<'_>) -> NextSteps {
    let operation = step.operation;
    if operation.starts_with("ret") || operation == "ud2" {
        return NextSteps::Out;
    }
    if !is_jump(operation) {
        return NextSteps::On;
    }
    let target = step.operands.first().copied().unwrap_or("");
    let to = text.labels.get(target).copied();
    match (operation, to) {
        ("jmp" | "jmpq", _) if target.starts_with('*') => NextSteps::Anywhere,
        ("jmp" | "jmpq", Some(to)) => NextSteps::To(to),
        ("jmp" | "jmpq", None) => NextSteps::Out,
        (_, Some(to)) => NextSteps::Either(to),
        (_, None) => NextSteps::OnOrOut,
    }
}

/// The registers in use before each step. Handlers of exceptions begin with the steps `pads`.
pub fn before(
    text: &AssemblyText<'_>,
    ways: &[NextSteps],
    pads: &HashSet<usize>,
) -> Vec<RegisterSet> {
    let set = set_before(text, ways, pads);
    let effects: Vec<(RegisterSet, RegisterSet)> = text
        .steps
        .iter()
        .zip(ways)
        .zip(&set)
        .map(|((step, way), set)| {
            let (uses, defines) = effects(text, step, *way);
            match is_call(step) {
                true => (uses & (*set | registers::named(&step.operands)), defines),
                false => (uses, defines),
            }
        })
        .collect();
    let mut live = vec![0; text.steps.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for number in (0..live.len()).rev() {
            let at = |step: usize| live.get(step).copied().unwrap_or(0);
            let after = match ways.get(number) {
                Some(NextSteps::On | NextSteps::OnOrOut) => at(number + 1),
                Some(NextSteps::To(to)) => at(*to),
                Some(NextSteps::Either(to)) => at(number + 1) | at(*to),
                _ => 0,
            };
            let (uses, defines) = effects.get(number).copied().unwrap_or((ALL, 0));
            let now = uses | after & !defines;
            if let Some(place) = live.get_mut(number).filter(|place| **place != now) {
                *place = now;
                changed = true;
            }
        }
    }
    live
}

fn is_call(step: &AssemblyStep<'_>) -> bool {
    step.operation.starts_with("call")
}

/// The registers that may have been set before each step since the function was entered or the last call
/// was made: others hold no argument of the next one.
fn set_before(
    text: &AssemblyText<'_>,
    ways: &[NextSteps],
    pads: &HashSet<usize>,
) -> Vec<RegisterSet> {
    let mut set: Vec<RegisterSet> = vec![0; text.steps.len()];
    let jumps_anywhere: HashSet<Option<usize>> = (text.steps.iter().zip(ways))
        .filter(|(_, way)| **way == NextSteps::Anywhere)
        .map(|(step, _)| step.part)
        .collect();
    for (label, step) in &text.labels {
        let part = text.steps.get(*step).map(|step| step.part);
        let comes_anyhow = part.is_none_or(|part| jumps_anywhere.contains(&part));
        if let Some(set) = set.get_mut(*step)
            && (comes_anyhow || text.names.contains_key(label))
        {
            *set = ALL;
        }
    }
    for pad in pads {
        if let Some(set) = set.get_mut(*pad) {
            *set |= registers::RESULTS;
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for number in 0..set.len() {
            let (Some(step), Some(way), Some(&before)) =
                (text.steps.get(number), ways.get(number), set.get(number))
            else {
                break;
            };
            let after = match is_call(step) {
                true => registers::RESULTS,
                false => before | registers::set(step.operation, &step.operands),
            };
            let (one, two) = match way {
                NextSteps::On | NextSteps::OnOrOut => (Some(number + 1), None),
                NextSteps::To(to) => (Some(*to), None),
                NextSteps::Either(to) => (Some(number + 1), Some(*to)),
                NextSteps::Anywhere | NextSteps::Out => (None, None),
            };
            for next in [one, two].into_iter().flatten() {
                if let Some(set) = set.get_mut(next).filter(|set| **set | after != **set) {
                    *set |= after;
                    changed = true;
                }
            }
        }
    }
    set
}

fn effects(
    text: &AssemblyText<'_>,
    step: &AssemblyStep<'_>,
    way: NextSteps,
) -> (RegisterSet, RegisterSet) {
    match way {
        // No compiler keeps flags across such a jump, or for another function.
        NextSteps::Anywhere => (ALL & !FLAGS, 0),
        NextSteps::Out if is_jump(step.operation) => (ALL & !FLAGS, 0),
        NextSteps::OnOrOut => (ALL, 0),
        // Flags do not go into a piece of the user's. An empty one only keeps the compiler from knowing.
        _ if step.operation.is_empty() && text.piece(step).all(|line| line.trim().is_empty()) => {
            (0, 0)
        }
        _ if step.operation.is_empty() => (ALL & !FLAGS, 0),
        _ => registers::effects(step.operation, &step.operands),
    }
}
