//! Events at a place of one run, in words.

use crate::{
    callers::Callers,
    facts::{self, short},
    guarded,
    orders::Orders,
};
use std::collections::BTreeSet;
use unsnarl_trace::{Event, EventId, EventKind, OrderMode, Run};

/// Hover text for a place in an editor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hover {
    /// Plain sentences, the most important first.
    pub sentences: Vec<String>,
    /// The line that the sentences are about.
    pub line: u32,
}

/// Bound on the accesses of one place that are described one by one.
const MOST_TOLD: usize = 3;

/// Describes the events at this line: the threads, the values, the order. None when nothing was recorded
/// there.
///
/// `file` may be any path that ends in the same file name part as the recorded one; a column picks the
/// accesses that begin there if there are any.
pub fn hover(
    run: &Run,
    orders: &Orders,
    file: &str,
    line: u32,
    column: Option<u32>,
) -> Option<Hover> {
    let rows = rows_at(run, file, line, column);
    let (first, last) = (*rows.first()?, *rows.last()?);
    let mut told = Vec::new();
    let mut threads: Vec<(u16, EventId)> = Vec::new();
    for row in rows.iter().rev() {
        let Some(event) = run.events.get(*row) else {
            continue;
        };
        let same = |(thread, known): &(u16, EventId)| {
            *thread == event.thread.0
                && run
                    .events
                    .get(*known)
                    .is_some_and(|e| e.location == event.location && e.kind == event.kind)
        };
        if !threads.iter().any(same) {
            threads.push((event.thread.0, *row));
        }
    }
    threads.sort_by_key(|(_, row)| *row);
    for (_, row) in threads.iter().rev().take(MOST_TOLD).rev() {
        told.extend(about(run, orders, *row));
    }
    told.extend(guard(run, orders, &rows));
    told.extend(called(run, &rows));
    if rows.len() > threads.len() {
        told.push(format!(
            "{} events here in this run, from the {} to the {} of all {}.",
            rows.len(),
            nth(first),
            nth(last),
            run.events.len()
        ));
    }
    told.dedup();
    told.extend(inexact(run));
    Some(Hover {
        sentences: told,
        line,
    })
}

/// Sentence about the lock that guards the location accessed last, if several threads use it.
fn guard(run: &Run, orders: &Orders, rows: &[EventId]) -> Option<String> {
    let events = rows.iter().rev().map(|row| run.events.event(*row));
    let mut accesses = events.filter(|event| event.kind.is_access());
    let location = accesses.next()?.location;
    let shared = orders.accesses().is_shared(location);
    shared.then(|| guarded::in_words(run, location)).flatten()
}

/// Caveat for runs whose order and values are uncertain.
fn inexact(run: &Run) -> Option<String> {
    let why = match run.meta.mode {
        OrderMode::Imported => "The trace is from another tool",
        _ => "Threads ran freely in this run",
    };
    (!run.meta.exact).then(|| format!("{why}: order and values may be inexact."))
}

/// `Called from producer at queue.c:41 and consumer at queue.c:60.` when there are several callers.
fn called(run: &Run, rows: &[EventId]) -> Option<String> {
    let callers = Callers::of(run);
    let direct = rows
        .iter()
        .filter_map(|row| callers.via(*row).into_iter().next());
    let places: BTreeSet<String> = direct
        .map(|place| format!("{} at {}", place.function, short(&place)))
        .collect();
    let named: Vec<&str> = places.iter().take(MOST_TOLD).map(String::as_str).collect();
    let more = match places.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more places"),
    };
    let text = match (named.as_slice(), more.as_str()) {
        ([] | [_], _) => return None,
        ([first @ .., last], "") => format!("{} and {last}", first.join(", ")),
        (all, more) => format!("{}{more}", all.join(", ")),
    };
    Some(format!("Called from {text}."))
}

/// Ordinal of a row in the run: `1st`, `2nd`.
fn nth(row: EventId) -> String {
    let n = row.0 + 1;
    let ending = match (n % 10, n % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// Events to describe at the place, in order.
fn rows_at(run: &Run, file: &str, line: u32, column: Option<u32>) -> Vec<EventId> {
    let same_file = |recorded: &str| recorded == file || same_tail(recorded, file);
    let matches =
        |site: &unsnarl_trace::SiteRow| site.line == line && line != 0 && same_file(&site.file);
    let sites: Vec<bool> = run.meta.sites.iter().map(matches).collect();
    if !sites.contains(&true) {
        return Vec::new();
    }
    let here = run.events.sites().iter().enumerate();
    let here = here.filter(|(_, site)| sites.get(**site as usize).copied().unwrap_or(false));
    let rows: Vec<EventId> = here
        .map(|(row, _)| EventId(row as u32))
        .filter(|row| is_told(run, *row))
        .collect();
    let at_column = |row: &EventId| {
        let site = run
            .events
            .get(*row)
            .map(|event| run.meta.site(event.site).column);
        site.is_some() && site == column
    };
    let exact: Vec<EventId> = rows.iter().copied().filter(at_column).collect();
    if exact.is_empty() { rows } else { exact }
}

/// Returns whether two paths have the same tail, as paths of one file seen from different folders do.
fn same_tail(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    !short.is_empty()
        && long.ends_with(short)
        && long
            .get(..long.len() - short.len())
            .is_some_and(|rest| rest.ends_with('/'))
}

fn is_told(run: &Run, row: EventId) -> bool {
    run.events.get(row).is_some_and(|event| {
        let quiet = matches!(
            event.kind,
            EventKind::Begin | EventKind::End | EventKind::Branch | EventKind::Yield
        );
        !quiet
    })
}

fn about(run: &Run, orders: &Orders, row: EventId) -> Vec<String> {
    let event = run.events.event(row);
    if event.kind.is_access() {
        access(run, orders, row, &event)
    } else {
        synchronization(run, orders, row, &event)
    }
}

fn access(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Vec<String> {
    let mut told = vec![did(run, orders, row, event)];
    if !orders.accesses().is_shared(event.location) {
        return told;
    }
    told.extend(neighbour_before(run, orders, row, event));
    told.extend(next_by_other(run, orders, row, event));
    told.extend(unordered(run, orders, row, event));
    told.extend(held(run, orders, row));
    told
}

/// An event as a sentence: `cash_machine (main.2) wrote 250 to account.balance here.`
fn did(run: &Run, orders: &Orders, row: EventId, event: &Event) -> String {
    let who = facts::thread_in_words(run, event.thread);
    let name = facts::variable(run, event);
    let value = value_of(run, orders, row);
    match (event.kind.writes(), value) {
        (true, Some(value)) => format!("{who} wrote {value} to {name} here."),
        (true, None) => format!("{who} wrote {name} here."),
        (false, Some(value)) => format!("{who} read {name} = {value} here."),
        (false, None) => format!("{who} read {name} here."),
    }
}

fn value_of(run: &Run, orders: &Orders, row: EventId) -> Option<String> {
    let event = run.events.event(row);
    let pointer = facts::holds_pointers(run, orders.accesses().of(event.location));
    facts::value(event.value, event.size, pointer)
}

fn thread_and_place(run: &Run, row: EventId) -> (String, String) {
    let event = run.events.get(row);
    let thread = event.map_or(String::new(), |event| facts::thread_name(run, event.thread));
    let place = event.map_or(String::new(), |event| short(&facts::place(run, event.site)));
    (thread, place)
}

/// Sentences about the origin of a value, or the earlier accesses before a write.
fn neighbour_before(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(sentence) = interrupted(run, orders, row, event) {
        told.push(sentence);
    } else if let Some(write) = orders.last_write_before(event.location, row) {
        let (thread, place) = thread_and_place(run, write);
        let value = value_of(run, orders, write).map_or(String::new(), |value| format!(" {value}"));
        told.push(
            format!("Last written before by {thread} at {place}:{value}.").replace(":.", "."),
        );
    } else if event.kind.reads() {
        told.push("Nothing in this run had written it before.".to_owned());
    }
    if event.kind.writes() {
        let before = orders.accesses().before(event.location, row).iter().rev();
        let read = before
            .copied()
            .find(|&r| run.events.get(r).is_some_and(|e| e.kind.reads()));
        if let Some(read) = read {
            let (thread, place) = thread_and_place(run, read);
            let value =
                value_of(run, orders, read).map_or(String::new(), |value| format!(" ({value})"));
            told.push(format!("Last read before by {thread} at {place}{value}."));
        }
    }
    told
}

/// Sentence about a write of another thread since the thread's own last access: the interruption, if there
/// was one.
fn interrupted(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Option<String> {
    let before = orders.accesses().before(event.location, row);
    let by_me = |other: &EventId| {
        run.events
            .get(*other)
            .is_some_and(|other| other.thread == event.thread)
    };
    let own = before.iter().rev().copied().find(by_me)?;
    let write = orders
        .last_write_before(event.location, row)
        .filter(|write| *write > own && !by_me(write))?;
    let (thread, place) = thread_and_place(run, write);
    let (_, since) = thread_and_place(run, own);
    let value = value_of(run, orders, write).map_or(String::new(), |value| format!(" {value}"));
    Some(format!(
        "Since its own access at {since}, {thread} wrote{value} at {place}."
    ))
}

/// The next conflicting access of another thread.
fn next_by_other(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Option<String> {
    let after = orders.accesses().after(event.location, row).iter().copied();
    let mut conflicting = after.filter(|&r| conflicts(run, event, r));
    let next = conflicting.next()?;
    let (thread, place) = thread_and_place(run, next);
    let did = if run.events.get(next)?.kind.writes() {
        "wrote"
    } else {
        "read"
    };
    let value = value_of(run, orders, next).map_or(String::new(), |value| format!(" {value}"));
    Some(format!("Then {thread} {did}{value} at {place}."))
}

fn conflicts(run: &Run, event: &Event, other: EventId) -> bool {
    run.events.get(other).is_some_and(|other| {
        other.thread != event.thread && (other.kind.writes() || event.kind.writes())
    })
}

/// Conflicting accesses of other threads at other places that nothing but a lock, or nothing, orders.
fn unordered(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Vec<String> {
    const NEAR: usize = 200;
    let before = orders
        .accesses()
        .before(event.location, row)
        .iter()
        .rev()
        .take(NEAR);
    let after = orders
        .accesses()
        .after(event.location, row)
        .iter()
        .take(NEAR);
    let mut told: Vec<(String, String)> = Vec::new();
    for &other in before
        .chain(after)
        .filter(|other| conflicts(run, event, **other))
    {
        let (thread, place) = thread_and_place(run, other);
        let Some(relation) = relation(run, orders, row, other) else {
            continue;
        };
        if told.iter().all(|(known, _)| *known != place) {
            told.push((
                place.clone(),
                format!("With {thread} at {place}: {relation}."),
            ));
        }
    }
    told.truncate(3);
    told.into_iter().map(|(_, sentence)| sentence).collect()
}

fn relation(run: &Run, orders: &Orders, row: EventId, other: EventId) -> Option<String> {
    if let Some(lock) = orders.common_lock(row, other) {
        let sections = orders.locks_held(row);
        let section = sections.iter().find(|section| section.lock == lock)?;
        let name = facts::variable(run, &run.events.get(section.acquired)?);
        return Some(format!(
            "same lock {name}, different critical sections, in either order"
        ));
    }
    if !orders.concurrent(row, other) {
        return None;
    }
    let race = if orders.is_race(row, other) {
        ", a data race"
    } else {
        ""
    };
    Some(format!(
        "not ordered: no common lock, no happens-before path{race}"
    ))
}

fn held(run: &Run, orders: &Orders, row: EventId) -> Option<String> {
    let sections = orders.locks_held(row);
    let names: Vec<String> = sections
        .iter()
        .filter_map(|section| {
            let event = run.events.get(section.acquired)?;
            Some(format!(
                "{} (since {})",
                facts::variable(run, &event),
                short(&facts::place(run, event.site))
            ))
        })
        .collect();
    if names.is_empty() {
        None
    } else {
        Some(format!("Holds {}.", names.join(" and ")))
    }
}

fn synchronization(run: &Run, orders: &Orders, row: EventId, event: &Event) -> Vec<String> {
    let who = facts::thread_in_words(run, event.thread);
    let name = facts::variable(run, event);
    let other = event
        .other_thread()
        .map(|thread| facts::thread_name(run, thread));
    let sentence = match event.kind {
        EventKind::Fork | EventKind::Join => {
            format!(
                "{who} {} {} here.",
                facts::verb(event.kind),
                other.unwrap_or_default()
            )
        }
        EventKind::Signal | EventKind::Broadcast
            if event.value == Some(unsnarl_trace::Value::Bits(0)) =>
        {
            format!(
                "{who} {} {name} here, but nobody waits.",
                facts::verb(event.kind)
            )
        }
        EventKind::Failure => format!("{who} fails here."),
        EventKind::Blocked => format!("{who} stands here at the end of the run."),
        kind if name.is_empty() => format!("{who} passes a {} here.", kind.name()),
        kind => format!("{who} {} {name} here.", facts::verb(kind)),
    };
    let mut told = vec![sentence];
    if event.kind.role().requests_lock() {
        let before: Vec<String> = orders
            .locks_held(row)
            .iter()
            .filter(|section| section.acquired != row)
            .filter_map(|section| Some(facts::variable(run, &run.events.get(section.acquired)?)))
            .collect();
        if !before.is_empty() {
            told.push(format!("Holds {} already.", before.join(" and ")));
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;
    use expect_test::{Expect, expect};

    const BANK: &str = r#"
        file /src/bank.c
        main fork main.1 @70 main "pthread_create(&a, NULL, payroll, NULL);"
        main fork main.2 @71 main "pthread_create(&b, NULL, cash_machine, NULL);"
        main.2 lock m @48 cash_machine "pthread_mutex_lock(&m);"
        main.2 R balance =300 @49 cash_machine "long available = balance;"
        main.2 unlock m @50 cash_machine "pthread_mutex_unlock(&m);"
        main.1 lock m @40 payroll "pthread_mutex_lock(&m);"
        main.1 W balance =500 @41 payroll "balance += amount;"
        main.1 unlock m @42 payroll "pthread_mutex_unlock(&m);"
        main.2 lock m @56 cash_machine "pthread_mutex_lock(&m);"
        main.2 W balance =250 @57 cash_machine "balance = available - amount;"
        main.2 unlock m @58 cash_machine "pthread_mutex_unlock(&m);"
        main.1 W seen =1 @44 payroll "seen = 1;"
        main.2 R seen =1 @60 cash_machine "if (seen)"
        main.1 signal ready =0 @45 payroll "pthread_cond_signal(&ready);"
    "#;

    fn check(line: u32, expected: Expect) {
        let run = run(BANK);
        let told = hover(&run, &Orders::new(&run), "bank.c", line, None);
        let told = told.map_or(String::from("nothing"), |hover| {
            hover.sentences.join("\n") + "\n"
        });
        expected.assert_eq(&told);
    }

    #[test]
    fn a_write_between_critical_sections() {
        check(
            57,
            expect![[r#"
                cash_machine (main.2) wrote 250 to balance here.
                Since its own access at bank.c:49, main.1 wrote 500 at bank.c:41.
                Last read before by main.2 at bank.c:49 (300).
                With main.1 at bank.c:41: same lock m, different critical sections, in either order.
                Holds m (since bank.c:56).
                Guarded by m in all 3 accesses of this run that could meet another thread's.
            "#]],
        );
    }

    #[test]
    fn a_racy_read() {
        check(
            60,
            expect![[r#"
            cash_machine (main.2) read seen = 1 here.
            Last written before by main.1 at bank.c:44: 1.
            With main.1 at bank.c:44: not ordered: no common lock, no happens-before path, a data race.
        "#]],
        );
    }

    #[test]
    fn a_lock_a_signal_and_nothing() {
        check(
            56,
            expect![[r#"
            cash_machine (main.2) locks m here.
        "#]],
        );
        check(
            45,
            expect![[r#"
            payroll (main.1) signals ready here, but nobody waits.
        "#]],
        );
        check(1, expect!["nothing"]);
    }

    #[test]
    fn another_file_of_the_same_name_is_not_meant() {
        let run = run(BANK);
        let orders = Orders::new(&run);
        assert!(hover(&run, &orders, "src/bank.c", 57, None).is_some());
        assert!(hover(&run, &orders, "test/bank.c", 57, None).is_none());
    }
}
