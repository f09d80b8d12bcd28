//! Instances of what an explanation blames, in any run: whether a run has it, and what of that does no harm.

use super::{
    interruption::Interruption,
    outstanding::is_outstanding,
    turned::{Blamed, blamed, missing},
};
use crate::{
    claims::Claim,
    corpus::failure_place,
    explanation::{Absent, BugKind, Explanation, FailurePlace, GoneLocal, Place, Step},
    facts,
    mining::Trace,
    orders::{Accesses, Dependency, dependencies},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use unsnarl_trace::{EventId, EventKind, Location, LocationId, Outcome, Run, ThreadId, Value};

/// A line with the kind of access.
pub(super) type LineAndKind<'a> = (&'a str, u32, &'a str);

/// One visit of a line by a thread, for one variable: names of the thread and the variable, number of the visit from 1.
type LineVisit = (String, String, u32);

/// Two visits, one of which depends on the other: the same in all runs.
type Instance = (LineVisit, LineVisit);

/// A visit that reads before a write, with how often that has come by then.
type EarlyRead = (LineVisit, u32);

/// Instances of what is blamed that passing runs have: iterations in which the order is as it should be, and any other that
/// does no harm.
#[derive(Default)]
pub struct Harmless {
    orders: FxHashSet<Instance>,
    /// Reads before a write that the failing run never reached.
    reads: FxHashSet<EarlyRead>,
}

impl Harmless {
    /// Those of runs that passed; none where more than one order or an interruption is blamed, since each part may be harmless
    /// without the others. Linear in the runs.
    pub fn of<'r>(explanation: &Explanation, passed: impl IntoIterator<Item = &'r Run>) -> Self {
        let blamed = blamed(explanation);
        let early = missing(explanation).zip(blamed.last());
        let wanted = orders(&blamed);
        let is_one = wanted.len() == 1
            && overlap(explanation).is_none()
            && Interruption::of(explanation).is_none();
        let mut harmless = Harmless::default();
        for run in passed {
            if let Some((absent, reader)) = &early {
                harmless.reads.extend(too_early(run, reader.step, absent));
            } else if is_one {
                let visits = Visits::new(run, &wanted);
                each(run, &wanted, |found, _| {
                    harmless.orders.extend(visits.instance(found));
                });
            }
        }
        harmless
    }
}

/// Returns whether a run has what is blamed somewhere, between any threads: the interruption, or all blamed accesses in
/// order. None when the explanation blames nothing that a run could have: events that never
/// happened, or no accesses at all. Linear in the run, apart from [`Claim::Overlap`].
pub fn bears_out(explanation: &Explanation, run: &Run) -> Option<bool> {
    bears_out_but(explanation, run, &Harmless::default())
}

/// Notes which of an explanation's runs fail without having what is blamed, so that places where only these fail are none of
/// its own, and in which of these the threads meet the other
/// way round, as no passing run has it. Who waits for whom at the end is no order that a run could have or not have; nor is
/// what the run that the steps are from does not have. Linear in the runs.
pub fn set_apart(explanation: &mut Explanation, runs: &[(String, Arc<Run>)]) {
    let has = |name: &String, run: &Run| {
        let is_own = explanation.runs.binary_search(name).is_ok();
        is_own.then(|| bears_out(explanation, run)).flatten()
    };
    let is_told =
        |(name, run): &(String, Arc<Run>)| *name == explanation.run && has(name, run) == Some(true);
    if !explanation.kind.is_order() || !runs.iter().any(is_told) {
        return;
    }
    let without = runs
        .iter()
        .filter(|(name, run)| has(name, run) == Some(false));
    let meets = |run: &Run| meets_the_other_way(explanation, run);
    let mut passed = runs
        .iter()
        .filter(|(_, run)| run.meta.outcome == Outcome::Passed);
    let does_no_harm = passed.any(|(_, run)| meets(run));
    let (mirrored, without): (Vec<_>, Vec<_>) =
        without.partition(|(_, run)| !does_no_harm && meets(run));
    let names =
        |of: Vec<&(String, Arc<Run>)>| of.into_iter().map(|(name, _)| name.clone()).collect();
    (explanation.runs_mirrored, explanation.runs_without) = (names(mirrored), names(without));
    let without = &explanation.runs_without;
    let own = runs.iter().filter(|(name, _)| {
        explanation.runs.binary_search(name).is_ok() && without.binary_search(name).is_err()
    });
    let fails: Vec<FailurePlace> = own.filter_map(|(_, run)| failure_place(run)).collect();
    explanation.also_fails.retain(|place| fails.contains(place));
}

/// As [`bears_out`], where harmless instances do not count.
pub fn bears_out_but(explanation: &Explanation, run: &Run, harmless: &Harmless) -> Option<bool> {
    if let Some(gone) = &explanation.gone {
        let mut uses = run.meta.left_locals.iter();
        return Some(uses.any(|it| GoneLocal::from(it) == *gone));
    }
    let blamed = blamed(explanation);
    if let (Some(absent), Some(reader)) = (missing(explanation), blamed.last()) {
        let early = too_early(run, reader.step, &absent);
        return Some(early.iter().any(|visit| !harmless.reads.contains(visit)));
    }
    let overlap = overlap(explanation);
    let is_had = |claim: &Claim| {
        let trace = Trace::new(run, &Accesses::new(run));
        match run.meta.outcome.is_failure() {
            true => claim.had_begun(&trace),
            false => claim.is_had(&trace),
        }
    };
    if let Some(claim) = overlap.filter(|claim| !is_in_order(claim)) {
        return Some(is_had(claim));
    }
    if let Some(interruption) = Interruption::of(explanation) {
        // The failure may come before the last step.
        let has_begun = || run.meta.outcome.is_failure() && overlap.is_some_and(is_had);
        return Some(interruption.is_in(run) || has_begun());
    }
    if let Some(claim) = overlap {
        return Some(is_had(claim));
    }
    if let Some((free, used)) = freed_and_used(explanation, &blamed) {
        return Some(is_used_after(run, free, used) || is_revived(explanation, run));
    }
    let mut wanted = orders(&blamed);
    if wanted.is_empty() {
        return None;
    }
    let visits = Visits::new(run, &wanted);
    each(run, &wanted.clone(), |found, order| {
        let instance = visits.instance(found);
        if !instance.is_some_and(|instance| harmless.orders.contains(&instance)) {
            wanted.remove(order);
        }
    });
    let may_be_outstanding = harmless.orders.is_empty();
    wanted.retain(|order| !(may_be_outstanding && is_outstanding(run, &blamed, *order)));
    Some(wanted.is_empty())
}

/// Returns whether the two threads meet in a run the other way round: what came between is interrupted by what was interrupted
/// in the explained run. Linear in the run.
pub fn meets_the_other_way(explanation: &Explanation, run: &Run) -> bool {
    let mirrored = Interruption::of(explanation).and_then(Interruption::mirrored);
    mirrored.is_some_and(|mirrored| mirrored.is_in(run))
}

/// The step that frees a block and the one that uses it, where no more is blamed, or the same thread does both.
fn freed_and_used<'a>(
    explanation: &Explanation,
    blamed: &[Blamed<'a>],
) -> Option<(&'a Step, &'a Step)> {
    let of_blocks = explanation.kind == BugKind::UseAfterFree;
    match blamed {
        [free, used] if of_blocks => Some((free.step, used.step)),
        [.., free, used] if of_blocks && free.step.thread == used.step.thread => {
            Some((free.step, used.step))
        }
        _ => None,
    }
}

/// Returns whether a thread uses a block that another thread has freed at the line, or as in the explained run it itself: one
/// as the block that is used, of which it is chance which use comes first after that, or any at the line of the use, whatever
/// line made it. A function that frees several blocks takes down all of them: where it was too early for one of them, another
/// one may be used first in the function of the use.
fn is_used_after(run: &Run, free: &Step, used: &Step) -> bool {
    let family = facts::kin(Location::of(&used.location).block());
    let is_own = free.thread == used.thread;
    // The thread that freed a block, and whether it did so at the very line.
    let mut freed: FxHashMap<&str, (ThreadId, bool)> = FxHashMap::default();
    run.events.iter().any(|(row, event)| {
        let block = run.block(event.location);
        let by = freed.get(block).copied();
        let is_there = key_of(run, row) == Some(key(free));
        let takes_down = !is_own && event.kind == EventKind::Free && is_in(run, row, &free.place);
        if by.is_none() && (is_there || takes_down) {
            freed.insert(block, (event.thread, is_there));
        }
        let is_one = || facts::kin(block) == family || key_of(run, row) == Some(key(used));
        by.is_some_and(|(by, is_there)| {
            let is_used = is_there && is_one() || !is_own && is_in(run, row, &used.place);
            (is_own || by != event.thread) && is_used
        })
    })
}

/// Returns whether a row is in the function of a place.
fn is_in(run: &Run, row: EventId, place: &Place) -> bool {
    let site = run.meta.site(run.events.site(row));
    (&site.file, &site.function) == (&place.file, &place.function)
}

/// Returns whether a count comes to 0 and is raised by another thread after that on the lines where the explanation has it,
/// wherever the block is freed and used then.
fn is_revived(explanation: &Explanation, run: &Run) -> bool {
    let steps = &explanation.steps;
    let pairs = steps.iter().zip(steps.iter().skip(1));
    let wanted: BTreeSet<_> = pairs
        .filter(|(last, counted)| {
            last.location == counted.location && last.thread != counted.thread
        })
        .map(|(last, counted)| (key(last), key(counted)))
        .collect();
    if wanted.is_empty() {
        return false;
    }
    let mut is_there = false;
    each(run, &wanted, |found, _| {
        let [last, counted] = [found.head, found.tail].map(|row| run.events.event(row));
        let is_none = last.value == Some(Value::Bits(0));
        let counts = [last, counted].iter().all(|one| one.kind.writes());
        is_there |= is_none && counts && counted.value != last.value;
    });
    is_there
}

/// The steps that overlap, if an explanation claims that.
fn overlap(explanation: &Explanation) -> Option<&Claim> {
    let mut claims = explanation.claims.iter().map(|counted| &counted.claim);
    claims.find(|claim| matches!(claim, Claim::Overlap { .. }))
}

/// Returns whether what overlaps comes between the two steps, one after the other. Where the claim is only that one comes
/// after the first and one before the second, the explained run is one of several orders.
fn is_in_order(claim: &Claim) -> bool {
    matches!(
        claim,
        Claim::Overlap {
            in_this_order: true,
            ..
        }
    )
}

/// Successive blamed accesses of a variable by two threads.
fn orders<'a>(blamed: &[Blamed<'a>]) -> BTreeSet<(LineAndKind<'a>, LineAndKind<'a>)> {
    let mut last: BTreeMap<&str, &Step> = BTreeMap::new();
    let mut wanted = BTreeSet::new();
    for Blamed { step, .. } in blamed {
        let before = last.insert(&step.location, step);
        if let Some(before) = before.filter(|before| before.thread != step.thread) {
            wanted.insert((key(before), key(step)));
        }
    }
    wanted
}

pub(super) fn key(step: &Step) -> LineAndKind<'_> {
    (&step.place.file, step.place.line, &step.access)
}

pub(super) fn key_of(run: &Run, row: EventId) -> Option<LineAndKind<'_>> {
    let event = run.events.event(row);
    let site = run.meta.site(event.site);
    Some((site.file.as_str(), site.line, event.kind.name()))
}

/// Calls back for each dependency of a run that is one of the orders.
fn each<'a>(
    run: &Run,
    wanted: &BTreeSet<(LineAndKind<'a>, LineAndKind<'a>)>,
    mut found: impl FnMut(Dependency, &(LineAndKind<'a>, LineAndKind<'a>)),
) {
    dependencies(run, &Accesses::new(run), |dependency| {
        let ends = [dependency.head, dependency.tail].map(|row| key_of(run, row));
        if let [Some(head), Some(tail)] = ends
            && let Some(order) = wanted.iter().find(|order| **order == (head, tail))
        {
            found(dependency, order);
        }
    });
}

/// Numbers of the visits of a run's threads to blamed lines.
struct Visits<'r> {
    run: &'r Run,
    numbers: FxHashMap<EventId, u32>,
}

impl<'r> Visits<'r> {
    fn new(run: &'r Run, wanted: &BTreeSet<(LineAndKind<'_>, LineAndKind<'_>)>) -> Visits<'r> {
        let mut counts: FxHashMap<(LineAndKind<'_>, u16, LocationId), u32> = FxHashMap::default();
        let mut numbers = FxHashMap::default();
        for (row, event) in run.events.iter() {
            let key = key_of(run, row);
            let is_end = |key: &LineAndKind<'_>| wanted.iter().any(|(a, b)| a == key || b == key);
            let Some(key) = key.filter(is_end) else {
                continue;
            };
            let count = counts
                .entry((key, event.thread.0, event.location))
                .or_default();
            *count += 1;
            numbers.insert(row, *count);
        }
        Visits { run, numbers }
    }

    fn instance(&self, of: Dependency) -> Option<Instance> {
        Some((self.visit(of.head)?, self.visit(of.tail)?))
    }

    fn visit(&self, row: EventId) -> Option<LineVisit> {
        let event = self.run.events.event(row);
        let thread = self.run.meta.thread(event.thread).name.clone();
        let location = self.run.location(event.location).to_owned();
        Some((thread, location, *self.numbers.get(&row)?))
    }
}

/// Visits of a run to a step's line that read a variable which the line of the missing write has not written by then, or less
/// often than it has in passing runs. Of an array each element counts by itself.
fn too_early(run: &Run, reader: &Step, absent: &Absent) -> Vec<EarlyRead> {
    let mut written: FxHashMap<LocationId, u32> = FxHashMap::default();
    let mut visits: FxHashMap<(u16, LocationId), u32> = FxHashMap::default();
    let family = facts::kin(&reader.location);
    let early = run.events.iter().filter_map(|(_, event)| {
        let site = run.meta.site(event.site);
        if (&site.file, site.line) == (&absent.place.file, absent.place.line) && event.kind.writes()
        {
            *written.entry(event.location).or_default() += 1;
        }
        let is_it = (site.line, event.kind.name()) == (reader.place.line, reader.access.as_str())
            && site.file == reader.place.file
            && facts::kin(run.location(event.location)) == family;
        if !is_it {
            return None;
        }
        let number = visits.entry((event.thread.0, event.location)).or_default();
        *number += 1;
        let thread = run.meta.thread(event.thread).name.clone();
        let location = run.location(event.location).to_owned();
        let times = written.get(&event.location).copied().unwrap_or(0);
        (times < absent.times).then_some(((thread, location, *number), times))
    });
    early.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Budget, explain,
        fixture::{corpus, run},
    };

    const LOST: &str = "main fork main.1 @1\nmain fork main.2 @2\n\
        main.1 lock m @9 withdraw\nmain.1 R b =300 @10\nmain.1 unlock m @11\n\
        main.2 lock m @29 deposit\nmain.2 W b =500 @30\nmain.2 unlock m @31\n\
        main.1 lock m @19\nmain.1 W b =250 @20\nmain.1 unlock m @21\n\
        main join main.1 @40\nmain join main.2 @41\nmain R b =250 @42\nmain fails @42";
    const FINE: &str = "main fork main.1 @1\nmain fork main.2 @2\n\
        main.1 lock m @9 withdraw\nmain.1 R b =300 @10\nmain.1 unlock m @11\n\
        main.1 lock m @19\nmain.1 W b =250 @20\nmain.1 unlock m @21\n\
        main.2 lock m @29 deposit\nmain.2 W b =450 @30\nmain.2 unlock m @31\n\
        main join main.1 @40\nmain join main.2 @41\nmain R b =450 @42";

    fn explanation(passing: &[&str], failing: &str) -> Explanation {
        let found = explain(&corpus(passing, &[failing]), &Budget::unlimited());
        found.findings.first().unwrap().clone()
    }

    /// Two steps of a thread that read what another one stores in each step: the second read has to see the first store.
    #[test]
    fn orders_that_passing_runs_have_too_do_no_harm() {
        let early = "main W p =1 @5\nmain fork main.1 @1\nmain.1 R p =1 @20 use\nmain.1 R p =1 @20\nmain W p =5 @7\n\
            main.1 fails @20";
        let fine = "main W p =1 @5\nmain fork main.1 @1\nmain.1 R p =1 @20 use\nmain W p =5 @7\nmain.1 R p =5 @20";
        let told = explanation(&[fine; 6], early);
        let (early, fine) = (run(early), run(fine));
        let harmless = Harmless::of(&told, [&fine]);
        let both = |run: &Run| (bears_out(&told, run), bears_out_but(&told, run, &harmless));
        assert_eq!(both(&early), (Some(true), Some(true)));
        assert_eq!(both(&fine), (Some(true), Some(false)));
    }

    #[test]
    fn a_run_bears_out_that_a_write_is_missing() {
        let early = "main fork main.1 @1\nmain.1 R p =0 @20 use\nmain.1 fails @20";
        let fine = "main fork main.1 @1\nmain W p =5 @7\nmain.1 R p =5 @20 use";
        let late =
            "main fork main.1 @1\nmain.1 R p =0 @20 use\nmain W p =5 @7\nmain.1 R p =5 @20 use";
        let told = explanation(&[fine; 6], early);
        assert_eq!(bears_out(&told, &run(early)), Some(true));
        assert_eq!(bears_out(&told, &run(fine)), Some(false));
        assert_eq!(bears_out(&told, &run(late)), Some(true));
    }

    /// A table that a loop fills: a read after some of its writes is as early as one before all of them, unless a run that
    /// passed has it, too.
    #[test]
    fn a_run_bears_out_that_a_loop_was_not_done() {
        let adds = |times: i32| (1..=times).map(|n| format!("\nmain W n ={n} @7 fill"));
        let at = |before: i32, after: i32| {
            let first: String = adds(before).collect();
            let rest: String = adds(after).skip(before as usize).collect();
            format!("main fork main.1 @1{first}\nmain.1 R n ={before} @20 use{rest}")
        };
        let fine = at(3, 3);
        let early = format!("{}\nmain.1 fails @20", at(0, 0));
        let told = explanation(&[fine.as_str(); 6], &early);
        assert_eq!(told.absent.first().map(|absent| absent.times), Some(3));
        let harmless = Harmless::of(&told, [&run(&at(2, 3))]);
        let both = |run: &Run| (bears_out(&told, run), bears_out_but(&told, run, &harmless));
        assert_eq!(both(&run(&early)), (Some(true), Some(true)));
        assert_eq!(both(&run(&at(1, 3))), (Some(true), Some(true)));
        assert_eq!(both(&run(&at(2, 3))), (Some(true), Some(false)));
        assert_eq!(both(&run(&fine)), (Some(false), Some(false)));
    }

    #[test]
    fn a_run_bears_out_what_it_has() {
        let told = explanation(&[FINE; 6], LOST);
        assert_eq!(bears_out(&told, &run(LOST)), Some(true));
        assert_eq!(bears_out(&told, &run(FINE)), Some(false));
    }

    /// The thread that uses the block has given up the last reference itself.
    #[test]
    fn a_run_bears_out_that_a_thread_uses_what_it_has_freed() {
        let block = "`heap(a.c:20 by main #0)`";
        let begin = format!(
            "start main.1 answer\nmain alloc {block} =16 @20\nmain W n =2 @20\nmain fork main.1 @21\n"
        );
        let used = "main.1 R `heap(a.c:20 by main #0)+8` =1 @11\n";
        let puts = |by: &str, n: u32| format!("{by} rmw n {}->{n} @9 put\n", n + 1);
        let frees = |by: &str| format!("{by} free {block} @10 put\n");
        let own = [&puts("main", 1), &puts("main.1", 0), &frees("main.1"), used].concat();
        let own = format!("{begin}{own}main.1 fails @11");
        let late = [&puts("main.1", 1), used, &puts("main", 0), &frees("main")].concat();
        let fine = format!("{begin}{late}");
        let told = explanation(&[fine.as_str(); 6], &own);
        assert_eq!(
            told.headline,
            "answer (main.1) used `the heap block from a.c:20` after it had freed it"
        );
        assert_eq!(
            told.remark,
            "`n` was 1 already, by main at test.c:9, when main.1 gave up its own count."
        );
        assert_eq!(bears_out(&told, &run(&own)), Some(true));
        assert_eq!(bears_out(&told, &run(&fine)), Some(false));
        // Another number that comes to 0 on the way is no count of references.
        let other = "main.1 R left =1 @10 put\nmain.1 W left =0 @10 put\n";
        let own = own.replace(&frees("main.1"), &format!("{other}{}", frees("main.1")));
        let own = own.replace("main W n =2 @20", "main W n =2 @20\nmain W left =1 @20");
        let told = explanation(&[fine.as_str(); 6], &own);
        assert!(
            told.remark.starts_with("`n` was 1 already"),
            "{}",
            told.remark
        );
    }

    /// A member of the block is used: its name is another one than the block's.
    #[test]
    fn a_run_bears_out_that_a_block_is_used_after_it_was_freed() {
        let begin = "start main.1 worker\nmain alloc `heap(a.c:20 by main #0)` =16 @20\nmain fork main.1 @21\n";
        let (free, used) = (
            "main free `heap(a.c:20 by main #0)` @40\n",
            "main.1 R `heap(a.c:20 by main #0).size` =7 @31 worker\n",
        );
        let late = [begin, used, free].concat();
        let early = [begin, free, used, "main.1 fails @31\n"].concat();
        let told = explanation(&[late.as_str(); 6], &early);
        assert_eq!(told.kind, BugKind::UseAfterFree);
        assert_eq!(bears_out(&told, &run(&early)), Some(true));
        assert_eq!(bears_out(&told, &run(&late)), Some(false));
    }

    /// A queue and its lock are freed by one function: which of the two is used first after that is chance.
    #[test]
    fn a_run_bears_out_that_another_block_of_the_teardown_is_used() {
        let begin = "start main.1 worker\nmain alloc `heap(a.c:20 by main #0)` =16 @20 make\n\
                     main alloc `heap(a.c:21 by main #0)` =16 @21 make\nmain fork main.1 @25\n";
        let free = "main free `heap(a.c:21 by main #0)` @40 drop\nmain free `heap(a.c:20 by main #0)` @41 drop\n";
        let used = "main.1 R `heap(a.c:21 by main #0).size` =7 @31 worker\n";
        let late = [begin, used, free].concat();
        let early = [begin, free, used, "main.1 fails @31 worker\n"].concat();
        let told = explanation(&[late.as_str(); 6], &early);
        assert_eq!(told.kind, BugKind::UseAfterFree);
        let other = |at: &str, within: &str| {
            let used = format!("main.1 R `heap(a.c:20 by main #0).n` =7 @{at}\n");
            let free = free.replace("@41 drop", &format!("@41 {within}"));
            run(&[begin, &free, &used, &format!("main.1 fails @{at}\n")].concat())
        };
        assert_eq!(bears_out(&told, &other("33 worker", "drop")), Some(true));
        assert_eq!(bears_out(&told, &other("63 others", "drop")), Some(false));
        assert_eq!(bears_out(&told, &other("33 worker", "cut")), Some(false));
    }

    /// Two threads run the same code: either may allocate the block that the other one frees.
    #[test]
    fn a_run_bears_out_that_a_block_is_used_after_the_other_thread_freed_it() {
        let begin = "start main.1 worker\nstart main.2 worker\nmain fork main.1 @21\nmain fork main.2 @22\n";
        let of = |own: &str, other: &str, is_early: bool| {
            let block = format!("heap(a.c:20 by {own} #0)");
            let made = format!("{own} alloc `{block}` =16 @20 worker\n");
            let free = format!("{other} free `{block}` @40 worker\n");
            let used = format!("{own} R `{block}.size` =7 @31 worker\n");
            match is_early {
                true => [begin, &made, &free, &used, &format!("{own} fails @31\n")].concat(),
                false => [begin, &made, &used, &free].concat(),
            }
        };
        let late = of("main.1", "main.2", false);
        let told = explanation(&[late.as_str(); 6], &of("main.1", "main.2", true));
        assert_eq!(told.kind, BugKind::UseAfterFree);
        let turned = run(&of("main.2", "main.1", true));
        assert_eq!(bears_out(&told, &turned), Some(true));
        assert_eq!(
            bears_out(&told, &run(&of("main.2", "main.1", false))),
            Some(false)
        );
    }
}
