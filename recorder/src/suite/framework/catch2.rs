//! Catch2, versions 2 and 3.

use super::ListedCase;
use std::ffi::OsString;

/// The namespace in the names of symbols, and a text of the help for programs that were stripped.
pub(super) const MARKS: [&str; 2] = ["_ZN5Catch", "list all/matching test cases"];

/// See [`super::TestFramework::listing_arguments`]. Version 3 no longer knows the first option.
pub(super) const LISTINGS: [&[&str]; 2] = [
    &["--list-test-names-only"],
    &["--list-tests", "--verbosity", "quiet"],
];

/// Reads the listing: a name per line; one that begins with `#` is in quotes. Hidden cases are not listed.
pub(super) fn parse(text: &str) -> Option<Vec<ListedCase>> {
    let name = |line: &str| {
        let quoted = line
            .strip_prefix("\"#")
            .and_then(|rest| rest.strip_suffix('"'));
        quoted.map_or_else(|| line.to_owned(), |name| format!("#{name}"))
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let cases: Vec<ListedCase> = lines.map(|line| ListedCase::enabled(name(line))).collect();
    (!cases.is_empty()).then_some(cases)
}

/// See [`super::TestFramework::selection`]: characters that mean something in a selection are escaped.
pub(super) fn selection(case: &str) -> Vec<OsString> {
    let mut escaped = String::new();
    for letter in case.chars() {
        if matches!(letter, '\\' | ',' | '[' | '"') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    vec![escaped.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_version_2_13_prints_them() {
        let printed = "counts, and [adds]\nother \\ *star*\n\"#first\"\ntmpl - int\n";
        let cases = parse(printed).unwrap();
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "counts, and [adds]",
                "other \\ *star*",
                "#first",
                "tmpl - int"
            ]
        );
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_selection_means_the_name_itself() {
        assert_eq!(selection("counts, and [adds]"), [r"counts\, and \[adds]"]);
        assert_eq!(selection(r"a \ b"), [r"a \\ b"]);
    }
}
