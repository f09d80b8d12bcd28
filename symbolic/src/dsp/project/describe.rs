//! Operations in words.

use crate::dsp::model::{Does, ThreadOperation};
use unsnarl_core::{callers, explanation::Place, facts};
use unsnarl_trace::{Event, EventId, EventKind, Run, SiteId, ThreadId, Value};

/// Makes an operation of a thread at a site.
pub(super) fn at(run: &Run, thread: ThreadId, site: SiteId, does: Does) -> ThreadOperation {
    ThreadOperation {
        thread: facts::thread_name(run, thread),
        who: facts::thread_in_words(run, thread),
        place: facts::place(run, site),
        does,
        variable: String::new(),
        failing_value: None,
        alternate_value: None,
        expression: None,
        is_moved: false,
        is_in_flow: false,
        is_stuck: false,
        event: None,
        alternate_event: None,
    }
}

/// Makes an operation from an event.
pub(super) fn of_event(run: &Run, id: EventId) -> ThreadOperation {
    let event = run.events.event(id);
    let mut operation = at(run, event.thread, event.site, does(event.kind));
    operation.event = Some(id);
    operation.variable = match event.location.0 {
        0 => String::new(),
        _ => facts::variable(run, &event),
    };
    operation
}

/// The event's place and those of its calls, innermost first.
pub(super) fn calls(run: &Run, event: &Event) -> Vec<Place> {
    let calls = callers::frames(run, event.stack);
    let sites = std::iter::once(event.site).chain(calls);
    sites.map(|site| facts::place(run, site)).collect()
}

/// The value that an event reads or writes.
pub(super) fn value_of(run: &Run, event: &Event) -> Option<String> {
    if !event.kind.is_access() {
        return None;
    }
    // A zero is a null pointer where the same memory holds an address at another time.
    let is_pointer = || {
        let same = |(_, other): &(EventId, Event)| other.location == event.location;
        let mut others = run.events.iter().filter(same);
        facts::mentions_null(&run.meta.site(event.site).text)
            || others.any(|(_, other)| matches!(other.value, Some(Value::Address(_))))
    };
    let is_pointer = event.value == Some(Value::Bits(0)) && event.size == 8 && is_pointer();
    facts::value(run, event, is_pointer).map(|value| value.text)
}

fn does(kind: EventKind) -> Does {
    match kind {
        EventKind::Read | EventKind::AtomicRead => Does::Reads,
        EventKind::Write | EventKind::AtomicWrite => Does::Writes,
        EventKind::Rmw => Does::Updates,
        EventKind::Lock | EventKind::SharedLock | EventKind::Blocked => Does::Locks,
        EventKind::Unlock | EventKind::SharedUnlock => Does::Unlocks,
        EventKind::Free => Does::Frees,
        EventKind::Wait => Does::Waits,
        EventKind::Signal | EventKind::Broadcast => Does::Signals,
        EventKind::Failure => Does::Checks,
        _ => Does::Synchronizes,
    }
}
