//! Every kernel under `tests/kernels` fails in some of its schedules and passes in others.

use anyhow::{Context, Result, ensure};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};
use unsnarl_trace::{FailureKind, read_run};

/// Schedules in which a kernel must fail at least once.
const RUNS: &str = "2000";

#[test]
fn kernels_fail_by_assertions_in_some_orders_only() -> Result<()> {
    for name in TestProgram::kernels()? {
        fails_and_passes(&name).with_context(|| name.clone())?;
    }
    Ok(())
}

fn fails_and_passes(name: &str) -> Result<()> {
    let workspace = Workspace::new()?;
    let command = TestProgram::kernel(name)?.compile(&workspace, TestedCompiler::Clang)?;
    let words = ["-n", RUNS, "--until-failing", "1"];
    workspace.record(&words, &command)?.exits(1)?;
    ensure!(!workspace.runs_that("passed")?.is_empty(), "no run passed");
    for run in workspace.runs_that("failed")? {
        let run = read_run(&workspace.path().join(workspace.run_path(&run)))?;
        let failure = run.meta.failure.as_ref();
        let asserts = failure.is_some_and(|failure| failure.kind == FailureKind::Assert);
        ensure!(asserts, "{failure:?}");
    }
    Ok(())
}
