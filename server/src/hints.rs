//! Hints at the ends of lines: the steps of the selected explanation, and the conditions that had to hold.

use crate::{
    facts::ExplainedFact,
    host::ServerState,
    marks::{FollowedFiles, LineSpot},
    words,
};
use std::{collections::BTreeMap, ops::Range, path::Path};
use unsnarl_core::{InvariantMark, Place};

/// Text behind the code of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// The line.
    pub spot: LineSpot,
    /// The text.
    pub label: String,
    /// The longer text for a user who asks for more.
    pub tooltip: String,
}

/// The hints of these lines (from 0) of a current file, in the order of lines.
pub fn hints(state: &ServerState, path: &Path, lines: &Range<usize>) -> Vec<Hint> {
    let Some((root, explained)) = state.selected() else {
        return Vec::new();
    };
    let located = FollowedFiles::new(&state.sources, root, explained);
    let here = |spot: &LineSpot| spot.path == path && lines.contains(&spot.line);
    let mut hints = Vec::new();
    if state.config.step_hints {
        hints.extend(steps(explained, &located));
    }
    if state.config.invariant_hints {
        hints.extend(invariants(explained, &located));
    }
    hints.retain(|hint| here(&hint.spot));
    for hint in &mut hints {
        hint.label = shortened(&hint.label);
    }
    hints.sort_by_key(|hint| hint.spot.line);
    hints
}

/// One hint for each line that takes steps: `(1) main.2 reads 300, (3) main.2 writes 250`.
fn steps(explained: &ExplainedFact, located: &FollowedFiles<'_>) -> Vec<Hint> {
    let mut lines: BTreeMap<usize, Hint> = BTreeMap::new();
    for (at, step) in explained.explanation.steps.iter().enumerate() {
        let Some(spot) = located.spot(&step.place) else {
            continue;
        };
        let label = format!("({}) {} {}", at + 1, step.thread, step.effect);
        let tooltip = format!("step {}: {}", at + 1, words::step(explained, step));
        join(&mut lines, spot, &label, &tooltip);
    }
    lines.into_values().collect()
}

/// Characters of a hint's text at most: code stays readable beside it. The rest is in its tooltip.
const MOST_SHOWN: usize = 60;

/// Appends another text to a line's hint.
fn join(lines: &mut BTreeMap<usize, Hint>, spot: LineSpot, label: &str, tooltip: &str) {
    let hint = lines.entry(spot.line).or_insert_with(|| Hint {
        spot,
        label: String::new(),
        tooltip: String::new(),
    });
    for (text, new, between) in [
        (&mut hint.label, label, ", "),
        (&mut hint.tooltip, tooltip, "\n"),
    ] {
        if !text.is_empty() && !new.is_empty() {
            text.push_str(between);
        }
        text.push_str(new);
    }
}

/// The beginning of a text that is too long, up to the end of one of its parts if it has several.
fn shortened(label: &str) -> String {
    let Some((end, _)) = label.char_indices().nth(MOST_SHOWN - 1) else {
        return label.to_owned();
    };
    if label.chars().count() == MOST_SHOWN {
        return label.to_owned();
    }
    let begin = label.get(..end).unwrap_or_default();
    let parts = begin.rfind(", (").and_then(|end| begin.get(..end + 1));
    format!("{}…", parts.unwrap_or(begin))
}

/// One hint for each line from which a condition had to hold: `// main.2: balance <= 300`. What had to hold of the order of
/// steps is in its tooltip: the steps themselves are drawn in their order.
fn invariants(explained: &ExplainedFact, located: &FollowedFiles<'_>) -> Vec<Hint> {
    let mut lines: BTreeMap<usize, Hint> = BTreeMap::new();
    for invariant in &explained.explanation.invariants {
        let Some(spot) = located.spot(&place(invariant)) else {
            continue;
        };
        let tooltip = format!(
            "from here on, or the run would not have failed: {}",
            invariant.text
        );
        let is_first = lines
            .get(&spot.line)
            .is_none_or(|hint| hint.label.is_empty());
        let label = match (invariant.is_of_values, is_first) {
            (false, _) => String::new(),
            (true, true) => format!("// {}", invariant.text),
            (true, false) => invariant.text.clone(),
        };
        join(&mut lines, spot, &label, &tooltip);
    }
    let drawn = lines.into_values().filter(|hint| !hint.label.is_empty());
    drawn.collect()
}

fn place(invariant: &InvariantMark) -> Place {
    Place {
        file: invariant.file.clone(),
        line: invariant.line,
        ..Place::default()
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_SHOWN, shortened};

    #[test]
    fn long_texts_end_behind_a_part_or_anywhere() {
        let steps = "(1) main.1 reads 10, (2) main.2 writes 20";
        assert_eq!(shortened(steps), steps);
        let many = format!("{steps}, (3) main.1 reads 20");
        assert_eq!(shortened(&many), format!("{steps},…"));
        let condition = format!("// {}", "ü".repeat(MOST_SHOWN));
        assert_eq!(shortened(&condition).chars().count(), MOST_SHOWN);
        let just = "x".repeat(MOST_SHOWN);
        assert_eq!(shortened(&just), just);
    }
}
