//! Errors that keep a suite from being recorded.

use crate::target::TargetError;
use std::{io, path::PathBuf, time::Duration};

/// An error that keeps the cases of a suite from being found.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The test program cannot be recorded.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A program could not be started to list its cases.
    #[error("cannot start {program} to list its tests: {error}")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        error: io::Error,
    },
    /// The listing took too long.
    #[error(
        "{program} was still listing its tests after {} s\n  next: try it by itself: {program}",
        time.as_secs()
    )]
    Silent {
        /// The program with its arguments.
        program: String,
        /// The time that it had.
        time: Duration,
    },
    /// The listing makes no sense.
    #[error(
        "cannot read the list of tests that {program} printed: {why}\n  next: try it by itself: {program}"
    )]
    Listing {
        /// The program with its arguments.
        program: String,
        /// The cause.
        why: String,
    },
    /// The folder is no build folder of CTest or Meson.
    #[error(
        "{} is no build folder with tests of CTest (CTestTestfile.cmake) or Meson (meson-info)\n  next: name the folder that was built in, or a test program after --",
        .0.display()
    )]
    NoBuildFolder(PathBuf),
}
