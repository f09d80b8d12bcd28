//! Threads of a run and the links between them, for Graphviz.

use super::{EventLink, LinkKind, deed, links, place_of};
use crate::{
    facts,
    render::{lanes::path, quoted},
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, EventKind, Run};

/// A graph, with the part of the run that it covers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunGraph {
    /// A `digraph`, for `dot`.
    pub text: String,
    /// Number of arrows in it: the last ones of the run.
    pub shown: usize,
    /// Number of arrows of the run.
    pub of: usize,
}

/// Draws the last `most` links between threads, with their events and the outcome of the run: a column for
/// each thread, time downwards.
pub fn graph(run: &Run, most: usize) -> RunGraph {
    let all = links(run);
    let shown = all.get(all.len().saturating_sub(most)..).unwrap_or(&[]);
    let mut text = String::from(
        "digraph run {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=9];\n",
    );
    if shown.len() < all.len() {
        let cut = format!(
            "the last {} of {} arrows between threads",
            shown.len(),
            all.len()
        );
        text.push_str(&format!("  label={};\n  labelloc=t;\n", quoted(&cut)));
    }
    for (number, (name, rows)) in columns(run, shown).iter().enumerate() {
        column(run, number, name, rows, &mut text);
    }
    for link in shown {
        text.push_str(&arrow(link));
    }
    text.push_str("}\n");
    RunGraph {
        text,
        shown: shown.len(),
        of: all.len(),
    }
}

/// The linked events, and those at which threads failed or blocked at the end, by thread in the order of the
/// fork tree.
fn columns(run: &Run, links: &[EventLink]) -> Vec<(String, BTreeSet<EventId>)> {
    let ends = run.events.kinds().iter().enumerate();
    let ends = ends
        .filter(|(_, kind)| [EventKind::Failure as u8, EventKind::Blocked as u8].contains(kind))
        .map(|(row, _)| EventId(row as u32));
    let joined = links.iter().flat_map(|link| [link.from, link.to]);
    let mut columns: BTreeMap<u16, BTreeSet<EventId>> = BTreeMap::new();
    for row in joined.chain(ends) {
        let thread = run.events.thread(row);
        columns.entry(thread.0).or_default().insert(row);
    }
    let mut columns: Vec<_> = columns.into_iter().collect();
    let name = |thread: u16| facts::thread_name(run, unsnarl_trace::ThreadId(thread));
    columns.sort_by_key(|(thread, _)| path(&name(*thread)));
    let in_words = |thread| facts::thread_in_words(run, unsnarl_trace::ThreadId(thread));
    let columns = columns.into_iter();
    columns
        .map(|(thread, rows)| (in_words(thread), rows))
        .collect()
}

fn column(run: &Run, number: usize, name: &str, rows: &BTreeSet<EventId>, text: &mut String) {
    text.push_str(&format!(
        "  subgraph cluster_{number} {{\n    label={};\n",
        quoted(name)
    ));
    let mut before: Option<EventId> = None;
    for &row in rows {
        let event = run.events.event(row);
        let place = place_of(run, &event);
        let label = format!("{}  {place}", deed(run, &event));
        let style = match event.kind {
            EventKind::Failure | EventKind::Blocked => ", style=filled, fillcolor=\"#f6cfcb\"",
            _ => "",
        };
        text.push_str(&format!(
            "    e{} [label={}{style}];\n",
            row.0,
            quoted(label.trim_end())
        ));
        if let Some(before) = before.replace(row) {
            text.push_str(&format!(
                "    e{} -> e{} [style=dotted, arrowhead=none, weight=10];\n",
                before.0, row.0
            ));
        }
    }
    text.push_str("  }\n");
}

fn arrow(link: &EventLink) -> String {
    let (label, colour) = match link.kind {
        LinkKind::Value => ("value", "#3455a4"),
        LinkKind::Overwrites => ("overwrites", "#b3261e"),
        LinkKind::Order => ("", "#62626a"),
    };
    format!(
        "  e{} -> e{} [label=\"{label}\", color=\"{colour}\", fontcolor=\"{colour}\"];\n",
        link.from.0, link.to.0
    )
}
