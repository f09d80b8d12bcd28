//! Sets announcements last: a flag or a pointer after the data it announces, data after the lock for the
//! rest.

use super::{
    FixInput,
    atomic::Changes,
    model::{Fix, FixKind},
    places::meeting,
    seen::{At, frames},
    text::{EditRefusal, locks::last_name, move_behind, set_first},
};
use crate::{
    explain::{have_common_lock, is_under_one_lock},
    explanation::{BugKind, Role, SiteMark, Step},
    facts,
};
use std::collections::BTreeSet;
use unsnarl_trace::{Event, EventId, EventKind, Location, Run, ThreadId};

/// Moves a flag or a pointer after the data it announces; `None` for explanations of another kind.
pub(super) fn set_last(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let explanation = case.explanation;
    if explanation.kind == BugKind::UseAfterFree {
        return used_before(case);
    }
    let causes: Vec<&SiteMark> = causes(case).collect();
    let [one, other] = causes.as_slice() else {
        return None;
    };
    if let Some(store) = seen_first(case, one) {
        return Some(behind(case, store, other));
    }
    if let Some(look) = looks_first(case, one, other) {
        return Some(behind(case, look, other).or_else(|_| before_work(case, look, other)));
    }
    let is_early = |mark: &&&SiteMark| {
        case.explanation
            .step_of(mark)
            .is_some_and(|step| step.note == "too early")
    };
    let early = *[one, other].into_iter().find(is_early)?;
    let setter = *[one, other].into_iter().find(|mark| **mark != early)?;
    let is_order = matches!(
        explanation.kind,
        BugKind::OrderViolation | BugKind::LostWakeup
    ) && one.location != other.location;
    let store = case.explanation.step_of(early).filter(|_| is_order)?;
    explanation.steps.iter().find(|step| {
        step.location == store.location && step.thread != store.thread && step.event > store.event
    })?;
    Some(behind(case, store, setter))
}

/// Moves what let another thread free a block, or may free it itself, after the last use of the block in the same function.
fn used_before(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let mut marks = case.explanation.sites.iter();
    let used = marks.find(|mark| mark.role == Role::Interference)?;
    let of = case.explanation.step_of(used)?;
    let steps = &case.explanation.steps;
    let reads = |store: &Step| {
        let mut later = steps.iter().filter(|look| look.event > store.event);
        later.any(|look| look.thread != store.thread && look.location == store.location)
    };
    let lets_go = |store: &&Step| {
        let kind = EventKind::from_name(&store.access);
        let gives = kind.is_some_and(|kind| kind.writes() || kind == EventKind::SemPost);
        let frees = kind == Some(EventKind::Free);
        let is_own = store.thread == of.thread && store.event < of.event;
        is_own && (frees || gives && reads(store))
    };
    let store = steps.iter().find(lets_go)?;
    let (at, line) = meeting(case, store, used)?;
    let last = last_use(case, &at, of).max(line);
    // A call that frees sets nothing but what goes with the block.
    let mut frames = frames(case.run, EventId(store.event)).into_iter();
    let called = frames.by_ref().take_while(|one| *one != at).last();
    let called = called.filter(|_| EventKind::from_name(&store.access) == Some(EventKind::Free));
    let called = called.as_ref().map(|one| last_name(&one.function));
    Some(moved(case, &at.file, (at.line, last), called))
}

/// The last line of a function that leads to a use of the block that a step uses, in any run. Linear in the runs.
fn last_use(case: &FixInput<'_>, at: &At, used: &Step) -> u32 {
    let block = Location::of(&used.location).block();
    let uses = |run: &Run, event: &Event| {
        let location = run.location(event.location);
        Location::of(location).block() == block
            && facts::thread_name(run, event.thread) == used.thread
    };
    let lines = case.runs.iter().flat_map(|(_, run)| {
        let rows = run.events.iter().filter(|(_, event)| uses(run, event));
        rows.flat_map(|(row, _)| frames(run, row))
    });
    let here = lines.filter(|one| (&one.function, &one.file) == (&at.function, &at.file));
    here.map(|one| one.line).max().unwrap_or(0)
}

/// The first of two changes, of which another thread saw this one and not the other, if it looked at this one first: what
/// it read there told it that the other one had come.
fn seen_first<'c>(case: &FixInput<'c>, first: &SiteMark) -> Option<&'c Step> {
    let explanation = case.explanation;
    let store = case
        .explanation
        .step_of(first)
        .filter(|_| explanation.kind == BugKind::MultiVariableAtomicityViolation)?;
    let others = explanation.sites.iter();
    let others = others.filter(|mark| mark.role == Role::Interference);
    let looks: Option<Vec<&Step>> = others.map(|mark| case.explanation.step_of(mark)).collect();
    let looks = looks.filter(|all| all.iter().all(|look| only_reads(look)))?;
    let first_look = looks.iter().min_by_key(|look| look.event)?;
    let tells = first_look.location == store.location && !is_a_pair(case, store, &looks);
    tells.then_some(store)
}

/// The look of a thread for work, if it sets back only later the flag by which another one, which has brought more since, saw that
/// it was told already.
fn looks_first<'c>(case: &FixInput<'c>, look: &SiteMark, reset: &SiteMark) -> Option<&'c Step> {
    let is_of_two = case.explanation.kind == BugKind::MultiVariableAtomicityViolation;
    let (look, reset) = (
        case.explanation.step_of(look).filter(|_| is_of_two)?,
        case.explanation.step_of(reset)?,
    );
    let others = case.explanation.sites.iter();
    let others = others.filter(|mark| mark.role == Role::Interference);
    let others: Vec<&Step> = others
        .filter_map(|mark| case.explanation.step_of(mark))
        .collect();
    let [brings, asks] = others.as_slice() else {
        return None;
    };
    let is_of_look = brings.location == look.location && !only_reads(brings);
    let is_of_flag = asks.location == reset.location && brings.thread == asks.thread;
    let is_late = look.thread == reset.thread && look.event < reset.event && !only_reads(reset);
    (only_reads(look) && is_of_look && is_of_flag && is_late).then_some(look)
}

/// Returns whether who looks needs both as they belong together, whichever comes first: a run shows that a thread looks at the
/// other one although it has not seen the change. Linear in the runs.
fn is_a_pair(case: &FixInput<'_>, store: &Step, looks: &[&Step]) -> bool {
    let others = looks.iter().filter(|look| look.location != store.location);
    let others: Vec<&Step> = others.copied().collect();
    let mut runs = case.runs.iter();
    runs.any(|(_, run)| is_read_anyway(run, store, &others))
}

/// Returns whether a thread of a run, which changes neither, looks at the others after it has read what was there before the
/// store.
fn is_read_anyway(run: &Run, store: &Step, others: &[&Step]) -> bool {
    let mut is_stored = false;
    let mut has_not_seen: BTreeSet<ThreadId> = BTreeSet::new();
    let mut accesses = run
        .events
        .iter()
        .filter(|(_, event)| event.kind.is_access());
    accesses.any(|(_, event)| {
        let (location, site) = (run.location(event.location), run.meta.site(event.site));
        let is_at = |step: &Step| (site.line, &site.file) == (step.place.line, &step.place.file);
        let of_store = location == store.location;
        if of_store && event.kind.writes() {
            is_stored = is_at(store);
        }
        let mut looked_at = others.iter().filter(|look| look.location == location);
        let is_other = looked_at.clone().next().is_some();
        if of_store && !event.kind.writes() && !is_stored {
            has_not_seen.insert(event.thread);
        } else if of_store || is_other && event.kind.writes() {
            has_not_seen.remove(&event.thread);
        }
        looked_at.any(|look| is_at(look)) && has_not_seen.contains(&event.thread)
    })
}

fn only_reads(look: &Step) -> bool {
    look.access_kind().is_some_and(|kind| !kind.writes())
}

fn behind(case: &FixInput<'_>, store: &Step, setter: &SiteMark) -> Result<Fix, EditRefusal> {
    let (at, line) = meeting(case, store, setter)
        .ok_or_else(|| format!("what is set late is not set in {}", store.place.function))?;
    let last = match at.function == store.place.function {
        true => all_set(case, store, line),
        false => line,
    };
    let stored = (at.function != store.place.function).then(|| last_name(&store.location));
    let mut fix = moved(case, &at.file, (at.line, last), stored)
        .or_else(|_| moved(case, &at.file, (at.line, line), stored))?;
    // Runs do not show this: they see the stores in the order of the program.
    let stored = case.run.events.get(EventId(store.event));
    let is_ordered = stored.is_some_and(|event| event.kind.is_atomic())
        || is_under_one_lock(case.explanation, case.run)
        || is_seen_under_a_lock(case, store);
    if !is_ordered {
        fix.assumes.push(format!(
            "`{}` is atomic, or becomes so: compilers and other machines may change the order of plain stores",
            facts::location_in_words(&store.location)
        ));
    }
    Ok(fix)
}

/// Takes a request back before the work for it is done: who asks during that is heard.
fn before_work(case: &FixInput<'_>, look: &Step, reset: &SiteMark) -> Result<Fix, EditRefusal> {
    let (at, late) = meeting(case, look, reset)
        .ok_or_else(|| format!("what is set late is not set in {}", look.place.function))?;
    let moved = set_first::set_before_work(case.files.get(&at.file)?, at.line, late)?;
    let changes = Changes::from([(at.file, moved.changes)]);
    let title = format!("move line {late} before line {}", moved.before);
    Ok(Fix::edit(
        FixKind::MoveBehind,
        title,
        case.files.edits(&changes)?,
        "none".to_owned(),
    ))
}

/// Returns whether the steps on what is stored are all in sections of one lock, which orders what comes before the store too.
fn is_seen_under_a_lock(case: &FixInput<'_>, store: &Step) -> bool {
    let steps = case.explanation.steps.iter();
    let own = steps.filter(|step| step.location == store.location);
    have_common_lock(case.run, own.map(|step| EventId(step.event)))
}

/// Moves a change of data after the acquisition of the lock for the rest; `None` for explanations of another
/// kind.
pub(super) fn change_last(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let tried = EventKind::TryLockFailed.name();
    let attempt = causes(case).find(|mark| mark.access == tried)?;
    let write = causes(case).find(|mark| mark.access != tried)?;
    let (of, at) = (&write.place, &attempt.place);
    if (&of.file, &of.function) != (&at.file, &at.function) {
        return Some(Err(
            "the change and the attempt are in different functions".to_owned()
        ));
    }
    Some(moved(case, &of.file, (of.line, at.line), None))
}

fn moved(
    case: &FixInput<'_>,
    file: &str,
    (early, after): (u32, u32),
    stored: Option<&str>,
) -> Result<Fix, EditRefusal> {
    let changes = move_behind::set_behind(case.files.get(file)?, early, after, stored)?;
    let edits = case
        .files
        .edits(&Changes::from([(file.to_owned(), changes)]))?;
    let title = format!("move line {early} behind line {after}");
    Ok(Fix::edit(
        FixKind::MoveBehind,
        title,
        edits,
        "none".to_owned(),
    ))
}

fn causes<'c>(case: &FixInput<'c>) -> impl Iterator<Item = &'c SiteMark> {
    let marks = case.explanation.sites.iter();
    marks.filter(|mark| mark.role == Role::Cause)
}

/// The last line of the store's function, from `line` on, that sets what other threads read after they have read what was
/// stored: all of that has to be there before. Linear in the runs.
fn all_set(case: &FixInput<'_>, store: &Step, line: u32) -> u32 {
    let runs = || case.runs.iter().map(|(_, run)| &**run);
    let read: BTreeSet<&str> = runs().flat_map(|run| read_after(run, store)).collect();
    let lines = runs().flat_map(|run| {
        let writes = run.events.iter().filter(|(_, event)| {
            event.kind.writes() && read.contains(run.location(event.location))
        });
        let own = writes.map(|(_, event)| run.meta.site(event.site));
        own.filter(|site| {
            (&site.function, &site.file) == (&store.place.function, &store.place.file)
        })
    });
    lines.map(|site| site.line).fold(line, u32::max)
}

/// The locations that other threads read after they have read the stored value.
fn read_after<'r>(run: &'r Run, store: &Step) -> Vec<&'r str> {
    let mut looked: BTreeSet<ThreadId> = BTreeSet::new();
    let mut read = Vec::new();
    for (_, event) in run.events.iter().filter(|(_, event)| event.kind.reads()) {
        let location = run.location(event.location);
        if facts::thread_name(run, event.thread) == store.thread {
            continue;
        }
        if location == store.location {
            looked.insert(event.thread);
        } else if looked.contains(&event.thread) {
            read.push(location);
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use crate::fixes::{FixKind, apply, tests::offered_of};

    /// A state that is announced by one function, before another one sets what belongs to it.
    #[test]
    fn a_call_that_announces_comes_after_the_call_that_sets() {
        let text = "static pthread_mutex_t m;\nstatic int state, size;\nvoid enter(void)\n{\n    pthread_mutex_lock(&m);\n    state = 2;\n    pthread_mutex_unlock(&m);\n}\nvoid negotiate(void)\n{\n    pthread_mutex_lock(&m);\n    size = 9;\n    pthread_mutex_unlock(&m);\n}\nvoid on_ack(void)\n{\n    enter();\n    negotiate();\n}\nvoid send(void)\n{\n    pthread_mutex_lock(&m);\n    if (state == 2)\n        used = size;\n    pthread_mutex_unlock(&m);\n}\n";
        let enters = "main.1 lock m via=17@on_ack @5 enter\nmain.1 W state =2 via=17@on_ack @6 enter\nmain.1 unlock m via=17@on_ack @7 enter\n";
        let sets = "main.1 lock m via=18@on_ack @11 negotiate\nmain.1 W size =9 via=18@on_ack @12 negotiate\nmain.1 unlock m via=18@on_ack @13 negotiate\n";
        let sends = |size: u32| {
            format!(
                "main.2 lock m @22 send\nmain.2 R state =2 @23 send\nmain.2 R size ={size} @24 send\nmain.2 W used ={size} @24 send\nmain.2 unlock m @25 send\n"
            )
        };
        let begin = "main fork main.1 @30 main\nmain fork main.2 @31 main\n";
        let end = "main join main.1 @32 main\nmain join main.2 @33 main\n";
        let failed = format!(
            "{begin}{enters}{}{sets}{end}main R used =0 @34 main\nmain fails @34 main assertion `used == 9` failed\n",
            sends(0)
        );
        let passed = format!(
            "{begin}{enters}{sets}{}{end}main R used =9 @34 main\n",
            sends(9)
        );
        let passing = ["p1", "p2", "p3", "p4", "p5", "p6"].map(|name| (name, passed.as_str()));
        let all = [&[("failed-1", failed.as_str())][..], &passing].concat();
        let offered = offered_of(&all, text);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.kind, FixKind::MoveBehind, "{offered:?}");
        let expected = text.replace(
            "    enter();\n    negotiate();",
            "    negotiate();\n    enter();",
        );
        assert_eq!(apply(text, "test.c", &fix.edits), Some(expected));
        assert!(fix.assumes.is_empty(), "{:?}", fix.assumes);
        // What is announced needs no lock of its own: the one of the announcement orders it.
        let without_lock = |run: &str| {
            let sent = "main.2 unlock m @25 send\n";
            let looked = "main.2 R state =2 @23 send\n";
            run.replace("main.1 lock m via=18@on_ack @11 negotiate\n", "")
                .replace("main.1 unlock m via=18@on_ack @13 negotiate\n", "")
                .replace(sent, "")
                .replace(looked, &format!("{looked}{sent}"))
        };
        let (failed, passed) = (without_lock(&failed), without_lock(&passed));
        let passing = ["p1", "p2", "p3", "p4", "p5", "p6"].map(|name| (name, passed.as_str()));
        let all = [&[("failed-1", failed.as_str())][..], &passing].concat();
        let offered = offered_of(&all, text);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.kind, FixKind::MoveBehind, "{offered:?}");
        assert!(fix.assumes.is_empty(), "{:?}", fix.assumes);
    }

    /// A reference is given up before the object is used for the last time, and was the last one in the failing run.
    #[test]
    fn who_frees_a_block_itself_does_so_after_its_last_use() {
        let text = "void put(struct conn *c)\n{\n    if (atomic_fetch_sub(&c->refs, 1) == 1)\n        free(c);\n}\nvoid answer(struct conn *c)\n{\n    put(c);\n    log_close(c->peer);\n}\n";
        let block = "`heap(a.c:12 by main #0)`";
        let refs = "`heap(a.c:12 by main #0).refs`";
        let begin = format!(
            "start main.1 answer\nmain alloc {block} =32 @20 main\nmain W {refs} =2 @21 main\nmain fork main.1 @22 main\n"
        );
        let puts = |by: &str, from: u32, via: &str| {
            format!("{by} rmw {refs} {from}->{} via={via} @3 put\n", from - 1)
        };
        let uses = "main.1 R `heap(a.c:12 by main #0).peer` =7 @9 answer\n";
        let frees = |by: &str, via: &str| format!("{by} free {block} via={via} @4 put\n");
        let failed = [
            &*begin,
            &puts("main", 2, "23@main"),
            &puts("main.1", 1, "8@answer"),
            &frees("main.1", "8@answer"),
            uses,
            "main.1 fails @9 segmentation fault",
        ]
        .concat();
        let passed = [
            &*begin,
            &puts("main.1", 2, "8@answer"),
            uses,
            &puts("main", 1, "23@main"),
            &frees("main", "23@main"),
        ]
        .concat();
        let runs = [
            ("failed-1", failed.as_str()),
            ("p1", &passed),
            ("p2", &passed),
        ];
        let offered = offered_of(&runs, text);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.title, "move line 8 behind line 9", "{offered:?}");
        // A member gives the reference up, by a name that others have for what they set.
        let text = text.replace("    put(c);", "    c->release();");
        let by_member = runs.map(|(name, run)| (name, run.replace("put\n", "release\n")));
        let by_member: Vec<_> = by_member
            .iter()
            .map(|(name, run)| (*name, run.as_str()))
            .collect();
        let offered = offered_of(&by_member, &text);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.title, "move line 8 behind line 9", "{offered:?}");
    }

    /// A reader that reads the second whatever the first is needs them as they belong together; one that reads it only after it
    /// has seen the first does not, though both are on one line.
    #[test]
    fn a_pair_is_no_announcement() {
        let text = "static pthread_mutex_t m;\nstatic int file, off;\nvoid set_file(void)\n{\n    pthread_mutex_lock(&m);\n    file = 2;\n    pthread_mutex_unlock(&m);\n}\nvoid set_off(void)\n{\n    pthread_mutex_lock(&m);\n    off = 4;\n    pthread_mutex_unlock(&m);\n}\nvoid rotate(void)\n{\n    set_file();\n    set_off();\n}\nvoid look(void)\n{\n    pthread_mutex_lock(&m);\n    int f = file;\n    int o = off;\n    pthread_mutex_unlock(&m);\n    check(f, o);\n}\n";
        let first = "main.1 lock m via=17@rotate @5 set_file\nmain.1 W file =2 via=17@rotate @6 set_file\nmain.1 unlock m via=17@rotate @7 set_file\n";
        let second = "main.1 lock m via=18@rotate @11 set_off\nmain.1 W off =4 via=18@rotate @12 set_off\nmain.1 unlock m via=18@rotate @13 set_off\n";
        let looks = |file: u32, off: u32, line: u32| {
            format!(
                "main.2 lock m @22 look\nmain.2 R file ={file} @23 look\nmain.2 R off ={off} @{line} look\nmain.2 unlock m @25 look\n"
            )
        };
        let begin = "main W file =1 @28 main\nmain W off =700 @29 main\nmain fork main.1 @30 main\nmain fork main.2 @31 main\n";
        let kinds = |line: u32, anyway: bool| -> Vec<FixKind> {
            let failed = format!(
                "{begin}{first}{}{second}main.2 fails @26 look",
                looks(2, 700, line)
            );
            let after = format!("{begin}{first}{second}{}", looks(2, 4, line));
            let mut early = looks(1, 700, line);
            if !anyway {
                early = early.replace(&format!("main.2 R off =700 @{line} look\n"), "");
            }
            let before = format!("{begin}{early}{first}{second}");
            let runs = [("failed-1", &failed), ("p1", &after), ("p2", &before)];
            let runs = runs.map(|(name, text)| (name, text.as_str()));
            let offered = offered_of(&runs, text);
            offered.fixes.iter().map(|fix| fix.kind).collect()
        };
        assert!(!kinds(23, true).contains(&FixKind::MoveBehind));
        assert!(!kinds(24, true).contains(&FixKind::MoveBehind));
        assert!(kinds(23, false).contains(&FixKind::MoveBehind));
    }

    /// The pump says that it is done before it has looked at the session for the last time.
    #[test]
    fn who_lets_a_block_be_freed_does_so_after_its_last_use() {
        let text = "static int done;\nvoid pump(struct session *s)\n{\n    done = 1;\n    total += s->bytes;\n    count += s->files;\n}\nvoid end(struct session *s)\n{\n    if (done)\n        free(s);\n}\n";
        let block = "`heap(s.c:12 by main #0)`";
        let begin = format!("main alloc {block} =32 @20 main\nmain fork main.1 @21 main\n");
        let sets = "main.1 rmw done 0->1 @4 pump\n";
        let uses = |at: u32, line: u32| {
            format!("main.1 R `heap(s.c:12 by main #0)+{at}` =7 @{line} pump\n")
        };
        let frees = format!("main rmw done 1->1 @10 end\nmain free {block} @11 end\n");
        let failed = [
            &*begin,
            sets,
            &frees,
            &uses(8, 5),
            "main.1 fails @5 segmentation fault",
        ]
        .concat();
        let passed = [&*begin, sets, &uses(8, 5), &uses(16, 6), &frees].concat();
        let offered = offered_of(&[("failed-1", &failed), ("p1", &passed)], text);
        let fix = offered.fixes.first().unwrap();
        assert_eq!(fix.title, "move line 4 behind line 6", "{offered:?}");
        let expected = text
            .replace("    done = 1;\n", "")
            .replace("s->files;\n", "s->files;\n    done = 1;\n");
        assert_eq!(apply(text, "test.c", &fix.edits), Some(expected));
    }
}
