//! Events at a place of one run, in words.

mod around;
mod subjects;
#[cfg(test)]
mod tests;

use crate::{
    callers::Callers,
    facts::{self, ToldValue, ordinal, short},
    guarded,
    orders::Orders,
};
use std::collections::BTreeSet;
use subjects::{Asked, LineSubject};
use unsnarl_trace::{EventId, EventKind, OrderMode, Run, SiteRow};

/// Text for a place in an editor: plain sentences with code in backticks, the most important first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hover {
    /// The events there, their values and order: [`MOST_LINES`] at most.
    pub summary: Vec<String>,
    /// More, for those who go on reading.
    pub details: Vec<String>,
}

/// A place in a source.
#[derive(Clone, Copy, Debug)]
pub struct HoverPlace<'a> {
    /// Any path that ends in the same file name part as the recorded one.
    pub file: &'a str,
    /// Line, from 1.
    pub line: u32,
    /// The word that is asked about; its data come first.
    pub word: Option<&'a str>,
}

/// Bound on the lines of a summary.
pub const MOST_LINES: usize = 5;

/// Bound on what is listed in one sentence.
const MOST_NAMED: usize = 3;

/// Describes the events of a line. Of several visits those of `steps` are told, if they are among them. None when nothing was
/// recorded there, or nothing that has a name. Linear in the run.
pub fn hover(
    run: &Run,
    orders: &Orders,
    place: &HoverPlace<'_>,
    steps: &[EventId],
) -> Option<Hover> {
    let rows = rows_at(run, place);
    let word = place.word;
    let subjects = subjects::of(run, orders, &rows, Asked { word, steps });
    let (first, others) = subjects.split_first()?;
    let mut told = vec![subjects::what_ran(run, orders, first)];
    told.extend(around::sentences(run, orders, first.row(steps)?));
    told.extend(also_here(run, orders, others));
    let details = told.split_off(told.len().min(MOST_LINES));
    let more = [
        first
            .location(run)
            .and_then(|at| guarded::in_words(run, at)),
        called(run, &rows),
        counted(run, &rows),
        inexact(run),
    ];
    Some(Hover {
        summary: told,
        details: details
            .into_iter()
            .chain(more.into_iter().flatten())
            .collect(),
    })
}

/// The other data and locks of the line: in full if it is one, by name if they are many.
fn also_here(run: &Run, orders: &Orders, others: &[LineSubject]) -> Option<String> {
    let named: Vec<&LineSubject> = others.iter().filter(|one| one.is_named()).collect();
    if let [one] = named.as_slice() {
        return Some(subjects::what_ran(run, orders, one));
    }
    let names: Vec<String> = named.iter().map(|one| format!("`{}`", one.name)).collect();
    (!names.is_empty()).then(|| format!("Also here: {}.", listed(&names)))
}

/// Caveat for runs whose order and values are uncertain.
fn inexact(run: &Run) -> Option<String> {
    let why = match run.meta.mode {
        OrderMode::Imported => "The trace is from another tool",
        _ => "Threads ran freely in this run",
    };
    (!run.meta.exact).then(|| format!("{why}: order and values may be inexact."))
}

/// `Called from producer at queue.c:41 and consumer at queue.c:60.` when there are several callers.
fn called(run: &Run, rows: &[EventId]) -> Option<String> {
    let callers = Callers::of(run);
    let direct = rows
        .iter()
        .filter_map(|row| callers.via(*row).into_iter().next());
    let places: BTreeSet<String> = direct
        .map(|place| format!("{} at {}", place.function, short(&place)))
        .collect();
    let places: Vec<String> = places.into_iter().collect();
    (places.len() > 1).then(|| format!("Called from {}.", listed(&places)))
}

/// `a, b and 3 more`.
fn listed(all: &[String]) -> String {
    let (named, more) = all.split_at(all.len().min(MOST_NAMED));
    match (named, more.len()) {
        ([first @ .., last], 0) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        (named, 0) => named.join(", "),
        (named, more) => format!("{} and {more} more", named.join(", ")),
    }
}

/// The number of events, if a line has more than one visit.
fn counted(run: &Run, rows: &[EventId]) -> Option<String> {
    let (first, last) = (*rows.first()?, *rows.last()?);
    (rows.len() > MOST_NAMED).then(|| {
        format!(
            "{} events here in this run, from the {} to the {} of all {}.",
            rows.len(),
            nth(first),
            nth(last),
            run.events.len()
        )
    })
}

/// Ordinal of a row in the run: `1st`, `2nd`.
fn nth(row: EventId) -> String {
    ordinal(row.0 + 1)
}

/// The events of the line, in order.
fn rows_at(run: &Run, place: &HoverPlace<'_>) -> Vec<EventId> {
    let is_here = |site: &SiteRow| {
        site.line == place.line
            && site.line != 0
            && (site.file == place.file || same_tail(&site.file, place.file))
    };
    let sites: Vec<bool> = run.meta.sites.iter().map(is_here).collect();
    if !sites.contains(&true) {
        return Vec::new();
    }
    let all = run.events.sites().iter().enumerate();
    let here = all.filter(|(_, site)| sites.get(**site as usize).copied().unwrap_or(false));
    here.map(|(row, _)| EventId(row as u32))
        .filter(|row| is_told(run.events.kind(*row)))
        .collect()
}

/// Returns whether two paths have the same tail, as paths of one file seen from different folders do.
fn same_tail(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    !short.is_empty()
        && long.ends_with(short)
        && long
            .get(..long.len() - short.len())
            .is_some_and(|rest| rest.ends_with('/'))
}

fn is_told(kind: EventKind) -> bool {
    use EventKind::{Begin, Branch, End, Yield};
    !matches!(kind, Begin | End | Branch | Yield)
}

/// A value in words, as far as it was recorded.
fn value_of(run: &Run, orders: &Orders, row: EventId) -> Option<ToldValue> {
    let event = run.events.event(row);
    let pointer = facts::holds_pointers(run, orders.accesses().of(event.location));
    facts::value_at(run, row, pointer)
}
