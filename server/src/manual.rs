//! The pages about classes of bugs, which diagnostics link to. The binary has them with it and writes them into the
//! user's cache folder: that works without a network, and the pages are those of this version.

use crate::{follow::sha256, replace::replace};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
};
use unsnarl_core::BugKind;

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
    let folder = cache().join(format!("bugs-{hash}"));
    fs::create_dir_all(&folder)?;
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

/// `$XDG_CACHE_HOME/unsnarl`, else `$HOME/.cache/unsnarl`, else below the temporary folder.
fn cache() -> PathBuf {
    let named = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    cache.unwrap_or_else(env::temp_dir).join("unsnarl")
}
