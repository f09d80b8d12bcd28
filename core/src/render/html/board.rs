//! Schedules side by side: a lane for each thread, time downwards, an arrow from each step to those of other
//! threads that accessed the same data.
//!
//! All positions are fixed in pixels, so that arrows need no script.

use super::prose;
use crate::{
    beside::Passing,
    callers,
    explanation::{Explanation, Step},
    facts::short,
    render::lanes,
};
use maud::{Markup, html};

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
pub(super) fn boards(explanation: &Explanation, passing: Option<&Passing>) -> Markup {
    let lanes = lanes::lanes(explanation);
    let board = |steps, fails| Board {
        explanation,
        lanes: &lanes,
        steps,
        fails,
    };
    html! {
        div.boards {
            (board(&explanation.steps, true).figure("fails", "The order that fails"))
            @if let Some(Passing { run, steps, .. }) = passing {
                (board(steps, false).figure("passes", &format!("An order that passes, as in {run}")))
            }
        }
    }
}

struct Board<'a> {
    explanation: &'a Explanation,
    lanes: &'a [(String, String)],
    steps: &'a [Step],
    /// `true` for the failing order.
    fails: bool,
}

impl Board<'_> {
    fn figure(&self, class: &str, caption: &str) -> Markup {
        let (width, height) = (LEFT + self.lanes.len() * LANE, TOP + self.steps.len() * ROW);
        html! {
            figure class=(class) {
                figcaption { (caption) }
                div.board style={ "width:" (width) "px;height:" (height) "px" } {
                    svg width=(width) height=(height) aria-hidden="true" {
                        (self.behind(height))
                        (self.arrows())
                    }
                    @for (lane, (_, name)) in self.lanes.iter().enumerate() {
                        div.lane style={ "left:" (LEFT + lane * LANE) "px;top:0;width:" (CARD) "px" } title=(name) {
                            (name)
                        }
                    }
                    @for (row, step) in self.steps.iter().enumerate() { (self.card(row, step)) }
                }
            }
        }
    }

    fn lane(&self, step: &Step) -> usize {
        let mut lanes = self.lanes.iter();
        lanes
            .position(|(thread, _)| *thread == step.thread)
            .unwrap_or(0)
    }

    /// The threads' lines, and the region that was meant as one step.
    fn behind(&self, height: usize) -> Markup {
        html! {
            @for lane in 0..self.lanes.len() {
                path.rail d={ "M" (LEFT + lane * LANE + CARD / 2) " " (TOP) "V" (height) } {}
            }
            @for lane in 0..self.lanes.len() {
                @if let [first, .., last] = self.in_region(lane).as_slice() {
                    rect.region x=(LEFT + lane * LANE - 6) y=(TOP + first * ROW - 6)
                        width=(CARD + 12) height=((last - first) * ROW + TALL + 12) rx="8" {}
                }
            }
        }
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
    fn arrows(&self) -> Markup {
        html! {
            @for (row, step) in self.steps.iter().enumerate() {
                @if let Some((to, other)) = self.meets(row, step) {
                    (arrow((row, self.lane(step)), (to, self.lane(other)), self.is_bad(step, other)))
                }
            }
        }
    }

    /// The next step of another thread on the same data, if it or `step` writes.
    fn meets(&self, row: usize, step: &Step) -> Option<(usize, &Step)> {
        let mut later = self.steps.iter().enumerate().skip(row + 1);
        let met = later.find(|(_, other)| {
            other.thread != step.thread
                && !step.location.is_empty()
                && other.location == step.location
        })?;
        (step.access != "read" || met.1.access != "read").then_some(met)
    }

    fn is_bad(&self, step: &Step, other: &Step) -> bool {
        self.fails && [step, other].into_iter().any(lanes::intrudes)
    }

    fn card(&self, row: usize, step: &Step) -> Markup {
        let intrudes = lanes::intrudes(step);
        let is_last = !intrudes && self.fails && row + 1 == self.steps.len();
        let (x, y) = (LEFT + self.lane(step) * LANE, TOP + row * ROW);
        let mut whole = format!("{}\n{}", step.place.text, step.effect);
        if !step.via.is_empty() {
            whole.push_str(&format!("\n{}", callers::in_words(&step.via)));
        }
        html! {
            div.number style={ "left:0;top:" (y) "px;width:" (LEFT - 8) "px" } { (row + 1) }
            div.step.intrudes[intrudes].last[is_last]
                style={ "left:" (x) "px;top:" (y) "px;width:" (CARD) "px;height:" (TALL) "px" } title=(whole)
            {
                span.place { (short(&step.place)) }
                code { (step.place.text) }
                span.effect { (prose(&step.effect)) }
                @if !step.note.is_empty() { span.note { (prose(&step.note)) } }
            }
        }
    }
}

/// A curved arrow from the side of one card to the side of the other, with a head.
fn arrow(from: (usize, usize), to: (usize, usize), bad: bool) -> Markup {
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
    let (out, into) = (ahead(x1, bend), back(x2, bend));
    let (above, below) = (y2.saturating_sub(5), y2 + 5);
    html! {
        path.arrow.bad[bad] d={ "M" (x1) " " (y1) "C" (out) " " (y1) " " (into) " " (y2) " " (back(x2, 6)) " " (y2) } {}
        path.head.bad[bad] d={ "M" (x2) " " (y2) "L" (back(x2, 8)) " " (above) "V" (below) "Z" } {}
    }
}
