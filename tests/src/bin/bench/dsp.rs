//! Differential schedule projections of the programs of their paper: the values of the tables in its section 5, and
//! the time from a failing run to its projection, by the number of accesses.

mod paths;
mod solver;
mod subjects;

use crate::{docs, table::PrintedTable};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::time::{Duration, Instant};
use subjects::{DspRun, DspSubject, RUNS, SUBJECTS, TARGETS};

/// The page with the tables.
const PAGE: &str = "engines/dsp.md";
/// Executions of each order.
const TIMES: &str = "10";
/// Time for a question; a question that it does not suffice for is reported.
const BUDGET: &str = "60s";

/// Measures what the words ask for.
pub fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => {
            tables()?;
            growth()?;
            paths::paths()?;
            solver::solver()
        }
        ["tables"] => tables(),
        ["paths"] => paths::paths(),
        ["solver"] => solver::solver(),
        ["growth"] => growth(),
        [name] => {
            let subject = SUBJECTS.iter().find(|subject| subject.theirs == *name);
            let subject = subject.with_context(|| format!("no subject is called {name}"))?;
            let recorded = subject.record()?.with_context(none_fails)?;
            println!("{}", MeasuredDsp::of(&recorded, &[])?.document);
            Ok(())
        }
        _ => bail!(
            "expected `tables`, `growth`, `paths`, `solver`, a name or nothing, not `{}`",
            words.join(" ")
        ),
    }
}

/// The answer of `unsnarl explain` about a run.
struct MeasuredDsp {
    document: Value,
    time: Duration,
}

impl MeasuredDsp {
    fn of(recorded: &DspRun, options: &[&str]) -> Result<MeasuredDsp> {
        let words = [
            &["explain", "--engine", "dsp", "--format", "json"][..],
            &["--times", TIMES, "--budget", BUDGET],
            options,
            &[&recorded.run_file],
        ]
        .concat();
        let begin = Instant::now();
        let finished = recorded.workspace.unsnarl(&words)?;
        let time = begin.elapsed();
        let document = serde_json::from_str(&finished.stdout)
            .with_context(|| format!("no JSON:\n{finished}"))?;
        Ok(MeasuredDsp { document, time })
    }

    /// A value of the only failure mode, by its path.
    fn at(&self, path: &str) -> Option<&Value> {
        let value = self.document.pointer(&format!("/answers/0/dsp/0{path}"))?;
        (!value.is_null()).then_some(value)
    }

    fn number(&self, path: &str) -> String {
        match self.at(path) {
            Some(Value::Number(number)) if number.is_f64() => {
                format!("{:.0}", number.as_f64().unwrap_or_default())
            }
            Some(value) => value.to_string(),
            None => "-".to_owned(),
        }
    }

    /// Notes about questions that the solver did not get to.
    fn unsolved(&self) -> Vec<String> {
        let notes = self.at("/notes").and_then(Value::as_array);
        let notes = notes.into_iter().flatten().filter_map(Value::as_str);
        let unsolved =
            notes.filter(|note| note.contains("not solved for") || note.contains("solving:"));
        unsolved.map(str::to_owned).collect()
    }

    /// `fails 10/10, passes 10/10`.
    fn executed(&self) -> String {
        let number = |name: &str| self.number(&format!("/confirmed/{name}"));
        match self.at("/confirmed") {
            Some(_) => format!(
                "fails {}/{}, passes {}/{}",
                number("fails"),
                number("of_fails"),
                number("passes"),
                number("of_passes")
            ),
            None => "no".to_owned(),
        }
    }
}

fn none_fails() -> String {
    format!("none of {RUNS} runs failed")
}

fn tables() -> Result<()> {
    let mut sizes = PrintedTable::new(&[
        "program",
        "theirs",
        "lines",
        "threads",
        "shared variables",
        "shared accesses",
        "theirs",
        "events",
        "constraints",
        "theirs",
        "unknowns",
        "theirs",
        "following the threads, ms",
        "solver, ms",
        "theirs, solver",
    ]);
    let mut projections = PrintedTable::new(&[
        "program",
        "pairs tried",
        "theirs",
        "events of the failing order",
        "events shown",
        "theirs",
        "data flows",
        "data flows that differ",
        "operations to read",
        "theirs",
        "explains",
        "finds the fix",
        "executed",
    ]);
    let mut missing = String::new();
    for subject in SUBJECTS {
        eprint!("{}, {}: recording, ", subject.theirs, subject.name());
        let begin = Instant::now();
        let Some(recorded) = subject.record()? else {
            eprintln!("{}", none_fails());
            missing.push_str(&format!("\n{}: {}.\n", subject.name(), none_fails()));
            continue;
        };
        eprint!("{:.1} s; explaining, ", begin.elapsed().as_secs_f64());
        let solved = MeasuredDsp::of(&recorded, &["--solve"])?;
        eprint!("{:.1} s; ", solved.time.as_secs_f64());
        // Solving may have taken all the time.
        let measured = match solved.at("/confirmed") {
            Some(_) => None,
            None => Some(MeasuredDsp::of(&recorded, &[])?),
        };
        let measured = measured.as_ref().unwrap_or(&solved);
        eprintln!("executed: {}", measured.executed());
        for note in solved.unsolved() {
            eprintln!("  {note}");
            missing.push_str(&format!("\n{}: {note}.\n", subject.name()));
        }
        sizes.row(size_row(subject, &recorded, &solved));
        projections.row(projection_row(subject, &recorded, measured)?);
    }
    let text = format!("{sizes}\n{projections}{missing}");
    println!("{text}");
    docs::replace(PAGE, "tables", &text)
}

fn size_row(subject: &DspSubject, recorded: &DspRun, measured: &MeasuredDsp) -> Vec<String> {
    let sizes = &recorded.sizes;
    let measure = |name: &str| measured.number(&format!("/measured/{name}"));
    vec![
        subject.name(),
        subject.theirs.to_owned(),
        recorded.lines.to_string(),
        sizes.threads.to_string(),
        sizes.variables.to_string(),
        sizes.accesses.to_string(),
        subject.accesses.to_string(),
        sizes.events.to_string(),
        measure("constraints"),
        subject.constraints.to_owned(),
        measure("variables"),
        subject.variables.to_owned(),
        measure("symbolic_ms"),
        measure("solver_ms"),
        subject.solver.to_owned(),
    ]
}

fn projection_row(
    subject: &DspSubject,
    recorded: &DspRun,
    measured: &MeasuredDsp,
) -> Result<Vec<String>> {
    let count = |name: &str| measured.number(&format!("/projection/counts/{name}"));
    let judged = recorded.judge(measured.at("/projection"))?;
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    Ok(vec![
        subject.name(),
        measured.number("/measured/tried"),
        subject.pairs.to_owned(),
        count("events"),
        count("shown"),
        subject.shown.to_owned(),
        count("flows"),
        count("variations"),
        count("to_read"),
        subject.to_read.to_owned(),
        yes(judged.explains),
        yes(judged.finds_fix),
        measured.executed(),
    ])
}

/// Time from a recorded failing run to its projection.
fn growth() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "program",
        "shared accesses",
        "events",
        "following the threads, ms",
        "looking for another order, ms",
        "pairs tried",
        "whole command without executing, ms",
        "executing, ms",
        "executed",
    ]);
    for subject in TARGETS {
        eprintln!("{} ...", subject.name());
        let recorded = subject.record()?.with_context(none_fails)?;
        let plain = MeasuredDsp::of(&recorded, &["--no-run"])?;
        let executed = MeasuredDsp::of(&recorded, &[])?;
        let measure = |name: &str| plain.number(&format!("/measured/{name}"));
        table.row(vec![
            subject.name(),
            recorded.sizes.accesses.to_string(),
            recorded.sizes.events.to_string(),
            measure("symbolic_ms"),
            measure("search_ms"),
            measure("tried"),
            format!("{:.0}", plain.time.as_secs_f64() * 1000.0),
            executed.number("/measured/executing_ms"),
            executed.executed(),
        ]);
    }
    println!("{table}");
    docs::replace(PAGE, "growth", &table.to_string())
}
