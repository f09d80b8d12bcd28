//! Shared parts of the end-to-end tests and the benchmarks: the built `unsnarl`, the programs with their expected
//! explanations, the pages about bug classes, and a working folder for each test.
//!
//! Nothing here looks inside another crate's work: programs are compiled, recorded and explained by
//! the command line, as a user does it.

pub mod binary;
pub mod build;
pub mod consistent;
pub mod exact;
pub mod expect;
pub mod mutants;
pub mod page;
pub mod program;
pub mod shows;
pub mod storage;
pub mod walked;
pub mod workspace;
pub mod wrapped;

pub use expect::Expectation;
pub use page::BugPage;
pub use program::{TestProgram, TestedCompiler};
pub use shows::shows;
pub use walked::WalkedPage;
pub use workspace::{Finished, Workspace, permit};

use std::path::{Path, PathBuf};

/// The project's folder.
pub fn project() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.parent().unwrap_or(crate_folder).to_path_buf()
}
