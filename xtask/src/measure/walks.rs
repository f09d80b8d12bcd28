//! The walks of CONTRIBUTING.md: the files that each kind of extension touches.
//!
//! A walk is a heading and its numbered items; an item begins with its files, in backticks, before a colon. A walk whose
//! numbers go on from those of the walk before touches that one's files, too. Files in bullets are touched sometimes only.

use anyhow::{Result, bail};
use std::collections::BTreeSet;

/// The page with the walks.
pub const PAGE: &str = "CONTRIBUTING.md";

/// Words that stand for a name, in files that an extension adds.
const PLACEHOLDERS: [&str; 2] = ["NAME", "FEATURE"];

/// The files of a walk, below the project.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ExtensionWalk {
    /// The heading.
    pub name: String,
    /// Files that each extension of the kind touches.
    pub files: BTreeSet<String>,
    /// Files that some of them touch, besides.
    pub sometimes: BTreeSet<String>,
}

impl ExtensionWalk {
    /// The number of files, or its bounds: `4`, `4 to 6`.
    pub fn count(&self) -> String {
        let least = self.files.len();
        match self.sometimes.difference(&self.files).count() {
            0 => least.to_string(),
            more => format!("{least} to {}", least + more),
        }
    }

    /// Files that are not there, of those that have no placeholder in their names; otherwise their folders.
    pub fn missing(&self, exists: impl Fn(&str) -> bool) -> Vec<&str> {
        let named = self.files.union(&self.sometimes);
        named
            .map(|path| known_part(path))
            .filter(|path| !path.is_empty() && !exists(path))
            .collect()
    }
}

/// The path up to the first part with a placeholder.
fn known_part(path: &str) -> &str {
    let at = PLACEHOLDERS.iter().filter_map(|word| path.find(word)).min();
    let known = path.get(..at.unwrap_or(path.len())).unwrap_or(path);
    match at {
        Some(_) => known.rsplit_once('/').map_or("", |(folder, _)| folder),
        None => known,
    }
}

/// The walks of the page, in its order.
pub fn walks(page: &str) -> Vec<ExtensionWalk> {
    let mut walks: Vec<ExtensionWalk> = Vec::new();
    let mut folder = String::new();
    for item in items(page) {
        if let Some(name) = item.strip_prefix("### ").or(item.strip_prefix("## ")) {
            walks.push(ExtensionWalk {
                name: name.to_owned(),
                ..ExtensionWalk::default()
            });
            folder.clear();
        } else if let Some((_, below)) = item.split_once("All paths are below `") {
            folder = below.split('`').next().unwrap_or_default().to_owned();
        }
        let Some((kind, text)) = list_item(&item) else {
            continue;
        };
        let paths = paths(text)
            .into_iter()
            .map(|path| format!("{folder}{path}"));
        let goes_on = matches!(kind, ListItem::Number(number) if number > 1);
        let first = walks.last().is_some_and(|walk| walk.files.is_empty());
        let before = match walks.as_slice() {
            [.., before, _] if goes_on && first => Some(before.files.clone()),
            _ => None,
        };
        if let Some(walk) = walks.last_mut() {
            walk.files.extend(before.into_iter().flatten());
            match kind {
                ListItem::Number(_) => walk.files.extend(paths),
                ListItem::Bullet => walk.sometimes.extend(paths),
            }
        }
    }
    walks.retain(|walk| !walk.files.is_empty());
    walks
}

/// The walks as a table.
///
/// # Errors
///
/// Fails if a walk names a file that is not there.
pub fn table(page: &str, exists: impl Fn(&str) -> bool) -> Result<String> {
    let mut text = "\n| walk | production files |\n|---|---|\n".to_owned();
    for walk in walks(page) {
        if let [first, ..] = walk.missing(&exists).as_slice() {
            bail!(
                "{PAGE} names {first} under \"{}\", which is not there",
                walk.name
            );
        }
        text.push_str(&format!("| {} | {} |\n", walk.name, walk.count()));
    }
    Ok(text)
}

/// Paragraphs, headings and items of lists, each as one line.
fn items(page: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
        let begins = !is_open || list_item(line).is_some() || line.starts_with('#');
        match items.last_mut().filter(|_| !begins) {
            Some(item) => item.push_str(&format!(" {}", line.trim())),
            None => items.push(line.to_owned()),
        }
        is_open = !line.is_empty() && !line.starts_with('#');
    }
    items
}

#[derive(Clone, Copy)]
enum ListItem {
    Number(u32),
    Bullet,
}

fn list_item(line: &str) -> Option<(ListItem, &str)> {
    if let Some(text) = line.strip_prefix("* ") {
        return Some((ListItem::Bullet, text));
    }
    let (number, text) = line.split_once(". ")?;
    Some((ListItem::Number(number.parse().ok()?), text))
}

/// The files that an item begins with: those in backticks before its colon, apart from examples in parentheses.
fn paths(item: &str) -> Vec<String> {
    let (named, _) = item.split_once(':').unwrap_or((item, ""));
    let parts = named.split('(');
    let outside = parts.map(|part| part.split_once(')').map_or(part, |(_, rest)| rest));
    let named: String = outside.collect();
    let quoted = named.split('`').skip(1).step_by(2);
    let is_path = |text: &&str| text.contains('.') || text.ends_with('/');
    quoted.filter(is_path).flat_map(expanded).collect()
}

/// The paths that one with braces stands for: `a/{b,c}.rs`.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![path.to_owned()];
    };
    let (names, after) = rest.split_once('}').unwrap_or((rest, ""));
    let names = names.split(',');
    names.map(|name| format!("{before}{name}{after}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::project;
    use std::fs;

    const SAMPLE: &str = "\
# Contributing

## A thing

Followed: another one. All paths are below `a/src/`.

1. `NAME.rs` (`z.rs`) and
   `x/{b,c}.rs`: what it is, not `d.rs`.
2. `e.rs`: more.

* a setting: `f.rs`
* `g.rs`: sometimes.

### A larger thing

3. `a/src/h.rs`: still more.

## A sentence

No list.
";

    #[test]
    fn walks_have_their_files() {
        let walks = walks(SAMPLE);
        let names: Vec<&str> = walks.iter().map(|walk| walk.name.as_str()).collect();
        assert_eq!(names, ["A thing", "A larger thing"]);
        let files: Vec<&str> = walks[0].files.iter().map(String::as_str).collect();
        assert_eq!(
            files,
            [
                "a/src/NAME.rs",
                "a/src/e.rs",
                "a/src/x/b.rs",
                "a/src/x/c.rs"
            ]
        );
        assert_eq!(walks[0].count(), "4 to 5");
        assert_eq!(walks[1].count(), "5");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let exists = |path: &str| path != "a/src/x/c.rs";
        let error = table(SAMPLE, exists).unwrap_err().to_string();
        assert!(
            error.contains("names a/src/x/c.rs under \"A thing\""),
            "{error}"
        );
        assert!(
            table(SAMPLE, |_| true)
                .unwrap()
                .contains("| A thing | 4 to 5 |")
        );
    }

    /// The table at the top of the page has the numbers of its walks.
    #[test]
    fn the_page_counts_its_files() {
        let page = fs::read_to_string(project().join(PAGE)).unwrap();
        table(&page, |path| project().join(path).exists()).unwrap();
        for walk in walks(&page) {
            let row = format!("| {} | {} |", walk.name.to_lowercase(), walk.count());
            assert!(page.to_lowercase().contains(&row), "no row {row}");
        }
    }
}
