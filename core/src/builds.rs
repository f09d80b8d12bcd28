//! Outdated builds, of which a newer one was recorded: their failures may be fixed by now, so the newest counts only.

use crate::CorpusKey;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::SystemTime,
};

/// The keys that are of an older build than another one of the same command on the same input, from the key of each run and
/// the time of its file, since a run has none. If the newest files of two builds have the same age, both are new. Traces that
/// were imported have no build and are never outdated.
pub fn outdated<'a>(
    runs: impl IntoIterator<Item = (&'a CorpusKey, SystemTime)>,
) -> BTreeSet<&'a CorpusKey> {
    let mut last: BTreeMap<&CorpusKey, SystemTime> = BTreeMap::new();
    for (key, modified) in runs {
        if !key.build_id.is_empty() {
            let time = last.entry(key).or_insert(modified);
            *time = modified.max(*time);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn key(build: &str, command: &str) -> CorpusKey {
        CorpusKey {
            build_id: build.to_owned(),
            command: vec![command.to_owned()],
            input_hash: String::new(),
        }
    }

    #[test]
    fn the_newest_build_of_each_program_counts() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let (old, new, other) = (key("1", "./a"), key("2", "./a"), key("1", "./b"));
        let imported = key("", "./a");
        let runs = [
            (&old, at(1)),
            (&new, at(3)),
            (&old, at(2)),
            (&other, at(1)),
            (&imported, at(0)),
        ];
        assert_eq!(outdated(runs), BTreeSet::from([&old]));
        let again = [(&old, at(3)), (&new, at(3))];
        assert!(outdated(again).is_empty(), "both are new");
    }
}
