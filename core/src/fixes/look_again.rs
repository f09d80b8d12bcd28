//! Looks at a condition after each wait for it, where a thread goes on after one wait whatever it finds.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind},
    seen::frames,
    text::{EditRefusal, waits},
    wake_all,
};
use crate::explanation::{Role, Step};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind};

/// Replaces `if` by `while`, where one of the interrupted accesses lies before a wait and the other after it;
/// `None` when there is no wait between them.
pub(super) fn look_again(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    if !case.explanation.kind.is_interruption() {
        return None;
    }
    let causes = case
        .explanation
        .sites
        .iter()
        .filter(|mark| mark.role == Role::Cause);
    let rows: Vec<&Step> = causes
        .filter_map(|mark| case.explanation.step_of(mark))
        .collect();
    let (first, last) = (
        rows.iter().map(|step| step.event).min()?,
        rows.iter().map(|step| step.event).max()?,
    );
    let thread = case.run.events.get(EventId(first))?.thread;
    let mut between =
        (first..last).filter_map(|row| Some((row, case.run.events.get(EventId(row))?)));
    let (row, _) =
        between.find(|(_, event)| event.thread == thread && event.kind == EventKind::Wait)?;
    let at = frames(case.run, EventId(row)).into_iter().next()?;
    Some(again(case, &at.file, at.line))
}

/// Replaces `if` by `while` at the last waits from which threads came to what is blamed: what they had looked at may have been
/// otherwise by then, and what is told may come of that. Waiters that look again need a signal for all of them where one
/// signal was for any.
pub(super) fn look_again_before(case: &FixInput<'_>) -> Vec<Result<Fix, EditRefusal>> {
    let blamed = case.explanation.blamed();
    let steps = blamed.filter_map(|mark| case.explanation.step_of(mark));
    let waited = steps.filter_map(|step| {
        let thread = case.run.events.get(EventId(step.event))?.thread;
        let before = (0..step.event).rev();
        let mut own = before.filter_map(|row| Some((row, case.run.events.get(EventId(row))?)));
        let (row, event) =
            own.find(|(_, event)| event.thread == thread && event.kind == EventKind::Wait)?;
        let at = frames(case.run, EventId(row)).into_iter().next()?;
        Some((at.file, at.line, case.run.location(event.location)))
    });
    let waited: BTreeSet<(String, u32, &str)> = waited.collect();
    let fixes = waited.into_iter().flat_map(|(file, line, condition)| {
        [
            again(case, &file, line),
            again_and_for_all(case, &file, line, condition),
        ]
    });
    // Most waits are in a loop already, which is no reason against anything.
    fixes.filter(Result::is_ok).collect()
}

fn again(case: &FixInput<'_>, file: &str, line: u32) -> Result<Fix, EditRefusal> {
    let (changes, head) = waits::look_again(case.files.get(file)?, line)?;
    looking(
        case,
        Changes::from([(file.to_owned(), changes)]),
        looks_again(head),
    )
}

/// The same, with all signals of the condition for all that wait.
fn again_and_for_all(
    case: &FixInput<'_>,
    file: &str,
    line: u32,
    condition: &str,
) -> Result<Fix, EditRefusal> {
    let (changes, head) = waits::look_again(case.files.get(file)?, line)?;
    let woken = wake_all::signals(case, condition);
    let last = woken
        .iter()
        .map(|(at, _)| at.line.to_string())
        .collect::<Vec<_>>();
    if last.is_empty() {
        return Err("no line is known that signals it".to_owned());
    }
    let mut edits = Changes::from([(file.to_owned(), changes)]);
    for (at, change) in woken {
        edits.entry(at.file).or_default().push(change);
    }
    let title = format!(
        "{}, and wake all that wait, on line {}",
        looks_again(head),
        last.join(" and line ")
    );
    looking(case, edits, title)
}

fn looks_again(head: u32) -> String {
    format!("look again after the wait: `while` instead of `if` on line {head}")
}

fn looking(case: &FixInput<'_>, edits: Changes, title: String) -> Result<Fix, EditRefusal> {
    Ok(Fix::edit(
        FixKind::LookAgain,
        title,
        case.files.edits(&edits)?,
        "a look at the condition after each wait".to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use crate::fixes::{FixKind, apply, tests::offered_of};

    /// The thread that woke takes what another one has: what this one finds is told, and the wait is what has to change.
    #[test]
    fn threads_that_come_from_a_wait_look_again() {
        let text = "void eat(void)\n{\n    pthread_mutex_lock(&m);\n    if (taken) {\n        waited++;\n        pthread_cond_wait(&put, &m);\n    }\n    taken = 1;\n    pthread_mutex_unlock(&m);\n    pthread_mutex_lock(&m);\n    assert(taken);\n    taken = 0;\n    pthread_cond_signal(&put);\n    pthread_mutex_unlock(&m);\n}\n";
        let takes = |thread: &str| {
            format!(
                "{thread} lock m @3 eat\n{thread} R taken =0 @4 eat\n{thread} W taken =1 @8 eat\n{thread} unlock m @9 eat\n"
            )
        };
        let puts = |thread: &str| {
            format!(
                "{thread} lock m @10 eat\n{thread} R taken =1 @11 eat\n{thread} W taken =0 @12 eat\n{thread} signal put =0 @13 eat\n{thread} unlock m @14 eat\n"
            )
        };
        let begin = "start main.1 eat\nstart main.2 eat\nmain fork main.1 @30 main\nmain fork main.2 @31 main\n";
        let waits = "main.2 lock m @3 eat\nmain.2 R taken =1 @4 eat\nmain.2 wait put @6 eat\nmain.2 unlock m @6 eat\n";
        let wakes = "main signal put =1 @32 main\nmain.2 lock m @6 eat\nmain.2 wake put =0 @6 eat\nmain.2 W taken =1 @8 eat\nmain.2 unlock m @9 eat\n";
        let fails = "main.1 lock m @10 eat\nmain.1 R taken =0 @11 eat\nmain.1 fails @11 assertion `taken` failed\n";
        let failed = [
            begin,
            &takes("main.1"),
            waits,
            wakes,
            &puts("main.2"),
            fails,
        ]
        .concat();
        let alone = |thread: &str| [takes(thread), puts(thread)].concat();
        let passed = [begin, &alone("main.1"), &alone("main.2")].concat();
        let passing = ["p1", "p2", "p3", "p4", "p5", "p6"].map(|name| (name, passed.as_str()));
        let all = [&[("failed-1", failed.as_str())][..], &passing].concat();
        let offered = offered_of(&all, text);
        let looks = offered
            .fixes
            .iter()
            .filter(|fix| fix.kind == FixKind::LookAgain);
        let looks: Vec<_> = looks.collect();
        let [plain, for_all] = looks.as_slice() else {
            panic!("{offered:?}");
        };
        let expected = text.replace("    if (taken)", "    while (taken)");
        assert_eq!(apply(text, "test.c", &plain.edits), Some(expected.clone()));
        let expected = expected.replace("pthread_cond_signal", "pthread_cond_broadcast");
        assert_eq!(apply(text, "test.c", &for_all.edits), Some(expected));
    }
}
