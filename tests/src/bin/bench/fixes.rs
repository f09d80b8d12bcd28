//! Suggested fixes of `tests/programs`: offered or refused, and whether they hold, into `docs/fixes.md`.

use crate::{docs, table::PrintedTable};
use anyhow::{Context, Result};
use std::time::Instant;
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace};

/// Runs until a program that fails seldom is given up.
const CAP: &str = "3000";
/// Time and random schedules for each fix and each way to try it.
const LIMITS: [&str; 4] = ["--budget", "10s", "--random", "100"];

/// Results of the programs.
#[derive(Default)]
struct FixTally {
    programs: usize,
    offered: usize,
    hold: usize,
}

/// Tries the first fix that holds of each program, all programs with a bug when no name is given; with names only
/// prints.
pub fn run(names: &[String]) -> Result<()> {
    let all = TestProgram::names()?;
    let mut table = PrintedTable::new(&[
        "program",
        "fix",
        "as a constraint",
        "built and explored",
        "time",
    ]);
    let mut tally = FixTally::default();
    for name in if names.is_empty() { &all } else { names } {
        let program = TestProgram::open(name)?;
        if program.expectation.parts.is_empty() {
            continue;
        }
        eprintln!("{name} ...");
        table.row(measure(&program, &mut tally).with_context(|| name.clone())?);
    }
    let FixTally {
        programs,
        offered,
        hold,
    } = tally;
    let sum = format!(
        "Of {programs} programs with a bug {offered} got a fix, {} were refused one; {hold} of the fixes hold when they are built.",
        programs - offered
    );
    let text = format!("{table}\n{sum}");
    println!("{text}");
    match names.is_empty() {
        true => docs::replace("fixes.md", "fixes", &text),
        false => Ok(()),
    }
}

fn measure(program: &TestProgram, tally: &mut FixTally) -> Result<Vec<String>> {
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    tally.programs += 1;
    let words = [
        &["-n", CAP, "--until-failing", "3"],
        &program.recording()[..],
    ]
    .concat();
    workspace.record(&words, &command)?;
    let begin = Instant::now();
    let (_, explanations) = workspace.explain()?;
    let name = format!("`{}`", program.name);
    let Some(first) = explanations.first() else {
        return Ok(row(name, "the failure is not explained", begin));
    };
    let Some(fix) = first.fixes.first() else {
        let why = match first.not_fixed.as_slice() {
            [] => "none is known for this".to_owned(),
            reasons => reasons.join("; "),
        };
        return Ok(row(name, &format!("refused: {why}"), begin));
    };
    tally.offered += 1;
    let build = build(program)?;
    let (mut cells, mut chosen) = (["-".to_owned(), "-".to_owned()], &fix.title);
    for (number, fix) in (1..).zip(&first.fixes) {
        let id = format!("{}:{number}", first.id);
        let built = verify(&workspace, &id, &["--build", &build])?;
        cells = [said(&verify(&workspace, &id, &[])?), said(&built)];
        chosen = &fix.title;
        if built.status == Some(0) {
            tally.hold += 1;
            break;
        }
    }
    let [constraint, built] = cells;
    let time = format!("{:.1} s", begin.elapsed().as_secs_f64());
    Ok(vec![name, chosen.clone(), constraint, built, time])
}

fn row(name: String, text: &str, begin: Instant) -> Vec<String> {
    let time = format!("{:.1} s", begin.elapsed().as_secs_f64());
    vec![name, text.to_owned(), String::new(), String::new(), time]
}

fn verify(workspace: &Workspace, id: &str, more: &[&str]) -> Result<Finished> {
    workspace.unsnarl(&[&["verify", id], &LIMITS[..], more].concat())
}

/// The line that says whether the fix holds.
fn said(finished: &Finished) -> String {
    let lines = finished.stdout.lines().chain(finished.stderr.lines());
    let mut telling = lines.filter(|line| {
        line.contains("hold") && !line.starts_with("fix:") || line.starts_with("error")
    });
    let line = telling.next().unwrap_or("-");
    match line.contains("can only be tried by building") {
        true => "cannot be tried so".to_owned(),
        false => line.to_owned(),
    }
}

fn build(program: &TestProgram) -> Result<String> {
    let source = program.source.file_name().context("a source has a name")?;
    let word = if program.is_cpp() { "$CXX" } else { "$CC" };
    Ok(format!(
        "{word} -g {} -o {} -pthread",
        source.to_string_lossy(),
        program.name
    ))
}
