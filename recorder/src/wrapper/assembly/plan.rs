//! The plan for the notes of a file: which step needs which note.

use super::{
    liveness::{self, NextSteps},
    registers::{FLAGS, RegisterSet},
    text::{AssemblyStep, AssemblyText, FunctionPart, is_jump},
};
use std::collections::{HashMap, HashSet};

/// A file and what is known about its steps.
pub struct AssemblyPlan<'a> {
    pub text: AssemblyText<'a>,
    pub ways: Vec<NextSteps>,
    /// The registers in use before each step.
    pub live: Vec<RegisterSet>,
    /// Parts that are left as they are.
    pub left: Vec<bool>,
    /// Parts whose calls need no notes but their own: they return to where they were called.
    pub is_direct: Vec<bool>,
    /// Functions in unchanged parts that other parts call.
    pub left_calls: HashSet<&'a str>,
    /// Steps before which a thread checks whether its memory is full.
    pub looks: HashSet<usize>,
    /// First steps of exception handlers, by the labels.
    pub pads: HashMap<&'a str, usize>,
    /// Label of the handler, for calls.
    pub handlers: HashMap<usize, &'a str>,
}

/// Number of branches of a part from which on every label has a check.
const CROWDED: usize = 400;

impl<'a> AssemblyPlan<'a> {
    /// Reads a file; `None` for text that no compiler wrote.
    pub fn of(text: &'a str) -> Option<AssemblyPlan<'a>> {
        let text = AssemblyText::read(text)?;
        let ways: Vec<NextSteps> = text
            .steps
            .iter()
            .map(|step| liveness::way(&text, step))
            .collect();
        let (pads, handlers) = handlers(&text);
        let starts: HashSet<usize> = pads.values().copied().collect();
        let live = liveness::before(&text, &ways, &starts);
        let parts = text.parts.len();
        let mut plan = AssemblyPlan {
            text,
            ways,
            live,
            left: vec![false; parts],
            is_direct: vec![false; parts],
            left_calls: HashSet::new(),
            looks: HashSet::new(),
            pads,
            handlers,
        };
        plan.find_looks();
        plan.leave_out();
        plan.find_direct();
        Some(plan)
    }

    pub fn step(&self, number: usize) -> Option<&AssemblyStep<'a>> {
        self.text.steps.get(number)
    }

    /// The part of a step, if it is not left as it is.
    pub fn part_of(&self, number: usize) -> Option<usize> {
        let part = self.step(number)?.part?;
        (self.left.get(part) == Some(&false)).then_some(part)
    }

    fn part(&self, number: usize) -> Option<&FunctionPart<'a>> {
        self.text.parts.get(number)
    }

    /// Returns whether other code than direct calls and jumps of this file may enter the part.
    pub fn is_announced(&self, number: usize) -> bool {
        let is_direct = self.is_direct.get(number) == Some(&true);
        self.part(number).is_none_or(|part| {
            part.is_global || part.is_taken || !is_direct || self.left_calls.contains(part.name)
        })
    }

    /// The part that a call goes to and comes back from without more notes.
    pub fn called(&self, step: &AssemblyStep<'_>) -> Option<usize> {
        let target = step.operands.first()?;
        let part = *self.text.names.get(target)?;
        (self.is_direct.get(part) == Some(&true)).then_some(part)
    }

    /// Steps that jumps of the same file lead to.
    pub fn targets(&self) -> impl Iterator<Item = (usize, usize)> {
        self.ways
            .iter()
            .enumerate()
            .filter_map(|(from, way)| match way {
                NextSteps::To(to) | NextSteps::Either(to) => Some((from, *to)),
                _ => None,
            })
    }

    /// Labels that jumps of the same file lead to.
    pub fn leaders(&self) -> HashSet<&'a str> {
        let jumps = self
            .text
            .steps
            .iter()
            .filter(|step| is_jump(step.operation));
        let targets = jumps.filter_map(|step| step.operands.first().copied());
        targets
            .filter(|target| self.text.labels.contains_key(target))
            .collect()
    }

    /// Finds the steps with checks: the heads of loops. Flags that are in use there postpone the check to a later
    /// step.
    fn find_looks(&mut self) {
        let crowded = self.crowded();
        let wanted: Vec<usize> = self
            .targets()
            .filter(|(from, to)| {
                let part = self.step(*to).and_then(|step| step.part);
                to <= from || part.is_some_and(|part| crowded.contains(&part))
            })
            .map(|(_, to)| to)
            .collect();
        for step in wanted {
            match self.without_flags(step) {
                Some(step) => drop(self.looks.insert(step)),
                None => self.leave(step),
            }
        }
    }

    fn crowded(&self) -> HashSet<usize> {
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for step in self
            .text
            .steps
            .iter()
            .filter(|step| is_jump(step.operation))
        {
            *counts.entry(step.part.unwrap_or(usize::MAX)).or_default() += 1;
        }
        let many = counts.into_iter().filter(|(_, count)| *count > CROWDED);
        many.map(|(part, _)| part).collect()
    }

    /// The first step from here on, without a jump between, before which no flags are in use.
    fn without_flags(&self, from: usize) -> Option<usize> {
        for (step, live) in self.live.iter().enumerate().skip(from) {
            if live & FLAGS == 0 {
                return Some(step);
            }
            if self.ways.get(step) != Some(&NextSteps::On) {
                return None;
            }
        }
        None
    }

    fn leave(&mut self, step: usize) {
        let part = self.step(step).and_then(|step| step.part);
        if let Some(left) = part.and_then(|part| self.left.get_mut(part)) {
            *left = true;
        }
    }

    /// Leaves a part as it is; `None` when it was left already.
    pub fn leave_part(&mut self, part: usize) -> Option<()> {
        let left = self.left.get_mut(part)?;
        if std::mem::replace(left, true) {
            return None;
        }
        self.leave_out();
        self.find_direct();
        Some(())
    }

    /// Leaves out parts that cannot be followed, and those that share labels with them.
    fn leave_out(&mut self) {
        for number in 0..self.text.steps.len() {
            let Some(step) = self.step(number) else { break };
            let odd = ["loop", "jcxz", "jecxz", "jrcxz", "xbegin", "iret"];
            let is_odd = odd.iter().any(|odd| step.operation.starts_with(odd));
            if is_odd || step.operation.is_empty() && self.jumps_away(step) {
                self.leave(number);
            }
        }
        for number in 0..self.text.parts.len() {
            // Not closed: nobody knows where it ends.
            if self
                .part(number)
                .is_some_and(|part| part.lines.1 == usize::MAX)
                && let Some(left) = self.left.get_mut(number)
            {
                *left = true;
            }
        }
        let shared: Vec<(usize, usize)> = self.shared().collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (one, two) in &shared {
                let left = |part: &usize| self.left.get(*part) == Some(&true);
                if left(one) != left(two) {
                    for part in [one, two] {
                        if let Some(left) = self.left.get_mut(*part) {
                            *left = true;
                        }
                    }
                    changed = true;
                }
            }
        }
    }

    /// Parts of which one jumps into the other.
    fn shared(&self) -> impl Iterator<Item = (usize, usize)> {
        let part = |step: usize| self.step(step).and_then(|step| step.part);
        self.targets()
            .filter_map(move |(from, to)| Some((part(from)?, part(to)?)))
            .filter(|(from, to)| from != to)
    }

    /// Returns whether a piece of the user's own jumps into the compiler's text.
    fn jumps_away(&self, step: &AssemblyStep<'_>) -> bool {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        let mut lines = self.text.piece(step);
        lines.any(|line| {
            let mut names = line.split(|c: char| !is_name(c));
            names.any(|name| name.starts_with(".L") && self.text.labels.contains_key(name))
        })
    }

    /// Finds the parts that never jump to functions elsewhere instead of returning.
    fn find_direct(&mut self) {
        let mut leaves = self.left.clone();
        for (number, way) in self.ways.iter().enumerate() {
            let Some(step) = self.step(number) else { break };
            let is_out = match way {
                NextSteps::Out => is_jump(step.operation),
                NextSteps::Anywhere | NextSteps::OnOrOut => true,
                NextSteps::To(to) | NextSteps::Either(to) => {
                    self.step(*to).is_some_and(|to| to.part.is_none())
                }
                NextSteps::On => false,
            };
            if let Some(leaves) = step.part.and_then(|part| leaves.get_mut(part)) {
                *leaves |= is_out;
            }
        }
        let shared: Vec<(usize, usize)> = self.shared().collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (from, to) in &shared {
                if leaves.get(*to) == Some(&true) && leaves.get(*from) == Some(&false) {
                    if let Some(from) = leaves.get_mut(*from) {
                        *from = true;
                    }
                    changed = true;
                }
            }
        }
        let out = (0..self.text.steps.len()).filter(|step| self.part_of(*step).is_none());
        let targets = out.filter_map(|step| self.step(step)?.operands.first().copied());
        self.left_calls = targets.collect();
        let parts = self.text.parts.iter().zip(&leaves);
        self.is_direct = parts
            .map(|(part, leaves)| !leaves && !part.is_weak)
            .collect();
    }
}

/// Reads the tables of handlers: the steps that they begin with, by label, and the labels of those for
/// exceptions out of calls.
fn handlers<'a>(text: &AssemblyText<'a>) -> (HashMap<&'a str, usize>, HashMap<usize, &'a str>) {
    let (mut pads, mut handlers) = (HashMap::new(), HashMap::new());
    for (start, end, pad) in super::exceptions::stretches(&text.lines) {
        let Some((first, last)) = text.labels.get(start).zip(text.labels.get(end)) else {
            continue;
        };
        let Some((&pad, &step)) = text.labels.get_key_value(pad) else {
            continue;
        };
        pads.insert(pad, step);
        let steps = text.steps.get(*first..*last).unwrap_or(&[]);
        for (number, step) in (*first..).zip(steps) {
            if step.operation.starts_with("call") {
                handlers.insert(number, pad);
            }
        }
    }
    (pads, handlers)
}
