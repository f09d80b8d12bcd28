//! Schedules side by side: a lane for each thread, time downwards, an arrow from each step to those of other
//! threads that accessed the same data.
//!
//! All positions are fixed in pixels, so that arrows need no script.

use super::{escaped, prose};
use crate::{
    beside::Passing,
    callers,
    explanation::{Explanation, Step},
    facts::short,
    render::lanes,
};

/// Width of a lane and of its cards.
const LANE: usize = 204;
const CARD: usize = 184;
/// Height of a step, and of its card.
const ROW: usize = 110;
const TALL: usize = 90;
/// Margin for the numbers on the left and the names above.
const LEFT: usize = 26;
const TOP: usize = 28;

/// The failing order and, if there is one, that of a passing run.
pub(super) fn boards(explanation: &Explanation, passing: Option<&Passing>) -> String {
    let lanes = lanes::lanes(explanation);
    let board = |class, caption: String, steps: &[Step], fails| {
        Board {
            explanation,
            lanes: &lanes,
            steps,
            fails,
        }
        .figure(class, &caption)
    };
    let fails = "The order that fails".to_owned();
    let mut text = format!(
        "<div class=\"boards\">\n{}",
        board("fails", fails, &explanation.steps, true)
    );
    if let Some(Passing { run, steps, .. }) = passing {
        let caption = format!("An order that passes, as in {run}");
        text.push_str(&board("passes", caption, steps, false));
    }
    text.push_str("</div>\n");
    text
}

struct Board<'a> {
    explanation: &'a Explanation,
    lanes: &'a [(String, String)],
    steps: &'a [Step],
    /// `true` for the failing order.
    fails: bool,
}

impl Board<'_> {
    fn figure(&self, class: &str, caption: &str) -> String {
        let (width, height) = (LEFT + self.lanes.len() * LANE, TOP + self.steps.len() * ROW);
        let mut text = format!(
            "<figure class=\"{class}\">\n<figcaption>{}</figcaption>\n<div class=\"board\" style=\"width:{width}px;height:{height}px\">\n<svg width=\"{width}\" height=\"{height}\" aria-hidden=\"true\">\n",
            escaped(caption)
        );
        text.push_str(&self.behind(height));
        text.push_str(&self.arrows());
        text.push_str("</svg>\n");
        for (lane, (_, name)) in self.lanes.iter().enumerate() {
            text.push_str(&format!(
                "<div class=\"lane\" style=\"left:{}px;top:0;width:{CARD}px\" title=\"{}\">{}</div>\n",
                LEFT + lane * LANE,
                escaped(name),
                escaped(name)
            ));
        }
        for (row, step) in self.steps.iter().enumerate() {
            text.push_str(&self.card(row, step));
        }
        text.push_str("</div>\n</figure>\n");
        text
    }

    fn lane(&self, step: &Step) -> usize {
        let mut lanes = self.lanes.iter();
        lanes
            .position(|(thread, _)| *thread == step.thread)
            .unwrap_or(0)
    }

    /// The threads' lines, and the region that was meant as one step.
    fn behind(&self, height: usize) -> String {
        let rails = (0..self.lanes.len()).map(|lane| {
            let x = LEFT + lane * LANE + CARD / 2;
            format!("<path class=\"rail\" d=\"M{x} {TOP}V{height}\"/>\n")
        });
        let mut text: String = rails.collect();
        for lane in 0..self.lanes.len() {
            let rows: Vec<usize> = self.in_region(lane);
            if let [first, .., last] = rows.as_slice() {
                let (x, y) = (LEFT + lane * LANE - 6, TOP + first * ROW - 6);
                let (width, height) = (CARD + 12, (last - first) * ROW + TALL + 12);
                text.push_str(&format!(
                    "<rect class=\"region\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n"
                ));
            }
        }
        text
    }

    /// Rows of a lane's steps that belong to the region.
    fn in_region(&self, lane: usize) -> Vec<usize> {
        let Some(region) = &self.explanation.region else {
            return Vec::new();
        };
        let inside = |step: &Step| {
            self.lane(step) == lane
                && step.place.file == region.file
                && (region.first..=region.last).contains(&step.place.line)
        };
        let rows = self.steps.iter().enumerate();
        rows.filter(|(_, step)| inside(step))
            .map(|(row, _)| row)
            .collect()
    }

    /// Arrows from each step to the next one of another thread on the same data, if one of them writes.
    fn arrows(&self) -> String {
        let mut text = String::new();
        for (row, step) in self.steps.iter().enumerate() {
            let later = self.steps.iter().enumerate().skip(row + 1);
            let mut meets = later.filter(|(_, other)| {
                other.thread != step.thread
                    && !step.location.is_empty()
                    && other.location == step.location
            });
            if let Some((to, other)) = meets.next()
                && (step.access != "read" || other.access != "read")
            {
                let bad = self.fails && [step, other].into_iter().any(lanes::intrudes);
                text.push_str(&arrow((row, self.lane(step)), (to, self.lane(other)), bad));
            }
        }
        text
    }

    fn card(&self, row: usize, step: &Step) -> String {
        let class = match (
            lanes::intrudes(step),
            self.fails && row + 1 == self.steps.len(),
        ) {
            (true, _) => " intrudes",
            (_, true) => " last",
            _ => "",
        };
        let (x, y) = (LEFT + self.lane(step) * LANE, TOP + row * ROW);
        let note = match step.note.is_empty() {
            true => String::new(),
            false => format!("<span class=\"note\">{}</span>", prose(&step.note)),
        };
        let mut whole = format!("{}\n{}", step.place.text, step.effect);
        if !step.via.is_empty() {
            whole.push_str(&format!("\n{}", callers::in_words(&step.via)));
        }
        format!(
            "<div class=\"number\" style=\"left:0;top:{y}px;width:{}px\">{}</div>\n<div class=\"step{class}\" style=\"left:{x}px;top:{y}px;width:{CARD}px;height:{TALL}px\" title=\"{}\"><span class=\"place\">{}</span><code>{}</code><span class=\"effect\">{}</span>{note}</div>\n",
            LEFT - 8,
            row + 1,
            escaped(&whole),
            escaped(&short(&step.place)),
            escaped(&step.place.text),
            prose(&step.effect)
        )
    }
}

/// A curved arrow from the side of one card to the side of the other, with a head.
fn arrow(from: (usize, usize), to: (usize, usize), bad: bool) -> String {
    let class = if bad { " bad" } else { "" };
    let right = to.1 > from.1;
    let side =
        |lane: usize, outgoing: bool| LEFT + lane * LANE + if right == outgoing { CARD } else { 0 };
    let (x1, y1) = (side(from.1, true), TOP + from.0 * ROW + TALL * 2 / 3);
    let (x2, y2) = (side(to.1, false), TOP + to.0 * ROW + TALL / 3);
    let ahead = |x: usize, by: usize| if right { x + by } else { x.saturating_sub(by) };
    let back = |x: usize, by: usize| if right { x.saturating_sub(by) } else { x + by };
    // Between neighbours there is only the gap to bend in.
    let bend = match from.1.abs_diff(to.1) {
        1 => (LANE - CARD) * 2 / 3,
        _ => LANE / 3,
    };
    format!(
        "<path class=\"arrow{class}\" d=\"M{x1} {y1}C{} {y1} {} {y2} {} {y2}\"/>\n<path class=\"head{class}\" d=\"M{x2} {y2}L{} {}V{}Z\"/>\n",
        ahead(x1, bend),
        back(x2, bend),
        back(x2, 6),
        back(x2, 8),
        y2.saturating_sub(5),
        y2 + 5
    )
}
