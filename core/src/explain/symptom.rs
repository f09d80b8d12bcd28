//! Stories that end with the data of the failing check: they say no more than that it fails.

use crate::{facts::place, failed, orders::Accesses};
use unsnarl_trace::{Event, EventId, EventKind, Run};

/// Returns whether a row is on the failing line, or is the failing thread's last access of shared data before
/// it fails. Linear in the run.
#[must_use]
pub fn ends_in_the_check(run: &Run, row: EventId) -> bool {
    let failure = failed::site(run);
    let (Some(failure), Some(event)) = (failure, run.events.get(row)) else {
        return false;
    };
    let line = |site| {
        let place = place(run, site);
        (place.file, place.line)
    };
    line(event.site) == line(failure) || is_last_look(run, row)
}

fn is_last_look(run: &Run, row: EventId) -> bool {
    let fails = run
        .events
        .iter()
        .filter(|(_, event)| event.kind == EventKind::Failure);
    let Some((end, failure)) = fails.last() else {
        return false;
    };
    let accesses = Accesses::new(run);
    let between = (row.0 + 1..end.0).map(EventId);
    let mut own = between.map(|row| run.events.event(row));
    let looks = own.any(|event| {
        let is_own = event.thread == failure.thread && event.kind.is_access();
        is_own && accesses.is_shared(event.location)
    });
    let is_look =
        |event: Event| event.thread == failure.thread && accesses.is_shared(event.location);
    row < end && !looks && run.events.get(row).is_some_and(is_look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    #[test]
    fn the_last_look_before_the_check_is_in_it() {
        let run = run(
            "main.1 W flag =1 @5\nmain.1 W count =2 @6\nmain R flag =1 @10\nmain R count =2 @11\nmain R local =2 @12\nmain fails @13",
        );
        let rows: Vec<EventId> = (0..5).map(EventId).collect();
        let found: Vec<bool> = rows
            .iter()
            .map(|row| ends_in_the_check(&run, *row))
            .collect();
        assert_eq!(found, [false, false, false, true, false]);
    }

    #[test]
    fn what_stands_on_the_failing_line_is_in_the_check() {
        let run = run(
            "main.1 W flag =1 @5\nmain.1 W count =2 @6\nmain R flag =1 @10\nmain R count =2 @10\nmain fails @10",
        );
        assert!(ends_in_the_check(&run, EventId(2)) && !ends_in_the_check(&run, EventId(1)));
    }
}
