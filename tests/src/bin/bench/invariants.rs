//! Error invariants of the bug kernels of their paper: the values of its Table 1, and the time by the length of the
//! trace.

mod builds;
mod following;
mod subjects;

use crate::{docs, table::PrintedTable};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use subjects::{FailingRun, InvariantSubject, LARGER, SUBJECTS, record};
use unsnarl_e2e::shows;

/// The page with the tables.
const PAGE: &str = "engines/invariants.md";
/// The levels of their table, lightest first.
const LEVELS: [&str; 4] = ["ds", "ds+hs", "ds+cs", "ds+cs+hs"];

/// Measures what the words ask for.
pub fn run(words: &[String]) -> Result<()> {
    let all: Vec<&str> = words.iter().map(String::as_str).collect();
    match all.as_slice() {
        [] => {
            builds::builds(&[])?;
            kernels()?;
            growth()?;
            following::following()
        }
        ["builds", ..] => builds::builds(words.get(1..).unwrap_or_default()),
        ["kernels"] => kernels(),
        ["growth"] => growth(),
        ["following"] => following::following(),
        [name] => {
            let recorded = record(name, None)?;
            for level in LEVELS {
                let measured = MeasuredInvariants::of(&recorded, level)?;
                println!("{level}: {}\n{}", measured.cell(&recorded), measured.text);
            }
            Ok(())
        }
        _ => bail!(
            "expected `builds`, `kernels`, `growth`, `following`, a name or nothing, not `{}`",
            words.join(" ")
        ),
    }
}

/// The answer of `unsnarl explain` about a run at a level.
struct MeasuredInvariants {
    /// The row of the only failure mode.
    row: Value,
    text: String,
}

impl MeasuredInvariants {
    fn of(recorded: &FailingRun, level: &str) -> Result<MeasuredInvariants> {
        let file = recorded.file.display().to_string();
        let words = ["explain", "--engine", "invariants", "--level", level];
        let words = [&words[..], &["--format", "json", &file]].concat();
        let finished = recorded.workspace.unsnarl(&words)?;
        let document: Value = serde_json::from_str(&finished.stdout)
            .with_context(|| format!("no JSON:\n{finished}"))?;
        let row = document.pointer("/answers/0/invariants/0");
        let row = row
            .with_context(|| format!("no answer:\n{finished}"))?
            .clone();
        let text = serde_json::to_string_pretty(&row)?;
        Ok(MeasuredInvariants { row, text })
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.row.pointer(&format!("/told/counts/{name}"))?.as_u64()
    }

    /// Percentage of the statements, or of the variables, that are kept.
    fn percent(&self, kept: &str, all: &str) -> Option<f64> {
        let (kept, all) = (self.count(kept)?, self.count(all)?);
        (all > 0).then(|| 100.0 * kept as f64 / all as f64)
    }

    fn slice(&self) -> Option<f64> {
        self.percent("kept", "statements")
    }

    fn variables(&self) -> Option<f64> {
        self.percent("kept_variables", "variables")
    }

    fn shows(&self, recorded: &FailingRun) -> bool {
        let expectation = &recorded.program.expectation;
        let told = self.row.get("told");
        told.is_some_and(|told| shows(expectation, &recorded.run, told))
    }

    /// Milliseconds from the run to the invariants, without and with following the threads.
    fn milliseconds(&self) -> Option<(f64, f64)> {
        let at = |name: &str| self.row.pointer(&format!("/measured/{name}"))?.as_f64();
        let (invariants, symbolic) = (at("invariants_ms")?, at("symbolic_ms")?);
        Some((invariants, invariants + symbolic))
    }

    /// The reason for which there is no answer, in a line.
    fn reason(&self) -> String {
        let reason = self.row.get("reason").and_then(Value::as_str);
        let first = reason.and_then(|reason| reason.lines().next());
        first.unwrap_or("-").to_owned()
    }

    /// `35 / 54 yes`: slice, variables, whether it shows the bug.
    fn cell(&self, recorded: &FailingRun) -> String {
        match (self.slice(), self.variables()) {
            (Some(slice), Some(variables)) => {
                let shows = if self.shows(recorded) { "yes" } else { "-" };
                format!("{slice:.0} / {variables:.0} {shows}")
            }
            _ => "none".to_owned(),
        }
    }
}

/// Sums over the programs.
#[derive(Default)]
struct Sums {
    slices: [Vec<f64>; LEVELS.len()],
    variables: [Vec<f64>; LEVELS.len()],
    shown: [usize; LEVELS.len()],
    times: Vec<f64>,
    shown_somewhere: usize,
    not_shown: Vec<&'static str>,
}

fn kernels() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "program",
        "theirs",
        "bug",
        "lines",
        "instructions",
        "theirs",
        LEVELS[0],
        LEVELS[1],
        LEVELS[2],
        LEVELS[3],
        "time, ms",
        "lightest",
    ]);
    let mut sums = Sums::default();
    for subject in SUBJECTS {
        eprintln!("{} ...", subject.program);
        let recorded = record(subject.program, None)?;
        table.row(row(subject, &recorded, &mut sums)?);
    }
    let text = format!("{table}\n{}", summary(&sums));
    println!("{text}");
    docs::replace(PAGE, "kernels", &text)
}

fn row(subject: &InvariantSubject, recorded: &FailingRun, sums: &mut Sums) -> Result<Vec<String>> {
    let mut cells = Vec::new();
    let (mut instructions, mut times, mut lightest) = (None, Vec::new(), None);
    for (at, level) in LEVELS.iter().enumerate() {
        let measured = MeasuredInvariants::of(recorded, level)?;
        cells.push(measured.cell(recorded));
        instructions = instructions.or(measured.count("statements"));
        times.extend(measured.milliseconds().map(|(invariants, _)| invariants));
        if let Some(slices) = sums.slices.get_mut(at) {
            slices.extend(measured.slice());
        }
        if let Some(variables) = sums.variables.get_mut(at) {
            variables.extend(measured.variables());
        }
        if measured.shows(recorded) {
            lightest = lightest.or(Some(*level));
            if let Some(shown) = sums.shown.get_mut(at) {
                *shown += 1;
            }
        }
    }
    match lightest {
        Some(_) => sums.shown_somewhere += 1,
        None => sums.not_shown.push(subject.program),
    }
    let most = times.iter().copied().fold(0.0, f64::max);
    sums.times.extend(times);
    let kind = recorded.program.expectation.kinds.first();
    let kind = kind.map(serde_json::to_value).transpose()?;
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
    let absence = if subject.is_absence {
        ", by what did not happen"
    } else {
        ""
    };
    let head = vec![
        format!("`{}`", subject.program),
        subject.theirs.to_owned(),
        format!("{}{absence}", kind.replace('-', " ")),
        recorded.lines.to_string(),
        instructions.map_or("-".to_owned(), |count| count.to_string()),
        subject.instructions.to_owned(),
    ];
    let lightest = lightest.unwrap_or("none").to_owned();
    Ok([head, cells, vec![format!("{most:.0}"), lightest]].concat())
}

fn summary(sums: &Sums) -> String {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let mut lines = vec!["| | theirs | ours |".to_owned(), "|---|---|---|".to_owned()];
    // Means and counts of the last row of their Table 1.
    let theirs = [
        ("27", "50.5", 22),
        ("35", "54", 47),
        ("45", "67.7", 61),
        ("58.8", "72", 88),
    ];
    for (at, (level, (slice, variables, shown))) in LEVELS.iter().zip(theirs).enumerate() {
        let empty = Vec::new();
        let ours = (
            sums.slices.get(at).unwrap_or(&empty),
            sums.variables.get(at).unwrap_or(&empty),
        );
        let shown_here = sums.shown.get(at).copied().unwrap_or_default();
        lines.push(format!(
            "| {level}: slice %, variables %, shows the bug | {slice}, {variables}, {shown} of 90 traces | {:.0}, {:.0}, {shown_here} of {} |",
            mean(ours.0),
            mean(ours.1),
            SUBJECTS.len()
        ));
    }
    let worst = sums.times.iter().copied().fold(0.0, f64::max);
    lines.push(format!(
        "| time for a slice with its invariants, mean and worst, ms | 2430, 168800 | {:.0}, {worst:.0} |",
        mean(&sums.times)
    ));
    let not = match sums.not_shown.as_slice() {
        [] => "every program".to_owned(),
        names => format!(
            "{} of {}; not of {}",
            sums.shown_somewhere,
            SUBJECTS.len(),
            names.join(", ")
        ),
    };
    lines.push(format!(
        "| the bug shows at some level | 36 of 38 programs | {not} |"
    ));
    lines.join("\n")
}

/// Time by the length of the trace.
fn growth() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "program",
        "events",
        "instructions",
        "level",
        "slice",
        "with following the threads, ms",
        "invariants, ms",
        "told to the beginning",
    ]);
    for (name, argument) in LARGER {
        eprintln!("{name} {argument} ...");
        let recorded = record(name, Some(argument))?;
        for level in LEVELS {
            let measured = MeasuredInvariants::of(&recorded, level)?;
            table.row(growth_row((name, argument), level, &recorded, &measured)?);
        }
    }
    println!("{table}");
    docs::replace(PAGE, "growth", &table.to_string())
}

fn growth_row(
    (name, argument): (&str, &str),
    level: &str,
    recorded: &FailingRun,
    measured: &MeasuredInvariants,
) -> Result<Vec<String>> {
    let number = |name: &str| {
        measured
            .count(name)
            .map_or("-".to_owned(), |count| count.to_string())
    };
    let times = measured.milliseconds();
    let time = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
    ensure!(!recorded.run.events.is_empty(), "an empty run");
    let is_partial = measured
        .row
        .pointer("/told/is_partial")
        .and_then(Value::as_bool);
    Ok(vec![
        format!("`{name} {argument}`"),
        recorded.run.events.len().to_string(),
        number("statements"),
        level.to_owned(),
        number("kept"),
        time(times.map(|(_, whole)| whole)),
        time(times.map(|(invariants, _)| invariants)),
        match is_partial {
            Some(false) => "yes".to_owned(),
            Some(true) => "no".to_owned(),
            None => measured.reason(),
        },
    ])
}
