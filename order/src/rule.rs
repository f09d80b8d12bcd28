//! The rules of feasible orders, and their violations.

use std::fmt;

/// The rules of a feasible order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// The step is one of the run's.
    Known,
    /// Each thread's steps come in program order, each once, without gaps.
    Program,
    /// The steps of one event come together.
    Whole,
    /// A thread begins after it was created.
    Fork,
    /// A join comes after all steps of the joined thread.
    Join,
    /// A lock is acquired when no other thread holds it (by readers: for writing).
    Lock,
    /// A lock is released by a thread that holds it.
    Unlock,
    /// An attempt fails while another thread holds the lock.
    Attempt,
    /// A wait resumes after a signal that came while it waited.
    Signal,
    /// A semaphore's unit is taken when there is one.
    Unit,
    /// A barrier is left when all threads have arrived, and entered again after that.
    Barrier,
    /// A once-only initialization is passed when it is done.
    Once,
    /// Objects that were used against the rules keep the recorded order.
    AsRecorded,
    /// The thread takes the path that it took.
    Path,
    /// A path condition can be evaluated.
    Value,
}

impl Rule {
    /// The rule as a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Rule::Known => "an order has steps of the run, each once",
            Rule::Program => "each thread's steps come in program order and without gaps",
            Rule::Whole => "the steps of one event come together",
            Rule::Fork => "a thread begins after it was created",
            Rule::Join => "a join comes after all that the other thread does",
            Rule::Lock => "a lock is taken when no other thread holds it",
            Rule::Unlock => "a lock is given back by a thread that holds it",
            Rule::Attempt => "an attempt at a lock fails only while another thread holds it",
            Rule::Signal => "a wait goes on after a signal that came while it waited",
            Rule::Unit => "a unit of a semaphore is taken when there is one",
            Rule::Barrier => "a barrier is left when all have come",
            Rule::Once => "a once-only initialization is passed when it is done",
            Rule::AsRecorded => {
                "what was used against the rules in the run keeps the order of the run"
            }
            Rule::Path => "the thread takes the path that it took",
            Rule::Value => "what a condition depends on is known",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// Reason why an order is infeasible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation<S> {
    /// The step that cannot come at its position in the order.
    pub step: S,
    /// The conflicting step, if it is a single one: one that is missing before it, or that holds the object.
    pub other: Option<S>,
    /// The violated rule.
    pub rule: Rule,
}

impl<S> Violation<S> {
    /// The violation in words, with `step` describing a step:
    /// `a lock is taken when no other thread holds it: main.1: lock m at a.c:7, against main: lock m at a.c:3`
    pub fn worded(&self, step: impl Fn(&S) -> String) -> String {
        let words = format!("{}: {}", self.rule, step(&self.step));
        match &self.other {
            Some(other) => format!("{words}, against {}", step(other)),
            None => words,
        }
    }
}
