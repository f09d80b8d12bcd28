//! Pages of the guide, whose commands are executed in their order, in an empty folder.
//!
//! A block of code with `file=NAME` behind its language is a file, or as `diff` a change of one. Blocks of `sh` are
//! executed, each as one script that ends with 0 or with the status that `exits=N` names. A block of `text` behind one
//! shows what it prints; a line of three dots in it stands for any lines. All others are only for reading.

use crate::{Finished, Workspace, binary, page::changed, workspace::search_path};
use anyhow::{Context, Result, ensure};
use std::{env, fs, ops::Range, path::PathBuf};

/// Folder of a reader, in place of the one in which a page was walked.
const FOLDER: &str = "/home/you/project";
/// A line that stands for any lines.
const ANY: &str = "...";

/// A page of the guide.
#[derive(Debug)]
pub struct WalkedPage {
    path: PathBuf,
    text: String,
}

/// A block of a page.
struct PageBlock<'a> {
    /// The words behind its opening fence.
    info: Vec<&'a str>,
    content: Range<usize>,
}

impl PageBlock<'_> {
    fn language(&self) -> &str {
        self.info.first().copied().unwrap_or_default()
    }

    fn value(&self, name: &str) -> Option<&str> {
        let pairs = self.info.iter().filter_map(|word| word.split_once('='));
        let mut values = pairs.filter(|(key, _)| *key == name);
        values.next().map(|(_, value)| value)
    }
}

impl WalkedPage {
    /// Reads a page, by its path below `docs`.
    pub fn open(name: &str) -> Result<WalkedPage> {
        let path = crate::project().join("docs").join(name);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(WalkedPage { path, text })
    }

    /// Does what the page says, and compares what is printed. With `update` what the page shows is replaced instead,
    /// except in blocks with three dots.
    pub fn walk(&self, update: bool) -> Result<()> {
        let workspace = Workspace::new()?;
        let mut printed: Option<String> = None;
        let mut shown: Vec<(Range<usize>, String)> = Vec::new();
        for block in blocks(&self.text) {
            let content = self.text.get(block.content.clone()).unwrap_or_default();
            match (block.language(), block.value("file")) {
                ("diff", Some(file)) => {
                    let old = fs::read_to_string(workspace.path().join(file))?;
                    workspace.write(file, &changed(&old, content)?)?;
                }
                (_, Some(file)) => drop(workspace.write(file, content)?),
                ("sh", None) => printed = Some(execute(&workspace, content, &block)?),
                ("text", None) => {
                    let Some(printed) = printed.take() else {
                        continue;
                    };
                    if is_shown(&steady(content), &steady(&printed)) {
                        continue;
                    }
                    let is_whole = !content.lines().any(|line| line == ANY);
                    ensure!(
                        update && is_whole,
                        "the page shows\n{content}\nbut the commands print\n{printed}"
                    );
                    shown.push((block.content, printed));
                }
                _ => {}
            }
        }
        self.show(shown)
    }

    /// Rewrites what the page shows at these ranges.
    fn show(&self, shown: Vec<(Range<usize>, String)>) -> Result<()> {
        if shown.is_empty() {
            return Ok(());
        }
        let mut text = self.text.clone();
        for (range, printed) in shown.into_iter().rev() {
            text.replace_range(range, &printed);
        }
        fs::write(&self.path, text).with_context(|| self.path.display().to_string())
    }
}

/// The blocks of a page, in their order.
fn blocks(text: &str) -> Vec<PageBlock<'_>> {
    let mut blocks: Vec<PageBlock<'_>> = Vec::new();
    let (mut at, mut is_open) = (0, false);
    for line in text.split_inclusive('\n') {
        let fence = line.trim_end().strip_prefix("```");
        match (fence, is_open) {
            (Some(info), false) => blocks.push(PageBlock {
                info: info.split_whitespace().collect(),
                content: at + line.len()..at + line.len(),
            }),
            (Some(_), true) => {
                if let Some(block) = blocks.last_mut() {
                    block.content.end = at;
                }
            }
            (None, _) => {}
        }
        is_open ^= fence.is_some();
        at += line.len();
    }
    blocks
}

/// Runs the commands of a block; returns everything that they print, as a reader sees it.
fn execute(workspace: &Workspace, commands: &str, block: &PageBlock<'_>) -> Result<String> {
    let status = block.value("exits").map_or(Ok(0), str::parse::<i32>)?;
    let script = format!("exec 2>&1\n{commands}");
    let mut command = workspace.command("sh", &["-ec", &script]);
    let own = binary::unsnarl()?.parent().context("a folder")?.to_owned();
    let path = env::join_paths(std::iter::once(own).chain(env::split_paths(&search_path())))?;
    command.env("PATH", path);
    let printed = Finished::of(command)?.exits(status)?.stdout;
    let folder = workspace.path().canonicalize()?;
    Ok(printed.replace(&folder.display().to_string(), FOLDER))
}

/// The text without what differs from run to run and from folder to folder: times, and hashes of files.
fn steady(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.trim_end().split(' ').collect();
        let units = words.iter().skip(1).copied().chain([""]);
        let steady = words.iter().zip(units).map(|(word, unit)| {
            let is_rate = ["s", "s,", "runs/s,", "runs/s"].contains(&unit);
            match is_rate && word.starts_with(|c: char| c.is_ascii_digit()) {
                true => "N".to_owned(),
                false => without_hash(word),
            }
        });
        steady.collect::<Vec<_>>().join(" ")
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The word without a hash of eight digits at its end: of a run's name, or of a build.
fn without_hash(word: &str) -> String {
    let name = word.trim_end_matches(['.', ',', ':', ')']);
    let start = name.len().saturating_sub(8);
    let is_hash = |end: &str| end.len() == 8 && end.chars().all(|c| c.is_ascii_hexdigit());
    match (name.get(..start), name.get(start..)) {
        (Some(head), Some(end)) if is_hash(end) && (head.is_empty() || head.ends_with('-')) => {
            head.to_owned()
        }
        _ => word.to_owned(),
    }
}

/// Returns whether lines that a page shows are those that were printed.
fn is_shown(shown: &str, printed: &str) -> bool {
    let (shown, printed): (Vec<&str>, Vec<&str>) =
        (shown.lines().collect(), printed.lines().collect());
    let parts: Vec<&[&str]> = shown.split(|line| *line == ANY).collect();
    let [first, others @ ..] = parts.as_slice() else {
        return true;
    };
    let (true, Some((last, middle))) = (printed.starts_with(first), others.split_last()) else {
        return shown == printed;
    };
    let mut rest = printed.get(first.len()..).unwrap_or_default();
    for part in middle {
        let mut starts = 0..rest.len();
        let found = starts.find(|at| rest.get(*at..).is_some_and(|rest| rest.starts_with(part)));
        let Some(at) = found.or(part.is_empty().then_some(0)) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_names_and_statuses() {
        let text = "x\n```c file=a.c\nint a;\n```\n```sh exits=1\nfalse\n```\n```text\n```\n";
        let blocks = blocks(text);
        let contents: Vec<&str> = blocks
            .iter()
            .map(|one| &text[one.content.clone()])
            .collect();
        assert_eq!(contents, ["int a;\n", "false\n", ""]);
        assert_eq!(blocks[0].value("file"), Some("a.c"));
        assert_eq!(blocks[1].value("exits"), Some("1"));
        assert_eq!(
            (blocks[2].language(), blocks[2].value("file")),
            ("text", None)
        );
    }

    #[test]
    fn dots_stand_for_any_lines() {
        assert!(is_shown("a\nb\n", "a\nb\n"));
        assert!(!is_shown("a\n", "a\nb\n"));
        assert!(is_shown("a\n...\n", "a\nb\n"));
        assert!(is_shown("...\nb\n", "a\nb\n"));
        assert!(is_shown("a\n...\nc\n...\ne\n", "a\nb\nc\nd\ne\n"));
        assert!(!is_shown("a\n...\nx\n...\ne\n", "a\nb\nc\nd\ne\n"));
        assert!(!is_shown("b\n...\n", "a\nb\n"));
    }

    #[test]
    fn times_and_hashes_are_left_out() {
        assert_eq!(
            steady("4 runs: 93 runs/s, seed 1; 0.3 s, in failed-pct-12-0123abcd."),
            "4 runs: N runs/s, seed 1; N s, in failed-pct-12-\n"
        );
    }
}
