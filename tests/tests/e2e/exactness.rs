//! Exactness of serialized runs: the run file agrees with a program's notes of its own accesses, and every read has
//! the value of the last write. `cargo xtask bench exactness` does the same with millions of accesses.

use anyhow::{Context, Result, ensure};
use std::{collections::BTreeMap, fs, path::Path};
use unsnarl_e2e::{
    TestProgram, TestedCompiler, Workspace, consistent, exact, program::compile_with,
};
use unsnarl_trace::read_run;

const SOURCE: &str = "exact.c";

/// Records the program with the strategy and compares the run with the notes.
fn noted_is_recorded(workspace: &Workspace, strategy: &str) -> Result<exact::ExactCounts> {
    let out = format!("--out=runs-{strategy}");
    let words = ["record", "-n1", "--seed=5", "--strategy", strategy, &out];
    let program = ["--", "./exact", "notes", "3", "60"];
    workspace
        .unsnarl(&[&words[..], &program[..]].concat())?
        .exits(0)?;
    let names = workspace.runs_in(&format!("runs-{strategy}"))?;
    let name = names.first().context("no run was kept")?;
    let folder = workspace.path().join(format!("runs-{strategy}"));
    let run = read_run(&folder.join(name))?;
    let notes = fs::read(workspace.path().join("notes"))?;
    exact::compare(&run, &notes).with_context(|| format!("with {strategy}"))
}

fn is_exact(compiler: TestedCompiler) -> Result<()> {
    for level in ["-O0", "-O1", "-O2"] {
        let workspace = Workspace::new()?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
        workspace.write(SOURCE, &fs::read_to_string(folder.join(SOURCE))?)?;
        compile_with(&workspace, Path::new(SOURCE), "exact", compiler, &[level])?;
        for strategy in ["random", "pct", "sequential"] {
            let tally = noted_is_recorded(&workspace, strategy)
                .with_context(|| format!("{compiler:?} {level}"))?;
            ensure!(tally.noted > 3 * 60 * 20, "{compiler:?} {level}: {tally:?}");
        }
    }
    Ok(())
}

#[test]
fn gcc() -> Result<()> {
    is_exact(TestedCompiler::Gcc)
}

#[test]
fn clang() -> Result<()> {
    is_exact(TestedCompiler::Clang)
}

#[test]
fn clang_14() -> Result<()> {
    is_exact(TestedCompiler::Clang14)
}

#[test]
fn every_read_has_the_last_written_value_gcc() -> Result<()> {
    every_read_has_the_last_written_value(TestedCompiler::Gcc)
}

#[test]
fn every_read_has_the_last_written_value_clang() -> Result<()> {
    every_read_has_the_last_written_value(TestedCompiler::Clang)
}

/// Checks all programs under `tests/programs`, some runs each.
fn every_read_has_the_last_written_value(compiler: TestedCompiler) -> Result<()> {
    let mut all = BTreeMap::new();
    for name in TestProgram::names()? {
        let program = TestProgram::open(&name)?;
        let unseen = |location: &str| consistent::is_written_unseen(&name, location);
        let workspace = Workspace::new()?;
        let command = program.compile(&workspace, compiler)?;
        workspace.record(&["-n", "4"], &command)?;
        for run in workspace.runs()? {
            let run = read_run(&workspace.path().join(workspace.run_path(&run)))?;
            let reads =
                consistent::check(&run, unseen).with_context(|| format!("{name}, {compiler:?}"))?;
            *all.entry(name.clone()).or_default() += reads;
        }
    }
    let agree: u64 = all
        .values()
        .map(|reads: &consistent::Reads| reads.agree)
        .sum();
    ensure!(agree > 1_000, "only {agree} reads were checked: {all:?}");
    Ok(())
}

/// Atomic operations on 16 bytes, inline as `-mcx16` has them.
#[test]
fn wide_atomics() -> Result<()> {
    for compiler in [
        TestedCompiler::Gcc,
        TestedCompiler::Clang,
        TestedCompiler::Clang14,
    ] {
        let workspace = Workspace::new()?;
        let source = "wide_atomics.c";
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
        workspace.write(source, &fs::read_to_string(folder.join(source))?)?;
        compile_with(&workspace, Path::new(source), "wide", compiler, &["-mcx16"])?;
        workspace.record(&["-n", "20"], "./wide")?.exits(0)?;
        for run in workspace.runs()? {
            let run = read_run(&workspace.path().join(workspace.run_path(&run)))?;
            let reads = consistent::check(&run, |_| false)?;
            ensure!(reads.agree > 20, "{compiler:?}: {reads:?}");
        }
    }
    Ok(())
}

/// Loops that stay in what clang has callbacks for; a run names data for which it has none.
#[test]
fn wide_data_under_clang() -> Result<()> {
    let source = "wide.c";
    let text = "
        #include <pthread.h>
        typedef int eight __attribute__((vector_size(32)));
        typedef int four __attribute__((vector_size(16)));
        long row[64];
        long double total;
        struct { eight wide; four narrow; } vectors;
        static void *worker(void *argument) {
            for (int i = 0; i < 64; i++)
                row[i] += 3;
            total += 1;
            vectors.wide[1] = 2;
            vectors.narrow[1] = 2;
            return argument;
        }
        int main(void) {
            pthread_t thread;
            pthread_create(&thread, 0, worker, 0);
            return pthread_join(thread, 0);
        }
    ";
    for (compiler, unseen) in [
        (TestedCompiler::Gcc, None),
        (TestedCompiler::Clang, Some("`total`, `wide`")),
    ] {
        let workspace = Workspace::new()?;
        workspace.write(source, text)?;
        let options = ["-O2", "-mavx2"];
        compile_with(&workspace, Path::new(source), "wide", compiler, &options)?;
        workspace.record(&["-n", "1"], "./wide")?.exits(0)?;
        let runs = workspace.runs()?;
        let run = runs.first().context("no run was kept")?;
        let run = read_run(&workspace.path().join(workspace.run_path(run)))?;
        let read: u32 = run
            .events
            .iter()
            .filter(|(_, event)| {
                event.kind.reads() && run.location(event.location).starts_with("row[")
            })
            .map(|(_, event)| event.size)
            .sum();
        ensure!(
            read == 64 * 8,
            "{compiler:?}: {read} bytes of `row` were read"
        );
        let says = |names: &str| {
            run.meta
                .problems
                .iter()
                .any(|problem| problem.contains(names))
        };
        ensure!(
            unseen.map_or(run.meta.problems.is_empty(), says),
            "{compiler:?}: {:?}",
            run.meta.problems
        );
    }
    Ok(())
}
