//! Time for following the threads of a run, by the machine instructions that they executed.
//!
//! The instructions are those of the program's own functions in a build without unsnarl, as callgrind counts them: libraries
//! are not followed instruction by instruction.

use super::PAGE;
use crate::{docs, table::PrintedTable};
use anyhow::{Context, Result, ensure};
use std::{
    process::Command,
    time::{Duration, Instant},
};
use unsnarl_core::Budget;
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace};
use unsnarl_symbolic::walk_in_words;
use unsnarl_trace::{Run, program, read_run};

/// Programs with the argument for their size.
const SUBJECTS: [(&str, &str); 4] = [
    ("crasher", "250"),
    ("block_compressor", "250"),
    ("object_cache", "240"),
    ("bank_total", "13"),
];
/// Levels of optimization, of gcc.
const LEVELS: [&str; 2] = ["-O0", "-O2"];
/// Times that each run is followed; the least counts.
const ROUNDS: usize = 5;

/// Measures and writes the table into the docs.
pub fn following() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "program",
        "build",
        "events",
        "instructions",
        "threads followed",
        "following, ms",
        "seconds a million instructions",
    ]);
    for (name, argument) in SUBJECTS {
        for level in LEVELS {
            eprintln!("{name} {argument} {level} ...");
            table.row(row(name, argument, level)?);
        }
    }
    println!("{table}");
    docs::replace(PAGE, "following", &table.to_string())
}

fn row(name: &str, argument: &str, level: &str) -> Result<Vec<String>> {
    let program = TestProgram::open(name)?;
    let workspace = Workspace::new()?;
    let command = program.compile_with(&workspace, TestedCompiler::Gcc, &[level])?;
    let words = [
        "record",
        "--strategy",
        "sequential",
        "-n",
        "1",
        "--every-access",
    ];
    let limits = ["--max-events", "10000000", "--timeout", "60"];
    let words = [&words[..], &limits, &["--", &command, argument]].concat();
    let finished = workspace.unsnarl(&words)?;
    let names = workspace.runs()?;
    let name_of_run = names
        .first()
        .with_context(|| format!("no run:\n{finished}"))?;
    let file = workspace.path().join(workspace.run_path(name_of_run));
    let run = read_run(&file)?;
    let models = program::load(
        file.parent().context("a run has a folder")?,
        &run.meta.build_id,
    )?;
    let (time, (some, all)) = followed(&run, &models);
    let instructions = instructions(&program, &workspace, argument, level)?;
    let seconds = time.as_secs_f64() * 1e6 / instructions as f64;
    Ok(vec![
        format!("`{name} {argument}`"),
        format!("gcc `{level}`"),
        run.events.len().to_string(),
        instructions.to_string(),
        format!("{some} of {all}"),
        format!("{:.0}", time.as_secs_f64() * 1000.0),
        format!("{seconds:.1}"),
    ])
}

/// The least time of some rounds, and the threads that were followed.
fn followed(run: &Run, models: &program::Program) -> (Duration, (usize, usize)) {
    let mut least = Duration::MAX;
    let mut threads = (0, 0);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        threads = walk_in_words(run, models, &Budget::unlimited()).followed;
        least = least.min(begin.elapsed());
    }
    (least, threads)
}

/// Instructions that the program's own functions execute, built without unsnarl.
fn instructions(
    program: &TestProgram,
    workspace: &Workspace,
    argument: &str,
    level: &str,
) -> Result<u64> {
    let source = program.source.display().to_string();
    let mut gcc = Command::new("gcc");
    gcc.current_dir(workspace.path());
    gcc.args(["-g", level, "-pthread", &source, "-o", "plain"]);
    Finished::of(gcc)?.exits(0)?;
    let mut count = Command::new("valgrind");
    count.current_dir(workspace.path());
    count.args([
        "--tool=callgrind",
        "--callgrind-out-file=counts",
        "./plain",
        argument,
    ]);
    Finished::of(count)?;
    let mut annotate = Command::new("callgrind_annotate");
    annotate.current_dir(workspace.path());
    annotate.args(["--threshold=100", "--auto=no", "counts"]);
    let listed = Finished::of(annotate)?.exits(0)?.stdout;
    let own = listed
        .lines()
        .filter(|line| line.contains(&format!("{source}:")));
    let counts = own.filter_map(|line| {
        line.split_whitespace()
            .next()?
            .replace(',', "")
            .parse::<u64>()
            .ok()
    });
    let sum = counts.sum();
    ensure!(
        sum > 0,
        "callgrind has counted nothing of {source}:\n{listed}"
    );
    Ok(sum)
}
