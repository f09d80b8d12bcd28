//! The leaf of unsnarl: what an event is, how a run is stored, and how the raw log lies in memory.
//!
//! * [`kinds`] are the kinds of events and records, with all that others need to know of them.
//! * [`raw`] is the fixed layout that the runtime inside the user's program writes and the recorder
//!   reads. It needs neither `std` nor any other crate.
//! * [`model`], [`meta`] and [`run`] are a run in memory: columns of small integers and tables.
//! * [`index`] are tables whose rows are named by typed ids.
//! * [`encoding`] are the readings that types give to bits.
//! * [`write`](mod@write) and [`read`](mod@read) are the run file, an Arrow IPC file
//!   (`docs/run-file.md` is its specification).
//! * [`program`] is the program model that the compiler wrapper keeps.
//! * [`proposal`] is a schedule that somebody proposes, as JSON.
//! * [`rapid`] are traces of other tools as text.
//! * [`folder`] is where run files are kept; [`files`] reads what others may have put there.
//! * [`own_folder`] are the folders that belong to the user alone; [`folder_notes`] keeps notes about folders there.
//! * [`script`] is a run as text, for tests; [`shell`] is a command line as text.
//!
//! This crate opens no process, reads no debug info and analyses nothing.
#![cfg_attr(not(feature = "file"), no_std)]

pub mod kinds;
pub mod raw;

#[cfg(feature = "file")]
pub mod encoding;
#[cfg(feature = "file")]
mod failure_mode;
#[cfg(feature = "file")]
pub mod files;
#[cfg(feature = "file")]
pub mod folder;
#[cfg(feature = "file")]
pub mod folder_notes;
#[cfg(feature = "file")]
pub mod index;
#[cfg(feature = "file")]
pub mod input;
#[cfg(feature = "file")]
mod location;
#[cfg(feature = "file")]
pub mod meta;
#[cfg(feature = "file")]
pub mod model;
#[cfg(feature = "file")]
pub mod own_folder;
#[cfg(feature = "file")]
pub mod path;
#[cfg(feature = "file")]
pub mod program;
#[cfg(feature = "file")]
pub mod proposal;
#[cfg(feature = "file")]
pub mod rapid;
#[cfg(feature = "file")]
pub mod read;
#[cfg(feature = "file")]
pub mod run;
#[cfg(feature = "file")]
pub mod schedule;
#[cfg(feature = "file")]
mod schema;
#[cfg(feature = "file")]
pub mod script;
#[cfg(feature = "file")]
pub mod shell;
#[cfg(feature = "file")]
pub mod write;

#[cfg(feature = "file")]
pub use crate::{
    encoding::{Encoding, EncodingRow},
    failure_mode::FailureMode,
    folder::{EncodedRun, RUNS, RunFile, RunFolder, StoreError},
    index::{IndexVec, RunScope},
    location::Location,
    meta::{
        BlockRow, Chances, Criteria, Failure, FailureKind, FrameRow, LeftLocal, Minimized,
        OrderMode, Outcome, PointRow, Preemption, RunMeta, SiteRow, SourceRow, ThreadRow,
    },
    model::{
        Event, EventId, EventKind, LocationId, MemoryOrder, PointId, SiteId, StackId, ThreadId,
        UnitNameId, Value, flags,
    },
    path::{PathRow, PathStep},
    proposal::{Occurrences, Policy, Proposal, ProposalError, Wanted},
    read::{ReadError, begins_as_run, read_run, read_run_bytes},
    run::{EventColumns, Events, Run},
    schedule::Schedule,
    write::{RunEncoder, WriteError, write_run},
};
