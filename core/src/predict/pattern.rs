//! Access anomalies as sequences `[E, T, SV, AR, AT]` (Section 3 of [pecan]), and the built-in ones.
//!
//! [pecan]: Huang and Zhang, *Persuasive Prediction of Concurrency Access Anomalies*, ISSTA 2011.

mod check;
mod parse;

pub use parse::{PatternError, UserPatterns};

use super::Class;

/// Access type of an event of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessType {
    /// A read.
    Read,
    /// A write.
    Write,
}

/// One event of a pattern. Equal numbers mean the same thread, variable or region, different ones
/// different; regions are numbered within the pattern, not within the thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PatternEvent {
    /// T: the thread.
    pub thread: u8,
    /// SV: the variable.
    pub variable: u8,
    /// AR: the atomic region.
    pub region: u8,
    /// AT: the access type.
    pub access: AccessType,
}

/// A sequence of events that is an anomaly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Name, e.g. `w-r-w`; unique among the patterns of a search.
    pub name: String,
    /// Class of the anomaly.
    pub class: Class,
    /// The events in their order.
    pub steps: Vec<PatternEvent>,
    /// `true` if the events have to be adjacent, without anything that orders them: a race.
    pub consecutive: bool,
}

/// The patterns of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Patterns {
    /// All patterns, in the order of the search.
    pub all: Vec<Pattern>,
}

/// The races: one variable, two threads, at least one write.
const RACES: [&str; 3] = ["r-w", "w-r", "w-w"];

/// The two orders of accesses under one lock, at least one of them a write.
const ORDERS: [(&str, &str); 3] = [
    ("r-then-w", "r-w"),
    ("w-then-r", "w-r"),
    ("w-then-w", "w-w"),
];

/// The triples on one variable without an equivalent serial order; the second event is the foreign one.
const TRIPLES: [&str; 4] = ["r-w-r", "w-w-r", "w-r-w", "r-w-w"];

/// Atomic-set patterns 6 to 11. Of the eleven patterns of Vaziri, Tip and Dolby (*Associating synchronization
/// constraints with data in an object-oriented language*, POPL 2006) 1 to 4 are the triples and 5 is `w-w-w`.
/// Each entry has the name, the accesses, and the variable that the foreign unit of work accesses first.
const SETS: [(&str, &str, [u8; 2]); 6] = [
    ("set-6", "w-w-w-w", [0, 1]),
    ("set-7", "w-w-w-w", [1, 0]),
    ("set-8", "w-r-r-w", [0, 1]),
    ("set-9", "w-r-r-w", [1, 0]),
    ("set-10", "r-w-w-r", [0, 1]),
    ("set-11", "r-w-w-r", [1, 0]),
];

impl Patterns {
    /// Races, unserializable triples and the other atomic-set patterns of the eleven.
    pub fn built_in() -> Patterns {
        let mut all = Patterns::races().all;
        all.extend(Patterns::atomicity().all);
        all.extend(Patterns::atomic_sets().all);
        Patterns { all }
    }

    /// Parses the patterns and regions of a TOML file; see [`UserPatterns`].
    ///
    /// # Errors
    /// An error for text that does not parse or contradicts itself, with its position and the expected input.
    pub fn parse(text: &str) -> Result<UserPatterns, PatternError> {
        parse::parse(text)
    }

    /// Data races: `r-w`, `w-r`, `w-w`.
    pub fn races() -> Patterns {
        let race = |name: &&str| Pattern {
            consecutive: true,
            ..pattern(name, Class::Race, name, &[(0, 0), (1, 0)])
        };
        Patterns {
            all: RACES.iter().map(race).collect(),
        }
    }

    /// Order violations: accesses of one variable in critical sections of one lock that change places,
    /// `r-then-w`, `w-then-r`, `w-then-w`.
    pub fn orders() -> Patterns {
        let order = |&(name, accesses): &(&str, &str)| {
            pattern(name, Class::Order, accesses, &[(0, 0), (1, 0)])
        };
        Patterns {
            all: ORDERS.iter().map(order).collect(),
        }
    }

    /// Atomicity violations on one variable: `r-w-r`, `w-w-r`, `w-r-w`, `r-w-w`.
    pub fn atomicity() -> Patterns {
        let triple = |name: &&str| pattern(name, Class::Atomicity, name, &[(0, 0), (1, 0), (0, 0)]);
        Patterns {
            all: TRIPLES.iter().map(triple).collect(),
        }
    }

    /// Atomic-set violations that are no atomicity violations: patterns 5 to 11.
    pub fn atomic_sets() -> Patterns {
        let five = pattern(
            "w-w-w",
            Class::AtomicSet,
            "w-w-w",
            &[(0, 0), (1, 0), (0, 0)],
        );
        let six_on = SETS.iter().map(|&(name, accesses, [first, second])| {
            let steps = [(0, 0), (1, first), (1, second), (0, 1)];
            pattern(name, Class::AtomicSet, accesses, &steps)
        });
        Patterns {
            all: std::iter::once(five).chain(six_on).collect(),
        }
    }
}

/// A pattern in which every thread has one region.
fn pattern(name: &str, class: Class, accesses: &str, steps: &[(u8, u8)]) -> Pattern {
    let steps = accesses.split('-').zip(steps);
    let steps = steps.map(|(access, &(thread, variable))| PatternEvent {
        thread,
        variable,
        region: thread,
        access: if access == "w" {
            AccessType::Write
        } else {
            AccessType::Read
        },
    });
    Pattern {
        name: name.to_owned(),
        class,
        steps: steps.collect(),
        consecutive: false,
    }
}

#[cfg(test)]
mod tests;
