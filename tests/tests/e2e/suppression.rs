//! `unsnarl suppress` and `unsnarl explain --guarded-by`.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use unsnarl_e2e::{TestProgram, Workspace};

const FILE: &str = ".unsnarl-suppressions.toml";

/// The bank with so many lines before it, recorded until it fails.
fn record(workspace: &Workspace, before: &str) -> Result<String> {
    let text = fs::read_to_string(&TestProgram::open("bank_account")?.source)?;
    workspace.write("bank.c", &format!("{before}{text}"))?;
    workspace
        .unsnarl(&["cc", "-g", "bank.c", "-o", "bank", "-pthread"])?
        .exits(0)?;
    let runs = workspace.path().join(".unsnarl");
    if runs.exists() {
        fs::remove_dir_all(runs)?;
    }
    workspace
        .record(&["-n", "400", "--until-failing", "1"], "./bank")?
        .exits(1)?;
    let failed = workspace
        .runs()?
        .into_iter()
        .find(|run| run.starts_with("failed"));
    let failed = failed.context("a run that failed")?;
    Ok(failed.trim_end_matches(".arrow").to_owned())
}

#[test]
fn a_suppressed_finding_stays_away_when_lines_move_and_comes_back_when_they_change() -> Result<()> {
    let workspace = Workspace::new()?;
    let failed = record(&workspace, "")?;
    workspace
        .unsnarl(&["suppress", &failed, "--because", "the bank is a toy"])?
        .exits(0)?;
    let again = workspace
        .unsnarl(&["suppress", &failed, "--because", "x"])?
        .exits(0)?;
    ensure!(
        again.stdout.contains("already: the bank is a toy"),
        "{again:?}"
    );
    record(&workspace, "// One line.\n\n// Another.\n")?;
    let said = workspace.unsnarl(&["explain"])?.exits(0)?;
    ensure!(
        said.stdout.trim() == format!("1 finding is suppressed by {FILE}: the bank is a toy."),
        "{said:?}"
    );
    let json: Value = serde_json::from_str(
        &workspace
            .unsnarl(&["explain", "--format", "json"])?
            .exits(0)?
            .stdout,
    )?;
    ensure!(
        json["explanations"] == serde_json::json!([])
            && json["suppressed"][0]["because"] == "the bank is a toy",
        "{json}"
    );
    let sarif: Value = serde_json::from_str(
        &workspace
            .unsnarl(&["explain", "--format", "sarif"])?
            .exits(0)?
            .stdout,
    )?;
    crate::formats::is_valid(&sarif)?;
    let by = &sarif["runs"][0]["results"][0]["suppressions"][0];
    ensure!(
        by["kind"] == "external" && by["justification"] == "the bank is a toy",
        "{by}"
    );
    let text = fs::read_to_string(workspace.path().join(FILE))?;
    workspace.write(
        FILE,
        &text.replace("account.balance += amount;", "account.balance = 0;"),
    )?;
    let said = workspace.unsnarl(&["explain"])?.exits(1)?;
    ensure!(
        said.stderr.contains(&format!("{FILE}:4: nothing")) && said.stdout.starts_with("error: "),
        "{said:?}"
    );
    Ok(())
}

#[test]
fn a_bad_file_of_suppressions_is_named_with_its_line() -> Result<()> {
    let workspace = Workspace::new()?;
    let failed = record(&workspace, "")?;
    workspace.write(
        FILE,
        "[[suppress]]\nkind = \"deadlock\"\nbecause = \"\"\nsites = []\n",
    )?;
    for command in [&["explain"][..], &["suppress", &failed, "--because", "x"]] {
        let said = workspace.unsnarl(command)?.exits(2)?;
        for part in [FILE, "line 3", "says why", "next:"] {
            ensure!(said.stderr.contains(part), "{part}: {said:?}");
        }
    }
    fs::remove_file(workspace.path().join(FILE))?;
    let said = workspace
        .unsnarl(&["suppress", "nobody", "--because", "x"])?
        .exits(2)?;
    ensure!(
        said.stderr
            .contains("nothing that is explained is called nobody"),
        "{said:?}"
    );
    Ok(())
}

#[test]
fn locks_are_counted_over_all_runs() -> Result<()> {
    let workspace = Workspace::new()?;
    record(&workspace, "")?;
    let said = workspace.unsnarl(&["explain", "--guarded-by"])?.exits(0)?;
    ensure!(
        said.stdout.contains("account.balance  account.lock  all "),
        "{said:?}"
    );
    let json = workspace.unsnarl(&["explain", "--guarded-by", "--format", "json"])?;
    let json: Value = serde_json::from_str(&json.exits(0)?.stdout)?;
    let row = &json["corpora"][0]["guarded"][0];
    ensure!(
        row["lock"] == "account.lock" && row["held"] == row["of"],
        "{json}"
    );
    Ok(())
}
