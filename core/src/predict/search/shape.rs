//! Pattern shapes that the classes support.

use super::classes::does;
use crate::predict::{AccessType, Class, Pattern, PatternEvent};

/// Actions of a pattern's events, by its shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PatternShape {
    /// Two adjacent events of two threads on one variable.
    Race([u8; 2]),
    /// Two events of two threads on one variable under one lock, in the order opposite to the run.
    Order([u8; 2]),
    /// A foreign event between two events of one region, all on one variable.
    Triple([u8; 3]),
    /// Two foreign events of one region between two events of one region on two variables.
    Set {
        does: [u8; 4],
        /// `true` if the foreign region accesses the second variable first.
        swapped: bool,
    },
}

impl PatternShape {
    /// The shape of a pattern, if it is supported.
    pub fn of(pattern: &Pattern) -> Option<PatternShape> {
        let is = |threads: &[u8], variables: &[u8]| {
            let steps = pattern.steps.iter();
            let same = |label: fn(&PatternEvent) -> u8, expected: &[u8]| {
                canonical(steps.clone().map(label)) == expected
            };
            same(|s| s.thread, threads)
                && same(|s| s.region, threads)
                && same(|s| s.variable, variables)
        };
        match *does_of(pattern).as_slice() {
            [a, b] if pattern.consecutive && is(&[0, 1], &[0, 0]) => {
                Some(PatternShape::Race([a, b]))
            }
            [a, b] if pattern.class == Class::Order && is(&[0, 1], &[0, 0]) => {
                Some(PatternShape::Order([a, b]))
            }
            _ if pattern.consecutive => None,
            [a, b, c] if is(&[0, 1, 0], &[0, 0, 0]) => Some(PatternShape::Triple([a, b, c])),
            [a, b, c, d] if a == d && b == c => {
                let swapped = is(&[0, 1, 1, 0], &[0, 1, 0, 1]);
                let straight = is(&[0, 1, 1, 0], &[0, 0, 1, 1]);
                (straight || swapped).then_some(PatternShape::Set {
                    does: [a, b, c, d],
                    swapped,
                })
            }
            _ => None,
        }
    }
}

fn does_of(pattern: &Pattern) -> Vec<u8> {
    let steps = pattern.steps.iter();
    let does = steps.map(|step| match step.access {
        AccessType::Read => does::READ,
        AccessType::Write => does::WRITE,
    });
    does.collect()
}

/// Labels renumbered in the order of first occurrence.
fn canonical(labels: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut seen = Vec::new();
    let number = |label: u8| match seen.iter().position(|&known| known == label) {
        Some(at) => at as u8,
        None => {
            seen.push(label);
            seen.len() as u8 - 1
        }
    };
    labels.map(number).collect()
}
