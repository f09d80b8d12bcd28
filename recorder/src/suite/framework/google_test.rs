//! GoogleTest.

use super::ListedCase;
use std::ffi::OsString;

/// Registration of a case, and an option for programs that were stripped.
pub(super) const MARKS: [&str; 2] = [
    "7testing8internal23MakeAndRegisterTestInfo",
    "gtest_list_tests",
];

/// See [`super::TestFramework::listing_arguments`].
pub(super) const LISTING: [&str; 1] = ["--gtest_list_tests"];

/// Reads the listing: a test suite's name with a dot, and below it, indented, the names of its tests. What the
/// program's own `main` prints before is passed over.
pub(super) fn parse(text: &str) -> Option<Vec<ListedCase>> {
    let (mut suite, mut cases) = (None, Vec::new());
    for line in text.lines() {
        let plain = line.split("  # ").next().unwrap_or_default();
        match (plain.strip_prefix("  "), suite) {
            (None, _) => suite = plain.ends_with('.').then_some(plain),
            (Some(case), Some(suite)) => cases.push(ListedCase {
                name: format!("{suite}{case}"),
                is_disabled: is_disabled(suite) || is_disabled(case),
            }),
            (Some(_), None) => {}
        }
    }
    Some(cases)
}

/// Returns whether a name says that the test is disabled; an instantiation has a prefix of its own.
fn is_disabled(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with("DISABLED_"))
}

/// See [`super::TestFramework::selection`].
pub(super) fn selection(case: &str) -> Vec<OsString> {
    vec![format!("--gtest_filter={case}").into()]
}

/// See [`super::TestFramework::has_selection`].
pub(super) fn selects(argument: &str) -> bool {
    argument.starts_with("--gtest_filter=")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As GoogleTest 1.12.1 prints it.
    const PRINTED: &str = "Running main() from ./googletest/src/gtest_main.cc
Queue.
  Empty
  DISABLED_Off
Ty/0.  # TypeParam = int
  Size
Some/P.
  Works/0  # GetParam() = 1
  Works/1  # GetParam() = 2
";

    #[test]
    fn suites_parameters_and_types() {
        let cases = parse(PRINTED).unwrap();
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        let expected = [
            "Queue.Empty",
            "Queue.DISABLED_Off",
            "Ty/0.Size",
            "Some/P.Works/0",
            "Some/P.Works/1",
        ];
        assert_eq!(names, expected);
        let disabled: Vec<bool> = cases.iter().map(|case| case.is_disabled).collect();
        assert_eq!(disabled, [false, true, false, false, false]);
    }

    #[test]
    fn what_a_main_of_its_own_prints_is_no_test() {
        assert_eq!(parse("starting up\n  with 3 threads\n"), Some(Vec::new()));
    }
}
