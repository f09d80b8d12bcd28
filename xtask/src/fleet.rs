//! The engine for questions over a fleet, in `fleet/engine`: a workspace of its own, which `cargo xtask test` does not build.

use crate::shell::{self, cargo, run as shell_run};
use anyhow::Result;
use std::{path::PathBuf, process::Command};

/// The work to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FleetStep {
    /// Check the layout and the code of the engine, build it and test it.
    Test,
    /// Make summaries, and measure the answers about them; into docs/fleet.md.
    Measure,
}

/// Tests the engine, or measures it.
pub fn run(step: FleetStep) -> Result<()> {
    match step {
        FleetStep::Test => test(),
        FleetStep::Measure => measure(),
    }
}

/// One profile serves for all: an engine for queries takes minutes to build.
fn test() -> Result<()> {
    shell_run(engine(&["fmt", "--check"])?)?;
    shell_run(with_target(
        engine(&["clippy", "--locked", "--release", "--all-targets"])?,
        &["--", "-D", "warnings"],
    )?)?;
    build()?;
    let test = engine(&["test", "--locked", "--release"])?;
    shell_run(with_target(test, &[])?)?;
    test_manifests()
}

/// Compares the manifests of a cluster with their schemas, and has the engine read the words that they start it with.
fn test_manifests() -> Result<()> {
    let of_manifests = |words: &[&str]| {
        let mut command = cargo(words);
        command.current_dir(shell::project().join("fleet/deploy"));
        command
    };
    shell_run(of_manifests(&["fmt", "--check"]))?;
    let mut test = of_manifests(&["test", "--locked"]);
    test.env("UNSNARL_FLEET_ENGINE", program()?);
    shell_run(with_target(test, &[])?)
}

/// The engine that was built.
fn program() -> Result<PathBuf> {
    Ok(target()?.join("release/unsnarl-fleet-engine"))
}

fn build() -> Result<()> {
    let build = engine(&["build", "--locked", "--release"])?;
    shell_run(with_target(build, &[])?)
}

/// A command of cargo for the workspace of the engine.
fn engine(words: &[&str]) -> Result<Command> {
    let mut command = cargo(words);
    command.current_dir(shell::project().join("fleet/engine"));
    Ok(command)
}

/// With the folder for what is built, beside that of the other workspace.
fn with_target(mut command: Command, last: &[&str]) -> Result<Command> {
    command.arg("--target-dir").arg(target()?).args(last);
    Ok(command)
}

fn target() -> Result<PathBuf> {
    Ok(shell::target()?.join("engine"))
}

/// Has the benchmarks ask all questions. They only start programs, so they are not built with optimization.
fn measure() -> Result<()> {
    build()?;
    let package = ["--package", "unsnarl-fleet", "--example", "generate"];
    shell_run(cargo(&[&["build", "--release"], &package[..]].concat()))?;
    let package = ["--package", "unsnarl-e2e", "--bin", "bench"];
    let mut bench = cargo(&[&["run"], &package[..], &["--", "fleet"]].concat());
    bench.arg(program()?);
    bench.arg(shell::target()?.join("release/examples/generate"));
    shell_run(bench)
}
