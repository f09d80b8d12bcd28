//! Measurements of the tree: sizes, documentation, names and commit messages, as one table.
//!
//! The files are those that git tracks. Each Rust source is parsed once, so the time is linear in the size of the tree.

mod commits;
mod constants;
mod figures;
mod report;
mod source;
mod tree;
mod walks;

pub use figures::MeasuredShare;
pub use source::{attributes, is_for_tests};
pub use tree::TrackedFile;

use crate::shell::{self, command};
use anyhow::{Context, Result};
use std::{collections::BTreeMap, fs, path::PathBuf};

/// Measures the working tree and prints the tables.
pub fn run() -> Result<()> {
    let files = tracked_files()?;
    let measured = tree::measure(&files)?;
    let subjects = shell::output(command("git", &["log", "--no-merges", "--format=%s"]))?;
    print!(
        "{}",
        report::tables(&measured, &commits::measure(&subjects))
    );
    let docs = fs::read_to_string(shell::project().join("docs/explain.md"))?;
    let mut numbers = Vec::new();
    for file in &files {
        numbers.extend(constants::constants(&file.path, &file.text)?);
    }
    print!("{}", constants::summary(&numbers, &docs));
    let page = fs::read_to_string(shell::project().join(walks::PAGE))?;
    let exists = |path: &str| shell::project().join(path).exists();
    print!("{}", walks::table(&page, exists)?);
    Ok(())
}

/// Rust sources that are not built for tests only. They may contain tests.
pub fn product_sources() -> Result<Vec<TrackedFile>> {
    let files = tracked_files()?;
    let sources = tree::rust_sources(&files)?;
    let product = sources.iter().filter(|source| !source.is_test);
    Ok(product.map(|source| source.file.clone()).collect())
}

/// Type names that a crate defines more than once outside of tests, each with the files that do.
pub fn shared_type_names() -> Result<BTreeMap<String, Vec<PathBuf>>> {
    let files = tracked_files()?;
    let mut places: BTreeMap<(PathBuf, String), Vec<PathBuf>> = BTreeMap::new();
    for source in tree::rust_sources(&files)?
        .iter()
        .filter(|source| !source.is_test)
    {
        for name in &source.figures.types {
            let key = (source.name.to_path_buf(), name.clone());
            places
                .entry(key)
                .or_default()
                .push(source.file.path.clone());
        }
    }
    places.retain(|_, files| files.len() > 1);
    let named = |((folder, name), files): ((PathBuf, String), _)| {
        (format!("{} of {}", name, folder.display()), files)
    };
    Ok(places.into_iter().map(named).collect())
}

fn tracked_files() -> Result<Vec<TrackedFile>> {
    let mut files = Vec::new();
    for path in tracked()? {
        let text = fs::read_to_string(shell::project().join(&path));
        let text = text.with_context(|| format!("{} cannot be read", path.display()))?;
        files.push(TrackedFile { path, text });
    }
    Ok(files)
}

/// Paths of the tracked manifests and of the sources in the languages that the project is written in. The programs that
/// the tests record, in C and C++, are test data.
fn tracked() -> Result<Vec<PathBuf>> {
    let patterns = ["*.rs", "*.ts", "*.lua", "Cargo.toml", "*/Cargo.toml"];
    let list = [["ls-files", "-z", "--"].as_slice(), &patterns].concat();
    let paths = shell::output(command("git", &list))?;
    let paths = paths.split('\0').filter(|path| !path.is_empty());
    Ok(paths.map(PathBuf::from).collect())
}
