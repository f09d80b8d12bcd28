//! Tests that nothing in a folder is executed only because it lies there: runs of others need the user's permission.

use anyhow::{Result, ensure};
use std::{fs, path::Path};
use unsnarl_e2e::{Finished, Workspace, workspace::RUNS};

/// Fails in some orders, and leaves a mark in its folder whenever it is executed.
const PROGRAM: &str = r#"
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static int n;
static void *add(void *x) {
    int v = n;
    n = v + 1;
    return x;
}
int main(void) {
    close(open("marker", O_CREAT | O_WRONLY, 0600));
    pthread_t a, b;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(n == 2);
    return 0;
}
"#;

/// A folder with runs that somebody has recorded, and the names of one that failed and one that passed.
fn recorded() -> Result<(Workspace, String, String)> {
    let workspace = Workspace::new()?;
    workspace.write("bug.c", PROGRAM)?;
    workspace
        .unsnarl(&["cc", "-g", "bug.c", "-o", "bug"])?
        .exits(0)?;
    workspace.record(&["-n", "40"], "./bug")?.exits(1)?;
    let first = |outcome: &str| -> Result<String> {
        let runs = workspace.runs_that(outcome)?;
        Ok(runs.first().cloned().unwrap_or_default())
    };
    let (failed, passed) = (first("failed")?, first("passed")?);
    ensure!(!failed.is_empty() && !passed.is_empty());
    Ok((workspace, failed, passed))
}

/// The command as another user of the machine gives it, and whether the program was executed.
fn by_another(workspace: &Workspace, words: &[&str]) -> Result<(Finished, bool)> {
    let marker = workspace.path().join("marker");
    if marker.exists() {
        fs::remove_file(&marker)?;
    }
    let mut command = workspace.unsnarl_command(words)?;
    command.env("XDG_STATE_HOME", workspace.path().join("other-state"));
    let finished = Finished::of(command)?;
    Ok((finished, marker.exists()))
}

#[test]
fn runs_of_others_execute_nothing_without_a_word() -> Result<()> {
    let (workspace, failed, passed) = recorded()?;
    let (told, _) = by_another(&workspace, &["explain", "--no-run", "--format", "json"])?;
    let id = told.explanations()?.first().map(|one| one.id.clone());
    let id = id.unwrap_or_default();
    let schedule = schedule(&workspace)?;
    let told: [&[&str]; 8] = [
        &["explain"],
        &["explain", "--format", "json"],
        &["predict"],
        &["predict", &passed],
        &["replay", &failed],
        &["replay", "--branches", &failed],
        &["replay", &schedule],
        &["export", &failed, "--to", "test"],
    ];
    let quiet: [&[&str]; 4] = [
        &["explain", "--why"],
        &["explain", "--engine", "pairs,mining,dsp,invariants"],
        &["explain", &format!("{RUNS}/{failed}")],
        &["verify", &id],
    ];
    for words in told.into_iter().chain(quiet) {
        let (finished, is_executed) = by_another(&workspace, words)?;
        ensure!(!is_executed, "executed without a word: {finished:?}");
        let says = format!("{}{}", finished.stdout, finished.stderr);
        let is_told = says.contains("--trust") || quiet.contains(&words);
        ensure!(is_told, "says nothing of it: {finished:?}");
    }
    for words in [&["explain", "--trust"][..], &["replay", "--trust", &failed]] {
        let (finished, is_executed) = by_another(&workspace, words)?;
        ensure!(is_executed, "not executed: {finished:?}");
    }
    Ok(())
}

/// A schedule that names the program.
fn schedule(workspace: &Workspace) -> Result<String> {
    let text = r#"{"unsnarl_schedule": 1, "program": "./bug", "events": []}"#;
    workspace.write("order.json", text)?;
    Ok("order.json".to_owned())
}

#[test]
fn a_trusted_build_is_no_other_build() -> Result<()> {
    let (workspace, failed, _) = recorded()?;
    let other = format!("--trust={}", "0".repeat(64));
    let (_, is_executed) = by_another(&workspace, &["replay", &other, &failed])?;
    ensure!(!is_executed);
    let run = unsnarl_trace::read_run(&workspace.path().join(RUNS).join(&failed))?;
    let this = format!("--trust={}", run.meta.build_id);
    let (finished, is_executed) = by_another(&workspace, &["replay", &this, &failed])?;
    ensure!(is_executed, "{finished:?}");
    Ok(())
}

#[test]
fn another_program_in_its_place_is_not_executed() -> Result<()> {
    let (workspace, failed, _) = recorded()?;
    workspace.unsnarl(&["explain"])?.exits(1)?;
    workspace.write("bug.c", &format!("{PROGRAM}\nint other;\n"))?;
    workspace
        .unsnarl(&["cc", "-g", "bug.c", "-o", "bug"])?
        .exits(0)?;
    let _ = fs::remove_file(workspace.path().join("marker"));
    workspace.write(
        "order.json",
        r#"{"unsnarl_schedule": 1, "program": "./bug", "events": []}"#,
    )?;
    for words in [&["replay", &failed][..], &["replay", "order.json"]] {
        workspace.unsnarl(words)?.exits(2)?;
    }
    ensure!(!workspace.path().join("marker").exists());
    Ok(())
}

#[test]
fn recording_and_explaining_work_without_a_home_folder() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("bug.c", PROGRAM)?;
    let temporary = workspace.path().join("tmp");
    fs::create_dir(&temporary)?;
    let homeless = |words: &[&str]| -> Result<Finished> {
        let mut command = workspace.unsnarl_command(words)?;
        for variable in ["HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env_remove(variable);
        }
        command.env("TMPDIR", &temporary);
        Finished::of(command)
    };
    homeless(&["cc", "-g", "bug.c", "-o", "bug"])?.exits(0)?;
    let recorded = homeless(&["record", "--seed", "1", "-n", "40", "--", "./bug"])?.exits(1)?;
    ensure!(
        recorded.stderr.contains("there is no home folder"),
        "{recorded:?}"
    );
    let explained = homeless(&["explain"])?.exits(1)?;
    ensure!(explained.stdout.contains("Confirmed"), "{explained:?}");
    for kept in fs::read_dir(&temporary)? {
        only_the_users(&kept?.path())?;
    }
    Ok(())
}

fn only_the_users(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(folder)?.permissions().mode();
    ensure!(mode & 0o077 == 0, "{} has mode {mode:o}", folder.display());
    Ok(())
}
