//! Programs that use every primitive the runtime stands for, unrecorded and under every strategy: each
//! passes in every order, and each of its runs can be repeated.

use anyhow::{Context, Result};
use std::{fs, path::Path};
use unsnarl_e2e::{TestedCompiler, Workspace, program::compile_with};

const STRATEGIES: [&str; 3] = ["random", "pct", "sequential"];

fn check(source: &str, compiler: TestedCompiler) -> Result<()> {
    check_with(source, compiler, &[], "40")
}

fn check_with(source: &str, compiler: TestedCompiler, options: &[&str], runs: &str) -> Result<()> {
    let workspace = Workspace::new()?;
    record_all(source, compiler, options, runs, &workspace)?;
    let runs = workspace.runs_that("passed")?;
    let last = runs.last().context("no run was kept")?;
    workspace
        .unsnarl(&["replay", &workspace.run_path(last), "-n", "10"])?
        .exits(0)?;
    Ok(())
}

/// Compiles the program and records it under every strategy.
fn record_all(
    source: &str,
    compiler: TestedCompiler,
    options: &[&str],
    runs: &str,
    workspace: &Workspace,
) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
    let text = fs::read_to_string(folder.join(source))?;
    workspace.write(source, &text)?;
    compile_with(
        workspace,
        Path::new(source),
        "primitives",
        compiler,
        options,
    )?;
    // Some wait for minutes of the program's time, which pass only when it is recorded.
    if !source.starts_with("primitives") {
        workspace.run("./primitives", &[""; 0])?.exits(0)?;
    }
    for strategy in STRATEGIES {
        let start = ["record", "-n", runs, "--seed", "3", "--strategy", strategy];
        let words = [&start[..], &["--", "./primitives"]].concat();
        workspace.unsnarl(&words)?.exits(0)?;
    }
    Ok(())
}

macro_rules! checks {
    ($($name:ident: $source:literal;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn gcc() -> Result<()> {
                check($source, TestedCompiler::Gcc)
            }

            #[test]
            fn clang() -> Result<()> {
                check($source, TestedCompiler::Clang)
            }
        }
    )*};
}

checks! {
    posix: "primitives.c";
    c11: "c11_threads.c";
    cpp: "cpp_library.cpp";
    cpp_containers: "containers.cpp";
    input_and_output: "blocking_calls.c";
    calls_that_wait: "waiting_calls.c";
    signals: "signals.c";
    conditions_of_old_programs: "old_conditions.c";
    functions_that_are_looked_up: "looked_up.c";
}

#[test]
fn openmp_by_gcc() -> Result<()> {
    check_with("openmp.c", TestedCompiler::Gcc, &["-fopenmp"], "15")?;
    check_with("openmp.c", TestedCompiler::Gcc, &["-fopenmp", "-O2"], "15")
}

/// Waits on atomics, semaphores, latches and barriers are futexes in the library's headers. They choose
/// among the library's own tables by address, which is another one in every process: such runs pass,
/// but are not repeated event by event.
fn cpp20_never_hangs(compiler: TestedCompiler) -> Result<()> {
    let workspace = Workspace::new()?;
    record_all(
        "cpp20_threads.cpp",
        compiler,
        &["-std=c++20", "-O2"],
        "8",
        &workspace,
    )
}

#[test]
fn cpp20_by_gcc() -> Result<()> {
    cpp20_never_hangs(TestedCompiler::Gcc)
}

#[test]
fn cpp20_by_clang() -> Result<()> {
    cpp20_never_hangs(TestedCompiler::Clang)
}
