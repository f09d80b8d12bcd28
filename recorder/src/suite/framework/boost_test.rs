//! Boost.Test.

use super::ListedCase;
use std::ffi::OsString;

/// The namespace in the names of symbols, and an option for programs that were stripped.
pub(super) const MARKS: [&str; 2] = ["_ZN5boost9unit_test", "list_content"];

/// See [`super::TestFramework::listing_arguments`].
pub(super) const LISTING: [&str; 1] = ["--list_content=HRF"];

/// Spaces by which a suite's content is indented.
const INDENTATION: usize = 4;

/// A line of the listing.
struct Line<'a> {
    depth: usize,
    name: &'a str,
    is_enabled: bool,
}

impl Line<'_> {
    /// Reads `    name*: description`, where a disabled one has a space in place of the star.
    fn of(text: &str) -> Option<Line<'_>> {
        let name = text.trim_start_matches(' ');
        let depth = (text.len() - name.len()) / INDENTATION;
        let name = name.split(": ").next().unwrap_or_default();
        let enabled = name.strip_suffix('*');
        let line = Line {
            depth,
            name: enabled.unwrap_or(name).trim_end(),
            is_enabled: enabled.is_some(),
        };
        (!line.name.is_empty()).then_some(line)
    }
}

/// Reads the listing, a tree: what has nothing below it is a case, and its name is the way to it.
pub(super) fn parse(text: &str) -> Option<Vec<ListedCase>> {
    let lines: Vec<Line<'_>> = text.lines().filter_map(Line::of).collect();
    let (mut way, mut cases) = (Vec::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        way.truncate(line.depth);
        way.push(line.name);
        let has_content = lines
            .get(at + 1)
            .is_some_and(|next| next.depth > line.depth);
        if !has_content {
            cases.push(ListedCase {
                name: way.join("/"),
                is_disabled: !line.is_enabled,
            });
        }
    }
    (!cases.is_empty()).then_some(cases)
}

/// See [`super::TestFramework::selection`].
pub(super) fn selection(case: &str) -> Vec<OsString> {
    vec![format!("--run_test={case}").into()]
}

/// See [`super::TestFramework::has_selection`].
pub(super) fn selects(argument: &str) -> bool {
    argument.starts_with("--run_test=") || argument.starts_with("-t")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Boost 1.74 prints it.
    const PRINTED: &str = "queue*
    empty*
    off 
    inner*
        deep*: a deep one
tmpl<int>*
data*
    _0*
    _1*
top*
";

    #[test]
    fn a_case_is_named_by_the_way_to_it() {
        let cases = parse(PRINTED).unwrap();
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        let expected = [
            "queue/empty",
            "queue/off",
            "queue/inner/deep",
            "tmpl<int>",
            "data/_0",
            "data/_1",
            "top",
        ];
        assert_eq!(names, expected);
        let disabled = cases.iter().filter(|case| case.is_disabled);
        assert_eq!(
            disabled.map(|case| &case.name).collect::<Vec<_>>(),
            ["queue/off"]
        );
        assert_eq!(parse(""), None);
    }
}
