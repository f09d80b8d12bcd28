//! Decision whether a slice of a failing run shows the bug, as the paper on error invariants defines it: of a data
//! race both accesses, of an atomicity violation a statement of another thread that came in between the region's, of
//! an order violation both statements.

use crate::Expectation;
use serde_json::Value;
use std::collections::BTreeSet;
use unsnarl_core::BugKind;
use unsnarl_trace::{Event, EventId, EventKind, LocationId, Run, ThreadId};

/// Returns whether the slice in `told` (of the JSON of `unsnarl explain --engine invariants`) shows the bug that the
/// program's header describes.
pub fn shows(expectation: &Expectation, run: &Run, told: &Value) -> bool {
    let kept = kept(told);
    let lines = |wanted: &str| -> BTreeSet<u32> {
        let parts = expectation.parts.iter();
        let parts = parts.filter(|(part, _)| part.starts_with(wanted));
        parts.flat_map(|(_, lines)| lines.clone()).collect()
    };
    let (cause_lines, interference) = (lines("cause"), lines("interference"));
    let at = |lines: &BTreeSet<u32>| -> Vec<ShownAccess> {
        let accesses = run
            .events
            .iter()
            .filter_map(|(id, event)| access(run, id, &event));
        accesses
            .filter(|access| lines.contains(&access.line))
            .collect()
    };
    let (causes, others) = (at(&cause_lines), at(&interference));
    let is_kept = |access: &&ShownAccess| kept.contains(&access.event.0);
    let mut others = others.iter().filter(is_kept);
    others.any(|other| {
        let own = |access: &&ShownAccess| access.thread != other.thread;
        let conflicts = causes.iter().filter(is_kept).filter(own);
        match expectation.kinds.first() {
            Some(BugKind::AtomicityViolation | BugKind::MultiVariableAtomicityViolation) => {
                conflicts
                    .map(|access| access.thread)
                    .any(|thread| comes_in_between((&causes, &cause_lines), thread, other))
            }
            _ => conflicts
                .filter(|access| access.location == other.location)
                .any(|access| access.writes || other.writes),
        }
    })
}

/// The events of the lines that are told of.
fn kept(told: &Value) -> BTreeSet<u32> {
    let lines = told["lines"].as_array().into_iter().flatten();
    let events = lines.filter_map(|line| line["events"].as_array());
    let events = events.flatten().filter_map(Value::as_u64);
    events
        .filter_map(|event| u32::try_from(event).ok())
        .collect()
}

struct ShownAccess {
    event: EventId,
    thread: ThreadId,
    location: LocationId,
    function: String,
    line: u32,
    writes: bool,
}

fn access(run: &Run, id: EventId, event: &Event) -> Option<ShownAccess> {
    let is_step = event.kind.is_access() || event.kind == EventKind::Failure;
    let site = run.meta.site(event.site);
    is_step.then(|| ShownAccess {
        event: id,
        thread: event.thread,
        location: event.location,
        function: site.function.clone(),
        line: site.line,
        writes: event.kind.writes(),
    })
}

/// Returns whether an access of another thread lies within a region of `thread`: behind one of its accesses and before
/// another one of the same round, or before its end when the run failed first. One of the region's accesses conflicts
/// with it: both are on one location, and at least one of them writes.
fn comes_in_between(
    (causes, lines): (&[ShownAccess], &BTreeSet<u32>),
    thread: ThreadId,
    other: &ShownAccess,
) -> bool {
    let own = || causes.iter().filter(|access| access.thread == thread);
    let before = own().rfind(|access| access.event < other.event);
    let after = own().find(|access| access.event > other.event);
    let Some(before) = before else { return false };
    let conflicts =
        own().any(|access| access.location == other.location && (access.writes || other.writes));
    let is_within = match after {
        // Of one line only where it reads and then writes, or where a helper looks at one variable after the other.
        Some(after) if before.line == after.line => {
            let elsewhere = |access: &&ShownAccess| access.location != after.location;
            let mut earlier = own().filter(|access| access.event < other.event);
            !before.writes && after.writes || earlier.any(|access| elsewhere(&access))
        }
        Some(after) => before.function != after.function || before.line < after.line,
        None => lines.iter().any(|line| *line > before.line),
    };
    conflicts && is_within
}
