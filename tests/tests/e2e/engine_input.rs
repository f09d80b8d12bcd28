//! `explain --engine pairs,mining` on folders of runs that are hard to say anything about: words for each,
//! never an answer that looks like "no bug". The run files are written here from text.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use unsnarl_e2e::{Finished, Workspace};
use unsnarl_trace::{Run, script, write::write_run};

const BOTH: [&str; 3] = ["explain", "--engine", "pairs,mining"];
const DEPOSIT: &str = "main.1 R balance =300 @67 deposit\nmain.1 W balance =500 @74";
const WITHDRAW: &str = "main.2 R balance =300 @100 withdraw\nmain.2 W balance =250 @107";
const LOST: &str = "main.1 R balance =300 @67 deposit\nmain.2 R balance =300 @100 withdraw\n\
                    main.2 W balance =250 @107\nmain.1 W balance =500 @74\nmain.1 fails @80";

fn orders() -> [String; 2] {
    [
        format!("{DEPOSIT}\n{WITHDRAW}"),
        format!("{WITHDRAW}\n{DEPOSIT}"),
    ]
}

/// A workspace with these runs.
fn with(runs: &[(&str, &str)]) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    for (name, text) in runs {
        put(&workspace, name, &script::parse(text)?)?;
    }
    Ok(workspace)
}

fn put(workspace: &Workspace, name: &str, run: &Run) -> Result<()> {
    let folder = workspace.path().join(unsnarl_e2e::workspace::RUNS);
    fs::create_dir_all(&folder)?;
    let mut bytes = Vec::new();
    write_run(run, &mut bytes)?;
    fs::write(folder.join(format!("{name}.arrow")), bytes)?;
    Ok(())
}

/// The answers of both engines.
fn answers(workspace: &Workspace, status: i32) -> Result<(Value, Value)> {
    let words = [&BOTH[..], &["--format", "json"]].concat();
    let finished = workspace.unsnarl(&words)?.exits(status)?;
    let json: Value = serde_json::from_str(&finished.stdout)?;
    let answer = |at: usize| json.pointer(&format!("/answers/{at}")).cloned();
    let both = answer(0).zip(answer(1));
    both.with_context(|| format!("not two answers:\n{finished}"))
}

/// Both have no findings, and say this for a reason.
fn lack(workspace: &Workspace, status: i32, words: &str) -> Result<Finished> {
    let (pairs, mining) = answers(workspace, status)?;
    for answer in [&pairs, &mining] {
        let stopped = answer["stopped"].as_str().unwrap_or_default();
        ensure!(
            answer["findings"] == serde_json::json!([]) && stopped.contains(words),
            "{answer}"
        );
    }
    workspace
        .unsnarl(&BOTH)?
        .exits(status)?
        .says(&["pairs: nothing", "mining: nothing", words])
}

#[test]
fn no_passing_run() -> Result<()> {
    lack(
        &with(&[("failed-a", LOST)])?,
        3,
        "a passing run to compare with",
    )?;
    Ok(())
}

#[test]
fn no_failing_run() -> Result<()> {
    let [one, other] = orders();
    let workspace = with(&[("passed-a", &one), ("passed-b", &other)])?;
    lack(&workspace, 0, "a failing run")?;
    Ok(())
}

#[test]
fn one_event() -> Result<()> {
    let run = "main W x =1 @1";
    let failing = format!("{run}\nmain fails @1");
    let workspace = with(&[("passed-a", run), ("failed-a", &failing)])?;
    lack(&workspace, 3, "the runs lack accesses")?;
    Ok(())
}

#[test]
fn runs_that_were_cut_short_are_no_passing_runs() -> Result<()> {
    let cut = format!("{DEPOSIT}\ncut-short");
    let workspace = with(&[("failed-a", LOST), ("cut-short-a", &cut)])?;
    lack(&workspace, 3, "a passing run to compare with")?.says(&["1 run was cut short"])?;
    Ok(())
}

#[test]
fn two_builds_in_one_folder() -> Result<()> {
    let [one, other] = orders();
    let workspace = with(&[("failed-a", LOST)])?;
    for (name, text) in [("passed-a", &one), ("passed-b", &other)] {
        let mut run = script::parse(text)?;
        run.meta.build_id = "other".to_owned();
        put(&workspace, name, &run)?;
    }
    let said = workspace.unsnarl(&BOTH)?.exits(3)?;
    said.says(&[
        "the runs lack a passing run to compare with",
        "2 passing runs are of another build of the program and cannot be compared",
    ])?;
    Ok(())
}

#[test]
fn a_support_that_keeps_nothing() -> Result<()> {
    let [one, other] = orders();
    // The failing runs do what the passing ones do, for another reason.
    let failing = orders().map(|order| format!("{order}\nmain.2 fails @110"));
    let workspace = with(&[
        ("passed-a", &one),
        ("passed-b", &other),
        ("failed-a", &failing[0]),
        ("failed-b", &failing[1]),
    ])?;
    for percent in ["1", "50", "100"] {
        let least =
            format!("with a support of at least {percent} % is more frequent in failing runs");
        workspace
            .unsnarl(&["explain", "--engine", "mining", "--min-support", percent])?
            .exits(3)?
            .says(&["mining: nothing", &least])?;
    }
    put(&workspace, "failed-c", &script::parse(LOST)?)?;
    workspace
        .unsnarl(&["explain", "--engine", "mining", "--min-support", "30"])?
        .exits(1)?
        .says(&["in 1 of 3 failing and 0 of 2 passing runs"])?;
    for percent in ["0", "101", "-1", "many"] {
        let support = format!("--min-support={percent}");
        workspace
            .unsnarl(&["explain", "--engine", "mining", &support])?
            .exits(2)?
            .says(&["--min-support"])?;
    }
    Ok(())
}

/// Runs of findings are what `replay` takes: names of files that are there.
fn names_are_files(workspace: &Workspace, answer: &Value) -> Result<()> {
    let kept = workspace.runs()?;
    let findings = answer["findings"].as_array().context("no findings")?;
    ensure!(!findings.is_empty(), "{answer}");
    for finding in findings {
        let runs = finding["runs"].as_array().context("no runs")?;
        ensure!(!runs.is_empty(), "{finding}");
        for run in runs.iter().filter_map(Value::as_str) {
            ensure!(kept.contains(&format!("{run}.arrow")), "{run} is no file");
        }
    }
    Ok(())
}

#[test]
fn ten_thousand_runs_some_cut_short_some_inexact() -> Result<()> {
    const RUNS: usize = 10_000;
    let [one, other] = orders();
    let cut = format!("{DEPOSIT}\ncut-short");
    let texts = [one.as_str(), &other, &cut, LOST];
    let mut kinds = texts
        .into_iter()
        .map(script::parse)
        .collect::<Result<Vec<Run>, _>>()?;
    let mut inexact = kinds.first().cloned().context("no run")?;
    inexact.meta.exact = false;
    kinds.push(inexact);
    let workspace = Workspace::new()?;
    for number in 0..RUNS {
        // Of a hundred: one cut short, one failing, one inexact; the others pass in turn.
        let kind = match number % 100 {
            0 => 2,
            1 => 3,
            2 => 4,
            rest => rest % 2,
        };
        let mut run = kinds.get(kind).cloned().context("no kind")?;
        run.meta.seed = number as u64;
        put(&workspace, &format!("run-{number}"), &run)?;
    }
    let (pairs, mining) = answers(&workspace, 1)?;
    for answer in [&pairs, &mining] {
        let notes = answer["notes"].to_string();
        for words in ["100 runs were cut short", "100 runs were inexact"] {
            ensure!(notes.contains(words), "{notes}");
        }
        ensure!(answer["findings"][0]["passing"] == 9800, "{answer}");
        names_are_files(&workspace, answer)?;
    }
    ensure!(
        mining["findings"][0]["runs"].as_array().map(Vec::len) == Some(100),
        "{mining}"
    );
    let (_, explanations) = workspace.explain()?;
    let first = explanations.first().context("no explanation")?;
    ensure!(
        first.engines == ["orders", "pairs", "mining"] && first.runs.len() == 100,
        "{first:?}"
    );
    Ok(())
}

#[test]
fn replay_takes_the_runs_of_findings() -> Result<()> {
    use unsnarl_e2e::{TestProgram, TestedCompiler};
    let workspace = Workspace::new()?;
    let command = TestProgram::open("bank_account")?.compile(&workspace, TestedCompiler::Gcc)?;
    workspace
        .record(&["-n", "400", "--until-failing", "2"], &command)?
        .exits(1)?;
    let (pairs, mining) = answers(&workspace, 1)?;
    for answer in [&pairs, &mining] {
        names_are_files(&workspace, answer)?;
        let run = answer["findings"][0]["runs"][0]
            .as_str()
            .context("no run")?;
        workspace.unsnarl(&["replay", run])?.exits(0)?;
    }
    let (_, explanations) = workspace.explain()?;
    let first = explanations.first().context("nothing is explained")?;
    let wanted = ["orders", "pairs", "mining"].map(str::to_owned);
    ensure!(first.engines.starts_with(&wanted), "{:?}", first.engines);
    Ok(())
}
