//! Atomic additions to one number: they leave the same in any order, so that one which comes between two others interrupts
//! nothing by itself.

use super::turned::blamed;
use crate::explanation::Explanation;
use unsnarl_trace::{Event, EventKind, Run, Value};

/// Returns whether all that an explanation blames is that a number was counted up or down, by one amount and atomically. What
/// one of them returned may matter still: a look at the number before it, or its end at zero.
#[must_use]
pub fn blames_additions(explanation: &Explanation, run: &Run) -> bool {
    let blamed = blamed(explanation);
    let amounts = blamed.iter().map(|one| amount(run.events.get(one.row)?));
    let Some(amounts) = amounts.collect::<Option<Vec<u64>>>() else {
        return false;
    };
    let first = amounts.first().copied();
    first.is_some_and(|first| amounts.iter().all(|amount| *amount == first))
}

/// The amount by which an atomic update changes a number, up or down; none where it ends at zero, or does not count.
pub(super) fn amount(event: Event) -> Option<u64> {
    let (Some(old), Some(Value::Bits(new))) = (event.old, event.value) else {
        return None;
    };
    let is_count = event.kind == EventKind::Rmw && new != 0 && old != new;
    is_count.then(|| old.abs_diff(new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, explain, fixture::corpus};

    /// Returns whether the first story of a thread that is interrupted at a number is one of additions.
    fn is_of_additions(first: &str, between: &str, last: &str) -> bool {
        let begin = "main W users =1 @1\nmain fork main.1 @2\nmain fork main.2 @3\n";
        let own = |access: &str, line: u32| format!("main.1 {access} @{line} take\n");
        let other = format!("main.2 {between} @30 lend\n");
        let failing = [begin, &own(first, 12), &other, &own(last, 13)].concat();
        let failing = format!("{failing}main.1 fails @14 take");
        let fine = "main.1 rmw users 1->2 @12 take\nmain.1 rmw users 2->1 @13 take\nmain.2 rmw users 1->2 @30 lend";
        let fine = format!("{begin}{fine}");
        let corpora = corpus(&[&*fine; 5], &[&failing]);
        let found = explain(&corpora, &Budget::unlimited()).findings;
        let told = found.first().unwrap();
        let run = corpora.get(&told.run).unwrap().run.as_ref().unwrap();
        blames_additions(told, run)
    }

    #[test]
    fn counting_up_and_down_is_known() {
        assert!(is_of_additions(
            "rmw users 1->2",
            "rmw users 2->3",
            "rmw users 3->2"
        ));
        assert!(!is_of_additions(
            "R users =1",
            "rmw users 1->2",
            "rmw users 2->3"
        ));
        assert!(!is_of_additions(
            "rmw users 1->2",
            "rmw users 2->9",
            "rmw users 9->8"
        ));
        assert!(!is_of_additions(
            "rmw users 1->2",
            "rmw users 2->1",
            "rmw users 1->0"
        ));
        assert!(!is_of_additions(
            "rmw users 1->2",
            "W users =3",
            "rmw users 3->2"
        ));
    }
}
