//! Locks around all of a thread's work, which make threads take turns, so that they need not be threads.

use super::{EditRegion, Fix, FixKind, sections::LockSpan};
use crate::{callers::call_sites, facts};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, Run, ThreadId};

/// Percentage of a thread's accesses that counts as nearly all: before and after them are its arguments and
/// its result.
const NEARLY_ALL: usize = 90;

/// Reason why a new mutex would only make threads take turns, if it does: two of them loop within it, or it is around the calls
/// of the functions that they began with, and they do nearly nothing else. An operation that such a function calls is a unit,
/// even where a thread does only one.
pub(super) fn refuse(fix: &Fix, run: &Run, new: &[LockSpan]) -> Option<String> {
    if fix.kind != FixKind::NewMutex {
        return None;
    }
    let mut spans: BTreeMap<u16, Vec<&LockSpan>> = BTreeMap::new();
    for span in new {
        spans.entry(span.thread).or_default().push(span);
    }
    let whole = spans.iter().filter_map(|(thread, spans)| match spans[..] {
        [span] if is_all(fix, run, span) => Some(facts::thread_in_words(run, ThreadId(*thread))),
        _ => None,
    });
    let [one, other, ..] = &whole.collect::<Vec<_>>()[..] else {
        return None;
    };
    Some(format!(
        "all that {one} and {other} do would be in it: they would take turns, one as a whole after the other"
    ))
}

/// Returns whether a section has nearly all of its thread's accesses, and loops, or makes calls from where the thread began.
fn is_all(fix: &Fix, run: &Run, span: &LockSpan) -> bool {
    let mut regions = fix.regions.iter();
    let Some((region, depth)) =
        regions.find_map(|region| Some((region, depth(run, span, region)?)))
    else {
        return false;
    };
    let goes_round = region.parts.iter().any(|part| part.is_loop);
    let is_outermost = depth == 0 && mostly_calls(run, span, depth);
    if !goes_round && !is_outermost {
        return false;
    }
    let own = run
        .events
        .iter()
        .filter(|(_, event)| event.thread.0 == span.thread && event.kind.is_access());
    let (mut all, mut within) = (0, 0);
    for (row, _) in own {
        all += 1;
        within += usize::from((span.first..=span.last).contains(&row.0));
    }
    within * 100 >= all * NEARLY_ALL
}

/// Number of calls that lead to the function of a region where a section begins; none where it begins elsewhere.
fn depth(run: &Run, span: &LockSpan, region: &EditRegion) -> Option<usize> {
    let mut sites = call_sites(run, EventId(span.first)).into_iter();
    sites.position(|site| {
        let site = run.meta.site(site);
        (&site.file, &site.function) == (&region.lines.file, &region.lines.function)
    })
}

/// Returns whether a function calls others from several lines of a section, or does all there on the lines of such calls.
fn mostly_calls(run: &Run, span: &LockSpan, depth: usize) -> bool {
    let rows = (span.first..=span.last).map(EventId);
    let own = rows.filter_map(|row| Some((row, run.events.get(row)?)));
    let own = own.filter(|(_, event)| event.thread.0 == span.thread);
    let (mut calling, mut doing) = (BTreeSet::new(), BTreeSet::new());
    for (row, event) in own {
        let sites = call_sites(run, row);
        let Some(site) = sites.get(depth) else {
            continue;
        };
        let line = run.meta.site(*site).line;
        if sites.len() > depth + 1 {
            calling.insert(line);
        } else if event.kind.is_access() {
            doing.insert(line);
        }
    }
    calling.len() > 1 || !calling.is_empty() && doing.is_subset(&calling)
}

#[cfg(test)]
mod tests {
    use crate::fixes::tests::offered_of;

    /// Each of the threads does one operation: the lock is around that, and not around the call of it.
    #[test]
    fn an_operation_is_a_unit_where_a_thread_does_only_one() {
        let text = "int used;\nvoid begin(void)\n{\n    if (used > 40)\n        return;\n    used += 60;\n}\nvoid *one(void *arg)\n{\n    begin();\n    return arg;\n}\nvoid *two(void *arg)\n{\n    begin();\n    return arg;\n}\n";
        let looks = |who: &str, by: &str, at: u32, n: u32| {
            format!("{who} R used ={n} via={at}@{by} @4 begin\n")
        };
        let adds = |who: &str, by: &str, at: u32, n: u32| {
            format!(
                "{who} R used ={n} via={at}@{by} @6 begin\n{who} W used ={} via={at}@{by} @6 begin\n",
                n + 60
            )
        };
        let begin = "start main.1 one\nstart main.2 two\nmain fork main.1 @30 main\nmain fork main.2 @31 main\n";
        let fine = [
            begin,
            &looks("main.1", "one", 10, 0),
            &adds("main.1", "one", 10, 0),
            &looks("main.2", "two", 15, 60),
        ];
        let bad = [
            begin,
            &looks("main.1", "one", 10, 0),
            &looks("main.2", "two", 15, 0),
            &adds("main.2", "two", 15, 0),
            &adds("main.1", "one", 10, 60),
            "main.1 fails @6 over the limit\n",
        ];
        let (fine, bad) = (fine.concat(), bad.concat());
        let passing = ["p1", "p2", "p3", "p4", "p5", "p6"].map(|name| (name, fine.as_str()));
        let all = [&[("failed-1", bad.as_str())][..], &passing].concat();
        let offered = offered_of(&all, text);
        let titles: Vec<&str> = offered.fixes.iter().map(|fix| fix.title.as_str()).collect();
        assert_eq!(
            titles,
            ["guard lines 4 to 6 with a new mutex `used_lock`"],
            "{offered:?}"
        );
    }
}
