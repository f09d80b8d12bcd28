//! Told values: each line of a program declares how the value that it writes is told, for every compiler.

use anyhow::{Context, Result, ensure};
use std::{fs, path::Path};
use unsnarl_core::facts;
use unsnarl_e2e::{TestedCompiler, Workspace, program::compile_with};
use unsnarl_trace::{Run, read_run};

const SOURCE: &str = "values.cpp";

/// The writes of a line in words: `gauge.sum 0.75`.
fn told(run: &Run, line: u32) -> Vec<String> {
    let here = run.events.iter().filter(|(_, event)| {
        event.kind.is_access() && event.kind.writes() && run.meta.site(event.site).line == line
    });
    here.map(|(_, event)| {
        let value = facts::value(run, &event, false);
        let value = value.map_or_else(|| "?".to_owned(), |value| value.text);
        format!("{} {value}", facts::variable(run, &event))
    })
    .collect()
}

fn check(compiler: TestedCompiler) -> Result<()> {
    let workspace = Workspace::new()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
    let text = fs::read_to_string(folder.join(SOURCE))?;
    workspace.write(SOURCE, &text)?;
    // With optimization a line that another one overwrites is gone.
    let options = ["-std=c++17", "-O0"];
    compile_with(&workspace, Path::new(SOURCE), "values", compiler, &options)?;
    workspace
        .record(&["-n", "1", "--strategy", "sequential"], "./values")?
        .exits(0)?;
    let runs = workspace.runs()?;
    let run = runs.first().context("no run was kept")?;
    let run = read_run(&workspace.path().join(workspace.run_path(run)))?;
    let lines = (1..).zip(text.lines());
    for (line, wanted) in lines.filter_map(|(at, text)| Some((at, text.split_once("; // ")?.1))) {
        let told = told(&run, line);
        ensure!(
            told.iter().any(|told| told == wanted),
            "{compiler:?}, line {line}: {wanted} is not among {told:?}"
        );
    }
    Ok(())
}

#[test]
fn values_are_told_as_the_source_writes_them() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        check(compiler)?;
    }
    Ok(())
}
