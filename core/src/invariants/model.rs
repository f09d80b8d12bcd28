//! What an explanation by error invariants consists of.

use crate::{
    StopReason,
    symbolic::{ExprId, Exprs, Object, SourcePlace, StepId, SymbolId},
};
use std::fmt;
use unsnarl_trace::{EventId, EventKind, SiteId, ThreadId};

/// Which dependencies an explanation keeps beyond the flow of data (*ds*): an element of the power set of
/// {cs, war, waw} ([error-invariants], section 3.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Level {
    /// Why each branch around a statement was taken.
    pub cs: bool,
    /// Which writes of other threads came after a read.
    pub war: bool,
    /// Which writes of other threads came before the one that was read.
    pub waw: bool,
}

impl Level {
    /// The flow of data only.
    pub const DS: Level = Level::new(false, false, false);
    /// With control dependence.
    pub const CS: Level = Level::new(true, false, false);
    /// With hazards.
    pub const HS: Level = Level::new(false, true, true);
    /// With all.
    pub const ALL: Level = Level::new(true, true, true);
    /// The levels of the paper's Table 1, lightest first.
    pub const STEPS: [Level; 4] = [Level::DS, Level::HS, Level::CS, Level::ALL];

    const fn new(cs: bool, war: bool, waw: bool) -> Level {
        Level { cs, war, waw }
    }

    /// All eight, smaller sets first.
    pub fn every() -> [Level; 8] {
        let sets = [0u8, 1, 2, 4, 3, 5, 6, 7];
        sets.map(|set| Level::new(set & 4 != 0, set & 2 != 0, set & 1 != 0))
    }

    /// Less or the same is kept here than there.
    pub fn is_within(self, other: Level) -> bool {
        self.cs <= other.cs && self.war <= other.war && self.waw <= other.waw
    }

    /// The level that a name like `ds+cs+hs` or `ds+war` means.
    pub fn parse(name: &str) -> Option<Level> {
        let mut level = Level::DS;
        for part in name.split('+') {
            match part.trim() {
                "ds" => {}
                "cs" => level.cs = true,
                "hs" => (level.war, level.waw) = (true, true),
                "war" => level.war = true,
                "waw" => level.waw = true,
                _ => return None,
            }
        }
        Some(level)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ds")?;
        if self.cs {
            f.write_str("+cs")?;
        }
        f.write_str(match (self.war, self.waw) {
            (true, true) => "+hs",
            (true, false) => "+war",
            (false, true) => "+waw",
            (false, false) => "",
        })
    }
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The level; `None`: the lightest that contains a step between threads.
    pub level: Option<Level>,
    /// All writes that Formula 7 speaks of count as hazards, not only each thread's nearest.
    pub every_write: bool,
}

/// Why nothing is explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unexplained {
    /// The run did not fail.
    Passed,
    /// What went wrong is no condition that can be read back; why, and what to do next.
    Unreadable(String),
    /// By the model the run would not have failed: values do not fit it.
    Contradiction(String),
    /// The budget ended before there was anything to tell.
    Stopped(StopReason),
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unexplained::Passed => f.write_str("the run did not fail: there is nothing that had to be true for it\n  next: give a failing run"),
            Unexplained::Unreadable(why) => write!(f, "what failed cannot be read back as a condition: {why}"),
            Unexplained::Contradiction(why) => write!(f, "the run's values do not fit its program model: {why}"),
            Unexplained::Stopped(_) => f.write_str("the budget ended before an invariant was found\n  next: give a larger --budget"),
        }
    }
}

/// A version of a variable: what it holds from one assignment to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Var {
    /// The source's name (`balance`, `bal`, `a[4]`).
    pub name: String,
    /// Whose it is: for variables of one thread and for what a thread read.
    pub thread: Option<ThreadId>,
    /// Width in bits.
    pub width: u8,
    /// What it was in the run.
    pub recorded: Option<u128>,
    /// What kind of thing.
    pub kind: VarKind,
    /// The variable that it is a version of, a row of [`Explanation::variables`]; `None` for helpers that the source
    /// does not have.
    pub variable: Option<u32>,
    /// The statement that makes it; `None` for what was there before.
    pub made_by: Option<usize>,
}

/// Kinds of [`Var`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VarKind {
    /// Shared memory after a write.
    Shared,
    /// What a read found.
    Read,
    /// A variable of one thread.
    Local,
    /// From outside: input, a library's result.
    Outside,
    /// A lock: 0 when it is free, otherwise the number of the thread that holds it, from 1.
    Lock,
    /// Whether a block of memory was freed.
    Freed,
    /// Whether a branch went the way that it went.
    Taken,
}

/// What a statement is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Reads shared memory.
    Read,
    /// Writes shared memory.
    Write,
    /// Assigns a variable of the thread's own.
    Assign,
    /// A branch, or an address that was taken as recorded.
    Branch,
    /// Takes a lock.
    Lock,
    /// Gives a lock back.
    Unlock,
    /// Frees memory.
    Free,
    /// Other synchronization.
    Sync(EventKind),
    /// What failed.
    Failure,
}

/// A statement of the failing path.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub kind: Kind,
    /// The step, if it is one.
    pub step: Option<StepId>,
    /// Its event, if one was recorded.
    pub event: Option<EventId>,
    /// Its site in the run, 0 where it has none.
    pub site: SiteId,
    /// Where it stands.
    pub place: SourcePlace,
    /// What is accessed or assigned, by name; empty for branches.
    pub name: String,
    /// What it makes.
    pub makes: Option<SymbolId>,
    /// What that is set to.
    pub value: Option<ExprId>,
    /// What holds here for the thread to go on as it did; for the failure: what went wrong.
    pub condition: Option<ExprId>,
    /// Whether the condition holds, as an unknown of its own.
    pub taken: Option<SymbolId>,
    /// The branches and locks that it is directly in scope of (Definition 3), as statements.
    pub guards: Vec<usize>,
    /// The value that it read or wrote in the run.
    pub recorded: Option<u128>,
    /// The thread that it creates or has waited for.
    pub other: Option<ThreadId>,
}

/// A dependency between two threads' accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hazard {
    /// The later one overwrites what the earlier one wrote.
    Waw,
    /// The later one overwrites what the earlier one read.
    War,
}

/// A conjunct.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fact {
    /// This is 1, over the variables' versions.
    Value(ExprId),
    /// A statement came before another one of another thread.
    Order {
        /// The earlier statement.
        before: usize,
        /// The later one.
        after: usize,
        /// Why it matters.
        hazard: Hazard,
    },
}

/// A conjunct with the positions that it holds at: position `n` is before statement `n`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reach {
    /// The first position.
    pub from: usize,
    /// The last one.
    pub to: usize,
    /// What holds.
    pub fact: Fact,
}

/// How small a slice is known to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Minimality {
    /// No statement of it can be left out: with any of them away the rest does not fail for certain.
    Proved,
    /// That was not found out for so many of its statements.
    Open(usize),
}

/// Sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Instructions of the trace: its statements.
    pub instructions: usize,
    /// Of these in the slice.
    pub kept: usize,
    /// Variables of the trace.
    pub variables: usize,
    /// Of these accessed by the slice.
    pub kept_variables: usize,
    /// Questions that the solver was asked.
    pub questions: usize,
}

/// What had to be true along a failing run.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The expressions.
    pub exprs: Exprs,
    /// Versions of variables, by [`SymbolId`].
    pub vars: Vec<Var>,
    /// Names of the variables that are counted.
    pub variables: Vec<String>,
    /// Names of the threads, by [`ThreadId`].
    pub threads: Vec<String>,
    /// Memory objects by their bases: what numbers that are addresses point to.
    pub objects: Vec<Object>,
    /// The failing path; the last statement is what failed.
    pub statements: Vec<Statement>,
    /// The statements that matter, ascending; the last one is what failed.
    pub slice: Vec<usize>,
    /// The error invariants: what holds where, in the order of where it begins.
    pub invariants: Vec<Reach>,
    /// The level that was used.
    pub level: Level,
    /// Why this one, in words.
    pub why: String,
    /// How small the slice is known to be.
    pub minimality: Minimality,
    /// Why invariants before some position are missing; [`StopReason::Complete`] when none are.
    pub stopped: StopReason,
    /// There is no program model: values are those of the run, and nothing is known of why they were written.
    pub is_concrete: bool,
    /// What was taken as recorded, in words.
    pub taken_as_recorded: Vec<String>,
    /// Sizes.
    pub counts: Counts,
}

impl Explanation {
    /// The conjuncts at a position: the invariant before statement `position`, or behind the one before it.
    pub fn at(&self, position: usize) -> impl Iterator<Item = &Fact> {
        let holds = move |reach: &&Reach| (reach.from..=reach.to).contains(&position);
        self.invariants
            .iter()
            .filter(holds)
            .map(|reach| &reach.fact)
    }

    /// The invariants do not reach back to the beginning of the run.
    pub fn is_partial(&self) -> bool {
        self.stopped != StopReason::Complete
    }
}
