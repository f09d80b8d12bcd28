//! The projection as Graphviz: a cluster for each order, time downwards, data flows as arrows.

use super::{deed, facts, headline};
use crate::dsp::model::{Dsp, Flow, ThreadOperation};

/// A `digraph`, for `dot`.
pub fn dot(dsp: &Dsp) -> String {
    let mut text = String::from(
        "digraph dsp {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=10];\n",
    );
    if let Some(sentence) = headline(dsp) {
        text.push_str(&format!("  label={};\n  labelloc=b;\n", quoted(&sentence)));
    }
    for failing in [true, false] {
        cluster(dsp, failing, &mut text);
    }
    text.push_str("}\n");
    text
}

fn cluster(dsp: &Dsp, failing: bool, text: &mut String) {
    let (name, title, order, flows, colour) = match failing {
        true => (
            "f",
            "this order fails",
            &dsp.failing,
            &dsp.flows.only_failing,
            "#b3261e",
        ),
        false => (
            "a",
            "this order does not",
            &dsp.alternate,
            &dsp.flows.only_alternate,
            "#1b7f3b",
        ),
    };
    text.push_str(&format!(
        "  subgraph cluster_{name} {{\n    label={};\n",
        quoted(title)
    ));
    for &at in order {
        if let Some(operation) = dsp.operations.get(at as usize) {
            let fails = failing && dsp.failure == Some(at);
            text.push_str(&node(name, at, operation, failing, fails));
        }
    }
    for pair in order.windows(2) {
        if let [first, second] = pair {
            text.push_str(&format!(
                "    {name}{first} -> {name}{second} [style=dotted, arrowhead=none, weight=10];\n"
            ));
        }
    }
    for (at, flow) in flows.iter().enumerate() {
        text.push_str(&edge(name, at, flow, colour));
    }
    text.push_str("  }\n");
}

fn node(name: &str, at: u32, operation: &ThreadOperation, failing: bool, fails: bool) -> String {
    let label = format!(
        "{}. {}  {}\n{}\n{}",
        at + 1,
        operation.who,
        facts::short(&operation.place),
        operation.place.text,
        deed(operation, failing)
    );
    let style = match (fails, operation.is_moved) {
        (true, _) => ", style=filled, fillcolor=\"#f9dedc\"",
        (false, true) => ", style=filled, fillcolor=\"#fff4c2\"",
        _ => "",
    };
    format!("    {name}{at} [label={}{style}];\n", quoted(&label))
}

fn edge(name: &str, number: usize, flow: &Flow, colour: &str) -> String {
    let mut text = String::new();
    let label = match &flow.value {
        Some(value) => format!("{} = {value}", flow.variable),
        None => flow.variable.clone(),
    };
    let mut end = |end: Option<u32>, what: &str| match end {
        Some(at) => format!("{name}{at}"),
        None => {
            text.push_str(&format!(
                "    {name}_{what}{number} [label={what}, shape=plaintext];\n"
            ));
            format!("{name}_{what}{number}")
        }
    };
    let (from, to) = (end(flow.from, "before"), end(flow.to, "after"));
    text.push_str(&format!(
        "    {from} -> {to} [color=\"{colour}\", fontcolor=\"{colour}\", label={}, constraint=false];\n",
        quoted(&label)
    ));
    text
}

/// Quotes a string of the language.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\l"))
}
