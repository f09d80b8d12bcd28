//! Licences, duplicates, sources and known faults of the dependencies, by cargo-deny (`deny.toml`).

use crate::{
    setup,
    shell::{command, run as shell_run, succeeds},
};
use anyhow::Result;

/// Seconds for the database of advisories: without network some machines wait for minutes.
const PATIENCE: &str = "20";

/// Checks all of it; advisories only where their database can be had, which is reported.
pub fn run() -> Result<()> {
    let tool = setup::cargo_deny()?;
    let words = [
        "--locked",
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ];
    shell_run(command(&tool, &words))?;
    let mut fetch = command("timeout", &[PATIENCE]);
    fetch.arg(&tool).args(["fetch", "db"]);
    if !succeeds(fetch) {
        eprintln!("advisories: not checked, since their database cannot be reached from here");
        return Ok(());
    }
    shell_run(command(&tool, &["--locked", "check", "advisories"]))
}
