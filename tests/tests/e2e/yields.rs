//! A thread that yields does not give back what PCT's change point took from another one.

use super::modes::Modes;
use anyhow::Result;
use unsnarl_e2e::TestedCompiler;

#[test]
fn a_few_yields_hide_nothing_from_pct() -> Result<()> {
    let program = Modes::compile("yields.c", TestedCompiler::Gcc, &[])?;
    program.record("gate", "pct:2", "300")?.exits(1)?;
    Ok(())
}

#[test]
fn a_thread_that_waits_by_yielding_lets_a_lowered_one_go_on() -> Result<()> {
    let program = Modes::compile("yields.c", TestedCompiler::Gcc, &[])?;
    program.record("waits", "pct:3", "200")?.exits(0)?;
    Ok(())
}
