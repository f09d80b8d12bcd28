//! Criterion, the framework for C: its cases are listed, and cannot be recorded.

use super::ListedCase;
use std::ffi::OsString;

/// The function of the library that executes a test.
pub(super) const MARKS: [&str; 1] = ["criterion_internal_test_main"];

/// See [`super::TestFramework::listing_arguments`].
pub(super) const LISTING: [&str; 1] = ["--list"];

/// See [`super::TestFramework::obstacle`].
pub(super) const OBSTACLE: &str = "Criterion executes each test in a process of its own, and only the process that was \
     started is recorded; call what it tests from a program without Criterion";

/// Reads the listing: `suite: 2 tests`, and below it a line for each test. Disabled ones are marked.
pub(super) fn parse(text: &str) -> Option<Vec<ListedCase>> {
    let (mut suite, mut cases) = ("", Vec::new());
    for line in text.lines() {
        let case = line
            .strip_prefix("├── ")
            .or_else(|| line.strip_prefix("└── "));
        match (case, line.split_once(": ")) {
            (Some(case), _) => {
                let disabled = case.strip_suffix(" (skipped)");
                cases.push(ListedCase {
                    name: format!("{suite}/{}", disabled.unwrap_or(case)),
                    is_disabled: disabled.is_some(),
                });
            }
            (None, Some((name, _))) => suite = name,
            (None, None) => {}
        }
    }
    (!cases.is_empty()).then_some(cases)
}

/// See [`super::TestFramework::selection`].
pub(super) fn selection(case: &str) -> Vec<OsString> {
    vec![format!("--filter={case}").into()]
}

/// See [`super::TestFramework::has_selection`].
pub(super) fn selects(argument: &str) -> bool {
    argument.starts_with("--filter") || argument.starts_with("--pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_as_version_2_4_prints_it() {
        let printed = "other: 2 tests\n├── off (skipped)\n└── x\nqueue: 1 test\n└── full\n";
        let cases = parse(printed).unwrap();
        let names: Vec<(&str, bool)> = cases
            .iter()
            .map(|case| (case.name.as_str(), case.is_disabled))
            .collect();
        assert_eq!(
            names,
            [
                ("other/off", true),
                ("other/x", false),
                ("queue/full", false)
            ]
        );
    }
}
