//! Owners of locks, cancelled threads, and the limit of the number of threads.

use super::modes::Modes;
use anyhow::{Result, ensure};
use unsnarl_e2e::TestedCompiler;

#[test]
fn robust_mutexes_outlive_their_owners() -> Result<()> {
    let program = Modes::compile("robust.c", TestedCompiler::Gcc, &[])?;
    for how in ["one_after_the_other", "not_recoverable", "waits", "two"] {
        program.passes(how)?;
    }
    Ok(())
}

#[test]
fn asynchronous_cancellation_comes_at_any_step() -> Result<()> {
    let program = Modes::compile("asynchronous.c", TestedCompiler::Gcc, &[])?;
    for how in ["plain", "lock", "late", "disabled"] {
        program.record(how, "random", "6")?.exits(0)?;
        program.record(how, "sequential", "1")?.exits(0)?;
        program.repeats()?.exits(0)?;
        program.forget()?;
    }
    Ok(())
}

#[test]
fn threads_that_wait_are_cancelled() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        Modes::compile("cancelled_waits.c", compiler, &[])?.passes("")?;
    }
    Ok(())
}

#[test]
fn an_unlock_by_a_thread_that_does_not_hold_the_lock_is_a_failure() -> Result<()> {
    let program = Modes::compile("unlocks.c", TestedCompiler::Gcc, &[])?;
    program.passes("none")?;
    let nobody = "unlock of a lock that nobody holds";
    let another = "unlock of a lock that another thread holds";
    for (how, what) in [
        ("foreign", another),
        ("free", nobody),
        ("spin", nobody),
        ("shared", nobody),
    ] {
        program.record(how, "sequential", "1")?.exits(1)?;
        let said = program.workspace.unsnarl(&["explain"])?;
        ensure!(
            said.stdout.contains(what) || said.stderr.contains(what),
            "{how}: {said}"
        );
        program.forget()?;
    }
    Ok(())
}

#[test]
fn thousands_of_threads_one_after_the_other() -> Result<()> {
    let program = Modes::compile("many_threads.c", TestedCompiler::Gcc, &[])?;
    program.record("", "sequential", "1")?.exits(0)?;
    Ok(())
}

#[test]
fn a_wait_past_the_library_is_named() -> Result<()> {
    let program = Modes::compile("own_futex.c", TestedCompiler::Gcc, &[])?;
    let words = [
        "record",
        "-n",
        "1",
        "--strategy",
        "sequential",
        "--timeout",
        "1",
        "--",
        "./prog",
    ];
    let said = program.workspace.unsnarl(&words)?;
    said.says(&["`futex`", "own_futex.c:", "`syscall`"])?;
    Ok(())
}
