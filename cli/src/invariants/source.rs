//! The text of lines that have no recorded one: what a thread does with its own variables leaves no events.

use std::collections::BTreeMap;
use unsnarl_lab::sources::is_other;
use unsnarl_symbolic::invariants::ToldInvariants;
use unsnarl_trace::Run;
use unsnarl_trace::files::read_text;

/// Fills in the text of lines from the source files that are still those that were recorded.
pub fn fill(told: &mut ToldInvariants, run: &Run) {
    let mut files: BTreeMap<String, Option<String>> = BTreeMap::new();
    for line in told.lines.iter_mut() {
        if !line.place.text.is_empty() || line.place.line == 0 {
            continue;
        }
        let file = line.place.file.clone();
        let text = files
            .entry(file)
            .or_insert_with_key(|file| unchanged(file, run));
        let number = usize::try_from(line.place.line).unwrap_or(usize::MAX);
        let found = text.as_ref().and_then(|text| text.lines().nth(number - 1));
        line.place.text = found.unwrap_or_default().trim().to_owned();
    }
}

fn unchanged(file: &str, run: &Run) -> Option<String> {
    let row = run.meta.sources.iter().find(|row| row.file == file)?;
    match is_other(file, &row.sha256) {
        true => None,
        false => read_text(file.as_ref()).ok(),
    }
}
