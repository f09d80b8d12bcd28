//! The `unsnarl` to test: built once per test binary, in this build's own profile and target folder.

use anyhow::{Context, Result, bail};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

/// Variable that names a ready-made `unsnarl` to use instead.
pub const VARIABLE: &str = "UNSNARL_BINARY";

/// Path of the `unsnarl` to test.
pub fn unsnarl() -> Result<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match BUILT.get_or_init(|| find_or_build().map_err(|error| format!("{error:#}"))) {
        Ok(path) => Ok(path),
        Err(error) => bail!("no unsnarl to test: {error}"),
    }
}

fn find_or_build() -> Result<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(path) => Ok(PathBuf::from(path)),
        None => build(),
    }
}

/// The profile of the caller decides, so that `cargo test --release` tests the release build.
fn build() -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--quiet",
        "--package",
        "unsnarl",
        "--message-format",
        "json",
    ]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo
        .current_dir(crate::project())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("cargo build --package unsnarl failed: {}", output.status);
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(executable)
        .context("cargo did not say where it put the program `unsnarl`")
}

/// The program that one line of cargo's messages speaks of.
fn executable(line: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let named = message.pointer("/target/name")?.as_str()? == "unsnarl";
    let path = message.pointer("/executable")?.as_str()?;
    named.then(|| PathBuf::from(path))
}

/// Python with the packages that `cargo xtask setup` installs.
pub fn python() -> Result<PathBuf> {
    let named = std::env::var_os("UNSNARL_TEST_PYTHON").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let installed = cache.map(|cache| cache.join("unsnarl/tools/bin/python"));
    let python = named.or(installed).filter(|python| python.exists());
    python.context("run `cargo xtask setup` first: it installs Python's packages")
}
