//! The projection as a picture: two columns with a lane for every thread, time downwards, data flows as
//! curves.

use super::{deed, facts, headline};
use crate::dsp::model::{Dsp, Flow, ThreadOperation};
use std::collections::BTreeSet;

const LANE: usize = 250;
const BOX: usize = 230;
const ROW: usize = 84;
const HEIGHT: usize = 60;
const TOP: usize = 84;
const GAP: usize = 60;
/// Width of a box in characters.
const FITS: usize = 34;
/// Width of a flow's text.
const FLOW: usize = 120;

struct SvgColumn<'d> {
    dsp: &'d Dsp,
    failing: bool,
    left: usize,
    threads: &'d [String],
}

/// A standalone picture, for browsers and editors.
pub fn svg(dsp: &Dsp) -> String {
    let threads: BTreeSet<&String> = dsp.operations.iter().map(|op| &op.thread).collect();
    let threads: Vec<String> = threads.into_iter().cloned().collect();
    let width = threads.len() * LANE;
    let rows = dsp.failing.len().max(dsp.alternate.len());
    let (total, height) = (2 * width + GAP + 40, TOP + rows * ROW + 50);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total}\" height=\"{height}\" viewBox=\"0 0 {total} {height}\" font-family=\"monospace\" font-size=\"11\">\n"
    );
    text.push_str(STYLE);
    for (failing, left) in [(true, 20), (false, 20 + width + GAP)] {
        let column = SvgColumn {
            dsp,
            failing,
            left,
            threads: &threads,
        };
        text.push_str(&column.draw(height));
    }
    if let Some(sentence) = headline(dsp) {
        text.push_str(&label(20, height - 16, "s", &sentence));
    }
    text.push_str("</svg>\n");
    text
}

const STYLE: &str = "<style>
.t{font:bold 14px sans-serif;fill:#1c1b1f}.h{font:bold 12px sans-serif;fill:#49454f}.s{font:13px sans-serif;fill:#1c1b1f}
.d{fill:#49454f}.l{stroke:#cac4d0}.b{fill:#fff;stroke:#79747e}.m{fill:#fff4c2;stroke:#8a6d00}.x{fill:#f9dedc;stroke:#b3261e}
.f{fill:none;stroke:#b3261e;stroke-width:2}.a{fill:none;stroke:#1b7f3b;stroke-width:2}.fv{fill:#b3261e}.av{fill:#1b7f3b}
</style>
<defs>
<marker id=\"f\" markerUnits=\"userSpaceOnUse\" markerWidth=\"10\" markerHeight=\"10\" refX=\"7\" refY=\"4\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#b3261e\"/></marker>
<marker id=\"a\" markerUnits=\"userSpaceOnUse\" markerWidth=\"10\" markerHeight=\"10\" refX=\"7\" refY=\"4\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#1b7f3b\"/></marker>
</defs>
<rect width=\"100%\" height=\"100%\" fill=\"#fffbfe\"/>
";

impl SvgColumn<'_> {
    fn order(&self) -> &[u32] {
        match self.failing {
            true => &self.dsp.failing,
            false => &self.dsp.alternate,
        }
    }

    fn draw(&self, height: usize) -> String {
        let title = match self.failing {
            true => "this order fails",
            false => "this order does not",
        };
        let mut text = label(self.left, 24, "t", title);
        for (lane, thread) in self.threads.iter().enumerate() {
            let x = self.left + lane * LANE;
            let of = |op: &&ThreadOperation| op.thread == *thread;
            let who = self.dsp.operations.iter().find(of);
            text.push_str(&label(x, 52, "h", who.map_or(thread, |op| &op.who)));
            let middle = x + BOX / 2;
            text.push_str(&format!(
                "<line class=\"l\" x1=\"{middle}\" y1=\"60\" x2=\"{middle}\" y2=\"{}\"/>\n",
                height - 40
            ));
        }
        for (row, &at) in self.order().iter().enumerate() {
            if let Some(operation) = self.dsp.operations.get(at as usize) {
                text.push_str(&self.step(row, at, operation));
            }
        }
        let flows = match self.failing {
            true => &self.dsp.flows.only_failing,
            false => &self.dsp.flows.only_alternate,
        };
        for flow in flows {
            text.push_str(&self.flow(flow));
        }
        text
    }

    /// Upper left corner of an operation's box.
    fn corner(&self, at: u32) -> Option<(usize, usize)> {
        let row = self.order().iter().position(|&other| other == at)?;
        let operation = self.dsp.operations.get(at as usize)?;
        let lane = self
            .threads
            .iter()
            .position(|name| *name == operation.thread)?;
        Some((self.left + lane * LANE, TOP + row * ROW))
    }

    fn step(&self, row: usize, at: u32, operation: &ThreadOperation) -> String {
        let lane = self
            .threads
            .iter()
            .position(|name| *name == operation.thread);
        let (x, y) = (self.left + lane.unwrap_or(0) * LANE, TOP + row * ROW);
        let class = match (
            self.failing && self.dsp.failure == Some(at),
            operation.is_moved,
        ) {
            (true, _) => "x",
            (false, true) => "m",
            _ => "b",
        };
        let mut text = format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{BOX}\" height=\"{HEIGHT}\" rx=\"4\"/>\n"
        );
        let place = format!("{}  {}", at + 1, facts::short(&operation.place));
        let lines = [
            ("d", place),
            ("", operation.place.text.clone()),
            ("", deed(operation, self.failing)),
        ];
        for (i, (class, line)) in lines.iter().enumerate() {
            text.push_str(&label(x + 8, y + 18 + i * 16, class, &fitting(line)));
        }
        text
    }

    /// An arrow between the facing edges; to the right edge in one lane.
    fn flow(&self, flow: &Flow) -> String {
        let class = if self.failing { "f" } else { "a" };
        let to = flow.to.and_then(|at| self.corner(at));
        let from = flow.from.and_then(|at| self.corner(at));
        let value = match &flow.value {
            Some(value) => format!("{} = {value}", flow.variable),
            None => flow.variable.clone(),
        };
        let (path, (x, y)) = match (from, to) {
            (Some(from), Some(to)) => between(from, to),
            (None, Some((x, y))) => {
                let x = x + BOX - 24;
                (format!("M{x},{} L{x},{}", y - 22, y - 1), (x - 84, y - 8))
            }
            (Some((x, y)), None) => {
                let (x, y) = (x + BOX - 24, y + HEIGHT);
                (format!("M{x},{y} L{x},{}", y + 20), (x - 84, y + 14))
            }
            (None, None) => return String::new(),
        };
        let mut text =
            format!("<path class=\"{class}\" d=\"{path}\" marker-end=\"url(#{class})\"/>\n");
        text.push_str(&label(x, y, &format!("{class}v"), &fitting(&value)));
        text
    }
}

/// The curve, and the position of its text. The row of the reader has no other box, so there is room beside
/// it.
fn between(from: (usize, usize), to: (usize, usize)) -> (String, (usize, usize)) {
    let (y1, y2) = (from.1 + HEIGHT / 2, to.1 + HEIGHT / 2);
    if to.0 > from.0 {
        let (x1, x2) = (from.0 + BOX, to.0);
        let path = format!("M{x1},{y1} C{},{y1} {},{y2} {x2},{y2}", x1 + 50, x2 - 70);
        return (path, (x2.saturating_sub(FLOW), y2 + 16));
    }
    let x2 = to.0 + BOX;
    let (x1, bend) = match to.0 == from.0 {
        true => (from.0 + BOX, x2 + 40),
        false => (from.0, from.0.saturating_sub(50)),
    };
    let path = format!("M{x1},{y1} C{bend},{y1} {},{y2} {x2},{y2}", x2 + 40);
    (path, (x2 + 16, y2 + 16))
}

fn fitting(line: &str) -> String {
    match line.chars().count() > FITS {
        false => line.to_owned(),
        true => line.chars().take(FITS - 3).chain("...".chars()).collect(),
    }
}

fn label(x: usize, y: usize, class: &str, text: &str) -> String {
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\" xml:space=\"preserve\">{escaped}</text>\n")
}
