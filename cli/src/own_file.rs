//! This program's own file, which is started once more.

use anyhow::{Context, Result};
use std::path::PathBuf;

/// Path of the file.
pub fn own_file() -> Result<PathBuf> {
    std::env::current_exe().context("this program's own file cannot be found")
}
