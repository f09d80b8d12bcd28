//! A fix as data. `docs/explain-json.md` documents the JSON of it.

use super::{sections::Region, trial::Trial};
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
    /// Sets something later: a flag or a pointer after what it stands for, data after the lock for the rest is held.
    MoveBehind,
    /// Takes two locks in the same order everywhere.
    LockOrder,
    /// Looks again after a wait: `while` instead of `if`.
    LookAgain,
    /// Tells those who wait of a change that nobody told them of.
    Signal,
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
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
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

/// What comes before what, in every run that the fix allows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Ordered {
    /// The thread has ended before the line is reached.
    EndsBefore {
        /// The thread, as runs name it: `main.3`.
        thread: String,
        /// File of the line.
        file: String,
        /// The line, or one that is called from it.
        line: u32,
    },
    /// Of two nested locks the inner one is taken first.
    TakesFirst {
        /// File of the lines.
        file: String,
        /// The line that takes the inner one, or a call that does.
        line: u32,
        /// The line that takes the outer one.
        before: u32,
        /// Only where the inner one has the smaller address.
        by_address: bool,
    },
    /// The line was executed before the thread does anything.
    BeginsAfter {
        /// The thread, as runs name it: `main.3`.
        thread: String,
        /// File of the line.
        file: String,
        /// The line.
        line: u32,
    },
}

/// How much of a recorded run lies under the lock of a fix: its steps are its events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Share {
    /// Steps with the lock held, when the fix is made.
    pub held: u64,
    /// Steps with it held as the program is.
    pub before: u64,
    /// All steps.
    pub of: u64,
}

/// A suggested change of the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fix {
    /// Its number among those of the explanation, from 1: `unsnarl verify ID:2` tries the second. It stays when others
    /// turn out not to hold.
    pub number: u32,
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
    /// What the edits make critical sections: a constraint is told by these. Only where the fix was worked out.
    #[serde(skip)]
    pub regions: Vec<Region>,
    /// The lock as the runs name it, if the program has it already: its critical sections exclude the lines, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// The orders that it brings about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ordered: Vec<Ordered>,
    /// What it serializes, in a recorded run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// What came of trying it; none when nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<Trial>,
}

impl Fix {
    /// A fix that only edits: nothing is said of the orders that it allows.
    pub fn edit(kind: FixKind, title: String, edits: Vec<Edit>, cost: String) -> Fix {
        Fix {
            number: 1,
            kind,
            title,
            edits,
            assumes: Vec::new(),
            cost,
            exclusive: Vec::new(),
            regions: Vec::new(),
            lock: None,
            ordered: Vec::new(),
            share: None,
            tried: None,
        }
    }
}
