//! One run in formats of other tools: a timeline, a graph, a log with vector clocks.
//!
//! All three are based on the same [`links`]: values and synchronization that one thread got from another.

mod graph;
mod links;
mod shiviz;
#[cfg(test)]
mod tests;
mod timeline;

pub use graph::{RunGraph, graph};
pub use links::{EventLink, LinkKind, links};
pub use shiviz::{SHIVIZ_PARSER, shiviz};
pub use timeline::{EntryDetail, Timeline, TraceEvent, timeline};

use crate::facts::{self, short};
use unsnarl_trace::{Event, EventKind, Run, ThreadId};

/// Action of an event without its thread: `reads balance = 300`, `locks account.lock`.
fn deed(run: &Run, event: &Event) -> String {
    let verb = facts::verb(event.kind);
    let other = crate::orders::other_thread(event.value);
    let object = match (event.kind, other) {
        (EventKind::Fork | EventKind::Join, Some(other)) => {
            facts::thread_name(run, ThreadId(other))
        }
        _ => facts::variable(run, event),
    };
    let value = match event.kind.is_access() {
        true => facts::value(run, event, false),
        false => None,
    };
    let said = match (event.kind, object.as_str()) {
        (EventKind::Begin, _) => "begins".to_owned(),
        (EventKind::End, _) => "ends".to_owned(),
        (EventKind::Failure, _) => "fails".to_owned(),
        (kind, "") if verb == "passes" => kind.name().to_owned(),
        (_, "") => verb.to_owned(),
        (kind, object) if verb == "passes" => format!("{} {object}", kind.name()),
        (_, object) => format!("{verb} {object}"),
    };
    match (value, facts::measure(run.location(event.location))) {
        (Some(value), Some(measure)) => format!("{said} ({measure} {value})"),
        (Some(value), None) => format!("{said} = {value}"),
        (None, _) => said,
    }
}

/// Place as text such as `bank.c:46`; empty when unknown.
fn place_of(run: &Run, event: &Event) -> String {
    let place = facts::place(run, event.site);
    match place.file.is_empty() && place.function.is_empty() {
        true => String::new(),
        false => short(&place),
    }
}
