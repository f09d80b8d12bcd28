//! Answers of `unsnarl explain` for every program of `tests/programs`: whether the class and the lines of the first
//! explanation are the ones that the program's header names, and the result of running both orders again.

use crate::{
    docs,
    table::{Table, median},
};
use anyhow::{Context, Result};
use std::time::{Duration, Instant};
use unsnarl_core::{BugKind, Explanation, Verdict};
use unsnarl_e2e::{Compiler, Expectation, Finished, Program, Workspace};

/// Schedules in which a program with a bug must fail.
const RUNS: &str = "2000";
/// Schedules of a program without a bug.
const CORRECT_RUNS: &str = "300";
/// Failing runs, of programs with one bug and with two.
const FAILING: [&str; 2] = ["3", "60"];

/// Explains the programs of these names, all when there are none; all of them go into the docs.
pub fn run(names: &[String]) -> Result<()> {
    let all = Program::names()?;
    let programs = if names.is_empty() { &all } else { names };
    let mut table = Table::new(&[
        "program",
        "expected",
        "told as",
        "lines",
        "this order fails",
        "the other passes",
        "fix",
        "seconds",
    ]);
    let mut counts = Counts::default();
    for name in programs {
        eprintln!("{name} ...");
        let program = Program::open(name)?;
        let rows = measure(&program, &mut counts).with_context(|| name.clone())?;
        rows.into_iter().for_each(|row| table.row(row));
    }
    let text = format!("{table}\n{}", counts.in_words());
    println!("{text}");
    match names.is_empty() {
        true => docs::replace("explain.md", "programs", &text),
        false => Ok(()),
    }
}

#[derive(Default)]
struct Counts {
    bugs: usize,
    kinds: usize,
    lines: usize,
    confirmed: usize,
    quiet: [usize; 2],
    sequential: [usize; 2],
    fixes: usize,
    times: Vec<u128>,
}

impl Counts {
    fn in_words(&self) -> String {
        let Counts {
            bugs,
            kinds,
            lines,
            confirmed,
            quiet,
            sequential,
            fixes,
            times,
        } = self;
        let middle = Duration::from_millis(median(times).unwrap_or(0) as u64).as_secs_f64();
        let most = times.iter().max().copied().unwrap_or(0);
        let most = Duration::from_millis(most as u64).as_secs_f64();
        format!(
            "Of {bugs} bugs {kinds} have the right class, {lines} the right class and lines, {confirmed} are confirmed \
             by running both orders, of {fixes} the suggested fix holds by `unsnarl verify`. Without an explanation are {} of {} programs \
             without a bug; {} of {} sequential ones are called so. `unsnarl explain` takes {middle:.1} s in the \
             middle, {most:.1} s at most.",
            quiet[0], quiet[1], sequential[0], sequential[1]
        )
    }
}

fn measure(program: &Program, counts: &mut Counts) -> Result<Vec<Vec<String>>> {
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, Compiler::Clang)?;
    let is_sequential = program.expectation.kinds == [BugKind::Sequential];
    let options = match (program.expectation.kinds.is_empty(), &program.second) {
        (true, _) => vec!["-n", CORRECT_RUNS],
        (_, None) if is_sequential => vec!["-n", "60"],
        (_, None) => vec!["-n", RUNS, "--until-failing", FAILING[0]],
        (_, Some(_)) => vec!["-n", RUNS, "--until-failing", FAILING[1]],
    };
    workspace.record(&[&options[..], &program.recording()[..]].concat(), &command)?;
    let begin = Instant::now();
    let (_, explanations) = workspace.explain()?;
    let time = begin.elapsed();
    counts.times.push(time.as_millis());
    let name = format!("`{}`", program.name);
    if program.expectation.kinds.is_empty() {
        let is_quiet = explanations.is_empty();
        counts.quiet[0] += usize::from(is_quiet);
        counts.quiet[1] += 1;
        let told = if is_quiet { "nothing" } else { "something" };
        return Ok(vec![row(&name, "nothing", told, ["", "", "", ""], time)]);
    }
    if is_sequential {
        let is_told = explanations.len() == 1
            && explanations
                .iter()
                .all(|one| one.kind == BugKind::Sequential);
        counts.sequential[0] += usize::from(is_told);
        counts.sequential[1] += 1;
        let told = if is_told {
            "sequential"
        } else {
            "something else"
        };
        return Ok(vec![row(&name, "sequential", told, ["", "", "", ""], time)]);
    }
    let expected = [Some(&program.expectation), program.second.as_ref()];
    let expected: Vec<&Expectation> = expected.into_iter().flatten().collect();
    let mut rows = Vec::new();
    for expectation in &expected {
        let told = told_of(expectation, &explanations, expected.len(), program);
        let fix = fix(&workspace, told)?;
        rows.push(bug(&name, expectation, told, &fix, program, time, counts));
    }
    Ok(rows)
}

/// The explanation that is judged: the first one, and with several bugs the first right one.
fn told_of<'e>(
    expectation: &Expectation,
    explanations: &'e [Explanation],
    bugs: usize,
    program: &Program,
) -> Option<&'e Explanation> {
    let rank = expectation.rank(explanations, &program.source);
    match rank.filter(|_| bugs > 1) {
        Some(rank) => explanations.get(rank - 1),
        None => explanations.first(),
    }
}

fn bug(
    name: &str,
    expectation: &Expectation,
    told: Option<&Explanation>,
    fix: &str,
    program: &Program,
    time: Duration,
    counts: &mut Counts,
) -> Vec<String> {
    counts.bugs += 1;
    let kinds: Vec<String> = expectation.kinds.iter().map(|kind| word(*kind)).collect();
    let Some(told) = told else {
        return row(
            name,
            &kinds.join(" or "),
            "nothing",
            ["no", "", "", fix],
            time,
        );
    };
    let is_kind = expectation.kinds.contains(&told.kind);
    let is_right = expectation.check(told, &program.source).is_ok();
    let is_confirmed = told
        .executed
        .as_ref()
        .is_some_and(|executed| executed.verdict == Verdict::Confirmed);
    counts.kinds += usize::from(is_kind);
    counts.lines += usize::from(is_right);
    counts.confirmed += usize::from(is_confirmed);
    counts.fixes += usize::from(fix == "holds");
    let tally = told.confirmed.unwrap_or_default();
    let share = |part: u32, of: u32| match of {
        0 => String::new(),
        of => format!("{part}/{of}"),
    };
    let lines = if is_right { "right" } else { "no" };
    let fails = share(tally.fails, tally.of_fails);
    let passes = share(tally.passes, tally.of_passes);
    let kind = word(told.kind);
    row(
        name,
        &kinds.join(" or "),
        &kind,
        [lines, &fails, &passes, fix],
        time,
    )
}

/// Result of the first fix that is suggested for an explanation, by `unsnarl verify`.
fn fix(workspace: &Workspace, told: Option<&Explanation>) -> Result<String> {
    let Some(told) = told else {
        return Ok(String::new());
    };
    let Finished { status, .. } = workspace.unsnarl(&["verify", &told.id])?;
    Ok(match status {
        Some(0) => "holds".to_owned(),
        Some(1) => "does not hold".to_owned(),
        // No fix is suggested, or this unsnarl tries none.
        _ => String::new(),
    })
}

fn row(name: &str, expected: &str, told: &str, cells: [&str; 4], time: Duration) -> Vec<String> {
    let cells = cells.map(str::to_owned);
    let mut row = vec![name.to_owned(), expected.to_owned(), told.to_owned()];
    row.extend(cells);
    row.push(format!("{:.1}", time.as_secs_f64()));
    row
}

/// The class as people and the JSON write it.
fn word(kind: BugKind) -> String {
    let word = serde_json::to_value(kind).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}
