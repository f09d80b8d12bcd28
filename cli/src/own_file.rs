//! This program's own file, to be started once more.

use anyhow::{Context, Result};
use std::path::PathBuf;

/// Where it is.
pub fn own_file() -> Result<PathBuf> {
    std::env::current_exe().context("this program's own file cannot be found")
}
