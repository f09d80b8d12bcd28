//! Sources that runs were recorded of, and whether they are still the same.

use std::{collections::BTreeMap, sync::Arc};
use unsnarl_trace::{
    Run,
    files::{MOST_TEXT, read_regular, read_text, sha256},
};

/// Has the file another content than when it was recorded? Not when it cannot be read.
#[must_use]
pub fn is_other(file: &str, hash: &str) -> bool {
    read_regular(file.as_ref(), MOST_TEXT).is_ok_and(|content| sha256(&content) != hash)
}

/// The texts of the sources of runs, as far as they are still those that were recorded.
#[must_use]
pub fn sources(runs: &[(String, Arc<Run>)]) -> BTreeMap<String, String> {
    let rows = runs.iter().flat_map(|(_, run)| &run.meta.sources);
    let known: BTreeMap<&str, &str> = rows
        .map(|row| (row.file.as_str(), row.sha256.as_str()))
        .collect();
    let same = known
        .into_iter()
        .filter(|(file, hash)| !is_other(file, hash));
    same.filter_map(|(file, _)| Some((file.to_owned(), read_text(file.as_ref()).ok()?)))
        .collect()
}
