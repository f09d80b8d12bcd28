//! Check that links between the pages lead to files and headings that exist, and that the book has every page.

use anyhow::{Context, Result, ensure};
use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};
use unsnarl_e2e::project;

/// Pages beside `docs`.
const OTHERS: [&str; 6] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "editors/neovim/README.md",
    "editors/vscode/README.md",
];

#[test]
fn links_lead_somewhere() -> Result<()> {
    let mut broken = Vec::new();
    let others = OTHERS.map(|name| project().join(name));
    for page in pages(&project().join("docs"))?.into_iter().chain(others) {
        for link in links(&prose(&page)?) {
            if !leads_somewhere(&page, &link)? {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    ensure!(
        broken.is_empty(),
        "links that lead nowhere:\n{}",
        broken.join("\n")
    );
    Ok(())
}

#[test]
fn the_book_has_every_page() -> Result<()> {
    let docs = project().join("docs");
    let summary = docs.join("SUMMARY.md");
    let listed = links(&prose(&summary)?).into_iter();
    let mut listed: BTreeSet<PathBuf> = listed.map(|link| docs.join(link)).collect();
    listed.insert(summary);
    let missing: Vec<PathBuf> = pages(&docs)?
        .into_iter()
        .filter(|page| !listed.contains(page))
        .collect();
    ensure!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
    Ok(())
}

/// The pages in a folder and in those below it.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(pages(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The text of a page without its blocks of code.
fn prose(page: &Path) -> Result<String> {
    let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
    let parts = text.split("```").step_by(2);
    Ok(parts.collect::<Vec<_>>().join("\n"))
}

/// The targets of links in a text.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.to_owned());
    targets.filter(|target| !target.is_empty()).collect()
}

fn leads_somewhere(page: &Path, link: &str) -> Result<bool> {
    if link.contains("://") {
        return Ok(true);
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let path = match file {
        "" => page.to_owned(),
        _ => plain(&page.with_file_name(file)),
    };
    if !path.exists() || heading.is_empty() {
        return Ok(path.exists());
    }
    let text = prose(&path)?;
    let headings = text.lines().filter(|line| line.starts_with('#'));
    Ok(headings.map(anchor).any(|anchor| anchor == heading))
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// The name by which a heading is linked.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
