//! Small handwritten modules, and the models that they are condensed to.

mod any_text;
mod code;
mod data;
mod debug;

use super::condense;
use expect_test::Expect;

/// Checks the models of a text's functions, without those that are only declared.
fn check_code(text: &str, expected: Expect) {
    let shown = show(text);
    let lines = shown
        .lines()
        .filter(|line| line.starts_with("    #") || line.starts_with("problem"));
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// Checks the model of a whole text.
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&show(text));
}

fn show(text: &str) -> String {
    condense(&format!("source_filename = \"a.c\"\n{text}"))
        .unwrap()
        .to_string()
}
