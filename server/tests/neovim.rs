//! The plugin in a real Neovim, headless.
//!
//! The checks are Lua, in `editors/neovim/tests`. This program makes the workspace and starts Neovim,
//! which starts this program again, with the argument `lsp`, as the language server: so the test needs no
//! binary of another crate. Neovim is the one that a variable names, the one on the `PATH`, or the one that
//! the project's set-up installs. With the argument `latency` only the time from a landing run to its
//! diagnostics is measured.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "support/bank.rs"]
#[allow(dead_code, reason = "shared with tests that use the rest")]
mod bank;

use bank::BankWorkspace;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Output, Stdio},
};

/// Variables that name Neovim: one set by the project's set-up, one for a person.
const VARIABLES: [&str; 2] = ["UNSNARL_TEST_NVIM", "UNSNARL_NVIM"];

const NONE_FOUND: &str = "no Neovim 0.11 or newer was found: `cargo xtask setup` installs one, or name one in the \
                          environment variable UNSNARL_NVIM";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|other| other == word);
    match words.first().map(String::as_str) {
        Some("lsp") => {
            return unsnarl_server::serve_stdio(unsnarl_server::Setup::default()).unwrap();
        }
        Some("--version") => println!("the server under test"),
        // Only the figure, for benchmarks.
        Some("latency") => return finish(&[with_neovim(latency)]),
        // Test runners ask for the names of the tests first, and whether some are to be left out.
        _ if has("--list") && has("--ignored") => {}
        _ if has("--list") => println!("neovim: test"),
        _ => {
            return finish(&[
                with_neovim(|nvim| drive(nvim, "spec.lua", Installed::Folder)),
                with_neovim(|nvim| drive(nvim, "person.lua", Installed::Clone)),
                with_neovim(latency),
            ]);
        }
    }
    ExitCode::SUCCESS
}

fn with_neovim(run: impl FnOnce(&Path) -> Output) -> Option<Output> {
    find().map(|nvim| run(&nvim))
}

/// Prints the output of failed parts.
fn finish(parts: &[Option<Output>]) -> ExitCode {
    for part in parts {
        match part {
            None => eprintln!("{NONE_FOUND}"),
            Some(output) if output.status.success() => continue,
            Some(output) => {
                print!("{}", String::from_utf8_lossy(&output.stdout));
                eprint!("{}", String::from_utf8_lossy(&output.stderr));
            }
        }
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn latency(nvim: &Path) -> Output {
    let output = drive(nvim, "latency.lua", Installed::Folder);
    report_latency(&output);
    output
}

/// The way in which the plugin is installed.
enum Installed {
    /// By its folder.
    Folder,
    /// By the repository, as plugin managers do it.
    Clone,
}

/// Runs one Lua file in a Neovim of its own, in a new workspace with one run that is going to land.
fn drive(nvim: &Path, script: &str, installed: Installed) -> Output {
    let workspace = BankWorkspace::new();
    let (folder, home) = (workspace.path(), workspace.path().join("home"));
    fs::create_dir(folder.join("prepared")).unwrap();
    let landed = workspace.land_failing("failing");
    fs::rename(landed, folder.join("prepared/failing.arrow")).unwrap();
    fs::remove_dir_all(folder.join(".unsnarl")).unwrap();
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../editors/neovim")
        .canonicalize()
        .unwrap();
    let mut command = Command::new(nvim);
    command
        .args(["--headless", "--clean", "-u"])
        .arg(plugin.join("tests/init.lua"))
        .arg("bank.c");
    command.arg("-c").arg(format!(
        "luafile {}",
        plugin.join("tests").join(script).display()
    ));
    for folder in ["CONFIG", "DATA", "STATE", "CACHE"] {
        command.env(format!("XDG_{folder}_HOME"), &home);
    }
    if let Installed::Clone = installed {
        command.env("UNSNARL_TEST_CLONE", plugin.join("../.."));
    }
    command
        .current_dir(&folder)
        .env("UNSNARL_TEST_PLUGIN", &plugin)
        .env("UNSNARL_TEST_SERVER", env::current_exe().unwrap())
        .env("NVIM_LOG_FILE", home.join("nvim.log"))
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", nvim.display()))
}

fn report_latency(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let words = text
        .lines()
        .filter_map(|line| line.strip_prefix("latency "));
    let mut milliseconds: Vec<f64> = words.map(|word| word.trim().parse().unwrap()).collect();
    milliseconds.sort_by(f64::total_cmp);
    if let (Some(median), Some(worst)) = (
        milliseconds.get(milliseconds.len() / 2),
        milliseconds.last(),
    ) {
        println!("run file lands to diagnostics in Neovim: median {median} ms, worst {worst} ms");
    }
}

fn find() -> Option<PathBuf> {
    if let Some(named) = VARIABLES.iter().find_map(env::var_os) {
        return Some(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join("nvim"));
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home);
    let installed = cache.map(|cache| cache.join("unsnarl/tools/bin/nvim"));
    on_path.chain(installed).find(|nvim| is_new_enough(nvim))
}

fn is_new_enough(nvim: &Path) -> bool {
    let Ok(output) = Command::new(nvim).arg("--version").output() else {
        return false;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("NVIM v"));
    let mut numbers = version
        .into_iter()
        .flat_map(|version| version.split('.'))
        .map(|part| part.parse::<u32>());
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (0, 11))
}
