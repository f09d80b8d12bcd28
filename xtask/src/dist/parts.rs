//! The foreign parts of a package: crates in the binaries, packages of npm in the extension, and the solver.

use super::packaging;
use crate::{setup, shell};
use anyhow::{Context, Result};
use cargo_metadata::{MetadataCommand, Package};
use std::{collections::BTreeSet, fs, path::Path};

/// The platform of the packages.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// The package of npm that the extension for VS Code is bundled with. Those that it needs are bundled, too.
const BUNDLED: &str = "vscode-languageclient";

/// A part that others made.
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its kind in package URLs: `cargo`, `npm` or `pypi`.
    pub kind: &'static str,
    /// Its licence as an expression of SPDX.
    pub licence: String,
    /// The texts of licences that come with it.
    pub texts: Vec<String>,
}

/// All parts.
pub fn all() -> Result<Vec<Part>> {
    let mut parts = crates()?;
    parts.extend(bundled()?);
    parts.push(Part {
        name: "z3-solver".to_owned(),
        version: setup::SOLVER_VERSION.trim().to_owned(),
        kind: "pypi",
        licence: "MIT".to_owned(),
        texts: vec![fs::read_to_string(packaging("z3-licence.txt"))?],
    });
    Ok(parts)
}

fn crates() -> Result<Vec<Part>> {
    let linked = linked()?;
    let mut command = MetadataCommand::new();
    let metadata = command.current_dir(shell::project()).exec()?;
    let is_linked = |package: &&Package| {
        let name = format!("{} v{}", package.name, package.version);
        package.source.is_some() && linked.contains(&name)
    };
    metadata
        .packages
        .iter()
        .filter(is_linked)
        .map(of_crate)
        .collect()
}

/// Names with versions of the crates in the binaries: cargo's metadata also has what only tests take.
fn linked() -> Result<BTreeSet<String>> {
    let words = [
        "tree",
        "--package",
        "unsnarl",
        "--package",
        "unsnarl-fleet",
        "--edges",
        "normal,no-proc-macro",
        "--target",
        PLATFORM,
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let tree = shell::output(shell::cargo(&words))?;
    let names = tree.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').take(2).collect();
        words.join(" ")
    });
    Ok(names.collect())
}

fn of_crate(package: &Package) -> Result<Part> {
    let folder = package
        .manifest_path
        .parent()
        .context("a manifest in no folder")?;
    let licence = package.license.as_ref();
    Ok(Part {
        name: package.name.to_string(),
        version: package.version.to_string(),
        kind: "cargo",
        licence: licence
            .with_context(|| format!("{} names no licence", package.name))?
            .clone(),
        texts: texts(folder.as_std_path())?,
    })
}

fn bundled() -> Result<Vec<Part>> {
    let modules = shell::project().join("editors/vscode/node_modules");
    let (mut open, mut seen) = (vec![BUNDLED.to_owned()], BTreeSet::new());
    let mut parts = Vec::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let folder = modules.join(&name);
        let about = fs::read_to_string(folder.join("package.json"))?;
        let about: serde_json::Value = serde_json::from_str(&about)?;
        let word = |key: &str| {
            about
                .get(key)
                .and_then(|word| word.as_str())
                .map(str::to_owned)
        };
        parts.push(Part {
            version: word("version").with_context(|| format!("{name} has no version"))?,
            kind: "npm",
            licence: word("license").with_context(|| format!("{name} names no licence"))?,
            texts: texts(&folder)?,
            name,
        });
        let needs = about
            .get("dependencies")
            .and_then(|needs| needs.as_object());
        open.extend(needs.into_iter().flat_map(|needs| needs.keys().cloned()));
    }
    Ok(parts)
}

/// Beginnings of the names of files with a licence.
const NAMES: [&str; 5] = ["licen", "copying", "notice", "unlicen", "copyright"];

/// The texts in the folder of a part, sorted.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if NAMES.iter().any(|start| name.starts_with(start)) && entry.file_type()?.is_file() {
            texts.push(fs::read_to_string(entry.path())?.replace("\r\n", "\n"));
        }
    }
    texts.sort();
    Ok(texts)
}
