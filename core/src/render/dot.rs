//! Explanations as Graphviz: a cluster for each, its steps downwards, their connections as arrows.

use super::lanes;
use crate::{
    explanation::{EdgeKind, Explanation, SiteMark},
    facts::short,
};

/// A `digraph`, for `dot`.
pub fn dot(explanations: &[&Explanation]) -> String {
    let mut text = String::from(
        "digraph explanations {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=10];\n",
    );
    for (number, explanation) in explanations.iter().enumerate() {
        cluster(number, explanation, &mut text);
    }
    text.push_str("}\n");
    text
}

fn cluster(number: usize, explanation: &Explanation, text: &mut String) {
    text.push_str(&format!(
        "  subgraph cluster_{number} {{\n    label={};\n",
        quoted(&explanation.headline)
    ));
    for (at, step) in explanation.steps.iter().enumerate() {
        let label = format!(
            "{}. {}  {}\n{}\n{}",
            at + 1,
            step.thread,
            short(&step.place),
            step.place.text,
            step.effect
        );
        let style = match lanes::intrudes(step) {
            true => ", style=filled, fillcolor=\"#fff4c2\"",
            false => "",
        };
        text.push_str(&format!(
            "    e{number}s{at} [label={}{style}];\n",
            quoted(&label)
        ));
    }
    for at in 1..explanation.steps.len() {
        text.push_str(&format!(
            "    e{number}s{} -> e{number}s{at} [style=dotted, arrowhead=none, weight=10];\n",
            at - 1
        ));
    }
    for edge in &explanation.edges {
        let ends = [edge.from, edge.to].map(|end| step_of(explanation, end));
        if let [Some(from), Some(to)] = ends {
            let (label, colour) = words(edge.kind);
            text.push_str(&format!(
                "    e{number}s{from} -> e{number}s{to} [label=\"{label}\", color=\"{colour}\", fontcolor=\"{colour}\", constraint=false];\n"
            ));
        }
    }
    text.push_str("  }\n");
}

/// Index of the step at a marked site; sites that are no steps have no node.
fn step_of(explanation: &Explanation, site: u32) -> Option<u32> {
    let site: &SiteMark = explanation.sites.get(site as usize)?;
    site.step?.checked_sub(1)
}

fn words(kind: EdgeKind) -> (&'static str, &'static str) {
    match kind {
        EdgeKind::Failing => ("in this run", "#b3261e"),
        EdgeKind::Passing => ("in passing runs", "#1b7f3b"),
        EdgeKind::Flow => ("value", "#3455a4"),
        EdgeKind::WaitsFor => ("waits for", "#b3261e"),
    }
}

/// Quotes a string of the language; lines are left-aligned.
pub(crate) fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\l"))
}
