//! Runs in which nothing changes any more end soon, and only those.

use anyhow::{Result, ensure};
use std::path::Path;
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, program::compile};

/// Compiles a program of `tests/runtime/livelock` to `./program`.
fn livelock(name: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/livelock");
    compile(
        &workspace,
        &folder.join(name),
        "program",
        TestedCompiler::Gcc,
    )?;
    Ok(workspace)
}

/// Checks that some runs are ended as endless, long before the limit of steps, and that the message names the loop.
fn is_noticed(workspace: &Workspace, program: &str, strategy: &str, loops: &str) -> Result<()> {
    let options = ["-n", "100", "--strategy", strategy];
    workspace.record(&options, program)?.exits(1)?;
    let endless = workspace.runs_that("timed-out")?;
    ensure!(!endless.is_empty(), "{strategy}: {:?}", workspace.runs()?);
    ensure!(
        workspace.runs_that("cut-short")?.is_empty(),
        "a log was filled"
    );
    for name in endless {
        let run = unsnarl_trace::read_run(&workspace.path().join(workspace.run_path(&name)))?;
        let message = run.meta.failure.map(|failure| failure.message);
        let message = message.unwrap_or_default();
        ensure!(message.contains(loops), "{message}");
        ensure!(run.events.len() < 200_000, "{} events", run.events.len());
    }
    Ok(())
}

#[test]
fn a_flag_that_nobody_sets() -> Result<()> {
    for strategy in ["random", "pct", "exhaustive:1"] {
        let loops = "nothing changes any more; main.1 goes round at spin.c:8";
        is_noticed(&livelock("spin.c")?, "./program", strategy, loops)?;
    }
    Ok(())
}

#[test]
fn two_that_wait_for_each_other() -> Result<()> {
    let loops = "main.1 goes round at both.c:10 to 11; main.2 goes round at both.c:10 to 11";
    for strategy in ["random", "pct", "exhaustive:1"] {
        is_noticed(&livelock("both.c")?, "./program", strategy, loops)?;
    }
    Ok(())
}

/// Taking a lock in vain by exchanging its word leaves that as it is. The mutex was only taken, and is not given back.
#[test]
fn a_lock_of_the_programs_own_and_a_mutex() -> Result<()> {
    let loops = "main.1 goes round at crossed.c:9 to 10";
    for strategy in ["random", "pct", "exhaustive:1"] {
        is_noticed(&livelock("crossed.c")?, "./program", strategy, loops)?;
    }
    let workspace = livelock("crossed.c")?;
    let record = ["-n", "100", "--until-failing", "3"];
    workspace.record(&record, "./program")?.exits(1)?;
    let told = workspace.unsnarl(&["explain"])?.exits(1)?;
    for says in [
        "main.1 and main.2 wait for each other",
        "holds `mutex` (crossed.c:18) and waits for a change of `word` (crossed.c:9)",
        "has set `word` (crossed.c:9) and waits for `mutex` (crossed.c:27)",
        "Confirmed: this order fails 10/10, the other passes 10/10.",
    ] {
        ensure!(told.stdout.contains(says), "{told}");
    }
    Ok(())
}

#[test]
fn a_request_that_was_lost() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("lost_stop")?.compile(&workspace, TestedCompiler::Gcc)?;
    is_noticed(
        &workspace,
        &program,
        "portfolio",
        "main.1 goes round at lost_stop.c",
    )
}

#[test]
fn looks_under_a_lock() -> Result<()> {
    for strategy in ["random", "pct"] {
        let loops = "goes round at poll.c:";
        is_noticed(&livelock("poll.c")?, "./program", strategy, loops)?;
    }
    Ok(())
}

/// Waits with an end are not taken for circles: those that count where nobody sees it, for somebody
/// slow, for a time, for a signal, for data that fit together.
#[test]
fn waits_that_end() -> Result<()> {
    all_end(&livelock("correct.c")?)
}

/// Nor are looks under a lock, for those who wait for that lock or try to take it.
#[test]
fn looks_under_a_lock_that_end() -> Result<()> {
    all_end(&livelock("locks.c")?)
}

fn all_end(workspace: &Workspace) -> Result<()> {
    for strategy in ["portfolio", "sequential", "random:40"] {
        let options = ["-n", "3", "--keep-passing", "0", "--strategy", strategy];
        workspace.record(&options, "./program")?.exits(0)?;
    }
    Ok(())
}

/// A livelock that was recorded is found again at the same place.
#[test]
fn a_replay_ends_where_the_run_did() -> Result<()> {
    let workspace = livelock("spin.c")?;
    workspace.record(&["-n", "10"], "./program")?.exits(1)?;
    let endless = workspace.runs_that("timed-out")?;
    let first = endless.first().map(|name| workspace.run_path(name));
    let first = first.unwrap_or_default();
    workspace
        .unsnarl(&["replay", &first, "-n", "3"])?
        .exits(0)?;
    Ok(())
}
