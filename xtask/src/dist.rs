//! Packages: a tarball, a Debian package, the extension for VS Code, a list of what is in them, and their checksums.
//!
//! Everything lies in `target/dist`. The same commit gives the same tree; the time in the archives is the commit's.

mod archives;
mod components;
mod licences;
mod parts;
mod stage;
mod trial;

use crate::{
    setup::{self, MissingTool, Scope},
    shell,
};
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The version that all packages have.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The work to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DistStep {
    /// Make the packages.
    Make,
    /// Install those that were made in a clean Debian root, and explain a program there.
    Try,
}

/// Makes the packages, or tries them.
pub fn run(step: DistStep, answer: MissingTool) -> Result<()> {
    let folder = shell::target()?.join("dist");
    match step {
        DistStep::Make => make(&folder, answer),
        DistStep::Try => trial::run(&folder),
    }
}

fn make(folder: &Path, answer: MissingTool) -> Result<()> {
    setup::run(Scope::Packages, answer)?;
    empty(folder)?;
    let name = format!("unsnarl-{VERSION}-x86_64-linux");
    let tree = folder.join(&name);
    stage::fill(&tree)?;
    let parts = parts::all()?;
    fs::write(
        tree.join("share/doc/unsnarl/THIRD-PARTY-LICENCES"),
        licences::texts(&parts)?,
    )?;
    fs::write(
        tree.join("share/unsnarl/components.cdx.json"),
        components::list(&parts)?,
    )?;
    archives::tarball(folder, &name)?;
    archives::deb(folder, &tree)?;
    copy(
        &tree.join("share/unsnarl/unsnarl.vsix"),
        &folder.join(format!("unsnarl-{VERSION}.vsix")),
    )?;
    copy(
        &tree.join("share/unsnarl/components.cdx.json"),
        &folder.join(format!("unsnarl-{VERSION}.cdx.json")),
    )?;
    copy(&packaging("Containerfile"), &folder.join("Containerfile"))?;
    archives::checksums(folder)?;
    eprintln!("made: {}", folder.display());
    Ok(())
}

/// A file that packages are made with.
fn packaging(name: &str) -> PathBuf {
    shell::project().join("package").join(name)
}

fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// Copies a file, and makes the folders above it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file in no folder")?)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}
