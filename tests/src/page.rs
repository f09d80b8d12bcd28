//! The pages under `docs/bugs`, which are tests: each holds a program, the expectation about its explanation, the
//! explanation itself, and a change after which the program no longer fails.

use crate::Expectation;
use anyhow::{Context, Result, ensure};
use std::{fs, ops::Range, path::PathBuf};

/// A page about a class of bugs.
#[derive(Debug)]
pub struct BugPage {
    /// Its file.
    pub path: PathBuf,
    /// Its whole text.
    pub text: String,
    /// Name of the class, as in `kind`.
    pub class: String,
    /// The program in it.
    pub program: String,
    /// Expectation about its explanation.
    pub expectation: Expectation,
    /// Range of the shown explanation in `text`.
    pub shown: Range<usize>,
    /// The program with the change that fixes it.
    pub healed: String,
}

impl BugPage {
    /// Reads the page about a class.
    pub fn open(class: &str) -> Result<BugPage> {
        let path = folder().join(class).with_extension("md");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        BugPage::parse(class, path.clone(), text).with_context(|| path.display().to_string())
    }

    fn parse(class: &str, path: PathBuf, text: String) -> Result<BugPage> {
        let part = |kind: &str| -> Result<Range<usize>> {
            block(&text, kind).with_context(|| format!("no block ```{kind}"))
        };
        let (program, shown, change) = (part("c")?, part("text")?, part("diff")?);
        let program = text.get(program).unwrap_or_default().to_owned();
        let comments: String = text
            .lines()
            .filter(|line| line.starts_with("<!--"))
            .map(|line| format!("{line}\n"))
            .collect();
        let expectation = Expectation::parse(&comments, &program)?;
        let healed = changed(&program, text.get(change).unwrap_or_default())?;
        Ok(BugPage {
            path,
            class: class.to_owned(),
            program,
            expectation,
            shown,
            healed,
            text,
        })
    }

    /// The classes that have a page, sorted.
    pub fn classes() -> Result<Vec<String>> {
        let mut classes = Vec::new();
        for entry in fs::read_dir(folder())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if let Some(class) = name.strip_suffix(".md").filter(|class| *class != "README") {
                classes.push(class.to_owned());
            }
        }
        classes.sort();
        Ok(classes)
    }

    /// The explanation that the page shows.
    pub fn shown(&self) -> &str {
        self.text.get(self.shown.clone()).unwrap_or_default()
    }

    /// Rewrites the page with another explanation.
    pub fn show(&self, explanation: &str) -> Result<()> {
        let mut text = self.text.clone();
        text.replace_range(self.shown.clone(), explanation);
        fs::write(&self.path, text).with_context(|| self.path.display().to_string())
    }
}

fn folder() -> PathBuf {
    crate::project().join("docs/bugs")
}

/// Range of the content of the first block of this kind.
fn block(text: &str, kind: &str) -> Option<Range<usize>> {
    let opening = format!("```{kind}\n");
    let start = text.find(&opening)? + opening.len();
    let length = if text.get(start..)?.starts_with("```") {
        0
    } else {
        text.get(start..)?.find("\n```")? + 1
    };
    Some(start..start + length)
}

/// `program` with a change applied: its old lines must stand in the program exactly once.
pub(crate) fn changed(program: &str, change: &str) -> Result<String> {
    let lines = |dropped: char| -> String {
        let kept = change.lines().filter(|line| !line.starts_with(dropped));
        kept.map(|line| format!("{}\n", line.get(1..).unwrap_or_default()))
            .collect()
    };
    let (old, new) = (lines('+'), lines('-'));
    ensure!(!old.is_empty(), "the change is empty");
    ensure!(
        program.matches(&old).count() == 1,
        "these lines are not in the program once:\n{old}"
    );
    Ok(program.replacen(&old, &new, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_replaces_lines() {
        let healed = changed("a\nb\nc\n", " a\n-b\n+d\n+\n").unwrap();
        assert_eq!(healed, "a\nd\n\nc\n");
        assert!(changed("a\nb\n", "-x\n").is_err());
        assert!(changed("a\na\n", "-a\n").is_err());
    }

    #[test]
    fn blocks_are_found() {
        let text = "x\n```c\nint a;\n```\n```text\n```\n";
        assert_eq!(&text[block(text, "c").unwrap()], "int a;\n");
        assert_eq!(&text[block(text, "text").unwrap()], "");
        assert_eq!(block(text, "diff"), None);
    }

    #[test]
    fn every_page_can_be_read() {
        for class in BugPage::classes().unwrap() {
            BugPage::open(&class).unwrap_or_else(|error| panic!("{error:#}"));
        }
    }
}
