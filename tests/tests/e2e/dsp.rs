//! The failing order and the nearest order that passes, found and executed.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace};

/// A program with failing runs.
fn recorded(name: &str, compiler: TestedCompiler) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open(name)?;
    let command = program.compile(&workspace, compiler)?;
    let words = ["-n", "2000", "--until-failing", "1"];
    workspace.record(&words, &command)?.exits(1)?;
    Ok(workspace)
}

/// The failure modes in the JSON of the engine.
fn failures(finished: &Finished) -> Result<Vec<Value>> {
    let json: Value =
        serde_json::from_str(&finished.stdout).with_context(|| format!("{finished}"))?;
    let answer = json.pointer("/answers/0/dsp").context("no answer")?;
    Ok(answer.as_array().context("no list")?.clone())
}

/// Checks that both orders are executed ten times: the one fails each time, the other one passes each time.
fn is_confirmed(name: &str, compiler: TestedCompiler) -> Result<()> {
    let workspace = recorded(name, compiler)?;
    let words = ["explain", "--engine", "dsp", "--format", "json"];
    let finished = workspace.unsnarl(&words)?.exits(1)?;
    for failure in failures(&finished)? {
        let tally = serde_json::json!({"fails": 10, "of_fails": 10, "passes": 10, "of_passes": 10});
        ensure!(
            failure.get("confirmed") == Some(&tally),
            "{failure:#}\n{}",
            finished.stderr
        );
        let shown = failure.pointer("/projection/operations");
        let shown = shown.and_then(Value::as_array).map_or(0, Vec::len);
        ensure!(
            (2..=12).contains(&shown),
            "{shown} operations:\n{failure:#}"
        );
    }
    Ok(())
}

macro_rules! confirmed {
    ($($name:ident)*) => { $(
        mod $name {
            use super::*;

            #[test]
            fn is_confirmed_with_clang() -> Result<()> {
                is_confirmed(stringify!($name), TestedCompiler::Clang)
            }

            #[test]
            fn is_confirmed_with_gcc() -> Result<()> {
                is_confirmed(stringify!($name), TestedCompiler::Gcc)
            }
        }
    )* };
}

confirmed! {
    bank_account bounded_queue file_scanner crasher bank_total two_stage airline block_compressor cpp_string_buffer
    object_cache lock_order lost_wakeup unlocked_signal wrong_access_order window_geometry chunk_buffer
}

/// Checks the engine's sentences about failing runs: both orders are confirmed, at most six operations are to be
/// read.
fn says(name: &str, sentences: &[&str]) -> Result<()> {
    let workspace = recorded(name, TestedCompiler::Clang)?;
    let words = ["explain", "--engine", "dsp"];
    let confirmed = "Confirmed: this order fails 10/10, the other passes 10/10";
    let sentences = [sentences, &[confirmed]].concat();
    workspace.unsnarl(&words)?.exits(1)?.says(&sentences)?;
    let words = ["explain", "--engine", "dsp", "--format", "json"];
    for failure in failures(&workspace.unsnarl(&words)?.exits(1)?)? {
        let shown = failure.pointer("/projection/operations");
        let shown = shown.and_then(Value::as_array).map_or(0, Vec::len);
        ensure!((2..=6).contains(&shown), "{failure:#}");
    }
    Ok(())
}

#[test]
fn locks_that_are_taken_in_different_orders() -> Result<()> {
    says(
        "lock_order",
        &[
            "waits for ever for",
            "With lines 30 to 31 of transfer made atomic no thread waits for ever.",
            "in different orders",
        ],
    )
}

#[test]
fn a_signal_that_nobody_waits_for() -> Result<()> {
    says(
        "lost_wakeup",
        &[
            "signals server.became_ready",
            "waits for ever for server.became_ready",
            "With lines 39 to 42 of wait_until_ready made atomic no thread waits for ever.",
        ],
    )
}

/// A failing run that ends within the region: the run that passes has its end.
#[test]
fn a_region_over_several_variables() -> Result<()> {
    says(
        "window_geometry",
        &["of move made atomic the assertion holds."],
    )?;
    says(
        "chunk_buffer",
        &[
            "When read_input (main.1) writes chunks[0] at chunk_buffer.c:38 before compress (main.3) reads",
        ],
    )
}

/// A table that is gone when the consumer comes later: no region helps, only waiting does.
#[test]
fn what_has_to_wait_is_no_region() -> Result<()> {
    says(
        "wrong_access_order",
        &["before main writes table at wrong_access_order.c:64"],
    )
}

/// Results without execution are named beside the other engines.
#[test]
fn explanations_name_the_engine() -> Result<()> {
    let workspace = recorded("bank_account", TestedCompiler::Clang)?;
    let finished = workspace
        .unsnarl(&["explain", "--format", "json"])?
        .exits(1)?;
    let json: Value = serde_json::from_str(&finished.stdout)?;
    let engines = json.pointer("/explanations/0/engines");
    let engines = engines.and_then(Value::as_array).context("no engines")?;
    ensure!(engines.contains(&Value::from("dsp")), "{engines:?}");
    Ok(())
}

#[test]
fn what_is_not_executed_is_not_confirmed() -> Result<()> {
    let workspace = recorded("bank_account", TestedCompiler::Clang)?;
    let words = ["explain", "--engine", "dsp", "--no-run"];
    let said = workspace.unsnarl(&words)?.exits(1)?;
    said.says(&[
        "this order fails",
        "Not confirmed: nothing was executed (--no-run)",
    ])?;
    fs::remove_file(workspace.path().join("bank_account"))?;
    let said = workspace.unsnarl(&words[..3])?.exits(1)?;
    said.says(&["this order fails", "Not confirmed:", "bank_account"])?;
    Ok(())
}

#[test]
fn another_build_is_not_executed() -> Result<()> {
    let workspace = recorded("bank_account", TestedCompiler::Clang)?;
    TestProgram::open("bank_account")?.compile_with(&workspace, TestedCompiler::Clang, &["-O2"])?;
    let said = workspace
        .unsnarl(&["explain", "--engine", "dsp"])?
        .exits(1)?;
    said.says(&[
        "Not confirmed:",
        "is another build than the one that was recorded",
        "next:",
    ])?;
    Ok(())
}

/// Comparison of recorded runs when orders cannot be told apart; a recorded run that passed can.
#[test]
fn without_a_model_and_executing_recorded_runs_are_compared() -> Result<()> {
    let workspace = recorded("bank_account", TestedCompiler::Gcc)?;
    std::fs::remove_dir_all(workspace.path().join(".unsnarl/models"))?;
    let words = ["explain", "--engine", "dsp", "--no-run"];
    let said = workspace.unsnarl(&words)?.exits(1)?;
    said.says(&[
        "there is no program model",
        "compared with the nearest recorded run that passed",
        "nothing was executed (--no-run)",
        "next:",
    ])?;
    Ok(())
}

/// A write that comes too late and is not in the failing run: a recorded run that passed has it.
#[test]
fn what_the_failing_run_never_came_to_is_shown() -> Result<()> {
    let workspace = recorded("use_before_init", TestedCompiler::Clang)?;
    let said = workspace
        .unsnarl(&["explain", "--engine", "dsp"])?
        .exits(1)?;
    said.says(&["only here", "fails 10/10, the other passes 10/10"])?;
    Ok(())
}

#[test]
fn a_model_that_cannot_be_read_is_left_aside() -> Result<()> {
    let workspace = recorded("bank_account", TestedCompiler::Clang)?;
    let folder = workspace.path().join(".unsnarl/models");
    for entry in fs::read_dir(&folder)? {
        fs::write(entry?.path(), b"no model")?;
    }
    let said = workspace
        .unsnarl(&["explain", "--engine", "dsp"])?
        .exits(1)?;
    said.says(&["the program model cannot be used", "passes 10/10"])?;
    Ok(())
}

#[test]
fn runs_without_an_exact_order_are_refused() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("sequential_threads")?;
    let command = program.compile(&workspace, TestedCompiler::Clang)?;
    workspace
        .record(&["-n", "5", "--strategy", "free"], &command)?
        .exits(1)?;
    let said = workspace
        .unsnarl(&["explain", "--engine", "dsp"])?
        .exits(3)?;
    said.says(&[
        "its order is not exact",
        "next: record with a controlled strategy",
    ])?;
    Ok(())
}

#[test]
fn a_failure_in_every_order_has_no_projection() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("sequential_threads")?;
    let command = program.compile(&workspace, TestedCompiler::Clang)?;
    workspace.record(&["-n", "20"], &command)?.exits(1)?;
    let said = workspace
        .unsnarl(&["explain", "--engine", "dsp"])?
        .exits(3)?;
    said.says(&["no other order is told of it"])?;
    Ok(())
}

#[test]
fn a_budget_that_is_over_is_said() -> Result<()> {
    let workspace = recorded("bank_account", TestedCompiler::Clang)?;
    let words = ["explain", "--engine", "dsp", "--budget", "1ms"];
    workspace
        .unsnarl(&words)?
        .says(&["dsp ended early: its time was over (--budget)"])?;
    Ok(())
}

#[test]
fn pictures() -> Result<()> {
    let workspace = recorded("bank_account", TestedCompiler::Clang)?;
    let draw = |format| -> Result<String> {
        let words = ["explain", "--engine", "dsp", "--no-run", "--format", format];
        Ok(workspace.unsnarl(&words)?.exits(1)?.stdout)
    };
    let (dot, svg) = (draw("dot")?, draw("svg")?);
    ensure!(
        dot.starts_with("digraph") && dot.trim_end().ends_with('}'),
        "{dot}"
    );
    ensure!(
        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    let said = workspace
        .unsnarl(&["explain", "--format", "svg"])?
        .exits(2)?;
    said.says(&["only the engine dsp draws SVG", "next:"])?;
    Ok(())
}
