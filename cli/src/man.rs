//! `unsnarl man`: the man pages, for packages.

use crate::arguments::CommandLine;
use anyhow::{Context, Result};
use clap::CommandFactory;
use std::{path::Path, process::ExitCode};

/// Writes `unsnarl.1` and a page for each command.
pub fn run(folder: &Path) -> Result<ExitCode> {
    clap_mangen::generate_to(CommandLine::command(), folder)
        .with_context(|| format!("no man pages in {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
