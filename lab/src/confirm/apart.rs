//! Runs that an explanation counts as its own, and that do not have what it blames.

use std::sync::Arc;
use unsnarl_core::{
    Budget, Corpus, Explanation,
    corpus::failure_place,
    explain::{Proposers, told_of},
};
use unsnarl_trace::Run;

/// Takes the runs without what an explanation blames from it, if most of its runs are without, and tells the shortest of
/// them by itself. None where that run says nothing else. Each time at most half of the runs stay together: the number of
/// explanations that come of one is logarithmic in its runs.
pub(super) fn told_apart(
    explanation: &mut Explanation,
    proposers: &Proposers<'_>,
    runs: &[(String, Arc<Run>)],
    budget: &Budget,
) -> Option<Explanation> {
    let without = &explanation.runs_without;
    if without.len() * 2 <= explanation.runs.len() {
        return None;
    }
    let corpus = proposers.material().corpus;
    let name = shortest(corpus, without)?;
    let mut told = told_of(corpus, &name, budget)?;
    if told.id == explanation.id {
        return None;
    }
    proposers.support(&mut told, budget);
    told.runs = std::mem::take(&mut explanation.runs_without);
    let is_left = |name: &String| told.runs.binary_search(name).is_err();
    explanation.runs.retain(is_left);
    for one in [&mut told, explanation] {
        fails_at(one, runs);
    }
    Some(told)
}

fn shortest(corpus: &Corpus, names: &[String]) -> Option<String> {
    let own = corpus
        .failing()
        .filter(|run| names.binary_search(&run.name).is_ok());
    let shortest = own.min_by_key(|run| (run.events, &run.name));
    shortest.map(|run| run.name.clone())
}

/// Notes where else an explanation's runs fail.
fn fails_at(explanation: &mut Explanation, runs: &[(String, Arc<Run>)]) {
    let own = runs
        .iter()
        .filter(|(name, _)| explanation.runs.binary_search(name).is_ok());
    let mut others = Vec::new();
    for failure in own.filter_map(|(_, run)| failure_place(run)) {
        if failure != explanation.failure && !others.contains(&failure) {
            others.push(failure);
        }
    }
    explanation.also_fails = others;
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_core::{
        Corpora, RunSummary,
        explain::{explain, set_apart},
    };
    use unsnarl_trace::script;

    const BEGIN: &str = "start main.1 add\nstart main.2 add\nmain fork main.1 @40 main\nmain fork main.2 @41 main\n";

    fn line(name: &str) -> u32 {
        match name {
            "hits" => 10,
            _ => 11,
        }
    }

    /// An update by a thread, with what another one does in between.
    fn update(name: &str, between: &str) -> String {
        let line = line(name);
        format!("main.1 R {name} =0 @{line} add\n{between}main.1 W {name} =1 @{line} add\n")
    }

    fn other(name: &str, old: u32) -> String {
        let (line, new) = (line(name), old + 1);
        format!("main.2 R {name} ={old} @{line} add\nmain.2 W {name} ={new} @{line} add\n")
    }

    fn run(hits: &str, sum: &str, ends: [u32; 2]) -> String {
        let looks = format!(
            "main R hits ={} @44 main\nmain R sum ={} @44 main\n",
            ends[0], ends[1]
        );
        let ending = match ends {
            [2, 2] => "",
            _ => "main fails @44 main\n",
        };
        [BEGIN, hits, sum, &looks, ending].concat()
    }

    fn runs() -> Vec<(String, Arc<Run>)> {
        let lost = |name| update(name, &other(name, 0));
        let fine = |name| update(name, "") + &other(name, 1);
        let passed = run(&fine("hits"), &fine("sum"), [2, 2]);
        let first = run(&lost("hits"), &fine("sum"), [1, 2]);
        let second = run(&fine("hits"), &lost("sum"), [2, 1]);
        let passed = (0..6).map(|at| (format!("passed-{at}"), passed.clone()));
        let failed = [first, second.clone(), second];
        let failed = failed.into_iter().enumerate();
        let failed = failed.map(|(at, text)| (format!("failed-{at}"), text));
        let parsed =
            |(name, text): (String, String)| (name, Arc::new(script::parse(&text).expect("a run")));
        passed.chain(failed).map(parsed).collect()
    }

    #[test]
    fn most_of_the_runs_fail_for_another_reason() {
        let runs = runs();
        let mut corpora = Corpora::default();
        for (name, run) in &runs {
            corpora.insert(RunSummary::new(name.clone(), run.clone()));
        }
        let corpus = corpora.iter().next().expect("a corpus");
        let budget = Budget::unlimited();
        let mut found = explain(corpus, &budget).findings.into_iter();
        let mut told = found
            .find(|one| one.headline.contains("hits"))
            .expect("the first one");
        told.runs = (0..3).map(|at| format!("failed-{at}")).collect();
        set_apart(&mut told, &runs);
        let proposers = Proposers::comparing(corpus);
        let other = told_apart(&mut told, &proposers, &runs, &budget).expect("another one");
        assert!(other.headline.contains("sum"), "{}", other.headline);
        assert_eq!(other.runs, ["failed-1", "failed-2"]);
        assert_eq!(told.runs, ["failed-0"]);
        assert!(told_apart(&mut told, &proposers, &runs, &budget).is_none());
    }
}
