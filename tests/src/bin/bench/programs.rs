//! Time to the first failure of each bug of `tests/programs`, repeatability of its schedule, and rank of the right
//! explanation.

use crate::table::{PrintedTable, median};
use anyhow::{Context, Result, ensure};
use std::time::Instant;
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};

/// Campaigns per program and strategy.
const SEEDS: u64 = 20;
/// Runs after which a campaign gives up.
const CAP: u64 = 3000;
/// Distance of the first seeds of campaigns, so large that no two campaigns share a run.
const APART: u64 = 1_000_000;
/// Runs for measuring the rate.
const RATE_RUNS: u32 = 500;

/// Measures the programs of these names, all that have a bug when there are none.
pub fn run(names: &[String]) -> Result<()> {
    let all = TestProgram::names()?;
    let names = if names.is_empty() { &all } else { names };
    let mut table = PrintedTable::new(&[
        "program",
        "random: runs to a failure, median (most)",
        "PCT: runs to a failure, median (most)",
        "random runs/s",
        "PCT runs/s",
        "replay",
        "rank",
    ]);
    for name in names {
        let program = TestProgram::open(name)?;
        if program.expectation.parts.is_empty() {
            continue;
        }
        eprintln!("{name} ...");
        table.row(measure(&program).with_context(|| name.clone())?);
    }
    println!("{table}");
    println!(
        "{SEEDS} campaigns each, {CAP} runs at most; the rank is that of the first explanation that \
         names the expected kind and lines, after `unsnarl record --until-failing 3`."
    );
    Ok(())
}

fn measure(program: &TestProgram) -> Result<Vec<String>> {
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    Ok(vec![
        format!("`{}`", program.name),
        runs_to_failure(&workspace, program, &command, "random")?,
        runs_to_failure(&workspace, program, &command, "pct")?,
        rate(&workspace, program, &command, "random")?,
        rate(&workspace, program, &command, "pct")?,
        replay(&workspace, program, &command)?,
        rank(&workspace, program)?,
    ])
}

/// Median and maximum over the campaigns; those that found nothing count as more than all others.
fn runs_to_failure(
    workspace: &Workspace,
    program: &TestProgram,
    command: &str,
    strategy: &str,
) -> Result<String> {
    let mut needed = Vec::new();
    for campaign in 1..=SEEDS {
        needed.push(first_failure(
            workspace,
            program,
            command,
            strategy,
            campaign * APART,
        )?);
    }
    let text = |runs: Option<u64>| match runs {
        Some(u64::MAX) => "never".to_owned(),
        Some(runs) => runs.to_string(),
        None => "-".to_owned(),
    };
    let found = needed.iter().filter(|runs| **runs < u64::MAX).count() as u64;
    let note = if found < SEEDS {
        format!(", found in {found} of {SEEDS}")
    } else {
        String::new()
    };
    let most = text(needed.iter().copied().max());
    Ok(format!("{} ({most}){note}", text(median(&needed))))
}

/// The number of the first failing run of a campaign, from 1. The n-th run has the n-th seed, which
/// stands in the name of its file.
fn first_failure(
    workspace: &Workspace,
    program: &TestProgram,
    command: &str,
    strategy: &str,
    seed: u64,
) -> Result<u64> {
    let (cap, first) = (CAP.to_string(), seed.to_string());
    let out = format!("{strategy}-{seed}");
    let words = [
        "record",
        "-n",
        &cap,
        "--until-failing",
        "1",
        "--strategy",
        strategy,
        "--seed",
        &first,
        "--keep-passing",
        "0",
        "--out",
        &out,
    ];
    let words = [&words[..], &program.recording(), &["--", command]].concat();
    let finished = workspace.unsnarl(&words)?;
    ensure!(matches!(finished.status, Some(0 | 1)), "{finished}");
    let failing = workspace
        .runs_in(&out)?
        .into_iter()
        .filter_map(|name| seed_of(&name));
    Ok(failing.min().map_or(u64::MAX, |failing| failing - seed + 1))
}

/// `failed-random-17-0a1b2c3d.arrow` has seed 17.
fn seed_of(name: &str) -> Option<u64> {
    name.rsplit('-').nth(1)?.parse().ok()
}

fn rate(
    workspace: &Workspace,
    program: &TestProgram,
    command: &str,
    strategy: &str,
) -> Result<String> {
    let runs = RATE_RUNS.to_string();
    let out = format!("rate-{strategy}");
    let words = [
        "record",
        "-n",
        &runs,
        "--strategy",
        strategy,
        "--seed",
        "1",
        "--keep-passing",
        "0",
        "--out",
        &out,
    ];
    let words = [&words[..], &program.recording(), &["--", command]].concat();
    let begin = Instant::now();
    workspace.unsnarl(&words)?;
    Ok(format!(
        "{:.0}",
        f64::from(RATE_RUNS) / begin.elapsed().as_secs_f64()
    ))
}

/// Result of 100 replays of the first failing run, which should all repeat it.
fn replay(workspace: &Workspace, program: &TestProgram, command: &str) -> Result<String> {
    let words = [
        "record",
        "-n",
        "3000",
        "--until-failing",
        "3",
        "--seed",
        "1",
    ];
    let words = [&words[..], &program.recording(), &["--", command]].concat();
    workspace.unsnarl(&words)?.exits(1)?;
    let runs = workspace.runs()?;
    let failing = runs
        .iter()
        .find(|run| !run.starts_with("passed-"))
        .context("no failing run")?;
    let finished = workspace.unsnarl(&["replay", &workspace.run_path(failing), "-n", "100"])?;
    if finished.status == Some(0) {
        return Ok("100/100".to_owned());
    }
    eprintln!("{finished}");
    Ok("differs".to_owned())
}

fn rank(workspace: &Workspace, program: &TestProgram) -> Result<String> {
    let (_, explanations) = workspace.explain()?;
    let rank = program.expectation.rank(&explanations, &program.source);
    Ok(rank.map_or("none".to_owned(), |rank| {
        format!("{rank} of {}", explanations.len())
    }))
}
