//! Programs that compute with addresses: the same seed gives the same run, whatever the environment is, and each run
//! repeats.

use anyhow::{Result, ensure};
use std::{collections::BTreeMap, fs};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace, program::compile_with, project};

fn record(workspace: &Workspace, out: &str, extra: usize) -> Result<BTreeMap<String, Vec<u8>>> {
    let words = [
        "record",
        "-n",
        "3",
        "--seed",
        "5",
        "--out",
        out,
        "--",
        "./addresses",
    ];
    let mut command = workspace.unsnarl_command(&words)?;
    // All of it fits into what environments are filled up to.
    command.env_clear();
    for name in ["PATH", "HOME"] {
        command.env(name, std::env::var_os(name).unwrap_or_default());
    }
    for number in 0..extra {
        command.env(format!("EXTRA_{number}"), "x".repeat(7 * number));
    }
    Finished::of(command)?.exits(0)?;
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(workspace.path().join(out))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.insert(
                entry.file_name().to_string_lossy().into_owned(),
                fs::read(entry.path())?,
            );
        }
    }
    Ok(files)
}

/// Checks that the run repeats in another folder, and under another limit of the stack: the kernel puts libraries
/// elsewhere then, and threads have other stacks.
fn repeats_elsewhere(workspace: &Workspace, run: &str) -> Result<()> {
    let unsnarl = unsnarl_e2e::binary::unsnarl()?.to_string_lossy();
    let run = workspace.path().join(run);
    for limit in ["4096", "200000", "unlimited"] {
        let script =
            format!("ulimit -S -s {limit} && cd / && exec \"$0\" replay --trust \"$1\" -n 2");
        let words = ["-c", &script, &unsnarl, &run.to_string_lossy()];
        let said = workspace.run("sh", &words)?.exits(0)?;
        let said = said.says(&["the same run 2 of 2 times"])?;
        ensure!(!format!("{said}").contains("values that differ"), "{said}");
    }
    Ok(())
}

/// A run under another limit than usual is repeated under that one.
#[test]
fn the_limit_of_the_stack_is_the_recorded_one() -> Result<()> {
    let workspace = Workspace::new()?;
    let source = project().join("tests/runtime/addresses.cpp");
    let options = ["-std=c++20", "-O1"];
    compile_with(
        &workspace,
        &source,
        "addresses",
        TestedCompiler::Gcc,
        &options,
    )?;
    let unsnarl = unsnarl_e2e::binary::unsnarl()?.to_string_lossy();
    let script = "ulimit -S -s 20000 && exec \"$0\" record -n 1 --seed 5 -- ./addresses";
    workspace.run("sh", &["-c", script, &unsnarl])?.exits(0)?;
    let runs = workspace.runs()?;
    ensure!(runs.len() == 1, "{runs:?}");
    for run in runs {
        let run = workspace.run_path(&run);
        let said = workspace.unsnarl(&["replay", &run, "-n", "2"])?;
        said.exits(0)?.says(&["the same run 2 of 2 times"])?;
        repeats_elsewhere(&workspace, &run)?;
    }
    Ok(())
}

/// The first run is started, the others are copied.
#[test]
fn numbers_made_of_addresses_are_the_same() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let workspace = Workspace::new()?;
        let source = project().join("tests/runtime/addresses.cpp");
        let options = ["-std=c++20", "-O1"];
        compile_with(&workspace, &source, "addresses", compiler, &options)?;
        let one = record(&workspace, "one", 0)?;
        ensure!(one.len() == 3, "{:?}", one.keys());
        let two = record(&workspace, "two", 70)?;
        ensure!(one == two, "{:?} {:?}", one.keys(), two.keys());
        for name in one.keys() {
            let run = format!("one/{name}");
            let mut command = workspace.unsnarl_command(&["replay", "--trust", &run, "-n", "5"])?;
            command.env("LONGER", "y".repeat(4321)).env_remove("HOME");
            command.env("XDG_CACHE_HOME", workspace.path());
            Finished::of(command)?
                .exits(0)?
                .says(&["the same run 5 of 5 times"])?;
        }
        for name in one.keys().take(1) {
            repeats_elsewhere(&workspace, &format!("one/{name}"))?;
        }
    }
    Ok(())
}
