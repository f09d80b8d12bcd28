//! The command that runs every check and every test.

use crate::{
    gate, miri,
    setup::{self, MissingTool, Scope},
    shell::{self, cargo, run as shell_run},
};
use anyhow::{Result, bail};
use std::process::Command;

/// Set-up, checks, tests. The last lines are the test runner's summary.
pub fn run(answer: MissingTool) -> Result<()> {
    setup::run(Scope::Tests, answer)?;
    checks()?;
    setup::vscode::package_extension()?;
    shell_run(cargo(&["build", "--workspace", "--all-targets"]))?;
    shell_run(with_tools(cargo(&["test", "--workspace", "--doc"]))?)?;
    miri::run()?;
    shell_run(with_tools(runner(TestExtent::Everything))?)
}

/// The checks, and the tests that need neither recorded programs nor editors. Needs the tools of the demo only.
pub fn quick(answer: MissingTool) -> Result<()> {
    setup::run(Scope::Demo, answer)?;
    checks()?;
    shell_run(with_tools(runner(TestExtent::Quick))?)
}

/// Format, lints, the gate and the generated files.
fn checks() -> Result<()> {
    shell_run(cargo(&["fmt", "--all", "--check"]))?;
    shell_run(cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    // What the runtime defines for the program is compiled only for it.
    shell_run(cargo(&[
        "clippy",
        "--package",
        "unsnarl-runtime",
        "--features",
        "interpose",
        "--",
        "-D",
        "warnings",
    ]))?;
    gate::run()?;
    codegen(true)
}

/// The set of tests to run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TestExtent {
    Everything,
    /// Those of the profile `quick` in `.config/nextest.toml`.
    Quick,
}

/// The test runner. All packages are built in either case: with fewer of them cargo unites fewer features, and builds
/// the dependencies again.
fn runner(extent: TestExtent) -> Command {
    let nextest = shell::succeeds(cargo(&["nextest", "--version"]));
    let arguments: &[&str] = match (nextest, extent) {
        (true, TestExtent::Everything) => &["nextest", "run", "--workspace", "--no-fail-fast"],
        (true, TestExtent::Quick) => &[
            "nextest",
            "run",
            "--workspace",
            "--no-fail-fast",
            "--profile",
            "quick",
        ],
        (false, TestExtent::Everything) => {
            &["test", "--workspace", "--all-targets", "--no-fail-fast"]
        }
        // Without nextest there is no filter by test program: unit tests only.
        (false, TestExtent::Quick) => &["test", "--workspace", "--lib", "--no-fail-fast"],
    };
    cargo(arguments)
}

/// Random tests draw the same cases in every run, so that a change is judged by itself. A run with another
/// seed looks for what nobody has found yet.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Tells the tests where the set-up put what they need.
fn with_tools(mut command: Command) -> Result<Command> {
    if std::env::var_os(SEED).is_none() {
        command.env(SEED, "1");
    }
    command
        .env("UNSNARL_BINARY", shell::target()?.join("debug/unsnarl"))
        .env("UNSNARL_TEST_NVIM", setup::neovim()?)
        .env("UNSNARL_TEST_VSCODE", setup::vscode::folder()?)
        .env("UNSNARL_TEST_PYTHON", setup::python()?);
    Ok(command)
}

/// Writes what is made from declarations, or says what is out of date.
pub fn codegen(check: bool) -> Result<()> {
    let mut generator = cargo(&[
        "run",
        "--quiet",
        "--package",
        "xtask",
        "--example",
        "codegen",
        "--",
    ]);
    if check {
        generator.arg("--check");
    }
    match shell_run(with_tools(generator)?) {
        Err(_) if check => bail!("generated files are out of date: run `cargo xtask codegen`"),
        other => other,
    }
}
