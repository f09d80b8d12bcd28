//! Accuracy of `unsnarl explain` by the time that it may execute the program for, and its processor time.

use crate::{
    answers::{AnswerKey, KeptAnswers, PLAIN},
    budget_plot::{PlotPoint, plot},
    docs,
    judged::{Judged, expectations, with_bug},
    table::{PrintedTable, median},
};
use anyhow::Result;
use std::time::Duration;
use unsnarl_core::Certainty;
use unsnarl_e2e::TestProgram;

/// Values of `--run-budget`, in seconds.
const BUDGETS: [&str; 5] = ["0.5", "1", "3", "10", "30"];
/// The largest runs that the bound for the processor time is for.
const EVENTS: usize = 10_000;

/// Asks about the programs of these names, all that have a bug when there are none; table and plot go into the docs
/// then.
pub fn run(names: &[String]) -> Result<()> {
    let programs = with_bug(names)?;
    let mut answers = KeptAnswers::open()?;
    let mut tallies = Vec::new();
    for budget in BUDGETS {
        let mut tally = BudgetTally::default();
        for program in &programs {
            tally.add(program, budget, &mut answers)?;
        }
        tallies.push((budget, tally));
    }
    let text = in_words(&tallies);
    println!("{text}");
    if names.is_empty() {
        docs::write("explain-budget.svg", &plot(&points(&tallies)?))?;
        docs::replace("explain.md", "budget", &text)?;
    }
    Ok(())
}

/// The answers within one budget.
#[derive(Default)]
struct BudgetTally {
    bugs: usize,
    kinds: usize,
    right: usize,
    confirmed: usize,
    /// Processor times of programs with runs of up to [`EVENTS`] events.
    on_cpu: Vec<Duration>,
    longest: usize,
}

impl BudgetTally {
    fn add(
        &mut self,
        program: &TestProgram,
        budget: &str,
        answers: &mut KeptAnswers,
    ) -> Result<()> {
        let seconds = format!("{}ms", (budget.parse::<f64>()? * 1000.0) as u64);
        let question = AnswerKey {
            run_budget: Some(&seconds),
            ..PLAIN
        };
        let answer = answers.get(program, &question)?;
        for expectation in expectations(program) {
            let judged = answer.judge(program, expectation);
            let told = answer.told(program, expectation);
            let told = told.and_then(|told| answer.explanations.get(told));
            let is_confirmed = told.is_some_and(|told| told.certainty == Certainty::Confirmed);
            self.bugs += 1;
            self.kinds += usize::from(matches!(judged, Judged::Right | Judged::WrongLines));
            self.right += usize::from(judged == Judged::Right);
            self.confirmed += usize::from(is_confirmed);
        }
        if answer.events <= EVENTS {
            self.on_cpu.push(answer.on_cpu);
        }
        self.longest = self.longest.max(answer.events);
        Ok(())
    }

    fn row(&self, budget: &str) -> Vec<String> {
        let seconds =
            |time: Option<Duration>| format!("{:.2}", time.unwrap_or_default().as_secs_f64());
        vec![
            budget.to_owned(),
            self.kinds.to_string(),
            self.right.to_string(),
            self.confirmed.to_string(),
            seconds(median(&self.on_cpu)),
            seconds(self.on_cpu.iter().max().copied()),
        ]
    }
}

fn in_words(tallies: &[(&str, BudgetTally)]) -> String {
    let mut table = PrintedTable::new(&[
        "`--run-budget`, s",
        "right class",
        "right class and lines",
        "confirmed",
        "median CPU time, s",
        "longest CPU time, s",
    ]);
    for (budget, tally) in tallies {
        table.row(tally.row(budget));
    }
    let last = tallies.last().map(|(_, tally)| tally);
    let (bugs, longest) = last.map_or((0, 0), |last| (last.bugs, last.longest));
    format!(
        "{table}\nOf {bugs} bugs. The CPU time is that of `unsnarl explain` with all programs that it executes, for runs \
         of up to {EVENTS} events; the longest failing run has {longest} events."
    )
}

fn points(tallies: &[(&str, BudgetTally)]) -> Result<Vec<PlotPoint>> {
    let point = |(budget, tally): &(&str, BudgetTally)| {
        let share = |count: usize| count as f64 / tally.bugs.max(1) as f64;
        Ok(PlotPoint {
            seconds: budget.parse()?,
            right: share(tally.right),
            confirmed: share(tally.confirmed),
        })
    };
    tallies.iter().map(point).collect()
}
