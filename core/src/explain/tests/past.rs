//! Tests of steps that come too late for the failure.

use crate::{
    Explanation,
    budget::Budget,
    corpus::Corpus,
    explain::{
        Proposers,
        candidates::{Story, candidates},
        explain,
        view::View,
    },
    fixture::corpus,
};
use unsnarl_trace::EventId;

const BEGIN: &str = "main fork main.1 @40\nmain fork main.2 @41\n";

/// The failing run, in which `main.2` goes on behind the last look of `main.1`.
fn failing(behind: &str) -> String {
    [
        BEGIN,
        "main.2 W a =1 @20 put\nmain.1 W b =1 @10 take\nmain.1 R a =1 @11 take\n",
        behind,
        "main.1 fails @12 take\n",
    ]
    .concat()
}

const FINE: &str = "main fork main.1 @40\nmain fork main.2 @41\nmain.2 R b =0 @21 put\nmain.2 W a =1 @20 put\nmain.1 W b =1 @10 take\nmain.1 R a =1 @11 take\n";

fn failing_corpus(behind: &str) -> Corpus {
    corpus(&[FINE; 6], &[&failing(behind)])
}

/// Returns which rows of the failing run are past.
fn past(behind: &str) -> Vec<u32> {
    let corpus = failing_corpus(behind);
    let summary = corpus.failing().next().expect("the failing run");
    let view = View::new(&corpus, summary).expect("it is kept");
    let rows = view.run.events.iter().map(|(row, _)| row);
    rows.filter(|row| view.is_past(*row))
        .map(|row| row.0)
        .collect()
}

#[test]
fn what_only_looks_behind_the_last_step_is_past() {
    assert_eq!(past("main.2 R b =1 @21 put\n").len(), 1);
    assert!(past("main.2 W b =2 @21 put\n").is_empty());
    assert!(past("main.2 R b =1 @21 put\nmain.2 W a =3 @22 put\n").is_empty());
    assert!(past("").is_empty());
}

#[test]
fn no_story_blames_what_is_past() {
    let corpus = failing_corpus("main.2 R b =1 @21 put\n");
    let budget = Budget::unlimited();
    let row = past("main.2 R b =1 @21 put\n")
        .into_iter()
        .map(EventId)
        .next()
        .expect("one is past");
    let blames = |one: &Explanation| one.steps.iter().any(|step| step.event == row.0);
    let told = explain(&corpus, &budget).findings;
    assert!(!told.iter().any(blames), "{told:?}");
    let Some(first) = told.first() else {
        return;
    };
    let proposers = Proposers::comparing(&corpus);
    let mut proposals = proposers.instead_of(first, &[]);
    let engines = proposers.all();
    let others: Vec<Explanation> = engines
        .flat_map(|engine| proposals.by(engine, &budget))
        .collect();
    assert!(!others.iter().any(blames), "{others:?}");
}

/// Both threads' updates of `total` meet; main looks at it, and says so by what the second thread has written.
#[test]
fn what_a_program_does_about_its_failure_is_past() {
    let update = |thread: &str, old: u32| {
        format!(
            "{thread} R total ={old} @5 add\n{thread} W total ={} @5 add\n",
            old + 1
        )
    };
    let named = "main.2 W name =7 @6 add\n";
    let fine = [BEGIN, &update("main.1", 0), &update("main.2", 1), named].concat();
    let fine = format!("{fine}main R total =2 @50 main\n");
    let met = "main.1 R total =0 @5 add\nmain.2 R total =0 @5 add\nmain.1 W total =1 @5 add\nmain.2 W total =1 @5 add\n";
    let says = "main R total =1 @50 main\nmain R name =7 @51 main\nmain fails @51 exit status 1\n";
    let failing = [BEGIN, met, named, says].concat();
    let past = |passing: usize| {
        let corpus = corpus(&vec![fine.as_str(); passing], &[&failing]);
        let summary = corpus.failing().next().expect("the failing run");
        let view = View::new(&corpus, summary).expect("it is kept");
        let rows = view.run.events.iter().map(|(row, _)| row);
        let past = rows.filter(|row| view.event(*row).kind.is_access() && view.is_past(*row));
        past.map(|row| view.at(row)).collect::<Vec<_>>()
    };
    assert_eq!(past(6), ["test.c:51"]);
    assert!(past(2).is_empty());
}

/// A value that is written back over another thread's when the failing thread has read already what it fails by.
#[test]
fn an_interruption_that_ends_too_late_to_be_seen_costs_more() {
    let cost = |is_late: bool| {
        let (look, back) = ("main.1 R u =2 @11 take\n", "main.2 W n =2 @40 push\n");
        let end = if is_late { [look, back] } else { [back, look] }.concat();
        let begin = "main.2 R n =1 @30 pop\nmain.2 W u =2 @31 pop\nmain.1 W n =2 @40 push\n";
        let failing = [BEGIN, begin, &end, "main.1 fails @11 take\n"].concat();
        let corpus = corpus(&[FINE; 6], &[&failing]);
        let summary = corpus.failing().next().expect("the failing run");
        let view = View::new(&corpus, summary).expect("it is kept");
        let found = candidates(&view, &Budget::unlimited()).into_iter();
        let mut interruptions = found.filter(|one| match one.story {
            Story::Atomicity(triple) => view.place(triple.first).line == 30,
            _ => false,
        });
        interruptions.next().expect("it is found").cost
    };
    assert!(
        cost(true) >= cost(false) + 20,
        "{} {}",
        cost(true),
        cost(false)
    );
}
