//! Programs that wait for somebody outside: that nobody comes is no failure of theirs.

use super::modes::Modes;
use anyhow::{Context, Result, ensure};
use unsnarl_e2e::{Finished, TestedCompiler};

fn record(program: &Modes, mode: &str, more: &[&str]) -> Result<Finished> {
    let start = ["record", "--seed", "3", "--timeout", "1s"];
    let words = [&start[..], more, &["--", "./prog", mode]].concat();
    program.workspace.unsnarl(&words)
}

/// The recorder says what it waits for, takes it for no failure, and keeps nothing.
#[test]
fn a_server_without_a_client_waits_for_one() -> Result<()> {
    let program = Modes::compile("servers.c", TestedCompiler::Gcc, &[])?;
    for (mode, runs, waits) in [
        (
            "take_connections",
            "1 run:",
            "main waits for a connection at servers.c:",
        ),
        (
            "poll_connections",
            "1 run:",
            "main waits for a connection at servers.c:",
        ),
        ("wait_for_signal", "1 run:", "or a signal at servers.c:"),
        // Another order of the threads might have served somebody.
        (
            "leave_it_to_another",
            "3 runs:",
            "main.3 waits for a connection at servers.c:",
        ),
    ] {
        let said = record(&program, mode, &["-n", "5"])?.exits(2)?;
        let said = said.says(&["waits for the world outside", runs, waits])?;
        ensure!(!format!("{said}").contains("timed out"), "{said}");
        let kept = program.workspace.path().join(".unsnarl/runs");
        ensure!(
            !kept.exists() || program.workspace.runs()?.is_empty(),
            "{said}"
        );
    }
    Ok(())
}

/// Other runs have ended: the one that does not is a failure, whoever could still come from outside.
#[test]
fn a_hang_beside_a_wait_for_the_outside_is_one() -> Result<()> {
    let program = Modes::compile("servers.c", TestedCompiler::Gcc, &[])?;
    let said = record(&program, "lose_wakeup", &["--until-failing", "1"])?.exits(1)?;
    said.says(&["passed", "1 timed out"])?;
    let runs = program.workspace.runs_that("timed-out")?;
    let hung = runs.first().context("no run timed out")?;
    let hung = program.workspace.run_path(hung);
    let words = ["replay", &hung, "-n", "3"];
    let repeated = program.workspace.unsnarl(&words)?.exits(0)?;
    repeated.says(&["the same run 3 of 3 times: timed-out"])?;
    Ok(())
}
