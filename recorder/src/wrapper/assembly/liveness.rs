//! Liveness: the registers in use before each instruction of a file.

use std::collections::HashSet;

use super::{
    registers::{self, ALL, FLAGS, Set},
    text::{Step, Text, is_jump},
};

/// The continuation of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
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
pub fn way(text: &Text<'_>, step: &Step<'_>) -> Way {
    let operation = step.operation;
    if operation.starts_with("ret") || operation == "ud2" {
        return Way::Out;
    }
    if !is_jump(operation) {
        return Way::On;
    }
    let target = step.operands.first().copied().unwrap_or("");
    let to = text.labels.get(target).copied();
    match (operation, to) {
        ("jmp" | "jmpq", _) if target.starts_with('*') => Way::Anywhere,
        ("jmp" | "jmpq", Some(to)) => Way::To(to),
        ("jmp" | "jmpq", None) => Way::Out,
        (_, Some(to)) => Way::Either(to),
        (_, None) => Way::OnOrOut,
    }
}

/// The registers in use before each step. Handlers of exceptions begin with the steps `pads`.
pub fn before(text: &Text<'_>, ways: &[Way], pads: &HashSet<usize>) -> Vec<Set> {
    let set = set_before(text, ways, pads);
    let effects: Vec<(Set, Set)> = text
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
                Some(Way::On | Way::OnOrOut) => at(number + 1),
                Some(Way::To(to)) => at(*to),
                Some(Way::Either(to)) => at(number + 1) | at(*to),
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

fn is_call(step: &Step<'_>) -> bool {
    step.operation.starts_with("call")
}

/// The registers that may have been set before each step since the function was entered or the last call
/// was made: others hold no argument of the next one.
fn set_before(text: &Text<'_>, ways: &[Way], pads: &HashSet<usize>) -> Vec<Set> {
    let mut set: Vec<Set> = vec![0; text.steps.len()];
    let jumps_anywhere: HashSet<Option<usize>> = (text.steps.iter().zip(ways))
        .filter(|(_, way)| **way == Way::Anywhere)
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
                Way::On | Way::OnOrOut => (Some(number + 1), None),
                Way::To(to) => (Some(*to), None),
                Way::Either(to) => (Some(number + 1), Some(*to)),
                Way::Anywhere | Way::Out => (None, None),
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

fn effects(text: &Text<'_>, step: &Step<'_>, way: Way) -> (Set, Set) {
    match way {
        // No compiler keeps flags across such a jump, or for another function.
        Way::Anywhere => (ALL & !FLAGS, 0),
        Way::Out if is_jump(step.operation) => (ALL & !FLAGS, 0),
        Way::OnOrOut => (ALL, 0),
        // Flags do not go into a piece of the user's. An empty one only keeps the compiler from knowing.
        _ if step.operation.is_empty() && text.piece(step).all(|line| line.trim().is_empty()) => {
            (0, 0)
        }
        _ if step.operation.is_empty() => (ALL & !FLAGS, 0),
        _ => registers::effects(step.operation, &step.operands),
    }
}
