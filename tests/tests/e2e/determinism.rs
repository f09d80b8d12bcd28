//! The same seed gives the same run, byte for byte, and a recorded run can be repeated at will.

use anyhow::{Context, Result, ensure};
use std::{collections::BTreeMap, fs, path::Path};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};

/// Programs of which the runs are compared: locks, atomics, heap, C++, a failure by signal.
const COMPARED: [&str; 6] = [
    "bank_account",
    "c11_atomics",
    "correct_cpp",
    "correct_queue",
    "publication",
    "queue_pointer",
];

fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        // The models of a build lie in a folder among the runs.
        if entry.file_type()?.is_dir() {
            continue;
        }
        files.insert(
            entry.file_name().to_string_lossy().into_owned(),
            fs::read(entry.path())?,
        );
    }
    Ok(files)
}

/// A run that is kept only becomes its file at once; one that is to name the data on which threads met has its columns.
#[test]
fn a_file_is_the_same_however_it_is_made() -> Result<()> {
    let workspace = Workspace::new()?;
    let source = unsnarl_e2e::project().join("tests/bench/sort.c");
    let source = source.to_string_lossy();
    let words = ["cc", "-g", "-O1", &source, "-pthread", "-o", "sort"];
    workspace.unsnarl(&words)?.exits(0)?;
    for (out, options) in [("encoded", &[][..]), ("whole", &["--coverage"])] {
        let record = [
            "record",
            "-n1",
            "--strategy=sequential",
            "--seed=1",
            "--every-access",
        ];
        let program = ["--out", out, "--", "./sort", "4000"];
        workspace
            .unsnarl(&[&record[..], options, &program].concat())?
            .exits(0)?;
    }
    let encoded = contents(&workspace.path().join("encoded"))?;
    let whole = contents(&workspace.path().join("whole"))?;
    ensure!(encoded.len() == 1 && encoded == whole, "the files differ");
    let bytes = encoded.into_values().next().unwrap_or_default();
    let run = unsnarl_trace::read_run_bytes(bytes)?;
    // More than are read before memory is given back.
    ensure!(run.events.len() > 1 << 18, "{} events", run.events.len());
    Ok(())
}

#[test]
fn the_same_seed_gives_the_same_files() -> Result<()> {
    for name in COMPARED {
        for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
            let workspace = Workspace::new()?;
            let command = TestProgram::open(name)?.compile(&workspace, compiler)?;
            for out in ["one", "two"] {
                let words = [
                    "record", "-n", "25", "--seed", "7", "--out", out, "--", &command,
                ];
                workspace.unsnarl(&words)?;
            }
            let one = contents(&workspace.path().join("one"))?;
            let two = contents(&workspace.path().join("two"))?;
            let names =
                |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
            ensure!(!one.is_empty(), "{name} {compiler:?}: nothing was recorded");
            ensure!(
                names(&one) == names(&two),
                "{name} {compiler:?}: {one:?}\nand\n{two:?}",
                one = names(&one),
                two = names(&two)
            );
            ensure!(one == two, "{name} {compiler:?}: same names, other bytes");
        }
    }
    Ok(())
}

#[test]
fn one_hundred_repetitions_are_one_run() -> Result<()> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open("bank_account")?.compile(&workspace, TestedCompiler::Gcc)?;
    for _ in 0..100 {
        workspace.unsnarl(&["record", "-n", "1", "--seed", "4", "--", &command])?;
    }
    let runs = workspace.runs()?;
    ensure!(runs.len() == 1, "one seed, but different runs: {runs:?}");
    Ok(())
}

#[test]
fn other_seeds_give_other_runs() -> Result<()> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open("bank_account")?.compile(&workspace, TestedCompiler::Gcc)?;
    for seed in 1..=10 {
        workspace.unsnarl(&[
            "record",
            "-n",
            "1",
            "--seed",
            &seed.to_string(),
            "--",
            &command,
        ])?;
    }
    ensure!(
        workspace.runs()?.len() > 3,
        "ten seeds, but only the runs {:?}",
        workspace.runs()?
    );
    Ok(())
}

#[test]
fn a_failing_run_replays_one_hundred_times() -> Result<()> {
    for name in [
        "bank_account",
        "c11_atomics",
        "cpp_cache",
        "lock_order",
        "queue_pointer",
    ] {
        let workspace = Workspace::new()?;
        let command = TestProgram::open(name)?.compile(&workspace, TestedCompiler::Gcc)?;
        workspace
            .record(&["-n", "2000", "--until-failing", "1"], &command)?
            .exits(1)?;
        let runs = workspace.runs()?;
        let failing = runs
            .iter()
            .find(|run| !run.starts_with("passed-"))
            .context("no failing run")?;
        workspace
            .unsnarl(&["replay", &workspace.run_path(failing), "-n", "100"])?
            .exits(0)
            .with_context(|| name.to_owned())?;
    }
    Ok(())
}
