//! Sources that are not where they were recorded: moved checkouts, containers, workspaces opened one level higher.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "shared with tests that use the rest")]
mod support;

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use support::{
    Client,
    bank::{self, SOURCE, failing},
    capabilities, uri,
};
use unsnarl_trace::{Run, write::write_run};

/// Lines (from 0) that carry the marks.
const LINES: [u64; 4] = [5, 11, 15, 23];

/// A checkout that was recorded as `/recorded/proj` and is now in a folder of its own.
struct Moved {
    folder: tempfile::TempDir,
}

impl Moved {
    /// The run of `recorded` lands below `runs_in`; the source is now at `source`.
    fn new(recorded: &str, runs_in: &str, source: &str, text: &str) -> Moved {
        let moved = Moved {
            folder: tempfile::tempdir().unwrap(),
        };
        moved.land(runs_in, &failing(Path::new(recorded)));
        moved.write(source, text);
        moved
    }

    fn land(&self, runs_in: &str, run: &Run) {
        let runs = self.path(runs_in).join(".unsnarl/runs");
        fs::create_dir_all(&runs).unwrap();
        let mut bytes = Vec::new();
        write_run(run, &mut bytes).unwrap();
        fs::write(runs.join("failed-1.arrow"), bytes).unwrap();
    }

    fn write(&self, file: &str, text: &str) {
        fs::create_dir_all(self.path(file).parent().unwrap()).unwrap();
        fs::write(self.path(file), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// The lines with marks at `source` for a client that opens `open`, and the status.
    async fn shown(&self, open: &str, settings: Value) -> (Vec<(PathBuf, u64)>, Value) {
        let mut client = Client::start_with(json!({
            "capabilities": capabilities(),
            "workspaceFolders": [{ "uri": uri(&self.path(open)), "name": "w" }],
            "initializationOptions": settings,
        }))
        .await;
        client.hush("textDocument/publishDiagnostics");
        let status = client
            .status(|status| status["quiescent"] == true && status["runs"] == 1)
            .await;
        let answer = client.request("unsnarl/explanations", Value::Null).await;
        let of = |location: &Value| {
            let path = location["uri"].as_str()?.strip_prefix("file://")?;
            Some((
                path.into(),
                location["range"]["start"]["line"].as_u64().unwrap(),
            ))
        };
        let steps = answer["explanations"][0]["stepLocations"]
            .as_array()
            .unwrap();
        let mut found: Vec<(PathBuf, u64)> = steps.iter().filter_map(of).collect();
        found.sort();
        client.hush("window/logMessage");
        client.shutdown().await;
        (found, status)
    }

    async fn check(&self, open: &str, settings: Value, source: &str) {
        let (found, status) = self.shown(open, settings).await;
        let expected: Vec<(PathBuf, u64)> = LINES
            .iter()
            .map(|line| (self.path(source), *line))
            .collect();
        assert_eq!(found, expected, "{status}");
        assert_eq!(
            (&status["stale"], &status["notFound"]),
            (&json!(0), &json!([]))
        );
    }
}

#[tokio::test]
async fn a_moved_checkout_and_its_parent() {
    let moved = Moved::new("/recorded/proj/src/bank.c", "b", "b/src/bank.c", SOURCE);
    moved.check("b", json!({}), "b/src/bank.c").await;
    moved.check(".", json!({}), "b/src/bank.c").await;
}

#[tokio::test]
async fn a_moved_checkout_that_was_recorded_in_its_build_folder() {
    let recorded = "/recorded/proj/src/bank.c";
    let moved = Moved::new(recorded, "b/build", "b/src/bank.c", SOURCE);
    moved.check("b", json!({}), "b/src/bank.c").await;
    moved.check(".", json!({}), "b/src/bank.c").await;
    moved
        .check(
            "b/build",
            json!({ "sourceMap": { "/recorded/proj": ".." } }),
            "b/src/bank.c",
        )
        .await;
}

#[tokio::test]
async fn a_renamed_folder_is_found_by_the_content() {
    let recorded = "/container/code/bank.c";
    let moved = Moved::new(recorded, "b", "b/lib/money/bank.c", SOURCE);
    moved.check("b", json!({}), "b/lib/money/bank.c").await;
}

#[tokio::test]
async fn of_two_changed_copies_the_one_beside_the_recorded_program() {
    let recorded = "/container/proj/src/bank.c";
    let changed = format!("// new\n{SOURCE}");
    let moved = Moved::new(recorded, "w", "w/one/src/bank.c", &changed);
    moved.write("w/two/src/bank.c", &changed);
    moved.write("w/one/bin/prog", "another");
    moved.write("w/two/bin/prog", "program");
    let mut run = failing(Path::new(recorded));
    run.meta.program = "/container/proj/bin/prog".to_owned();
    run.meta.build_id = bank::sha256("program");
    moved.land("w", &run);
    let (found, _) = moved.shown("w", json!({})).await;
    let expected: Vec<(PathBuf, u64)> = LINES
        .iter()
        .map(|line| (moved.path("w/two/src/bank.c"), line + 1))
        .collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn the_setting_decides() {
    let recorded = "/container/code/bank.c";
    let moved = Moved::new(recorded, "b", "b/lib/bank.c", &format!("// new\n{SOURCE}"));
    let settings = json!({ "sourceMap": { "/container/code": "lib" } });
    let (found, status) = moved.shown("b", settings).await;
    let expected: Vec<(PathBuf, u64)> = LINES
        .iter()
        .map(|line| (moved.path("b/lib/bank.c"), line + 1))
        .collect();
    assert_eq!(found, expected, "{status}");

    fs::write(moved.path("b/bank.c"), SOURCE).unwrap();
    let settings = json!({ "sourceMap": { "/container": "nowhere" } });
    let (found, status) = moved.shown("b", settings).await;
    assert_eq!((found, &status["notFound"]), (vec![], &json!([recorded])));
}

#[tokio::test]
async fn the_reason_is_the_true_one() {
    let recorded = "/container/code/bank.c";
    let lost = Moved::new(recorded, "b", "b/lib/other.c", SOURCE);
    let (found, status) = lost.shown("b", json!({})).await;
    assert_eq!((found.len(), &status["stale"]), (0, &json!(0)));
    let message = status["message"].as_str().unwrap();
    let reason = format!("{recorded} not found: the setting unsnarl.sourceMap says");
    assert!(message.contains(&reason), "{message}");

    let changed = Moved::new(recorded, "b", "b/code/bank.c", "int rewritten;\n");
    let (found, status) = changed.shown("b", json!({})).await;
    assert_eq!((found.len(), &status["notFound"]), (0, &json!([])));
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("the lines changed since the run"),
        "{message}"
    );
}
