//! Names of memory: each line of a program declares the name of its location, for every compiler, level of
//! optimization and form of debug info.

use anyhow::{Context, Result, ensure};
use std::{fs, path::Path};
use unsnarl_e2e::{TestedCompiler, Workspace, consistent, program::compile_with};
use unsnarl_trace::{EventKind, Run, read_run};

/// Returns whether some event of the line is the one in its comment: `W name`, `R name`, `L lock`, `S condition`.
fn is_there(run: &Run, line: u32, wanted: &str) -> bool {
    let (how, name) = wanted.split_once(' ').unwrap_or((wanted, ""));
    let is_kind = |kind: EventKind| match how {
        "W" => kind.writes(),
        "R" => kind.reads(),
        "L" => kind == EventKind::Lock,
        _ => kind == EventKind::Signal,
    };
    run.events.iter().any(|(_, event)| {
        let is_here = run.meta.site(event.site).line == line;
        is_here && is_kind(event.kind) && run.location(event.location) == name
    })
}

fn check(source: &str, compiler: TestedCompiler, options: &[&str]) -> Result<()> {
    let workspace = Workspace::new()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
    let text = fs::read_to_string(folder.join(source))?;
    workspace.write(source, &text)?;
    compile_with(&workspace, Path::new(source), "names", compiler, options)?;
    workspace
        .record(&["-n", "1", "--strategy", "sequential"], "./names")?
        .exits(0)?;
    let runs = workspace.runs()?;
    let run = runs.first().context("no run was kept")?;
    let run = read_run(&workspace.path().join(workspace.run_path(run)))?;
    let lines = (1..).zip(text.lines());
    let wanted = lines.filter_map(|(line, text)| Some((line, text.split_once("; // ")?.1)));
    let missing: Vec<String> = wanted
        .filter(|(line, wanted)| !is_there(&run, *line, wanted))
        .map(|(line, wanted)| format!("line {line}: {wanted}"))
        .collect();
    ensure!(
        missing.is_empty(),
        "{compiler:?} {options:?} has no\n{}\namong\n{}",
        missing.join("\n"),
        run.locations.as_slice().join("\n")
    );
    // The C++ library's shared part changes the program's trees unseen.
    if source.ends_with(".c") {
        consistent::check(&run, |_| false)?;
    }
    Ok(())
}

fn check_all(source: &str, compiler: TestedCompiler) -> Result<()> {
    for level in ["-O0", "-O1", "-O2"] {
        for format in ["-gdwarf-4", "-gdwarf-5"] {
            check(source, compiler, &[level, format])?;
        }
    }
    check(source, compiler, &["-gz"])
}

macro_rules! checks {
    ($($name:ident: $source:literal;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn gcc() -> Result<()> {
                check_all($source, TestedCompiler::Gcc)
            }

            #[test]
            fn clang() -> Result<()> {
                check_all($source, TestedCompiler::Clang)
            }

            #[test]
            fn clang_14() -> Result<()> {
                check_all($source, TestedCompiler::Clang14)
            }
        }
    )*};
}

checks! {
    c: "names.c";
    mapped: "mapped.c";
    cpp: "names.cpp";
}
