//! A failing order from path profiles alone: the solver's effort without a recorded order, and a check that an exact
//! build fails with it.

use super::{
    BUDGET,
    subjects::{DspSubject, SUBJECTS},
};
use crate::{docs, table::PrintedTable};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::time::{Duration, Instant};
use unsnarl_core::Budget;
use unsnarl_e2e::{Finished, TestedCompiler, Workspace};
use unsnarl_symbolic::schedules::{self, SolverOptions, SolverVerdict};
use unsnarl_trace::{RunFolder, program, read_run};

/// Number of runs in which a failure is waited for: threads run freely there, and many programs seldom fail.
const RUNS: &str = "3000";
/// Time for the search of an order.
const MOST: Duration = Duration::from_secs(60);
/// The recorded build and the one that has to follow the order.
const RECORDED: &str = "./paths";
const EXACT: &str = "./exact";

/// Measures and writes the table into the docs.
pub fn paths() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "program",
        "theirs",
        "shared accesses",
        "constraints",
        "unknowns",
        "following the paths, ms",
        "solver, ms",
        "theirs, solver",
        "an order that fails",
        "executed",
    ]);
    for subject in SUBJECTS {
        eprint!("{}, {}: ", subject.theirs, subject.name());
        let row = row(subject)?;
        eprintln!("{}", row.join(", "));
        table.row(row);
    }
    println!("{table}");
    docs::replace(super::PAGE, "paths", &table.to_string())
}

fn row(subject: &DspSubject) -> Result<Vec<String>> {
    let workspace = Workspace::new()?;
    let argument = build(subject, &workspace)?;
    let words = [
        "record",
        "--strategy",
        "path",
        "-n",
        RUNS,
        "--until-failing",
        "1",
    ];
    let words = [&words[..], &["--timeout", "20", "--", RECORDED, argument]].concat();
    let recorded = workspace.unsnarl(&words)?;
    let (name, theirs) = (subject.name(), subject.theirs.to_owned());
    if recorded.status == Some(0) {
        let none = format!("none of {RUNS} runs failed");
        let dash = || "-".to_owned();
        let solver = subject.solver.to_owned();
        return Ok(vec![
            name,
            theirs,
            dash(),
            dash(),
            dash(),
            dash(),
            dash(),
            solver,
            none,
            dash(),
        ]);
    }
    recorded.exits(1)?;
    let failed = workspace.runs_that("failed")?;
    let run_file = workspace.run_path(failed.first().context("no failing run")?);
    let [accesses, constraints, unknowns, walking, solving, found] = solve(&workspace, &run_file)?;
    let executed = executed(&workspace, &run_file)?;
    Ok(vec![
        name,
        theirs,
        accesses,
        constraints,
        unknowns,
        walking,
        solving,
        subject.solver.to_owned(),
        found,
        executed,
    ])
}

/// Builds both; returns the argument for the program's size.
fn build(subject: &DspSubject, workspace: &Workspace) -> Result<&'static str> {
    let (program, argument) = subject.source()?;
    let is_cpp = program.is_cpp();
    let source = program.source.to_string_lossy().into_owned();
    let compiler = TestedCompiler::Clang.command(is_cpp).context("no clang")?;
    let (word, variable) = match is_cpp {
        true => ("c++", "UNSNARL_CXX"),
        false => ("cc", "UNSNARL_CC"),
    };
    for (options, output) in [(&["--path"][..], RECORDED), (&[][..], EXACT)] {
        let words = ["-O0", "-pthread", &source, "-o", output];
        let words = [&[word], options, &words].concat();
        let mut command = workspace.unsnarl_command(&words)?;
        command.env(variable, compiler);
        Finished::of(command)?.exits(0)?;
    }
    Ok(argument)
}

/// Shared accesses, constraints, unknowns, milliseconds of following and of solving, and the result.
fn solve(workspace: &Workspace, run_file: &str) -> Result<[String; 6]> {
    let file = workspace.path().join(run_file);
    let run = read_run(&file)?;
    let folder = RunFolder::new(file.parent().context("a run lies in a folder")?);
    let models = program::load(folder.path(), &run.meta.build_id)?;
    let budget = Budget::lasting(MOST);
    let begin = Instant::now();
    let Some(paths) = unsnarl_symbolic::walk_paths(&run, &models, &budget) else {
        bail!("the program model does not know the paths of {run_file}");
    };
    let walking = begin.elapsed();
    let begin = Instant::now();
    let answer = schedules::synthesize(&paths.walked.trace, &SolverOptions::default(), &budget);
    let solving = begin.elapsed();
    let counts = answer.counts;
    let found = match answer.verdict {
        SolverVerdict::Found(_) => "yes".to_owned(),
        SolverVerdict::Impossible => "there is none".to_owned(),
        SolverVerdict::Unknown(why) => first_line(&why.to_string()),
    };
    let milliseconds = |time: Duration| format!("{:.0}", time.as_secs_f64() * 1000.0);
    Ok([
        counts.accesses.to_string(),
        (counts.path + counts.bug + counts.sync + counts.rw + counts.mo).to_string(),
        counts.variables.to_string(),
        milliseconds(walking),
        milliseconds(solving),
        found,
    ])
}

/// Checks that the exact build fails with the order, and passes with the alternate.
fn executed(workspace: &Workspace, run_file: &str) -> Result<String> {
    let words = [
        "explain", "--engine", "dsp", "--format", "json", "--budget", BUDGET,
    ];
    let words = [&words[..], &["--program", EXACT, run_file]].concat();
    let finished = workspace.unsnarl(&words)?;
    let document: Value =
        serde_json::from_str(&finished.stdout).with_context(|| format!("no JSON:\n{finished}"))?;
    let told = document.pointer("/answers/0/dsp/0").context("no answer")?;
    let number = |name: &str| {
        let number = told.pointer(&format!("/confirmed/{name}"));
        number.and_then(Value::as_u64).unwrap_or_default()
    };
    Ok(
        match told.get("confirmed").filter(|tally| !tally.is_null()) {
            Some(_) => format!(
                "fails {}/{}, passes {}/{}",
                number("fails"),
                number("of_fails"),
                number("passes"),
                number("of_passes")
            ),
            None => "no".to_owned(),
        },
    )
}

/// The first line, since a cell of a table has only one; the next step is for a user at a terminal.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or(text).trim().to_owned()
}
