//! Ends of a process while its other threads run, and what its child processes mean for it.

use super::modes::Modes;
use anyhow::{Result, ensure};
use unsnarl_e2e::TestedCompiler;

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
