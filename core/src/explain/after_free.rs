//! Memory used or freed again after it was freed.

use super::{
    additions::amount,
    announced::{Needs, stands_above},
    draft::Draft,
    handovers::handovers,
    look::asked_on,
    order::Publication,
    pointee::used_block,
    unprotected::{LateProtection, leaves_none},
    view::View,
};
use crate::explanation::{BugKind, Explanation, Role};
use crate::{claims::line, facts::ValueKind};
use unsnarl_trace::{EventId, EventKind, Value};

/// Explains a use of a block after it was freed.
pub(super) fn after_free(view: &View, free: EventId, used: EventId) -> Explanation {
    let pointer = pointer_read(view, used);
    let name = used_block(view, used, pointer);
    let again = matches!(view.event(used).kind, EventKind::Free | EventKind::Failure);
    let is_own = view.thread(free) == view.thread(used);
    let headline = match (again, is_own) {
        (true, _) => format!("{} freed a block that was freed before", view.words(used)),
        (false, true) => format!("{} used `{name}` after it had freed it", view.words(used)),
        (false, false) => format!(
            "`{name}` was freed while {} still used it",
            view.words(used)
        ),
    };
    let mut draft = Draft::new(view, BugKind::UseAfterFree, headline);
    let did = match view.event(used).kind {
        EventKind::Free | EventKind::Failure => "freed it again",
        EventKind::Lock | EventKind::SharedLock => "took its lock",
        EventKind::Rmw => "updated it",
        kind if kind.reads() => "read it",
        kind if kind.writes() => "wrote it",
        _ => "used it",
    };
    let who = match is_own {
        true => "and".to_owned(),
        false => format!("before {}", view.words(used)),
    };
    draft.detail(format!(
        "{} freed it at {} {who} {did} at {}.",
        view.words(free),
        view.at(free),
        line(&view.place(used), &view.place(free))
    ));
    if let Some((other, last)) = counted_down(view, free).filter(|_| is_own && !again) {
        tell_last_count(&mut draft, view, (other, last));
    }
    let late = LateProtection::of(view, free, used);
    if view.orders.concurrent(free, used) {
        match let_go(view, free, used) {
            Some(given) => tell_let_go(&mut draft, view, &given, free),
            None if late.is_some_and(LateProtection::is_mark) => {}
            None => draft.set().remark = format!("{}.", view.nothing_orders()),
        }
    }
    for pointer in way_to(view, pointer) {
        draft.step(pointer, "");
    }
    if let Some(late) = late {
        late.tell(&mut draft, view);
    }
    draft.step(free, if is_own { "" } else { "too early" });
    if view.event(used).kind != EventKind::Failure {
        let seen = view.read_value(used).map(|seen| seen.kind);
        let is_said = seen == Some(ValueKind::Freed) && view.event(used).kind.reads();
        draft.step(used, if is_said { "" } else { "after it was freed" });
    }
    draft.mark(free, Role::Cause);
    draft.mark(used, Role::Interference);
    draft.fail();
    draft.finish()
}

/// The announcement by which the thread that frees went on, if the other thread makes it before it uses the block:
/// a unit of a semaphore, an atomic write, or one that it asks for. Data that only happens to be read is none.
pub(super) fn let_go(view: &View, free: EventId, used: EventId) -> Option<Publication> {
    let needs = Needs::written(view, free, used);
    let announces = |given: &Publication| {
        let kind = view.event(given.store).kind;
        let is_asked_for = || kind.writes() && asked_on(view, given.load).is_some();
        // Who only counts does not look at what others have counted.
        let counts = amount(view.event(given.load)).is_some();
        kind == EventKind::SemPost || kind.is_atomic() && !counts || is_asked_for()
    };
    let is_there = |row: &&EventId| needs.is_at(&view.place(**row));
    // A line may do several things before it uses the block: they belong to the use.
    let since = |store: EventId| {
        let rows = view.rows.before(view.thread(used), used).iter().rev();
        let rows = rows.take_while(move |row| **row > store);
        rows.skip_while(is_there)
    };
    handovers(view, free).into_iter().find(|given| {
        view.thread(given.store) == view.thread(used)
            && announces(given)
            && !is_link_to_another(view, given.store, free)
            && !is_of_another_block(view, given.load, free)
            && stands_above(view, given.store, &needs).is_some()
            && !since(given.store).any(|row| is_there(&row))
    })
}

/// Returns whether a row sets a pointer to something else than the block that is freed, or takes such a pointer away: that tells
/// nothing of this block.
fn is_link_to_another(view: &View, store: EventId, free: EventId) -> bool {
    let block = |location| view.run.block(location);
    let own = block(view.event(free).location);
    let is_other =
        |value: Option<Value>| matches!(value, Some(Value::Address(to)) if block(to) != own);
    let location = view.event(store).location;
    let before = view.orders.accesses().before(location, store).last();
    let is_none = view.event(store).value == Some(Value::Bits(0));
    is_other(view.event(store).value)
        || is_none && before.is_some_and(|row| is_other(view.event(*row).value))
}

/// Returns whether a look before a block was freed was at another block, as the thread had looked at this one: each owner's
/// count says whether that one may go.
fn is_of_another_block(view: &View, load: EventId, free: EventId) -> bool {
    let block = |row: EventId| view.run.block(view.event(row).location);
    let site = view.event(load).site;
    let mut own = view.own_before(free);
    block(load) != block(free)
        && own.any(|row| view.event(row).site == site && block(row) == block(free))
}

/// The update by which the freeing thread took a count to 0, of the block or in one atomic step, behind the one by which another
/// thread had left it the last.
fn counted_down(view: &View, free: EventId) -> Option<(EventId, EventId)> {
    const NEAR: usize = 60;
    let block = |row: EventId| view.run.block(view.event(row).location);
    let counts = |row: EventId| view.event(row).kind == EventKind::Rmw || block(row) == block(free);
    let mut own = view.own_before(free).take(NEAR);
    let last = own.find(|row| leaves_none(view, *row) && counts(*row))?;
    let before = view
        .orders
        .accesses()
        .before(view.event(last).location, last);
    let mut writes = before
        .iter()
        .rev()
        .filter(|row| view.event(**row).kind.writes());
    let other = writes
        .next()
        .filter(|row| view.thread(**row) != view.thread(last))?;
    Some((*other, last))
}

/// Adds the two updates by which a count came to 0: with the other thread's later, that one would have freed the block.
fn tell_last_count(draft: &mut Draft, view: &View, (other, last): (EventId, EventId)) {
    draft.set().remark = format!(
        "`{}` was{} already, by {} at {}, when {} gave up its own count.",
        view.variable_of(&[other, last]),
        view.equals(other).replacen(" =", "", 1),
        view.name(other),
        view.at(other),
        view.name(last)
    );
    draft.step(other, "");
    draft.step(last, "the last");
    draft.mark(other, Role::Cause);
}

/// Adds an announcement before the use, and says what came of it.
fn tell_let_go(draft: &mut Draft, view: &View, given: &Publication, free: EventId) {
    let (store, load) = (view.place(given.store), view.place(given.load));
    let name = view.variable_of(&[given.store, given.load]);
    let (gave, took) = match view.event(given.store).kind {
        EventKind::SemPost => ("posts", "takes a unit of it"),
        _ => ("changes", "reads it"),
    };
    draft.set().remark = format!(
        "{} {gave} `{name}` at {}, before this use: {} {took} at {}, and goes on.",
        view.name(given.store),
        line(&store, &view.place(free)),
        view.name(free),
        line(&load, &store)
    );
    draft.step(given.store, "");
    draft.step(given.load, "");
}

/// The reads by which a thread came to a block, the last one first: that of the pointer to it, and where that lies in a block itself
/// that of a pointer to this.
fn way_to(view: &View, pointer: Option<EventId>) -> impl Iterator<Item = EventId> {
    /// Pointers on the way that are shown: further ones only lead to these.
    const LONG: usize = 3;
    let is_in_block = |row: &EventId| {
        view.run
            .location_parts(view.event(*row).location)
            .is_on_heap()
    };
    let before = move |row: &EventId| {
        let row = Some(*row).filter(is_in_block)?;
        pointer_read(view, row)
    };
    std::iter::successors(pointer, before).take(LONG)
}

/// The read by which the thread that used the block had obtained a pointer to it.
fn pointer_read(view: &View, used: EventId) -> Option<EventId> {
    const NEAR: usize = 60;
    let block = |location| view.run.block(location);
    let wanted = block(view.event(used).location);
    let before = view.rows.before(view.thread(used), used).iter().rev();
    let mut reads = before
        .take(NEAR)
        .copied()
        .filter(|&row| view.event(row).kind.reads());
    reads.find(|&row| {
        let event = view.event(row);
        let shared = view.orders.accesses().is_shared(event.location);
        shared
            && matches!(event.value, Some(unsnarl_trace::Value::Address(to)) if block(to) == wanted)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use crate::{Budget, explain, fixture::corpus};

    /// `lock` counts itself in where the last owner has counted itself out, and frees the object.
    const REVIVED: &str = "
        start main.1 lock
        main alloc `heap(a.c:20 by main #0)` =16 @20 main
        main rmw strong 0->1 @21 main
        main fork main.1 @22 main
        main rmw strong 1->0 @30 release \"if (--strong == 0)\"
        main.1 rmw strong 0->1 @50 lock \"strong++;\"
        main free `heap(a.c:20 by main #0)` @31 release \"delete value;\"
        main.1 R `heap(a.c:20 by main #0)+8` =7 @51 lock \"return value->id;\"
        main.1 fails @51 segmentation fault";

    /// The lines of the first explanation's steps, and its remark.
    pub fn told(text: &str) -> (Vec<u32>, String) {
        let found = explain(&corpus(&[], &[text]), &Budget::unlimited()).findings;
        let told = found.into_iter().next().expect("an explanation");
        let lines = told.steps.iter().map(|step| step.place.line).collect();
        (lines, told.remark)
    }

    #[test]
    fn who_counts_itself_in_after_the_last_owner_is_told() {
        let (lines, remark) = told(REVIVED);
        assert_eq!(lines, [30, 50, 31, 51, 51]);
        let late = "`strong` was 0 already when main.1 set it to 1 at test.c:50.";
        assert!(remark.ends_with(late), "{remark}");
    }

    #[test]
    fn the_count_of_another_block_lets_nobody_free_this_one() {
        let both = |of: &str| {
            format!(
                "
                start main.1 load
                main alloc `heap(a.c:20 by main #0)` =16 @20 main
                main alloc `heap(a.c:21 by main #0)` =16 @21 main
                main fork main.1 @22 main
                main.1 rmw `heap(a.c:21 by main #0)` 2->1 @40 load \"count--;\"
                main aread `heap(a.c:20 by main #0)` =1 @{of} expire \"if (object->count == 1)\"
                main aread `heap(a.c:21 by main #0)` =1 @31 expire \"if (object->count == 1)\"
                main free `heap(a.c:20 by main #0)` @32 expire \"erase(object);\"
                main.1 R `heap(a.c:20 by main #0)+8` =7 @42 load
                main.1 fails @42 segmentation fault"
            )
            .replace("aread", "atomic-read")
        };
        let (_, remark) = told(&both("30"));
        assert!(remark.contains("reads it at line 31"), "{remark}");
        let (_, remark) = told(&both("31"));
        assert!(!remark.contains("and goes on"), "{remark}");
    }

    /// The thread that frees clears another bit between its look at the count and the exchange by which it takes the block.
    #[test]
    fn a_count_lets_go_of_a_block_through_updates_of_who_frees_it() {
        let text = |first: &str, seen: &str| {
            format!(
                "
                start main.1 unref
                main alloc `heap(a.c:20 by main #0)` =16 @20 main
                main alloc `heap(a.c:21 by main #0)` =16 @21 main
                main W slot =0 @22 main
                main fork main.1 @23 main
                main.1 rmw kept 5->9 @24 unref
                main.1 {first} @26 unref \"fetch_sub(&slot, 4)\"
                main {seen} @58 evict \"if (compare_exchange(&slot, 1, 0))\"
                main rmw slot 3->1 @63 evict
                main rmw slot 1->0 @58 evict \"if (compare_exchange(&slot, 1, 0))\"
                main rmw kept 9->8 @60 evict
                main free `heap(a.c:20 by main #0)` @79 evict
                main.1 R `heap(a.c:20 by main #0)+8` =7 @29 unref
                main.1 fails @29 segmentation fault"
            )
        };
        let (lines, remark) = told(&text("rmw slot 7->3", "atomic-read slot =3"));
        let goes_on = "main.1 changes `slot` at line 26, before this use: main reads it at line 58, and goes on.";
        assert_eq!(remark, goes_on);
        assert_eq!(lines, [26, 58, 79, 29, 29]);
        let link = |to: &str| text(&format!("W slot =&`{to}`"), &format!("R slot =&`{to}`"));
        let (_, remark) = told(&link("heap(a.c:20 by main #0)"));
        assert!(remark.contains("goes on"), "{remark}");
        let (_, remark) = told(&link("heap(a.c:21 by main #0)"));
        assert!(!remark.contains("goes on"), "{remark}");
        let block = "&`heap(a.c:21 by main #0)`";
        let taken = text("W slot =0", "R slot =0")
            .replace("main W slot =0 @22", &format!("main W slot ={block} @22"));
        let (_, remark) = told(&taken);
        assert!(!remark.contains("goes on"), "{remark}");
    }

    #[test]
    fn the_way_to_a_block_goes_through_other_blocks() {
        let (outer, inner) = ("heap(a.c:20 by main #0)", "heap(a.c:21 by main #0)");
        let text = format!(
            "
            start main.1 tick
            main alloc `{outer}` =16 @20 main
            main alloc `{inner}` =8 @21 main
            main W `{outer}.name` =&`{inner}` @22 main
            main W timer =&`{outer}` @23 main
            main fork main.1 @24 main
            main.1 R timer =&`{outer}` @44 tick
            main.1 R `{outer}.name` =&`{inner}` @63 tick
            main free `{inner}` @82 main
            main.1 R `{inner}` =7 @63 tick
            main.1 fails @63 segmentation fault"
        );
        assert_eq!(told(&text).0, [44, 63, 82, 63]);
    }

    #[test]
    fn a_count_that_was_taken_in_time_is_no_part_of_it() {
        let in_time = REVIVED
            .replace("0->1 @50", "1->2 @50")
            .replace("1->0 @30", "1->1 @30");
        let (lines, remark) = told(&in_time);
        assert_eq!(lines, [31, 51, 51], "{remark}");
        let flag = REVIVED
            .replace("rmw strong 1->0", "W strong =0")
            .replace("rmw strong 0->1 @50", "W strong =1 @50");
        assert_eq!(told(&flag).0, [31, 51, 51], "a flag is no count");
    }
}
