//! Campaigns: the runs that they keep, their end, and their judgement of exit statuses.

use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};
use unsnarl_e2e::{TestedCompiler, Workspace, program::compile_with};
use unsnarl_trace::{Criteria, read_run};

fn compiled(name: &str, text: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write(name, text)?;
    compile_with(&workspace, name.as_ref(), "prog", TestedCompiler::Gcc, &[])?;
    Ok(workspace)
}

/// A program in which two threads count far, with a given exit status.
const COUNTS: &str = "
#include <pthread.h>
#include <stdlib.h>
static long steps, total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *count(void *argument) {
    for (long i = 0; i < steps; i++) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
    }
    return argument;
}
int main(int words, char **word) {
    pthread_t a, b;
    steps = atol(word[1]);
    pthread_create(&a, 0, count, 0);
    pthread_create(&b, 0, count, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return words > 2 ? atoi(word[2]) : 0;
}
";

#[test]
fn a_full_log_ends_the_campaign_and_leaves_nothing() -> Result<()> {
    let workspace = compiled("counts.c", COUNTS)?;
    let words = [
        "record",
        "-n",
        "50",
        "--every-access",
        "--max-events",
        "2000",
        "--",
        "./prog",
        "5000",
    ];
    let said = workspace.unsnarl(&words)?.exits(2)?;
    said.says(&[
        "1 run: 1 cut short",
        "--max-events",
        "--strategy path",
        "memory accesses",
        "ended early",
        "nothing of it is kept",
    ])?;
    ensure!(workspace.runs()?.is_empty());
    Ok(())
}

#[test]
fn a_log_is_as_long_as_was_asked_for() -> Result<()> {
    let workspace = compiled("counts.c", COUNTS)?;
    let record = |most: &str, steps: &str| {
        let words = ["record", "-n", "1", "--every-access", "--max-events", most];
        workspace.unsnarl(&[&words[..], &["--", "./prog", steps]].concat())
    };
    // No whole number of pages.
    record("40001", "50000")?
        .exits(2)?
        .says(&["more events than the 40001"])?;
    record("80001", "4000")?.exits(0)?;
    ensure!(workspace.runs()?.len() == 1);
    Ok(())
}

#[test]
fn one_sequential_run_is_all() -> Result<()> {
    let workspace = compiled("counts.c", COUNTS)?;
    let words = ["record", "--strategy", "sequential", "--", "./prog", "3"];
    workspace
        .unsnarl(&words)?
        .exits(0)?
        .says(&["1 run: 1 passed"])?;
    ensure!(workspace.runs()?.len() == 1);
    Ok(())
}

#[test]
fn large_runs_that_are_alike_are_kept_once() -> Result<()> {
    let workspace = compiled("counts.c", COUNTS)?;
    let words = [
        "record",
        "-n",
        "4",
        "--strategy",
        "sequential",
        "--",
        "./prog",
    ];
    let said = workspace.unsnarl(&[&words[..], &["150000"]].concat())?;
    said.exits(0)?.says(&[
        "4 runs: 4 passed; 1 different",
        "3 runs were not kept: their conflicting steps came in the same order",
    ])?;
    let runs = workspace.runs()?;
    let first = runs.first().context("none is kept")?;
    let path = workspace.path().join(workspace.run_path(first));
    let (bytes, run) = (path.metadata()?.len(), read_run(&path)?);
    let events = run.events.len() as u64;
    ensure!(runs.len() == 1 && events > 1 << 20);
    ensure!(bytes < 8 * events, "{bytes} bytes for {events} events");
    Ok(())
}

#[test]
fn old_passing_runs_make_room() -> Result<()> {
    let workspace = compiled("counts.c", COUNTS)?;
    let words = [
        "record",
        "-n",
        "12",
        "--max-disk",
        "100K",
        "--",
        "./prog",
        "60",
    ];
    let said = workspace.unsnarl(&words)?.exits(0)?;
    said.says(&["old passing runs were removed", "100.00 KiB", "--max-disk"])?;
    let runs = workspace.runs()?.len();
    ensure!((1..12).contains(&runs), "{runs} are left");
    Ok(())
}

#[test]
fn an_exit_status_is_told_and_can_be_expected() -> Result<()> {
    let workspace = compiled("counts.c", COUNTS)?;
    let words = ["record", "-n", "3", "--", "./prog", "1", "3"];
    let said = workspace.unsnarl(&words)?.exits(1)?;
    said.says(&[
        "3 runs ended with exit status 3, which counts as a failure",
        "--expect-exit 3",
    ])?;
    let expects = |status| {
        let start = [
            "record",
            "-n",
            "3",
            "--out",
            "expected",
            "--expect-exit",
            status,
        ];
        workspace.unsnarl(&[&start[..], &["--", "./prog", "1", "3"]].concat())
    };
    expects("0,2")?.exits(1)?.says(&["--expect-exit 3"])?;
    expects("3")?
        .exits(0)?
        .says(&["3 passed", "record --expect-exit 3 --out expected --until"])?;
    let runs = workspace.runs_in("expected")?;
    let passed = runs.iter().find(|name| name.starts_with("passed"));
    let path = format!(
        "expected/{}.arrow",
        passed.context("no run passed")?.trim_end_matches(".arrow")
    );
    let run = read_run(&workspace.path().join(&path))?;
    let wanted = Criteria {
        expected_exits: vec![3],
        ..Criteria::default()
    };
    ensure!(run.meta.criteria == wanted, "{:?}", run.meta.criteria);
    workspace.unsnarl(&["replay", &path])?.exits(0)?;
    Ok(())
}

/// A program that fails unless `main` runs to its end before the other threads begin.
const RARELY_PASSES: &str = "
#include <assert.h>
#include <pthread.h>
static int value;
static void *raise(void *argument) { value++; value++; value++; return argument; }
int main(void) {
    pthread_t threads[3];
    int seen = 0;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, raise, 0);
    for (int i = 0; i < 30; i++) seen |= value;
    assert(seen == 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return 0;
}
";

#[test]
fn passing_runs_are_looked_for_where_they_are_rare() -> Result<()> {
    let workspace = compiled("rare.c", RARELY_PASSES)?;
    for goal in [["--until-failing", "3"], ["-n", "120"]] {
        let words = [&["record", "--seed", "1"], &goal[..], &["--", "./prog"]].concat();
        workspace.unsnarl(&words)?.exits(1)?;
        let passed = workspace.runs_that("passed")?.len();
        ensure!(passed >= 15, "{goal:?}: {passed} passing runs were kept");
        std::fs::remove_dir_all(workspace.path().join(".unsnarl"))?;
    }
    Ok(())
}

#[test]
fn a_program_that_always_fails_is_not_tried_for_ever() -> Result<()> {
    let workspace = compiled("counts.c", COUNTS)?;
    let words = ["record", "--until-failing", "2", "--", "./prog", "1", "1"];
    let said = workspace.unsnarl(&words)?.exits(1)?;
    let runs = said
        .stderr
        .split(" runs: ")
        .next()
        .and_then(|text| text.split_whitespace().last());
    let runs: u32 = runs
        .and_then(|runs| runs.parse().ok())
        .context("no number of runs")?;
    ensure!((100..=130).contains(&runs), "{runs} runs");
    Ok(())
}

#[test]
fn a_report_of_the_undefined_behavior_sanitizer_is_a_failure() -> Result<()> {
    const OVERFLOWS: &str = "
#include <limits.h>
#include <pthread.h>
static int total = INT_MAX - 1;
static void *raise(void *argument) { total = total + 1; return argument; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, raise, 0);
    pthread_create(&b, 0, raise, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";
    let workspace = Workspace::new()?;
    workspace.write("sum.c", OVERFLOWS)?;
    let sanitizer = ["-fsanitize=undefined", "-fno-sanitize-recover=all"];
    compile_with(
        &workspace,
        "sum.c".as_ref(),
        "prog",
        TestedCompiler::Gcc,
        &sanitizer,
    )?;
    workspace.record(&["-n", "8"], "./prog")?.exits(1)?;
    let name = workspace
        .runs_that("failed")?
        .into_iter()
        .next()
        .context("no run failed")?;
    let run = read_run(&workspace.path().join(workspace.run_path(&name)))?;
    let failure = run.meta.failure.as_ref().context("no failure")?;
    let site = failure
        .site
        .map(|site| run.meta.site(site))
        .context("no site")?;
    ensure!(
        failure.kind == unsnarl_trace::FailureKind::UndefinedBehavior,
        "{failure:?}"
    );
    ensure!(
        failure.message.contains("signed integer overflow") && site.line == 5,
        "{failure:?} {site:?}"
    );
    Ok(())
}

#[test]
fn an_interruption_before_the_first_run_has_ended_is_no_success() -> Result<()> {
    const ENDLESS: &str = "
#include <stdio.h>
int main(void) {
    fclose(fopen(\"started\", \"w\"));
    for (;;) __asm__ volatile(\"pause\");
}
";
    let workspace = compiled("endless.c", ENDLESS)?;
    let words = ["record", "--timeout", "600", "--", "./prog"];
    let mut command = workspace.unsnarl_command(&words)?;
    let mut recorder = command.stderr(Stdio::piped()).spawn()?;
    while !workspace.path().join("started").exists() {
        ensure!(recorder.try_wait()?.is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let interrupted = Command::new("kill")
        .args(["-INT", &recorder.id().to_string()])
        .status()?;
    ensure!(interrupted.success());
    let ended = recorder.wait_with_output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.code() == Some(2), "{said}");
    ensure!(said.contains("stopped before a run had ended"), "{said}");
    ensure!(
        !said.contains("passed") && !said.contains("next:"),
        "{said}"
    );
    Ok(())
}
