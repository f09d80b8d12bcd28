//! Test frameworks: a check that fails does not end the program, but it is where the run fails.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{fs, path::Path};
use unsnarl_e2e::Workspace;
use unsnarl_trace::{FailureKind, read_run};

/// Line of the check that fails in `stats_test.cpp`.
const CHECK: u32 = 41;

fn compile() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/stats_test.cpp");
    workspace.write("tests/stats_test.cpp", &fs::read_to_string(source)?)?;
    workspace.write("build/keep", "")?;
    // As build folders beside the sources have it: the check prints a path that goes up.
    let words = "c++ -g -pthread build/../tests/stats_test.cpp -lgtest -lgtest_main -o prog";
    workspace
        .unsnarl(&words.split(' ').collect::<Vec<_>>())?
        .exits(0)?;
    Ok(workspace)
}

#[test]
fn the_first_check_that_fails_is_where_the_run_fails() -> Result<()> {
    let workspace = compile()?;
    let words = "record --seed 3 -n 200 --until-failing 2 --show-output -- ./prog";
    let words: Vec<&str> = words.split(' ').collect();
    let said = workspace.unsnarl(&words)?.exits(1)?;
    let text = format!("{}{}", said.stdout, said.stderr);
    ensure!(
        text.contains("[  FAILED  ] Stats.AddsUpWhatThreadsAdd"),
        "{said}"
    );
    ensure!(!text.contains("--expect-exit"), "{said}");
    let failing = workspace.runs_that("failed")?;
    let failing = failing.first().context("no failing run")?;
    let run = read_run(&workspace.path().join(workspace.run_path(failing)))?;
    let failure = run.meta.failure.as_ref().context("no failure")?;
    ensure!(failure.kind == FailureKind::Check, "{failure:?}");
    let site = run.meta.site(failure.site.context("no place")?);
    ensure!(
        site.line == CHECK && site.file.ends_with("tests/stats_test.cpp"),
        "{site:?}"
    );
    let event = failure.event.and_then(|event| run.events.get(event));
    let event = event.context("no event")?;
    ensure!(
        run.location(event.location).ends_with("total_"),
        "{event:?}"
    );

    let replayed = workspace.unsnarl(&["replay", &workspace.run_path(failing)])?;
    ensure!(format!("{replayed}").contains("same"), "{replayed}");
    // The default is short for a slow machine that runs other tests meanwhile.
    let explained = workspace.unsnarl(&["explain", "--format", "json", "--run-budget", "2m"])?;
    let explained: Value = serde_json::from_str(&explained.stdout)?;
    let first = explained
        .pointer("/explanations/0")
        .context("nothing told")?;
    ensure!(
        first["kind"] == "atomicity-violation" && first["certainty"] == "confirmed",
        "{first}"
    );
    ensure!(
        first.pointer("/failure/site/line") == Some(&CHECK.into()),
        "{first}"
    );
    Ok(())
}
