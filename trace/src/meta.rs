//! The metadata of a run: JSON under the key `unsnarl.run` of the schema.

use crate::{
    encoding::{Encoding, EncodingRow},
    index::IndexVec,
    input::RunInput,
    model::{EventId, LocationId, PointId, SiteId, StackId, ThreadId, UnitNameId},
    path::PathRow,
    program::PointNumber,
    schedule::Schedule,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Version of the run file that this crate writes. Readers refuse newer ones.
pub const FORMAT: u32 = 4;

/// The way in which a run ended.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Exit status 0, or another one that was expected.
    #[default]
    Passed,
    /// Assertion, abort, signal, misuse of the heap, an exit status that was not expected.
    Failed,
    /// No thread can go on: all that are left wait.
    Deadlocked,
    /// Longer than allowed, in time or in steps.
    TimedOut,
    /// The record of it ends before the run did.
    CutShort,
}

impl Outcome {
    /// The word for it, as in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Deadlocked => "deadlocked",
            Self::TimedOut => "timed-out",
            Self::CutShort => "cut-short",
        }
    }

    /// Returns whether the program failed, deadlocked or timed out.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Deadlocked | Self::TimedOut)
    }
}

/// The relation between the recorded order of events and the real one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderMode {
    /// One thread at a time: order and values are exact.
    #[default]
    Controlled,
    /// Threads ran freely: exact only for properly locked data.
    Free,
    /// Threads ran freely and only their paths and their synchronization are known: no accesses.
    Path,
    /// A run converted from the trace of another tool.
    Imported,
}

/// The kind of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// `assert`.
    Assert,
    /// `abort` or `std::terminate`.
    Abort,
    /// A fatal signal.
    Signal,
    /// A check of a test framework, which printed its place before the program ended with an exit status that was not
    /// expected.
    Check,
    /// An exit status that was not expected.
    Exit,
    /// A block was freed twice.
    DoubleFree,
    /// A heap block was accessed after it had been freed.
    UseAfterFree,
    /// An address was freed that is no heap block's.
    InvalidFree,
    /// A report of the undefined behavior sanitizer ended the program.
    UndefinedBehavior,
    /// A thread unlocked a lock that it did not hold.
    UnlockNotHeld,
    /// No thread can go on: all that are left wait.
    Deadlock,
    /// Out of time or steps.
    Timeout,
}

impl FailureKind {
    /// The word for it, as it is written in run files.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Assert => "assert",
            FailureKind::Abort => "abort",
            FailureKind::Signal => "signal",
            FailureKind::Check => "check",
            FailureKind::Exit => "exit",
            FailureKind::DoubleFree => "double-free",
            FailureKind::UseAfterFree => "use-after-free",
            FailureKind::InvalidFree => "invalid-free",
            FailureKind::UndefinedBehavior => "undefined-behavior",
            FailureKind::UnlockNotHeld => "unlock-not-held",
            FailureKind::Deadlock => "deadlock",
            FailureKind::Timeout => "timeout",
        }
    }
}

/// The failure of a run, with its place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// One line for a person, e.g. ``assertion `balance == 450` failed`` or `segmentation fault`.
    pub message: String,
    /// The thread that failed; `None` if no single thread did.
    pub thread: Option<ThreadId>,
    /// Site of the failure.
    pub site: Option<SiteId>,
    /// The event of kind `failure`, or the last access before it.
    pub event: Option<EventId>,
}

/// Choices other than threads that a run could make; its schedule is read accordingly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Chances {
    /// Waits on condition variables could end by themselves.
    pub spurious_wakeups: bool,
    /// The time of timed waits could be over at once.
    pub early_timeouts: bool,
    /// Steps could fail that the standard allows to fail for no reason: weak compare-and-exchange,
    /// `mtx_trylock`.
    pub failing_tries: bool,
    /// Allocations could fail, once in this many where the strategy draws.
    pub fail_malloc: Option<u32>,
    /// Something was chosen within calls of `unsnarl_check` only: elsewhere the threads ran in their default order.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub within_checks: bool,
}

impl Chances {
    /// Returns whether threads are all that is chosen.
    pub fn is_none(&self) -> bool {
        *self == Chances::default()
    }

    /// The bits as in the raw log's header.
    pub fn bits(&self) -> u32 {
        use crate::raw::chance::{ALLOCATION, EARLY_TIMEOUT, SPURIOUS_WAKEUP, TRY, WITHIN_CHECKS};
        let bit = |on: bool, bit: u32| if on { bit } else { 0 };
        bit(self.spurious_wakeups, SPURIOUS_WAKEUP)
            | bit(self.early_timeouts, EARLY_TIMEOUT)
            | bit(self.failing_tries, TRY)
            | bit(self.fail_malloc.is_some(), ALLOCATION)
            | bit(self.within_checks, WITHIN_CHECKS)
    }
}

/// Criteria for a failure of a program, where they differ from the usual ones.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Criteria {
    /// Exit statuses of a run that passed; without any, only 0 is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected_exits: Vec<u8>,
    /// An access to a freed heap block is no failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_use_after_free: bool,
}

impl Criteria {
    /// Returns whether these are the usual criteria.
    pub fn is_usual(&self) -> bool {
        *self == Criteria::default()
    }

    /// Returns whether a run that ended by itself with this exit status passed.
    pub fn expects(&self, status: i32) -> bool {
        match self.expected_exits.is_empty() {
            true => status == 0,
            false => u8::try_from(status).is_ok_and(|it| self.expected_exits.contains(&it)),
        }
    }
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Place in the fork tree: `main`, `main.1`, `main.1.2`.
    pub name: String,
    /// Start routine, empty when not known.
    pub start: String,
    /// The thread that created it; `None` for `main`.
    pub parent: Option<ThreadId>,
    /// Site of the call that created it.
    pub created_at: SiteId,
}

/// A site.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct SiteRow {
    /// Source file as the debug info names it, absolute where it can be made so; empty when not known.
    pub file: String,
    /// Line, from 1; 0 when not known.
    pub line: u32,
    /// Column in bytes, from 1; 0 when not known.
    pub column: u32,
    /// Function, demangled.
    pub function: String,
    /// Source text of the line, trimmed; empty when the source was not there or had changed.
    pub text: String,
}

impl SiteRow {
    /// Returns whether this is a line of the user's code: a known line outside the headers of the compiler and the C
    /// library.
    pub fn is_of_user(&self) -> bool {
        !self.file.is_empty() && self.line != 0 && !is_system(&self.file)
    }

    /// Returns whether both are the same line of a function.
    pub fn is_same_line(&self, other: &SiteRow) -> bool {
        (&self.file, self.line, &self.function) == (&other.file, other.line, &other.function)
    }
}

/// Returns whether a source file belongs to the compiler, the C library or the runtime instead of to the user.
pub fn is_system(file: &str) -> bool {
    const FOLDERS: [&str; 7] = [
        "/usr/include/",
        "/usr/lib/",
        "/usr/lib64/",
        "/usr/local/include/",
        "/usr/local/lib/",
        "/lib/",
        "/rustc/",
    ];
    FOLDERS.iter().any(|folder| file.starts_with(folder)) || file.contains("/include/c++/")
}

/// One frame of a call stack; with its callers it is a whole stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct FrameRow(
    /// The caller's stack.
    pub StackId,
    /// The site of the call.
    pub SiteId,
);

/// A block of code that a [`Branch`](crate::EventKind::Branch) event entered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct BlockRow {
    /// The value of the events that entered it: the same in every run of one build.
    pub id: u64,
    /// Site of the block's first instruction.
    pub site: SiteId,
    /// An instruction in it, the first one where the model has a place for that.
    #[serde(default, skip_serializing_if = "PointId::is_unknown")]
    pub point: PointId,
    /// `true` if it is the first block of its function: entering it is a call, unless a loop begins the function.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_entry: bool,
}

/// An instruction of the program model ([`crate::program`]).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct PointRow(
    /// Its unit.
    pub UnitNameId,
    /// Its number in the unit, from 1.
    pub PointNumber,
);

/// A source file as it was when the program was recorded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceRow {
    /// Path as in [`SiteRow::file`].
    pub file: String,
    /// SHA-256 of its bytes in hexadecimal.
    pub sha256: String,
}

/// A switch away from a thread that could have gone on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Preemption {
    /// The thread that had to wait.
    pub thread: ThreadId,
    /// The thread that ran instead.
    pub to: ThreadId,
    /// The first event of the preempted thread after the preemption; `None` if it never ran again.
    pub event: Option<EventId>,
}

/// The origin of a run that was minimized to as few preemptions as could be found.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Minimized {
    /// The run file that it was made from.
    pub from: String,
    /// The preemptions of that one.
    pub preemptions_before: u64,
    /// Preemptions of this run, in order. Without any one of them it does not fail like this.
    pub preemptions: Vec<Preemption>,
    /// Runs that were tried.
    pub tried: u64,
    /// `true` if nothing was left to try; otherwise the limit of tries was reached, and fewer preemptions may
    /// suffice.
    pub complete: bool,
}

/// Accesses without an event. Within a stretch in which one thread has the turn and only computes, an access at the same
/// place to the same bytes as one before has none, unless it is the last of several writes. Where the log of a run was
/// full, its older part was condensed: of it there is what threads get from each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LeftOut {
    /// Number of these accesses.
    pub accesses: u64,
    /// Decision points from the run's beginning within which all accesses have events, unless the log was condensed.
    pub after: u64,
    /// Set when the log was full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condensed: Option<CondensedPart>,
}

/// The part of a run of which there is what threads get from each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CondensedPart {
    /// Number of events that are left of it: those from there on are all there.
    pub events: u64,
    /// Number of records that the log could hold.
    pub room: u64,
}

/// The metadata of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunMeta {
    /// [`FORMAT`] of the file.
    pub format: u32,
    /// Path of the program.
    pub program: String,
    /// SHA-256 of the program's file.
    pub build_id: String,
    /// Path of the parent program, as a script, that was started in its place and started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Program, or parent program, and arguments as given.
    pub command: Vec<String>,
    /// Working directory it ran in.
    pub directory: String,
    /// SHA-256 over arguments and standard input: runs of one build and one input make a corpus.
    pub input_hash: String,
    /// The relation between the recorded order of events and the real one.
    pub mode: OrderMode,
    /// Order and values are exact.
    pub exact: bool,
    /// `random`, `pct`, `exhaustive`, `replay`, `sequential`, `free`, `path` or `imported`.
    pub strategy: String,
    /// Seed of the strategy.
    pub seed: u64,
    /// PCT's depth; 0 otherwise.
    pub depth: u32,
    /// PCT's k; 0 otherwise.
    pub expected_steps: u64,
    /// Time that the run could take in milliseconds, where it is not [`USUAL_TIME`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<u64>,
    /// Decision points that the run passed.
    pub steps: u64,
    /// The way in which the run ended.
    pub outcome: Outcome,
    /// Set unless it passed.
    pub failure: Option<Failure>,
    /// Threads, in the order of creation.
    pub threads: IndexVec<ThreadId, ThreadRow>,
    /// Sites; row 0 is "not known".
    pub sites: IndexVec<SiteId, SiteRow>,
    /// Call stacks as a tree; row 0 is the root.
    pub frames: IndexVec<StackId, FrameRow>,
    /// Blocks that branches entered; empty when branches were not recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<BlockRow>,
    /// The threads' paths; empty unless they were recorded in path mode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathRow>,
    /// Names of the program model's units that points are in: [`Hash`](crate::program::Hash)es in hexadecimal.
    #[serde(skip_serializing_if = "IndexVec::is_empty")]
    pub units: IndexVec<UnitNameId, String>,
    /// Instructions that events are of; row 0 is "not known". Empty when none is known.
    #[serde(skip_serializing_if = "IndexVec::is_empty")]
    pub points: IndexVec<PointId, PointRow>,
    /// Locations that were used as locks.
    pub locks: Vec<LocationId>,
    /// Encodings of locations whose bits are more than whole numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub encodings: Vec<EncodingRow>,
    /// Places in the program where threads were not chosen, because no run before had seen them meet
    /// another thread's; 0 when none was passed over.
    #[serde(skip_serializing_if = "is_zero")]
    pub quiet_places: u32,
    /// Set when repeated accesses have no events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Hash of the order of conflicting events: runs with equal ones differ only in the order of steps
    /// that have nothing to do with each other. Empty when not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub order: String,
    /// Set when the run was made from another one, with fewer preemptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimized: Option<Minimized>,
    /// Choices other than threads that the schedule holds.
    #[serde(skip_serializing_if = "Chances::is_none")]
    pub chances: Chances,
    /// Criteria by which the run was judged.
    #[serde(skip_serializing_if = "Criteria::is_usual")]
    pub criteria: Criteria,
    /// Input from outside the process.
    #[serde(skip_serializing_if = "RunInput::is_empty")]
    pub input: RunInput,
    /// Choices that make the run repeat.
    pub schedule: Schedule,
    /// Source files that sites are in.
    pub sources: Vec<SourceRow>,
    /// Uses of locals of other threads whose function had returned, the first of each place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_locals: Vec<LeftLocal>,
    /// Libraries with locks that were not recorded: what they guard may look as if nothing did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen_locks: Vec<String>,
    /// Remarks for the reader: gaps, inexact parts, things that could not be recorded.
    pub problems: Vec<String>,
}

/// A use of a local variable of another thread, by a pointer that the thread had from the time when the variable's function had
/// not returned yet. The location of its event is what the memory belongs to since then, if anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftLocal {
    /// `seq` of the use.
    pub used: u64,
    /// `seq` of the event, of any thread, that came next after the function had returned.
    pub ended: u64,
    /// Thread whose local it was.
    pub owner: ThreadId,
    /// Name of the variable.
    pub variable: String,
    /// Name of the function.
    pub function: String,
    /// Call stack of that call of the function.
    pub stack: StackId,
}

/// Time that a run may take unless the user says otherwise.
pub const USUAL_TIME: Duration = Duration::from_secs(10);

/// A time limit as [`RunMeta::time_limit`] notes it.
#[must_use]
pub fn noted_time(limit: Duration) -> Option<u64> {
    let milliseconds = || u64::try_from(limit.as_millis()).unwrap_or(u64::MAX).max(1);
    (limit != USUAL_TIME).then(milliseconds)
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl RunMeta {
    /// Time that the run could take.
    #[must_use]
    pub fn time(&self) -> Duration {
        self.time_limit.map_or(USUAL_TIME, Duration::from_millis)
    }

    /// Encoding of a location's values, where it is not that of whole numbers.
    #[must_use]
    pub fn encoding(&self, location: LocationId) -> Option<&Encoding> {
        let row = self.encodings.iter().find(|row| row.holds(location));
        row.map(|row| &row.encoding)
    }

    /// The thread's row.
    #[track_caller]
    pub fn thread(&self, id: ThreadId) -> &ThreadRow {
        &self.threads[id]
    }

    /// The unit's name and the number in it of an instruction; `None` for "not known".
    #[track_caller]
    pub fn point(&self, id: PointId) -> Option<(&str, PointNumber)> {
        if id.is_unknown() {
            return None;
        }
        let PointRow(unit, number) = self.points[id];
        (number != PointNumber(0)).then(|| (self.units[unit].as_str(), number))
    }

    /// The site's row; an empty one for "not known", also in a table without rows.
    #[track_caller]
    pub fn site(&self, id: SiteId) -> &SiteRow {
        static UNKNOWN: SiteRow = SiteRow {
            file: String::new(),
            line: 0,
            column: 0,
            function: String::new(),
            text: String::new(),
        };
        match id {
            SiteId(0) if self.sites.is_empty() => &UNKNOWN,
            id => &self.sites[id],
        }
    }

    /// The innermost frame of a call stack; the root's, also in a table without rows.
    #[track_caller]
    pub fn frame(&self, id: StackId) -> FrameRow {
        match id {
            StackId(0) if self.frames.is_empty() => FrameRow::default(),
            id => self.frames[id],
        }
    }
}
