//! Projections for reading, and as pictures.

use crate::{explain::stopped, message, replay, terminal};
use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use unsnarl_core::{Corpora, findings::by_failure};
use unsnarl_lab::dsp::{ExecutedProjection, ProjectionAnswer, WayToFail};
use unsnarl_symbolic::dsp::render;
use unsnarl_trace::shell;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
/// Width of the two orders where nothing is known of the terminal.
const USUAL_COLUMNS: usize = 110;

/// Prints the engine's answer about a corpus.
pub fn print(answer: &ProjectionAnswer) {
    let told = answer.failures.iter().filter(|one| one.told.is_ok());
    let count = match (told.count(), answer.failures.len()) {
        (_, 0) => "nothing".to_owned(),
        (told, all) if told == all => format!("{all} {}", ways(all)),
        (told, all) => format!("{told} of {all} {}", ways(all)),
    };
    outln!("{BOLD}dsp:{BOLD:#} {count}");
    for failure in &answer.failures {
        outln!();
        match &failure.told {
            Ok(projection) => print_projection(projection, failure),
            Err(reason) => {
                outln!("{}: no other order is told of it", failure.what);
                message::warning(reason);
            }
        }
        failure.notes.iter().for_each(|note| message::note(note));
    }
    if let Some(reason) = stopped(answer.stopped) {
        message::warning(&format!("dsp ended early: {reason}"));
    }
    answer.notes.iter().for_each(|note| message::note(note));
}

fn ways(number: usize) -> &'static str {
    match number {
        1 => "way to fail",
        _ => "ways to fail",
    }
}

fn print_projection(projection: &ExecutedProjection, failure: &WayToFail) {
    outln!("{ERROR}error:{ERROR:#} {}\n", failure.what);
    let columns = terminal::columns().unwrap_or(USUAL_COLUMNS);
    outln!("{}", render::text(&projection.dsp, columns).trim_end());
    outln!("\n  {}", certainty(projection));
    let runs = match failure.runs.len() {
        1 => projection.run.clone(),
        all => format!("{} and {} more", projection.run, all - 1),
    };
    outln!("  {DIM}Fails so in {runs}.{DIM:#}");
}

/// A sentence about the result of executing both orders.
fn certainty(projection: &ExecutedProjection) -> String {
    let tally = projection.confirmed.map(|tally| {
        format!(
            "this order fails {}/{}, the other passes {}/{}",
            tally.fails, tally.of_fails, tally.passes, tally.of_passes
        )
    });
    let is_whole = projection
        .confirmed
        .is_some_and(|tally| (tally.fails, tally.passes) == (tally.of_fails, tally.of_passes));
    match (tally, &projection.unconfirmed) {
        (Some(tally), None) if is_whole => format!("Confirmed: {tally}."),
        (Some(tally), None) => format!("Not confirmed: {tally}."),
        (Some(tally), Some(reason)) => format!("Not confirmed: {reason} ({tally})."),
        (None, Some(reason)) => format!("Not confirmed: {reason}."),
        (None, None) => "Not confirmed.".to_owned(),
    }
}

/// Prints the projections as graphs for Graphviz, one after the other.
pub fn print_dot(answers: &[&ProjectionAnswer]) -> Result<()> {
    for projection in projections(answers)? {
        anstream::print!("{}", render::dot(&projection.dsp));
    }
    Ok(())
}

/// Number of ways to fail that are named.
const NAMED_WAYS: usize = 6;

/// Refuses a picture of runs that fail in several ways, before work is spent on each of them.
pub fn check_one_way(corpora: &Corpora) -> Result<()> {
    let ways = corpora.iter().flat_map(by_failure);
    let ways: Vec<(String, String)> = ways
        .filter_map(|(what, runs)| Some((what, runs.first()?.name.clone())))
        .collect();
    if ways.len() <= 1 {
        return Ok(());
    }
    let named = ways.iter().take(NAMED_WAYS);
    let named: String = named
        .map(|(what, run)| format!("\n    {}   ({what})", pictured(run)))
        .collect();
    let more = match ways.len().saturating_sub(NAMED_WAYS) {
        0 => String::new(),
        more => format!("\n    and {more} more"),
    };
    bail!(
        "a picture shows one way to fail, and there are {}\n  next: name a run of one{named}{more}",
        ways.len()
    )
}

/// The command that draws the picture of a run.
fn pictured(run: &str) -> String {
    let file = replay::find(Path::new(run)).unwrap_or_else(|_| PathBuf::from(run));
    let file = shell::word(&file);
    format!("unsnarl explain --engine dsp --format svg {file}")
}

/// Prints the picture of the only projection.
pub fn print_svg(answers: &[&ProjectionAnswer]) -> Result<()> {
    for projection in projections(answers)? {
        anstream::print!("{}", render::svg(&projection.dsp));
    }
    Ok(())
}

fn projections<'a>(answers: &[&'a ProjectionAnswer]) -> Result<Vec<&'a ExecutedProjection>> {
    let failures = answers.iter().flat_map(|answer| &answer.failures);
    let mut projections = Vec::new();
    for failure in failures {
        match &failure.told {
            Ok(projection) => projections.push(&**projection),
            Err(reason) => message::warning(&format!("{}: {reason}", failure.what)),
        }
    }
    if projections.is_empty() {
        bail!("there is nothing to draw\n  next: unsnarl explain --engine dsp says why");
    }
    Ok(projections)
}
