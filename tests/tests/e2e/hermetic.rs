//! Answers of the outside world, which decide how a program goes on: a replay gets the recorded ones, whatever has
//! happened meanwhile.

use super::modes::Modes;
use anyhow::{Result, ensure};
use std::fs;
use unsnarl_e2e::{Finished, TestedCompiler};

const SOURCE: &str = "hermetic.c";
const THING: &str = "thing";

/// Records a run, lets `change` do something to the folder, and repeats it.
fn repeat_after(
    program: &Modes,
    mode: &str,
    change: impl FnOnce(&Modes) -> Result<()>,
) -> Result<Finished> {
    program.workspace.write(THING, "some text of it\n")?;
    program.record(mode, "random", "1")?.exits(0)?;
    change(program)?;
    let said = program.repeats()?.exits(0)?;
    program.forget()?;
    Ok(said)
}

/// Checks that no remark about the input is printed.
fn is_silent(said: Finished) -> Result<()> {
    ensure!(!format!("{said}").contains("other input"), "{said}");
    Ok(())
}

fn nothing(_: &Modes) -> Result<()> {
    Ok(())
}

/// Replaces a file by another of this name, with other inode, times and size.
fn replace(program: &Modes) -> Result<()> {
    fs::remove_file(program.workspace.path().join(THING))?;
    program
        .workspace
        .write(THING, "and another text, longer than before\n")?;
    Ok(())
}

/// Changes the times only.
fn touch(program: &Modes) -> Result<()> {
    program.workspace.write(THING, "some text of it\n")?;
    Ok(())
}

#[test]
fn random_streams_are_drawn_from_the_seed() -> Result<()> {
    let program = Modes::compile(SOURCE, TestedCompiler::Gcc, &[])?;
    for mode in ["stream_of_random", "unbuffered_random", "random_calls"] {
        repeat_after(&program, mode, nothing).and_then(is_silent)?;
    }
    Ok(())
}

#[test]
fn files_have_the_recorded_status() -> Result<()> {
    let program = Modes::compile(SOURCE, TestedCompiler::Gcc, &[])?;
    for mode in ["by_path", "by_descriptor", "by_folder", "size_by_seeking"] {
        repeat_after(&program, mode, replace)?.says(&["other input", "hermetic.c:"])?;
        repeat_after(&program, mode, touch).and_then(is_silent)?;
    }
    let said = repeat_after(&program, "by_path", replace)?;
    said.says(&["status of a file", "16 bytes", "37 bytes"])?;
    let remove = |program: &Modes| Ok(fs::remove_file(program.workspace.path().join(THING))?);
    repeat_after(&program, "existence", remove)?.says(&["other input", "No such file"])?;
    Ok(())
}

#[test]
fn sockets_have_the_recorded_ports() -> Result<()> {
    let program = Modes::compile(SOURCE, TestedCompiler::Gcc, &[])?;
    for mode in ["own_port", "datagrams"] {
        repeat_after(&program, mode, nothing).and_then(is_silent)?;
    }
    Ok(())
}

#[test]
fn what_was_used_of_the_machine_is_the_same() -> Result<()> {
    let program = Modes::compile(SOURCE, TestedCompiler::Gcc, &[])?;
    for mode in ["time_used", "machine"] {
        repeat_after(&program, mode, nothing).and_then(is_silent)?;
    }
    Ok(())
}
