//! The pages about classes of bugs, which diagnostics link to. The binary has them with it and writes them into the
//! user's cache folder: that works without a network, and the pages are those of this version.

use std::{
    fs, io,
    path::{Path, PathBuf},
};
use unsnarl_core::BugKind;
use unsnarl_trace::{
    files::{replace, sha256},
    own_folder::{self, Purpose},
};

macro_rules! page {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../docs/bugs/", $name, ".md")),
        )
    };
}

/// Names and texts. A program that fails in every order needs no page.
const PAGES: [(&str, &str); 7] = [
    page!("atomicity-violation"),
    page!("multi-variable-atomicity-violation"),
    page!("order-violation"),
    page!("data-race"),
    page!("deadlock"),
    page!("lost-wakeup"),
    page!("use-after-free"),
];

/// Writes the pages that are not there yet. Answers with their folder.
pub fn unpack() -> io::Result<PathBuf> {
    let all: String = PAGES.iter().map(|(_, text)| *text).collect();
    let hash = sha256(all.as_bytes());
    let hash = hash.get(..8).unwrap_or(&hash);
    let cache = Purpose::Cache.folder().map_err(io::Error::other)?;
    let folder = cache.join(format!("bugs-{hash}"));
    own_folder::claim(&folder)?;
    for (name, text) in PAGES {
        let page = folder.join(name).with_extension("md");
        if fs::read_to_string(&page).is_ok_and(|there| there == text) {
            continue;
        }
        // Another server may be writing the same.
        replace(&page, text)?;
    }
    Ok(folder)
}

/// The page about a class of bugs in that folder.
pub fn page(folder: &Path, kind: BugKind) -> Option<PathBuf> {
    let has_page = PAGES.iter().any(|(name, _)| *name == kind.word());
    has_page.then(|| folder.join(kind.word()).with_extension("md"))
}
