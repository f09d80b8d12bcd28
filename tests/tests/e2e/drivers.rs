//! Servers: somebody uses them from outside while they are recorded, and they are asked to end.

use super::modes::Modes;
use anyhow::{Context, Result, ensure};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use unsnarl_e2e::{Finished, TestedCompiler};
use unsnarl_trace::{FailureKind, Outcome, Run, read_run};

/// The server, and its client, which is not recorded.
fn compile() -> Result<Modes> {
    let program = Modes::compile("counting_server.c", TestedCompiler::Gcc, &[])?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/counting_client.c");
    let text = fs::read_to_string(source)?;
    program.workspace.write("client.c", &text)?;
    let words = ["-o", "client", "client.c"];
    program.workspace.run("gcc", &words)?.exits(0)?;
    Ok(program)
}

fn record(program: &Modes, options: &[&str], words: &[&str]) -> Result<Finished> {
    let start = ["record", "--seed", "3"];
    let words = [&start[..], options, &["--", "./prog"], words].concat();
    program.workspace.unsnarl(&words)
}

fn runs(program: &Modes) -> Result<Vec<Run>> {
    let names = program.workspace.runs()?;
    let place = |name: &String| {
        program
            .workspace
            .path()
            .join(program.workspace.run_path(name))
    };
    names
        .iter()
        .map(|name| Ok(read_run(&place(name))?))
        .collect()
}

#[test]
fn a_driver_says_which_runs_fail_and_why() -> Result<()> {
    let program = compile()?;
    let said = record(&program, &["-n", "40", "--driver", "./client"], &[])?.exits(1)?;
    let text = format!("{said}");
    ensure!(text.contains("passed") && text.contains("failed"), "{said}");
    ensure!(
        !text.contains("--expect-exit") && !text.contains("cut short"),
        "{said}"
    );
    let runs = runs(&program)?;
    let failing = runs
        .iter()
        .filter(|run| run.meta.outcome == Outcome::Failed);
    let failures: Vec<_> = failing
        .filter_map(|run| run.meta.failure.as_ref())
        .collect();
    ensure!(!failures.is_empty(), "{said}");
    for failure in failures {
        ensure!(failure.kind == FailureKind::Exit, "{failure:?}");
        let message = "the driver ended with exit status 1: counted 1 of 2 requests";
        ensure!(failure.message == message, "{failure:?}");
    }
    let last = fs::read_to_string(program.workspace.path().join("port.txt"));
    last.context("the server has not listened")?;
    Ok(())
}

#[test]
fn a_script_can_be_the_driver() -> Result<()> {
    let program = compile()?;
    let script = program
        .workspace
        .write("test.sh", "#!/bin/sh\nexec ./client\n")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let said = program
        .workspace
        .unsnarl(&["record", "--", "./test.sh"])?
        .exits(2)?;
    said.says(&[
        "starts no program that was",
        "unsnarl record --driver ./test.sh -- PROGRAM",
    ])?;
    let said = record(&program, &["-n", "2", "--driver", "./test.sh"], &[])?;
    said.says(&["2 runs: "])?;
    ensure!(!runs(&program)?.is_empty());
    Ok(())
}

/// A program that fails by itself does so whatever the driver says, and one that hangs is ended with its driver.
#[test]
fn what_the_program_does_counts_beside_the_driver() -> Result<()> {
    let program = compile()?;
    let said = record(&program, &["-n", "2", "--driver", "true"], &["3"])?.exits(1)?;
    said.says(&["2 failed", "exit status 3"])?;
    let options = ["-n", "2", "--timeout", "1s", "--driver", "sleep 60"];
    let said = record(&program, &options, &[])?.exits(1)?;
    said.says(&["2 timed out"])?;
    Ok(())
}

#[test]
fn a_program_that_goes_on_for_ever_is_asked_to_end() -> Result<()> {
    let program = compile()?;
    for option in [["--for", "200ms"], ["--stop-when", "listening"]] {
        let options = [&["-n", "3"], &option[..]].concat();
        record(&program, &options, &[])?
            .exits(0)?
            .says(&["3 passed"])?;
        record(&program, &options, &["0"])?
            .exits(0)?
            .says(&["3 passed"])?;
        record(&program, &options, &["7"])?
            .exits(1)?
            .says(&["3 failed", "exit status 7"])?;
    }
    ensure!(runs(&program)?.iter().all(|run| !run.events.is_empty()));
    Ok(())
}

/// A run that failed: by itself, or as the driver says.
fn failing(program: &Modes, by_itself: bool) -> Result<String> {
    for name in program.workspace.runs()? {
        let path = program.workspace.run_path(&name);
        let run = read_run(&program.workspace.path().join(&path))?;
        let failure = run.meta.failure;
        if failure.is_some_and(|one| (one.kind != FailureKind::Exit) == by_itself) {
            return Ok(path);
        }
    }
    anyhow::bail!("no run failed so")
}

/// Only the driver notices the failure, so it is there again with the driver only.
#[test]
fn what_the_driver_notices_is_repeated_and_executed_with_it() -> Result<()> {
    let program = compile()?;
    record(&program, &["-n", "40", "--driver", "./client"], &[])?.exits(1)?;
    let run = failing(&program, false)?;
    let unsnarl = |words: &[&str]| program.workspace.unsnarl(words);
    unsnarl(&["replay", &run])?.exits(1)?;
    let said = unsnarl(&["replay", &run, "-n", "2", "--driver", "./client"])?.exits(0)?;
    said.says(&["reproduced 2 of 2 times: failed"])?;
    let explain = ["explain", "--times", "2", "--run-budget", "8s"];
    let with = unsnarl(&[&explain[..], &["--driver", "./client"]].concat())?.exits(1)?;
    with.says(&["order fails 2/2"])?;
    Ok(())
}

/// The run holds what the driver has sent: a failure of the program itself needs no driver.
#[test]
fn a_failure_of_the_program_itself_is_repeated_without_the_driver() -> Result<()> {
    let program = compile()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/counting_server.c");
    let answer = "char answer = (char)requests;";
    let checked = format!("if (wish == '?' && requests != 2) abort(); {answer}");
    let text = fs::read_to_string(source)?.replace(answer, &checked);
    program.workspace.write("checked.c", &text)?;
    let build = ["cc", "-g", "checked.c", "-o", "prog", "-pthread"];
    program.workspace.unsnarl(&build)?.exits(0)?;
    record(&program, &["-n", "40", "--driver", "./client"], &[])?.exits(1)?;
    let run = failing(&program, true)?;
    let replay = ["replay", &run, "-n", "2"];
    let said = program.workspace.unsnarl(&replay)?.exits(0)?;
    said.says(&["the same run 2 of 2 times: failed"])?;
    Ok(())
}

/// A client for the shell: it waits so long before it connects, and between its two messages.
fn client(pauses: [&str; 2]) -> String {
    let [first, second] = pauses;
    format!(
        "bash -c 'sleep {first}; exec 3<>/dev/tcp/127.0.0.1/$(cat port.txt); printf 123 >&3; sleep {second}; printf 4 >&3'"
    )
}

/// A request that comes sooner or later than in the recorded run is seen at the step at which it was seen then.
#[test]
fn the_pace_of_a_driver_makes_no_other_run() -> Result<()> {
    let program = Modes::compile("eager_server.c", TestedCompiler::Gcc, &[])?;
    let paces = [["0.05", "0.08"], ["0", "0"], ["0.2", "0.01"]].map(client);
    for words in [&[][..], &["asks"]] {
        for pace in &paces {
            let options = ["-n", "1", "--driver", pace];
            record(&program, &options, words)?
                .exits(0)?
                .says(&["1 passed"])?;
        }
        for name in program.workspace.runs()? {
            for pace in &paces {
                let run = program.workspace.run_path(&name);
                let words = ["replay", &run, "--driver", pace];
                let said = program.workspace.unsnarl(&words)?.exits(0)?;
                let text = format!("{said}");
                ensure!(!text.contains("with other steps"), "{said}");
            }
        }
        program.forget()?;
    }
    Ok(())
}
