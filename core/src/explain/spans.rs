//! Interruptions of steps that belong to two visits of the same lines, such as two iterations of a loop or two calls of a
//! function: what lies between the visits is seldom an operation that somebody meant.

use super::turned::{blamed, region};
use crate::{
    call_tree::CallTree,
    callers,
    explanation::{BugKind, Explanation},
    facts,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, Run, StackId};

/// Returns whether an explanation blames the interruption of steps from two visits of the same lines.
#[must_use]
pub fn spans_visits(explanation: &Explanation, run: &Run) -> bool {
    let tree = CallTree::of(run);
    let mut steps = together(explanation, run).into_iter();
    steps.any(|(first, last)| {
        tree.comes_again(run, first, last)
            || goes_back(run, first, last)
            || is_about_one(run, first, last) && callers::is_called_twice(run, first, last)
    })
}

/// The first and the last of the steps that belong together: those that were interrupted, or where steps of two threads overlap,
/// those of each.
fn together(explanation: &Explanation, run: &Run) -> Vec<(EventId, EventId)> {
    let blamed = blamed(explanation);
    if let Some((first, _, last)) = region(explanation, &blamed, run) {
        return vec![(first, last)];
    }
    let mut ends: BTreeMap<&str, (EventId, EventId)> = BTreeMap::new();
    let of_two = explanation.kind == BugKind::MultiVariableAtomicityViolation;
    for one in blamed.iter().filter(|_| of_two) {
        let own = ends.entry(&one.step.thread).or_insert((one.row, one.row));
        *own = (own.0.min(one.row), own.1.max(one.row));
    }
    ends.into_values()
        .filter(|(first, last)| first < last)
        .collect()
}

/// Returns whether the thread went beyond the second row's line of the function that leads to both, and then back to the first
/// one's or before it: a loop, or another call from the same place. Linear in the rows between.
fn goes_back(run: &Run, first: EventId, second: EventId) -> bool {
    let Some((begin, end)) = callers::common_sites(run, first, second) else {
        return false;
    };
    let [begin, end] = [begin, end].map(|site| run.meta.site(site).line);
    let calls = callers::common_calls(run, first, second);
    let path = callers::call_sites(run, first);
    let thread = run.events.thread(first);
    let mut known: FxHashMap<(u32, StackId), Option<u32>> = FxHashMap::default();
    let mut is_beyond = false;
    for row in (first.0 + 1..second.0).map(EventId) {
        if run.events.thread(row) != thread {
            continue;
        }
        let event = run.events.event(row);
        let line = *known.entry((event.site.0, event.stack)).or_insert_with(|| {
            let sites = callers::call_sites(run, row);
            let is_within = sites.get(..calls) == path.get(..calls);
            let own = sites.get(calls).filter(|_| is_within)?;
            Some(run.meta.site(*own).line)
        });
        match line {
            Some(line) if line > end => is_beyond = true,
            Some(line) if is_beyond && line <= begin => return true,
            _ => {}
        }
    }
    false
}

/// Returns whether two rows access one variable, or elements of one array: a function that is called for two variables, as
/// one that only returns them, is no repetition.
fn is_about_one(run: &Run, first: EventId, last: EventId) -> bool {
    let of = |row: EventId| facts::family(run.variable(run.events.location(row)));
    of(first) == of(last)
}

/// The number of calls that lead to both ends of the steps that an explanation says were interrupted; none where it says no
/// such thing. Of steps within others those of more calls are an operation of their own.
#[must_use]
pub fn calls_around(explanation: &Explanation, run: &Run) -> Option<usize> {
    let (first, _, last) = region(explanation, &blamed(explanation), run)?;
    Some(callers::common_calls(run, first, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, explain, fixture::corpus};
    use std::sync::Arc;
    use unsnarl_trace::script;

    /// Returns whether the first explanation has an order in which a write comes between two reads at these lines.
    fn spans(lines: [u32; 2]) -> bool {
        spans_at(lines.map(|line| format!("@{line} look")))
    }

    /// The same for two reads at these places.
    fn spans_at(places: [String; 2]) -> bool {
        let (told, run) = told_at(places);
        spans_visits(&told, &run)
    }

    fn told_at([first, second]: [String; 2]) -> (Explanation, Arc<Run>) {
        let begin = "main fork main.1 @1\nmain fork main.2 @2\n";
        let read = |at: &str, value: u32| format!("main.1 R n ={value} {at}\n");
        let write = "main.2 W n =1 @30 set\n";
        let before = [begin, write, &read(&first, 1), &read(&second, 1)].concat();
        let after = [begin, &read(&first, 0), &read(&second, 0), write].concat();
        let between = [begin, &read(&first, 0), write, &read(&second, 1)].concat();
        let failing = format!("{between}main.1 fails @25 look\n");
        let fine = [&*before, &*after].repeat(3);
        let corpora = corpus(&fine, &[&failing]);
        let found = explain(&corpora, &Budget::unlimited()).findings;
        let told = found.first().unwrap();
        let run = corpora.get(&told.run).unwrap().run.as_ref().unwrap();
        assert!(
            region(told, &blamed(told), run).is_some(),
            "{}",
            told.headline
        );
        (told.clone(), run.clone())
    }

    #[test]
    fn steps_of_one_call_have_it_around_them() {
        let around = |places: [&str; 2]| {
            let (told, run) = told_at(places.map(str::to_owned));
            calls_around(&told, &run)
        };
        let called = ["via=40@look @20 pass", "via=40@look @22 pass"];
        assert_eq!(around(called), Some(1));
        assert_eq!(around(["@20 look", "@22 look"]), Some(0));
        assert_eq!(around(["@20 look", "via=40@look @22 pass"]), Some(0));
    }

    #[test]
    fn lines_that_follow_each_other_are_one_visit() {
        assert!(!spans([20, 22]));
    }

    #[test]
    fn a_line_that_comes_again_is_another_visit() {
        assert!(spans([20, 20]));
        assert!(spans([22, 20]));
    }

    #[test]
    fn a_function_that_is_called_twice_is_visited_twice() {
        let called = |from: [u32; 2], at: [&str; 2]| {
            let place = |from: u32, at: &str| format!("via={from}@look {at}");
            spans_at([place(from[0], at[0]), place(from[1], at[1])])
        };
        assert!(called([40, 41], ["@20 pass", "@22 pass"]));
        assert!(!called([40, 40], ["@20 pass", "@22 pass"]));
        assert!(!called([40, 41], ["@20 ask", "@22 take"]));
    }

    /// One thread looks at both variables, the other changes both; each comes first on one of them.
    #[test]
    fn overlapping_steps_of_two_visits_are_known() {
        let spans = |lines: [u32; 2]| {
            let begin =
                "main W a =0 @1\nmain W b =0 @2\nmain fork main.1 @3\nmain fork main.2 @4\n";
            let looks = |values: [u32; 2]| {
                let [a, b] = [("a", 0), ("b", 1)].map(|(name, at)| {
                    format!("main.1 R {name} ={} @{} look\n", values[at], lines[at])
                });
                [a, b]
            };
            let [seen, missed] = looks([0, 1]);
            let sets = ["main.2 W b =1 @30 set\n", "main.2 W a =1 @31 set\n"];
            let failing = [
                begin,
                &seen,
                sets[0],
                sets[1],
                &missed,
                "main.1 fails @99 look",
            ]
            .concat();
            let [a, b] = looks([1, 1]);
            let after = [begin, sets[0], sets[1], &a, &b].concat();
            let [a, b] = looks([0, 0]);
            let before = [begin, &a, &b, sets[0], sets[1]].concat();
            let corpora = corpus(&[&*before, &*after].repeat(3), &[&failing]);
            let found = explain(&corpora, &Budget::unlimited()).findings;
            let told = found.first().unwrap();
            let run = corpora.get(&told.run).unwrap().run.as_ref().unwrap();
            assert!(
                told.headline.contains("`a`") && told.headline.contains("`b`"),
                "{}",
                told.headline
            );
            spans_visits(told, run)
        };
        assert!(!spans([40, 41]));
        assert!(spans([41, 40]));
    }

    /// Two variables that belong together, each read by a function that returns what it is asked for.
    #[test]
    fn a_function_that_is_called_for_two_variables_is_one_visit() {
        let spans = |one: &str, other: &str| {
            let begin = "main fork main.1 @1\nmain fork main.2 @2\n";
            let read = |at: u32, name: &str, value: u32| {
                format!("main.1 R {name} ={value} via={at}@look @20 get\n")
            };
            let both = |value: u32| [read(40, one, value), read(41, other, value)].concat();
            let write = format!("main.2 W {one} =1 @30 set\nmain.2 W {other} =1 @31 set\n");
            let before = [begin, &write, &both(1)].concat();
            let after = [begin, &both(0), &write].concat();
            let between = [begin, &read(40, one, 0), &write, &read(41, other, 1)].concat();
            let failing = format!("{between}main.1 fails @42 look\n");
            let corpora = corpus(&[&*before, &*after].repeat(3), &[&failing]);
            let found = explain(&corpora, &Budget::unlimited()).findings;
            let told = found.first().unwrap();
            let run = corpora.get(&told.run).unwrap().run.as_ref().unwrap();
            assert!(region(told, &blamed(told), run).is_some());
            spans_visits(told, run)
        };
        assert!(!spans("store.frozen", "store.active"));
        assert!(spans("stock[0].count", "stock[1].count"));
    }

    /// `read` looks a block up at line 7 and puts it into the cache at line 14, or uses it at line 11 where it is found.
    #[test]
    fn a_function_that_is_called_again_from_one_place_goes_back() {
        let again = |steps: &str| {
            let run = script::parse(steps).unwrap();
            goes_back(&run, EventId(0), EventId(run.events.len() as u32 - 1))
        };
        let sought = "main.1 R n =0 via=7@read,12@run @26 get\n";
        let used = "main.1 R n =1 via=12@run @11 read\n";
        let kept = "main.1 W n =1 via=14@read,12@run @60 put\n";
        let found = "main.1 R m =1 via=7@read,12@run @26 get\n";
        assert!(again(&[sought, kept, found, used].concat()));
        assert!(!again(&[sought, found, used].concat()));
        // What a call on the next line is given is computed before it.
        let given = "main.1 R m =1 via=12@run @12 read\n";
        assert!(!again(&[sought, given, used].concat()));
        let by_another = kept.replace("main.1", "main.2");
        assert!(!again(&[sought, &by_another, found, used].concat()));
    }
}
