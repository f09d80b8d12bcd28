//! Compiler wrapper, launching, symbolizing and replay.
//!
//! * [`wrapper`] compiles and links programs so that they can be recorded; the runtime that it links
//!   comes out of [`runtime_library`].
//! * [`launch`] runs a program once with a raw log; [`assemble`] turns the log into a run, and `digest` says before that
//!   whether it is worth it.
//! * [`record`] runs a program many times and keeps the runs; [`replay`] runs it again with the
//!   schedule of a run and compares.
//! * [`permit`] decides whether a program may be executed; launching demands its word.
//! * [`shard`] divides a campaign, or a suite, among machines.
//! * [`build_command`] says how a program is built, for recording and in a copy of its project.
//! * [`suite`] finds the cases of test programs and records each by itself.
//! * [`program`] reads the program model out of what the compiler says.
//! * [`proposal`] runs it by a schedule that somebody proposes.
//!
//! This crate explains nothing and knows no editor.

pub mod assemble;
pub mod build_command;
mod digest;
pub mod launch;
pub mod log;
pub mod modelled;
pub mod permit;
pub mod program;
pub mod proposal;
pub mod record;
pub mod replay;
pub mod runtime_library;
pub mod shard;
pub mod suite;
pub mod target;
pub mod wrapper;
