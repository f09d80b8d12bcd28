//! `explain --engine`: what single engines find in real runs, and words where they cannot find anything.

use anyhow::{Context, Result, ensure};
use std::fs;
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};

/// A workspace with runs of a program, failing and passing ones.
fn recorded(name: &str) -> Result<(Workspace, TestProgram)> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open(name)?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    workspace
        .record(&["-n", "400", "--until-failing", "2"], &command)?
        .exits(1)?;
    Ok((workspace, program))
}

/// Removes the runs that ended so.
fn without(workspace: &Workspace, outcome: &str) -> Result<()> {
    for name in workspace.runs_that(outcome)? {
        fs::remove_file(workspace.path().join(workspace.run_path(&name)))?;
    }
    Ok(())
}

#[test]
fn pairs_name_the_lines_first() -> Result<()> {
    let (workspace, program) = recorded("bank_account")?;
    let finished = workspace
        .unsnarl(&["explain", "--engine", "pairs", "--format", "json"])?
        .exits(1)?;
    let json: serde_json::Value = serde_json::from_str(&finished.stdout)?;
    let first = json
        .pointer("/answers/0/findings/0")
        .with_context(|| format!("no finding:\n{finished}"))?;
    let right: Vec<u32> = program
        .expectation
        .parts
        .values()
        .flatten()
        .copied()
        .collect();
    let sites = first["sites"].as_array().context("no sites")?;
    for site in sites {
        let line = site["line"].as_u64().context("no line")?;
        ensure!(
            right.iter().any(|right| u64::from(*right) == line),
            "{first}"
        );
    }
    let runs = first["runs"].as_array().context("no runs")?;
    ensure!(sites.len() == 2 && !runs.is_empty(), "{first}");
    ensure!(first["dependencies"][0]["seen"] == "failing", "{first}");
    ensure!(json["explanations"] == serde_json::json!([]), "{finished}");
    let kept = workspace.runs()?;
    let run = runs
        .first()
        .and_then(|run| run.as_str())
        .context("no name")?;
    ensure!(
        kept.iter().any(|name| name.contains(run)),
        "{run} is no run"
    );
    Ok(())
}

#[test]
fn pairs_are_told_as_text() -> Result<()> {
    let (workspace, _) = recorded("bank_account")?;
    workspace
        .unsnarl(&["explain", "--engine", "pairs", "--procedure", "I"])?
        .exits(1)?
        .says(&[
            "pairs: 2 findings",
            "`account.balance`",
            "procedure I in failed-",
        ])?;
    workspace
        .unsnarl(&["explain", "--engine", "pairs", "--procedure", "iii-LOOP"])?
        .exits(3)?
        .says(&["pairs: nothing", "procedure III-loop found nothing"])?;
    workspace
        .unsnarl(&["explain", "--engine", "magic"])?
        .exits(2)?
        .says(&["no such engine: expected pairs"])?;
    workspace
        .unsnarl(&["explain", "--engine", "pairs", "--procedure", "IV"])?
        .exits(2)?
        .says(&["no such procedure: expected I, II, III-pc"])?;
    workspace
        .unsnarl(&["explain", "--procedure", "I"])?
        .exits(2)?
        .says(&["--engine"])?;
    Ok(())
}

#[test]
fn mined_patterns_name_the_lines_first() -> Result<()> {
    let (workspace, program) = recorded("bank_account")?;
    let finished = workspace
        .unsnarl(&["explain", "--engine", "mining", "--format", "json"])?
        .exits(1)?;
    let json: serde_json::Value = serde_json::from_str(&finished.stdout)?;
    let first = json
        .pointer("/answers/0/findings/0")
        .with_context(|| format!("no finding:\n{finished}"))?;
    let sites = first["sites"].as_array().context("no sites")?;
    for (part, lines) in &program.expectation.parts {
        let has = |site: &serde_json::Value| {
            let line = site["line"].as_u64();
            lines.iter().any(|right| line == Some(u64::from(*right)))
        };
        ensure!(part == "also" || sites.iter().any(has), "{part}: {first}");
    }
    let depends = first["dependencies"].as_array().context("none")?;
    ensure!(!depends.is_empty(), "{first}");
    let runs = first["runs"].as_array().context("no runs")?;
    let failed = workspace.runs_that("failed")?;
    for run in runs {
        let run = run.as_str().context("no name")?;
        let is_one = failed.iter().any(|name| name.contains(run));
        ensure!(is_one, "{run} did not fail");
    }
    ensure!(!runs.is_empty(), "{first}");
    let of_failing = format!("in {} of {} failing", runs.len(), failed.len());
    workspace
        .unsnarl(&["explain", "--engine", "mining"])?
        .exits(1)?
        .says(&[&of_failing, "and 0 of", "bank_account.c:"])?;
    workspace
        .unsnarl(&["explain", "--engine", "mining", "--max-pattern", "none"])?
        .exits(2)?
        .says(&["--max-pattern"])?;
    Ok(())
}

#[test]
fn no_failing_run_is_said() -> Result<()> {
    let (workspace, _) = recorded("lost_counter")?;
    without(&workspace, "failed")?;
    for engine in ["pairs", "mining"] {
        workspace
            .unsnarl(&["explain", "--engine", engine])?
            .exits(0)?
            .says(&["nothing", "the runs lack a failing run"])?;
    }
    Ok(())
}

#[test]
fn no_passing_run_is_said_and_those_of_another_build_are_no_help() -> Result<()> {
    let (workspace, program) = recorded("lost_counter")?;
    without(&workspace, "passed")?;
    for engine in ["pairs", "mining"] {
        workspace
            .unsnarl(&["explain", "--engine", engine])?
            .exits(3)?
            .says(&["nothing", "the runs lack a passing run to compare with"])?;
    }
    // The same program once more, with another build id.
    let source = fs::read_to_string(&program.source)?;
    workspace.write("lost_counter.c", &format!("{source}\nint another_build;\n"))?;
    workspace
        .unsnarl(&[
            "cc",
            "-g",
            "lost_counter.c",
            "-o",
            "lost_counter",
            "-pthread",
        ])?
        .exits(0)?;
    workspace.record(&["-n", "20", "--strategy", "sequential"], "./lost_counter")?;
    workspace
        .unsnarl(&["explain", "--engine", "pairs"])?
        .exits(0)?
        .says(&["of older builds are left out"])?;
    workspace
        .unsnarl(&["explain", "--all-builds", "--engine", "pairs"])?
        .exits(3)?
        .says(&["of another build of the program and cannot be compared"])?;
    Ok(())
}
