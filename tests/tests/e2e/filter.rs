//! Runs that pass over accesses that have never met another thread's: they find what is deep, and
//! their schedules mean the same without the list of what was passed over.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use unsnarl_e2e::{TestedCompiler, Workspace, program::compile, project};
use unsnarl_trace::{Run, read_run};

const RUNS: &str = "200";

#[test]
fn deep_bugs_are_found_more_often() -> Result<()> {
    let workspace = deep()?;
    let random = ["--strategy", "random", "-n", RUNS, "--keep-passing", "1"];
    workspace.record(&[&random[..], &["--out", "with"]].concat(), "./deep")?;
    workspace.record(
        &[&random[..], &["--no-filter", "--out", "without"]].concat(),
        "./deep",
    )?;
    let failed = |folder: &str| -> Result<usize> {
        let runs = workspace.runs_in(folder)?;
        Ok(runs.iter().filter(|run| run.starts_with("failed")).count())
    };
    let (with, without) = (failed("with")?, failed("without")?);
    ensure!(with > without, "{with} with the filter, {without} without");
    Ok(())
}

#[test]
fn a_run_that_passes_places_over_repeats_without_the_list() -> Result<()> {
    let workspace = deep()?;
    workspace
        .record(
            &["--strategy", "random", "-n", RUNS, "--minimize"],
            "./deep",
        )?
        .exits(1)?;
    let passes_over =
        |name: &String| -> Result<bool> { Ok(read(&workspace, name)?.meta.quiet_places > 0) };
    let mut repeated = 0;
    for name in workspace.runs()? {
        if passes_over(&name)? && repeated < 10 {
            let path = workspace.run_path(&name);
            workspace.unsnarl(&["replay", &path, "-n", "3"])?.exits(0)?;
            repeated += 1;
        }
    }
    ensure!(repeated == 10, "{repeated} runs passed places over");
    Ok(())
}

/// Nobody knows yet how long the program is: its first run switches at each step, and the more seldom the longer it lasts.
#[test]
fn the_first_run_of_a_long_program_switches_less_and_less() -> Result<()> {
    let workspace = Workspace::new()?;
    let text = std::fs::read_to_string(project().join("tests/bench/sort.c"))?;
    workspace.write("sort.c", &text)?;
    compile(&workspace, Path::new("sort.c"), "sort", TestedCompiler::Gcc)?;
    let switches = |strategy: &str| -> Result<usize> {
        let folder = strategy;
        let words = ["record", "-n1", "--strategy", strategy, "--out", folder];
        let program = ["--", "./sort", "6000"];
        workspace
            .unsnarl(&[&words[..], &program].concat())?
            .exits(0)?;
        let name = workspace.runs_in(folder)?;
        let path = workspace.path().join(folder);
        let run = read_run(&path.join(name.first().context("no run")?))?;
        Ok(run.meta.schedule.rows().len())
    };
    let (first, random) = (switches("portfolio")?, switches("random")?);
    ensure!(
        first > 1 << 16 && 3 * first < 2 * random,
        "{first} switches, {random} where each step may be one"
    );
    Ok(())
}

fn read(workspace: &Workspace, name: &str) -> Result<Run> {
    Ok(read_run(&workspace.path().join(workspace.run_path(name)))?)
}

fn deep() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let source = project().join("tests/runtime/deep.c");
    let text = std::fs::read_to_string(&source).context("deep.c cannot be read")?;
    workspace.write("deep.c", &text)?;
    compile(&workspace, Path::new("deep.c"), "deep", TestedCompiler::Gcc)?;
    Ok(workspace)
}
