//! Limits of the engine dsp: it reports what it lacks or cannot do, with the next step, and shows no order that was
//! not checked.

use anyhow::{Context, Result};
use std::fs;
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace};

const EXPLAIN: [&str; 3] = ["explain", "--engine", "dsp"];

/// `bank_account` with a failing run.
fn recorded(compiler: TestedCompiler) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open("bank_account")?.compile(&workspace, compiler)?;
    let words = ["-n", "2000", "--until-failing", "1"];
    workspace.record(&words, &command)?.exits(1)?;
    Ok(workspace)
}

fn explained(workspace: &Workspace, options: &[&str]) -> Result<Finished> {
    workspace.unsnarl(&[&EXPLAIN[..], options].concat())
}

/// The file of the only build's models.
fn models(workspace: &Workspace) -> Result<std::path::PathBuf> {
    let mut files = fs::read_dir(workspace.path().join(".unsnarl/models"))?;
    Ok(files.next().context("no models were kept")??.path())
}

/// Runs whose models are gone: only execution tells the orders apart, and it does.
#[test]
fn without_a_model_the_orders_are_executed() -> Result<()> {
    let workspace = recorded(TestedCompiler::Gcc)?;
    fs::remove_dir_all(workspace.path().join(".unsnarl/models"))?;
    explained(&workspace, &[])?.exits(1)?.says(&[
        "there is no program model: only executing tells which order passes",
        "next: build with `unsnarl cc` and record again",
        "Confirmed: this order fails 10/10, the other passes 10/10",
    ])?;
    Ok(())
}

/// Models of another build in the place of those of the recorded one.
#[test]
fn a_model_of_another_build_is_not_used() -> Result<()> {
    let workspace = recorded(TestedCompiler::Clang)?;
    let other = Workspace::new()?;
    let command =
        TestProgram::open("bank_account")?.compile_with(&other, TestedCompiler::Clang, &["-O1"])?;
    other.record(&["-n", "1"], &command)?;
    fs::copy(models(&other)?, models(&workspace)?)?;
    explained(&workspace, &[])?.exits(1)?.says(&[
        "there is no program model of this run",
        "next: build with `unsnarl cc`",
        "Confirmed: this order fails 10/10, the other passes 10/10",
    ])?;
    Ok(())
}

#[test]
fn a_model_that_is_cut_off_is_said() -> Result<()> {
    let workspace = recorded(TestedCompiler::Clang)?;
    let file = models(&workspace)?;
    let bytes = fs::read(&file)?;
    fs::write(&file, bytes.get(..bytes.len() / 2).unwrap_or_default())?;
    explained(&workspace, &[])?.exits(1)?.says(&[
        "the program model cannot be used",
        "is cut off",
        "remove the file and record the program again",
    ])?;
    Ok(())
}

/// Limits of the solver's effort and memory are reported, and both can be raised.
#[test]
fn what_the_solver_did_not_come_to_is_said() -> Result<()> {
    let workspace = recorded(TestedCompiler::Clang)?;
    let solve = ["--no-run", "--solve"];
    let effort = [&solve[..], &["--solver-effort", "0"]].concat();
    explained(&workspace, &effort)?.exits(1)?.says(&[
        "the failing order was not solved for: the solver's effort is used up",
        "next: give it more: --solver-effort",
    ])?;
    explained(&workspace, &solve)?
        .exits(1)?
        .says(&["it fails because"])?;
    Ok(())
}
