//! The steps of an explanation as another run took them.

use crate::{
    explanation::{Explanation, Step},
    facts,
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, Run};

/// How a run went that passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passing {
    /// Its name.
    pub run: String,
    /// The same steps in its order, with its values.
    pub steps: Vec<Step>,
}

/// The steps of an explanation, which are those of the run `told`, in the order and with the values of another run.
/// A step is found by its thread, place, access and location; where the thread does that several times, it is the same
/// occurrence. `None` when a step is missing or the order is the same. Linear in the events of both runs.
pub fn passing(explanation: &Explanation, told: &Run, name: &str, other: &Run) -> Option<Passing> {
    // Nobody fails in a run that passes.
    let steps = explanation
        .steps
        .iter()
        .filter(|step| step.access != "failure");
    let steps: Vec<&Step> = steps.collect();
    let keys: BTreeSet<Key> = steps.iter().map(|step| Key::of_step(step)).collect();
    let (then, now) = (rows(told, &keys), rows(other, &keys));
    let mut found: Vec<(EventId, usize)> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let key = Key::of_step(step);
        let nth = then.get(&key)?.iter().position(|row| row.0 == step.event)?;
        found.push((*now.get(&key)?.get(nth)?, at));
    }
    found.sort_unstable();
    if found.is_empty() || found.iter().map(|(_, at)| *at).is_sorted() {
        return None;
    }
    let taken = found.into_iter().filter_map(|(row, at)| {
        let event = other.events.get(row)?;
        let value = facts::value(event.value, event.size, false);
        let verb = facts::verb(event.kind);
        Some(Step {
            effect: value.map_or_else(|| verb.to_owned(), |value| format!("{verb} {value}")),
            note: String::new(),
            event: row.0,
            ..(*steps.get(at)?).clone()
        })
    });
    Some(Passing {
        run: name.to_owned(),
        steps: taken.collect(),
    })
}

/// By what a step is found again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    thread: String,
    place: (String, u32, u32, String),
    access: String,
    location: String,
}

impl Key {
    fn of_step(step: &Step) -> Key {
        let place = &step.place;
        Key {
            thread: step.thread.clone(),
            place: (
                place.file.clone(),
                place.line,
                place.column,
                place.function.clone(),
            ),
            access: step.access.clone(),
            location: step.location.clone(),
        }
    }
}

/// The rows of these steps.
fn rows(run: &Run, keys: &BTreeSet<Key>) -> BTreeMap<Key, Vec<EventId>> {
    let lines: Vec<u32> = keys.iter().map(|key| key.place.1).collect();
    let mut rows: BTreeMap<Key, Vec<EventId>> = BTreeMap::new();
    for (row, event) in run.events.iter() {
        let site = run.meta.site(event.site);
        if !lines.contains(&site.line) {
            continue;
        }
        let key = Key {
            thread: facts::thread_name(run, event.thread),
            place: (
                site.file.clone(),
                site.line,
                site.column,
                site.function.clone(),
            ),
            access: event.kind.name().to_owned(),
            location: run.location(event.location).to_owned(),
        };
        if keys.contains(&key) {
            rows.entry(key).or_default().push(row);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, explain, fixture};
    use expect_test::expect;

    const FAILING: &str = r#"
        file bank.c
        main fork main.1 @9 main
        main fork main.2 @10 main
        main.1 R n =0 @4 add "int old = n;"
        main.2 R n =0 @4 add "int old = n;"
        main.2 W n =1 @5 add "n = old + 1;"
        main.1 W n =1 @5 add "n = old + 1;"
        main join main.1 @11 main
        main join main.2 @12 main
        main R n =1 @13 main "assert(n == 2);"
        main fails @13 assertion `n == 2` failed
    "#;
    const PASSING: &str = r#"
        file bank.c
        main fork main.1 @9 main
        main fork main.2 @10 main
        main.2 R n =0 @4 add "int old = n;"
        main.2 W n =1 @5 add "n = old + 1;"
        main.1 R n =1 @4 add "int old = n;"
        main.1 W n =2 @5 add "n = old + 1;"
        main join main.1 @11 main
        main join main.2 @12 main
        main R n =2 @13 main "assert(n == 2);"
    "#;

    #[test]
    fn the_steps_have_the_order_and_values_of_the_other_run() {
        let corpus = fixture::corpus(&[PASSING], &[FAILING]);
        let explanation = explain(&corpus, &Budget::unlimited()).findings.remove(0);
        let (told, other) = (fixture::run(FAILING), fixture::run(PASSING));
        let passing = passing(&explanation, &told, "passed-0", &other).unwrap();
        let said: Vec<String> = passing
            .steps
            .iter()
            .map(|step| format!("{} {} {}", step.thread, step.place.line, step.effect))
            .collect();
        expect![[r#"
            main.2 5 writes 1
            main.1 4 reads 1
            main.1 5 writes 2
            main 13 reads 2"#]]
        .assert_eq(&said.join("\n"));
        assert_eq!(
            super::passing(&explanation, &told, "failed-0", &told),
            None,
            "the same order"
        );
        let short = fixture::run("file bank.c\nmain R n =2 @13 main");
        assert_eq!(
            super::passing(&explanation, &told, "short", &short),
            None,
            "steps are missing"
        );
    }
}
