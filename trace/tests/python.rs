//! The Python of `docs/run-file.md` does what the page says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};
use unsnarl_trace::{LocationId, OrderMode, Outcome, SiteId, read_run};

const PAGE: &str = include_str!("../../docs/run-file.md");

/// Python with the packages that the page imports: `cargo xtask setup` installs it.
fn python() -> PathBuf {
    let named = env::var_os("UNSNARL_TEST_PYTHON").map(PathBuf::from);
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let installed = cache.map(|cache| cache.join("unsnarl/tools/bin/python"));
    let python = named.or(installed).filter(|python| python.exists());
    python
        .unwrap_or_else(|| panic!("run `cargo xtask setup` first: it installs Python with polars"))
}

/// Runs the snippet below a heading of the page.
fn snippet(heading: &str, argument: &Path) -> String {
    let section = PAGE
        .split("\n## ")
        .find(|section| section.starts_with(heading))
        .unwrap();
    let code = section
        .split("```python\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let output = Command::new(python())
        .args(["-c", code])
        .arg(argument)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[test]
fn look_at_one() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1.arrow");
    let text = snippet("Look at one", &golden);
    assert!(
        text.starts_with("failed - assertion `balance == 450` failed\n"),
        "{text}"
    );
    for shown in ["main.1", "balance", "300", "500", "bank.c:100:9"] {
        assert!(text.contains(shown), "{shown} is missing in\n{text}");
    }
}

#[test]
fn write_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.arrow");
    snippet("Write one", &path);
    assert!(fs::metadata(&path).unwrap().len() > 0);
    let run = read_run(&path).unwrap();
    assert_eq!(run.damage, [""; 0]);
    assert_eq!(
        (run.meta.mode, run.meta.outcome),
        (OrderMode::Imported, Outcome::Failed)
    );
    assert_eq!(run.events.threads(), [0, 1, 0]);
    assert_eq!(run.events.values(), [2, 1, 1]);
    assert_eq!(run.location(LocationId(1)), "x");
    assert_eq!(
        (
            run.meta.site(SiteId(2)).line,
            run.meta.site(SiteId(2)).column
        ),
        (20, 3)
    );
}
