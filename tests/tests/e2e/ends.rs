//! Ends of a process while its other threads run, and what its child processes mean for it.

use super::modes::Modes;
use anyhow::{Context, Result, ensure};
use unsnarl_e2e::TestedCompiler;
use unsnarl_trace::{EventKind, ThreadId, read_run};

const COMPILERS: [TestedCompiler; 2] = [TestedCompiler::Gcc, TestedCompiler::Clang];

#[test]
fn destructors_and_the_rest_of_the_end() -> Result<()> {
    for compiler in COMPILERS {
        let program = Modes::compile("ends.cpp", compiler, &[])?;
        for how in ["return", "exit", "other_thread"] {
            program.passes(how)?;
        }
        for how in [
            "pthread_exit",
            "quick_exit",
            "_exit",
            "_Exit",
            "joins_at_end",
        ] {
            let said = program.passes(how)?;
            ensure!(
                !said.stderr.contains("warning"),
                "{compiler:?} {how}: {said}"
            );
        }
    }
    Ok(())
}

/// Not the last step of the thread that goes on, and none of the handlers of the end.
#[test]
fn a_program_fails_where_a_thread_ends_it() -> Result<()> {
    for compiler in COMPILERS {
        let program = Modes::compile("gives_up.c", compiler, &["-O1"])?;
        for how in ["exit", "_exit", "quick_exit"] {
            program.record(how, "random", "8")?.exits(1)?;
            for name in program.workspace.runs_that("failed")? {
                let path = program.workspace.run_path(&name);
                let run = read_run(&program.workspace.path().join(path))?;
                let failure = run.meta.failure.clone().context("no failure")?;
                let site = run.meta.site(failure.site.context("no place")?);
                ensure!(site.text.ends_with("// gives up"), "{how}: {site:?}");
                let thread = failure.thread.context("no thread")?;
                ensure!(thread == ThreadId(2), "{how}: {thread:?}");
                let last = run.events.event(failure.event.context("no step")?);
                let at = run.meta.site(last.site);
                ensure!(last.thread == thread && last.kind == EventKind::Read);
                ensure!(at.text.contains("strcmp(how"), "{how}: {at:?}");
            }
            program.forget()?;
        }
    }
    Ok(())
}

#[test]
fn who_goes_on_in_a_child_is_told_so() -> Result<()> {
    let program = Modes::compile("children.c", TestedCompiler::Gcc, &[])?;
    let said = program.record("background", "random", "2")?.exits(0)?;
    said.says(&["child process", "went on", "foreground"])?;
    Ok(())
}

#[test]
fn children_end_as_they_like() -> Result<()> {
    for compiler in COMPILERS {
        let program = Modes::compile("children.c", compiler, &[])?;
        for how in [
            "_exit", "exit", "_Fork", "exec", "threads", "abort", "assert", "fault", "vfork",
            "spawn", "spawnp", "shell",
        ] {
            program
                .passes(how)?
                .says(&["child processes", "not recorded"])?;
        }
    }
    Ok(())
}
