//! Steps of an explanation as another run took them.

use crate::{
    explanation::{Absent, Explanation, Step},
    facts::{self, ToldValue},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};
use unsnarl_trace::{Event, EventId, EventKind, Run};

/// The steps of an explanation in a run that passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passing {
    /// Name of the run.
    pub run: String,
    /// The same steps in this run's order, with its values.
    pub steps: Vec<Step>,
    /// Index of each step in the explanation, from 0; none for a step that the failing run lacks.
    pub of: Vec<Option<usize>>,
    /// Steps of the explanation that this run did not take, from 0, in order.
    pub missing: Vec<usize>,
}

impl Passing {
    /// Pairs of steps of the explanation (from 0) whose order in this run is opposite to that of the failing
    /// run. Quadratic in the steps, which are few.
    pub fn turned(&self) -> Vec<(usize, usize)> {
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        let told: Vec<usize> = self.of.iter().flatten().copied().collect();
        for (at, later) in told.iter().enumerate() {
            let behind = told.iter().skip(at + 1);
            pairs.extend(
                behind
                    .filter(|step| *step < later)
                    .map(|step| (*step, *later)),
            );
        }
        pairs.sort_unstable();
        pairs
    }

    /// Returns whether this run takes the steps in another way than the failing run: it leaves some out, has another
    /// order, or adds what the failing run lacks.
    pub fn differs(&self) -> bool {
        let adds = self.of.contains(&None);
        let is_other = !self.missing.is_empty() || !self.of.is_sorted() || adds;
        !self.of.is_empty() && is_other
    }
}

/// The nearest of several runs: the one that leaves out the fewest steps, takes the most, and reverses the fewest pairs.
pub fn nearest(runs: impl IntoIterator<Item = Passing>) -> Option<Passing> {
    runs.into_iter().min_by_key(|other| {
        let (missing, taken) = (other.missing.len(), Reverse(other.of.len()));
        (missing, taken, other.turned().len())
    })
}

/// The steps of an explanation, taken from the run `told`, in the order and with the values of another run.
/// `None` when a step is missing or the order is the same. Steps that the failing run lacks are left out.
/// Linear in the events of both runs.
pub fn passing(explanation: &Explanation, told: &Run, name: &str, other: &Run) -> Option<Passing> {
    let mut passing = taken(explanation, told, name, other);
    let mut of = passing.of.iter();
    passing
        .steps
        .retain(|_| of.next().is_some_and(Option::is_some));
    passing.of.retain(Option::is_some);
    (passing.missing.is_empty() && !passing.of.is_sorted()).then_some(passing)
}

/// The steps of an explanation as another run took them, as far as it did. A step is matched by its thread,
/// place, access and location; where the thread repeats it, by the number of the occurrence. Linear in the
/// events of both runs.
pub fn taken(explanation: &Explanation, told: &Run, name: &str, other: &Run) -> Passing {
    // A passing run has no failing step.
    let steps = explanation.steps.iter().enumerate();
    let steps: Vec<(usize, &Step)> = steps.filter(|(_, step)| step.access != "failure").collect();
    let keys = steps.iter().map(|(_, step)| StepKey::of_step(step));
    let keys: BTreeSet<StepKey> = keys.flat_map(|key| [key.got(), key]).collect();
    let (then, now) = (rows(told, &keys), rows(other, &keys));
    let same = |step: &Step| same_row(step, &then, &now);
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (at, step) in steps {
        match same(step) {
            Some(row) => found.push((row, at, step)),
            None => missing.push(at),
        }
    }
    let mut all: Vec<(EventId, Option<usize>, Step)> = found
        .iter()
        .map(|(row, at, step)| (*row, Some(*at), as_taken(step, other, *row)))
        .collect();
    for absent in &explanation.absent {
        let mut steps = found.iter();
        let before = steps.find(|(_, step, _)| *step == absent.before as usize);
        let missed = done(absent, other, before.map(|(row, ..)| *row));
        all.extend(missed.map(|(row, step)| (row, None, step)));
    }
    all.sort_by_key(|(row, at, _)| (*row, *at));
    Passing {
        run: name.to_owned(),
        of: all.iter().map(|(_, at, _)| *at).collect(),
        steps: all.into_iter().map(|(.., step)| step).collect(),
        missing,
    }
}

/// A step that the failing run lacks, as a run executed it: the last write there, or else any other event
/// there, before a row.
fn done(absent: &Absent, run: &Run, before: Option<EventId>) -> Option<(EventId, Step)> {
    let there = |(row, event): &(EventId, Event)| {
        let is_before = before.is_none_or(|before| row.0 < before.0);
        let own =
            absent.thread.is_empty() || facts::thread_name(run, event.thread) == absent.thread;
        let site = run.meta.site(event.site);
        is_before && site.line == absent.place.line && site.file == absent.place.file && own
    };
    let rows = run.events.iter().filter(there);
    let (row, event) =
        rows.max_by_key(|(row, event)| (facts::verb(event.kind) == "writes", row.0))?;
    let verb = facts::verb(event.kind);
    let is_pointer = facts::mentions_null(&absent.place.text);
    let value = facts::value_at(run, row, is_pointer);
    let step = Step {
        thread: facts::thread_name(run, event.thread),
        place: absent.place.clone(),
        access: event.kind.name().to_owned(),
        location: run.location(event.location).to_owned(),
        effect: said(verb, value.as_ref()),
        value,
        note: String::new(),
        event: row.0,
        via: Vec::new(),
    };
    Some((row, step))
}

/// The row of a step in another run. A lock that a thread waits for in vain is acquired there instead.
fn same_row(step: &Step, then: &StepRows, now: &StepRows) -> Option<EventId> {
    let key = StepKey::of_step(step);
    let got = key.got();
    if got != key {
        let before = then.get(&got).map_or(&[][..], Vec::as_slice);
        let nth = before.partition_point(|row| row.0 < step.event);
        return now.get(&got)?.get(nth).copied();
    }
    let nth = then.get(&key)?.iter().position(|row| row.0 == step.event)?;
    now.get(&key)?.get(nth).copied()
}

/// A step with its action in another run.
fn as_taken(step: &Step, run: &Run, row: EventId) -> Step {
    let mut taken = Step {
        note: String::new(),
        event: row.0,
        ..step.clone()
    };
    let event = run.events.event(row);
    let verb = facts::verb(event.kind);
    let pointer = step.value.as_ref().is_some_and(ToldValue::is_pointer);
    taken.value = facts::value_at(run, row, pointer).filter(|_| event.kind.is_access());
    taken.effect = match &taken.value {
        Some(value) => said(verb, Some(value)),
        None => renamed(&step.effect, event.kind),
    };
    taken.access = event.kind.name().to_owned();
    taken
}

/// An access in words: `reads 300`.
fn said(verb: &str, value: Option<&ToldValue>) -> String {
    value.map_or_else(|| verb.to_owned(), |value| format!("{verb} {value}"))
}

/// Effect with another verb: `waits for a` becomes `locks a`. A value is dropped, since it belongs to another
/// run.
fn renamed(effect: &str, kind: EventKind) -> String {
    let verb = facts::verb(kind);
    let waited = effect.strip_prefix("waits for ");
    match waited.filter(|_| verb == "locks") {
        Some(lock) => format!("locks {lock}"),
        None if effect.starts_with(verb) && !kind.is_access() => effect.to_owned(),
        None => verb.to_owned(),
    }
}

/// Key by which a step is found again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct StepKey {
    thread: String,
    place: (String, u32, u32, String),
    access: String,
    location: String,
}

impl StepKey {
    fn of_step(step: &Step) -> StepKey {
        let place = &step.place;
        StepKey {
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

    /// The key of the step that acquires the lock it waits for.
    fn got(&self) -> StepKey {
        let access = match self.access.as_str() {
            "lock-wait" => "lock".to_owned(),
            _ => self.access.clone(),
        };
        StepKey {
            access,
            ..self.clone()
        }
    }
}

/// Rows of the steps in a run.
type StepRows = BTreeMap<StepKey, Vec<EventId>>;

/// The rows of these steps.
fn rows(run: &Run, keys: &BTreeSet<StepKey>) -> StepRows {
    let lines: BTreeSet<u32> = keys.iter().map(|key| key.place.1).collect();
    let mut rows = StepRows::new();
    for (row, event) in run.events.iter() {
        let site = run.meta.site(event.site);
        if !lines.contains(&site.line) {
            continue;
        }
        let key = StepKey {
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
        assert_eq!(passing.of, [1, 0, 2, 3].map(Some));
        assert_eq!(passing.turned(), [(0, 1)]);
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
        let some = taken(&explanation, &told, "short", &short);
        assert_eq!((some.steps.len(), some.missing.len()), (1, 3));
    }

    /// Number (from 0), thread, line and effect of each step of the first explanation, as the other run took it.
    fn beside(failing: &str, other: &str) -> String {
        let explanation = explain(&fixture::corpus(&[other], &[failing]), &Budget::unlimited())
            .findings
            .remove(0);
        let passing = taken(
            &explanation,
            &fixture::run(failing),
            "other",
            &fixture::run(other),
        );
        let steps = passing.of.iter().zip(&passing.steps);
        let lines = steps.map(|(at, step)| {
            let at = at.map_or("-".to_owned(), |at| at.to_string());
            format!("{at} {} {} {}", step.thread, step.place.line, step.effect)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn who_waits_in_vain_gets_the_lock_in_another_run() {
        let failing = r#"
            main fork main.1 @48 main
            main fork main.2 @48 main
            main.1 lock alice.lock @28 transfer "lock(&from->lock);"
            main.2 lock bob.lock @28 transfer "lock(&from->lock);"
            main.1 lock-wait bob.lock @29 transfer "lock(&to->lock);"
            main.2 lock-wait alice.lock @29 transfer "lock(&to->lock);"
            main.1 blocked lock bob.lock @29 transfer "lock(&to->lock);"
            main.2 blocked lock alice.lock @29 transfer "lock(&to->lock);"
            deadlocks
        "#;
        let other = r#"
            main fork main.1 @48 main
            main fork main.2 @48 main
            main.1 lock alice.lock @28 transfer "lock(&from->lock);"
            main.1 lock bob.lock @29 transfer "lock(&to->lock);"
            main.1 unlock bob.lock @30
            main.1 unlock alice.lock @31
            main.2 lock bob.lock @28 transfer "lock(&from->lock);"
            main.2 lock alice.lock @29 transfer "lock(&to->lock);"
            main.2 unlock alice.lock @30
            main.2 unlock bob.lock @31
        "#;
        expect![[r#"
            0 main.1 28 locks alice.lock
            2 main.1 29 locks bob.lock
            1 main.2 28 locks bob.lock
            3 main.2 29 locks alice.lock"#]]
        .assert_eq(&beside(failing, other));
    }

    #[test]
    fn what_the_failing_run_misses_is_among_the_steps_of_the_other() {
        let failing = r#"
            main W s.fd =0 @54 new
            main fork main.1 @55 new "pthread_create(&s->t, NULL, loop, s);"
            main.1 R s.fd =0 @33 loop "assert(s->fd != 0);"
            main.1 fails @33 assertion `s->fd != 0` failed
        "#;
        let other = r#"
            main W s.fd =0 @54 new
            main fork main.1 @55 new "pthread_create(&s->t, NULL, loop, s);"
            main W s.fd =7 @56 new "s->fd = 7;"
            main.1 R s.fd =7 @33 loop "assert(s->fd != 0);"
            main join main.1 @60
        "#;
        expect![[r#"
            0 main 55 creates main.1
            - main 56 writes 7
            1 main.1 33 reads 7"#]]
        .assert_eq(&beside(failing, other));
    }
}
