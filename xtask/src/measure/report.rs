//! The measurements as text.

use super::{
    commits::SubjectShares,
    figures::percentile,
    tree::{CrateLines, TreeFigures, share_of_shared},
};
use std::collections::BTreeMap;

/// The number of shared names that are listed.
const WORST: usize = 10;

/// All tables, in Markdown.
pub fn tables(tree: &TreeFigures, commits: &SubjectShares) -> String {
    let mut text = String::new();
    summary(&mut text, tree, commits);
    crates(&mut text, tree);
    large(&mut text, tree);
    text
}

fn summary(text: &mut String, tree: &TreeFigures, commits: &SubjectShares) {
    let all = share_of_shared(tree.all_types().into_values());
    let within = tree
        .types
        .values()
        .flat_map(|types| types.values().copied());
    let rows = [
        ("function lines: median / p90 / p99 / max", functions(tree)),
        ("documented public items", tree.documented.text()),
        ("test lines per source line", ratio(&tree.total())),
        ("types that share their name with another type", all.text()),
        ("the same within one crate", share_of_shared(within).text()),
        ("most shared names", worst(names_in_tree(tree))),
        (
            "most shared names within one crate",
            worst(names_in_crates(tree)),
        ),
        (
            "doc comments that begin with a question word",
            tree.questions.text(),
        ),
        ("commit subjects over 72 characters", commits.long.text()),
        ("commit subjects with a semicolon", commits.lists.text()),
    ];
    text.push_str("| measure | value |\n|---|---|\n");
    for (name, value) in rows {
        row(text, &[name, &value]);
    }
}

fn crates(text: &mut String, tree: &TreeFigures) {
    text.push_str(
        "\n| crate | source lines | test lines | test lines per source line |\n|---|---|---|---|\n",
    );
    let total = ("total".to_string(), tree.total());
    for (name, lines) in tree.crates.iter().chain([(&total.0, &total.1)]) {
        let (source, tests) = (lines.source.to_string(), lines.tests.to_string());
        row(text, &[name, &source, &tests, &ratio(lines)]);
    }
}

fn large(text: &mut String, tree: &TreeFigures) {
    if tree.large.is_empty() {
        text.push_str("\nNo file has more than 500 lines.\n");
        return;
    }
    text.push_str("\n| files over 500 lines | lines |\n|---|---|\n");
    for (path, lines) in &tree.large {
        row(text, &[&path.display().to_string(), &lines.to_string()]);
    }
}

/// Adds a row of a table.
fn row(text: &mut String, cells: &[&str]) {
    text.push_str(&format!("| {} |\n", cells.join(" | ")));
}

fn functions(tree: &TreeFigures) -> String {
    let at = |percent| percentile(&tree.functions, percent);
    let all = [50, 90, 99, 100].map(|percent| match at(percent) {
        Some(lines) => lines.to_string(),
        None => "none".to_string(),
    });
    format!("{} ({} functions)", all.join(" / "), tree.functions.len())
}

fn ratio(lines: &CrateLines) -> String {
    if lines.source == 0 {
        return "tests only".to_string();
    }
    let hundredths = (lines.tests * 100 + lines.source / 2) / lines.source;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn names_in_tree(tree: &TreeFigures) -> Vec<(usize, String)> {
    let all = tree.all_types().into_iter();
    all.map(|(name, count)| (count, format!("`{name}`")))
        .collect()
}

fn names_in_crates(tree: &TreeFigures) -> Vec<(usize, String)> {
    let named = |(of, types): (&String, &BTreeMap<String, usize>)| {
        let one = |(name, count): (&String, &usize)| (*count, format!("`{name}` in {of}"));
        types.iter().map(one).collect::<Vec<_>>()
    };
    tree.types.iter().flat_map(named).collect()
}

/// The names with the most definitions, each with their number.
fn worst(mut names: Vec<(usize, String)>) -> String {
    names.retain(|(count, _)| *count > 1);
    names.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    let shown = names.iter().take(WORST);
    let shown: Vec<_> = shown
        .map(|(count, name)| format!("{name} {count}"))
        .collect();
    if shown.is_empty() {
        return "none".to_string();
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{commits, tree};
    use std::path::PathBuf;

    #[test]
    fn every_measure_is_printed() {
        let file = |path: &str, text: &str| tree::TrackedFile {
            path: PathBuf::from(path),
            text: text.to_string(),
        };
        let files = [
            file("a/Cargo.toml", ""),
            file(
                "a/src/lib.rs",
                "/// Why.\npub struct A;\nmod b { struct A; }\nfn f() {\n}\n#[test]\nfn t() {}\n",
            ),
            file("tests/Cargo.toml", ""),
            file("tests/src/lib.rs", &"\n".repeat(501)),
        ];
        let commits = commits::measure("One\nTwo; three\n");
        let text = tables(&tree::measure(&files).unwrap(), &commits);
        let expected = "\
| measure | value |
|---|---|
| function lines: median / p90 / p99 / max | 2 / 2 / 2 / 2 (1 functions) |
| documented public items | 100.0 % (1 of 1) |
| test lines per source line | 100.60 |
| types that share their name with another type | 100.0 % (2 of 2) |
| the same within one crate | 100.0 % (2 of 2) |
| most shared names | `A` 2 |
| most shared names within one crate | `A` in a 2 |
| doc comments that begin with a question word | 100.0 % (1 of 1) |
| commit subjects over 72 characters | 0.0 % (0 of 2) |
| commit subjects with a semicolon | 50.0 % (1 of 2) |

| crate | source lines | test lines | test lines per source line |
|---|---|---|---|
| a | 5 | 2 | 0.40 |
| tests | 0 | 501 | tests only |
| total | 5 | 503 | 100.60 |

| files over 500 lines | lines |
|---|---|
| tests/src/lib.rs | 501 |
";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_most_shared_names_come_first() {
        let names = (1..=12).map(|count| (count, format!("N{count:02}")));
        let expected = (3..=12).rev().map(|count| format!("N{count:02} {count}"));
        assert_eq!(
            worst(names.collect()),
            expected.collect::<Vec<_>>().join(", ")
        );
        assert_eq!(worst(vec![(1, "N".to_string())]), "none");
    }
}
