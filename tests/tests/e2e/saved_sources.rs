//! Saved source files change the output, not the execution: runs of the same build are the same.

use anyhow::{Context, Result, ensure};
use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};
use unsnarl_core::Certainty;
use unsnarl_e2e::{TestedCompiler, Workspace, program::compile};

/// A program with a heap block whose type follows from the line that allocates it.
const PROGRAM: &str = "#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
struct account { int owner; int balance; };
static struct account *account;
static void *pay(void *arg)
{
    int seen = account->balance;
    account->balance = seen + 1;
    return arg;
}
int main(void)
{
    pthread_t a, b;
    account = malloc(sizeof(struct account));
    account->balance = 0;
    pthread_create(&a, 0, pay, 0);
    pthread_create(&b, 0, pay, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(account->balance == 2);
    return 0;
}
";

/// A folder with a failing run of a program whose source is then saved as `text`, later than the build.
fn saved(text: &str) -> Result<(Workspace, String)> {
    let workspace = Workspace::new()?;
    let source = workspace.write("pay.c", PROGRAM)?;
    compile(&workspace, Path::new("pay.c"), "pay", TestedCompiler::Gcc)?;
    workspace
        .record(&["-n", "500", "--until-failing", "1"], "./pay")?
        .exits(1)?;
    fs::write(&source, text)?;
    let later = SystemTime::now() + Duration::from_secs(100);
    File::options()
        .write(true)
        .open(&source)?
        .set_modified(later)?;
    let runs = workspace.runs_that("failed")?;
    let run = workspace.run_path(runs.first().context("no failing run")?);
    Ok((workspace, run))
}

#[test]
fn saved_again() -> Result<()> {
    let (workspace, run) = saved(PROGRAM)?;
    let said = workspace.unsnarl(&["replay", &run, "-n", "3"])?.exits(0)?;
    said.says(&["the same run 3 of 3 times"])?;
    let first = workspace
        .explain()?
        .1
        .into_iter()
        .next()
        .context("no explanation")?;
    ensure!(first.certainty == Certainty::Confirmed, "{first:?}");
    let before = workspace.runs()?;
    workspace.record(&["-n", "500", "--until-failing", "1"], "./pay")?;
    ensure!(
        workspace.runs()? == before,
        "recording again makes other runs"
    );
    Ok(())
}

#[test]
fn edited() -> Result<()> {
    let (workspace, run) = saved(&PROGRAM.replace("    ", " "))?;
    workspace.unsnarl(&["replay", &run, "-n", "3"])?.exits(0)?;
    let (workspace, run) = saved("/* another file */\n")?;
    let said = workspace.unsnarl(&["replay", &run, "-n", "3"])?.exits(0)?;
    said.says(&["the same run 3 of 3 times", "pay.c was changed"])?;
    let first = workspace
        .explain()?
        .1
        .into_iter()
        .next()
        .context("no explanation")?;
    ensure!(first.certainty == Certainty::Confirmed, "{first:?}");
    Ok(())
}
