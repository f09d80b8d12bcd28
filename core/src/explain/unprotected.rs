//! Blocks that a thread protects too late: it counts itself in where the last owner has counted itself out, or sets a hazard
//! pointer, or another mark of use, after the thread that frees the block has looked at it.

use super::{draft::Draft, look::asked_on, view::View};
use unsnarl_trace::{EventId, EventKind, Value};

/// Rows of a thread before the free among which its count or its look is searched for.
const NEAR: usize = 60;

/// The state that a thread should have found, and the step by which another one would have kept it from going on.
#[derive(Clone, Copy)]
pub(super) enum LateProtection {
    /// A count that came to 0, and the update by which another thread counted itself in after that.
    Counted { last: EventId, counted: EventId },
    /// A look of the thread that frees, and the other thread's mark of use that it should have found.
    Marked { look: EventId, mark: EventId },
}

impl LateProtection {
    /// The one that let a block be freed which another thread uses. Either of the two threads may have taken the count to 0: who
    /// is counted in again frees the block, too.
    pub fn of(view: &View, free: EventId, used: EventId) -> Option<LateProtection> {
        let counted = || {
            let mut threads = [free, used].into_iter();
            threads.find_map(|end| counted_too_late(view, end, (free, used)))
        };
        counted().or_else(|| marked_too_late(view, free, used))
    }

    /// Returns whether it is a mark that the freeing thread looks for: that is there to order the two.
    pub fn is_mark(self) -> bool {
        matches!(self, LateProtection::Marked { .. })
    }

    /// Adds the two steps, and says what came first.
    pub fn tell(self, draft: &mut Draft, view: &View) {
        let (before, after, said) = match self {
            LateProtection::Counted { last, counted } => {
                (last, counted, counted_in_words(view, last, counted))
            }
            LateProtection::Marked { look, mark } => {
                (look, mark, marked_in_words(view, look, mark))
            }
        };
        draft.set().remark_last(&said);
        draft.step(before, "");
        draft.step(after, "too late");
    }
}

/// The update by which the thread of `end` took a count to 0, and the one by which the other thread counted itself in after that:
/// it took the object for a living one.
fn counted_too_late(
    view: &View,
    end: EventId,
    (free, used): (EventId, EventId),
) -> Option<LateProtection> {
    let other = match end == free {
        true => view.thread(used),
        false => view.thread(free),
    };
    let own = view.own_before(end).take(NEAR);
    let mut ends = own.filter(|row| leaves_none(view, *row));
    ends.find_map(|last| {
        let location = view.event(last).location;
        let mut after = view.orders.accesses().after(location, last).iter();
        let next = after.find(|row| view.event(**row).kind.writes());
        let counted = next.copied().filter(|row| {
            let counts = view.event(*row).value != Some(Value::Bits(0));
            *row < used && view.thread(*row) == other && is_update(view, *row) && counts
        })?;
        Some(LateProtection::Counted { last, counted })
    })
}

/// The last look of the freeing thread at what the other thread sets only after that, and before it uses the block: to the
/// block, or to anything where the look has found nothing.
fn marked_too_late(view: &View, free: EventId, used: EventId) -> Option<LateProtection> {
    let block = view.run.block(view.event(free).location);
    let own = view.own_before(free).take(NEAR);
    let mut looks = own.filter(|row| {
        let event = view.event(*row);
        event.kind.reads() && view.orders.accesses().is_shared(event.location)
    });
    looks.find_map(|look| {
        let location = view.event(look).location;
        let after = view.orders.accesses().after(location, look).iter();
        let next = after.copied().find(|row| view.event(*row).kind.writes());
        let mark = next.filter(|row| *row < used && view.thread(*row) == view.thread(used))?;
        let is_block = matches!(view.event(mark).value, Some(Value::Address(to)) if view.run.block(to) == block);
        let is_set = view.event(mark).value != Some(Value::Bits(0));
        let found_none = view.event(look).value == Some(Value::Bits(0)) && asked_on(view, look).is_some();
        (is_block || is_set && found_none).then_some(LateProtection::Marked { look, mark })
    })
}

/// Returns whether a row updates a number to 0.
pub(super) fn leaves_none(view: &View, row: EventId) -> bool {
    let is_none = view.event(row).value == Some(Value::Bits(0));
    is_none && is_update(view, row) && !view.is_of_spin_lock(row)
}

/// Returns whether a row changes what was there, in one step or by a read and a write of the same line.
pub(super) fn is_update(view: &View, row: EventId) -> bool {
    let (event, place) = (view.event(row), view.place(row));
    let mut before = view.own_before(row);
    let is_read = |before: EventId| {
        let other = view.event(before);
        other.kind.reads() && other.location == event.location && view.place(before) == place
    };
    event.kind == EventKind::Rmw || event.kind.writes() && before.next().is_some_and(is_read)
}

fn counted_in_words(view: &View, last: EventId, counted: EventId) -> String {
    // A block without a name is not 0, but what is counted in it.
    let name = view.variable_of(&[last, counted]);
    let counter = match view.named(counted) {
        Some(_) => format!("`{name}`"),
        None => format!("The count in {name}"),
    };
    format!(
        "{counter} was 0 already when {} set it{} at {}.",
        view.name(counted),
        view.equals(counted).replacen(" =", " to", 1),
        view.at(counted)
    )
}

fn marked_in_words(view: &View, look: EventId, mark: EventId) -> String {
    format!(
        "{} had looked at `{}` at {} before {} set it{} at {}.",
        view.name(look),
        view.variable_of(&[look, mark]),
        view.at(look),
        view.name(mark),
        view.equals(mark).replacen(" =", " to", 1),
        view.at(mark)
    )
}

#[cfg(test)]
mod tests {
    use crate::explain::after_free::tests::told;

    /// The owner that was counted in again frees the object, and the one that had taken the count to 0 still uses it.
    #[test]
    fn the_revived_owner_frees_the_object_of_the_last_one() {
        let text = "
            start main.1 get
            main alloc `heap(a.c:20 by main #0)` =16 @20 main
            main rmw ref 0->1 @21 main
            main fork main.1 @22 main
            main rmw ref 1->0 @63 put \"if (fetch_sub(&o->ref, 1) == 1)\"
            main.1 rmw ref 0->1 @50 get \"o->ref++;\"
            main.1 rmw ref 1->0 @63 put \"if (fetch_sub(&o->ref, 1) == 1)\"
            main.1 free `heap(a.c:20 by main #0)` @37 release \"free(o);\"
            main R `heap(a.c:20 by main #0)+8` =7 @30 release \"slot(o->key);\"
            main fails @30 segmentation fault";
        let (lines, remark) = told(text);
        assert_eq!(lines, [63, 50, 37, 30, 30]);
        let late = "`ref` was 0 already when main.1 set it to 1 at test.c:50.";
        assert!(remark.ends_with(late), "{remark}");
    }

    /// A reader sets its hazard pointer after the look of the thread that frees.
    fn hazard(sets: &str, before: bool) -> String {
        let look = "main atomic-read slot =0 @28 still_used \"if (load(&slot) == c)\"\n";
        let (first, second) = if before { (sets, look) } else { (look, sets) };
        format!(
            "start main.1 reader
            main alloc `heap(a.c:20 by main #0)` =16 @20 main
            main W current =&`heap(a.c:20 by main #0)` @21 main
            main W slot =0 @22 main
            main fork main.1 @23 main
            main.1 R current =&`heap(a.c:20 by main #0)` @35 enter
            {first}{second}main free `heap(a.c:20 by main #0)` @66 update \"free(old);\"
            main.1 R `heap(a.c:20 by main #0)+8` =7 @50 reader
            main.1 fails @50 segmentation fault"
        )
    }

    #[test]
    fn a_hazard_pointer_that_is_set_after_the_look() {
        let sets = "main.1 atomic-write slot =&`heap(a.c:20 by main #0)` @36 enter\n";
        let (lines, remark) = told(&hazard(sets, false));
        assert_eq!(lines, [35, 28, 36, 66, 50, 50]);
        assert!(
            remark.starts_with("main had looked at `slot` at test.c:28 before main.1 set it"),
            "{remark}"
        );
        let (lines, remark) = told(&hazard(sets, true));
        assert_eq!(lines, [35, 66, 50, 50]);
        assert_eq!(remark, "Nothing orders the two.");
    }
}
