//! Latency from the arrival of a run file to the diagnostic in the editor: the server's own Neovim test measures it.

use anyhow::{Result, ensure};
use std::process::Command;

/// Measures it in a real Neovim.
pub fn run() -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .args([
            "test",
            "--quiet",
            "--release",
            "--package",
            "unsnarl-server",
        ])
        .args(["--test", "neovim", "--", "latency"])
        .current_dir(unsnarl_e2e::project())
        .status()?;
    ensure!(
        status.success(),
        "the measurement in Neovim failed: {status}"
    );
    Ok(())
}
