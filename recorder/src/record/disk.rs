//! Disk quota for the runs in a folder: old passing runs make room for new ones.

use rustix::fs::statvfs;
use std::{
    cmp::Reverse,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};
use unsnarl_trace::{EncodedRun, Outcome, RunFolder, StoreError};

/// Bytes that runs leave free on the file system.
const LEFT_FREE: u64 = 16 << 20;

/// Counts of run files that were not kept, or were removed, for lack of room or because they were of no use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Discarded {
    /// Runs that were removed for others, all but the failing ones.
    pub removed: u64,
    /// Failing runs that were removed for others.
    pub removed_failing: u64,
    /// Runs for which there was no room.
    pub refused: u64,
    /// Runs that were cut short for a reason that leaves nothing to examine.
    pub cut_short: u64,
}

/// A run file of the folder.
struct KeptFile {
    path: PathBuf,
    len: u64,
    /// Rank: runs with a greater one are removed later. Failing runs, and younger ones, rank higher.
    worth: (bool, SystemTime, u64),
}

/// The run files of a folder, within a bound.
pub(super) struct Disk {
    folder: RunFolder,
    most: u64,
    used: u64,
    /// Run files in the order of their rank; those at the end are removed first.
    kept: Vec<KeptFile>,
    stored: u64,
    pub discarded: Discarded,
}

impl Disk {
    /// Reads the files of the folder, which may take `most` bytes.
    pub fn of(folder: RunFolder, most: u64) -> io::Result<Disk> {
        let files = folder.files()?.into_iter();
        let mut kept: Vec<KeptFile> = files
            .map(|file| KeptFile {
                worth: (is_failing(&file.name), file.modified, 0),
                path: file.path,
                len: file.len,
            })
            .collect();
        kept.sort_by(|a, b| (Reverse(a.worth), &b.path).cmp(&(Reverse(b.worth), &a.path)));
        Ok(Disk {
            used: kept.iter().map(|kept| kept.len).sum(),
            folder,
            most,
            kept,
            stored: 0,
            discarded: Discarded::default(),
        })
    }

    /// Stores a run if there is room for it, or room can be made; returns its file.
    pub fn store(
        &mut self,
        run: &EncodedRun,
        outcome: Outcome,
    ) -> Result<Option<PathBuf>, StoreError> {
        if self.folder.has(run) {
            return self.folder.store_encoded(run).map(Some);
        }
        let is_failing = outcome.is_failure();
        if !self.make_room(run.len(), is_failing)? {
            self.discarded.refused += 1;
            return Ok(None);
        }
        let path = self.folder.store_encoded(run)?;
        self.used += run.len();
        self.stored += 1;
        let kept = KeptFile {
            path: path.clone(),
            len: run.len(),
            worth: (is_failing, SystemTime::now(), self.stored),
        };
        let place = self.kept.partition_point(|other| other.worth > kept.worth);
        self.kept.insert(place, kept);
        Ok(Some(path))
    }

    /// Removes runs until there is room for `bytes` more, but no failing ones for a passing one. A full file system
    /// is an error: others need its room, too.
    fn make_room(&mut self, bytes: u64, for_failing: bool) -> Result<bool, StoreError> {
        while self.used.saturating_add(bytes) > self.most {
            let goes = |kept: &KeptFile| for_failing || !kept.worth.0;
            if bytes > self.most || !self.kept.last().is_some_and(goes) {
                return Ok(false);
            }
            if let Some(kept) = self.kept.pop() {
                self.remove(kept)?;
            }
        }
        match self.has_space(bytes) {
            true => Ok(true),
            false => Err(StoreError::Io {
                path: self.folder.path().to_owned(),
                source: io::ErrorKind::StorageFull.into(),
            }),
        }
    }

    fn remove(&mut self, kept: KeptFile) -> Result<(), StoreError> {
        let path = kept.path;
        match fs::remove_file(&path) {
            // Somebody else removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::Io { path, source }),
            Ok(()) if kept.worth.0 => self.discarded.removed_failing += 1,
            Ok(()) => self.discarded.removed += 1,
        }
        self.used = self.used.saturating_sub(kept.len);
        Ok(())
    }

    /// Returns whether the file system has as much space left. One that does not say is taken to have it.
    fn has_space(&self, bytes: u64) -> bool {
        let folder = self.folder.path();
        let there = folder.ancestors().find(|path| path.exists());
        let there = there.filter(|path| !path.as_os_str().is_empty());
        match statvfs(there.unwrap_or(Path::new("."))) {
            Ok(free) => free.f_bavail.saturating_mul(free.f_frsize) >= bytes + LEFT_FREE,
            Err(_) => true,
        }
    }
}

/// Returns whether the name is that of a failing run: the outcome stands at its beginning.
fn is_failing(name: &str) -> bool {
    let failing = [Outcome::Failed, Outcome::Deadlocked, Outcome::TimedOut];
    let mut names = failing.iter().map(|outcome| outcome.name());
    names.any(|outcome| {
        name.strip_prefix(outcome)
            .is_some_and(|rest| rest.starts_with('-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use unsnarl_trace::{Run, RunMeta};

    fn encoded(seed: u64, outcome: Outcome) -> EncodedRun {
        let meta = RunMeta {
            seed,
            outcome,
            strategy: "random".to_owned(),
            ..RunMeta::default()
        };
        EncodedRun::of(&Run {
            meta,
            ..Run::default()
        })
        .unwrap()
    }

    fn names(folder: &RunFolder) -> Vec<String> {
        let files = folder.files().unwrap();
        let start = |name: &str| {
            name.rsplit_once('-')
                .map_or(String::new(), |it| it.0.to_owned())
        };
        files.iter().map(|file| start(&file.name)).collect()
    }

    #[test]
    fn the_oldest_passing_run_goes_first_and_failing_ones_last() {
        use Outcome::{Failed, Passed};
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(place.path());
        let most = 3 * encoded(1, Passed).len() + 200;
        let mut disk = Disk::of(folder.clone(), most).unwrap();
        let mut store = |seed, outcome| {
            let path = disk.store(&encoded(seed, outcome), outcome).unwrap();
            (path.is_some(), disk.discarded)
        };
        for (seed, outcome) in [(1, Failed), (2, Passed), (3, Passed)] {
            assert!(store(seed, outcome).0);
        }
        let (stored, discarded) = store(4, Passed);
        assert!(stored && discarded.removed == 1);
        assert_eq!(
            names(&folder),
            ["failed-random-1", "passed-random-3", "passed-random-4"]
        );
        assert!(store(5, Failed).0 && store(6, Failed).0);
        assert_eq!(
            names(&folder),
            ["failed-random-1", "failed-random-5", "failed-random-6"]
        );
        let (stored, discarded) = store(7, Passed);
        assert!(!stored && discarded.refused == 1 && discarded.removed_failing == 0);
        let (stored, discarded) = store(8, Failed);
        assert!(stored && discarded.removed_failing == 1);
        assert_eq!(
            names(&folder),
            ["failed-random-5", "failed-random-6", "failed-random-8"]
        );
    }

    #[test]
    fn runs_of_earlier_campaigns_are_older() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(place.path());
        for (seed, age) in [(1, 10), (2, 30), (3, 20)] {
            let path = folder
                .store_encoded(&encoded(seed, Outcome::Passed))
                .unwrap();
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age))
                .unwrap();
        }
        let most = 3 * encoded(1, Outcome::Passed).len() + 200;
        let mut disk = Disk::of(folder.clone(), most).unwrap();
        let path = disk
            .store(&encoded(4, Outcome::Passed), Outcome::Passed)
            .unwrap();
        assert!(path.is_some());
        assert_eq!(
            names(&folder),
            ["passed-random-1", "passed-random-3", "passed-random-4"]
        );
    }

    #[test]
    fn a_run_that_is_larger_than_all_may_be_removes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(place.path());
        folder.store_encoded(&encoded(1, Outcome::Passed)).unwrap();
        let mut disk = Disk::of(folder.clone(), 100).unwrap();
        let run = encoded(2, Outcome::Failed);
        assert_eq!(disk.store(&run, Outcome::Failed).unwrap(), None);
        assert_eq!(names(&folder), ["passed-random-1"]);
    }
}
