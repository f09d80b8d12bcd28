//! The share of failing continuations along the failing run, as a small plot under its lanes.

use super::escaped;
use crate::{
    diagnosis::CurvePoint, explanation::Explanation, facts::short, render::share_in_words,
};

/// Size of the plot, and its margins, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 90.0;
const ROOM: f64 = 22.0;

/// The plot; empty when nothing was measured.
pub(super) fn curve(explanation: &Explanation) -> String {
    let points = explanation.curve.as_slice();
    let Some(last) = points.last().filter(|_| points.len() > 1) else {
        return String::new();
    };
    let place = |point: &CurvePoint| {
        let along = f64::from(point.kept) / f64::from(last.kept.max(1));
        let x = ROOM + along * (WIDTH - 2.0 * ROOM);
        (
            x,
            ROOM + (1.0 - point.share.value()) * (HEIGHT - 2.0 * ROOM),
        )
    };
    let line: Vec<String> = points
        .iter()
        .map(place)
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let dots: String = points
        .iter()
        .map(|point| dot(point, place(point)))
        .collect();
    format!(
        "<figure class=\"curve\"><figcaption>Continuations that fail, along the failing run</figcaption>\n\
         <svg width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"{}\">\n\
         <polyline class=\"arrow\" points=\"{}\"/>\n{dots}</svg></figure>\n",
        escaped(&decided(explanation)),
        line.join(" ")
    )
}

/// One point, with its numbers as a tooltip.
fn dot(point: &CurvePoint, (x, y): (f64, f64)) -> String {
    let share = point.share;
    let class = if share.is_all() { "head bad" } else { "head" };
    format!(
        "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"><title>{} choices kept: {} of {} fail</title></circle>\n",
        point.kept,
        share_in_words(share),
        share.of
    )
}

fn decided(explanation: &Explanation) -> String {
    let steps = explanation.decisive.iter();
    let steps: Vec<String> = steps
        .map(|step| format!("{} of {}", short(&step.place), step.thread))
        .collect();
    match steps.is_empty() {
        true => "No step alone decides".to_owned(),
        false => format!("Decided at {}", steps.join(" and ")),
    }
}
