//! `unsnarl predict`: real programs, predicted from runs that passed, and every prediction executed.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{collections::BTreeSet, path::Path};
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace, program::compile};

fn compiled(name: &str) -> Result<(Workspace, String)> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open(name)?.compile(&workspace, TestedCompiler::Gcc)?;
    Ok((workspace, command))
}

fn written(source: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write("prog.c", source)?;
    compile(&workspace, Path::new("prog.c"), "prog", TestedCompiler::Gcc)?;
    Ok(workspace)
}

/// The prediction in the JSON.
fn prediction(finished: &Finished) -> Result<Value> {
    let json: Value = serde_json::from_str(&finished.stdout)?;
    ensure!(json.get("version") == Some(&1.into()), "{finished}");
    let first = json.pointer("/predictions/0").cloned();
    first.with_context(|| format!("no prediction:\n{finished}"))
}

fn anomalies(prediction: &Value) -> Result<&Vec<Value>> {
    let rows = prediction.get("anomalies").and_then(Value::as_array);
    rows.context("no anomalies")
}

#[test]
fn a_lost_update_is_predicted_from_a_passing_run() -> Result<()> {
    let (workspace, command) = compiled("bank_account")?;
    workspace
        .unsnarl(&["predict", "--", &command])?
        .exits(1)?
        .says(&[
            "another thread's update of `account.balance` was lost",
            "atomicity violation (r-w-w) on `account.balance`",
            "assertion `account.balance == 450` failed",
            "kept as failed-proposed",
        ])?;
    ensure!(workspace.runs_that("passed")?.len() == 1);
    let failed = workspace.runs_that("failed")?;
    let run = failed.first().context("no failing run was kept")?;
    workspace
        .unsnarl(&["replay", &workspace.run_path(run), "-n", "5"])?
        .exits(0)?;
    workspace.unsnarl(&["explain"])?.exits(1)?;
    Ok(())
}

#[test]
fn a_deadlock_is_predicted_and_shown() -> Result<()> {
    let (workspace, command) = compiled("lock_order")?;
    workspace
        .unsnarl(&["predict", "--", &command])?
        .exits(1)?
        .says(&[
            "wait for each other's lock",
            "deadlock (cycle of 2)",
            "1 made the program fail",
        ])?;
    ensure!(workspace.runs_that("deadlocked")?.len() == 1);
    Ok(())
}

#[test]
fn correct_programs_get_no_errors() -> Result<()> {
    for name in [
        "correct_bank",
        "correct_queue",
        "correct_phases",
        "correct_once",
    ] {
        let (workspace, command) = compiled(name)?;
        let finished = workspace.unsnarl(&["predict", "--", &command])?.exits(0)?;
        ensure!(!finished.stdout.contains("error:"), "{finished}");
        let kept = workspace.runs()?;
        ensure!(kept.iter().all(|run| run.starts_with("passed")), "{kept:?}");
    }
    Ok(())
}

const FLAG: &str = "
#include <pthread.h>
static volatile int ready;
static int data;
static void *writer(void *arg)
{
    data = 42;
    ready = 1;
    return arg;
}
static void *reader(void *arg)
{
    if (ready)
        return data == 42 ? arg : (void *)1;
    return arg;
}
int main(void)
{
    pthread_t threads[2];
    void *wrong = 0;
    pthread_create(&threads[0], 0, writer, 0);
    pthread_create(&threads[1], 0, reader, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], &wrong);
    return wrong != 0;
}
";

#[test]
fn what_a_flag_prevents_stays_a_hint_with_the_reason() -> Result<()> {
    let workspace = written(FLAG)?;
    workspace
        .unsnarl(&["predict", "--", "./prog"])?
        .exits(0)?
        .says(&[
            "the read of `ready` at prog.c:13 decides what reader (main.2) does: it found 0, not 1",
            "the read of `data` at prog.c:14 did not come",
            "0 made the program fail",
        ])?;
    let finished = workspace
        .unsnarl(&["predict", "--format", "json"])?
        .exits(0)?;
    let prediction = prediction(&finished)?;
    let of = |line: u64, pattern: &str| {
        let found = anomalies(&prediction).ok()?.iter().find(|anomaly| {
            anomaly["pattern"] == pattern && anomaly.pointer("/events/0/line") == Some(&line.into())
        });
        found.cloned()
    };
    // The reader would have to read the data before they are written.
    let guarded = of(14, "r-w").with_context(|| format!("not predicted:\n{finished}"))?;
    ensure!(guarded["verdict"] == "not-reproduced", "{guarded}");
    ensure!(guarded["why"] == "other-path", "{guarded}");
    let of_flag = of(13, "r-w").with_context(|| format!("not predicted:\n{finished}"))?;
    ensure!(of_flag["verdict"] == "harmless", "{of_flag}");
    Ok(())
}

#[test]
fn runs_of_a_folder_are_predicted_from() -> Result<()> {
    let (workspace, command) = compiled("bank_account")?;
    workspace.record(&["-n", "20", "--strategy", "sequential"], &command)?;
    let finished = workspace
        .unsnarl(&["predict", "--format", "json"])?
        .exits(1)?;
    let prediction = prediction(&finished)?;
    let tally = &prediction["tally"];
    ensure!(tally["failed"].as_u64() >= Some(1), "{finished}");
    // Nothing is called an error that did not fail when it was executed.
    for anomaly in anomalies(&prediction)? {
        let failed = anomaly["verdict"] == "failed" || anomaly["verdict"] == "failed-before";
        let run = anomaly["failing_run"].as_str();
        ensure!(failed == run.is_some(), "{anomaly}");
        if let Some(run) = run {
            workspace.unsnarl(&["replay", run])?.exits(0)?;
        }
    }
    let run = prediction["run"].as_str().context("no name")?;
    workspace.unsnarl(&["predict", run])?.exits(1)?;
    Ok(())
}

#[test]
fn the_users_patterns_are_looked_for() -> Result<()> {
    let workspace = written(FLAG)?;
    workspace.write(
        "own.toml",
        "[[pattern]]\nname = \"fresh look\"\nT = \"t1 - t2\"\nSV = \"x - x\"\nAR = \"u1 - u2\"\nAT = \"w - r\"\nconsecutive = true\n",
    )?;
    let words = ["predict", "--all", "--patterns", "own.toml", "--", "./prog"];
    workspace
        .unsnarl(&words)?
        .exits(0)?
        .says(&["pattern (fresh look)"])?;
    Ok(())
}

#[test]
fn what_is_left_out_is_said() -> Result<()> {
    let (workspace, command) = compiled("account_transfer")?;
    let finished = workspace.unsnarl(&["predict", "--max", "1", "--", &command])?;
    finished.says(&[
        "predicted anomalies were not executed (--max)",
        " 1 executed",
    ])?;
    workspace
        .unsnarl(&["predict", "--budget", "0.000001"])?
        .exits(0)?
        .says(&["its time was over (--budget)"])?;
    Ok(())
}

#[test]
fn what_cannot_be_executed_stays_a_hint() -> Result<()> {
    let workspace = Workspace::new()?;
    let trace = "T0|fork(T1)|1\nT0|w(x)|2\nT1|r(x)|3\nT0|join(T1)|4\n";
    workspace.write("trace.std", trace)?;
    let words = ["import", "trace.std", "--from", "std"];
    workspace.unsnarl(&words)?.exits(0)?;
    workspace.unsnarl(&["predict"])?.exits(0)?.says(&[
        "race (w-r) on `x`",
        "the run was imported",
        "2 not: not executed",
    ])?;
    Ok(())
}

/// The read of `y` saw the write under the lock: with both as they were, the accesses of `x` cannot meet.
#[test]
fn what_the_recorded_steps_show_is_certain() -> Result<()> {
    let workspace = Workspace::new()?;
    let trace = "T0|fork(T1)|1\nT0|w(x)|2\nT0|w(z)|3\nT0|acq(l)|4\nT0|w(y)|5\nT0|rel(l)|6\n\
                 T1|r(z)|7\nT1|acq(l)|8\nT1|r(y)|9\nT1|rel(l)|10\nT1|r(x)|11\nT0|join(T1)|12\n";
    workspace.write("trace.std", trace)?;
    let words = ["import", "trace.std", "--from", "std"];
    workspace.unsnarl(&words)?.exits(0)?;
    let finished = workspace
        .unsnarl(&["predict", "--format", "json"])?
        .exits(0)?;
    let prediction = prediction(&finished)?;
    let certain = |location: &str| -> Result<BTreeSet<bool>> {
        let of = |anomaly: &&Value| anomaly.pointer("/events/0/location") == Some(&location.into());
        let found = anomalies(&prediction)?.iter().filter(of);
        Ok(found.map(|one| one["certain"] == true).collect())
    };
    assert_eq!(certain("z")?, BTreeSet::from([true]), "{prediction:#}");
    assert_eq!(certain("x")?, BTreeSet::from([false]), "{prediction:#}");
    assert_eq!(
        certain("y")?,
        BTreeSet::from([false]),
        "under one lock only the order can be another one: {prediction:#}"
    );
    workspace.unsnarl(&["predict"])?.exits(0)?.says(&[
        "can happen: an order of the recorded steps shows it",
        "on `z`",
    ])?;
    Ok(())
}

#[test]
fn bad_input() -> Result<()> {
    let (workspace, command) = compiled("sequential_sum")?;
    let refused = |words: &[&str], says: &[&str]| -> Result<()> {
        workspace.unsnarl(words)?.exits(2)?.says(says)?;
        Ok(())
    };
    refused(&["predict"], &["there are no runs", "next:"])?;
    refused(&["predict", "nothing"], &["there is no run nothing"])?;
    refused(&["predict", "--", "./nothing"], &["there is no program"])?;
    refused(&["predict", "--runs", "0"], &["no number from 1"])?;
    refused(
        &["predict", "--", &command],
        &["passed in none of 20 runs", "explain"],
    )?;
    refused(
        &["predict"],
        &["runs passed, so there is nothing to predict from"],
    )?;
    refused(
        &["predict", "--patterns", "none.toml"],
        &["cannot read the patterns"],
    )?;
    workspace.write(
        "bad.toml",
        "[[pattern]]\nname = \"x\"\nT = \"t1 - t2\"\nAT = \"r\"\n",
    )?;
    refused(
        &["predict", "--patterns", "bad.toml"],
        &["bad.toml", "line"],
    )
}

#[test]
fn another_build_is_refused() -> Result<()> {
    let workspace = written(FLAG)?;
    workspace.unsnarl(&["predict", "--", "./prog"])?.exits(0)?;
    workspace.write("prog.c", &FLAG.replace("42", "43"))?;
    compile(&workspace, Path::new("prog.c"), "prog", TestedCompiler::Gcc)?;
    workspace
        .unsnarl(&["predict"])?
        .exits(2)?
        .says(&["is another build than the one that was recorded", "next:"])?;
    Ok(())
}
