//! Explanations of many long runs: processor time and memory by what is asked.

use crate::{
    docs,
    measure::{of_children, peak_of_command},
    table::PrintedTable,
};
use anyhow::{Context, Result};
use std::{fs, path::Path, time::Duration};
use unsnarl_e2e::{TestedCompiler, Workspace, program::compile_with, project};
use unsnarl_trace::read_run;

/// Runs of the campaign; those that show nothing new are not kept.
const RUNS: &str = "150";
/// Times that each question is asked.
const ROUNDS: usize = 3;
/// Questions: all engines together, and one alone.
const ASKED: [(&str, &[&str]); 3] = [
    ("explanations", &[]),
    ("access pairs", &["--engine", "pairs"]),
    ("mined patterns", &["--engine", "mining"]),
];

/// Measures the questions; the table goes into `docs/explain.md`.
pub fn run() -> Result<()> {
    let workspace = Workspace::new()?;
    let text = fs::read_to_string(project().join("tests/bench/statistics.c"))?;
    workspace.write("statistics.c", &text)?;
    let source = Path::new("statistics.c");
    compile_with(
        &workspace,
        source,
        "statistics",
        TestedCompiler::Gcc,
        &["-O1"],
    )?;
    let words = ["record", "--seed", "1", "-n", RUNS, "--", "./statistics"];
    workspace.unsnarl(&words)?.exits(1)?;
    let mut table = PrintedTable::new(&["asked", "processor s", "memory MB"]);
    for (name, options) in ASKED {
        eprintln!("{name} ...");
        let (spent, memory) = measure(&workspace, options)?;
        let seconds = format!("{:.1}", spent.as_secs_f64());
        table.row(vec![name.to_owned(), seconds, (memory >> 20).to_string()]);
    }
    let names = workspace.runs()?;
    let first = workspace.run_path(names.first().context("no run was kept")?);
    let events = read_run(&workspace.path().join(first))?.events.len();
    let said = format!(
        "{table}\n`tests/bench/statistics.c`, gcc -O1, {} runs of about {events} events that `record -n {RUNS} --seed 1` keeps; \
         `explain --no-run`, processor time of all threads, the least of {ROUNDS}.",
        names.len()
    );
    println!("{said}");
    docs::replace("explain.md", "scale", &said)
}

/// The least processor time, and the memory that it took at most, in bytes.
fn measure(workspace: &Workspace, options: &[&str]) -> Result<(Duration, u64)> {
    let words = [&["explain", "--no-run"], options].concat();
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let before = of_children()?;
        workspace.unsnarl(&words)?;
        least = least.min(of_children()?.saturating_sub(before));
    }
    let memory = peak_of_command(workspace.unsnarl_command(&words)?, 1)?;
    Ok((least, memory))
}
