//! Random failing paths, and properties of their explanations at every level.

use super::path::path;
use crate::invariants::{InvariantOptions, Level, Unexplained, Violation, check, prepare};
use proptest::prelude::*;
use std::{collections::BTreeMap, fmt::Write};
use unsnarl_core::Budget;

const SHARED: [&str; 3] = ["x", "y", "z"];
const LOCAL: [&str; 2] = ["a", "b"];

/// A path built from choices, whose statements compute the recorded values.
#[derive(Default)]
struct RandomPath {
    text: String,
    shared: BTreeMap<&'static str, i32>,
    local: BTreeMap<(u8, &'static str), i32>,
    depth: BTreeMap<u8, usize>,
    line: u32,
}

impl RandomPath {
    fn new() -> RandomPath {
        let mut random = RandomPath::default();
        for (at, name) in SHARED.into_iter().enumerate() {
            random.shared.insert(name, at as i32 * 5);
            writeln!(random.text, "shared {name} = {}", at * 5).unwrap();
        }
        random.text += "main fork main.1 @1\nmain fork main.2 @1\n";
        random
    }

    fn operand(&self, thread: u8, choice: u8) -> (String, i32) {
        match choice % 6 {
            0..=2 => {
                let name = SHARED[usize::from(choice % 3)];
                (name.into(), self.shared[name])
            }
            3 | 4 => {
                let name = LOCAL[usize::from(choice % 2)];
                match self.local.get(&(thread, name)) {
                    Some(value) => (name.into(), *value),
                    None => ("3".into(), 3),
                }
            }
            _ => {
                let number = i32::from(choice / 6) - 20;
                (number.to_string(), number)
            }
        }
    }

    /// An operation on at most one shared operand: each statement refers to one global variable.
    fn value(&self, thread: u8, [a, op, b]: [u8; 3]) -> (String, i32) {
        let (first, x) = self.operand(thread, a);
        let (second, y) = self.operand(thread, 3 + b % 3);
        match op % 6 {
            0 | 1 => (format!("{first} + {second}"), x.wrapping_add(y)),
            2 => (format!("{first} - {second}"), x.wrapping_sub(y)),
            3 => (format!("{first} * {second}"), x.wrapping_mul(y)),
            4 => (format!("{first} & {second}"), x & y),
            _ => (first, x),
        }
    }

    /// A condition that holds.
    fn condition(&self, thread: u8, [a, op, b]: [u8; 3]) -> String {
        let (first, x) = self.operand(thread, a);
        let (second, y) = self.operand(thread, 3 + b % 3);
        let holding: Vec<&str> = [
            ("<", x < y),
            ("<=", x <= y),
            (">", x > y),
            (">=", x >= y),
            ("==", x == y),
            ("!=", x != y),
        ]
        .into_iter()
        .filter_map(|(sign, holds)| holds.then_some(sign))
        .collect();
        let sign = holding[usize::from(op) % holding.len()];
        format!("{first} {sign} {second}")
    }

    fn statement(&mut self, [thread, kind, a, op, b]: [u8; 5]) {
        self.line += 1;
        let row = thread % 3;
        let name = ["main", "main.1", "main.2"][usize::from(row)];
        let line = self.line;
        let depth = self.depth.entry(row).or_default();
        match kind % 10 {
            0..=3 => {
                let (text, value) = self.value(row, [a, op, b]);
                let to = LOCAL[usize::from(kind % 2)];
                self.local.insert((row, to), value);
                writeln!(self.text, "{name} {to} := {text} @{line}").unwrap();
            }
            4..=7 => {
                let (text, value) = self.value(row, [a, op, b]);
                let to = SHARED[usize::from(kind % 3)];
                self.shared.insert(to, value);
                writeln!(self.text, "{name} {to} = {text} @{line}").unwrap();
            }
            8 if *depth < 2 => {
                *depth += 1;
                let condition = self.condition(row, [a, op, b]);
                writeln!(self.text, "{name} [ {condition} @{line}").unwrap();
            }
            _ if *depth > 0 => {
                *depth -= 1;
                writeln!(self.text, "{name} ]").unwrap();
            }
            _ => {}
        }
    }

    fn finish(mut self, choice: [u8; 3]) -> String {
        for (row, name) in ["main", "main.1", "main.2"].into_iter().enumerate() {
            for _ in 0..self.depth.get(&(row as u8)).copied().unwrap_or(0) {
                writeln!(self.text, "{name} ]").unwrap();
            }
        }
        self.text += "main join main.1 @90\nmain join main.2 @91\n";
        let shared = SHARED[usize::from(choice[0] % 3)];
        let wanted = self.shared[shared];
        let condition = match choice[1] % 3 {
            0 => format!("{shared} == {wanted}"),
            1 => format!(
                "{shared} != {}",
                wanted.wrapping_add(1 + i32::from(choice[2]))
            ),
            _ => format!(
                "{shared} <= {}",
                wanted.saturating_add(i32::from(choice[2]))
            ),
        };
        writeln!(self.text, "main fails {condition} @99").unwrap();
        self.text
    }
}

fn text(choices: &[[u8; 5]], last: [u8; 3]) -> String {
    let mut random = RandomPath::new();
    choices.iter().for_each(|choice| random.statement(*choice));
    random.finish(last)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Explanations are inductive, in the vocabulary of interpolants, with a sound slice, and sensitive to
    /// the dependencies of the level.
    #[test]
    fn explanations_of_random_paths_are_right(choices in prop::collection::vec(any::<[u8; 5]>(), 1..40), last in any::<[u8; 3]>()) {
        let text = text(&choices, last);
        let (trace, run) = path(&text);
        let budget = Budget::unlimited();
        let prepared = match prepare(&trace, &run, &trace.order) {
            Ok(prepared) => prepared,
            // A condition on numbers alone fails independently of the threads.
            Err(Unexplained::Unreadable(_)) => return Ok(()),
            Err(other) => return Err(TestCaseError::fail(format!("{other}\n{text}"))),
        };
        for level in Level::every() {
            let options = InvariantOptions { level: Some(level), ..InvariantOptions::default() };
            let explained = prepared.explain(&options, &budget).unwrap();
            // An undecided query of the checker's solver (long sums) is no error; everything else is.
            let mut broken = check(&explained, &budget);
            broken.retain(|one| !matches!(one, Violation::Unknown(_)));
            prop_assert_eq!(broken, vec![], "at {} of\n{}", level, text);
            prop_assert!(!explained.is_partial());
            prop_assert_eq!(explained.slice.last().copied(), Some(explained.statements.len() - 1));
            let again = prepared.explain(&options, &budget).unwrap();
            prop_assert_eq!(again.invariants, explained.invariants);
            prop_assert_eq!(again.slice, explained.slice);
        }
    }
}
