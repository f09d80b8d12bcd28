//! Pairs on two locations that run in opposite directions.

use super::{
    Candidate, Story, UNRELATED, add, apart, candidate, distance, keep_best,
    passes::{Passes, is_pass, torn_passes},
    seen,
};
use crate::{
    Budget,
    budget::Poll,
    explain::{announced::only_counts, begins, look::asks, view::View},
    facts,
    orders::{Dependency, DependencyKind},
    pairs::{CoupledPairs, seen_couples},
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind, LocationId, ThreadId, Value};

/// Couples as in Test Procedure III. A couple that passing runs also have is weak evidence, but may be the
/// cause with other values.
pub(super) fn coupled(view: &View, budget: &Budget) -> Vec<Candidate> {
    let passing = view.corpus.counts().passing();
    let (mut found, mut poll) = (Vec::new(), Poll::new(budget));
    let (mut tallies, mut passes) = (Tallies::default(), Passes::default());
    for (couple, runs) in seen_couples(&view.run, view.orders.accesses(), view.corpus.counts()) {
        if poll.is_over() {
            break;
        }
        let forced = |d: &Dependency| view.is_first(d.head, d.tail);
        let is_free = !forced(&couple.first) && !forced(&couple.second);
        // Pointers count their owners right whatever the program does.
        let counts = |d: &Dependency| facts::is_use_count(view.run.location(d.location));
        let is_free = is_free && !counts(&couple.first) && !counts(&couple.second);
        if is_free && passing > 0 && is_one_update(view, &couple) {
            let has_tally = tallies.has(view, &couple);
            let counted = passes.runs(view, &couple).filter(|_| runs > 0);
            let is_known = counted.is_some() || view.corpus.counts().knows_all_couples();
            let mut one = couple_candidate(view, couple, counted.unwrap_or(runs), has_tally);
            one.new &= is_known;
            add(&mut found, one);
        }
    }
    for couple in torn_passes(view) {
        let known = passes.runs(view, &couple).filter(|_| !poll.is_over());
        if let Some(runs) = known.filter(|_| passing > 0) {
            let has_tally = tallies.has(view, &couple);
            add(&mut found, couple_candidate(view, couple, runs, has_tally));
        }
    }
    keep_best(found)
}

/// Returns whether elements of an array belong together: only where one piece of code of the thread accesses both, or one of
/// the other thread changes both, as a transfer does, or one reads and the other one writes them in one go, as copies do; in
/// another iteration or another call they are else just the next ones.
fn is_one_update(view: &View, couple: &CoupledPairs) -> bool {
    let name = |d: &Dependency| view.run.location(d.location);
    let (one, other) = (couple.first.tail, couple.second.head);
    let changes = [one, other].map(|row| view.event(row).kind.writes());
    !facts::are_elements(name(&couple.first), name(&couple.second))
        || apart(view, couple.first.head, couple.second.tail) == 0
        || changes == [true, true] && apart(view, one.min(other), one.max(other)) == 0
        || is_torn_copy(view, couple)
}

/// Returns whether one of the threads reads several elements of an array in one go, while the other one writes them so.
fn is_torn_copy(view: &View, couple: &CoupledPairs) -> bool {
    let own = [couple.first.head, couple.second.tail];
    let others = [couple.first.tail, couple.second.head];
    let name = |d: &Dependency| view.run.location(d.location);
    let only = |rows: [EventId; 2], reads: bool| {
        rows.iter().all(|row| {
            view.event(*row).kind.reads() == reads && view.event(*row).kind.writes() != reads
        })
    };
    facts::are_elements(name(&couple.first), name(&couple.second))
        && (only(own, true) && only(others, false) || only(own, false) && only(others, true))
        && [own, others]
            .iter()
            .all(|[one, other]| is_in_one_go(view, *one, *other))
}

/// Returns whether a thread comes from one row to another one within a function, and does nothing but access memory in between.
fn is_in_one_go(view: &View, one: EventId, other: EventId) -> bool {
    const NEAR: usize = 256;
    let (first, last) = (one.min(other), one.max(other));
    let (from, to) = (view.place(first), view.place(last));
    let own = view.rows.after(view.thread(first), first).iter().copied();
    let mut between = own.take_while(|row| *row <= last).take(NEAR + 1);
    let is_access = |row: EventId| view.event(row).kind.is_access();
    let is_near = between.clone().count() <= NEAR;
    (&from.file, &from.function) == (&to.file, &to.function) && is_near && between.all(is_access)
}

fn couple_candidate(view: &View, couple: CoupledPairs, runs: u32, has_tally: bool) -> Candidate {
    const BEHIND_ONE_AND_TWO: u32 = 8;
    let passing = view.corpus.counts().passing();
    let (first, second) = (&couple.first, &couple.second);
    let far =
        distance(view, &[first.head, first.tail]).max(distance(view, &[second.head, second.tail]));
    let flows = [first, second]
        .iter()
        .any(|d| d.kind == DependencyKind::Flow);
    let (from, to) = (first.tail.min(second.head), first.tail.max(second.head));
    let is_copy = is_torn_copy(view, &couple);
    let crossed = if is_crossed(view, &couple) {
        UNRELATED
    } else {
        0
    };
    let contrast = BEHIND_ONE_AND_TWO
        + seen(runs, passing)
        + if flows { 0 } else { 4 }
        + if is_copy || runs == 0 && is_pass(view, &couple) {
            0
        } else {
            apart(view, first.head, second.tail) + apart(view, from, to) / 2
        }
        + far.min(UNRELATED)
        + if has_tally { UNRELATED } else { 0 };
    let rows = [first.head, first.tail, second.head, second.tail];
    candidate(
        view,
        Story::MultiVariable(couple),
        &rows,
        contrast.saturating_sub(crossed),
        runs == 0,
    )
}

/// The variables of which is known whether they are tallies of two threads: each is looked through once, in however many
/// couples it is.
#[derive(Default)]
struct Tallies(FxHashMap<(LocationId, BTreeSet<ThreadId>), bool>);

impl Tallies {
    /// Returns whether one of the variables of a couple is a tally of its threads.
    fn has(&mut self, view: &View, couple: &CoupledPairs) -> bool {
        let mut both = [&couple.first, &couple.second].into_iter();
        both.any(|d| {
            let threads = BTreeSet::from([view.thread(d.head), view.thread(d.tail)]);
            let known = self.0.entry((d.location, threads));
            *known.or_insert_with(|| is_tally(view, d))
        })
    }
}

/// Returns whether both threads do no more than count the variable up, or down: none looks at it or sets it, and what it
/// counts in the meantime means nothing to either.
fn is_tally(view: &View, d: &Dependency) -> bool {
    let threads = [view.thread(d.head), view.thread(d.tail)];
    let all = view.orders.accesses().of(d.location).iter();
    let mut own = all.filter(|row| threads.contains(&view.thread(**row)));
    let Some(way) = own.clone().find_map(|row| counts_up(view, *row)) else {
        return false;
    };
    own.all(|row| {
        only_counts(view, *row) || counts_up(view, *row) == Some(way) && !is_used(view, *row)
    })
}

/// Returns whether the line of an update makes use of its value, as in `id = next.fetch_add(1);`: the text in front of the
/// variable says so.
fn is_used(view: &View, row: EventId) -> bool {
    const GIVES_BACK: &str = "return";
    let place = view.place(row);
    let name = view.variable(row);
    let name = name.rsplit(['.', '>']).next().unwrap_or_default();
    let before = place.text.split_once(name).map_or("", |(before, _)| before);
    before.contains('=') || before.trim_start().starts_with(GIVES_BACK) || asks(&place)
}

/// Returns whether both threads come through the same lines, one after the other on the first variable and before it on the
/// second: what each takes of the two belongs together.
fn is_crossed(view: &View, couple: &CoupledPairs) -> bool {
    let site = |row: EventId| view.event(row).site;
    let same = |d: &Dependency| site(d.head) == site(d.tail) && d.head != d.tail;
    let changes =
        |d: &Dependency| view.event(d.head).kind.writes() && view.event(d.tail).kind.writes();
    let both = [&couple.first, &couple.second];
    both.iter().all(|d| same(d) && changes(d))
}

/// Returns whether an update increases a value; `None` for one that does not change it and for other accesses.
fn counts_up(view: &View, row: EventId) -> Option<bool> {
    let event = view.event(row);
    let read = begins::update(&view.run, row, view.own_before(row))?;
    let old = match event.kind {
        EventKind::Rmw => event.old,
        _ => view.event(read).value.and_then(Value::bits),
    };
    let change = event.value.and_then(Value::bits)?.wrapping_sub(old?) as i64;
    (change != 0).then_some(change > 0)
}

/// Returns whether the interruption on the first of the two locations explains the failure alone. The second
/// one is then only a consequence.
pub(super) fn is_told_by_one(couple: &Candidate, interrupted: &[Candidate]) -> bool {
    let Story::MultiVariable(pairs) = couple.story else {
        return false;
    };
    interrupted.iter().any(|candidate| match candidate.story {
        Story::Atomicity(triple) => {
            candidate.new
                && candidate.relevant
                && (triple.first, triple.remote) == (pairs.first.head, pairs.first.tail)
                && triple.second < pairs.second.tail
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{coupled, is_crossed, is_used};
    use crate::Budget;
    use crate::{explain::view::View, fixture::corpus, pairs::seen_couples};
    use unsnarl_trace::EventId;

    /// Two threads take a number and a place each: `main.1` takes the first number and the second place.
    fn failing(text: &str) -> String {
        format!(
            "main fork main.1 @58 main\nmain fork main.2 @59 main\n\
             main.1 rmw next_id 0->1 @32 send \"{text}\"\nmain.2 rmw next_id 1->2 @32 send \"{text}\"\n\
             main.2 rmw next_place 0->4 @33 send\nmain.1 rmw next_place 4->8 @33 send\n\
             main R next_place =8 @42 main\nmain fails @43 main"
        )
    }

    fn is_row_used(text: &str) -> bool {
        let corpus = corpus(&[], &[&failing(text)]);
        let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
        is_used(&view, EventId(2))
    }

    #[test]
    fn the_line_says_whether_the_value_of_an_update_is_used() {
        assert!(is_row_used("unsigned id = s->next_id.fetch_add(1);"));
        assert!(is_row_used("return s->next_id++;"));
        assert!(is_row_used("if (s->next_id++ == 0)"));
        assert!(!is_row_used("s->next_id++;"));
        assert!(!is_row_used("atomic_fetch_add(&next_id, 1);"));
    }

    #[test]
    fn what_two_threads_take_on_the_same_lines_in_opposite_orders_is_crossed() {
        let crossed = |failing: &str| {
            let corpus = corpus(&[], &[failing]);
            let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
            let all = seen_couples(&view.run, view.orders.accesses(), corpus.counts());
            all.iter().any(|(couple, _)| is_crossed(&view, couple))
        };
        let text = failing("next_id++;");
        assert!(crossed(&text));
        assert!(!crossed(&text.replace("4->8 @33 send", "4->8 @77 take")));
    }

    /// A reader goes over an array while another thread fills it: one loop each, with or without a lock for each element.
    #[test]
    fn a_copy_of_an_array_is_torn() {
        let begin = "main W a[0] =1 @3 main\nmain W a[1] =1 @3 main\nmain fork main.1 @5 main\nmain fork main.2 @6 main\n";
        let fill = "main.1 W a[0] =2 @19 fill\nmain.1 W a[1] =2 @19 fill\n";
        let fine = format!("{begin}main.2 R a[0] =1 @35 play\nmain.2 R a[1] =1 @35 play\n{fill}");
        let found = |between: &str| {
            let fails = format!(
                "{begin}main.2 R a[0] =1 @35 play\n{between}{fill}main.2 R a[1] =2 @35 play\nmain.2 fails @40 play"
            );
            let corpus = corpus(&[&*fine; 6], &[&fails]);
            let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
            coupled(&view, &Budget::unlimited()).len()
        };
        assert_eq!(found(""), 1);
        assert_eq!(
            found("main.2 lock m @34 play\nmain.2 unlock m @36 play\n"),
            0
        );
    }

    /// A total of accounts that have a lock each, and transfers that take both locks. In passing runs, too, a total comes after
    /// one transfer and before another one on the same lines, but of other accounts.
    #[test]
    fn a_total_that_sees_half_of_a_transfer() {
        let read = |which: u32, value: u32| {
            format!(
                "main.1 lock m{which} @25 get\nmain.1 R a[{which}] ={value} via=32@total @26 get\n\
                 main.1 unlock m{which} @26 get\n"
            )
        };
        let transfer = |from: u32, to: u32, line: u32| {
            format!(
                "main.2 lock m{from} via={line}@run @19 move\nmain.2 lock m{to} via={line}@run @19 move\n\
                 main.2 R a[{from}] =9 via={line}@run @21 move\n\
                 main.2 W a[{from}] =7 via={line}@run @21 move\n\
                 main.2 W a[{to}] =9 via={line}@run @22 move\n\
                 main.2 unlock m{to} via={line}@run @23 move\nmain.2 unlock m{from} via={line}@run @23 move\n"
            )
        };
        let begin = "main W a[0] =9 @3 main\nmain W a[1] =9 @3 main\nmain W a[2] =9 @3 main\n\
                     main fork main.1 @50 main\nmain fork main.2 @51 main\n";
        let total = [read(0, 7), read(1, 9), read(2, 9)].concat();
        let between = [begin, &transfer(0, 1, 41), &total, &transfer(1, 2, 42)].concat();
        let total = [read(0, 9), read(1, 9), read(2, 9)].concat();
        let before = [begin, &total, &transfer(2, 0, 43)].concat();
        let torn = [
            begin,
            &read(0, 9),
            &read(1, 9),
            &transfer(2, 0, 43),
            &read(2, 7),
        ];
        let torn = format!("{}main.1 fails @15 check", torn.concat());
        let corpus = corpus(&[&*between, &*before].repeat(3), &[&torn]);
        let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
        let found = coupled(&view, &Budget::unlimited());
        assert!(found.iter().any(|one| one.new && one.relevant), "{found:?}");
    }
}
