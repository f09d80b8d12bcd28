//! Atomicity violations on two variables: two accesses of one thread, and another thread's accesses to both.

use super::{
    aba::exchanged_again,
    atomicity::{region, released_between},
    draft::Draft,
    locking::{own_locks, same_section, taken_again},
    view::View,
};
use crate::{
    claims::{Claim, line},
    explanation::{BugKind, Explanation, Role},
    orders::Dependency,
    pairs::{CoupleKey, CoupledPairs, PairKey},
};
use unsnarl_trace::EventId;

/// Explains two pairs on two locations that run in opposite directions.
pub(super) fn multi(view: &View, couple: &CoupledPairs) -> Explanation {
    let first = &couple.first;
    let second = &Dependency {
        head: read_in_visit(view, couple),
        tail: what_came_of(view, couple.second.tail),
        ..couple.second
    };
    let couple = &CoupledPairs {
        first: *first,
        second: *second,
    };
    let x = view.variable_of(&[first.head, first.tail]);
    let y = view.variable_of(&[second.tail, second.head]);
    let headline = multi_headline(view, couple, &x, &y);
    let is_one = x == y;
    let mut draft = Draft::new(view, BugKind::MultiVariableAtomicityViolation, headline);
    let (who, other) = (view.words(first.head), view.words(first.tail));
    let (a, d) = (view.place(first.head), view.place(second.tail));
    let (b, c) = (view.place(first.tail), view.place(second.head));
    let do_x = |row| verb_of(view, row);
    let (to_x, to_y) = (do_x(first.tail), do_x(second.head));
    let at = view.at(first.tail);
    let is_one_line = (&b.file, b.line) == (&c.file, c.line);
    let remote = match is_one_line {
        true if to_x == to_y => format!("{to_x} both at {at}"),
        true => format!("{to_x} {x} and {to_y} {y} at {at}"),
        false if second.head < first.tail => {
            let (at, then) = (view.at(second.head), line(&b, &c));
            format!("{to_y} {y} at {at} and {to_x} {x} at {then}")
        }
        false => format!("{to_x} {x} at {at} and {to_y} {y} at {}", line(&c, &b)),
    };
    let began = format!("{who} {} {x} at {}", do_x(first.head), view.at(first.head));
    let ended = match is_one {
        true => format!(
            "and {} {} at {}",
            do_x(second.tail),
            beside(view, couple, &x),
            line(&d, &a)
        ),
        false => format!("and {} {y} at {}", do_x(second.tail), line(&d, &a)),
    };
    draft.detail(match interferes(couple) {
        Interferes::InBetween => format!("{began} {ended};\nin between {other} {remote}."),
        Interferes::Overlapping => {
            format!("{began} {ended};\nthe steps of {other} overlap with these: it {remote}.")
        }
    });
    multi_contrast(&mut draft, view, couple);
    draft.set().region = region(view, first.head, second.tail);
    draft.set().remark = multi_remark(view, couple);
    if let Some(again) = exchanged_again(view, second.tail) {
        draft.set().remark_last(&again);
    }
    draft.step(first.head, "");
    for row in [first.tail, second.head] {
        let is_inside = row > first.head && row < second.tail;
        draft.step(row, if is_inside { "in between" } else { "" });
    }
    draft.step(second.tail, "");
    let own = [first.head, first.tail, second.head, second.tail];
    let begins = own.into_iter().min().unwrap_or_default();
    own.into_iter().for_each(|row| draft.source(row, begins));
    draft.mark(first.head, Role::Cause);
    draft.mark(second.tail, Role::Cause);
    draft.mark(first.tail, Role::Interference);
    draft.mark(second.head, Role::Interference);
    draft.fail();
    draft.finish()
}

/// The second of two variables of one name: a part of the first one, or a member of another object.
fn beside(view: &View, couple: &CoupledPairs, name: &str) -> String {
    let block = |row| view.run.block(view.event(row).location);
    match block(couple.first.head) == block(couple.second.tail) {
        true => "another part of it".to_owned(),
        false => format!("{name} of another object"),
    }
}

/// Position of the other thread's two accesses.
enum Interferes {
    /// Both came between the interrupted thread's.
    InBetween,
    /// Only one did, or neither.
    Overlapping,
}

fn interferes(couple: &CoupledPairs) -> Interferes {
    let inside = |row| row > couple.first.head && row < couple.second.tail;
    match inside(couple.first.tail) && inside(couple.second.head) {
        true => Interferes::InBetween,
        false => Interferes::Overlapping,
    }
}

/// The read of the second location by which the other thread takes part. Where the last one before the write is of another
/// visit than the access to the first location, an earlier one of the same value may be of that visit.
fn read_in_visit(view: &View, couple: &CoupledPairs) -> EventId {
    let (tail, head) = (couple.first.tail, couple.second.head);
    let read = view.event(head);
    if read.kind.writes() || head < tail || !view.comes_again(tail, head) {
        return head;
    }
    let before = view.orders.accesses().before(read.location, head);
    let unchanged = before.iter().rev().copied();
    let unchanged = unchanged.take_while(|row| !view.event(*row).kind.writes());
    let mut own = unchanged.filter(|&row| {
        let event = view.event(row);
        (event.thread, event.site) == (read.thread, read.site)
            && row < tail
            && !view.comes_again(row, tail)
    });
    own.next().unwrap_or(head)
}

/// The write of the same thread to the same location that follows a read, if both belong to one critical
/// section or one function; it stands for the read.
fn what_came_of(view: &View, row: EventId) -> EventId {
    let (event, held) = (view.event(row), view.orders.locks_held(row));
    if !event.kind.reads() || event.kind.writes() {
        return row;
    }
    let after = view
        .orders
        .accesses()
        .after(event.location, row)
        .iter()
        .copied();
    let own = after.take_while(|&next| view.thread(next) == event.thread);
    let mut writes = own.filter(|&next| view.event(next).kind.writes());
    let one_step = |next: &EventId| match held.first() {
        Some(section) => same_section(view, row, *next, section.lock),
        None => view.place(*next).function == view.place(row).function,
    };
    writes.next().filter(one_step).unwrap_or(row)
}

fn verb_of(view: &View, row: EventId) -> &'static str {
    match view.event(row).kind {
        kind if kind.writes() => "wrote",
        _ => "read",
    }
}

fn multi_headline(view: &View, couple: &CoupledPairs, x: &str, y: &str) -> String {
    let (tail, head) = (
        view.event(couple.first.tail).kind,
        view.event(couple.second.head).kind,
    );
    if !tail.writes() && !head.writes() {
        return format!("`{x}` and `{y}` were read while only one of them was new");
    }
    let who = view.words(couple.first.head);
    if x != y && matches!(interferes(couple), Interferes::Overlapping) {
        let other = view.words(couple.first.tail);
        let what = match one_array(x, y) {
            Some(array) => format!("elements of `{array}`"),
            None => format!("`{x}` and `{y}`"),
        };
        return format!("{who} and {other} used {what} in steps that overlap");
    }
    if x == y {
        return format!("`{x}` changed between two accesses of {who} that belong together");
    }
    if !tail.writes() || !head.writes() {
        let other = view.words(couple.first.tail);
        return format!("{other} came between two steps of {who}, on `{x}` and `{y}`");
    }
    format!("`{x}` and `{y}` changed between two steps of {who} that belong together")
}

/// The array of which both are elements: which ones they are, as of a text that two threads fill, is chance.
fn one_array<'a>(x: &'a str, y: &str) -> Option<&'a str> {
    let (array, _) = x.strip_suffix(']')?.rsplit_once('[')?;
    let (other, _) = y.strip_suffix(']')?.rsplit_once('[')?;
    (array == other).then_some(array)
}

fn multi_contrast(draft: &mut Draft, view: &View, couple: &CoupledPairs) {
    let counts = view.corpus.counts();
    let (first, second) = (&couple.first, &couple.second);
    let [one, other] = [first, second].map(|pair| PairKey {
        head: view.key(pair.head),
        tail: view.key(pair.tail),
    });
    let is_new = counts.couple_runs(CoupleKey::new(one, other)) == 0;
    let claim = overlap(view, couple);
    draft.contrast(claim, true, |counted| !is_new || counted.holds_in == 0);
}

/// The claim of a couple about a run.
pub(super) fn overlap(view: &View, CoupledPairs { first, second }: &CoupledPairs) -> Claim {
    Claim::Overlap {
        first: view.operation(first.head),
        second: view.operation(second.tail),
        after_first: view.operation(first.tail),
        before_second: view.operation(second.head),
        in_this_order: first.tail < second.head,
    }
}

fn multi_remark(view: &View, couple: &CoupledPairs) -> String {
    let (from, to) = (couple.first.head, couple.second.tail);
    let (held, second) = (own_locks(view, from), own_locks(view, to));
    match held
        .iter()
        .find(|section| second.iter().any(|s| s.lock == section.lock))
    {
        _ if taken_again(view, from, to) => String::new(),
        Some(section) if !same_section(view, from, to, section.lock) => {
            released_between(view, section, to)
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{View, beside, one_array};
    use crate::{Budget, explain, explain::Proposers, fixture::corpus, pairs::seen_couples};

    #[test]
    fn elements_of_one_array_are_named_by_it() {
        assert_eq!(one_array("scratch[8]", "scratch[10]"), Some("scratch"));
        assert_eq!(
            one_array("rows[1].cells[8]", "rows[1].cells[2]"),
            Some("rows[1].cells")
        );
        assert_eq!(one_array("rows[1].cells[8]", "rows[2].cells[8]"), None);
        assert_eq!(one_array("rows[1].n", "rows[2].n"), None);
    }

    /// The last task of a queue: its owner looks whether others have taken it (line 27) and takes it (line 29), another thread
    /// looks whether it is there (line 38) and takes it (line 40). The owner looks again before the other one has taken it.
    #[test]
    fn the_look_before_a_change_belongs_to_it_and_not_the_next_one() {
        let begin = "main fork main.1 @1\n";
        let pop = "main R top =0 @27 pop\nmain W bottom =0 @29 pop\n";
        let steal = "main.1 R bottom =1 @38 steal\nmain.1 W top =1 @40 steal\n";
        let owner = [
            begin,
            pop,
            "main R top =0 @27 pop\nmain.1 R bottom =0 @38 steal\n",
        ]
        .concat();
        let thief = [begin, steal, "main R top =1 @27 pop\n"].concat();
        let both = [
            begin,
            "main R top =0 @27 pop\nmain.1 R bottom =1 @38 steal\nmain W bottom =0 @29 pop\n",
            "main R top =0 @27 pop\nmain.1 W top =1 @40 steal\nmain fails @60 main\n",
        ];
        let fine = [&*owner, &*thief].repeat(3);
        let (corpora, budget) = (corpus(&fine, &[&both.concat()]), Budget::unlimited());
        let first = explain(&corpora, &budget).findings.remove(0);
        let proposers = Proposers::comparing(&corpora);
        let mut proposals = proposers.instead_of(&first, &[]);
        let mut stories = proposers
            .all()
            .flat_map(|engine| proposals.by(engine, &budget));
        let told = stories
            .find(|story| story.headline.contains("`bottom` and `top`"))
            .unwrap();
        let blamed = told.blamed();
        let steps = blamed.map(|mark| &told.steps[mark.step.unwrap() as usize - 1]);
        let mut rows: Vec<(u32, u32)> = steps.map(|step| (step.event, step.place.line)).collect();
        rows.sort_unstable();
        assert_eq!(
            rows,
            [(1, 27), (2, 38), (3, 29), (5, 40)],
            "{}",
            told.headline
        );
    }

    /// Members of two objects have one name in the source.
    #[test]
    fn members_of_two_objects_are_told_apart() {
        let told = |other: &str| {
            let text = format!(
                "main fork main.1 @4 main\nmain W `heap(a.c:3 by main #0)` =1 @10 check\n\
                 main.1 W `heap(a.c:3 by main #0)` =2 @20 set\nmain.1 W {other} =2 @21 set\n\
                 main W {other} =1 @12 check\nmain fails @13 check"
            );
            let corpus = corpus(&[], &[&text]);
            let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
            let all = seen_couples(&view.run, view.orders.accesses(), corpus.counts());
            beside(&view, &all.first().unwrap().0, "ready")
        };
        let [same, another] = ["heap(a.c:3 by main #0)+8", "heap(a.c:5 by main #0)"];
        assert_eq!(told(&format!("`{same}`")), "another part of it");
        assert_eq!(told(&format!("`{another}`")), "ready of another object");
    }
}
