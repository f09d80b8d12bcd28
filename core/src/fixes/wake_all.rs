//! Wakes all threads that wait on a condition, where a signal woke one that could do nothing with it, or only one of those
//! that were to go on.

use super::{
    FixInput,
    atomic::Changes,
    missed::{StuckWaiter, stuck},
    model::{Fix, FixKind},
    seen::{At, frames},
    text::{
        EditRefusal,
        change::Change,
        locks::{callee, callee_name, calls},
        source::{ParsedSource, lines},
    },
};
use crate::Explanation;
use std::collections::BTreeSet;
use unsnarl_trace::{Event, EventId, EventKind, Run};

/// Functions and members that wake one thread, with those that wake all.
const CALLS: [(&str, &str); 4] = [
    ("pthread_cond_signal", "pthread_cond_broadcast"),
    ("cnd_signal", "cnd_broadcast"),
    ("g_cond_signal", "g_cond_broadcast"),
    ("notify_one", "notify_all"),
];

/// Turns the last signal that came while a thread waited for ever, and woke another one, into one for all; `None` when no run
/// ends so, or what sends it is not understood.
pub(super) fn wake_all(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let own = |name: &String| case.explanation.runs.contains(name);
    let failing = case.runs.iter().filter(|(name, _)| own(name));
    let mut found: BTreeSet<(At, Change)> = BTreeSet::new();
    for (_, run) in failing {
        for stuck in stuck(run) {
            let signal = stolen(run, &stuck).filter(|row| is_told(case.explanation, run, *row));
            found.extend(signal.and_then(|row| changed(case, run, row)));
        }
    }
    (!found.is_empty()).then(|| fix(case, found))
}

fn fix(case: &FixInput<'_>, found: BTreeSet<(At, Change)>) -> Result<Fix, EditRefusal> {
    let mut places: Vec<String> = found.iter().map(|(at, _)| at.line.to_string()).collect();
    places.dedup();
    let mut changes = Changes::new();
    for (at, change) in found {
        changes.entry(at.file).or_default().push(change);
    }
    Ok(Fix::edit(
        FixKind::Signal,
        format!("wake all that wait, on line {}", places.join(" and line ")),
        case.files.edits(&changes)?,
        "each waiter looks at its condition once more".to_owned(),
    ))
}

/// The last signal on the condition since a thread began to wait for ever, if it woke another thread.
fn stolen(run: &Run, stuck: &StuckWaiter) -> Option<EventId> {
    let condition = run.events.event(stuck.waited).location;
    let is_signal = |event: &Event| event.kind == EventKind::Signal && event.location == condition;
    let rows = run.events.iter().filter(|(row, _)| *row > stuck.waited);
    let (signal, event) = rows.filter(|(_, event)| is_signal(event)).last()?;
    let mut after = run.events.iter().filter(|(row, _)| *row > signal);
    let woke = after.any(|(_, other)| {
        other.kind == EventKind::Wake
            && other.location == condition
            && other.thread != stuck.thread
            && other.thread != event.thread
    });
    woke.then_some(signal)
}

/// Returns whether an explanation tells of the line that sends a signal: a thread that was woken may have been the right one.
fn is_told(explanation: &Explanation, run: &Run, signal: EventId) -> bool {
    let event = run.events.event(signal);
    let site = run.meta.site(event.site);
    let mut marks = explanation.sites.iter();
    marks.any(|mark| (&mark.place.file, mark.place.line) == (&site.file, site.line))
}

/// The calls that signal a condition for one thread, in all runs, with what makes each a signal for all.
pub(super) fn signals(case: &FixInput<'_>, condition: &str) -> BTreeSet<(At, Change)> {
    let of_run = |run: &Run| -> Vec<EventId> {
        let rows = run.events.iter().filter(|(_, event)| {
            event.kind == EventKind::Signal && run.location(event.location) == condition
        });
        rows.map(|(row, _)| row).collect()
    };
    let runs = case.runs.iter().map(|(_, run)| &**run);
    let places = runs.flat_map(|run| {
        let rows = of_run(run).into_iter();
        rows.filter_map(|row| changed(case, run, row))
    });
    places.collect()
}

/// The call that sends a signal, in the first of the places that lead there whose text has it.
fn changed(case: &FixInput<'_>, run: &Run, row: EventId) -> Option<(At, Change)> {
    frames(run, row).into_iter().find_map(|at| {
        let source = case.files.get(&at.file).ok()?;
        let change = on_line(source, at.line)?;
        Some((at, change))
    })
}

fn on_line(source: &ParsedSource, line: u32) -> Option<Change> {
    let mut own = calls(source.function(line)?).filter(|node| lines(*node).contains(&line));
    own.find_map(|node| {
        let (_, all) = CALLS.iter().find(|(one, _)| callee(source, node) == *one)?;
        Some(Change::of(callee_name(node)?, *all))
    })
}

#[cfg(test)]
mod tests {
    use crate::fixes::{FixKind, apply, tests::offered_of};

    #[test]
    fn a_signal_for_one_becomes_one_for_all() {
        let text = "static pthread_mutex_t m;\nstatic pthread_cond_t go;\nstatic int epoch;\nvoid park(void)\n{\n    pthread_mutex_lock(&m);\n    while (!epoch)\n        pthread_cond_wait(&go, &m);\n    pthread_mutex_unlock(&m);\n}\nvoid resume(void)\n{\n    pthread_mutex_lock(&m);\n    epoch = 1;\n    pthread_cond_signal(&go);\n    pthread_mutex_unlock(&m);\n}\n";
        let parks = |thread: &str| {
            format!(
                "{thread} lock m @6 park\n{thread} R epoch =0 @7 park\n{thread} wait go @8 park\n{thread} unlock m @8 park\n"
            )
        };
        let resumes = "main lock m @13 resume\nmain W epoch =1 @14 resume\nmain signal go =1 @15 resume\nmain unlock m @16 resume\n";
        let woken = "main.2 lock m @8 park\nmain.2 wake go @8 park\nmain.2 R epoch =1 @7 park\nmain.2 unlock m @9 park\n";
        let end =
            "main.1 blocked condition go @8 park\nmain blocked join main.1 @30 main\ndeadlocks\n";
        let failed = [
            "main fork main.1 @20 main\nmain fork main.2 @21 main\n",
            &parks("main.1"),
            &parks("main.2"),
            resumes,
            woken,
            end,
        ]
        .concat();
        let offered = offered_of(&[("failed-1", &failed)], text);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.kind, FixKind::Signal, "{offered:?}");
        assert_eq!(fix.title, "wake all that wait, on line 15");
        let expected = text.replace("signal(&go)", "broadcast(&go)");
        assert_eq!(apply(text, "test.c", &fix.edits), Some(expected));
    }
}
