//! The engine for questions over a fleet, in `fleet/engine`: a workspace of its own, which `cargo xtask test` does not build.

use crate::shell::{self, cargo, command, output, run as shell_run};
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// The work to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FleetStep {
    /// Check the layout and the code of the engine, build it and test it.
    Test,
    /// Make summaries, and measure the answers about them.
    Measure,
}

/// Numbers of runs that are measured.
const RUNS: [&str; 3] = ["1000", "10000", "100000"];

/// The questions, with their arguments.
const QUESTIONS: [&[&str]; 7] = [
    &["pairs"],
    &["procedure-one"],
    &["procedure-two"],
    &["signatures"],
    &["coverage"],
    &["choose"],
    &["procedure-three", "--signature"],
];

/// Tests the engine, or measures it.
pub fn run(step: FleetStep) -> Result<()> {
    match step {
        FleetStep::Test => test(),
        FleetStep::Measure => measure(),
    }
}

fn test() -> Result<()> {
    shell_run(engine(&["fmt", "--check"])?)?;
    shell_run(with_target(
        engine(&["clippy", "--locked", "--all-targets"])?,
        &["--", "-D", "warnings"],
    )?)?;
    shell_run(with_target(engine(&["build", "--locked"])?, &[])?)?;
    shell_run(with_target(engine(&["test", "--locked"])?, &[])?)
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

/// Prints a table: for each number of runs the time and the greatest memory of each answer.
fn measure() -> Result<()> {
    shell_run(with_target(
        engine(&["build", "--locked", "--release"])?,
        &[],
    )?)?;
    shell_run(cargo(&[
        "build",
        "--package",
        "unsnarl-fleet",
        "--example",
        "generate",
    ]))?;
    let folder = shell::target()?.join("fleet");
    println!("| runs | question | time | memory |\n|---|---|---|---|");
    for runs in RUNS {
        let summaries = folder.join(runs);
        if !summaries.exists() {
            let mut generate = Command::new(shell::target()?.join("debug/examples/generate"));
            generate.arg(&summaries).arg(runs);
            shell_run(generate)?;
        }
        measure_packed(runs, &summaries)?;
        fs::remove_dir_all(&summaries)?;
    }
    Ok(())
}

fn measure_packed(runs: &str, summaries: &Path) -> Result<()> {
    let packed = summaries.with_extension("packed");
    let out = packed
        .to_str()
        .context("the target folder's name is not UTF-8")?;
    print_measured(runs, "pack", &["pack", "--out", out], summaries)?;
    let signature = signature(&packed)?;
    for question in QUESTIONS {
        let last: &[&str] = match question.contains(&"--signature") {
            true => &[&signature],
            false => &[],
        };
        let words = [&["ask"], question, last].concat();
        print_measured(runs, question.first().unwrap_or(&""), &words, &packed)?;
    }
    Ok(fs::remove_file(packed)?)
}

/// A way to fail, of which the runs are few.
fn signature(packed: &Path) -> Result<String> {
    let mut asked = Command::new(target()?.join("release/unsnarl-fleet-engine"));
    asked.args(["ask", "signatures"]).arg(packed);
    let answer = output(asked)?;
    let rest = answer.split_once("\"failure_signature\":\"");
    let signature = rest.and_then(|(_, rest)| rest.split('"').next());
    Ok(signature.context("nothing failed")?.to_owned())
}

/// Prints the median of three repetitions.
fn print_measured(runs: &str, name: &str, words: &[&str], place: &Path) -> Result<()> {
    let mut measured = Vec::new();
    for _ in 0..3 {
        measured.push(measured_once(words, place)?);
    }
    measured.sort();
    let (time, kilobytes) = measured.get(1).copied().unwrap_or_default();
    println!(
        "| {runs} | `{name}` | {:.2} s | {} MB |",
        time.as_secs_f64(),
        kilobytes / 1024
    );
    Ok(())
}

/// Time, and the greatest memory in kilobytes as GNU time tells it.
fn measured_once(words: &[&str], place: &Path) -> Result<(Duration, u64)> {
    let mut timed = command("/usr/bin/time", &["-f", "%M"]);
    timed.arg(target()?.join("release/unsnarl-fleet-engine"));
    timed.args(words).arg(place);
    let begin = Instant::now();
    let done = timed.output().context("GNU time cannot be started")?;
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    let memory = told.lines().last().and_then(|line| line.parse().ok());
    Ok((begin.elapsed(), memory.with_context(|| told.clone())?))
}
