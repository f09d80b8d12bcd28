//! The values that a failure hangs on: error invariants as a sentence.

use crate::{
    explanation::{BugKind, Explanation, InvariantMark, Place},
    facts::short,
};
use std::collections::BTreeSet;

/// Conditions that are told: more of them are no explanation any more.
const MOST: usize = 2;

/// ``In this run the failure follows from these values: `available <= 300` after bank.c:46, `balance <= 250` after bank.c:54.
/// All of 10 other schedules with the steps behind them failed.`` None without bounds on values, where there are more of
/// them, and where threads wait: what they hold and wait for is in the steps.
pub fn hangs_on(explanation: &Explanation) -> Option<String> {
    if matches!(explanation.kind, BugKind::Deadlock | BugKind::LostWakeup) {
        return None;
    }
    let told = chosen(explanation);
    let is_alone = |mark: &InvariantMark| {
        let mut here = told
            .iter()
            .filter(|other| (&other.file, other.line) == (&mark.file, mark.line));
        here.all(|other| other.thread == mark.thread)
    };
    let conditions = told.iter().map(|mark| condition(mark, is_alone(mark)));
    let conditions: Vec<String> = conditions.collect();
    let values = match conditions.len() {
        1 => "this value",
        2..=MOST => "these values",
        _ => return None,
    };
    let said = format!(
        "In this run the failure follows from {values}: {}.",
        conditions.join(", ")
    );
    Some(match borne_out(explanation) {
        Some(executed) => format!("{said} {executed}"),
        None => said,
    })
}

/// The bounds on values, each once, in their order.
fn chosen(explanation: &Explanation) -> Vec<&InvariantMark> {
    let mut known = BTreeSet::new();
    let marks = explanation.invariants.iter();
    marks
        .filter(|mark| mark.is_bound && known.insert(&mark.text))
        .collect()
}

/// A condition with its place, with the thread where conditions of several begin at that line.
fn condition(mark: &InvariantMark, is_alone: bool) -> String {
    let place = Place {
        file: mark.file.clone(),
        line: mark.line,
        ..Place::default()
    };
    let by = match is_alone {
        true => String::new(),
        false => format!(" of {}", mark.thread),
    };
    format!("`{}` after {}{by}", mark.text, short(&place))
}

fn borne_out(explanation: &Explanation) -> Option<String> {
    let perturbed = explanation.perturbed.filter(|made| made.is_borne_out())?;
    let them = match perturbed.of {
        1 => "Another schedule with the steps behind it failed, too.".to_owned(),
        of => format!("All of {of} other schedules with the steps behind it failed, too."),
    };
    Some(them)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, diagnosis::Perturbation, explain, fixture::corpus};

    const FAILING: &str = "main fork main.1 @1\nmain.1 R n =0 @4 add\nmain W n =1 @4 add\nmain.1 W n =1 @4 add\n\
        main R n =1 @6 main\nmain fails @6 assertion";

    fn with(marks: &[(u32, &str, bool)]) -> Explanation {
        let found = explain(&corpus(&[], &[FAILING]), &Budget::unlimited()).findings;
        let found = found.into_iter().next().unwrap();
        let file = found.steps.first().unwrap().place.file.clone();
        let marks = marks.iter().map(|&(line, text, is_bound)| InvariantMark {
            file: file.clone(),
            line,
            thread: "main".to_owned(),
            text: text.to_owned(),
            is_of_values: is_bound,
            is_bound,
        });
        Explanation {
            invariants: marks.collect(),
            ..found
        }
    }

    #[test]
    fn conditions_on_values_are_told_with_their_lines() {
        let order = (4, "main stored n at line 4 after main.1 read it", false);
        assert_eq!(hangs_on(&with(&[order])), None);
        let mut told = with(&[(4, "n <= 1", true), order]);
        let said = hangs_on(&told).unwrap();
        assert!(
            said.starts_with("In this run the failure follows from this value: `n <= 1` after "),
            "{said}"
        );
        assert!(said.ends_with(":4."), "{said}");
        told.perturbed = Some(Perturbation { of: 8, fails: 8 });
        let said = hangs_on(&told).unwrap();
        assert!(
            said.ends_with(":4. All of 8 other schedules with the steps behind it failed, too."),
            "{said}"
        );
    }

    #[test]
    fn a_few_are_told_each_once() {
        let marks = [
            (4, "n <= 1", true),
            (4, "n <= 1", true),
            (5, "an order", false),
            (6, "n == 1", true),
        ];
        let said = hangs_on(&with(&marks)).unwrap();
        assert_eq!(said.matches("`n <= 1`").count(), 1, "{said}");
        assert!(said.contains("`n == 1`"), "{said}");
        let too_many = [&marks[..], &[(4, "n >= 0", true)]].concat();
        assert_eq!(hangs_on(&with(&too_many)), None);
    }

    #[test]
    fn conditions_of_several_threads_at_one_line_have_their_threads() {
        let mut told = with(&[(4, "n >= 1", true), (4, "n >= 2", true)]);
        let said = hangs_on(&told).unwrap();
        assert!(!said.contains(":4 of main"), "{said}");
        told.invariants[1].thread = "main.1".to_owned();
        let said = hangs_on(&told).unwrap();
        assert!(
            said.contains(":4 of main,") && said.contains(":4 of main.1."),
            "{said}"
        );
    }
}
