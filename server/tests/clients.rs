//! The server under clients that are not ours: eglot in Emacs, and pytest-lsp with the capabilities of real editors.
//!
//! Their scripts are in `tests/clients`. This program makes the workspace and starts each client, which starts this
//! program again, with the argument `lsp`, as the language server. `cargo xtask setup` installs both clients; Emacs is left
//! out, with a message, where the distribution does not offer it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "support/bank.rs"]
#[allow(dead_code, reason = "shared with tests that use the rest")]
mod bank;

use bank::BankWorkspace;
use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|other| other == word);
    match words.first().map(String::as_str) {
        Some("lsp") => {
            return unsnarl_server::serve_stdio(unsnarl_server::Setup::default()).unwrap();
        }
        // Test runners ask for the names of the tests first, and whether some are to be left out.
        _ if has("--list") && has("--ignored") => {}
        _ if has("--list") => println!("eglot: test\ntyped: test"),
        _ if has("typed") => typed(),
        _ if has("eglot") => eglot(),
        _ => {
            typed();
            eglot();
        }
    }
    ExitCode::SUCCESS
}

fn typed() {
    let mut command = Command::new(python());
    command.arg(script("typed.py"));
    drive(command);
}

fn eglot() {
    let works = Command::new("emacs")
        .args(["--batch", "--eval", "(require 'eglot)"])
        .output();
    if !works.is_ok_and(|output| output.status.success()) {
        return eprintln!("no Emacs with eglot is installed: it is left out");
    }
    let mut command = Command::new("emacs");
    command.args(["--batch", "--load"]);
    command.arg(script("eglot.el"));
    drive(command);
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients")
        .join(name)
}

/// Runs a client, to which the server and the workspace are told, to its end.
fn drive(mut command: Command) {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    let output = command
        .arg(env::current_exe().unwrap())
        .arg(workspace.path())
        .current_dir(workspace.path())
        .env("HOME", workspace.path())
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let [said, complained] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    print!("{said}");
    assert!(output.status.success(), "{said}\n{complained}");
}

/// Python with pytest-lsp.
fn python() -> PathBuf {
    let named = env::var_os("UNSNARL_TEST_PYTHON").map(PathBuf::from);
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let installed = cache.map(|cache| cache.join("unsnarl/tools/bin/python"));
    let python = named.or(installed).filter(|python| python.exists());
    python.unwrap_or_else(|| panic!("run `cargo xtask setup` first: it installs pytest-lsp"))
}
