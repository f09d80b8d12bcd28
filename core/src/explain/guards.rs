//! Stories about the guards of what is told: shared variables that threads look at before they come to the accesses that
//! met. A lock of the program's own making, a flag or a turn that should have kept one of them out, is looked at in steps
//! that another thread interrupted; the accesses that met are what came of that.

use super::{
    Proposers, after_free::let_go, atomicity, implied::follows, look::asks, multi_variable, order,
    proposers::name_orders, turned::blamed, view::View,
};
use crate::{
    callers::call_sites,
    explanation::{BugKind, Certainty, Explanation, Place},
    facts::place,
    pairs::{CoupledPairs, Triple, seen_couples, triples},
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, LocationId, ThreadId};

/// Stories that are told: the ones that were complete last.
const MOST: usize = 8;

/// Interruptions, on other variables, of the same threads before the last of them came to what is told: on one variable,
/// and on two. Experiments tell which of them the failure needs. Linear in the run, and in its couples of access pairs.
pub fn guarding(proposers: &Proposers<'_>, explanation: &Explanation) -> Vec<Explanation> {
    let corpus = proposers.material().corpus;
    let summary = corpus.get(&explanation.run);
    let Some(view) = summary.and_then(|run| View::new(corpus, run)) else {
        return Vec::new();
    };
    let Some(met) = Meeting::of(&view, explanation) else {
        return Vec::new();
    };
    let mut stories = met.interruptions(&view);
    stories.extend(met.couples(&view));
    stories.extend(met.looks(&view));
    stories.sort_by_key(|(complete, _)| std::cmp::Reverse(*complete));
    let mut told: Vec<Explanation> = Vec::new();
    for (_, story) in stories {
        let mut one = story.write(&view);
        let is_known = told.iter().any(|known| known.blames_as(&one));
        // A look that all passing runs have so keeps nobody out.
        let is_look = matches!(story, GuardStory::Look(..));
        let is_known = is_known || is_look && one.is_in_all_passing();
        if told.len() >= MOST || is_known || !met.is_let_in_by(&view, &story, &one) {
            continue;
        }
        one.certainty = Certainty::Possible;
        one.runs.clone_from(&explanation.runs);
        one.also_fails.clone_from(&explanation.also_fails);
        name_orders(&view, &mut one);
        told.push(one);
    }
    told
}

/// An interruption of what guards, or a look that came too early to keep the thread out.
enum GuardStory {
    Single(Triple),
    Couple(CoupledPairs),
    /// A look, and the change by the other thread that came only after it.
    Look(EventId, EventId),
}

impl GuardStory {
    fn write(&self, view: &View) -> Explanation {
        match self {
            GuardStory::Single(triple) => atomicity::single(view, triple),
            GuardStory::Couple(couple) => multi_variable::multi(view, couple),
            GuardStory::Look(look, change) => order::plain(view, *look, *change),
        }
    }
}

/// The accesses that met.
struct Meeting {
    /// In their order.
    rows: Vec<EventId>,
    /// The first of each thread.
    entered: BTreeMap<ThreadId, EventId>,
    locations: BTreeSet<LocationId>,
    /// `true` for a use after the block was freed: what was read of the block before may have decided, and so may the use.
    is_use_after_free: bool,
    /// `true` if all of them are atomic: then only a look guards, from which a thread goes on.
    is_atomic: bool,
}

impl Meeting {
    /// The accesses that an explanation blames, if two threads take part in it.
    fn of(view: &View, explanation: &Explanation) -> Option<Meeting> {
        let rows: Vec<EventId> = blamed(explanation).iter().map(|one| one.row).collect();
        let firsts = rows.iter().rev().map(|row| (view.thread(*row), *row));
        let met = Meeting {
            is_atomic: rows.iter().all(|row| view.event(*row).kind.is_atomic()),
            entered: firsts.collect(),
            locations: rows.iter().map(|row| view.event(*row).location).collect(),
            is_use_after_free: explanation.kind == BugKind::UseAfterFree,
            rows,
        };
        // Atomic operations are made to meet: several variables of them are the protocol, and have no guard. Accesses
        // under a common lock have one already.
        let is_data = met.locations.len() == 1 || !met.is_atomic;
        // Who was let go by the thread that still used the block needs no other reason.
        let is_open = match (met.is_use_after_free, met.rows.as_slice()) {
            (true, [free, used]) => let_go(view, *free, *used).is_none(),
            (true, _) => true,
            (false, rows) => !is_locked(view, rows),
        };
        (met.entered.len() == 2 && is_data && is_open).then_some(met)
    }

    /// Is each of the rows before its thread came to what is told, on no location of that?
    fn is_before(&self, view: &View, rows: &[EventId]) -> bool {
        rows.iter().all(|row| {
            let Some(first) = self.entered.get(&view.thread(*row)) else {
                return false;
            };
            match self.is_use_after_free {
                true => row <= first,
                false => row < first && !self.locations.contains(&view.event(*row).location),
            }
        })
    }

    /// Could the story, as it is told, have let the threads in? What comes so wherever they meet could not, but comes of that.
    /// A story of two variables may blame the write that came of a read, which may come with the meeting.
    fn is_let_in_by(&self, view: &View, story: &GuardStory, told: &Explanation) -> bool {
        let rows: Vec<EventId> = blamed(told).iter().map(|one| one.row).collect();
        let is_before = !matches!(story, GuardStory::Couple(_)) || self.is_before(view, &rows);
        is_before && !follows(view, &self.rows, &rows)
    }

    /// Does a thread come to what is told between the two accesses, on a variable that it looked at before, in one visit of
    /// these lines? It went on by what it saw: what it does then is part of the same operation. What comes in between after
    /// both threads have come to what is told has let nobody in.
    fn is_around(&self, view: &View, triple: &Triple) -> bool {
        let Triple {
            first,
            remote,
            second,
            ..
        } = *triple;
        let is_met = |row: EventId| self.locations.contains(&view.event(row).location);
        let is_within = |entered: &EventId| (first..second).contains(entered);
        view.event(first).kind.reads()
            && view.event(remote).kind.writes()
            && self.entered.get(&view.thread(first)).is_some_and(is_within)
            && self.entered.contains_key(&view.thread(remote))
            && self.entered.values().any(|entered| remote < *entered)
            && !is_met(first)
            && !view.comes_again(first, second)
    }

    fn interruptions(&self, view: &View) -> Vec<(EventId, GuardStory)> {
        let mut found = Vec::new();
        triples(&view.run, view.orders.accesses(), |triple| {
            let rows = [triple.first, triple.remote, triple.second];
            // What a thread has written before the other one could is no step that this one interrupted.
            let is_open = || {
                !view.is_first(triple.first, triple.remote)
                    || view.event(triple.first).kind.reads()
                        && !view.is_forced(triple.remote, triple.second)
            };
            let is_guard = || self.is_before(view, &rows) || self.is_around(view, &triple);
            if is_guard() && (!self.is_atomic || is_look(view, &triple)) && is_open() {
                found.push((triple.second, GuardStory::Single(triple)));
            }
        });
        found
    }

    /// The looks by which a thread came to what is told, at what another one of them changes after that: whoever looks once
    /// more, behind the lock, does not go on then. Who looks before a block is freed has done nothing wrong by that.
    fn looks(&self, view: &View) -> Vec<(EventId, GuardStory)> {
        /// Accesses of a thread before it comes to what is told.
        const NEAR: usize = 200;
        let entered = self.entered.values().filter(|_| !self.is_use_after_free);
        let looks = entered.flat_map(|entered| {
            let calls = call_sites(&view.run, *entered).into_iter();
            let calls: Vec<Place> = calls.map(|site| place(&view.run, site)).collect();
            let leads = move |look: &EventId| {
                let at = view.place(*look);
                let mut calls = calls.iter();
                asks(&at) && calls.any(|call| is_below(&at, call))
            };
            view.own_before(*entered).take(NEAR).filter(leads)
        });
        let guards = looks.filter_map(|look| {
            let event = view.event(look);
            let is_open = event.kind.reads() && !self.locations.contains(&event.location);
            let mut after = view
                .orders
                .accesses()
                .after(event.location, look)
                .iter()
                .copied();
            let change = after.find(|row| *row > look && view.event(*row).kind.writes());
            let change = change.filter(|change| {
                let by = view.thread(*change);
                by != event.thread
                    && self.entered.contains_key(&by)
                    && !view.is_forced(look, *change)
            })?;
            is_open.then_some((change, GuardStory::Look(look, change)))
        });
        guards.collect()
    }

    fn couples(&self, view: &View) -> Vec<(EventId, GuardStory)> {
        if self.is_atomic {
            return Vec::new();
        }
        let all = seen_couples(&view.run, view.orders.accesses(), view.corpus.counts());
        let couples = all.into_iter().map(|(couple, _)| couple);
        let guards = couples.filter(|couple| {
            let (first, second) = (&couple.first, &couple.second);
            let is_open = !view.is_forced(first.head, first.tail)
                && !view.is_forced(second.head, second.tail)
                && !view.makes(first.head);
            // Neither access of the other thread came in between: its own steps are the ones that were interrupted.
            let is_inside = |row| row > first.head && row < second.tail;
            let is_between = is_inside(first.tail) || is_inside(second.head);
            is_open
                && is_between
                && !are_locked_apart(view, couple)
                && (view.event(first.head).kind.reads() || !are_locked(view, couple))
                && self.is_before(view, &[first.head, first.tail, second.head, second.tail])
        });
        let told = guards.map(|couple| (couple.second.tail, GuardStory::Couple(couple)));
        told.collect()
    }
}

/// Returns whether a call stands below a line, in the same function.
fn is_below(at: &Place, call: &Place) -> bool {
    (&at.file, &at.function) == (&call.file, &call.function) && at.line < call.line
}

/// Returns whether a thread looks at a variable, and goes on from that to its next access in one visit of these lines. That it
/// reads what it has set on the same line, as for `a = b = NULL`, is no look.
fn is_look(view: &View, triple: &Triple) -> bool {
    let first = triple.first;
    let written = view
        .orders
        .last_write_before(view.event(first).location, first);
    let is_own = |write: EventId| {
        let site = |row: EventId| view.run.meta.site(view.event(row).site);
        let (at, here) = (site(write), site(first));
        view.thread(write) == view.thread(first) && (at.line, &at.file) == (here.line, &here.file)
    };
    !view.event(first).kind.writes()
        && !written.is_some_and(is_own)
        && !view.comes_again(first, triple.second)
}

/// Returns whether all accesses of both variables are under one lock: then each step is whole, and only a look can go on too
/// early from one to the next.
fn are_locked(view: &View, couple: &CoupledPairs) -> bool {
    let (first, second) = (&couple.first, &couple.second);
    is_locked(view, &[first.head, first.tail, second.head, second.tail])
}

/// Returns whether each of the two variables has a lock of its own: then they belong to two matters, each of which is in
/// order by itself.
fn are_locked_apart(view: &View, couple: &CoupledPairs) -> bool {
    let (first, second) = (&couple.first, &couple.second);
    is_locked(view, &[first.head, first.tail])
        && is_locked(view, &[second.head, second.tail])
        && !is_locked(view, &[first.head, second.head])
}

/// Returns whether all rows hold one lock.
fn is_locked(view: &View, rows: &[EventId]) -> bool {
    let common = |first: &EventId, row: &EventId| view.orders.common_lock(*first, *row).is_some();
    rows.first()
        .is_some_and(|first| rows.iter().all(|row| common(first, row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, explain, fixture::corpus};

    /// A lock of the program's own making around a counter: `held` is read at line 4 and set at line 5.
    fn told(steps: &str) -> Vec<String> {
        let all = |steps: &str, ends: &str| {
            format!("main fork main.1 @40\nmain fork main.2 @41\n{steps}{ends}")
        };
        let serial = "main.1 R held =0 @4 lock\nmain.1 W held =1 @5 lock\n\
            main.1 R n =0 @10 work\nmain.1 W n =1 @11 work\nmain.1 W held =0 @7 unlock\n\
            main.2 R held =0 @4 lock\nmain.2 W held =1 @5 lock\n\
            main.2 R n =1 @10 work\nmain.2 W n =2 @11 work\nmain.2 W held =0 @7 unlock\n";
        let joins = "main join main.1 @42\nmain join main.2 @43\n";
        let fine = all(serial, &format!("{joins}main R n =2 @44 main"));
        let bad = format!("{joins}main R n =1 @44 main\nmain fails @44 main");
        let failing = all(steps, &bad);
        let corpora = corpus(&[fine.as_str(); 6], &[failing.as_str()]);
        let budget = Budget::unlimited();
        let found = explain(&corpora, &budget).findings;
        let first = found.first().unwrap();
        assert_eq!(first.headline, "another thread's update of `n` was lost");
        let guards = guarding(&Proposers::comparing(&corpora), first);
        guards.into_iter().map(|one| one.headline).collect()
    }

    #[test]
    fn what_let_both_in_is_told() {
        let both_in = "main.1 R held =0 @4 lock\nmain.2 R held =0 @4 lock\n\
            main.1 W held =1 @5 lock\nmain.2 W held =1 @5 lock\n\
            main.1 R n =0 @10 work\nmain.2 R n =0 @10 work\n\
            main.1 W n =1 @11 work\nmain.2 W n =1 @11 work\n";
        assert_eq!(
            told(both_in),
            ["another thread's update of `held` was lost"]
        );
    }

    #[test]
    fn what_comes_after_both_have_met_let_nobody_in() {
        let let_in = "main.1 R held =0 @4 lock\nmain.2 R held =0 @4 lock\n\
            main.1 R n =0 @10 work\nmain.2 R n =0 @10 work\n\
            main.1 W n =1 @11 work\nmain.2 W n =1 @11 work\n\
            main.2 W held =0 @7 unlock\nmain.1 W held =0 @7 unlock\n";
        assert_eq!(told(let_in), Vec::<String>::new());
    }

    /// `main.1` reads back what it has set on the same line, as for `a = b = NULL`.
    #[test]
    fn what_is_read_back_on_its_line_is_no_look() {
        let triple = |write: u32| {
            let text = format!(
                "main fork main.1 @40\nmain.1 W last =0 @{write} begin\nmain.1 R last =0 @39 begin\n\
                 main W last =1 @8 take\nmain.1 R last =1 @56 post\nmain.1 fails @57 post\n"
            );
            let corpus = corpus(&[], &[&text]);
            let summary = corpus.failing().next().unwrap();
            let view = View::new(&corpus, summary).unwrap();
            let mut found = Vec::new();
            triples(&view.run, view.orders.accesses(), |triple| {
                found.push(triple)
            });
            let reads = |triple: &&Triple| !view.event(triple.first).kind.writes();
            let triple = found.iter().find(reads).unwrap();
            is_look(&view, triple)
        };
        assert!(triple(38));
        assert!(!triple(39));
    }

    /// Two variables, each under a lock of its own: what is between them is no step that a guard should have kept whole.
    #[test]
    fn what_has_locks_of_its_own_guards_nothing() {
        let other = |access: &str| if access == "W" { "R" } else { "W" };
        let crossed = |x: &str, y: &str, first: &str| {
            let locked = |lock: &str, step: &str| match lock {
                "" => format!("{step}\n"),
                lock => {
                    let who = step.split(' ').next().unwrap();
                    format!("{who} lock {lock} @3 look\n{step}\n{who} unlock {lock} @3 look\n")
                }
            };
            let steps = [
                (x, &*format!("main.1 {first} next =1 @4 look")),
                (x, &*format!("main.2 {} next =1 @5 look", other(first))),
                (y, "main.2 W done =1 @6 look"),
                (y, "main.1 R done =1 @7 look"),
            ];
            let steps = steps.map(|(lock, step)| locked(lock, step)).concat();
            told(&format!(
                "{steps}main.1 R n =0 @10 work\nmain.2 R n =0 @10 work\n\
                main.1 W n =1 @11 work\nmain.2 W n =1 @11 work\n"
            ))
        };
        assert_eq!(crossed("", "", "W").len(), 1);
        assert!(crossed("a", "b", "W").is_empty());
        // Each of the two steps is whole, unless the first one is a look that the second goes on from.
        assert!(crossed("a", "a", "W").is_empty());
        assert_eq!(crossed("a", "a", "R").len(), 1);
    }

    /// `main.1` reads `mark` before the meeting, and writes what comes of it after that.
    #[test]
    fn what_is_written_with_the_meeting_guards_nothing() {
        let steps = |write: &str| {
            told(&format!(
                "main.1 W next =1 @4 look\nmain.2 R next =1 @5 look\n\
                main.2 W mark =2 @6 look\nmain.1 R mark =2 @9 work\n\
                main.1 R n =0 @10 work\nmain.2 R n =0 @10 work\n\
                main.1 W n =1 @11 work\n{write}main.2 W n =1 @11 work\n"
            ))
        };
        assert_eq!(steps("").len(), 1);
        assert!(steps("main.1 W mark =3 @12 work\n").is_empty());
    }

    /// A thread uses `stream` under a lock and looks at `open` outside of it, as the other one does: both close it. That the
    /// stream went in between comes of that.
    #[test]
    fn what_the_meeting_brings_with_it_guards_nothing() {
        let close = |who: &str, value: u32| {
            format!(
                "{who} lock m @5 close\n{who} W open =0 @6 close\n{who} R stream ={value} @7 close\n\
                {who} W stream =0 @8 close\n{who} unlock m @9 close\n"
            )
        };
        let look = |who: &str| format!("{who} R open =1 @4 close\n");
        let send = "main.1 lock m @1 send\nmain.1 R stream =1 @2 send\nmain.1 unlock m @3 send\n";
        let begin = "main fork main.1 @40\nmain fork main.2 @41\n";
        let late = "main.2 R open =0 @4 close\n";
        let fine = [begin, send, &look("main.1"), &close("main.1", 1), late].concat();
        let both = [&*look("main.1"), &look("main.2"), &close("main.2", 1)].concat();
        let bad = [
            begin,
            send,
            &both,
            &close("main.1", 0),
            "main.1 fails @7 close\n",
        ]
        .concat();
        let corpora = corpus(&[&*fine; 6], &[&bad]);
        let found = explain(&corpora, &Budget::unlimited()).findings;
        let first = found.first().unwrap();
        let proposers = Proposers::comparing(&corpora);
        assert_eq!(first.headline, "another thread's update of `open` was lost");
        let guards = guarding(&proposers, first).into_iter();
        let guards: Vec<String> = guards.map(|one| one.headline).collect();
        assert!(guards.is_empty(), "{guards:?}");
    }

    /// `main.2` finds what `main.1` has made, before the meeting.
    #[test]
    fn what_a_thread_makes_is_no_step_that_another_one_interrupts() {
        let steps = |made: &str| {
            told(&format!(
                "main.1 W {made} =1 @4 look\nmain.2 R {made} =1 @5 look\n\
                main.2 W mark =2 @6 look\nmain.1 R mark =2 @9 work\n\
                main.1 R n =0 @10 work\nmain.2 R n =0 @10 work\n\
                main.1 W n =1 @11 work\nmain.2 W n =1 @11 work\n"
            ))
        };
        assert_eq!(
            steps("next"),
            ["look (main.2) came between two steps of look (main.1), on `next` and `mark`"]
        );
        assert!(steps("`heap(a.c:3 by main.1 #0)`").is_empty());
    }

    #[test]
    fn what_comes_after_the_meeting_guards_nothing() {
        let after = "main.1 R n =0 @10 work\nmain.2 R n =0 @10 work\n\
            main.1 W n =1 @11 work\nmain.2 W n =1 @11 work\n\
            main.1 R held =0 @4 lock\nmain.2 R held =0 @4 lock\n\
            main.1 W held =1 @5 lock\nmain.2 W held =1 @5 lock\n";
        assert!(told(after).is_empty());
    }

    /// Both threads find that nothing was made yet, and each makes one: what is told is only the order of their stores.
    #[test]
    fn the_look_that_goes_on_to_what_is_told_belongs_to_it() {
        let make = |who: &str, n: u32| {
            format!(
                "{who} W table ={n} @5 get\n{who} W ready =1 @6 get\n{who} R table ={n} @8 get\n"
            )
        };
        let look = |who: &str, n: u32| format!("{who} R ready ={n} @4 get\n");
        let begin = "main fork main.1 @40\nmain fork main.2 @41\n";
        let second = [&*look("main.2", 1), "main.2 R table =1 @8 get\n"].concat();
        let fine = [begin, &look("main.1", 0), &make("main.1", 1), &second].concat();
        let bad = [
            begin,
            &look("main.1", 0),
            &look("main.2", 0),
            &make("main.2", 2),
            &make("main.1", 1),
            "main R table =1 @44 main\nmain fails @44 main\n",
        ];
        let corpora = corpus(&[&*fine; 6], &[&bad.concat()]);
        let proposers = Proposers::comparing(&corpora);
        let first = explain(&corpora, &Budget::unlimited()).findings.remove(0);
        let mut proposals = proposers.instead_of(&first, &[]);
        let budget = Budget::unlimited();
        let others = proposers.all().flat_map(|one| proposals.by(one, &budget));
        let mut stories = [first.clone()].into_iter().chain(others);
        let order = stories.find(|one| one.kind == BugKind::OrderViolation);
        let guards = guarding(&proposers, &order.unwrap()).into_iter();
        let told: Vec<String> = guards.map(|one| one.headline).collect();
        assert_eq!(told, ["another thread's update of `ready` was lost"]);
    }

    /// `main.2` looked before `main.1` was ready, and changes the table again; the run fails before it says so itself.
    #[test]
    fn the_look_that_would_have_kept_the_thread_out_is_told() {
        let look = |who: &str, ready: u32| {
            format!("{who} R ready ={ready} via=20@work @4 get \"if (ready)\"\n")
        };
        let set =
            |who: &str, table: u32| format!("{who} W table ={table} via=5@get,20@work @9 make\n");
        let says = "main.1 W ready =1 via=20@work @6 get\n";
        let used = |table: u32| format!("main.1 R table ={table} @21 work\n");
        let begin = "main fork main.1 @40\nmain fork main.2 @41\n";
        let fine = [
            begin,
            &look("main.1", 0),
            &set("main.1", 7),
            says,
            &used(7),
            &look("main.2", 1),
        ];
        let bad = |text: &str| {
            let looks = [look("main.1", 0), look("main.2", 0)].concat();
            let looks = looks.replace("if (ready)", text);
            let sets = [&*set("main.1", 7), says, &set("main.2", 0), &used(0)].concat();
            [begin, &looks, &sets, "main.1 fails @21 work\n"].concat()
        };
        let told = |fine: &[&str], text: &str| -> Vec<String> {
            let corpora = corpus(&[&*fine.concat(); 6], &[&bad(text)]);
            let first = explain(&corpora, &Budget::unlimited()).findings.remove(0);
            assert!(first.headline.contains("`table`"), "{}", first.headline);
            let guards = guarding(&Proposers::comparing(&corpora), &first);
            guards.into_iter().map(|one| one.headline).collect()
        };
        let expected =
            "get (main.2) did not look at `ready` again after get (main.1) had set it".to_owned();
        let asked = told(&fine, "if (ready)");
        assert!(asked.contains(&expected), "{asked:?}");
        assert!(!told(&fine, "seen = ready;").contains(&expected));
        // In passing runs the other thread comes to the same.
        let (one, other) = (look("main.1", 0), look("main.2", 0));
        let usual = [begin, &one, &other, &set("main.1", 7), says, &used(7)];
        assert!(!told(&usual, "if (ready)").contains(&expected));
    }

    /// The timer looks whether it is to end before `main` says so, and frees what it still uses.
    #[test]
    fn a_look_before_a_block_is_freed_guards_nothing() {
        let block = "`heap(a.c:47 by main #0)";
        let begin = format!(
            "start main.1 run\nmain alloc {block}` =16 @47 open\nmain fork main.1 @51 open\n"
        );
        let look = "main.1 R closing =0 @37 run \"while (!closing)\"\n";
        let used = format!("main.1 R {block}+8` =1 via=39@run @30 tick\n");
        let close = format!("main W closing =1 @57 close\nmain free {block}` @59 close\n");
        let fine = [&*begin, look, &used, &close].concat();
        let bad = [&*begin, look, &close, &used, "main.1 fails @30 tick\n"].concat();
        let late = look.replace("closing =0", "closing =1");
        let ended = [
            &*begin,
            "main W closing =1 @57 close\n",
            &late,
            "main.1 end\n",
        ]
        .concat();
        let corpora = corpus(&[[&*fine; 3], [&*ended; 3]].concat(), &[&bad]);
        let first = explain(&corpora, &Budget::unlimited()).findings.remove(0);
        assert_eq!(first.kind, BugKind::UseAfterFree, "{}", first.headline);
        let guards = guarding(&Proposers::comparing(&corpora), &first).into_iter();
        let told: Vec<String> = guards.map(|one| one.headline).collect();
        assert!(
            told.iter().all(|one| !one.contains("`closing`")),
            "{told:?}"
        );
    }
}
