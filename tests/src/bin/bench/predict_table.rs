//! Table 1 of PECAN over again: its small subjects, written anew for `tests/programs`.

use crate::{docs, predict::PAGE, table::Table};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use unsnarl_e2e::{Compiler, Program, Workspace};

/// A subject's name in the paper, the program's here, and what the paper reports of its own: races, atomicity
/// violations, ASVs, real ones, exceptions, failed re-executions.
const SUBJECTS: [(&str, &str, [u32; 6]); 10] = [
    ("Account", "account_transfer", [7, 2, 6, 15, 8, 0]),
    ("BuggyPrg", "dealt_numbers", [9, 1, 0, 10, 1, 0]),
    ("Critical", "critical_turn", [16, 14, 0, 28, 2, 0]),
    ("Loader", "table_loader", [2, 4, 0, 5, 1, 0]),
    ("Manager", "block_manager", [15, 0, 0, 14, 1, 1]),
    ("MergeSort", "merge_sort", [8, 10, 0, 8, 1, 10]),
    ("Shop", "corner_shop", [4, 0, 0, 4, 1, 0]),
    ("StringBuf", "string_buffer", [0, 1, 0, 1, 1, 0]),
    ("ArrayList", "array_list", [6, 1, 4, 11, 2, 0]),
    ("LinkedList", "linked_list", [6, 1, 7, 13, 3, 0]),
];

/// Runs recorded of each; it is predicted from the newest that passed.
const RUNS: &str = "50";

/// Measures the subjects and writes the table.
pub fn run() -> Result<()> {
    let mut table = Table::new(&[
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
        "REAL",
        "EXP",
        "F",
        "why not",
        "the paper's",
    ]);
    for (subject, name, paper) in SUBJECTS {
        eprintln!("{subject}: {name}");
        let prediction = predicted(name).with_context(|| name.to_owned())?;
        let head = [subject.to_owned(), format!("`{name}`")];
        let [races, av, asv, real, exp, failed] = paper;
        let theirs = format!("{races} + {av} + {asv}: {real}, {exp}, {failed}");
        table.row([&head[..], &cells(&prediction)?, &[theirs]].concat());
    }
    let text = format!(
        "{table}\nPredicted from the newest passing run of {RUNS} recorded ones, gcc -O0. Races, AV, ASV, deadlocks: predicted, \
         unique by their source lines; a race counts once although each of its orders is executed. The columns behind them \
         count anomalies by pattern: REAL happened when executed, EXP made the program fail, F did not happen. \
         Order: milliseconds to make and check one. The paper's: races + AV + ASV: REAL, EXP, F of its Java subjects, \
         which are other programs."
    );
    println!("{text}\n");
    docs::replace(PAGE, "table", &text)
}

/// What is predicted from a passing run of a program.
fn predicted(name: &str) -> Result<Value> {
    let workspace = Workspace::new()?;
    let program = Program::open(name)?;
    let command = program.compile(&workspace, Compiler::Gcc)?;
    workspace.record(&["-n", RUNS, "--strategy", "random"], &command)?;
    let finished = workspace.unsnarl(&["predict", "--format", "json"])?;
    ensure!(matches!(finished.status, Some(0 | 1)), "{finished}");
    let json: Value = serde_json::from_str(&finished.stdout)?;
    let first = json.pointer("/predictions/0").cloned();
    first.with_context(|| format!("no prediction:\n{finished}"))
}

fn cells(prediction: &Value) -> Result<Vec<String>> {
    let number = |path: &str| {
        prediction
            .pointer(path)
            .and_then(Value::as_u64)
            .unwrap_or(0)
    };
    let time = |path: &str| {
        prediction
            .pointer(path)
            .and_then(Value::as_f64)
            .unwrap_or(0.0)
    };
    let anomalies = prediction.get("anomalies").and_then(Value::as_array);
    let anomalies = anomalies.context("no anomalies")?;
    let orders = anomalies.len().max(1) as f64;
    let unique = |class: &str| unique(anomalies, class).to_string();
    let not = prediction.pointer("/tally/not_reproduced");
    let not = not.and_then(Value::as_object).context("no tally")?;
    let why: Vec<String> = not
        .iter()
        .map(|(why, count)| format!("{why} {count}"))
        .collect();
    let failed: u64 = not.values().filter_map(Value::as_u64).sum();
    Ok(vec![
        number("/threads").to_string(),
        number("/shared_locations").to_string(),
        number("/events").to_string(),
        format!("{:.2} ms", time("/times/analysis")),
        format!("{:.3} ms", time("/times/ordering") / orders),
        unique("race"),
        unique("atomicity-violation"),
        unique("atomic-set-violation"),
        unique("deadlock"),
        number("/tally/reproduced").to_string(),
        number("/tally/failed").to_string(),
        failed.to_string(),
        why.join(", "),
    ])
}

/// Anomalies of a class with different lines; the two orders of a race are one.
fn unique(anomalies: &[Value], class: &str) -> usize {
    let of_class = anomalies
        .iter()
        .filter(|anomaly| anomaly.get("class") == Some(&class.into()));
    let lines = |anomaly: &Value| -> Vec<u64> {
        let events = anomaly.get("events").and_then(Value::as_array);
        let lines = events.into_iter().flatten().map(|event| event.get("line"));
        let mut lines: Vec<u64> = lines.filter_map(|line| line?.as_u64()).collect();
        if class == "race" {
            lines.sort_unstable();
        }
        lines
    };
    of_class.map(lines).collect::<BTreeSet<_>>().len()
}
