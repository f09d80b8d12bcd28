//! Room is made in a folder of runs without losing what they show.

use anyhow::{Context, Result, ensure};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};
use unsnarl_e2e::{TestProgram, Workspace};
use unsnarl_trace::{meta::RunMeta, read::read_meta};

/// The runs by their names, with what they begin with.
fn runs(workspace: &Workspace) -> Result<BTreeMap<String, RunMeta>> {
    let names = workspace.runs_in("runs")?.into_iter();
    let read = |name: String| {
        let meta = read_meta(&workspace.path().join("runs").join(&name))?;
        Ok((name.trim_end_matches(".arrow").to_owned(), meta))
    };
    names.map(read).collect()
}

/// The orders of passing runs, and the names of failing ones.
fn shown(runs: &BTreeMap<String, RunMeta>) -> (BTreeSet<String>, BTreeSet<String>) {
    let fails = |meta: &RunMeta| meta.outcome.is_failure();
    let passing = runs.values().filter(|meta| !fails(meta));
    let failing = runs.iter().filter(|(_, meta)| fails(meta));
    (
        passing.map(|meta| meta.order.clone()).collect(),
        failing.map(|(name, _)| name.clone()).collect(),
    )
}

#[test]
fn failing_runs_and_one_of_each_order_and_named_ones_are_kept() -> Result<()> {
    let workspace = TestProgram::compiled("bank_account", "bank")?;
    let record = ["record", "-n", "40", "--seed", "5", "--out", "runs"];
    let record = [&record[..], &["--", "./bank"]].concat();
    workspace.unsnarl(&record)?.exits(1)?;
    let before = runs(&workspace)?;
    let (orders, failing) = shown(&before);
    let passing = before.len() - failing.len();
    ensure!(
        passing > orders.len() + 1 && !failing.is_empty(),
        "{passing}"
    );

    // A dry run says what would go, and removes nothing.
    let said = workspace
        .unsnarl(&["prune", "runs", "--dry-run"])?
        .exits(0)?;
    ensure!(runs(&workspace)?.len() == before.len(), "{said}");
    let gone = said.stdout.lines().filter_map(|line| line.split_once("  "));
    let gone: Vec<String> = gone.map(|(name, _)| name.to_owned()).collect();
    ensure!(gone.len() == passing - orders.len(), "{said}");

    // One that would go is named by a file, and another one is damaged.
    let [named, damaged] = [gone.first(), gone.last()].map(|name| name.cloned());
    let (named, damaged) = (named.context("none goes")?, damaged.context("none goes")?);
    fs::write(
        workspace.path().join("pinned.txt"),
        format!("replay {named}\n"),
    )?;
    let path = workspace.path().join("runs").join(&damaged);
    let path = path.with_extension("arrow");
    let bytes = fs::read(&path)?;
    fs::write(&path, bytes.get(..bytes.len() / 2).unwrap_or_default())?;
    let prune = ["prune", "runs", "--named-in", "pinned.txt"];
    let said = workspace.unsnarl(&prune)?.exits(1)?;
    let said = said.says(&[
        &damaged,
        "is kept, since it cannot be read",
        "1 not readable",
    ])?;

    let left = workspace.runs_in("runs")?.into_iter();
    let left: BTreeSet<String> = left.map(|name| name.replace(".arrow", "")).collect();
    ensure!(left.contains(&named) && left.contains(&damaged), "{said}");
    fs::remove_file(&path)?;
    let after = runs(&workspace)?;
    ensure!(shown(&after) == (orders, failing), "{said}");
    let prune = workspace.unsnarl(&prune)?.exits(0)?;
    prune.says(&["0 runs (0 bytes) removed"])?;
    ensure!(runs(&workspace)?.len() == after.len());
    Ok(())
}
