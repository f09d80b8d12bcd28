//! The projection as text: the two orders side by side, or one below the other where that is too wide.

use super::{deed, facts, flow_into, headline, left_out};
use crate::dsp::model::{Dsp, ThreadOperation};
use unsnarl_core::render::MOST_COLUMN;

/// Bound below which two orders do not fit side by side, in columns.
const BESIDE: usize = 80;

/// The projection in at most this many columns (40 at least).
pub fn text(dsp: &Dsp, columns: usize) -> String {
    let (beside, columns) = (columns >= BESIDE, columns.max(40));
    let width = if beside { (columns - 3) / 2 } else { columns };
    let failing = order(dsp, true, width);
    let alternate = order(dsp, false, width);
    let mut text = match beside {
        true => side_by_side(&failing, &alternate, width),
        false => {
            [failing, vec![String::new()], alternate]
                .concat()
                .join("\n")
                + "\n"
        }
    };
    text.push('\n');
    for line in legend(dsp) {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(sentence) = headline(dsp) {
        text.push_str(&format!("\n  {sentence}\n"));
    }
    text
}

fn legend(dsp: &Dsp) -> Vec<String> {
    let mut lines = Vec::new();
    if dsp.operations.iter().any(|operation| operation.is_moved) {
        lines.push("> comes at another place than in the other order".to_owned());
    }
    if !dsp.flows.only_failing.is_empty() {
        lines.push("<- N takes the value that step N left; only in this order".to_owned());
    }
    lines.extend(left_out(dsp));
    lines
}

fn side_by_side(left: &[String], right: &[String], width: usize) -> String {
    let mut text = String::new();
    let rows = left.len().max(right.len());
    for row in 0..rows {
        let cell = |lines: &[String]| lines.get(row).cloned().unwrap_or_default();
        let (left, right) = (cell(left), cell(right));
        let gap = width.saturating_sub(left.chars().count()).min(MOST_COLUMN);
        let line = format!("{left}{:gap$} | {right}", "");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn order(dsp: &Dsp, failing: bool, width: usize) -> Vec<String> {
    let (title, order) = match failing {
        true => ("this order fails", &dsp.failing),
        false => ("this order does not", &dsp.alternate),
    };
    let mut lines = vec![format!("  {title}"), String::new()];
    let threads = order
        .iter()
        .filter_map(|&at| dsp.operations.get(at as usize));
    let name = threads
        .map(|operation| operation.thread.len())
        .max()
        .unwrap_or(0);
    for &at in order {
        if let Some(operation) = dsp.operations.get(at as usize) {
            let step = step(dsp, at, operation, failing, name);
            lines.extend(step.iter().map(|(line, mark)| cut(line, mark, width)));
        }
    }
    lines
}

/// A step in three lines: its place, its source line, and its action; each with a mark that stands behind it.
fn step(
    dsp: &Dsp,
    at: u32,
    operation: &ThreadOperation,
    failing: bool,
    name: usize,
) -> Vec<(String, String)> {
    let moved = if operation.is_moved { '>' } else { ' ' };
    let number = at + 1;
    let place = facts::short(&operation.place);
    let first = format!(
        "{moved}{number:2} {:name$}  {place}",
        operation.thread,
        name = name.min(MOST_COLUMN)
    );
    let other = if failing {
        &dsp.alternate
    } else {
        &dsp.failing
    };
    let end = match failing && dsp.failure == Some(at) {
        true => "   fails",
        false if !other.contains(&at) => "   only here",
        false => "",
    };
    let indent = " ".repeat(name + 6);
    let source = format!("{indent}{}", operation.place.text);
    let did = format!("{indent}{}", deed(operation, failing));
    let from = flow_into(dsp, at, failing).map_or_else(String::new, |flow| match flow.from {
        Some(from) => format!(" <- {}", from + 1),
        None => " <- as before".to_owned(),
    });
    let lines = [
        (first, end.to_owned()),
        (source, String::new()),
        (did, from),
    ];
    lines
        .into_iter()
        .filter(|(line, mark)| !line.trim().is_empty() || !mark.is_empty())
        .collect()
}

/// A line of at most `width` characters, cut before its mark.
fn cut(line: &str, mark: &str, width: usize) -> String {
    let room = width.saturating_sub(mark.chars().count());
    let line = line.trim_end();
    match line.chars().count() > room {
        false => format!("{line}{mark}"),
        true => {
            let kept: String = line.chars().take(room.saturating_sub(3)).collect();
            format!("{}...{mark}", kept.trim_end())
        }
    }
}
