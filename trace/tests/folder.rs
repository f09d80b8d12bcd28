//! The folder of runs: foreign files, full disks, folders that cannot be written.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::{fs, path::Path, process::Command};
use unsnarl_trace::{
    Run,
    folder::{RunFolder, StoreError},
    read_run, script,
};

fn run() -> Run {
    script::parse("seed 7\nmain R x =1 @3\nmain fails @4 assertion `x` failed").unwrap()
}

fn names(folder: &RunFolder) -> Vec<String> {
    folder
        .files()
        .unwrap()
        .into_iter()
        .map(|file| file.name)
        .collect()
}

#[test]
fn what_lies_beside_runs_is_none_of_them() {
    let project = tempfile::tempdir().unwrap();
    let elsewhere = project.path().join("traces");
    let home = project.path().join(".unsnarl");
    for (runs, beside) in [
        (home.join("runs"), home.join("others")),
        (home.join("runs/old"), home.join("others")),
        (elsewhere.clone(), elsewhere.join("others")),
    ] {
        let folder = RunFolder::new(runs);
        let other = folder.beside("others");
        assert_eq!(other.path(), beside);
        other.store(&run()).unwrap();
        assert_eq!(names(&folder), [""; 0]);
        assert_eq!(names(&other).len(), 1);
    }
}

#[test]
fn what_is_stored_is_listed_and_read() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::of_project(project.path());
    assert_eq!(names(&folder), [""; 0]);
    let path = folder.store(&run()).unwrap();
    assert_eq!(folder.store(&run()).unwrap(), path);
    let name = path.file_stem().unwrap().to_str().unwrap();
    assert!(name.starts_with("failed-random-7-") && name.len() == "failed-random-7-".len() + 8);
    assert_eq!(names(&folder), [name]);
    assert_eq!(read_run(&path).unwrap(), run());
    assert_eq!(
        fs::read_to_string(project.path().join(".unsnarl/.gitignore")).unwrap(),
        "*\n"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn foreign_files_are_passed_over() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::of_project(project.path());
    let path = folder.store(&run()).unwrap();
    for n in 0..1_000 {
        fs::write(folder.path().join(format!("{n}.txt")), "x").unwrap();
    }
    fs::write(folder.path().join(".hidden.arrow"), "x").unwrap();
    fs::write(folder.path().join("arrow"), "x").unwrap();
    fs::create_dir(folder.path().join("folder.arrow")).unwrap();
    std::os::unix::fs::symlink("/nowhere", folder.path().join("dangling.arrow")).unwrap();
    assert_eq!(
        names(&folder),
        [path.file_stem().unwrap().to_str().unwrap()]
    );
}

#[test]
fn runs_are_listed_by_name() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(project.path());
    for seed in [3, 1, 2] {
        let mut run = run();
        run.meta.seed = seed;
        folder.store(&run).unwrap();
    }
    assert!(names(&folder).is_sorted() && names(&folder).len() == 3);
}

#[test]
fn a_folder_that_cannot_be_made() {
    let project = tempfile::tempdir().unwrap();
    fs::write(project.path().join("file"), "x").unwrap();
    let error = RunFolder::new(project.path().join("file/runs"))
        .store(&run())
        .unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }));
    let text = error.to_string();
    assert!(
        text.ends_with("; name a folder that you may write to with --out"),
        "{text}"
    );
}

/// Set for the inner process of [`a_full_disk`]: the folder to store into.
const FOLDER: &str = "UNSNARL_TEST_FOLDER";

/// The test again, in a process that may write no more than 512 bytes to a file.
#[test]
fn a_full_disk() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let error = RunFolder::new(Path::new(&folder))
            .store(&run())
            .unwrap_err()
            .to_string();
        assert!(error.contains("make room"), "{error}");
        return;
    }
    let project = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" --exact a_full_disk --nocapture";
    let this = std::env::current_exe().unwrap();
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(this)
        .env(FOLDER, project.path())
        .status();
    assert!(status.unwrap().success());
    assert_eq!(
        fs::read_dir(project.path()).unwrap().count(),
        0,
        "no part of a file is left"
    );
}
