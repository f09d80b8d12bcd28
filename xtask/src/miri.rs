//! The runtime's unit tests under Miri, which finds undefined behaviour that a test would pass with.
//!
//! Miri comes with nightly tool chains only. A machine for which none is offered does without, and says so.

use crate::shell::{command, run as shell_run, run_beside, succeeds};
use anyhow::Result;
use std::process::Command;

/// A command of the nightly tool chain.
fn nightly(arguments: &[&str]) -> Command {
    command(
        "rustup",
        &[&["run", "nightly", "cargo", "miri"], arguments].concat(),
    )
}

/// Returns whether Miri is installed.
pub fn is_there() -> bool {
    succeeds(nightly(&["--version"]))
}

/// Installs Miri where a nightly tool chain is offered.
pub fn install() {
    let install = ["toolchain", "install", "nightly", "--profile", "minimal"];
    let install = [
        &install[..],
        &["--component", "miri", "--component", "rust-src"],
    ]
    .concat();
    if shell_run(command("rustup", &install)).is_err() {
        eprintln!("no nightly tool chain is offered here: nothing is executed under Miri");
    }
}

/// Runs the tests of the runtime's parts that call nothing of the system, beside other commands.
pub fn run() -> Result<()> {
    // It builds a standard library of its own first, from sources that a tool chain may lack.
    if !is_there() || !succeeds(nightly(&["setup"])) {
        eprintln!("Miri is missing: the runtime's unit tests are not executed under it");
        return Ok(());
    }
    run_beside(nightly(&["test", "--package", "unsnarl-runtime", "--lib"]))
}
