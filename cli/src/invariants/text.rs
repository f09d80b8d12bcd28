//! Error invariants for reading.

use super::{Explained, FailureMode, InvariantAnswer};
use crate::{explain::stopped, message};
use anstyle::{AnsiColor, Style};
use unsnarl_core::{diagnosis::Perturbation, facts::short, render::MOST_COLUMN};
use unsnarl_symbolic::invariants::{ToldInvariant, ToldInvariants};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const HOLDS: Style = AnsiColor::Green.on_default();
/// Length at which source text is cut.
const TEXT: usize = 60;
/// Number of assumptions that are named.
const NAMED: usize = 5;

/// Prints the engine's answer about a corpus.
pub fn print(answer: &InvariantAnswer) {
    let told = answer
        .failures
        .iter()
        .filter(|one| one.told.is_ok())
        .count();
    let count = match (told, answer.failures.len()) {
        (_, 0) => "nothing".to_owned(),
        (1, 1) => "1 way to fail".to_owned(),
        (told, all) if told == all => format!("{all} ways to fail"),
        (told, all) => format!("{told} of {all} ways to fail"),
    };
    outln!("{BOLD}invariants:{BOLD:#} {count}");
    for failure in &answer.failures {
        outln!();
        match &failure.told {
            Ok(explained) => print_explained(explained, failure),
            Err(reason) => {
                outln!("{}: what had to be true for it is not known", failure.what);
                message::warning(reason);
            }
        }
        failure.notes.iter().for_each(|note| message::note(note));
    }
    if let Some(reason) = stopped(answer.stopped) {
        message::warning(&format!("invariants ended early: {reason}"));
    }
    answer.notes.iter().for_each(|note| message::note(note));
}

fn print_explained(explained: &Explained, failure: &FailureMode) {
    let told = &explained.told;
    outln!("{ERROR}error:{ERROR:#} {}\n", failure.what);
    if told.is_partial {
        let why = stopped(explained.stopped).unwrap_or_else(|| "the analysis ended early".into());
        outln!("  {DIM}... what came before is not told: {why}{DIM:#}");
    }
    print_lines(told);
    outln!("\n  {}", size(told));
    outln!("  {}", perturbed(explained));
    let runs = match failure.runs.len() {
        1 => explained.run.clone(),
        all => format!("{} and {} more", explained.run, all - 1),
    };
    outln!("  {DIM}Fails so in {runs}.{DIM:#}");
    match told.too_long {
        0 => {}
        1 => message::note("one more condition is too long to be read"),
        more => message::note(&format!("{more} more conditions are too long to be read")),
    }
    print_taken(&told.taken_as_recorded);
}

fn print_lines(told: &ToldInvariants) {
    let width = |part: &dyn Fn(usize) -> usize| {
        let widest = (0..told.lines.len()).map(part).max();
        widest.unwrap_or(0).min(MOST_COLUMN)
    };
    let of = |at: usize| told.lines.get(at);
    let thread = width(&|at| of(at).map_or(0, |line| line.thread.chars().count()));
    let place = width(&|at| of(at).map_or(0, |line| short(&line.place).chars().count()));
    let number = told.lines.len().to_string().len();
    held(told, None, number);
    for (at, line) in told.lines.iter().enumerate() {
        let (who, where_) = (&line.thread, short(&line.place));
        let text: String = line.place.text.chars().take(TEXT).collect();
        let does = &line.does;
        let shown = at + 1;
        let row = format!("  {shown:number$} {who:thread$}  {where_:place$}  {text:50}  {does}");
        match line.fails {
            true => outln!("{ERROR}{}{ERROR:#}", row.trim_end()),
            false => outln!("{}", row.trim_end()),
        }
        held(told, Some(at), number);
    }
}

/// Prints the conditions that begin to hold behind a line.
fn held(told: &ToldInvariants, after: Option<usize>, indent: usize) {
    for held in told.invariants.iter().filter(|held| held.after == after) {
        let pad = " ".repeat(indent + 4);
        let values = held.values.as_ref().map(|values| format!("  ({values})"));
        let (values, reach) = (values.unwrap_or_default(), reach(held, told));
        outln!(
            "{pad}{HOLDS}{}{HOLDS:#}{DIM}{values}{reach}{DIM:#}",
            held.text
        );
    }
}

/// The line up to which a condition has to hold, if that is not the next one.
fn reach(held: &ToldInvariant, told: &ToldInvariants) -> String {
    let next = held.after.map_or(0, |after| after + 1);
    match held.until {
        until if until == next => String::new(),
        until if until + 1 == told.lines.len() => "  until it fails".to_owned(),
        until => format!("  until {}", until + 1),
    }
}

/// The result of other schedules with the same steps.
fn perturbed(explained: &Explained) -> String {
    let done = match &explained.perturbed {
        None => {
            return "Not checked in other schedules: nothing is executed (--no-run).".to_owned();
        }
        Some(Err(why)) => return format!("Not checked in other schedules: {why}"),
        Some(Ok(done)) => done,
    };
    let Perturbation { of, fails } = *done;
    match (of, of - fails) {
        (0, _) => {
            "Not checked in other schedules: none was found that has these steps in this order."
                .to_owned()
        }
        (1, 0) => "Checked: another schedule with these steps in this order fails, too.".to_owned(),
        (_, 0) => {
            format!("Checked: all of {of} other schedules with these steps in this order fail.")
        }
        (_, passes) => format!(
            "Of {of} other schedules with these steps in this order {passes} do not fail so: the order of steps that are not shown matters as well."
        ),
    }
}

/// The share of the run that matters.
fn size(told: &ToldInvariants) -> String {
    let counts = &told.counts;
    let minimal = match told.is_minimal {
        true => "; without any of them it would not fail for certain",
        false => "",
    };
    format!(
        "{} of {} steps matter, {} of {} variables ({}: {}){minimal}.",
        counts.kept,
        counts.statements,
        counts.kept_variables,
        counts.variables,
        told.level,
        told.why
    )
}

fn print_taken(taken: &[String]) {
    for what in taken.iter().take(NAMED) {
        message::note(&format!("taken as recorded: {what}"));
    }
    if taken.len() > NAMED {
        message::note(&format!(
            "{} more were taken as recorded",
            taken.len() - NAMED
        ));
    }
}
