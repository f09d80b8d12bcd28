//! A run as a log with vector clocks, for ShiViz.

use super::{deed, place_of};
use crate::{
    facts,
    orders::{Accesses, HappensBefore},
};
use std::collections::BTreeMap;
use unsnarl_trace::{EventId, EventKind, Run, ThreadId};

/// The expression by which ShiViz parses the log: the event on one line, host and clock on the next.
pub const SHIVIZ_PARSER: &str = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})";

/// Writes the log: synchronization and accesses of shared locations, two lines for each. Clocks are those of
/// happens-before by synchronization, so accesses that race stand side by side. Linear in the events, times
/// the number of threads.
pub fn shiviz(run: &Run) -> String {
    let order = HappensBefore::new(run, &mut Vec::new());
    let told = told(run);
    let mut text = String::new();
    for (row, event) in run.events.iter() {
        let own = told.get(&event.thread.0).map_or(&[][..], Vec::as_slice);
        let Ok(before) = own.binary_search(&row.0) else {
            continue;
        };
        let clock = told.iter().filter_map(|(&thread, rows)| {
            let time = match thread == event.thread.0 {
                true => before + 1,
                false => {
                    let upto = order.known(row, event.thread.0, thread);
                    rows.partition_point(|&theirs| theirs < upto)
                }
            };
            (time > 0).then(|| format!("\"{}\":{time}", host(run, ThreadId(thread))))
        });
        let clock: Vec<String> = clock.collect();
        let words = format!("{}  {}", deed(run, &event), place_of(run, &event));
        let line = words.trim_end().replace(['\n', '\r'], " ");
        text.push_str(&format!(
            "{line}\n{} {{{}}}\n",
            host(run, event.thread),
            clock.join(", ")
        ));
    }
    text
}

/// The rows that the log contains, by thread.
fn told(run: &Run) -> BTreeMap<u16, Vec<u32>> {
    let accesses = Accesses::new(run);
    let mut told: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
    for (EventId(row), event) in run.events.iter() {
        let is_told = match event.kind {
            EventKind::Branch | EventKind::Yield | EventKind::Alloc => false,
            kind if kind.is_access() => accesses.is_shared(event.location),
            _ => true,
        };
        if is_told {
            told.entry(event.thread.0).or_default().push(row);
        }
    }
    told
}

/// A thread's name as one word without quotes.
fn host(run: &Run, thread: ThreadId) -> String {
    let name = facts::thread_name(run, thread);
    name.replace(
        |c: char| c.is_whitespace() || matches!(c, '"' | '\\' | '{' | '}'),
        "-",
    )
}
