//! A fix as data. `docs/explain-json.md` documents its JSON.

use super::{gaps::Gap, sections::EditRegion, trial::Trial};
use serde::{Deserialize, Serialize};

/// Kind of a fix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FixKind {
    /// Holds an existing lock over more lines.
    WidenSection,
    /// Guards lines with a new mutex.
    NewMutex,
    /// Joins a thread before data that it uses is destroyed, or before data that it sets is used.
    JoinBefore,
    /// Sets data before the thread that reads it is created.
    SetBefore,
    /// Sets data later: a flag or a pointer after the data it announces, data after the lock for the rest is
    /// held; or does work later than the request for it is taken back.
    MoveBehind,
    /// Acquires two locks in the same order everywhere.
    LockOrder,
    /// Checks again after a wait: `while` instead of `if`.
    LookAgain,
    /// Waits on a condition variable until what is asserted later is going to hold.
    Wait,
    /// Signals a change of which waiting threads were not notified.
    Signal,
    /// Releases a lock on ways out that forget it.
    Unlock,
    /// Changes an atomic variable by one operation instead of a load and a store.
    AtomicUpdate,
    /// Acquires the lock that guards the data instead of another one.
    OtherLock,
    /// Acquires a lock for writing that was acquired for reading only.
    ForWriting,
    /// Waits for the other threads between two steps, at a barrier that they wait at already.
    Barrier,
}

/// A place in a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// Replacement of a part of a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FileEdit {
    /// File as the debug info names it.
    pub file: String,
    /// First byte that is removed.
    pub start: u32,
    /// The byte after the last one that is removed; `start` for an insertion.
    pub end: u32,
    /// Position of `start`.
    pub from: Position,
    /// Position of `end`.
    pub to: Position,
    /// Text to insert.
    pub text: String,
}

/// Lines that a fix makes atomic, in the text as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct GuardedLines {
    /// File.
    pub file: String,
    /// First line on which the lock is held.
    pub first: u32,
    /// Last line.
    pub last: u32,
    /// Function.
    pub function: String,
}

/// Order of events in every run that the fix allows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Ordered {
    /// The thread has ended before the line is reached.
    EndsBefore {
        /// The thread, as runs name it: `main.3`.
        thread: String,
        /// File of the line.
        file: String,
        /// The line, or one with a call that leads to the event.
        line: u32,
    },
    /// Of two nested locks the inner one is acquired first.
    TakesFirst {
        /// File of the lines.
        file: String,
        /// The line that acquires the inner one, or a call that does.
        line: u32,
        /// The line that acquires the outer one.
        before: u32,
        /// `true` if only where the inner one has the smaller address.
        by_address: bool,
    },
    /// The line was executed before the thread executes anything.
    BeginsAfter {
        /// The thread, as runs name it: `main.3`.
        thread: String,
        /// File of the line.
        file: String,
        /// The line.
        line: u32,
    },
}

/// Share of a recorded run under the lock of a fix: the run's steps are its events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SectionShare {
    /// Steps with the lock held, with the fix applied.
    pub held: u64,
    /// Steps with the lock held in the unchanged program.
    pub before: u64,
    /// All steps.
    pub of: u64,
}

/// A suggested change of the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fix {
    /// Its number among the fixes of the explanation, from 1: `unsnarl verify ID:2` tries that of number 2. It
    /// stays when others turn out not to hold.
    pub number: u32,
    /// Kind of the fix.
    pub kind: FixKind,
    /// Title for people: `keep account.lock from line 45 to line 56`.
    pub title: String,
    /// The edits, sorted by file and position. They do not overlap.
    pub edits: Vec<FileEdit>,
    /// Assumptions of the fix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumes: Vec<String>,
    /// Cost of the fix.
    pub cost: String,
    /// Lines that exclude each other under the fix, guarded by its lock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusive: Vec<GuardedLines>,
    /// Critical sections that the edits make, which define the constraint. Only on a fix that was just
    /// derived.
    #[serde(skip)]
    pub regions: Vec<EditRegion>,
    /// Lines on which a lock that was given up for a moment stays held, which define the constraint. Only on a fix
    /// that was just derived.
    #[serde(skip)]
    pub gaps: Vec<Gap>,
    /// The lock as the runs name it, if the program has it already: its critical sections exclude the lines,
    /// too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// A thread that holds the lock may take it again. Only on a fix that was just derived.
    #[serde(skip)]
    pub is_recursive: bool,
    /// The orders that it enforces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ordered: Vec<Ordered>,
    /// The objection of a run that seems to contradict it. Runs show lines and no statements, so that only building it can
    /// tell. Only on a fix that was just derived.
    #[serde(skip)]
    pub doubt: Option<String>,
    /// Share of a recorded run that it serializes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<SectionShare>,
    /// Result of its trial; none when it was not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<Trial>,
}

impl Fix {
    /// A fix that only edits, without a statement about the orders that it allows.
    pub fn edit(kind: FixKind, title: String, edits: Vec<FileEdit>, cost: String) -> Fix {
        Fix {
            number: 1,
            kind,
            title,
            edits,
            assumes: Vec::new(),
            cost,
            exclusive: Vec::new(),
            regions: Vec::new(),
            gaps: Vec::new(),
            lock: None,
            is_recursive: false,
            ordered: Vec::new(),
            doubt: None,
            share: None,
            tried: None,
        }
    }
}
