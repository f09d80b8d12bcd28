//! Table 1 of PECAN repeated: its small subjects, rewritten for `tests/programs`.

use crate::{docs, predict::PAGE, table::PrintedTable};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};

/// One subject.
struct PredictSubject {
    /// Its name in the paper.
    name: &'static str,
    /// The program here.
    program: &'static str,
    /// Figures that the paper reports: races, atomicity violations, ASVs, real ones, exceptions, failed
    /// re-executions.
    paper: [u32; 6],
    /// The function that is a synchronized method there, and does not lock by itself here.
    region: Option<&'static str>,
}

const fn subject(name: &'static str, program: &'static str, paper: [u32; 6]) -> PredictSubject {
    PredictSubject {
        name,
        program,
        paper,
        region: None,
    }
}

const SUBJECTS: [PredictSubject; 10] = [
    subject("Account", "account_transfer", [7, 2, 6, 15, 8, 0]),
    subject("BuggyPrg", "dealt_numbers", [9, 1, 0, 10, 1, 0]),
    subject("Critical", "critical_turn", [16, 14, 0, 28, 2, 0]),
    subject("Loader", "table_loader", [2, 4, 0, 5, 1, 0]),
    subject("Manager", "block_manager", [15, 0, 0, 14, 1, 1]),
    subject("MergeSort", "merge_sort", [8, 10, 0, 8, 1, 10]),
    subject("Shop", "corner_shop", [4, 0, 0, 4, 1, 0]),
    PredictSubject {
        region: Some("buffer_append"),
        ..subject("StringBuf", "string_buffer", [0, 1, 0, 1, 1, 0])
    },
    PredictSubject {
        region: Some("ArrayList::add_all"),
        ..subject("ArrayList", "array_list", [6, 1, 4, 11, 2, 0])
    },
    subject("LinkedList", "linked_list", [6, 1, 7, 13, 3, 0]),
];

/// Runs recorded of each.
const RUNS: &str = "50";
/// Number of the newest passing runs that predictions are made from.
const FROM: &str = "10";

/// Measures the subjects and writes the table.
pub fn run() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "subject",
        "program",
        "threads",
        "SV",
        "events",
        "analysis",
        "order",
        "races",
        "AV",
        "ASV",
        "deadlocks",
        "certain",
        "REAL",
        "EXP",
        "F",
        "why not",
        "the paper's",
    ]);
    for subject in &SUBJECTS {
        eprintln!("{}: {}", subject.name, subject.program);
        let predictions = predicted(subject).with_context(|| subject.program.to_owned())?;
        let head = [subject.name.to_owned(), format!("`{}`", subject.program)];
        let [races, av, asv, real, exp, failed] = subject.paper;
        let theirs = format!("{races} + {av} + {asv}: {real}, {exp}, {failed}");
        table.row([&head[..], &cells(&predictions)?, &[theirs]].concat());
    }
    let text = format!(
        "{table}\nPredicted from the {FROM} newest passing runs of {RUNS} recorded ones, gcc -O0; threads, SV, events of the newest. Races, AV, ASV, deadlocks: predicted, \
         unique by their source lines; a race counts once although each of its orders is executed. The columns behind them \
         count anomalies by pattern (*certain* races and deadlocks by their lines: the sound predictor shows them without execution): REAL happened when executed, EXP made the program fail, F did not happen. Analysis: mean of a run. \
         Order: milliseconds to make and check one. The paper's: races + AV + ASV: REAL, EXP, F of its Java subjects, \
         which are other programs."
    );
    println!("{text}\n");
    docs::replace(PAGE, "table", &text)
}

/// The predictions from passing runs of a program.
fn predicted(subject: &PredictSubject) -> Result<Vec<Value>> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open(subject.program)?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    workspace.record(&["-n", RUNS, "--strategy", "random"], &command)?;
    let regions = subject.region.map_or_else(String::new, |function| {
        format!("[[region]]\nfunction = \"{function}\"\n")
    });
    workspace.write("regions.toml", &regions)?;
    let words = ["predict", "--format", "json", "--runs", FROM];
    let finished = workspace.unsnarl(&[&words[..], &["--patterns", "regions.toml"]].concat())?;
    ensure!(matches!(finished.status, Some(0 | 1)), "{finished}");
    let json: Value = serde_json::from_str(&finished.stdout)?;
    let predictions = json.get("predictions").and_then(Value::as_array).cloned();
    predictions.with_context(|| format!("no predictions:\n{finished}"))
}

/// An anomaly: class, pattern, lines.
type LineAnomaly<'a> = (&'a str, &'a str, Vec<u64>);

fn cells(predictions: &[Value]) -> Result<Vec<String>> {
    let first = predictions.first().context("no prediction")?;
    let number = |path: &str| first.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let times = |path: &str| -> f64 {
        let times = predictions.iter().map(|one| one.pointer(path));
        times.filter_map(|time| time?.as_f64()).sum()
    };
    let all = predictions
        .iter()
        .filter_map(|one| one.get("anomalies")?.as_array());
    let all: Vec<&Value> = all.flatten().collect();
    let best = best(&all);
    let count = |verdicts: &[&str]| {
        best.values()
            .filter(|one| verdicts.contains(&verdict(one)))
            .count()
    };
    let unique = |class: &str| unique_of(best.keys(), class).to_string();
    let certain = all
        .iter()
        .filter(|one| one.get("certain") == Some(&Value::Bool(true)));
    let certain: Vec<LineAnomaly<'_>> = certain.map(|one| key(one)).collect();
    let certain = unique_of(certain.iter(), "race") + unique_of(certain.iter(), "deadlock");
    let mut why: BTreeMap<&str, u32> = BTreeMap::new();
    for anomaly in best.values() {
        if let Some(reason) = anomaly.get("why").and_then(Value::as_str) {
            *why.entry(reason).or_default() += 1;
        }
    }
    let why: Vec<String> = why
        .iter()
        .map(|(why, count)| format!("{why} {count}"))
        .collect();
    Ok(vec![
        number("/threads").to_string(),
        number("/shared_locations").to_string(),
        number("/events").to_string(),
        format!(
            "{:.2} ms",
            times("/times/analysis") / predictions.len() as f64
        ),
        format!(
            "{:.3} ms",
            times("/times/ordering") / all.len().max(1) as f64
        ),
        unique("race"),
        unique("atomicity-violation"),
        unique("atomic-set-violation"),
        unique("deadlock"),
        certain.to_string(),
        count(&["failed", "harmless"]).to_string(),
        count(&["failed", "failed-before"]).to_string(),
        count(&["not-reproduced"]).to_string(),
        why.join(", "),
    ])
}

fn verdict(anomaly: &Value) -> &str {
    anomaly.get("verdict").and_then(Value::as_str).unwrap_or("")
}

/// The best result of each anomaly in any of the runs.
fn best<'a>(all: &[&'a Value]) -> BTreeMap<LineAnomaly<'a>, &'a Value> {
    const ORDER: [&str; 4] = ["not-reproduced", "harmless", "failed-before", "failed"];
    let weight = |anomaly: &Value| ORDER.iter().position(|word| *word == verdict(anomaly));
    let mut best: BTreeMap<LineAnomaly<'a>, &'a Value> = BTreeMap::new();
    for anomaly in all {
        let kept = best.entry(key(anomaly)).or_insert(anomaly);
        if weight(anomaly) > weight(kept) {
            *kept = anomaly;
        }
    }
    best
}

fn key(anomaly: &Value) -> LineAnomaly<'_> {
    let word = |field: &str| anomaly.get(field).and_then(Value::as_str).unwrap_or("");
    let events = anomaly.get("events").and_then(Value::as_array);
    let lines = events.into_iter().flatten().map(|event| event.get("line"));
    let lines = lines.filter_map(|line| line?.as_u64()).collect();
    (word("class"), word("pattern"), lines)
}

/// Anomalies of a class with different lines; the two orders of a race are one.
fn unique_of<'a>(keys: impl Iterator<Item = &'a LineAnomaly<'a>>, class: &str) -> usize {
    let lines = keys.filter(|key| key.0 == class).map(|(_, _, lines)| {
        let mut lines = lines.clone();
        if class == "race" {
            lines.sort_unstable();
        }
        lines
    });
    lines.collect::<BTreeSet<_>>().len()
}
