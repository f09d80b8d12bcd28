//! A spurious wakeup is told as what it is, and confirmed by a run without it.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use unsnarl_core::Verdict;
use unsnarl_e2e::{TestedCompiler, Workspace, program::compile};

#[test]
fn a_wait_in_an_if_is_explained() -> Result<()> {
    let workspace = Workspace::new()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/chances");
    compile(
        &workspace,
        &folder.join("spurious_wakeup.c"),
        "program",
        TestedCompiler::Gcc,
    )?;
    workspace.record(&["-n", "200"], "./program")?.exits(1)?;
    let said = workspace.unsnarl(&["explain"])?.exits(1)?;
    said.says(&[
        "did not check `messages` again after a spurious wakeup",
        "has to be checked again in a loop",
    ])?;
    let (_, told) = workspace.explain()?;
    let first = told.first().context("nothing is explained")?;
    let verdict = first.executed.as_ref().map(|executed| executed.verdict);
    ensure!(verdict == Some(Verdict::Confirmed), "{first:?}");
    Ok(())
}
