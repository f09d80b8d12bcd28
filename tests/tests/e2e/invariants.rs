//! Conditions that had to hold along failing runs: found at every level, and the bug shows.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace, shows};
use unsnarl_trace::{Run, read_run};

/// The levels of the paper's table, lightest first.
const LEVELS: [&str; 4] = ["ds", "ds+hs", "ds+cs", "ds+cs+hs"];

/// A program or kernel with a failing run.
fn recorded(name: &str, compiler: TestedCompiler) -> Result<(Workspace, TestProgram)> {
    let workspace = Workspace::new()?;
    let program = TestProgram::kernel(name)?;
    let command = program.compile(&workspace, compiler)?;
    let words = ["-n", "2000", "--until-failing", "1"];
    workspace.record(&words, &command)?.exits(1)?;
    Ok((workspace, program))
}

fn explain(workspace: &Workspace, words: &[&str]) -> Result<Finished> {
    let words = [&["explain", "--engine", "invariants"], words].concat();
    workspace.unsnarl(&words)
}

/// The first failure mode in the JSON of the engine, with its run.
fn told(workspace: &Workspace, level: &str) -> Result<(Value, Run)> {
    let finished = explain(workspace, &["--format", "json", "--level", level])?.exits(1)?;
    let json: Value =
        serde_json::from_str(&finished.stdout).with_context(|| format!("{finished}"))?;
    let row = json
        .pointer("/answers/0/invariants/0")
        .context("no answer")?;
    let run = row.get("run").and_then(Value::as_str).context("no run")?;
    let file = workspace.run_path(&format!("{run}.arrow"));
    let run = read_run(&workspace.path().join(file))?;
    Ok((row.get("told").context("nothing told")?.clone(), run))
}

/// Every kernel is explained at every level, more is kept at higher ones, and the bug shows at some level.
/// Every other kernel; all of them under [`matrix`].
#[test]
fn the_bugs_of_the_kernels_show() -> Result<()> {
    let mut kernels = TestProgram::kernels()?.into_iter().step_by(2);
    kernels.try_for_each(|name| bug_shows(&name).with_context(|| name.clone()))
}

mod matrix {
    use super::*;

    #[test]
    fn the_bugs_of_all_kernels_show() -> Result<()> {
        let mut kernels = TestProgram::kernels()?.into_iter();
        kernels.try_for_each(|name| bug_shows(&name).with_context(|| name.clone()))
    }
}

fn bug_shows(name: &str) -> Result<()> {
    let (workspace, program) = recorded(name, TestedCompiler::Clang)?;
    let (mut kept, mut is_shown) = (Vec::new(), false);
    for level in LEVELS {
        let (told, run) = told(&workspace, level)?;
        let lines = told.get("lines").and_then(Value::as_array);
        let last = lines.and_then(|lines| lines.last());
        ensure!(
            last.and_then(|line| line.get("fails")) == Some(&Value::Bool(true)),
            "the last line does not fail: {told:#}"
        );
        ensure!(
            told.get("is_partial") == Some(&Value::Bool(false)),
            "{told:#}"
        );
        is_shown |= shows(&program.expectation, &run, &told);
        let count = told.pointer("/counts/kept").and_then(Value::as_u64);
        kept.push(count.context("no count")?);
    }
    ensure!(is_shown, "the bug shows at no level");
    let [ds, hs, cs, all] = kept.as_slice() else {
        unreachable!("four levels")
    };
    ensure!(ds <= hs && ds <= cs && cs <= all, "{kept:?}");
    Ok(())
}

#[test]
fn a_lost_update_in_words() -> Result<()> {
    let (workspace, _) = recorded("bank_account", TestedCompiler::Clang)?;
    let text = explain(&workspace, &[])?.exits(1)?;
    let said = explain(&workspace, &[])?.exits(1)?;
    ensure!(said.stdout == text.stdout, "{said}\n{text}");
    said.says(&[
        "error: assertion `account.balance == 450` failed",
        "available <= 300  (available is 300)",
        "main.1 stored account.balance at line 38 after main.2 read it at line 46",
        "account.balance <= 250  (account.balance is 250)",
        "steps matter",
        "Fails so in failed-",
    ])?;
    Ok(())
}

/// Sentences for people: reads and writes of atomic accesses, truth values, a variable that is read and changed on
/// one line, and bounds that only say that nothing overflows.
#[test]
fn sentences_that_people_read() -> Result<()> {
    let all = ["--level", "ds+cs+hs"];
    let (workspace, _) = recorded("cache_refcount", TestedCompiler::Clang)?;
    let said = explain(&workspace, &all)?.exits(1)?;
    said.says(&[
        "reads 2, writes 1",
        "reads 1, writes 0",
        "reads false, writes true",
        "page.is_free is true",
    ])?;
    let (workspace, _) = recorded("driver_stop", TestedCompiler::Clang)?;
    let said = explain(&workspace, &all)?.exits(1)?;
    said.says(&[
        "main.2: is_idle is true",
        "read users == 1 at line",
        "enter returned true",
    ])?;
    let (workspace, _) = recorded("bank_account", TestedCompiler::Clang)?;
    let said = explain(&workspace, &all)?.exits(1)?;
    let is_told = |text: &str| said.stdout.contains(text);
    ensure!(
        is_told("amount = 50") && is_told("fee_for returned 0"),
        "{said}"
    );
    ensure!(is_told("main.2: available <= 300"), "{said}");
    ensure!(
        !is_told("0 <= available") && !is_told("took account.lock"),
        "{said}"
    );
    Ok(())
}

#[test]
fn explanations_carry_invariants() -> Result<()> {
    let (workspace, _) = recorded("bank_account", TestedCompiler::Clang)?;
    let (_, explanations) = workspace.explain()?;
    let first = explanations.first().context("no explanation")?;
    ensure!(
        first.engines.contains(&"invariants".to_owned()),
        "{first:?}"
    );
    let is_there = |text: &str| first.invariants.iter().any(|mark| mark.text.contains(text));
    ensure!(is_there("available <= 300"), "{:?}", first.invariants);
    Ok(())
}

#[test]
fn without_a_model_there_are_values() -> Result<()> {
    let (workspace, _) = recorded("bank_account", TestedCompiler::Gcc)?;
    std::fs::remove_dir_all(workspace.path().join(".unsnarl/models"))?;
    let said = explain(&workspace, &[])?.exits(1)?;
    said.says(&[
        "account.balance == 250",
        "there is no program model",
        "next: build with `unsnarl cc`",
    ])?;
    Ok(())
}

/// The machine code of gcc gives the conditions that clang's text gives.
#[test]
fn a_lifted_model_gives_invariants() -> Result<()> {
    let (workspace, _) = recorded("bank_account", TestedCompiler::Gcc)?;
    let said = explain(&workspace, &[])?.exits(1)?;
    said.says(&["main.2: amount >= 50  (amount is 50)", "main.2: fee == 0"])?;
    Ok(())
}

#[test]
fn a_run_that_passed_has_nothing_to_explain() -> Result<()> {
    let (workspace, _) = recorded("bank_account", TestedCompiler::Clang)?;
    let passed = workspace.runs_that("passed")?.into_iter().next();
    let passed = workspace.run_path(&passed.context("no run passed")?);
    let said = explain(&workspace, &[&passed])?.exits(0)?;
    said.says(&["the runs lack a failing run", "next: unsnarl record"])?;
    Ok(())
}

#[test]
fn a_budget_that_is_over_is_said() -> Result<()> {
    let (workspace, _) = recorded("bank_account", TestedCompiler::Clang)?;
    let said = explain(&workspace, &["--budget", "1ms"])?.exits(3)?;
    said.says(&["the budget ended", "next: give a larger --budget"])?;
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
    explain(&workspace, &[])?.exits(3)?.says(&[
        "its order is not exact",
        "next: record with a controlled strategy",
    ])?;
    Ok(())
}

#[test]
fn a_level_that_does_not_exist_is_refused() -> Result<()> {
    let workspace = Workspace::new()?;
    let said = explain(&workspace, &["--level", "all"])?.exits(2)?;
    said.says(&["no such level", "ds+cs+hs"])?;
    Ok(())
}

/// A wait has its reason, the signal that came before it, and what other schedules with these steps do.
#[test]
fn a_lost_wakeup_in_words() -> Result<()> {
    let (workspace, _) = recorded("lost_wakeup", TestedCompiler::Gcc)?;
    let said = explain(&workspace, &[])?.exits(1)?;
    said.says(&[
        "main found ready is false at line 39",
        "main.1 stored server.ready at line 51 after main read it at line 32",
        "had signalled it at line 52, when no thread waited",
        "waits for server.became_ready",
        "other schedules with these steps in this order",
    ])?;
    let said = explain(&workspace, &["--no-run"])?.exits(1)?;
    said.says(&["nothing is executed (--no-run)"])?;
    Ok(())
}

/// Threads count in data of their own and share an enumerator and a pointer.
const OWN_COUNTS: &str = "#include <assert.h>
#include <pthread.h>
#include <stddef.h>
enum phase { IDLE, BUSY, DONE };
static enum phase phase;
static int *last;
static __thread int own = 3;
static __thread int rounds;
static void *work(void *argument) {
    rounds++;
    own += rounds;
    last = NULL;
    if (own == 4)
        phase = BUSY;
    return argument;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    last = &own;
    phase = DONE;
    pthread_join(thread, NULL);
    assert(PROVEN);
    return 0;
}
";

/// Values have the names of the source, and threads are followed through data of their own.
#[test]
fn values_have_names() -> Result<()> {
    let phase = ("phase == DONE", ["writes BUSY", "phase is BUSY"]);
    let last = ("last != NULL", ["writes NULL", "last == NULL"]);
    for ((proven, words), level) in [(phase, "-O0"), (phase, "-O2"), (last, "-O0"), (last, "-O2")] {
        let proven = format!("-DPROVEN={proven}");
        let workspace = Workspace::new()?;
        let source = workspace.write("own.c", OWN_COUNTS)?;
        let file = source.file_name().context("a file")?;
        let (file, gcc) = (file.as_ref(), TestedCompiler::Gcc);
        unsnarl_e2e::program::compile_with(&workspace, file, "own", gcc, &[level, &proven])?;
        workspace
            .record(&["-n", "2000", "--until-failing", "1"], "./own")?
            .exits(1)?;
        let said = explain(&workspace, &["--level", "ds+hs"])?.exits(1)?;
        ensure!(!said.stderr.contains("not understood"), "{said}");
        said.says(&words)?;
    }
    Ok(())
}
