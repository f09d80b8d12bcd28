//! Exactness of runs with millions of accesses: the program's own notes against the run file.

use crate::table::PrintedTable;
use anyhow::{Context, Result};
use std::{fs, path::Path};
use unsnarl_e2e::{TestedCompiler, Workspace, exact, program::compile_with};
use unsnarl_trace::read_run;

const SOURCE: &str = "exact.c";
/// Threads, and rounds of each.
const PROGRAM: [&str; 5] = ["--", "./exact", "notes", "3", "1500"];
/// Runs per compiler, level and strategy, each with its own seed.
const SEEDS: [&str; 2] = ["1", "2"];

/// Compares all builds under all strategies.
pub fn run() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "build",
        "runs",
        "accesses noted",
        "bytes that agree",
        "without value",
    ]);
    let mut all = exact::ExactCounts::default();
    for compiler in [
        TestedCompiler::Gcc,
        TestedCompiler::Clang,
        TestedCompiler::Clang14,
    ] {
        for level in ["-O0", "-O1", "-O2"] {
            eprintln!("{compiler:?} {level} ...");
            let (runs, tally) = measure(compiler, level)?;
            all += tally;
            let numbers = [runs, tally.noted, tally.agreed, tally.unknown].map(|n| n.to_string());
            table.row([vec![format!("{compiler:?} {level}")], numbers.to_vec()].concat());
        }
    }
    println!("{table}");
    println!("{} accesses, no difference.", all.noted);
    Ok(())
}

fn measure(compiler: TestedCompiler, level: &str) -> Result<(u64, exact::ExactCounts)> {
    let workspace = Workspace::new()?;
    let source = unsnarl_e2e::project().join("tests/runtime").join(SOURCE);
    workspace.write(SOURCE, &fs::read_to_string(source)?)?;
    compile_with(&workspace, Path::new(SOURCE), "exact", compiler, &[level])?;
    let (mut runs, mut all) = (0, exact::ExactCounts::default());
    for strategy in ["random", "pct", "sequential"] {
        for seed in SEEDS {
            let out = format!("runs-{strategy}-{seed}");
            let words = [
                "record",
                "-n1",
                "--every-access",
                "--seed",
                seed,
                "--strategy",
                strategy,
                "--out",
                &out,
            ];
            workspace
                .unsnarl(&[&words[..], &PROGRAM].concat())?
                .exits(0)?;
            let names = workspace.runs_in(&out)?;
            let name = names.first().context("no run was kept")?;
            let run = read_run(&workspace.path().join(&out).join(name))?;
            let notes = fs::read(workspace.path().join("notes"))?;
            let tally = exact::compare(&run, &notes);
            all +=
                tally.with_context(|| format!("{compiler:?} {level}, {strategy}, seed {seed}"))?;
            runs += 1;
        }
    }
    Ok((runs, all))
}
