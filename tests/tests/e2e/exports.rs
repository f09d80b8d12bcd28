//! `unsnarl export RUN --to perfetto|dot|shiviz|sarif`: what the tools of others take.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    process::Stdio,
};
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace};

fn recorded(name: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open(name)?.compile(&workspace, TestedCompiler::Gcc)?;
    workspace
        .record(&["-n", "400", "--until-failing", "2"], &command)?
        .exits(1)?;
    Ok(workspace)
}

fn failing(workspace: &Workspace) -> Result<String> {
    let runs = workspace.runs()?;
    let failed = runs.into_iter().find(|run| run.starts_with("failed"));
    failed.context("a run that failed")
}

fn export(workspace: &Workspace, to: &str) -> Result<Finished> {
    let run = failing(workspace)?;
    let first = workspace.unsnarl(&["export", &run, "--to", to])?.exits(0)?;
    let second = workspace.unsnarl(&["export", &run, "--to", to])?.exits(0)?;
    ensure!(first.stdout == second.stdout, "the same run, another {to}");
    Ok(first)
}

fn rows<'v>(trace: &'v Value, phase: &str) -> Result<Vec<&'v Value>> {
    let events = trace["traceEvents"].as_array().context("events")?;
    Ok(events.iter().filter(|event| event["ph"] == phase).collect())
}

#[test]
fn a_timeline_has_tracks_sections_values_and_arrows() -> Result<()> {
    let workspace = recorded("bank_account")?;
    let trace: Value = serde_json::from_str(&export(&workspace, "perfetto")?.stdout)?;
    let names: BTreeSet<&str> = rows(&trace, "M")?
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    ensure!(
        names.contains("payroll (main.1)") && names.contains("cash_machine (main.2)"),
        "{names:?}"
    );
    let slices = rows(&trace, "X")?;
    let held = |event: &&&Value| event["name"] == "holds account.lock";
    ensure!(slices.iter().filter(held).count() >= 3, "{slices:?}");
    // An arrow joins two slices of different tracks, forward in time.
    let ends: BTreeMap<u64, &Value> = rows(&trace, "f")?
        .into_iter()
        .filter_map(|end| Some((end["id"].as_u64()?, end)))
        .collect();
    let starts = rows(&trace, "s")?;
    ensure!(
        !starts.is_empty() && starts.len() == ends.len(),
        "{starts:?} {ends:?}"
    );
    for start in starts {
        let end = start["id"]
            .as_u64()
            .and_then(|id| ends.get(&id))
            .context("an end")?;
        ensure!(
            start["tid"] != end["tid"] && start["ts"].as_u64() < end["ts"].as_u64(),
            "{start} {end}"
        );
        for event in [start, *end] {
            ensure!(
                slices
                    .iter()
                    .any(|slice| slice["tid"] == event["tid"] && slice["ts"] == event["ts"]),
                "{event}"
            );
        }
    }
    let values = slices.iter().any(|slice| {
        slice["name"]
            .as_str()
            .is_some_and(|name| name.contains("account.balance = 250"))
    });
    ensure!(values, "{slices:?}");
    Ok(())
}

#[test]
fn graphviz_draws_the_threads() -> Result<()> {
    let workspace = recorded("bank_account")?;
    let graph = export(&workspace, "dot")?.stdout;
    workspace.write("run.dot", &graph)?;
    let mut command = workspace.command("dot", &["-Tsvg", "run.dot"]);
    command.stdin(Stdio::null());
    let drawn = command
        .output()
        .context("Graphviz is installed by the set-up")?;
    ensure!(
        drawn.status.success() && drawn.stderr.is_empty(),
        "{drawn:?}"
    );
    let picture = String::from_utf8(drawn.stdout)?;
    for word in [
        "cash_machine (main.2)",
        "payroll (main.1)",
        "overwrites",
        "fails",
    ] {
        ensure!(picture.contains(word), "{word}: {picture}");
    }
    Ok(())
}

/// The three groups of ShiViz's expression: event, host, clock.
type ShivizEntry<'l> = (&'l str, &'l str, BTreeMap<String, u64>);

/// The log's entries, as the expression takes them.
fn entries(log: &str) -> Result<Vec<ShivizEntry<'_>>> {
    let lines: Vec<&str> = log.lines().collect();
    let pairs = lines.chunks(2).map(|pair| {
        let (host, clock) = pair
            .get(1)
            .and_then(|line| line.split_once(' '))
            .context("a host and a clock")?;
        Ok((
            *pair.first().context("an event")?,
            host,
            serde_json::from_str(clock)?,
        ))
    });
    pairs.collect()
}

#[test]
fn shiviz_gets_clocks_without_gaps() -> Result<()> {
    let workspace = recorded("bank_account")?;
    let exported = export(&workspace, "shiviz")?;
    ensure!(
        exported
            .stderr
            .contains(r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"),
        "{exported:?}"
    );
    let mut own: BTreeMap<&str, u64> = BTreeMap::new();
    let entries = entries(&exported.stdout)?;
    ensure!(entries.len() > 10, "{entries:?}");
    for (event, host, clock) in &entries {
        let time = own.entry(host).or_default();
        *time += 1;
        ensure!(clock.get(*host) == Some(&*time), "{event}: {clock:?}");
        for (other, time) in clock.iter().filter(|(other, _)| other != host) {
            ensure!(
                own.get(other.as_str()) >= Some(time),
                "{event} knows of what has not happened: {clock:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn sarif_of_a_run_is_its_own_explanation() -> Result<()> {
    let workspace = recorded("bank_account")?;
    let run = failing(&workspace)?;
    let log: Value = serde_json::from_str(&export(&workspace, "sarif")?.stdout)?;
    crate::formats::is_valid(&log)?;
    let results = log["runs"][0]["results"].as_array().context("results")?;
    ensure!(results.len() == 1, "{results:?}");
    let runs = &results[0]["properties"]["runs"];
    ensure!(
        runs[0].as_str().is_some_and(|name| run.starts_with(name)) && runs[1].is_null(),
        "{runs}"
    );
    let passed = workspace
        .runs()?
        .into_iter()
        .find(|run| run.starts_with("passed"));
    let passed = passed.context("a run that passed")?;
    let finished = workspace
        .unsnarl(&["export", &passed, "--to", "sarif"])?
        .exits(0)?;
    ensure!(finished.stderr.contains("did not fail"), "{finished:?}");
    let log: Value = serde_json::from_str(&finished.stdout)?;
    ensure!(log["runs"][0]["results"] == serde_json::json!([]), "{log}");
    Ok(())
}
