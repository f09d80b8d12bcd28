//! Test suites: the cases of test programs, each recorded by itself.
//!
//! A case has a command of its own, so its runs are a corpus of their own: a failing case is explained by its own runs.
//! [`discover`] asks the programs, CTest or Meson for the cases, and [`record_all`] records them side by side.

mod allotment;
mod case;
mod changed;
mod ctest;
pub mod discover;
mod error;
mod framework;
mod functions;
mod listing;
mod meson;
mod outdated;
mod pattern;
mod record;
mod report;
mod workers;

pub use case::{CaseState, Suite, TestCase};
pub use changed::ExecutedFunctions;
pub use error::SuiteError;
pub use framework::TestFramework;
pub use report::{CaseFailure, CaseReport, CaseVerdict};
pub use workers::{Effort, SuiteSettings, record_all};
