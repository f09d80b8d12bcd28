//! Misuse of the heap is a failure where it happens, and what looks like it is none.

use super::modes::Modes;
use anyhow::{Context, Result, ensure};
use unsnarl_e2e::TestedCompiler;
use unsnarl_trace::{Failure, FailureKind, read_run};

/// The failure of the first kept run that failed.
fn failure(program: &Modes) -> Result<Failure> {
    let runs = program.workspace.runs_that("failed")?;
    let name = runs.first().context("no run failed")?;
    let run = read_run(
        &program
            .workspace
            .path()
            .join(program.workspace.run_path(name)),
    )?;
    run.meta.failure.context("a failing run without a failure")
}

#[test]
fn misuse_ends_the_run_as_its_kind_says() -> Result<()> {
    use FailureKind::{DoubleFree, InvalidFree, UseAfterFree};
    let program = Modes::compile("heap.c", TestedCompiler::Gcc, &[])?;
    for (mode, kind) in [
        ("read", UseAfterFree),
        ("write", UseAfterFree),
        ("memcpy", UseAfterFree),
        ("memset", UseAfterFree),
        ("strlen", UseAfterFree),
        ("lock", UseAfterFree),
        ("post", UseAfterFree),
        ("atomic", UseAfterFree),
        ("realloc", UseAfterFree),
        ("twice", DoubleFree),
        ("inside_freed", InvalidFree),
        ("inside", InvalidFree),
        ("odd", InvalidFree),
        ("stack", InvalidFree),
        ("global", InvalidFree),
    ] {
        program.record(mode, "random", "1")?.exits(1)?;
        let failure = failure(&program)?;
        ensure!(failure.kind == kind, "{mode}: {failure:?}");
        ensure!(failure.thread.is_some() && failure.site.is_some(), "{mode}");
        let said = program.repeats()?.exits(0)?;
        ensure!(
            said.stdout.contains("the same run 5 of 5"),
            "{mode}: {said}"
        );
        program.forget()?;
    }
    Ok(())
}

#[test]
fn a_use_after_free_can_be_allowed_and_is_then_allowed_in_replays() -> Result<()> {
    let program = Modes::compile("heap.c", TestedCompiler::Gcc, &[])?;
    let options = ["-n", "2", "--allow-use-after-free"];
    let words = |mode| [&["record"], &options[..], &["--", "./prog", mode]].concat();
    program.workspace.unsnarl(&words("read"))?.exits(0)?;
    program.repeats()?.exits(0)?;
    program.workspace.unsnarl(&words("twice"))?.exits(1)?;
    ensure!(failure(&program)?.kind == FailureKind::DoubleFree);
    Ok(())
}

#[test]
fn right_uses_of_the_heap_pass() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        for (source, options) in [("heap.c", &[][..]), ("heap.cpp", &["-std=c++20"])] {
            let program = Modes::compile(source, compiler, options)?;
            program.record("right", "portfolio", "2")?.exits(0)?;
        }
    }
    Ok(())
}
