//! Data model of an explanation by error invariants.

use crate::{ExprId, Exprs, MemoryObject, NamedValues, SourcePlace, StepId, SymbolId};
use std::fmt;
use unsnarl_core::StopReason;
use unsnarl_trace::{EventId, EventKind, SiteId, ThreadId};

/// The dependencies that an explanation keeps beyond the data flow (*ds*): an element of the power set of
/// {cs, war, waw} ([error-invariants], section 3.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Level {
    /// Control dependence: the reason each branch around a statement was taken.
    pub cs: bool,
    /// Writes of other threads that came after a read.
    pub war: bool,
    /// Writes of other threads that came before the write that a read reads from.
    pub waw: bool,
}

impl Level {
    /// Data flow only.
    pub const DS: Level = Level::new(false, false, false);
    /// With control dependence.
    pub const CS: Level = Level::new(true, false, false);
    /// With hazards.
    pub const HS: Level = Level::new(false, true, true);
    /// With control dependence and hazards.
    pub const ALL: Level = Level::new(true, true, true);
    /// The levels of the paper's Table 1, lightest first.
    pub const STEPS: [Level; 4] = [Level::DS, Level::HS, Level::CS, Level::ALL];

    const fn new(cs: bool, war: bool, waw: bool) -> Level {
        Level { cs, war, waw }
    }

    /// All eight levels, smaller sets first.
    pub fn every() -> [Level; 8] {
        let sets = [0u8, 1, 2, 4, 3, 5, 6, 7];
        sets.map(|set| Level::new(set & 4 != 0, set & 2 != 0, set & 1 != 0))
    }

    /// `true` if every dependency kept at this level is kept at the other one.
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

/// Options of [`PreparedPath::explain`](super::PreparedPath::explain).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct InvariantOptions {
    /// The level; `None` for the lightest that contains an inter-thread step.
    pub level: Option<Level>,
    /// `true` if all writes of Formula 7 count as hazards, not only each thread's nearest.
    pub every_write: bool,
}

/// Reason for the lack of an explanation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unexplained {
    /// The run did not fail.
    Passed,
    /// The failure is no condition that can be read back; the reason, and the next step for the user.
    Unreadable(String),
    /// The model contradicts the failure: recorded values do not fit it.
    Contradiction(String),
    /// The budget ended before any result.
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

/// A version of a variable: its value from one assignment to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Var {
    /// The source's name (`balance`, `bal`, `a[4]`).
    pub name: String,
    /// The thread, for private variables and for values read.
    pub thread: Option<ThreadId>,
    /// Width in bits.
    pub width: u8,
    /// Value in the run.
    pub recorded: Option<u128>,
    /// Kind of the version.
    pub kind: VarKind,
    /// Names that the source has for its values.
    pub names: Option<NamedValues>,
    /// The variable it is a version of, a row of [`Explanation::variables`]; `None` for helpers without a
    /// counterpart in the source.
    pub variable: Option<u32>,
    /// The statement that makes it; `None` for an initial version.
    pub made_by: Option<usize>,
}

/// Kinds of [`Var`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VarKind {
    /// Shared memory after a write.
    Shared,
    /// A value read from shared memory.
    Read,
    /// A private variable of one thread.
    Local,
    /// A value from outside: input, a library's result.
    Outside,
    /// A lock: 0 when it is free, otherwise the number of its holder, from 1.
    Lock,
    /// Freed state of a memory block.
    Freed,
    /// Wait of a thread that nothing ended: 1.
    Waiting,
    /// Number of units of a semaphore.
    Units,
    /// Direction of a branch: 1 if it went as recorded.
    Taken,
}

/// Kinds of [`Statement`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Reads shared memory.
    Read,
    /// Writes shared memory.
    Write,
    /// Assigns a private variable of the thread.
    Assign,
    /// A branch, or an address that was fixed to the recorded one.
    Branch,
    /// Acquires a lock.
    Lock,
    /// Releases a lock.
    Unlock,
    /// Frees memory.
    Free,
    /// Other synchronization.
    Sync(EventKind),
    /// The failure.
    Failure,
}

/// A statement of the failing path.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// The thread.
    pub thread: ThreadId,
    /// Kind of the statement.
    pub kind: Kind,
    /// The step, if it is one.
    pub step: Option<StepId>,
    /// Its event, if one was recorded.
    pub event: Option<EventId>,
    /// Site in the run, 0 where it has none.
    pub site: SiteId,
    /// Place in the source.
    pub place: SourcePlace,
    /// Name of the variable that is accessed or assigned; empty for branches.
    pub name: String,
    /// The version that it makes.
    pub makes: Option<SymbolId>,
    /// The value of that version.
    pub value: Option<ExprId>,
    /// The condition under which the thread goes on as it did; for the failure, the failing condition.
    pub condition: Option<ExprId>,
    /// The unknown that stands for the condition.
    pub taken: Option<SymbolId>,
    /// The branches and locks whose scope it is directly in (Definition 3), as statements.
    pub guards: Vec<usize>,
    /// Value read or written in the run.
    pub recorded: Option<u128>,
    /// The thread that it creates or joins.
    pub other: Option<ThreadId>,
}

/// A dependency between two threads' accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hazard {
    /// Write after write: the later access overwrites the earlier write.
    Waw,
    /// Write after read: the later access overwrites the value that the earlier one read.
    War,
    /// Wait after signal: the signal came while the later thread did not wait yet.
    Missed,
}

/// A conjunct of an invariant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fact {
    /// A condition over the variables' versions that is 1.
    Value(ExprId),
    /// Order of two statements of different threads.
    Order {
        /// The earlier statement.
        before: usize,
        /// The later one.
        after: usize,
        /// The hazard that the order avoids or causes.
        hazard: Hazard,
    },
    /// Absence of steps of other threads: between two statements none changes what the later one reads or waits for.
    Untouched {
        /// The earlier statement; none for the beginning of the run.
        since: Option<usize>,
        /// The later one.
        until: usize,
    },
}

/// A conjunct with the positions that it holds at: position `n` is before statement `n`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reach {
    /// The first position.
    pub from: usize,
    /// The last one.
    pub to: usize,
    /// The conjunct.
    pub fact: Fact,
}

/// Degree to which the slice is known to be minimal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Minimality {
    /// No statement can be left out: without any one of them the rest does not imply the failure.
    Proved,
    /// Undecided for this many statements.
    Open(usize),
}

/// Sizes of the trace and the slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SliceCounts {
    /// Statements of the trace.
    pub instructions: usize,
    /// Statements in the slice.
    pub kept: usize,
    /// Variables of the trace.
    pub variables: usize,
    /// Variables accessed by the slice.
    pub kept_variables: usize,
    /// Queries to the solver.
    pub questions: usize,
}

/// Slice and error invariants of a failing run.
#[derive(Clone, Debug)]
pub struct PathExplanation {
    /// The expressions.
    pub exprs: Exprs,
    /// Versions of variables, by [`SymbolId`].
    pub vars: Vec<Var>,
    /// Names of the counted variables.
    pub variables: Vec<String>,
    /// Names of the threads, by [`ThreadId`].
    pub threads: Vec<String>,
    /// Memory objects by their bases, to name numbers that are addresses.
    pub objects: Vec<MemoryObject>,
    /// The failing path; the last statement is the failure.
    pub statements: Vec<Statement>,
    /// The statements of the slice, ascending; the last one is the failure.
    pub slice: Vec<usize>,
    /// The error invariants with their ranges, by first position.
    pub invariants: Vec<Reach>,
    /// The level that was used.
    pub level: Level,
    /// Reason for this level, in words.
    pub why: String,
    /// Minimality of the slice.
    pub minimality: Minimality,
    /// Reason why invariants before some position are missing; [`StopReason::Complete`] when none are.
    pub stopped: StopReason,
    /// `true` without a program model: values are those of the run, and the reasons for writing them are
    /// unknown.
    pub is_concrete: bool,
    /// Notes on values fixed to the recorded ones.
    pub taken_as_recorded: Vec<String>,
    /// Sizes of the trace and the slice.
    pub counts: SliceCounts,
}

impl PathExplanation {
    /// The conjuncts at a position: the invariant before statement `position`, or after the preceding one.
    pub fn at(&self, position: usize) -> impl Iterator<Item = &Fact> {
        let holds = move |reach: &&Reach| (reach.from..=reach.to).contains(&position);
        self.invariants
            .iter()
            .filter(holds)
            .map(|reach| &reach.fact)
    }

    /// `true` if the invariants do not reach back to the beginning of the run.
    pub fn is_partial(&self) -> bool {
        self.stopped != StopReason::Complete
    }
}
