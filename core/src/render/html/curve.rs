//! The share of failing continuations along the failing run, as a small plot under its lanes.

use crate::{
    diagnosis::CurvePoint, explanation::Explanation, facts::short, render::share_in_words,
};
use maud::{Markup, html};

/// Size of the plot, and its margins, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 90.0;
const ROOM: f64 = 22.0;

/// The plot; empty when nothing was measured.
pub(super) fn curve(explanation: &Explanation) -> Markup {
    let points = explanation.curve.as_slice();
    let Some(last) = points.last().filter(|_| points.len() > 1) else {
        return Markup::default();
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
    html! {
        figure.curve {
            figcaption { "Continuations that fail, along the failing run" }
            svg width=(WIDTH) height=(HEIGHT) role="img" aria-label=(decided(explanation)) {
                polyline.arrow points=(line.join(" ")) {}
                @for point in points { (dot(point, place(point))) }
            }
        }
    }
}

/// One point, with its numbers as a tooltip.
fn dot(point: &CurvePoint, (x, y): (f64, f64)) -> Markup {
    let share = point.share;
    let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
    html! {
        circle.head.bad[share.is_all()] cx=(x) cy=(y) r="3.5" {
            title { (point.kept) " choices kept: " (share_in_words(share)) " of " (share.of) " fail" }
        }
    }
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
