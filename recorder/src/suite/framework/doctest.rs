//! doctest.

use super::ListedCase;
use std::ffi::OsString;

/// The namespace in the names of symbols, and an option for programs that were stripped.
pub(super) const MARKS: [&str; 2] = ["_ZN7doctest", "list-test-cases"];

/// See [`super::TestFramework::listing_arguments`].
pub(super) const LISTING: [&str; 2] = ["--list-test-cases", "--no-colors=true"];

/// Reads the listing: a name per line between two lines of equals signs. Skipped cases are not listed.
pub(super) fn parse(text: &str) -> Option<Vec<ListedCase>> {
    let is_rule = |line: &&str| line.starts_with("=====");
    let mut lines = text.lines().skip_while(|line| !is_rule(line));
    lines.next()?;
    let names: Vec<&str> = lines.by_ref().take_while(|line| !is_rule(line)).collect();
    lines.next()?;
    Some(names.into_iter().map(ListedCase::enabled).collect())
}

/// See [`super::TestFramework::selection`]: a comma separates selections.
pub(super) fn selection(case: &str) -> Vec<OsString> {
    let escaped = case.replace(',', "\\,");
    vec![format!("--test-case={escaped}").into()]
}

/// See [`super::TestFramework::has_selection`].
pub(super) fn selects(argument: &str) -> bool {
    let option = argument.trim_start_matches('-').trim_start_matches("dt-");
    let names = [
        "test-case=",
        "tc=",
        "test-suite=",
        "ts=",
        "source-file=",
        "sf=",
    ];
    names.iter().any(|name| option.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_version_2_4_prints_them() {
        let rule = "=".repeat(79);
        let printed = format!(
            "[doctest] listing all test case names\n{rule}\ncounts, and adds\nback\\slash \"q\" <x>\n{rule}\n\
             [doctest] unskipped test cases passing the current filters: 2\n"
        );
        let cases = parse(&printed).unwrap();
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["counts, and adds", "back\\slash \"q\" <x>"]);
        assert_eq!(parse("counts\n"), None);
        assert_eq!(
            selection("counts, and adds"),
            [r"--test-case=counts\, and adds"]
        );
    }
}
