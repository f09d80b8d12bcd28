//! Outdated builds, of which a newer one was recorded: their failures may be fixed by now, so editors show the newest
//! only.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::SystemTime,
};
use unsnarl_core::{Corpora, CorpusKey};
use unsnarl_trace::folder::RunFile;

/// The keys of those corpora that are of an older build than another one of the same command on the same input. A run
/// has no time, so its file's time counts; if the newest files of two builds have the same age, both are new. Traces
/// that were imported have no build and are never outdated.
pub fn outdated<'a>(corpora: &'a Corpora, files: &BTreeSet<RunFile>) -> BTreeSet<&'a CorpusKey> {
    let mut last: BTreeMap<&CorpusKey, SystemTime> = BTreeMap::new();
    for file in files {
        let corpus = corpora.of_run(&file.name).map(|corpus| corpus.key());
        if let Some(key) = corpus.filter(|key| !key.build_id.is_empty()) {
            let time = last.entry(key).or_insert(file.modified);
            *time = file.modified.max(*time);
        }
    }
    let mut newest: BTreeMap<_, SystemTime> = BTreeMap::new();
    for (key, modified) in &last {
        let time = newest.entry(program(key)).or_insert(*modified);
        *time = (*modified).max(*time);
    }
    let is_old = |key: &CorpusKey, modified| {
        newest
            .get(&program(key))
            .is_some_and(|time| modified < *time)
    };
    last.into_iter()
        .filter(|(key, modified)| is_old(key, *modified))
        .map(|(key, _)| key)
        .collect()
}

/// The identity of a program that survives another build.
fn program(key: &CorpusKey) -> (&[String], &str) {
    (&key.command, &key.input_hash)
}
