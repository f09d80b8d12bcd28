//! Exhaustive search, and choices other than threads.

use anyhow::{Context, Result, ensure};
use std::{collections::BTreeSet, path::Path};
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace, program::compile};

/// Compiles a program of `tests/runtime/chances` to `./program`.
fn chances(name: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/chances");
    compile(
        &workspace,
        &folder.join(name),
        "program",
        TestedCompiler::Gcc,
    )?;
    Ok(workspace)
}

/// Checks that the program passes under these options, and that with one more option it fails, repeatably.
fn fails_only_by(name: &str, without: &[&str], with: &[&str]) -> Result<()> {
    let workspace = chances(name)?;
    let runs = ["-n", "200"];
    let harmless = [&runs, without].concat();
    workspace.record(&harmless, "./program")?.exits(0)?;
    workspace
        .record(&[&runs, with].concat(), "./program")?
        .exits(1)?;
    let failed = workspace.runs_that("failed")?;
    let first = failed.first().context("no failing run was kept")?;
    workspace
        .unsnarl(&["replay", &workspace.run_path(first), "-n", "100"])?
        .exits(0)?;
    Ok(())
}

#[test]
fn a_spurious_wakeup() -> Result<()> {
    fails_only_by("spurious_wakeup.c", &["--chances", "none"], &[])
}

#[test]
fn an_early_timeout() -> Result<()> {
    fails_only_by("early_timeout.c", &[], &["--chances", "early-timeouts"])
}

#[test]
fn a_weak_exchange() -> Result<()> {
    fails_only_by("weak_exchange.c", &["--chances", "none"], &[])
}

#[test]
fn no_memory() -> Result<()> {
    fails_only_by("no_memory.c", &[], &["--fail-malloc=10"])
}

#[test]
fn a_correct_program_stands_them_all() -> Result<()> {
    let workspace = chances("correct.c")?;
    let all = "spurious-wakeups,early-timeouts,failing-tries";
    for strategy in ["portfolio", "random:3", "exhaustive:2"] {
        let options = [
            "-n",
            "300",
            "--strategy",
            strategy,
            "--chances",
            all,
            "--fail-malloc",
        ];
        workspace.record(&options, "./program")?.exits(0)?;
    }
    Ok(())
}

/// The number in `bound 2: all 146 schedules`.
fn all_schedules(finished: &Finished) -> Result<u64> {
    let text = &finished.stderr;
    let (_, rest) = text
        .split_once(": all ")
        .or_else(|| text.split_once("all "))
        .with_context(|| format!("the search did not end:\n{text}"))?;
    let number = rest.split_whitespace().next().unwrap_or_default();
    Ok(number.parse()?)
}

fn search(workspace: &Workspace, bound: &str, options: &[&str], out: &str) -> Result<Finished> {
    let strategy = format!("exhaustive:{bound}");
    let fixed = ["--strategy", &strategy, "--out", out];
    workspace.record(&[&fixed, options].concat(), "./program")
}

/// Bugs that need one preemption are found with that bound, and the search ends by itself.
#[test]
fn a_bound_is_exhausted() -> Result<()> {
    for (name, bound, status) in [
        ("bank_account", "1", 1),
        ("lost_wakeup", "1", 1),
        ("publication", "1", 1),
        ("use_before_init", "1", 1),
        ("correct_bank", "2", 0),
    ] {
        let workspace = Workspace::new()?;
        let program = TestProgram::open(name)?.compile(&workspace, TestedCompiler::Gcc)?;
        let strategy = format!("exhaustive:{bound}");
        let finished = workspace.record(&["--strategy", &strategy], &program)?;
        ensure!(finished.status == Some(status), "{name}: {finished:?}");
        all_schedules(&finished)?;
    }
    Ok(())
}

/// A search in many parts makes the same runs as one in one piece.
#[test]
fn an_interrupted_search_goes_on() -> Result<()> {
    let workspace = chances("spurious_wakeup.c")?;
    let whole = search(&workspace, "2", &[], "whole")?.exits(1)?;
    let schedules = all_schedules(&whole)?;
    let mut parts = 0;
    loop {
        let part = search(&workspace, "2", &["-n", "2"], "parts")?;
        parts += 1;
        ensure!(parts <= schedules, "no end: {}", part.stderr);
        if part.stderr.contains("all ") {
            ensure!(part.status == Some(1), "an earlier failure is forgotten");
            ensure!(all_schedules(&part)? == schedules, "{}", part.stderr);
            break;
        }
        ensure!(part.stderr.contains("of the schedules"), "{}", part.stderr);
    }
    ensure!(parts > 1, "nothing was interrupted");
    ensure!(workspace.runs_in("whole")? == workspace.runs_in("parts")?);
    Ok(())
}

/// The orders of conflicting events of all kept runs in a folder.
fn orders(workspace: &Workspace, out: &str) -> Result<BTreeSet<String>> {
    let folder = workspace.path().join(out);
    let mut orders = BTreeSet::new();
    for name in workspace.runs_in(out)? {
        let run = unsnarl_trace::read_run(&folder.join(name))?;
        orders.insert(format!("{:?} {:?}", run.meta.outcome, run.meta.order));
    }
    Ok(orders)
}

/// A search without an effective bound has seen every order that random walks and PCT reach.
#[test]
fn nothing_is_found_elsewhere() -> Result<()> {
    for name in ["bank_account", "lock_order", "lost_wakeup"] {
        let workspace = Workspace::new()?;
        let program = TestProgram::open(name)?.compile(&workspace, TestedCompiler::Gcc)?;
        let record = |options: &[&str]| {
            let fixed = ["--chances", "none", "--keep-passing", "100000"];
            workspace.record(&[&fixed, options].concat(), &program)
        };
        let all = record(&["--strategy", "exhaustive:9", "--out", "all"])?;
        ensure!(
            all.stderr
                .contains("a larger bound would show no other order"),
            "{name}: {}",
            all.stderr
        );
        record(&["-n", "400", "--out", "drawn"])?;
        let (all, drawn) = (orders(&workspace, "all")?, orders(&workspace, "drawn")?);
        let missed: Vec<_> = drawn.difference(&all).collect();
        ensure!(missed.is_empty(), "{name}: {missed:?} of {}", drawn.len());
        ensure!(!drawn.is_empty() && all.len() >= drawn.len());
    }
    Ok(())
}

/// Unusual outcomes are searched like preemptions, kept when preemptions are taken away, and replayed.
#[test]
fn chances_are_searched_and_minimized() -> Result<()> {
    for (name, bound, option) in [
        ("spurious_wakeup.c", "2", "--chances=spurious-wakeups"),
        ("weak_exchange.c", "1", "--chances=failing-tries"),
        ("no_memory.c", "1", "--fail-malloc"),
    ] {
        let workspace = chances(name)?;
        let found = search(&workspace, bound, &[option, "--minimize"], "runs")?.exits(1)?;
        let found = found.says(&["needs"])?;
        all_schedules(&found)?;
        let runs = workspace.runs_in("runs")?;
        let minimized = runs.iter().find(|run| run.contains("-minimized-"));
        let file = format!("runs/{}", minimized.with_context(|| found.to_string())?);
        workspace.unsnarl(&["replay", &file, "-n", "5"])?.exits(0)?;
    }
    Ok(())
}

/// A search that cannot see all that makes a difference says so, and does not claim to be complete.
#[test]
fn what_the_log_does_not_tell_is_said() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("clock.c", CLOCK)?;
    compile(
        &workspace,
        Path::new("clock.c"),
        "program",
        TestedCompiler::Gcc,
    )?;
    let options = ["--strategy", "exhaustive:9"];
    let finished = workspace.record(&options, "./program")?.exits(0)?;
    let finished =
        finished.says(&["look at the clock or wait for a time, wait for descriptors"])?;
    ensure!(!finished.stderr.contains("no other order"), "{finished}");
    Ok(())
}

/// A program in which two threads meet in a pipe, and look at the clock.
const CLOCK: &str = r"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static void *write_it(void *unused) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (write(ends[1], &now, 1) != 1)
        return &ends;
    return unused;
}

int main(void) {
    pthread_t thread;
    char byte;
    if (pipe(ends) != 0)
        return 2;
    pthread_create(&thread, NULL, write_it, NULL);
    int bad = read(ends[0], &byte, 1) != 1;
    pthread_join(thread, NULL);
    return bad;
}
";

fn stretch(name: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/stretch");
    compile(
        &workspace,
        &folder.join(name),
        "program",
        TestedCompiler::Gcc,
    )?;
    Ok(workspace)
}

/// Threads that compute are not interrupted, however long they take, under one priority per thread and no change of
/// it.
#[test]
fn priorities_hold_over_long_stretches() -> Result<()> {
    let workspace = stretch("counting.c")?;
    let options = ["-n", "4", "--strategy", "pct:1"];
    workspace.record(&options, "./program")?.exits(0)?;
    for name in workspace.runs()? {
        let run = unsnarl_trace::read_run(&workspace.path().join(workspace.run_path(&name)))?;
        let schedule = &run.meta.schedule;
        ensure!(schedule.len() > 40_000, "{} choices", schedule.len());
        let switches = schedule.rows().len() - 1;
        ensure!(switches <= 6, "{name}: {switches} switches");
    }
    Ok(())
}

/// A thread that waits lets the others run in the end, although it changes something meanwhile.
#[test]
fn a_polling_loop_ends() -> Result<()> {
    let workspace = stretch("polling.c")?;
    for strategy in ["pct:1", "sequential", "exhaustive:0"] {
        let options = ["-n", "10", "--strategy", strategy];
        workspace.record(&options, "./program")?.exits(0)?;
    }
    Ok(())
}
