//! Sessions after the first one, and runs that there is no room for, over a pipe.

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
use sha2::{Digest, Sha256};
use std::{fs, path::PathBuf, time::Duration};
use support::{
    Client,
    bank::{ASSERTION, BankWorkspace, passing},
    capabilities, uri,
};

const HEADLINE: &str = "another thread's update of `balance` was lost";

/// A session from beginning to end; the messages at the failure as they were shown, `last` at last. The answer that
/// everything is looked at may come before what was shown then: the protocol orders only answers among themselves.
async fn session(workspace: &BankWorkspace, last: &str) -> Vec<String> {
    let mut client = Client::start(&workspace.path()).await;
    let (mut shown, source) = (Vec::new(), workspace.source());
    client.status(|status| status["quiescent"] == true).await;
    while shown.last().is_none_or(|message| message != last) {
        let diagnostics = client.diagnostics(&source).await;
        let mut at_failure = diagnostics
            .iter()
            .filter(|one| one["range"]["start"]["line"] == ASSERTION - 1);
        let message = at_failure.next().and_then(|one| one["message"].as_str());
        shown.extend(message.map(str::to_owned));
    }
    client.shutdown().await;
    shown
}

/// The file in which the server keeps what it found.
fn cache(workspace: &BankWorkspace) -> PathBuf {
    let mut files = fs::read_dir(workspace.path().join(".unsnarl/cache")).unwrap();
    files.next().unwrap().unwrap().path()
}

/// The same content with another headline, as if an older session had found that.
fn forged(text: &str) -> String {
    let (head, body) = text.split_once('\n').unwrap();
    let body = body.replace(HEADLINE, "as it was kept");
    let (words, _) = head.rsplit_once(' ').unwrap();
    let digest = Sha256::digest(&body);
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{words} {hash}\n{body}")
}

#[tokio::test]
async fn what_was_found_is_shown_again_before_runs_are_read() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    workspace.land_passing("passed-random-2");
    let found = format!("assertion `balance == 450` failed: {HEADLINE}");
    assert_eq!(
        session(&workspace, &found).await.as_slice(),
        std::slice::from_ref(&found)
    );
    let kept = fs::read_to_string(cache(&workspace)).unwrap();

    fs::write(cache(&workspace), forged(&kept)).unwrap();
    let first = found.replace(HEADLINE, "as it was kept");
    assert_eq!(
        session(&workspace, &found).await,
        [first, found.clone()],
        "shown, then put right"
    );

    // Damaged, of another version, or about other files: as good as not there, and written anew.
    workspace.land_passing("passed-random-3");
    for bad in [
        forged(&kept),
        kept.replace(HEADLINE, "damaged"),
        kept.replacen(" 1 ", " 0 ", 1),
        "nonsense".to_owned(),
    ] {
        fs::write(cache(&workspace), &bad).unwrap();
        assert_eq!(
            session(&workspace, &found).await.as_slice(),
            std::slice::from_ref(&found)
        );
        let now = fs::read_to_string(cache(&workspace)).unwrap();
        assert!(now != bad && now.contains(HEADLINE));
    }
}

/// An editor that reads a file again closes and opens it, and has dropped its marks.
#[tokio::test]
async fn a_file_that_is_opened_again_gets_its_marks_again() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    workspace.land_passing("passed-random-2");
    let source = workspace.source();
    let text = fs::read_to_string(&source).unwrap();
    let mut client = Client::start(&workspace.path()).await;
    client.open(&source, &text).await;
    client.status(|status| status["quiescent"] == true).await;
    let mut shown = client.diagnostics(&source).await;
    while let Some(later) = client.last_diagnostics(&source) {
        shown = later;
    }
    assert!(!shown.is_empty());
    let closed = json!({"textDocument": {"uri": uri(&source)}});
    client.notify("textDocument/didClose", closed).await;
    client.open(&source, &text).await;
    assert_eq!(client.diagnostics(&source).await.len(), shown.len());
    client.shutdown().await;
}

#[tokio::test]
async fn the_oldest_runs_are_left_out_when_there_is_no_room() {
    let workspace = BankWorkspace::new();
    let old = workspace.land_failing("failed-random-0");
    for number in 0..99 {
        workspace.land_passing(&format!("passed-random-{number}"));
    }
    let long_ago = fs::metadata(&old).unwrap().modified().unwrap() - Duration::from_secs(60);
    fs::File::options()
        .write(true)
        .open(&old)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    let params = json!({
        "capabilities": capabilities(),
        "rootUri": uri(&workspace.path()),
        "initializationOptions": { "memory": 1 },
    });
    let mut client = Client::start_with(params).await;
    let status = client
        .status(|status| status["quiescent"] == true && status["runs"] != 0)
        .await;
    let (runs, left_out) = (
        status["runs"].as_u64().unwrap(),
        status["leftOut"].as_u64().unwrap(),
    );
    assert_eq!(runs + left_out, 100);
    assert!(runs > 10 && left_out > 10, "{status}");
    assert_eq!(status["memory"], json!({ "runs": 1, "limit": 1 }));
    assert_eq!(status["failing"], 0, "the failing run is the oldest one");
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("older runs left out: the setting unsnarl.memory is 1 MB"),
        "{message}"
    );

    // A run that lands is the newest one.
    workspace.land_failing("failed-random-new");
    assert_eq!(client.diagnostics(&workspace.source()).await.len(), 4);
    client.shutdown().await;
}

/// A user mends the program, builds and records it again: what was wrong with the build before is no news any more.
#[tokio::test]
async fn a_newer_build_takes_the_marks_of_the_older_one_away() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    workspace.land_failing("failed-random-1");
    let mut client = Client::start(&workspace.path()).await;
    assert_eq!(client.diagnostics(&source).await.len(), 4);
    let mut mended = passing(&source);
    mended.meta.build_id = "b2".to_owned();
    let mended = workspace.land("passed-random-2", &mended);
    assert_eq!(client.diagnostics(&source).await, [] as [Value; 0]);
    let is_hidden = |status: &Value| status["quiescent"] == true && status["outdated"] == 1;
    let status = client.status(is_hidden).await;
    assert_eq!(
        status["message"],
        "2 runs, 1 failing, 0 explanations; 1 failing run of an older build not shown"
    );
    client.shutdown().await;

    // Another session knows it from the cache, and without the newer build the older one counts again.
    let mut client = Client::start(&workspace.path()).await;
    client.status(is_hidden).await;
    fs::remove_file(mended).unwrap();
    assert_eq!(client.diagnostics(&source).await.len(), 4);
    client.shutdown().await;
}
