//! The two minutes that show what unsnarl is for: a program with a real bug, recorded and explained.

use crate::{
    setup::{self, MissingTool, Scope},
    shell::{self, cargo, run as shell_run, run_expecting},
};
use anyhow::{Context, Result};
use std::{fs, path::Path, process::Command};

/// The example: two critical sections where one was meant, and no data race.
const EXAMPLE: &str = "tests/programs/bank_account/bank_account.c";

/// Set-up, build, record, explain.
pub fn run(answer: MissingTool) -> Result<()> {
    setup::run(Scope::Demo, answer)?;
    shell_run(cargo(&["build", "--package", "unsnarl"]))?;
    let target = shell::target()?;
    let folder = target.join("demo");
    prepare(&folder)?;
    let unsnarl = |words: &[&str]| {
        let mut command = Command::new(target.join("debug/unsnarl"));
        command.args(words).current_dir(&folder);
        command
    };
    shell_run(unsnarl(&[
        "cc",
        "-g",
        "-O1",
        "bank_account.c",
        "-o",
        "bank_account",
        "-pthread",
    ]))?;
    // A failing run is what is wanted here, and `record` and `explain` report one as 1.
    run_expecting(
        unsnarl(&["record", "--until-failing", "3", "--", "./bank_account"]),
        &[1],
    )?;
    run_expecting(unsnarl(&["explain"]), &[1])?;
    eprintln!(
        "\nThe same in an editor: see README.md, then open {}",
        folder.join("bank_account.c").display()
    );
    Ok(())
}

/// An empty folder with the example's source.
fn prepare(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder)?;
    let source = shell::project().join(EXAMPLE);
    fs::copy(&source, folder.join("bank_account.c"))
        .with_context(|| format!("cannot copy {}", source.display()))?;
    Ok(())
}
