//! `explain --format`: what other tools and people with a browser get of the same explanations.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace};

fn recorded(name: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open(name)?.compile(&workspace, TestedCompiler::Gcc)?;
    workspace
        .record(&["-n", "400", "--until-failing", "2"], &command)?
        .exits(1)?;
    Ok(workspace)
}

fn explain(workspace: &Workspace, format: &str) -> Result<Finished> {
    workspace
        .unsnarl(&["explain", "--format", format])?
        .exits(1)
}

/// The schema of SARIF 2.1.0, which the library that writes it carries along.
fn schema() -> Result<Value> {
    let metadata = cargo_metadata::MetadataCommand::new().exec()?;
    let mut packages = metadata.packages.iter();
    let package = packages
        .find(|package| package.name.as_str() == "serde-sarif")
        .context("serde-sarif is among the packages")?;
    let folder = package.manifest_path.parent().context("a folder")?;
    let mut schema: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("src/schema.json"))?)?;
    // The pattern of languages has a bracket too many, which the validator does not take for a regular expression.
    for owner in ["run", "toolComponent"] {
        let language = schema.pointer_mut(&format!("/definitions/{owner}/properties/language"));
        let language = language
            .and_then(Value::as_object_mut)
            .context("a property")?;
        language.remove("pattern").context("a pattern")?;
    }
    Ok(schema)
}

/// The log is valid by the schema.
pub fn is_valid(log: &Value) -> Result<()> {
    let validator = jsonschema::validator_for(&schema()?)?;
    let problems: Vec<String> = validator
        .iter_errors(log)
        .map(|problem| format!("{problem} at {}", problem.instance_path()))
        .collect();
    ensure!(problems.is_empty(), "{problems:?}");
    Ok(())
}

#[test]
fn sarif_is_valid_and_begins_with_the_interleaved_schedule() -> Result<()> {
    let workspace = recorded("bank_account")?;
    let log: Value = serde_json::from_str(&explain(&workspace, "sarif")?.stdout)?;
    is_valid(&log)?;
    let result = &log["runs"][0]["results"][0];
    ensure!(result["ruleId"] == "atomicity-violation", "{result}");
    let place = &result["locations"][0]["physicalLocation"];
    ensure!(
        place["artifactLocation"]["uri"]
            .as_str()
            .is_some_and(|uri| uri.ends_with("bank_account.c")),
        "{place}"
    );
    let flows = result["codeFlows"][0]["threadFlows"]
        .as_array()
        .context("thread flows")?;
    let steps = |flow: &Value| flow["locations"].as_array().map_or(0, Vec::len);
    let in_threads: usize = flows.iter().skip(1).map(steps).sum();
    ensure!(
        flows.len() > 2 && steps(&flows[0]) == in_threads,
        "{result}"
    );
    let orders = flows[0]["locations"].as_array().context("steps")?;
    let orders = orders.iter().map(|step| step["executionOrder"].as_u64());
    ensure!(orders.eq((1..=in_threads as u64).map(Some)), "{result}");
    Ok(())
}

#[test]
fn sarif_names_broken_runs_and_a_program_that_fails_in_every_order() -> Result<()> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open("sequential_sum")?.compile(&workspace, TestedCompiler::Gcc)?;
    // As many different orders as it takes to say that none of them matters.
    workspace.record(&["-n", "200"], &command)?.exits(1)?;
    workspace.write(".unsnarl/runs/passed-broken.arrow", "nothing of a run")?;
    let log: Value = serde_json::from_str(&explain(&workspace, "sarif")?.stdout)?;
    is_valid(&log)?;
    let run = &log["runs"][0];
    ensure!(run["results"][0]["level"] == "none", "{run}");
    let told = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    ensure!(
        told.as_str()
            .is_some_and(|text| text.contains("passed-broken")),
        "{run}"
    );
    Ok(())
}

#[test]
fn the_page_has_a_column_for_each_thread_and_needs_nothing_else() -> Result<()> {
    let page = explain(&recorded("bank_account")?, "html")?.stdout;
    ensure!(page.starts_with("<!DOCTYPE html>"), "{page}");
    for word in [
        "cash_machine (main.2)",
        "payroll (main.1)",
        "in between",
        "The order that fails",
        "An order that passes, as in passed-",
    ] {
        ensure!(page.contains(word), "{word}: {page}");
    }
    ensure!(!page.contains("<script") && !page.contains("://"), "{page}");
    Ok(())
}

#[test]
fn markdown_and_graph_tell_the_same() -> Result<()> {
    let workspace = recorded("bank_account")?;
    let text = explain(&workspace, "text")?.stdout;
    let headline = text.lines().next().context("a line")?;
    let headline = headline.trim_start_matches("error: ");
    let markdown = explain(&workspace, "markdown")?.stdout;
    ensure!(markdown.contains(&format!("### {headline}")), "{markdown}");
    let graph = explain(&workspace, "dot")?.stdout;
    ensure!(graph.contains(headline) && graph.contains("->"), "{graph}");
    Ok(())
}

#[test]
fn a_format_that_is_for_explanations_is_not_for_one_engine() -> Result<()> {
    let workspace = recorded("bank_account")?;
    let finished = workspace
        .unsnarl(&["explain", "--engine", "pairs", "--format", "html"])?
        .exits(2)?;
    ensure!(
        finished.stderr.contains("leave --engine out"),
        "{finished:?}"
    );
    Ok(())
}
