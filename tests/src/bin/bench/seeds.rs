//! Stability of the first explanation: ten recordings of each program of `tests/programs` that differ in their seeds.

use crate::{
    answers::{AnswerKey, KeptAnswers, PLAIN},
    docs,
    judged::{Judged, in_short, with_bug},
    table::PrintedTable,
};
use anyhow::Result;
use std::collections::BTreeMap;
use unsnarl_e2e::TestProgram;

/// The number of recordings of a program.
pub const SEEDS: u64 = 10;
/// Distance of the seeds, so large that no two recordings share a run.
const APART: u64 = 1_000_000;

/// Compares the answers for the programs of these names, all that have a bug when there are none; the result goes
/// into the docs then.
pub fn run(names: &[String]) -> Result<()> {
    let mut answers = KeptAnswers::open()?;
    let mut stabilities = Vec::new();
    for program in with_bug(names)? {
        stabilities.push(measure(&program, &mut answers)?);
    }
    let text = in_words(&stabilities);
    println!("{text}");
    match names.is_empty() {
        true => docs::replace("explain.md", "seeds", &text),
        false => Ok(()),
    }
}

/// The question about one of the recordings.
pub fn question(number: u64) -> AnswerKey<'static> {
    AnswerKey {
        seed: number * APART,
        ..PLAIN
    }
}

/// The answers for one program.
struct Stability {
    name: String,
    right: usize,
    /// Numbers of seeds by class.
    classes: BTreeMap<&'static str, usize>,
    /// Numbers of seeds by class and lines, with the verdict.
    told: BTreeMap<String, (usize, Judged)>,
}

fn measure(program: &TestProgram, answers: &mut KeptAnswers) -> Result<Stability> {
    let mut stability = Stability {
        name: program.name.clone(),
        right: 0,
        classes: BTreeMap::new(),
        told: BTreeMap::new(),
    };
    for number in 1..=SEEDS {
        let answer = answers.get(program, &question(number))?;
        let judged = answer.judge(program, &program.expectation);
        let told = answer.told(program, &program.expectation);
        let told = told.and_then(|told| answer.explanations.get(told));
        stability.right += usize::from(judged == Judged::Right);
        let class = told.map_or("nothing", |told| told.kind.word());
        *stability.classes.entry(class).or_default() += 1;
        let entry = stability.told.entry(in_short(told)).or_insert((0, judged));
        entry.0 += 1;
    }
    Ok(stability)
}

impl Stability {
    /// Number of seeds with the most frequent class.
    fn same_class(&self) -> usize {
        self.classes.values().copied().max().unwrap_or(0)
    }

    /// Number of seeds with the most frequent class and lines.
    fn same(&self) -> usize {
        self.told
            .values()
            .map(|(count, _)| *count)
            .max()
            .unwrap_or(0)
    }

    fn row(&self) -> Vec<String> {
        let mut told: Vec<(&String, &(usize, Judged))> = self.told.iter().collect();
        told.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let told = told
            .iter()
            .map(|(told, (count, judged))| format!("{count}: {told} ({judged})"));
        let told: Vec<String> = told.collect();
        vec![format!("`{}`", self.name), told.join("; ")]
    }
}

fn in_words(stabilities: &[Stability]) -> String {
    let all = stabilities.len() * SEEDS as usize;
    let share = |count: fn(&Stability) -> usize| {
        let sum: usize = stabilities.iter().map(count).sum();
        format!("{sum} of {all} ({:.1} %)", 100.0 * sum as f64 / all as f64)
    };
    let same = share(Stability::same);
    let same_class = share(Stability::same_class);
    let right = share(|one| one.right);
    let mut table = PrintedTable::new(&[
        "program",
        "number of seeds: class at the blamed lines (verdict)",
    ]);
    let flips = stabilities.iter().filter(|one| one.told.len() > 1);
    flips.for_each(|one| table.row(one.row()));
    let wrong = stabilities
        .iter()
        .filter(|one| one.told.len() == 1 && one.right == 0);
    let wrong: Vec<String> = wrong.map(|one| one.row().join(" ")).collect();
    let wrong = match wrong.is_empty() {
        true => "none".to_owned(),
        false => wrong.join("; "),
    };
    format!(
        "Of {} programs, with {SEEDS} seeds each, {same} pairs of program and seed have the program's most frequent \
         first explanation, class and lines; {same_class} have its most frequent class; {right} are right. \
         The same and not right with all seeds: {wrong}. These programs have more than one:\n\n{table}",
        stabilities.len()
    )
}
