//! Explanations from engines that compare runs, where no story fits: accesses that only failing runs have,
//! with the number of runs.

use super::{LOOKED_AT, draft::Draft, proposers::Proposers, view::View};
use crate::{
    Budget,
    claims::line,
    corpus::RunSummary,
    explanation::{BugKind, Certainty, Explanation, Role},
    facts::{self, and},
    orders::DependencyKind,
};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, Outcome};

/// Passing runs from which on it says something that none of them has it.
pub(super) const ENOUGH: u32 = 5;

/// Explains failing runs without a story, all of which fail at one place: by the pair, or else by the mined
/// pattern, that at least half of them have and no passing run. Threads that wait for ever have no last
/// access that a comparison of accesses could blame, so those runs are left alone.
pub(super) fn found(
    proposers: &Proposers<'_>,
    runs: &[&RunSummary],
    budget: &Budget,
) -> Option<Explanation> {
    let corpus = proposers.material().corpus;
    let failed = runs.iter().filter(|run| run.outcome == Outcome::Failed);
    let mut views = failed
        .take(LOOKED_AT)
        .filter_map(|run| View::new(corpus, run));
    let told = views.find_map(|view| proposers.by_comparing(&view, runs, budget));
    told.map(|told| weighed(told, runs.len(), proposers, budget))
}

/// Likely when engines agree on it and no run is without it.
fn weighed(
    mut explanation: Explanation,
    runs: usize,
    proposers: &Proposers<'_>,
    budget: &Budget,
) -> Explanation {
    proposers.support_by_comparing(&mut explanation, budget);
    explanation.certainty = match explanation.engines.len() > 1 && explanation.runs.len() == runs {
        true => Certainty::Likely,
        false => Certainty::Possible,
    };
    explanation
}

/// Runs that were compared.
#[derive(Clone, Copy)]
pub(super) struct ComparedRuns {
    pub failing: usize,
    pub passing: u32,
}

/// A dependency of an access on another thread's access.
#[derive(Clone, Copy)]
pub(super) struct AccessDependency {
    pub head: EventId,
    pub tail: EventId,
    pub kind: DependencyKind,
}

impl AccessDependency {
    pub fn new(view: &View, head: EventId, tail: EventId) -> AccessDependency {
        let kind = match (
            view.event(head).kind.writes(),
            view.event(tail).kind.reads(),
        ) {
            (true, true) => DependencyKind::Flow,
            (false, _) => DependencyKind::Anti,
            (true, false) => DependencyKind::Output,
        };
        AccessDependency { head, tail, kind }
    }
}

/// True if the location of a row has a name in the program.
pub(super) fn is_named(view: &View, row: EventId) -> bool {
    facts::is_named(view.run.location(view.event(row).location))
}

/// The dependencies of a pattern that say something: those that a schedule could have otherwise, as what a constructor sets
/// before it creates the thread that reads it is in each run; and of several of the same lines the first.
fn telling(view: &View, links: &[AccessDependency]) -> Vec<AccessDependency> {
    let free = links.iter().filter(|it| !view.is_forced(it.head, it.tail));
    let free: Vec<AccessDependency> = free.copied().collect();
    let of = if free.is_empty() { links } else { &free };
    let mut known = BTreeSet::new();
    let access = |row: EventId| {
        let (place, event) = (view.place(row), view.event(row));
        let name = view.variable(row);
        (place.file, place.line, event.thread, name)
    };
    let one = |it: &&AccessDependency| (access(it.head), access(it.tail), first(it), second(it));
    let mut of: Vec<&AccessDependency> = of.iter().collect();
    of.retain(|it| known.insert(one(it)));
    of.into_iter().copied().collect()
}

/// The story of dependencies that go with the failure.
pub(super) fn tell(
    view: &View,
    links: &[AccessDependency],
    runs: Vec<String>,
    share: &ComparedRuns,
) -> Explanation {
    let links = &telling(view, links)[..];
    let mut rows: Vec<EventId> = links
        .iter()
        .flat_map(|link| [link.head, link.tail])
        .collect();
    rows.sort_unstable();
    rows.dedup();
    let mut draft = Draft::new(view, kind(view, links), headline(view, links, &rows));
    draft.detail(detail(view, links));
    draft.set().contrast = format!(
        "That is in {} of {} failing and in none of {} passing runs.",
        runs.len(),
        share.failing,
        share.passing
    );
    draft.set().by_comparison = true;
    let heads: BTreeSet<EventId> = links.iter().map(|link| link.head).collect();
    for &row in &rows {
        draft.step(row, "");
        let role = if heads.contains(&row) {
            Role::Interference
        } else {
            Role::Cause
        };
        draft.mark(row, role);
    }
    draft.fail();
    let mut explanation = draft.finish();
    explanation.runs = runs;
    explanation
}

/// Class by shape: one dependency is an order violation; two threads that depend on each other both ways
/// interrupted each other.
fn kind(view: &View, links: &[AccessDependency]) -> BugKind {
    let ways: BTreeSet<_> = links
        .iter()
        .map(|link| (view.thread(link.head), view.thread(link.tail)))
        .collect();
    let is_interrupted = ways.iter().any(|(from, to)| ways.contains(&(*to, *from)));
    let locations = links.iter().map(|link| view.event(link.head).location);
    match (is_interrupted, locations.collect::<BTreeSet<_>>().len()) {
        (false, _) => BugKind::OrderViolation,
        (true, 1) => BugKind::AtomicityViolation,
        (true, _) => BugKind::MultiVariableAtomicityViolation,
    }
}

fn headline(view: &View, links: &[AccessDependency], rows: &[EventId]) -> String {
    match links {
        [link] => {
            let name = view.variable_of(&[link.tail, link.head]);
            let (who, other) = (view.words(link.tail), view.words(link.head));
            let did = match link.kind {
                DependencyKind::Flow => "read",
                DependencyKind::Anti | DependencyKind::Output => "overwrote",
            };
            format!(
                "{who} {did} the value of `{name}` that {other} had {}, which no passing run shows",
                first(link)
            )
        }
        _ => {
            let unique = |words: &mut dyn Iterator<Item = String>| {
                let mut known = Vec::new();
                words.for_each(|word| {
                    if !known.contains(&word) {
                        known.push(word);
                    }
                });
                known
            };
            let names = links
                .iter()
                .map(|link| format!("`{}`", view.variable_of(&[link.head, link.tail])));
            let names = unique(&mut names.into_iter());
            let threads = unique(&mut rows.iter().map(|&row| view.words(row)));
            let were = if names.len() == 1 { "was" } else { "were" };
            format!(
                "{} {were} used by {} in an order that no passing run shows",
                and(&names),
                and(&threads)
            )
        }
    }
}

/// Detail with a line for each dependency.
fn detail(view: &View, links: &[AccessDependency]) -> String {
    let lines = links.iter().map(|link| {
        let (head, tail) = (link.head, link.tail);
        format!(
            "{} {} {}{} at {} before {} {} it at {}",
            view.words(head),
            past(first(link)),
            view.variable_of(&[head, tail]),
            match link.kind {
                DependencyKind::Anti => view.equals_read(head),
                _ => view.equals(head),
            },
            view.at(head),
            view.words(tail),
            past(second(link)),
            line(&view.place(tail), &view.place(head))
        )
    });
    lines.collect::<Vec<String>>().join(";\n") + "."
}

/// Participle for the first access: `read`, `written`.
fn first(link: &AccessDependency) -> &'static str {
    match link.kind {
        DependencyKind::Anti => "read",
        DependencyKind::Flow | DependencyKind::Output => "written",
    }
}

/// Participle for the second access.
fn second(link: &AccessDependency) -> &'static str {
    match link.kind {
        DependencyKind::Flow => "read",
        DependencyKind::Anti | DependencyKind::Output => "written",
    }
}

/// Past tense of a participle's verb.
fn past(participle: &'static str) -> &'static str {
    match participle {
        "written" => "wrote",
        same => same,
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Budget, BugKind, Certainty, Explanation, explain, fixture::corpus, render::text,
        unexplained,
    };

    fn explanations(passing: &[&str], failing: &[&str]) -> (Vec<Explanation>, usize) {
        let corpus = corpus(passing, failing);
        let found = explain(&corpus, &Budget::unlimited()).findings;
        let left = unexplained(&corpus, &found).len();
        (found, left)
    }

    /// A pair that passing runs never have in either order is not called reversed.
    const BOTH: &str = "main.1 R known =0 @4 open\nmain.1 R last =0 @9\nmain.1 W last =1 @9\n\
                        main.2 R last =1 @9 open\nmain.2 W last =2 @9\nmain R id =2 @20\nmain fails @20";
    const ONE: &str = "main.1 R last =0 @9 open\nmain.1 W last =1 @9\nmain R id =1 @20";

    #[test]
    fn a_pair_that_only_failing_runs_have_is_told_with_its_numbers() {
        let (found, left) = explanations(&[ONE; 6], &[BOTH; 3]);
        assert_eq!((found.len(), left), (1, 0));
        let told = &found[0];
        assert_eq!(told.kind, BugKind::OrderViolation);
        assert_eq!(
            told.headline,
            "open (main.2) read the value of `last` that open (main.1) had written, which no passing run shows"
        );
        assert_eq!(
            told.contrast,
            "That is in 3 of 3 failing and in none of 6 passing runs."
        );
        assert_eq!(told.runs, ["failed-0", "failed-1", "failed-2"]);
        assert_eq!(told.engines[0], "pairs");
        let is_noted = |told: &Explanation| text(told).contains("Note: Found by comparing runs");
        assert!(is_noted(told));
        let certainty = Certainty::Confirmed;
        let confirmed = Explanation {
            certainty,
            ..told.clone()
        };
        assert!(!is_noted(&confirmed));
    }

    /// The thread reads what was there before it was created: only failing runs come there, but in no other order.
    #[test]
    fn an_order_that_every_schedule_has_is_no_cause() {
        let late =
            "main W last =1 @3\nmain fork main.1 @4\nmain.1 R last =1 @9 open\nmain.1 fails @20";
        let (found, left) = explanations(&["main W last =1 @3\n"; 6], &[late; 3]);
        assert_eq!((found.len(), left), (0, 3), "{found:?}");
        let free = late.replace("main fork main.1 @4\n", "");
        let (found, _) = explanations(&["main W last =1 @3\n"; 6], &[free.as_str(); 3]);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn few_passing_runs_tell_nothing() {
        let (found, left) = explanations(&[ONE; 4], &[BOTH; 3]);
        assert_eq!((found.len(), left), (0, 3));
    }

    /// Three threads store their numbers in an array: every pair of two is harmless.
    #[test]
    fn a_pattern_that_only_failing_runs_have_is_told() {
        let run = |order: [u32; 3], end: &str| {
            let puts = order.iter().enumerate().map(|(at, who)| {
                format!(
                    "main.{who} R n ={at} @10 work\nmain.{who} W n ={} @10\nmain.{who} W a[{at}] ={who} @10\n",
                    at + 1
                )
            });
            let puts: String = puts.collect();
            format!(
                "main fork main.1 @1\nmain fork main.2 @1\nmain fork main.3 @1\n{puts}\
                 main join main.1 @15\nmain join main.2 @15\nmain join main.3 @15\n\
                 main R a[0] ={} @19\nmain R a[1] ={} @19\nmain R a[2] ={} @19\n{end}",
                order[0], order[1], order[2]
            )
        };
        let orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 2, 1]];
        let passing = orders.map(|order| run(order, ""));
        let passing: Vec<&str> = passing.iter().map(String::as_str).collect();
        let failing = run([3, 1, 2], "main fails @19");
        let (found, left) = explanations(&passing, &[&failing, &failing]);
        assert_eq!((found.len(), left), (1, 0), "{found:?}");
        let told = &found[0];
        assert_eq!(told.engines, ["mining"]);
        assert_eq!(told.certainty, Certainty::Possible);
        assert_eq!(told.kind, BugKind::OrderViolation);
        assert_eq!(
            told.contrast,
            "That is in 2 of 2 failing and in none of 5 passing runs."
        );
        assert!(
            told.headline
                .ends_with("in an order that no passing run shows"),
            "{}",
            told.headline
        );
    }

    /// A pattern with what the creator of a thread has set before, and with the same lines once more: that makes it no clearer.
    #[test]
    fn of_a_pattern_is_told_what_could_be_otherwise() {
        let text = "main W limit =9 @3 main\nmain fork main.1 @4 main\nmain.1 R limit =9 @20 work\n\
                    main W list[0] =1 @7 main\nmain W list[1] =1 @7 main\n\
                    main.1 R list[0] =1 @21 work\nmain.1 R list[1] =1 @21 work\nmain.1 fails @22";
        let text = text
            .replace("list[0]", "list._M_start")
            .replace("list[1]", "list._M_finish");
        let corpus = corpus(&[], &[text.as_str()]);
        let view = super::View::new(&corpus, corpus.get("failed-0").unwrap()).unwrap();
        let lines = |at: u32| {
            let rows = view.run.events.iter().map(|(row, _)| row);
            rows.filter(|row| view.place(*row).line == at)
                .collect::<Vec<_>>()
        };
        let pairs = [(3, 20), (7, 21)].map(|(head, tail)| (lines(head), lines(tail)));
        let links = pairs
            .iter()
            .flat_map(|(heads, tails)| heads.iter().zip(tails));
        let links: Vec<_> = links
            .map(|(head, tail)| super::AccessDependency::new(&view, *head, *tail))
            .collect();
        assert_eq!(links.len(), 3);
        let told = super::telling(&view, &links);
        let at: Vec<u32> = told.iter().map(|one| view.place(one.head).line).collect();
        assert_eq!(at, [7]);
    }
}
