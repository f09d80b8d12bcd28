//! The first explanation of every program of `tests/programs`: whether class and lines are the ones that the program's
//! header names, the experiments that it rests on, and whether its fix holds.

use crate::{
    answers::{AnswerKey, KeptAnswers, PLAIN, TimedAnswer},
    docs,
    judged::{Judged, expectations},
    table::{PrintedTable, median},
};
use anyhow::{Context, Result};
use std::time::Duration;
use unsnarl_core::{BugKind, Certainty, Explanation, diagnosis::FailingShare};
use unsnarl_e2e::{Expectation, TestProgram};

/// Explains the programs of these names, all when there are none; all of them go into the docs.
pub fn run(names: &[String]) -> Result<()> {
    let all = TestProgram::names()?;
    let programs = if names.is_empty() { &all } else { names };
    let mut answers = KeptAnswers::open()?;
    let mut table = PrintedTable::new(&[
        "program",
        "expected",
        "told as",
        "verdict",
        "fail with it",
        "fail without it",
        "fix",
        "seconds",
    ]);
    let mut counts = ExplainCounts::default();
    let question = AnswerKey {
        tries_fixes: true,
        ..PLAIN
    };
    for name in programs {
        let program = TestProgram::open(name)?;
        let answer = answers
            .get(&program, &question)
            .with_context(|| name.clone())?;
        counts.times.push(answer.time);
        for row in rows(&program, answer, &mut counts) {
            table.row(row);
        }
    }
    let text = format!("{table}\n{}", counts.in_words());
    println!("{text}");
    match names.is_empty() {
        true => docs::replace("explain.md", "programs", &text),
        false => Ok(()),
    }
}

#[derive(Default)]
struct ExplainCounts {
    bugs: usize,
    kinds: usize,
    right: usize,
    confirmed: usize,
    quiet: [usize; 2],
    sequential: [usize; 2],
    fixes: [usize; 2],
    times: Vec<Duration>,
}

impl ExplainCounts {
    fn in_words(&self) -> String {
        let ExplainCounts {
            bugs,
            kinds,
            right,
            confirmed,
            quiet,
            sequential,
            fixes,
            times,
        } = self;
        let middle = median(times).unwrap_or_default().as_secs_f64();
        let most = times.iter().max().copied().unwrap_or_default();
        let most = most.as_secs_f64();
        format!(
            "Of {bugs} bugs {kinds} have the right class, {right} the right class and lines; {confirmed} explanations \
             are confirmed. Of {} suggested fixes {} hold by `unsnarl verify`. Without an explanation are {} of {} \
             programs without a bug; {} of {} sequential ones are called so. `unsnarl explain` takes {middle:.1} s in \
             the middle, {most:.1} s at most.",
            fixes[1], fixes[0], quiet[0], quiet[1], sequential[0], sequential[1]
        )
    }
}

fn rows(
    program: &TestProgram,
    answer: &TimedAnswer,
    counts: &mut ExplainCounts,
) -> Vec<Vec<String>> {
    match program.expectation.kinds.as_slice() {
        [] => {
            let is_quiet = answer.explanations.is_empty();
            count(&mut counts.quiet, is_quiet);
            vec![without_bug(program, "nothing", is_quiet, answer)]
        }
        [BugKind::Sequential] => {
            let [told] = answer.explanations.as_slice() else {
                count(&mut counts.sequential, false);
                return vec![without_bug(program, "sequential", false, answer)];
            };
            let is_told = told.kind == BugKind::Sequential;
            count(&mut counts.sequential, is_told);
            vec![without_bug(program, "sequential", is_told, answer)]
        }
        _ => expectations(program)
            .into_iter()
            .map(|expectation| bug(program, expectation, answer, counts))
            .collect(),
    }
}

fn count([so, all]: &mut [usize; 2], is_so: bool) {
    *so += usize::from(is_so);
    *all += 1;
}

/// The row of a program from which a single answer is expected: nothing, or that the schedule does not matter.
fn without_bug(
    program: &TestProgram,
    expected: &str,
    is_so: bool,
    answer: &TimedAnswer,
) -> Vec<String> {
    let told = if is_so { expected } else { "something else" };
    let verdict = if is_so { "right" } else { "wrong" };
    row(program, [expected, told, verdict, "", "", ""], answer.time)
}

fn bug(
    program: &TestProgram,
    expectation: &Expectation,
    answer: &TimedAnswer,
    counts: &mut ExplainCounts,
) -> Vec<String> {
    let judged = answer.judge(program, expectation);
    let index = answer.told(program, expectation);
    let told = index.and_then(|index| answer.explanations.get(index));
    let fix = index.and_then(|index| answer.fixes.get(index));
    let fix = fix.map_or("", String::as_str);
    counts.bugs += 1;
    counts.kinds += usize::from(matches!(judged, Judged::Right | Judged::WrongLines));
    counts.right += usize::from(judged == Judged::Right);
    counts.confirmed += usize::from(told.is_some_and(is_confirmed));
    if !fix.is_empty() {
        count(&mut counts.fixes, fix == "holds");
    }
    let expected: Vec<&str> = expectation.kinds.iter().map(|kind| kind.word()).collect();
    let [with, without] = shares(told);
    let kind = told.map_or("nothing", |told| told.kind.word());
    let verdict = judged.to_string();
    let cells = [&expected.join(" or "), kind, &verdict, &with, &without, fix];
    row(program, cells, answer.time)
}

fn is_confirmed(told: &Explanation) -> bool {
    told.certainty == Certainty::Confirmed
}

/// The schedules that fail with what is blamed and without it, in words.
fn shares(told: Option<&Explanation>) -> [String; 2] {
    let in_words = |share: FailingShare| format!("{} of {}", share.fails, share.of);
    let evidence = told.and_then(|told| told.evidence.as_ref());
    evidence.map_or_else(Default::default, |evidence| {
        [evidence.with, evidence.without].map(in_words)
    })
}

fn row(program: &TestProgram, cells: [&str; 6], time: Duration) -> Vec<String> {
    let mut row = vec![format!("`{}`", program.name)];
    row.extend(cells.map(str::to_owned));
    row.push(format!("{:.1}", time.as_secs_f64()));
    row
}
