//! An explanation as Markdown, for a bug report.

use super::{
    certainty, decided, elsewhere, failure, runs,
    spans::{TextSpan, code, on_one_line, spans},
};
use crate::{
    callers,
    explanation::{Explanation, Region, Step},
    facts::short,
};

/// Renders one explanation: a heading, the sequence of events, the steps as a table, further facts.
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

/// Further facts, a line for each.
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
    lines.extend(super::hangs_on(explanation));
    lines.extend(certainty(explanation));
    lines.extend(super::progress(explanation));
    lines.push(runs(explanation));
    lines.extend(super::fix(explanation).map(|fix| format!("Fix: {fix}")));
    lines.extend(super::caveats(explanation).map(|line| format!("Note: {line}")));
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
        code(&step.place.text).replace('|', "\\|"),
        what.trim()
    )
}

/// Escapes text so that only code is markup, as for names in sentences. In tables, and therefore everywhere,
/// a bar ends a cell, also within code.
fn escaped(text: &str) -> String {
    let shown = |span: TextSpan<'_>| match span {
        TextSpan::Code(text) => code(text),
        TextSpan::Plain(text) => plain(text),
    };
    let shown: String = spans(text).into_iter().map(shown).collect();
    shown.replace('|', "\\|")
}

fn plain(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in on_one_line(text).chars() {
        // An underscore after a letter opens no emphasis, so none is closed there either.
        let in_word = result.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        match character {
            '_' if in_word => {}
            '*' | '_' | '<' | '[' | ']' | '#' | '\\' | '`' => result.push('\\'),
            _ => {}
        }
        result.push(character);
    }
    result
}
