//! The command that runs every check and every test.

use crate::{
    book, deny, gate, miri,
    setup::{self, MissingTool, Scope},
    shell::{self, cargo, command, run as shell_run},
};
use anyhow::{Result, bail};
use std::{
    path::Path,
    process::Command,
    thread::{self, ScopedJoinHandle},
};

/// Set-up, checks, tests. The last lines are the test runner's summary.
pub fn run(extent: TestExtent, answer: MissingTool) -> Result<()> {
    if extent == TestExtent::Quick {
        setup::run(Scope::Demo, answer)?;
        checks()?;
        generate(true)?;
        return shell_run(with_tools(runner(extent)?, extent)?);
    }
    set_up_and_build(answer)?;
    checks()?;
    deny::run()?;
    book::run()?;
    setup::vscode::package_extension()?;
    generate(true)?;
    let documentation = linted(&["test", "--workspace", "--doc"])?;
    shell_run(with_tools(documentation, extent)?)?;
    let tests = with_tools(runner(extent)?, extent)?;
    // Miri executes in one thread and takes longer than most tests, which come to the other cores meanwhile.
    thread::scope(|scope| {
        let miri = scope.spawn(miri::run);
        let tested = shell_run(tests);
        tested.and(finished(miri))
    })
}

/// Set-up for all tests, and the build with its lints. What is installed waits for servers and disks and is of no use to the
/// compiler, so both happen at a time, unless somebody has to be asked or the lints are among what is missing.
fn set_up_and_build(answer: MissingTool) -> Result<()> {
    let build = linted(&BUILD).ok().filter(|_| answer == MissingTool::Yes);
    let Some(build) = build else {
        return setup::run(Scope::Tests, answer);
    };
    thread::scope(|scope| {
        let built = scope.spawn(|| shell_run(build));
        let set_up = setup::run(Scope::Tests, answer);
        set_up.and(finished(built))
    })
}

/// The result of a command that ran beside others.
fn finished(command: ScopedJoinHandle<'_, Result<()>>) -> Result<()> {
    let result = command.join();
    result.unwrap_or_else(|_| bail!("a command's thread panicked"))
}

/// Format, the build with its lints, and the gate.
fn checks() -> Result<()> {
    shell_run(cargo(&["fmt", "--all", "--check"]))?;
    shell_run(linted(&BUILD)?)?;
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
    gate::run()
}

/// The command that builds all that the tests take. For one package alone cargo would unite fewer features, and build half of the crates
/// again.
const BUILD: [&str; 3] = ["build", "--workspace", "--all-targets"];

/// Cargo with clippy in the place of the compiler: one build lints our crates and is what the tests use, where `cargo clippy`
/// would check all of them, and all that they depend on, a second time.
fn linted(arguments: &[&str]) -> Result<Command> {
    let sysroot = shell::output(command("rustc", &["--print", "sysroot"]))?;
    let clippy = Path::new(sysroot.trim()).join("bin/clippy-driver");
    if !clippy.is_file() {
        bail!("clippy is missing: run `rustup component add clippy`");
    }
    let mut cargo = cargo(arguments);
    // As `cargo clippy` hands them over: each argument ends with this word.
    cargo.env("RUSTC_WORKSPACE_WRAPPER", clippy).env(
        "CLIPPY_ARGS",
        "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
    );
    Ok(cargo)
}

/// The set of tests to run, by a profile of its name in `.config/nextest.toml`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TestExtent {
    /// Those that neither record whole programs nor start editors, with the tools of the demo only.
    Quick,
    /// All tests, each program in one of its builds.
    Default,
    /// All tests, each program in all of its builds.
    Matrix,
}

impl TestExtent {
    /// The extent that the flags of the command ask for.
    pub fn from_flags(quick: bool, matrix: bool) -> TestExtent {
        match (quick, matrix) {
            (true, _) => TestExtent::Quick,
            (false, true) => TestExtent::Matrix,
            (false, false) => TestExtent::Default,
        }
    }

    /// The profile of the test runner.
    fn profile(self) -> &'static str {
        match self {
            TestExtent::Quick => "quick",
            TestExtent::Default => "default",
            TestExtent::Matrix => "matrix",
        }
    }
}

/// The test runner. All packages are built in either case: with fewer of them cargo unites fewer features, and builds
/// the dependencies again.
fn runner(extent: TestExtent) -> Result<Command> {
    if shell::succeeds(cargo(&["nextest", "--version"])) {
        let run = ["nextest", "run", "--workspace", "--no-fail-fast"];
        return linted(&[&run[..], &["--profile", extent.profile()]].concat());
    }
    // Without nextest there is no filter by test program.
    let targets = match extent {
        TestExtent::Quick => "--lib",
        TestExtent::Default | TestExtent::Matrix => "--all-targets",
    };
    linted(&["test", "--workspace", targets, "--no-fail-fast"])
}

/// Random tests draw the same cases in every run, so that a change is judged by itself. A run with another
/// seed looks for what nobody has found yet.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Number of cases of each random test. Where nobody has asked for a number, those of the tests themselves are drawn with
/// the whole matrix only.
const CASES: &str = "PROPTEST_CASES";

/// The number of cases in the other extents.
const FEW_CASES: &str = "32";

/// Tells the tests where the set-up put what they need, and how much to draw.
fn with_tools(mut command: Command, extent: TestExtent) -> Result<Command> {
    if std::env::var_os(SEED).is_none() {
        command.env(SEED, "1");
    }
    if extent != TestExtent::Matrix && std::env::var_os(CASES).is_none() {
        command.env(CASES, FEW_CASES);
    }
    command
        .env("UNSNARL_BINARY", shell::target()?.join("debug/unsnarl"))
        .env("UNSNARL_TEST_NVIM", setup::neovim()?)
        .env("UNSNARL_TEST_VSCODE", setup::vscode::folder()?)
        .env("UNSNARL_TEST_PYTHON", setup::python()?);
    Ok(command)
}

/// Builds the workspace and writes what is made from declarations, or says what is out of date.
pub fn codegen(check: bool) -> Result<()> {
    shell_run(cargo(&BUILD))?;
    generate(check)
}

/// As [`codegen`], for what is built already.
fn generate(check: bool) -> Result<()> {
    let program = shell::target()?.join("debug/examples/codegen");
    let arguments: &[&str] = if check { &["--check"] } else { &[] };
    let generator = command(program, arguments);
    match shell_run(with_tools(generator, TestExtent::Default)?) {
        Err(_) if check => bail!("generated files are out of date: run `cargo xtask codegen`"),
        other => other,
    }
}
