//! Sensitivity of *confirmed* to the two thresholds that it rests on and that have no exact derivation: the share of
//! failures that may remain without what is blamed, and the deviations by which the shares have to differ. The
//! experiments themselves are not repeated: the same counts are judged by other thresholds.

use crate::{answers::KeptAnswers, docs, judged::with_bug, seeds, table::PrintedTable};
use anyhow::Result;
use unsnarl_core::diagnosis::Evidence;

/// The present thresholds: the remaining share, and the number of standard deviations.
const PRESENT: (f64, f64) = (0.1, 3.0);
/// Others, around them.
const OTHERS: [(f64, f64); 6] = [
    (0.0, 3.0),
    (0.05, 3.0),
    (0.2, 3.0),
    (0.1, 2.0),
    (0.1, 4.0),
    (0.1, 5.0),
];

/// Judges the experiments of ten recordings of each program; the table goes into the docs where no names are given.
pub fn run(names: &[String]) -> Result<()> {
    let mut answers = KeptAnswers::open()?;
    let mut experiments = Vec::new();
    for program in with_bug(names)? {
        for number in 1..=seeds::SEEDS {
            let answer = answers.get(&program, &seeds::question(number))?;
            let told = answer.told(&program, &program.expectation);
            let told = told.and_then(|told| answer.explanations.get(told));
            experiments.extend(told.and_then(|told| told.evidence));
        }
    }
    let text = in_words(&experiments);
    println!("{text}");
    match names.is_empty() {
        true => docs::replace("explain.md", "sensitivity", &text),
        false => Ok(()),
    }
}

/// Returns whether the shares are those of a cause by these thresholds.
fn is_cause(evidence: &Evidence, (remaining, deviations): (f64, f64)) -> bool {
    let Evidence { with, without } = evidence;
    let smooth = |fails: u32, of: u32| (f64::from(fails) + 0.5) / (f64::from(of) + 1.0);
    let shares = [with, without].map(|share| (smooth(share.fails, share.of), share.of));
    let spread: f64 = shares
        .iter()
        .map(|(share, of)| share * (1.0 - share) / f64::from((*of).max(1)))
        .sum();
    let [(more, _), (less, _)] = shares;
    without.of > 0 && without.value() <= remaining && more - less > deviations * spread.sqrt()
}

fn in_words(experiments: &[Evidence]) -> String {
    let mut table = PrintedTable::new(&[
        "failures left without it, at most",
        "standard deviations, at least",
        "is a cause",
        "differs from the present thresholds",
    ]);
    for thresholds in std::iter::once(PRESENT).chain(OTHERS) {
        let causes = experiments.iter().filter(|one| is_cause(one, thresholds));
        let differs = |one: &&Evidence| is_cause(one, thresholds) != is_cause(one, PRESENT);
        let changed = experiments.iter().filter(differs);
        let (remaining, deviations) = thresholds;
        table.row(vec![
            format!("{:.0} %", 100.0 * remaining),
            format!("{deviations:.0}"),
            causes.count().to_string(),
            changed.count().to_string(),
        ]);
    }
    format!(
        "{table}\nOf {} experiments on the first explanation.",
        experiments.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_core::diagnosis::FailingShare;

    /// The thresholds here are those of the analysis.
    #[test]
    fn the_present_thresholds_are_those_of_the_analysis() {
        let share = |fails| FailingShare {
            fails,
            of: 30,
            orders: 30,
        };
        for with in 0..=30 {
            for without in 0..=30 {
                let evidence = Evidence {
                    with: share(with),
                    without: share(without),
                };
                assert_eq!(
                    is_cause(&evidence, PRESENT),
                    evidence.is_cause(),
                    "{with} {without}"
                );
            }
        }
    }
}
