//! Programs of the size that people work on (`tests/real`), each with a build system of its own: as
//! they are they never fail, and the bug that each of them can be built with is found and explained.

use anyhow::{Context, Result, ensure};
use std::{fs, path::Path};
use unsnarl_core::Budget;
use unsnarl_e2e::{Expectation, Workspace, project};
use unsnarl_symbolic::walk;
use unsnarl_trace::{program, read_run};

/// Runs that a correct program has to pass.
const RUNS: &str = "200";

/// A program under `tests/real`.
struct RealProgram {
    name: &'static str,
    /// The file with the bug, which also says what has to be explained.
    buggy: &'static str,
    /// The program with its arguments, in the folder that it was built in.
    command: &'static [&'static str],
    /// Builds it in the folder of that name, with the bug or without.
    build: fn(&Workspace, &str, bool) -> Result<()>,
}

impl RealProgram {
    /// Prepares a working folder of its own, with the files that the program works on.
    fn prepare(&self) -> Result<Workspace> {
        let workspace = Workspace::new()?;
        workspace.copy(&project().join("tests/real").join(self.name), "source")?;
        let text = "to be or not to be, that is the question; ".repeat(15);
        workspace.write("input/text", &text)?;
        workspace.write("input/tree/a.txt", "one\nthe Needle is here\n")?;
        workspace.write("input/tree/b.txt", "needle\n")?;
        workspace.write("input/tree/c.o", "not looked at: needle\n")?;
        Ok(workspace)
    }

    fn record(&self, workspace: &Workspace, built: &str, options: &[&str]) -> Result<i32> {
        let program = format!("{built}/{}", self.command.first().context("a program")?);
        let arguments = self.command.get(1..).unwrap_or_default();
        let start = ["record", "--seed", "1", "--keep-passing", "40"];
        let words = [&start, options, &["--", &program], arguments].concat();
        let finished = workspace.unsnarl(&words)?;
        finished
            .status
            .with_context(|| format!("no exit status:\n{finished}"))
            .and_then(|status| {
                ensure!(status < 2, "{finished}");
                Ok(status)
            })
    }

    fn never_fails(&self) -> Result<()> {
        let workspace = self.prepare()?;
        (self.build)(&workspace, "good", false)?;
        let status = self.record(&workspace, "good", &["-n", RUNS])?;
        ensure!(
            status == 0,
            "{} fails: {}",
            self.name,
            explained(&workspace)?
        );
        Ok(())
    }

    fn bug_is_explained(&self) -> Result<()> {
        let workspace = self.prepare()?;
        (self.build)(&workspace, "bad", true)?;
        let status = self.record(&workspace, "bad", &["-n", "1000", "--until-failing", "3"])?;
        ensure!(status == 1, "the bug in {} was not found", self.name);
        let source = fs::read_to_string(workspace.path().join("source").join(self.buggy))?;
        let expectation = Expectation::parse(&source, &source)?;
        let (finished, explanations) = workspace.explain()?;
        finished.exits(1)?;
        let best = explanations.first().context("no explanation")?;
        expectation
            .check(best, Path::new(self.buggy))
            .with_context(|| explained(&workspace).unwrap_or_default())?;
        no_thread_is_lost(&workspace)
    }
}

/// Checks that each thread of the failing runs is followed to its end, libraries included.
fn no_thread_is_lost(workspace: &Workspace) -> Result<()> {
    for name in workspace.runs_that("failed")? {
        let file = workspace.path().join(workspace.run_path(&name));
        let run = read_run(&file)?;
        let models = program::load(
            file.parent().context("a run has a folder")?,
            &run.meta.build_id,
        )?;
        let walked = walk(&run, &models, &Budget::unlimited());
        let (some, all) = walked.followed;
        ensure!(
            some == all,
            "{some} of {all} threads of {name}: {:#?}",
            walked.trace.gaps
        );
    }
    Ok(())
}

fn explained(workspace: &Workspace) -> Result<String> {
    Ok(workspace.unsnarl(&["explain"])?.to_string())
}

const PACKER: RealProgram = RealProgram {
    name: "packer",
    buggy: "src/pipeline.c",
    command: &["packer", "-b", "64", "input/text", "output"],
    build: configure_and_make,
};

const SCANNER: RealProgram = RealProgram {
    name: "scanner",
    buggy: "src/matcher.cpp",
    command: &[
        "scanner",
        "-j",
        "2",
        "-i",
        "*.o",
        "--expect",
        "2",
        "needle",
        "input/tree",
    ],
    build: cmake,
};

const KVD: RealProgram = RealProgram {
    name: "kvd",
    buggy: "src/session.c",
    command: &["kvtest"],
    build: meson_and_ninja,
};

fn configure_and_make(workspace: &Workspace, to: &str, bug: bool) -> Result<()> {
    let enable = if bug {
        "--enable-seeded-bug"
    } else {
        "--disable-seeded-bug"
    };
    let script = format!(
        "cd source && autoconf && autoheader && mkdir ../{to} && cd ../{to} && ../source/configure {enable} && make"
    );
    workspace.build("sh", &["-c", &script])?.exits(0)?;
    Ok(())
}

fn cmake(workspace: &Workspace, to: &str, bug: bool) -> Result<()> {
    let bug = if bug {
        "-DSEEDED_BUG=ON"
    } else {
        "-DSEEDED_BUG=OFF"
    };
    let options = [
        "-G",
        "Ninja",
        "-S",
        "source",
        "-B",
        to,
        bug,
        "-DCMAKE_CXX_FLAGS=-O2",
    ];
    workspace.build("cmake", &options)?.exits(0)?;
    workspace.build("cmake", &["--build", to])?.exits(0)?;
    let commands = fs::read_to_string(workspace.path().join(to).join("compile_commands.json"))?;
    ensure!(commands.contains("c++"), "{commands}");
    Ok(())
}

fn meson_and_ninja(workspace: &Workspace, to: &str, bug: bool) -> Result<()> {
    let bug = format!("-Dseeded_bug={bug}");
    workspace
        .build("meson", &["setup", to, "source", &bug])?
        .exits(0)?;
    workspace.build("ninja", &["-C", to])?.exits(0)?;
    Ok(())
}

#[test]
fn a_compressor_built_with_autoconf_never_fails() -> Result<()> {
    PACKER.never_fails()
}

#[test]
fn the_bug_in_the_compressor_is_explained() -> Result<()> {
    PACKER.bug_is_explained()
}

#[test]
fn a_scanner_built_with_cmake_never_fails() -> Result<()> {
    SCANNER.never_fails()
}

#[test]
fn the_bug_in_the_scanner_is_explained() -> Result<()> {
    SCANNER.bug_is_explained()
}

#[test]
fn a_server_built_with_meson_never_fails() -> Result<()> {
    KVD.never_fails()
}

#[test]
fn the_bug_in_the_server_is_explained() -> Result<()> {
    KVD.bug_is_explained()
}
