//! A fix as data. `docs/explain-json.md` documents the JSON of it.

use serde::{Deserialize, Serialize};

/// What a fix does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FixKind {
    /// Keeps a lock that there is over more lines.
    WidenSection,
    /// Guards lines with a mutex that is declared for it.
    NewMutex,
    /// Joins a thread before what it uses is taken away, or before what it sets is used.
    JoinBefore,
    /// Sets something before the thread that looks at it is created.
    SetBefore,
    /// Takes two locks in the same order everywhere.
    LockOrder,
    /// Looks again after a wait: `while` instead of `if`.
    LookAgain,
}

/// A place in a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// A part of a file and what comes in its place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Edit {
    /// File as the debug info names it.
    pub file: String,
    /// First byte that goes.
    pub start: u32,
    /// The byte after the last one that goes; `start` for an insertion.
    pub end: u32,
    /// Where `start` is.
    pub from: Position,
    /// Where `end` is.
    pub to: Position,
    /// What comes.
    pub text: String,
}

/// Lines that a fix makes one step, in the text as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Guarded {
    /// File.
    pub file: String,
    /// First line on which the lock is held.
    pub first: u32,
    /// Last one.
    pub last: u32,
    /// Function.
    pub function: String,
}

/// What `first` does comes before what `then` does, in every run that the fix allows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Ordered {
    /// File and line.
    pub first: (String, u32),
    /// File and line.
    pub then: (String, u32),
}

/// A suggested change of the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fix {
    /// What it does.
    pub kind: FixKind,
    /// The same for a person: `keep account.lock from line 45 to line 56`.
    pub title: String,
    /// The change, in the order of files and places. They do not overlap.
    pub edits: Vec<Edit>,
    /// What it takes for granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumes: Vec<String>,
    /// What it costs.
    pub cost: String,
    /// Lines that exclude each other under the fix: what its lock guards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusive: Vec<Guarded>,
    /// The lock as the runs name it, if the program has it already: its critical sections exclude the lines, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// The orders that it brings about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ordered: Vec<Ordered>,
}
