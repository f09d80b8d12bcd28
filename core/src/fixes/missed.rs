//! Missing signals: a thread waits for ever on a condition whose data was changed after its check.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind},
    mutexes,
    seen::{At, frames},
    text::{
        EditRefusal,
        change::Change,
        signals::{self, WaitText},
        wrapped_waits::waiting_through,
    },
};
use crate::{callers::call_sites, facts::basename, orders::Locks};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use unsnarl_trace::{EventId, EventKind, LocationId, Outcome, Run, ThreadId, Value};

/// A thread that waits on a condition when no thread can go on.
pub(super) struct StuckWaiter {
    pub thread: ThreadId,
    pub waited: EventId,
    /// The mutex that the wait released.
    mutex: LocationId,
}

/// A place after which a signal is missing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct MissingSignal {
    file: String,
    line: u32,
    /// The condition as the function there names it.
    condition: String,
}

/// Adds signals after changes of which waiting threads were not notified; `None` when no run ends so.
pub(super) fn signal(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let own = |name: &String| case.explanation.runs.contains(name);
    let failing = case.runs.iter().filter(|(name, _)| own(name));
    let mut missing: BTreeMap<MissingSignal, Change> = BTreeMap::new();
    let mut refused = None;
    for (_, run) in failing {
        for stuck in stuck(run) {
            match untold(case, run, &stuck) {
                Ok(found) => missing.extend(found),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
    }
    match (missing.is_empty(), refused) {
        (false, _) => Some(fix(case, missing)),
        (true, Some(why)) => Some(Err(format!("a signal: {why}"))),
        (true, None) => None,
    }
}

fn fix(case: &FixInput<'_>, missing: BTreeMap<MissingSignal, Change>) -> Result<Fix, EditRefusal> {
    let said: Vec<String> = missing.keys().map(MissingSignal::in_words).collect();
    let mut changes = Changes::new();
    for (place, change) in missing {
        changes.entry(place.file).or_default().push(change);
    }
    let edits = case.files.edits(&changes)?;
    Ok(Fix {
        assumes: vec!["all changes that matter are in the failing runs".to_owned()],
        ..Fix::edit(
            FixKind::Signal,
            format!("wake those who wait on {}", said.join(", and on ")),
            edits,
            "each waiter looks at its condition once more".to_owned(),
        )
    })
}

impl MissingSignal {
    fn in_words(&self) -> String {
        format!(
            "`{}` after line {} of {}",
            self.condition.trim_start_matches('&'),
            self.line,
            basename(&self.file)
        )
    }
}

/// The threads that wait on conditions when all of a run's threads wait.
pub(super) fn stuck(run: &Arc<Run>) -> Vec<StuckWaiter> {
    if run.meta.outcome != Outcome::Deadlocked {
        return Vec::new();
    }
    let mut open: BTreeMap<ThreadId, (EventId, Option<LocationId>)> = BTreeMap::new();
    for (row, event) in run.events.iter() {
        match event.kind {
            EventKind::Wait => drop(open.insert(event.thread, (row, None))),
            EventKind::Wake => drop(open.remove(&event.thread)),
            EventKind::Unlock => {
                if let Some((_, mutex @ None)) = open.get_mut(&event.thread) {
                    *mutex = Some(event.location);
                }
            }
            _ => {}
        }
    }
    let all = open
        .into_iter()
        .filter_map(|(thread, (waited, mutex))| Some((thread, waited, mutex?)));
    all.map(|(thread, waited, mutex)| StuckWaiter {
        thread,
        waited,
        mutex,
    })
    .collect()
}

/// The places in this run after which a signal for the waiter is missing.
fn untold(
    case: &FixInput<'_>,
    run: &Run,
    stuck: &StuckWaiter,
) -> Result<BTreeMap<MissingSignal, Change>, EditRefusal> {
    let (own, waiting) = waits(case, run, stuck)?;
    let seen = looked_at(run, stuck, &own, &waiting);
    let mut places = BTreeMap::new();
    for row in changes(run, stuck, &seen)? {
        let (place, change) = behind(case, run, stuck, &waiting, row)?;
        places.insert(place, change);
    }
    Ok(places)
}

/// The line that waits and looks again, and the wait there: a call of the library's, or of a function of the program's own
/// that makes that call.
fn waits(
    case: &FixInput<'_>,
    run: &Run,
    stuck: &StuckWaiter,
) -> Result<(At, WaitText), EditRefusal> {
    let known = |at: &At| case.files.get(&at.file).is_ok();
    let mut own = frames(run, stuck.waited).into_iter().filter(known);
    let inner = own.next().ok_or("the text of the wait is not at hand")?;
    let source = case.files.get(&inner.file)?;
    let refused = match signals::waiting(source, inner.line) {
        Ok(waiting) => return Ok((inner, waiting)),
        Err(refused) => refused,
    };
    let outer = own.next().ok_or(refused)?;
    let calls = case.files.get(&outer.file)?;
    let waiting = waiting_through(calls, outer.line, (source, inner.line))?;
    Ok((outer, waiting))
}

/// The data that the waiter checked before its wait, with the values it saw last.
fn looked_at(
    run: &Run,
    stuck: &StuckWaiter,
    own: &At,
    waiting: &WaitText,
) -> BTreeMap<LocationId, (EventId, Option<Value>)> {
    let looks = |row: EventId| {
        let mut frames = frames(run, row).into_iter();
        frames.any(|at| {
            (&at.file, &at.function) == (&own.file, &own.function)
                && waiting.looks.contains(&at.line)
        })
    };
    let mut seen = BTreeMap::new();
    let before = (0..stuck.waited.0).map(EventId);
    for (row, event) in before.filter_map(|row| Some((row, run.events.get(row)?))) {
        if event.thread != stuck.thread {
            continue;
        }
        if event.kind == EventKind::Lock && event.location == stuck.mutex {
            seen.clear();
        } else if event.kind.writes() {
            // A count of those who wait, say: not what it waits for.
            seen.remove(&event.location);
        } else if event.kind.reads() && looks(row) {
            seen.insert(event.location, (row, event.value));
        }
    }
    seen
}

/// The last change of the data in each critical section of other threads, if the waiter's values are out of
/// date at the end.
fn changes(
    run: &Run,
    stuck: &StuckWaiter,
    seen: &BTreeMap<LocationId, (EventId, Option<Value>)>,
) -> Result<BTreeSet<EventId>, EditRefusal> {
    let mut last: BTreeMap<LocationId, (EventId, Option<Value>)> = BTreeMap::new();
    for (row, event) in run.events.iter() {
        let looked = seen.get(&event.location);
        if event.kind.writes()
            && event.thread != stuck.thread
            && looked.is_some_and(|(at, _)| *at < row)
        {
            last.insert(event.location, (row, event.value));
        }
    }
    let is_other = |(location, (_, value)): &(&LocationId, &(EventId, Option<Value>))| {
        let saw = seen.get(*location).and_then(|(_, saw)| *saw);
        saw.is_none() || saw != *value
    };
    let rows = last
        .iter()
        .filter(is_other)
        .map(|(_, (row, _))| *row)
        .collect::<BTreeSet<EventId>>();
    let locks = Locks::new(run, &mut Vec::new());
    let mut by_section = BTreeMap::new();
    for row in rows {
        let section = held(run, &locks, stuck, row).ok_or_else(|| {
            let line = run
                .events
                .get(row)
                .map_or(0, |event| run.meta.site(event.site).line);
            format!("line {line} changes what is waited for without the lock of the wait")
        })?;
        by_section.insert(section, row);
    }
    Ok(by_section.into_values().collect())
}

/// Acquisition of the wait's lock that is held at a row.
fn held(run: &Run, locks: &Locks, stuck: &StuckWaiter, row: EventId) -> Option<EventId> {
    let event = run.events.get(row)?;
    let mut own = locks.held_at(event.thread, row);
    let section = own.find(|section| section.lock == stuck.mutex)?;
    Some(section.acquired)
}

/// The innermost statement around the change after which the condition has a name, and the lock is still
/// held.
fn behind(
    case: &FixInput<'_>,
    run: &Run,
    stuck: &StuckWaiter,
    waiting: &WaitText,
    row: EventId,
) -> Result<(MissingSignal, Change), EditRefusal> {
    let locks = Locks::new(run, &mut Vec::new());
    let acquired = held(run, &locks, stuck, row).ok_or("the lock is not held")?;
    let (taken, changed) = (call_sites(run, acquired), call_sites(run, row));
    let same = taken
        .iter()
        .zip(&changed)
        .take_while(|(a, b)| a == b)
        .count();
    // Outside of the function that acquires the lock it is released already.
    let within = changed.len().saturating_sub(same).max(1);
    let mut why = "no line of this program's own changes it".to_owned();
    for at in frames(run, row).into_iter().take(within) {
        match at_line(case, waiting, &at) {
            Ok(found) => return Ok(found),
            Err(refused) => why = refused,
        }
    }
    Err(why)
}

fn at_line(
    case: &FixInput<'_>,
    waiting: &WaitText,
    at: &At,
) -> Result<(MissingSignal, Change), EditRefusal> {
    let source = case.files.get(&at.file)?;
    let condition = match signals::named_in(source, at.line, waiting) {
        Some(written) => written,
        None => {
            let function = source
                .function(at.line)
                .ok_or_else(|| format!("line {} is in no function", at.line))?;
            let object = mutexes::object_at(source, function, at.line, &waiting.name, &[])?;
            waiting.argument(&object)
        }
    };
    let change = signals::behind(source, at.line, &waiting.wake_all(&condition))?;
    let place = MissingSignal {
        file: at.file.clone(),
        line: at.line,
        condition,
    };
    Ok((place, change))
}

#[cfg(test)]
mod tests {
    use crate::fixes::{Offered, apply, tests::offered_of};

    const TEXT: &str = "void *worker(void *unused)\n{\n    pthread_mutex_lock(&m);\n    while (!ready)\n        pthread_cond_wait(&changed, &m);\n    pthread_mutex_unlock(&m);\n    return NULL;\n}\nint main(void)\n{\n    start();\n    pthread_mutex_lock(&m);\n    other = 1;\n    ready = 1;\n    pthread_mutex_unlock(&m);\n    pthread_join(thread, NULL);\n}\npthread_cond_t changed;\n";

    fn offered(script: &str) -> Offered {
        offered_of(&[("deadlocked-1", script)], TEXT)
    }

    fn waits(changes: &str) -> String {
        format!(
            "main fork main.1 @11 main\nmain.1 lock m @3 worker\nmain.1 R ready =0 @4\nmain.1 wait changed @5\nmain.1 unlock m @5\n{changes}main blocked join main.1 @16 main\nmain.1 blocked condition changed @5 worker\ndeadlocks\n"
        )
    }

    #[test]
    fn who_waits_is_told_of_a_change_that_it_has_not_seen() {
        let changes =
            "main lock m @12 main\nmain W other =1 @13\nmain W ready =1 @14\nmain unlock m @15\n";
        let offered = offered(&waits(changes));
        let fix = offered.fixes.first().expect("a fix");
        assert_eq!(
            fix.title,
            "wake those who wait on `changed` after line 14 of test.c"
        );
        let expected = TEXT.replace(
            "ready = 1;\n",
            "ready = 1;\n    pthread_cond_broadcast(&changed);\n",
        );
        assert_eq!(apply(TEXT, "test.c", &fix.edits), Some(expected));
    }

    /// The wait of a worker behind a function of the program's own, with `wakes` as the body of another one.
    fn wrapped(wakes: &str) -> (String, Offered) {
        let text = format!(
            "void cv_wait(cv *c) {{ pthread_cond_wait(&c->c, &c->m->m); }}\nvoid cv_wake(cv *c) {{ {wakes} }}\nvoid *worker(void *unused)\n{{\n    lock(&q.m);\n    while (!q.ready)\n        cv_wait(&q.changed);\n    unlock(&q.m);\n    return NULL;\n}}\nint main(void)\n{{\n    start();\n    lock(&q.m);\n    q.ready = 1;\n    unlock(&q.m);\n    join();\n}}\nstruct {{ mutex m; cv changed; int ready; }} q;\n"
        );
        let script = "main fork main.1 @13 main\nmain.1 lock q.m.m @5 worker\nmain.1 R q.ready =0 @6 worker\nmain.1 wait q.changed.c via=7@worker @1 cv_wait\nmain.1 unlock q.m.m via=7@worker @1 cv_wait\nmain lock q.m.m @14 main\nmain W q.ready =1 @15 main\nmain unlock q.m.m @16 main\nmain blocked join main.1 @17 main\nmain.1 blocked condition q.changed.c via=7@worker @1 cv_wait\ndeadlocks\n";
        let offered = offered_of(&[("deadlocked-1", script)], &text);
        (text, offered)
    }

    #[test]
    fn who_waits_by_a_function_of_the_programs_own_is_woken_by_another_one() {
        let (text, offered) = wrapped("if (pthread_cond_broadcast(&c->c)) abort();");
        let fix = offered.fixes.first().expect("a fix");
        let expected = text.replace("q.ready = 1;\n", "q.ready = 1;\n    cv_wake(&q.changed);\n");
        assert_eq!(apply(&text, "test.c", &fix.edits), Some(expected));
    }

    #[test]
    fn a_function_that_does_more_than_wake_is_not_called() {
        let (_, offered) = wrapped("c->closed = 1; pthread_cond_broadcast(&c->c);");
        let why = "no function is seen that wakes who waits by `cv_wait`";
        assert!(
            offered.refused.iter().any(|it| it.contains(why)),
            "{offered:?}"
        );
    }

    #[test]
    fn what_the_waiting_thread_counts_itself_is_not_what_it_waits_for() {
        let changes = "main lock m @12 main\nmain W ready =1 @14 main\nmain unlock m @15 main\n";
        let counted = waits(changes).replace(
            "main.1 R ready =0 @4\n",
            "main.1 R ready =0 @4\nmain.1 R other =0 @4\nmain.1 W other =1 @4\n",
        );
        let by_others = counted.replace(
            changes,
            &format!(
                "{changes}main lock m @12 main\nmain W other =2 @13 main\nmain unlock m @15 main\n"
            ),
        );
        let offered = offered(&by_others);
        let fix = offered.fixes.first().expect("a fix");
        assert_eq!(
            fix.title,
            "wake those who wait on `changed` after line 14 of test.c"
        );
    }

    #[test]
    fn a_change_without_the_lock_needs_more_than_a_signal() {
        let offered = offered(&waits("main W ready =1 @14 main\n"));
        assert!(offered.fixes.is_empty(), "{offered:?}");
        let why = "line 14 changes what is waited for without the lock of the wait";
        assert!(
            offered.refused.iter().any(|it| it.contains(why)),
            "{offered:?}"
        );
    }

    #[test]
    fn a_value_that_is_as_it_was_seen_is_no_change() {
        let changes =
            "main lock m @12 main\nmain W ready =1 @13\nmain W ready =0 @14\nmain unlock m @15\n";
        let offered = offered(&waits(changes));
        assert!(offered.fixes.is_empty(), "{offered:?}");
    }
}
