//! The run files that there is memory for.

use super::{LeftOut, balanced};
use std::collections::BTreeMap;
use unsnarl_core::CorpusKey;
use unsnarl_trace::{
    Outcome, RunFile,
    read::{read_meta, unpacked},
};

/// Bytes of memory that a run takes for each byte of its columns, while it is compared with others.
const MEMORY_PER_BYTE: u64 = 4;

/// Bytes of memory that each run takes beside that.
const MEMORY_PER_RUN: u64 = 16 << 10;

fn memory(file: &RunFile) -> u64 {
    unpacked(&file.path, file.len)
        .saturating_mul(MEMORY_PER_BYTE)
        .saturating_add(MEMORY_PER_RUN)
}

/// Files that fit into `room` bytes: all, or of each program the shortest failing and the shortest passing runs, about as much
/// of the ones as of the others. One of each always fits. What a file is about stands in its first bytes, so those that are left out are not read.
pub(super) fn fitting(files: Vec<RunFile>, room: u64, left_out: &mut LeftOut) -> Vec<RunFile> {
    let needed: u64 = files.iter().map(memory).sum();
    (left_out.all, left_out.needed) = (files.len(), needed);
    if needed <= room {
        return files;
    }
    let mut programs: BTreeMap<Option<CorpusKey>, [Vec<RunFile>; 2]> = BTreeMap::new();
    for file in files {
        let meta = read_meta(&file.path).ok();
        let fails = meta.as_ref().is_some_and(|meta| meta.outcome.is_failure());
        let key = meta.as_ref().map(CorpusKey::of_meta);
        let [failing, others] = programs.entry(key).or_default();
        if fails {
            failing.push(file)
        } else {
            others.push(file)
        }
    }
    let rooms = programs.len().max(1) as u64;
    let mut kept = Vec::new();
    for [mut failing, mut others] in programs.into_values() {
        for files in [&mut failing, &mut others] {
            files.sort_by(|a, b| (a.len, &a.name).cmp(&(b.len, &b.name)));
        }
        kept.extend(within(balanced(failing, others, memory), room / rooms, 2));
    }
    kept.sort();
    left_out.memory = left_out.all - kept.len();
    kept
}

/// The first of the files that fit into `room` bytes, one at least; those that do not are passed over.
pub(super) fn first(files: Vec<RunFile>, room: u64, left_out: &mut LeftOut) -> Vec<RunFile> {
    let all = files.len();
    left_out.needed = files.iter().map(memory).sum();
    let kept = within(files, room, 1);
    left_out.memory = all - kept.len();
    kept
}

fn within(files: Vec<RunFile>, room: u64, always: usize) -> Vec<RunFile> {
    let mut taken = 0;
    let fits = |(at, file): &(usize, RunFile)| {
        let needs = memory(file);
        let fits = *at < always || taken + needs <= room;
        taken += if fits { needs } else { 0 };
        fits
    };
    let kept = files.into_iter().enumerate().filter(fits);
    kept.map(|(_, file)| file).collect()
}

/// Outcome of the run of a file; none when the file does not say.
pub(super) fn outcome(file: &RunFile) -> Option<Outcome> {
    read_meta(&file.path).ok().map(|meta| meta.outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_core::Budget;
    use unsnarl_trace::{RunFolder, script};

    fn folder(runs: &[(&str, usize)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let kept = RunFolder::new(folder.path());
        for (seed, (end, accesses)) in (1..).zip(runs) {
            let mut text = format!("seed {seed}\n");
            text.push_str(&"main W x =1 @1\n".repeat(*accesses));
            text.push_str(end);
            kept.store(&script::parse(&text).unwrap()).unwrap();
        }
        folder
    }

    const FAILS: &str = "main fails @2 assertion\n";

    #[test]
    fn the_shortest_of_both_kinds_are_taken_in_turn() {
        let runs = [
            (FAILS, 9000),
            ("", 8000),
            (FAILS, 10),
            ("", 20),
            (FAILS, 30),
        ];
        let folder = folder(&runs);
        let files = RunFolder::new(folder.path()).files().unwrap();
        let sizes = |room: u64| {
            let mut left_out = LeftOut::default();
            let kept = fitting(files.clone(), room, &mut left_out);
            assert_eq!(left_out.memory, runs.len() - kept.len());
            assert_eq!(left_out.all, runs.len());
            kept.len()
        };
        assert_eq!(sizes(u64::MAX), 5);
        // However little there is, something to compare.
        assert_eq!(sizes(1), 2);
        let mut shortest: Vec<u64> = files.iter().map(memory).collect();
        shortest.sort_unstable();
        assert_eq!(sizes(shortest.iter().take(3).sum()), 3);
    }

    /// Failing runs that run away, beside short ones that pass.
    #[test]
    fn long_runs_of_one_kind_leave_room_for_the_other() {
        let runs = [(FAILS, 9000), (FAILS, 9001), ("", 10), ("", 11), ("", 12)];
        let folder = folder(&runs);
        let files = RunFolder::new(folder.path()).files().unwrap();
        let mut shortest: Vec<u64> = files.iter().map(memory).collect();
        shortest.sort_unstable();
        let mut left_out = LeftOut::default();
        let kept = fitting(files, shortest.iter().take(4).sum(), &mut left_out);
        let failing = kept.iter().filter(|file| file.name.starts_with("failed"));
        assert_eq!((kept.len(), failing.count()), (4, 1));
    }

    #[test]
    fn without_time_two_runs_are_summarized() {
        let folder = folder(&[(FAILS, 4), ("", 5), (FAILS, 6), ("", 7)]);
        let mut loaded = super::super::load(Some(folder.path())).unwrap();
        let corpora = loaded.summarize(&Budget::lasting(std::time::Duration::ZERO));
        let runs: usize = corpora.iter().map(|corpus| corpus.len()).sum();
        assert_eq!((runs, loaded.runs.len(), loaded.left_out.time), (2, 2, 2));
        let failing: usize = corpora.iter().map(|corpus| corpus.failing().count()).sum();
        assert_eq!(failing, 1);
    }
}
