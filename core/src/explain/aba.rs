//! Updates that go on since the variable has its old value again, although others have changed it meanwhile: ABA.

use super::view::View;
use unsnarl_trace::{EventId, EventKind};

/// Accesses of a thread before its update among which its read of the value is searched for.
const NEAR: usize = 64;

/// A sentence about an atomic update that found the value which its thread had read before, if others have changed it in between,
/// and changed it back.
pub(super) fn exchanged_again(view: &View, update: EventId) -> Option<String> {
    let event = view.event(update);
    let seen = view
        .read_value(update)
        .filter(|_| event.kind == EventKind::Rmw)?;
    let mut own = view.own_before(update).take(NEAR);
    let read = own.find(|row| {
        let before = view.event(*row);
        before.location == event.location && before.kind.reads()
    })?;
    let since = view.orders.accesses().after(event.location, read).iter();
    let since = since.copied().take_while(|row| *row < update);
    let mut others =
        since.filter(|row| view.event(*row).kind.writes() && view.thread(*row) != event.thread);
    let is_same = view.read_value(read).is_some_and(|before| before == seen);
    let is_other = |row: EventId| view.value(row).is_some_and(|value| value != seen);
    (is_same && seen.is_known() && others.any(is_other)).then(|| {
        format!(
            "`{}` was {seen} again at {}: that others had changed it in between, the update does not see (ABA).",
            view.variable(update),
            view.at(update)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::corpus;

    fn said(between: &str) -> Option<String> {
        let text = format!(
            "main fork main.1 @1 main\nmain.1 atomic-read top =7 @21 pop\nmain.1 R next =9 @31 pop\n{between}main.1 rmw top 7->9 @32 pop\nmain.1 fails @33 pop"
        );
        let corpus = corpus(&[], &[&text]);
        let view = View::new(&corpus, corpus.failing().next()?)?;
        let rows = view.run.events.iter().map(|(row, _)| row);
        let last = rows
            .filter(|row| view.event(*row).kind == EventKind::Rmw)
            .last()?;
        exchanged_again(&view, last)
    }

    #[test]
    fn a_value_that_is_there_again_is_told() {
        let taken = "main rmw top 7->9 @32 pop\nmain rmw top 9->7 @24 push\n";
        let told = said(taken).unwrap_or_default();
        assert!(told.starts_with("`top` was 7 again at test.c:32"), "{told}");
        assert_eq!(said(""), None);
        let same = "main W top =7 @24 push\nmain W top =7 @24 push\n";
        assert_eq!(said(same), None);
    }
}
