//! Tests from the recorder to the editor: a Neovim that has a program's source open shows the bug while
//! `unsnarl record` is still running, without anything being typed in it.

use anyhow::{Context, Result, ensure};
use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, binary, program::compile};

/// Variables that name Neovim, set by the set-up or by a person.
const VARIABLES: [&str; 2] = ["UNSNARL_TEST_NVIM", "UNSNARL_NVIM"];

/// The Neovim that a variable names, the one on the `PATH`, or the one that the set-up installs.
fn neovim() -> Result<PathBuf> {
    if let Some(named) = VARIABLES.iter().find_map(env::var_os) {
        return Ok(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let cache = env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
    let installed = cache.join("unsnarl/tools/bin/nvim");
    let mut all = env::split_paths(&path).map(|folder| folder.join("nvim"));
    all.find(|nvim| nvim.is_file())
        .or(Some(installed).filter(|nvim| nvim.is_file()))
        .context("no Neovim: `cargo xtask setup` installs one, or name one in UNSNARL_NVIM")
}

/// Neovim with a file of the workspace open, which runs a script of the project.
fn editor(workspace: &Workspace, file: &str, script: &str) -> Result<Command> {
    let project = unsnarl_e2e::project();
    let (plugin, script) = (project.join("editors/neovim"), project.join(script));
    let mut command = Command::new(neovim()?);
    command
        .args(["--headless", "--clean", "-u"])
        .arg(plugin.join("tests/init.lua"));
    command
        .arg(file)
        .arg("-c")
        .arg(format!("luafile {}", script.display()));
    for folder in ["CONFIG", "DATA", "STATE", "CACHE"] {
        command.env(format!("XDG_{folder}_HOME"), workspace.path().join("home"));
    }
    command
        .current_dir(workspace.path())
        .env("UNSNARL_TEST_PLUGIN", &plugin)
        .env("UNSNARL_TEST_SERVER", binary::unsnarl()?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

#[test]
fn a_recorded_bug_appears_in_neovim() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("bank_account")?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    let script = "tests/tests/e2e/editor.lua";
    let editor = editor(&workspace, "bank_account.c", script)?.spawn()?;
    workspace
        .record(&["-n", "2000", "--until-failing", "3"], &command)?
        .exits(1)?;
    let output = editor.wait_with_output()?;
    let (said, complaints) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    ensure!(
        output.status.success(),
        "Neovim: {}\n{said}\n{complaints}",
        output.status
    );

    let diagnostics: Vec<serde_json::Value> = serde_json::from_str(&said)
        .with_context(|| format!("no diagnostics in\n{said}\n{complaints}"))?;
    let lines: BTreeSet<u32> = diagnostics
        .iter()
        .filter_map(|diagnostic| diagnostic.get("lnum")?.as_u64())
        .map(|line| line as u32 + 1)
        .collect();
    for (part, expected) in &program.expectation.parts {
        let shown = expected.iter().any(|line| lines.contains(line));
        ensure!(
            shown,
            "nothing at {expected:?} ({part}), but at {lines:?}:\n{said}"
        );
    }
    ensure!(
        said.contains("was lost"),
        "no word of the lost update:\n{said}"
    );
    Ok(())
}

/// A session with clang, which keeps a model of the program, so that the conditions that had to hold are known, too.
#[test]
fn a_session_in_neovim_ends_with_a_program_that_does_not_fail() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("bank_account")?;
    let command = program.compile(&workspace, TestedCompiler::Clang)?;
    workspace
        .record(&["-n", "2000", "--until-failing", "3"], &command)?
        .exits(1)?;
    let script = "editors/neovim/tests/session.lua";
    let output = editor(&workspace, "bank_account.c", script)?.output()?;
    ensure!(
        output.status.success(),
        "Neovim: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    does_not_fail(&workspace, "bank_account.c")
}

/// Checks that the file as an editor has left it is another program than before, compiles, and passes in every run.
pub fn does_not_fail(workspace: &Workspace, file: &str) -> Result<()> {
    let path = workspace.path().join(file);
    let was = TestProgram::open("bank_account")?;
    ensure!(
        std::fs::read(&path)? != std::fs::read(&was.source)?,
        "{file} is as it was"
    );
    compile(workspace, Path::new(file), "fixed", TestedCompiler::Clang)?;
    workspace.record(&["-n", "300"], "./fixed")?.exits(0)?;
    Ok(())
}
