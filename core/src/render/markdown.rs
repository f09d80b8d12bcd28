//! An explanation as Markdown, for a bug report.

use super::{certainty, decided, elsewhere, failure, runs};
use crate::{
    callers,
    explanation::{Explanation, Region, Step},
    facts::short,
};

/// One explanation: a heading, what happened, the steps as a table, what is known besides.
pub fn markdown(explanation: &Explanation) -> String {
    let mut text = format!("### {}\n\n", escaped(&explanation.headline));
    let mut paragraph = |line: &str| {
        if !line.is_empty() {
            text.push_str(&escaped(line));
            text.push_str("\n\n");
        }
    };
    paragraph(&explanation.detail.lines().collect::<Vec<_>>().join(" "));
    paragraph(&format!("Fails with: {}", failure(&explanation.failure)));
    text.push_str(&steps(&explanation.steps));
    for line in facts(explanation) {
        text.push_str(&format!("- {}\n", escaped(&line)));
    }
    text
}

/// What else is known, a line for each.
fn facts(explanation: &Explanation) -> Vec<String> {
    let said = [&explanation.remark, &explanation.contrast];
    let mut lines: Vec<String> = said
        .into_iter()
        .filter(|line| !line.is_empty())
        .cloned()
        .collect();
    lines.extend(explanation.region.as_ref().map(region));
    lines.extend(elsewhere(explanation));
    lines.extend(decided(explanation));
    lines.extend(certainty(explanation));
    lines.push(runs(explanation));
    lines.extend(super::fix(explanation).map(|fix| format!("Fix: {fix}")));
    lines.extend(
        explanation
            .caveats
            .iter()
            .map(|line| format!("Note: {line}")),
    );
    lines.retain(|line| !line.is_empty());
    lines
}

fn region(region: &Region) -> String {
    let lines = match region.first == region.last {
        true => format!("line {}", region.first),
        false => format!("lines {} to {}", region.first, region.last),
    };
    format!("Meant as one step: {lines} of {}", region.file)
}

fn steps(steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let mut text = String::from("| | thread | place | source | |\n|---|---|---|---|---|\n");
    for (at, step) in steps.iter().enumerate() {
        text.push_str(&row(at + 1, step));
    }
    text.push('\n');
    text
}

fn row(number: usize, step: &Step) -> String {
    let mut what = escaped(&step.effect);
    if !step.note.is_empty() {
        what.push_str(&format!(" **{}**", escaped(&step.note)));
    }
    if !step.via.is_empty() {
        what.push_str(&format!(" ({})", escaped(&callers::in_words(&step.via))));
    }
    format!(
        "| {number} | {} | {} | {} | {} |\n",
        escaped(&step.thread),
        escaped(&short(&step.place)),
        code(&step.place.text),
        what.trim()
    )
}

/// Source text inside a table: in as many backticks as it takes, and without the character that ends a cell.
fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut longest = 0;
    let mut row = 0;
    for character in text.chars() {
        row = if character == '`' { row + 1 } else { 0 };
        longest = longest.max(row);
    }
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", text.replace('|', "\\|"))
}

/// Text in which nothing is taken for markup. What stands in backticks already, as names in sentences do, stays.
fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut in_code = false;
    for character in text.chars() {
        // An underscore behind a letter begins nothing, so none ends there either.
        let in_word = result.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        match character {
            '`' => in_code = !in_code,
            '|' => result.push('\\'),
            '_' if in_word => {}
            '*' | '_' | '<' | '[' | ']' | '#' | '\\' if !in_code => result.push('\\'),
            _ => {}
        }
        result.push(character);
    }
    result
}
