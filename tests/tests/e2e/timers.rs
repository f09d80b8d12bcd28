//! Timers and signals: by virtual time, at the same step in every repetition.

use super::modes::Modes;
use anyhow::{Result, ensure};
use std::time::Instant;
use unsnarl_e2e::TestedCompiler;

fn check(compiler: TestedCompiler) -> Result<()> {
    let program = Modes::compile("timers.c", compiler, &[])?;
    for mode in [
        "alarms",
        "interval_timers",
        "joining",
        "made_timers",
        "thread",
        "descriptors",
        "waited_for",
        "interrupted",
        "begun_again",
    ] {
        program.passes(mode)?;
    }
    Ok(())
}

#[test]
fn by_gcc() -> Result<()> {
    check(TestedCompiler::Gcc)
}

#[test]
fn by_clang() -> Result<()> {
    check(TestedCompiler::Clang)
}

/// The program waits for twenty minutes of its time.
#[test]
fn a_long_wait_takes_no_time() -> Result<()> {
    let program = Modes::compile("timers.c", TestedCompiler::Gcc, &[])?;
    let begin = Instant::now();
    program.record("long_waits", "random", "5")?.exits(0)?;
    program.repeats()?.exits(0)?;
    ensure!(begin.elapsed().as_secs() < 100, "{:?}", begin.elapsed());
    Ok(())
}

#[test]
fn a_timer_without_a_handler_ends_the_program() -> Result<()> {
    let program = Modes::compile("timers.c", TestedCompiler::Gcc, &[])?;
    ensure!(program.plain("not_handled")?.status.is_none(), "it went on");
    program.record("not_handled", "random", "3")?.exits(1)?;
    let explained = program.workspace.unsnarl(&["explain"])?;
    explained.says(&["alarm clock"])?;
    Ok(())
}
