//! Programs and their surroundings: descriptors, folders, rights, limits, address randomization, other tools around
//! the program.

use super::modes::Modes;
use anyhow::Result;
use std::{
    fs,
    path::{Path, PathBuf},
};
use unsnarl_e2e::{Finished, TestedCompiler};

const SOURCE: &str = "surroundings.c";
/// Exit status of a program that lacks the permission for what it is asked to do.
const NOT_ALLOWED: i32 = 77;

fn check(compiler: TestedCompiler, modes: &[&str]) -> Result<()> {
    let program = Modes::compile(SOURCE, compiler, &[])?;
    for mode in modes {
        match program.plain(mode)?.status {
            Some(NOT_ALLOWED) => println!("skipped: this user may not do `{mode}`"),
            _ => drop(program.passes(mode)?),
        }
    }
    Ok(())
}

#[test]
fn descriptors_are_closed_and_taken_over() -> Result<()> {
    let modes = [
        "close_from",
        "close_a_range",
        "close_unshared",
        "close_one_by_one",
        "put_others_over_all",
        "close_output",
        "ignore_broken_pipes",
    ];
    check(TestedCompiler::Gcc, &modes)?;
    check(TestedCompiler::Clang, &modes)
}

#[test]
fn folders_and_rights_are_left() -> Result<()> {
    let modes = [
        "go_elsewhere",
        "remove_own_folder",
        "change_root",
        "become_nobody",
        "become_nobody_for_good",
        "forbid_dumps",
        "forbid_privileges",
        "filter_calls",
        "leave_session",
        "forbid_all_files",
        "clear_environment",
    ];
    check(TestedCompiler::Gcc, &modes)
}

#[test]
fn what_the_kernel_is_asked_about_the_program_itself() -> Result<()> {
    let modes = [
        "ask_about_itself",
        "count_processors",
        "wait_by_the_clock_of_c11",
        "tell_a_race_detector",
    ];
    check(TestedCompiler::Gcc, &modes)?;
    check(TestedCompiler::Clang, &modes)
}

#[test]
fn limits_are_reached() -> Result<()> {
    let modes = [
        "few_descriptors",
        "small_stack",
        "no_locked_memory",
        "little_memory",
        "small_files",
    ];
    check(TestedCompiler::Gcc, &modes)
}

#[test]
fn a_broken_pipe_ends_the_program() -> Result<()> {
    let program = Modes::compile(SOURCE, TestedCompiler::Gcc, &[])?;
    program.record("break_pipe", "random", "3")?.exits(1)?;
    let explained = program.workspace.unsnarl(&["explain"])?;
    explained.says(&["broken pipe"])?;
    Ok(())
}

/// Records under a limit of the shell's, which applies to the recorder, too.
fn record_within(program: &Modes, limit: &str) -> Result<Finished> {
    let unsnarl = unsnarl_e2e::binary::unsnarl()?.to_string_lossy();
    let script = format!("{limit} && exec \"$0\" record -n 3 --seed 3 -- ./prog nothing");
    program.workspace.run("sh", &["-c", &script, &unsnarl])
}

#[test]
fn limits_from_outside() -> Result<()> {
    let program = Modes::compile(SOURCE, TestedCompiler::Gcc, &[])?;
    for limit in [
        "ulimit -s unlimited",
        "ulimit -s 512",
        "ulimit -n 24",
        "ulimit -c 0",
        "umask 0777",
    ] {
        let finished = record_within(&program, limit)?;
        // Another user than root cannot read what it has made so.
        if limit == "umask 0777" && finished.status == Some(2) {
            finished.says(&["next:"])?;
            continue;
        }
        finished.exits(0)?;
        program.forget()?;
    }
    // Too little for the log: the reason and what helps.
    for limit in ["ulimit -v 200000", "ulimit -f 4096"] {
        let finished = record_within(&program, limit)?.exits(2)?;
        finished.says(&["log in memory", "next:", "--max-events", "ulimit"])?;
    }
    Ok(())
}

/// The kernel's address randomization; restored when this is dropped.
struct Randomness {
    file: PathBuf,
    before: String,
}

impl Randomness {
    /// Sets it; `None` if this user may not change it.
    fn set(name: &str, bits: &str) -> Option<Randomness> {
        let file = Path::new("/proc/sys/vm").join(name);
        let before = fs::read_to_string(&file).ok()?;
        fs::write(&file, bits).ok()?;
        Some(Randomness { file, before })
    }
}

impl Drop for Randomness {
    fn drop(&mut self) {
        if let Err(error) = fs::write(&self.file, &self.before) {
            println!("{} could not be put back: {error}", self.file.display());
        }
    }
}

#[test]
fn addresses_may_lie_anywhere() -> Result<()> {
    for options in [&["-pie", "-fPIE"][..], &["-no-pie", "-fno-pie"]] {
        let program = Modes::compile(SOURCE, TestedCompiler::Gcc, options)?;
        let most = Randomness::set("mmap_rnd_bits", "32");
        if most.is_none() {
            println!("skipped: vm.mmap_rnd_bits cannot be set here");
        }
        program.passes("nothing")?;
        drop(most);
        program.passes("nothing")?;
        let unsnarl = unsnarl_e2e::binary::unsnarl()?.to_string_lossy();
        let words = [
            "-R", &unsnarl, "record", "-n", "3", "--", "./prog", "nothing",
        ];
        let fixed = program.workspace.run("setarch", &words)?;
        fixed.exits(0)?;
        program.repeats()?.exits(0)?;
    }
    Ok(())
}

/// Memory checkers instrument the program their own way; the program still runs, and parts that cannot be recorded
/// are reported.
#[test]
fn under_valgrind() -> Result<()> {
    let program = Modes::compile(SOURCE, TestedCompiler::Gcc, &[])?;
    let words = ["-q", "--error-exitcode=9", "./prog", "nothing"];
    let alone = program.workspace.run("valgrind", &words);
    let Ok(alone) = alone else {
        println!("skipped: no valgrind here");
        return Ok(());
    };
    alone.exits(0)?;
    let words = [
        "record", "-n", "2", "--", "valgrind", "-q", "./prog", "nothing",
    ];
    let recorded = program.workspace.unsnarl(&words)?.exits(0)?;
    recorded.says(&["which valgrind starts", "2 passed"])?;
    Ok(())
}
