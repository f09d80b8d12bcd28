//! The ranking of proposals where nothing can be executed: by Ochiai's coefficient over different orders.

use super::{bears_out, proposers::Proposers};
use crate::{
    Budget,
    corpus::failure_place,
    diagnosis::{DifferentOrders, Ochiai, PassedOver},
    explanation::{BugKind, Explanation, FailurePlace},
};
use std::cmp::Ordering;
use unsnarl_trace::{Outcome, Run};

/// Proposals of one engine that are counted.
const COUNTED: usize = 24;

/// Tells, of what engines propose for an explanation's run without an experiment, what has the highest coefficient; what is
/// told stays where none is higher. The coefficient is noted with it and with the others. Linear in the runs, for each
/// proposal.
pub fn by_statistic(proposers: &Proposers<'_>, explanation: &mut Explanation, budget: &Budget) {
    let orders = different(proposers, explanation);
    let count = |one: &Explanation| orders.count(|run| bears_out(one, run));
    explanation.ochiai = count(explanation);
    let first = explanation.clone();
    // Who waits for whom is a fact of the run, and what no order has is no matter of orders.
    let is_fact = matches!(first.kind, BugKind::Deadlock | BugKind::Sequential);
    if first.ochiai.is_none() || is_fact {
        return;
    }
    let mut proposals = proposers.instead_of(&first, &[]);
    for engine in proposers.all().filter(|engine| engine.stands_alone()) {
        for mut other in proposals.by(engine, budget).into_iter().take(COUNTED) {
            if budget.stop().is_some() {
                break;
            }
            other.ochiai = count(&other);
            other.passed_over = std::mem::take(&mut explanation.passed_over);
            if is_higher(&other, explanation) {
                std::mem::swap(explanation, &mut other);
            } else {
                explanation.passed_over = std::mem::take(&mut other.passed_over);
            }
            explanation.passed_over.push(passed_over(other));
        }
    }
    if explanation.id != first.id {
        proposers.support(explanation, budget);
    }
}

/// The different orders of the recorded runs that have what an explanation blames; `None` when it blames no order.
pub fn counted(proposers: &Proposers<'_>, explanation: &Explanation) -> Option<Ochiai> {
    different(proposers, explanation).count(|run| bears_out(explanation, run))
}

/// Orders explanations that were not executed by their coefficients, the highest first. What has none stays before them:
/// it is no matter of orders.
pub fn in_order_of_statistic(explanations: &mut [Explanation]) {
    explanations.sort_by(|a, b| match (a.ochiai, b.ochiai) {
        (Some(a), Some(b)) => b.compare(a),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
}

fn is_higher(other: &Explanation, told: &Explanation) -> bool {
    match (other.ochiai, told.ochiai) {
        (Some(other), Some(told)) => other.compare(told) == Ordering::Greater,
        _ => false,
    }
}

fn passed_over(other: Explanation) -> PassedOver {
    PassedOver {
        id: other.id,
        headline: other.headline,
        engines: other.engines,
        ochiai: other.ochiai,
        ..PassedOver::default()
    }
}

/// The different orders of the runs that fail as the explanation's do, and of those that pass.
fn different<'r>(proposers: &'r Proposers<'_>, explanation: &Explanation) -> DifferentOrders<'r> {
    let material = proposers.material();
    let runs = material.runs.iter();
    let own = runs.filter(|(name, _)| material.corpus.get(name).is_some());
    let own: Vec<&Run> = own.map(|(_, run)| &**run).collect();
    let alike = |run: &&&Run| is_alike(run, explanation);
    let passed = |run: &&&Run| run.meta.outcome == Outcome::Passed;
    DifferentOrders::of(
        own.iter().filter(alike).copied(),
        own.iter().filter(passed).copied(),
    )
}

/// True if a run fails at a place where the explanation's runs fail.
fn is_alike(run: &Run, explanation: &Explanation) -> bool {
    let own = [&explanation.failure].into_iter();
    let mut places = own.chain(&explanation.also_fails);
    let place: Option<FailurePlace> = failure_place(run);
    run.meta.outcome.is_failure() && place.is_some_and(|place| places.any(|one| *one == place))
}

/// Ochiai's coefficient of an explanation in words: `0.67 (4 of 4 different failing orders have it, and 5 of 10 passing
/// ones)`.
pub(crate) fn in_words(ochiai: Ochiai) -> String {
    format!(
        "{:.2} ({} of {} different failing orders have it, and {} of {} passing ones)",
        ochiai.value(),
        ochiai.failing_with,
        ochiai.failing,
        ochiai.passing_with,
        ochiai.passing
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Corpus, CorpusKey, RunSummary,
        explain::{Material, explain},
        fixture::run,
    };
    use std::sync::Arc;

    /// The runs by name, and what is told of them by the statistic, instead of what blames this variable if one is named.
    fn told(runs: &[(&str, String)], instead_of: &str) -> Explanation {
        let runs: Vec<(String, Arc<Run>)> = runs
            .iter()
            .map(|(name, text)| ((*name).to_owned(), Arc::new(run(text))))
            .collect();
        let mut corpus = Corpus::new(CorpusKey::default());
        for (name, run) in &runs {
            corpus.insert(RunSummary::new(name.clone(), run.clone()));
        }
        let mut told = explain(&corpus, &Budget::unlimited()).findings.remove(0);
        let proposers = Proposers::new(
            Material {
                corpus: &corpus,
                runs: &runs,
            },
            Vec::new(),
        );
        let is_wanted = |one: &Explanation| one.headline.contains(instead_of);
        if !is_wanted(&told) {
            let budget = Budget::unlimited();
            let mut proposals = proposers.instead_of(&told, &[]);
            let engines = proposers.all();
            let mut others = engines.flat_map(|engine| proposals.by(engine, &budget));
            let wanted = others.find(is_wanted).unwrap();
            drop(others);
            told = wanted;
        }
        by_statistic(&proposers, &mut told, &Budget::unlimited());
        told
    }

    const FORKS: &str = "main fork main.1 @1\nmain fork main.2 @2\n";

    fn failing(noise: &str) -> String {
        format!(
            "{FORKS}{noise}main.1 R b =0 @10 add\nmain.2 W b =5 @20 put\nmain.1 W b =1 @11 add\n\
             main join main.1 @3\nmain join main.2 @4\nmain R b =1 @5\nmain fails @5"
        )
    }

    fn passing(noise: &str) -> String {
        format!(
            "{FORKS}{noise}main.1 R b =0 @10 add\nmain.1 W b =1 @11 add\nmain.2 W b =5 @20 put\n\
             main join main.1 @3\nmain join main.2 @4\nmain R b =5 @5"
        )
    }

    /// Two orders fail, of which one was recorded three times; two pass, one of them four times.
    #[test]
    fn copies_of_an_order_count_once() {
        let noise = "main.1 W c =1 @8\nmain.2 R c =1 @18\n";
        let mut runs: Vec<(&str, String)> =
            ["f1", "f2", "f3"].map(|name| (name, failing(""))).into();
        runs.push(("f4", failing(noise)));
        runs.extend(["p1", "p2", "p3", "p4"].map(|name| (name, passing(""))));
        runs.push(("p5", passing(noise)));
        let told = told(&runs, "");
        let expected = Ochiai {
            failing_with: 2,
            failing: 2,
            passing_with: 0,
            passing: 2,
        };
        assert_eq!(told.ochiai, Some(expected), "{told:?}");
        assert!((expected.value() - 1.0).abs() < 1e-12);
        for other in told.passed_over.iter().filter_map(|one| one.ochiai) {
            assert!(other.value() <= 1.0, "{told:?}");
        }
    }

    /// Both threads count `hits` up and then `done`, the steps in this order.
    fn counts(order: [(u8, u8); 8], end: &str) -> String {
        let steps = order.map(|(who, what)| {
            let (kind, name) = match what {
                0 => ("R", "hits"),
                1 => ("W", "hits"),
                2 => ("R", "done"),
                _ => ("W", "done"),
            };
            format!("main.{who} {kind} {name} =0 @{} work\n", 10 + what)
        });
        format!(
            "{FORKS}{}main join main.1 @3\nmain join main.2 @4\nmain R done =0 @5\n{end}",
            steps.concat()
        )
    }

    /// One update is lost in the only failing order and in none that passes, the other one in a passing order, too.
    #[test]
    fn what_has_the_higher_coefficient_is_told_instead() {
        let both = [
            (1, 0),
            (2, 0),
            (1, 1),
            (2, 1),
            (1, 2),
            (2, 2),
            (1, 3),
            (2, 3),
        ];
        let hits = [
            (1, 0),
            (2, 0),
            (1, 1),
            (2, 1),
            (1, 2),
            (1, 3),
            (2, 2),
            (2, 3),
        ];
        let none = [
            (1, 0),
            (1, 1),
            (1, 2),
            (1, 3),
            (2, 0),
            (2, 1),
            (2, 2),
            (2, 3),
        ];
        let mut runs = vec![
            ("f", counts(both, "main fails @5")),
            ("p", counts(hits, "")),
        ];
        runs.extend(["q1", "q2", "q3"].map(|name| (name, counts(none, ""))));
        let told = told(&runs, "update of `hits` was lost");
        assert!(!told.headline.contains("`hits`"), "{}", told.headline);
        assert!((told.ochiai.unwrap().value() - 1.0).abs() < 1e-12);
        let mut over = told.passed_over.iter();
        let hits = over.find(|one| one.headline.contains("update of `hits` was lost"));
        let counted = Ochiai {
            failing_with: 1,
            failing: 1,
            passing_with: 1,
            passing: 2,
        };
        assert_eq!(hits.unwrap().ochiai, Some(counted));
        assert!((counted.value() - 0.5_f64.sqrt()).abs() < 1e-12);
    }
}
