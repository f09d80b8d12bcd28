//! A mark in the folder while a campaign runs: a leftover mark shows that a campaign was killed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

/// Prefix of marks; the process number follows. Readers of runs pass such names over.
const PREFIX: &str = ".recording-";

/// The mark of this process, which is removed when the value is dropped.
#[derive(Debug)]
pub(super) struct Marker {
    path: PathBuf,
}

impl Marker {
    /// Marks the folder, which must exist.
    pub fn set(folder: &Path) -> io::Result<Marker> {
        let path = folder.join(format!("{PREFIX}{}", std::process::id()));
        fs::write(&path, "")?;
        Ok(Marker { path })
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        // A mark that stays says too much, which is no reason to fail.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes leftovers of campaigns that were killed: their marks, and files that were not renamed any more. Returns
/// the number of these campaigns.
pub(super) fn sweep(folder: &Path) -> io::Result<u64> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other?,
    };
    let mut killed = 0;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(PREFIX).or_else(|| {
            name.strip_prefix('.')?
                .rsplit_once(".arrow.")
                .map(|(_, pid)| pid)
        });
        let Some(process) = process.and_then(|process| process.parse::<u32>().ok()) else {
            continue;
        };
        let is_there = Path::new("/proc").join(process.to_string()).exists();
        if is_there || !name.starts_with(PREFIX) && is_recent(&entry) {
            continue;
        }
        // Another recording may sweep at the same time.
        let swept = fs::remove_file(entry.path()).is_ok();
        killed += u64::from(swept && name.starts_with(PREFIX));
    }
    Ok(killed)
}

/// Returns whether the file is perhaps still being written, by a process that is not seen from here.
fn is_recent(entry: &fs::DirEntry) -> bool {
    const LONG_AGO: Duration = Duration::from_secs(60);
    let age = entry.metadata().and_then(|data| data.modified());
    age.is_ok_and(|time| time.elapsed().unwrap_or_default() < LONG_AGO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dead_processes_left_is_swept_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ".recording-4194305",
            ".passed-random-1-00000000.arrow.4194305",
            "passed-random-1-00000000.arrow",
            ".gitignore",
        ];
        for file in files {
            let file = fs::File::create(folder.path().join(file)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        let mark = Marker::set(folder.path()).unwrap();
        assert_eq!(sweep(folder.path()).unwrap(), 1);
        let left: Vec<bool> = files.map(|file| folder.path().join(file).exists()).to_vec();
        assert_eq!(left, [false, false, true, true]);
        assert!(mark.path.exists());
        assert_eq!(sweep(&folder.path().join("nowhere")).unwrap(), 0);
    }
}
