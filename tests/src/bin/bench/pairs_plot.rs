//! Figure 8 of LOCON as a picture: the number of reports by the number of passing runs, a panel for each bug.

use std::fmt::Write;

/// One bug.
pub struct Panel {
    /// Its title.
    pub title: String,
    /// Reports with 1, 2, ... passing runs.
    pub counts: Vec<usize>,
}

const COLUMNS: usize = 4;
const WIDTH: usize = 220;
const HEIGHT: usize = 120;
const LEFT: usize = 34;
const TOP: usize = 24;
/// Room around the lines of a panel.
const ROOM: usize = 44;

/// The panels as SVG, with a logarithmic scale up to `most` passing runs: changes happen with the first few.
pub fn plot(panels: &[Panel], most: usize) -> String {
    let rows = panels.len().div_ceil(COLUMNS);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        COLUMNS * (WIDTH + ROOM),
        rows * (HEIGHT + ROOM + TOP)
    );
    for (number, panel) in panels.iter().enumerate() {
        let x = number % COLUMNS * (WIDTH + ROOM) + LEFT;
        let y = number / COLUMNS * (HEIGHT + ROOM + TOP) + TOP;
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<g transform=\"translate({x},{y})\">{}</g>",
            drawn(panel, most)
        );
    }
    svg + "</svg>\n"
}

fn drawn(panel: &Panel, most: usize) -> String {
    let highest = panel.counts.iter().copied().max().unwrap_or(0).max(1);
    let x = |runs: usize| (runs as f64).ln() / (most.max(2) as f64).ln() * WIDTH as f64;
    let y = |count: usize| HEIGHT as f64 - (count * HEIGHT) as f64 / highest as f64;
    let points: Vec<String> = (1..)
        .zip(&panel.counts)
        .map(|(runs, &count)| format!("{:.1},{:.1}", x(runs), y(count)))
        .collect();
    let below = HEIGHT + 14;
    let tick = |runs: usize| {
        format!(
            "<text x=\"{:.1}\" y=\"{below}\" text-anchor=\"middle\">{runs}</text>",
            x(runs)
        )
    };
    let tens = std::iter::successors(Some(1), |runs| Some(runs * 10));
    let ticks: Vec<String> = tens.take_while(|&runs| runs < most).map(tick).collect();
    format!(
        "<text y=\"-8\">{}</text>\
         <path d=\"M0,0 V{HEIGHT} H{WIDTH}\" fill=\"none\" stroke=\"gray\"/>\
         <text x=\"-4\" y=\"4\" text-anchor=\"end\">{highest}</text>\
         <text x=\"-4\" y=\"{HEIGHT}\" text-anchor=\"end\">0</text>\
         {}<text x=\"{WIDTH}\" y=\"{below}\" text-anchor=\"end\">{most} passing runs</text>\
         <polyline points=\"{}\" fill=\"none\" stroke=\"black\" stroke-width=\"1.5\"/>",
        panel.title,
        ticks.concat(),
        points.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_has_its_line() {
        let panel = Panel {
            title: "1 a".to_owned(),
            counts: vec![4, 2],
        };
        let svg = plot(&[panel], 2);
        assert!(
            svg.contains("0.0,0.0 220.0,60.0") && svg.contains(">1 a<"),
            "{svg}"
        );
    }
}
