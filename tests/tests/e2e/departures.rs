//! The end of the process is a step like any other: what other threads would still do may come before it.

use super::modes::Modes;
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use unsnarl_e2e::{Finished, TestedCompiler};
use unsnarl_trace::read_run;

const WAYS: [&str; 8] = [
    "return",
    "detached",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "system_call",
    "missing_exec",
];

fn record(program: &Modes, options: &[&str], words: &[&str]) -> Result<Finished> {
    let start = ["record", "--seed", "3", "--timeout", "20"];
    let words = [&start[..], options, &["--", "./prog"], words].concat();
    program.workspace.unsnarl(&words)
}

#[test]
fn a_thread_that_nobody_waits_for_fails_before_the_process_ends() -> Result<()> {
    let program = Modes::compile("departures.c", TestedCompiler::Gcc, &[])?;
    for how in WAYS {
        let said = record(&program, &["-n", "100"], &[how])?;
        said.exits(1)?.says(&["passed", "failed"])?;
        program.forget()?;
        record(&program, &["--strategy", "sequential", "-n", "1"], &[how])?.exits(1)?;
        let said = program.repeats()?;
        ensure!(said.stdout.contains("5 of 5"), "{how}: {said}");
        program.forget()?;
    }
    Ok(())
}

/// Another thread may fail before a thread that is about to fail.
#[test]
fn what_others_do_may_come_before_a_failure() -> Result<()> {
    let program = Modes::compile("departures.c", TestedCompiler::Gcc, &[])?;
    for (how, own) in [
        ("assert_beside", "!\"the program fails\""),
        ("abort_beside", "abort was called"),
    ] {
        record(&program, &["-n", "60"], &[how])?.exits(1)?;
        let mut failures = BTreeSet::new();
        for name in program.workspace.runs_that("failed")? {
            let run = read_run(
                &program
                    .workspace
                    .path()
                    .join(program.workspace.run_path(&name)),
            )?;
            failures.extend(run.meta.failure.map(|failure| failure.message));
        }
        let has = |text: &str| failures.iter().any(|message| message.contains(text));
        ensure!(has(own) && has("the thread fails"), "{how}: {failures:?}");
        let said = program.repeats()?;
        ensure!(said.stdout.contains("5 of 5"), "{how}: {said}");
        program.forget()?;
    }
    Ok(())
}

#[test]
fn the_search_sees_what_comes_before_the_end() -> Result<()> {
    let program = Modes::compile("departures.c", TestedCompiler::Gcc, &[])?;
    let search = ["--strategy", "exhaustive:0"];
    let said = record(&program, &search, &["return"])?.exits(1)?;
    ensure!(!said.stderr.contains("the process ends while"), "{said}");
    // The thread's table is gone.
    let said = record(&program, &search, &["handler"])?.exits(1)?;
    said.says(&["failed"])?;
    Ok(())
}

#[test]
fn threads_that_need_not_end_do_no_harm() -> Result<()> {
    let program = Modes::compile("departures.c", TestedCompiler::Gcc, &[])?;
    for what in ["beats", "waits", "spins", "ends"] {
        // PCT would never leave a thread that computes for ever.
        let runs = ["--strategy", "random:4", "-n", "24"];
        record(&program, &runs, &["return", what])?.exits(0)?;
        let said = record(&program, &["--strategy", "exhaustive:1"], &["return", what])?;
        let said = said.exits(0)?;
        let is_cut_off = said
            .stderr
            .contains("the process ends while other threads go on");
        let claims_all = said.stderr.contains("no other order");
        let goes_on = ["beats", "spins"].contains(&what);
        ensure!(
            is_cut_off == goes_on && !(claims_all && goes_on),
            "{what}: {said}"
        );
        program.forget()?;
    }
    Ok(())
}
