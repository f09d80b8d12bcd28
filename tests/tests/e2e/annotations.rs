//! Programs that tell the scheduler something by `unsnarl.h`.

use anyhow::{Result, ensure};
use std::{path::Path, process::Command};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace, program::compile, project};

const SOURCE: &str = "runtime/annotations.c";
const EXHAUSTIVE: [&str; 4] = ["--strategy", "exhaustive:1", "-n", "100000"];

fn built(compiler: TestedCompiler) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(SOURCE);
    compile(&workspace, &source, "program", compiler)?;
    Ok(workspace)
}

fn record(workspace: &Workspace, options: &[&str], kind: &str) -> Result<Finished> {
    let words = ["record", "--seed", "1"];
    workspace.unsnarl(&[&words, options, &["--", "./program", kind]].concat())
}

#[test]
fn no_other_thread_runs_in_an_atomic_region() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let workspace = built(compiler)?;
        record(&workspace, &["-n", "300"], "plain")?.exits(1)?;
        record(&workspace, &["-n", "300"], "atomic")?.exits(0)?;
        record(&workspace, &EXHAUSTIVE, "atomic")?
            .exits(0)?
            .says(&["schedules"])?;
    }
    Ok(())
}

#[test]
fn a_search_tries_all_values_and_a_replay_repeats_them() -> Result<()> {
    let workspace = built(TestedCompiler::Gcc)?;
    let found = record(&workspace, &EXHAUSTIVE, "choose")?.exits(1)?;
    found.says(&["150 runs: 149 passed, 1 failed"])?;
    let failing = workspace.runs_that("failed")?;
    let [run] = failing.as_slice() else {
        anyhow::bail!("{failing:?}");
    };
    let path = workspace.run_path(run);
    workspace.unsnarl(&["replay", "-n", "3", &path])?.exits(0)?;
    Ok(())
}

#[test]
fn schedules_that_an_assumption_excludes_do_not_count() -> Result<()> {
    for options in [&EXHAUSTIVE[..], &["-n", "400"]] {
        let workspace = built(TestedCompiler::Gcc)?;
        let right = record(&workspace, options, "assume")?.exits(0)?;
        right.says(&["left out", "unsnarl_assume"])?;
        let early = record(&workspace, options, "assume-early")?;
        early.exits(1)?.says(&["left out"])?;
        for kind in ["passed", "failed"] {
            ensure!(!workspace.runs_that(kind)?.is_empty(), "none has {kind}");
        }
        let never = record(&workspace, options, "never")?;
        never
            .exits(2)?
            .says(&["does not hold", "no run was recorded"])?;
    }
    Ok(())
}

#[test]
fn a_region_that_never_began_is_refused() -> Result<()> {
    let workspace = built(TestedCompiler::Gcc)?;
    let refused = record(&workspace, &["-n", "5"], "unbalanced")?;
    refused
        .exits(2)?
        .says(&["unsnarl_atomic_end() without unsnarl_atomic_begin()"])?;
    Ok(())
}

/// The header needs nothing of unsnarl's where the program is built by the plain compiler.
#[test]
fn other_compilers_leave_the_functions_out() -> Result<()> {
    let workspace = Workspace::new()?;
    let header = workspace.unsnarl(&["header"])?.exits(0)?;
    workspace.write("unsnarl.h", &header.stdout)?;
    let source = project().join("tests").join(SOURCE);
    for language in ["c", "c++"] {
        let program = workspace.path().join("plain");
        let built = Command::new("gcc")
            .args(["-Wall", "-Werror", "-pthread", "-I"])
            .arg(workspace.path())
            .args(["-x", language])
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .status()?;
        ensure!(built.success(), "{language}: {built}");
        for kind in ["choose", "assume", "never", "unbalanced"] {
            let status = Command::new(&program).arg(kind).status()?;
            let fails = kind == "assume";
            ensure!(fails || status.success(), "{kind}: {status}");
        }
    }
    Ok(())
}

/// The code outside of a check does the same in each run, and a failure within one replays.
#[test]
fn schedules_are_chosen_within_checks_only() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let workspace = Workspace::new()?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/checks.cpp");
        compile(&workspace, &source, "program", compiler)?;
        workspace.run("./program", &["both"])?.exits(0)?;
        for options in [&["--until-failing", "2", "-n", "500"][..], &EXHAUSTIVE] {
            for kind in ["both", "check"] {
                record(&workspace, options, kind)?.exits(1)?;
            }
        }
        for run in workspace.runs_that("failed")? {
            let path = workspace.run_path(&run);
            let run = unsnarl_trace::read_run(&workspace.path().join(&path))?;
            ensure!(run.meta.chances.within_checks, "{path}");
            let failure = run.meta.failure.map(|failure| failure.message);
            let message = failure.unwrap_or_default();
            ensure!(message.contains("counted == 2"), "{message}");
            workspace.unsnarl(&["replay", &path])?.exits(0)?;
        }
        let explained = workspace.unsnarl(&["explain"])?.exits(1)?;
        explained.says(&["`counted`", "Confirmed"])?;
        // A check that ends by an exception ends all the same.
        record(&workspace, &["-n", "100"], "throws")?.exits(0)?;
        // Without a call all threads are chosen everywhere, as usual.
        record(&workspace, &["-n", "300"], "setup")?.exits(1)?;
    }
    Ok(())
}
