//! Fixes that let a thread begin after all is set that it reads.

use super::{
    FixInput,
    atomic::Changes,
    in_file,
    model::{Fix, FixKind, Ordered},
    order::siblings,
    text::{EditRefusal, move_statement},
};
use crate::explanation::SiteMark;
use std::collections::BTreeSet;
use unsnarl_trace::{EventKind, LocationId, Run, SiteRow, ThreadId};

/// Moves what a thread reads before its creation: all of that, and the late statement alone.
pub(super) fn begins_later(
    case: &FixInput<'_>,
    thread: &str,
    created: &SiteRow,
    late: &SiteMark,
) -> Vec<Result<Fix, EditRefusal>> {
    let runs = case.runs.iter().map(|(_, run)| &**run).chain([case.run]);
    let mut lines: BTreeSet<u32> = runs.flat_map(|run| set_for(run, thread, created)).collect();
    lines.insert(late.place.line);
    let lines: Vec<u32> = lines.into_iter().collect();
    let all = (lines.len() > 1).then(|| set(case, created, &lines));
    let alone = set(case, created, &[late.place.line]);
    match all {
        Some(Ok(fix)) => vec![Ok(fix), alone],
        _ => vec![alone],
    }
}

/// The lines behind the creation of a thread, up to the next time its creator waits for another thread, on which the creator
/// sets what the thread reads. What it sets with a lock held is only the two threads' own: others may need the lock.
fn set_for(run: &Run, thread: &str, created: &SiteRow) -> Vec<u32> {
    let named = |id: ThreadId| run.meta.thread(id).name == thread;
    let reads = run
        .events
        .iter()
        .filter(|(_, event)| event.kind.reads() && named(event.thread));
    let read: BTreeSet<LocationId> = reads.map(|(_, event)| event.location).collect();
    let is_here =
        |site: &SiteRow| (&site.file, &site.function) == (&created.file, &created.function);
    let own = run.meta.threads.iter().find(|row| row.name == thread);
    let Some(creator) = own.and_then(|row| row.parent) else {
        return Vec::new();
    };
    let behind = run
        .events
        .iter()
        .filter(|(_, event)| event.thread == creator);
    let behind = behind.map(|(_, event)| (event, run.meta.site(event.site)));
    let behind = behind
        .skip_while(|(event, site)| event.kind != EventKind::Fork || site.line != created.line);
    let others = run.events.iter().filter(|(_, event)| {
        event.kind.is_access() && event.thread != creator && !named(event.thread)
    });
    let others: BTreeSet<LocationId> = others.map(|(_, event)| event.location).collect();
    let mut locked = false;
    let set = behind
        .take_while(|(event, _)| !matches!(event.kind, EventKind::Join | EventKind::Wait))
        .filter(|(event, site)| {
            locked |= event.kind == EventKind::Lock;
            event.kind.writes()
                && is_here(site)
                && site.line > created.line
                && read.contains(&event.location)
                && !(locked && others.contains(&event.location))
        });
    set.map(|(_, site)| site.line).collect()
}

fn set(case: &FixInput<'_>, created: &SiteRow, lines: &[u32]) -> Result<Fix, EditRefusal> {
    let file = &created.file;
    let changes = move_statement::set_before(case.files.get(file)?, lines, created.line)
        .map_err(|why| in_file(case.explanation, file, &why))?;
    let edits = Changes::from([(file.clone(), changes)]);
    let last = lines.iter().copied().max().unwrap_or(created.line);
    let title = format!(
        "move {} before line {}, which starts the thread",
        in_words(lines),
        created.line
    );
    let ordered = siblings(case, created).into_iter();
    let ordered = ordered.map(|thread| Ordered::BeginsAfter {
        thread,
        file: file.clone(),
        line: last,
    });
    Ok(Fix {
        ordered: ordered.collect(),
        ..Fix::edit(
            FixKind::SetBefore,
            title,
            case.files.edits(&edits)?,
            "none".to_owned(),
        )
    })
}

/// `line 5`, `lines 5 to 7`, `lines 5, 7 and 9`.
fn in_words(lines: &[u32]) -> String {
    let words: Vec<String> = lines.iter().map(u32::to_string).collect();
    let is_block = lines
        .windows(2)
        .all(|two| matches!(two, [a, b] if a + 1 == *b));
    match words.as_slice() {
        [] => String::new(),
        [only] => format!("line {only}"),
        [first, .., last] if is_block && words.len() > 2 => format!("lines {first} to {last}"),
        [first @ .., last] => format!("lines {} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;
    use crate::fixes::{apply, tests::offered_of};

    #[test]
    fn lines_are_named_as_people_do() {
        assert_eq!(in_words(&[5]), "line 5");
        assert_eq!(in_words(&[5, 6]), "lines 5 and 6");
        assert_eq!(in_words(&[5, 6, 7]), "lines 5 to 7");
        assert_eq!(in_words(&[5, 7, 9]), "lines 5, 7 and 9");
    }

    /// Two timers that are started by one function: each is filled in with its lock held, after its thread was created.
    #[test]
    fn all_threads_of_a_line_begin_after_it() {
        let text = "void *run(void *t)\n{\n    lock(&t->m);\n    fn = t->fn;\n    unlock(&t->m);\n}\nvoid start(struct timer *t, fn_t fn)\n{\n    pthread_create(&t->thread, NULL, run, t);\n    pthread_mutex_lock(&t->m);\n    t->fn = fn;\n    pthread_mutex_unlock(&t->m);\n}\n";
        let creates =
            |who: u32| format!("start main.{who} run\nmain fork main.{who} via=20@main @9 start\n");
        let sets = |who: &str| {
            format!(
                "main lock {who}.m via=20@main @10 start\nmain W {who}.fn =1 via=20@main @11 start\nmain unlock {who}.m via=20@main @12 start\n"
            )
        };
        let reads = |who: u32, of: &str, n: u32| {
            format!(
                "main.{who} lock {of}.m @3 run\nmain.{who} R {of}.fn ={n} @4 run\nmain.{who} unlock {of}.m @5 run\n"
            )
        };
        let fine = [
            creates(1),
            sets("a"),
            reads(1, "a", 1),
            creates(2),
            sets("b"),
            reads(2, "b", 1),
        ];
        let first = [
            creates(1),
            reads(1, "a", 0),
            "main.1 fails @4 run\n".to_owned(),
        ];
        let second = [
            creates(1),
            sets("a"),
            creates(2),
            reads(2, "b", 0),
            sets("b"),
            "main.2 fails @4 run\n".to_owned(),
        ];
        let (fine, first, second) = (fine.concat(), first.concat(), second.concat());
        let passing = ["p1", "p2", "p3", "p4", "p5", "p6"].map(|name| (name, fine.as_str()));
        let failing = [("failed-1", first.as_str()), ("failed-2", second.as_str())];
        let offered = offered_of(&[&failing[..], &passing].concat(), text);
        let mut titles = offered.fixes.iter().map(|fix| &*fix.title);
        let moved = "move line 11 before line 9, which starts the thread";
        assert!(titles.any(|title| title == moved), "{offered:?}");
    }

    /// A thread begins while its order is filled in: a line that it reads nothing of stays where it is.
    #[test]
    fn all_that_a_thread_reads_comes_before_it() {
        let text = "void *sum(void *order)\n{\n    for (int i = 0; i < order->lines; i++)\n        total += order->rebate;\n}\nint main(void)\n{\n    pthread_create(&t, NULL, sum, order);\n    order->lines = 3;\n    order->note = 4;\n    order->rebate = 2;\n    pthread_join(t, NULL);\n    assert(total == 6);\n}\n";
        let begin = "start main.1 sum\nmain fork main.1 @8 main\n";
        let set = "main W order.lines =3 @9 main\nmain W order.note =4 @10 main\nmain W order.rebate =2 @11 main\n";
        let sums = "main.1 R order.lines =3 @3 sum\nmain.1 R order.rebate =2 @4 sum\nmain.1 W total =6 @4 sum\n";
        let joins = "main join main.1 @12 main\n";
        let passed = [begin, set, sums, joins, "main R total =6 @13 main\n"].concat();
        let early = "main.1 R order.lines =0 @3 sum\n";
        let fails = "main.1 fails @3 division by zero\n";
        let failed = [begin, early, set, fails].concat();
        let passing = ["p1", "p2", "p3", "p4", "p5", "p6"].map(|name| (name, passed.as_str()));
        let all = [&[("failed-1", failed.as_str())][..], &passing].concat();
        let offered = offered_of(&all, text);
        let moved = offered
            .fixes
            .iter()
            .find(|fix| fix.title.contains("starts the thread"));
        let moved = moved.unwrap_or_else(|| panic!("{offered:?}"));
        assert_eq!(
            moved.title,
            "move lines 9 and 11 before line 8, which starts the thread"
        );
        let expected = text.replace(
            "    pthread_create(&t, NULL, sum, order);\n    order->lines = 3;\n    order->note = 4;\n    order->rebate = 2;\n",
            "    order->lines = 3;\n    order->rebate = 2;\n    pthread_create(&t, NULL, sum, order);\n    order->note = 4;\n",
        );
        assert_eq!(apply(text, "test.c", &moved.edits), Some(expected));
    }
}
