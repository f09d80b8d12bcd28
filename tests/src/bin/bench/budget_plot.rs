//! A picture of how the share of right and of confirmed explanations grows with the budget.

use std::fmt::Write;

/// The shares within one budget.
pub struct PlotPoint {
    /// The budget.
    pub seconds: f64,
    /// Share of right explanations, from 0 to 1.
    pub right: f64,
    /// Share of confirmed explanations, from 0 to 1.
    pub confirmed: f64,
}

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 180.0;
/// Room around the axes, for their labels.
const ROOM: f64 = 48.0;

/// The shares as SVG, with a logarithmic scale of seconds.
pub fn plot(points: &[PlotPoint]) -> String {
    let (width, height) = (WIDTH + 2.0 * ROOM, HEIGHT + 2.0 * ROOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<g transform=\"translate({ROOM},{ROOM})\">\n\
         <path d=\"M0,0 V{HEIGHT} H{WIDTH}\" fill=\"none\" stroke=\"gray\"/>\n"
    );
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<text x=\"-6\" y=\"{:.1}\" text-anchor=\"end\">{:.0} %</text>",
            y(share) + 4.0,
            100.0 * share
        );
    }
    for point in points {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x(points, point),
            HEIGHT + 16.0,
            point.seconds
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">--run-budget in seconds</text>\n{}\n{}\n</g>\n</svg>",
        WIDTH / 2.0,
        HEIGHT + 36.0,
        line(points, |point| point.right, ("right", "none", -26.0)),
        line(points, |point| point.confirmed, ("confirmed", "5 4", -10.0)),
    );
    svg
}

/// A line with its legend: its name, the pattern of its dashes, and the height of the legend.
fn line(
    points: &[PlotPoint],
    share: fn(&PlotPoint) -> f64,
    (name, dashes, at): (&str, &str, f64),
) -> String {
    let corners: Vec<String> = points
        .iter()
        .map(|point| format!("{:.1},{:.1}", x(points, point), y(share(point))))
        .collect();
    let style = format!(
        "fill=\"none\" stroke=\"black\" stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\""
    );
    format!(
        "<polyline points=\"{}\" {style}/>\n<path d=\"M0,{at} h30\" {style}/><text x=\"36\" y=\"{:.1}\">{name}</text>",
        corners.join(" "),
        at + 4.0
    )
}

fn x(points: &[PlotPoint], point: &PlotPoint) -> f64 {
    let ends = [points.first(), points.last()].map(|end| end.map_or(1.0, |end| end.seconds.ln()));
    let [first, last] = ends;
    (point.seconds.ln() - first) / (last - first).max(f64::EPSILON) * WIDTH
}

fn y(share: f64) -> f64 {
    HEIGHT * (1.0 - share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_go_from_left_to_right() {
        let point = |seconds, right| PlotPoint {
            seconds,
            right,
            confirmed: 0.0,
        };
        let svg = plot(&[point(1.0, 0.5), point(100.0, 1.0)]);
        assert!(svg.contains("points=\"0.0,90.0 420.0,0.0\""), "{svg}");
        assert!(svg.contains("points=\"0.0,180.0 420.0,180.0\""), "{svg}");
    }
}
