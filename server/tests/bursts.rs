//! Many notifications in a row, over a pipe.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "shared with tests that use the rest")]
mod support;

use std::{
    fs,
    time::{Duration, Instant},
};
use support::{Client, bank::BankWorkspace};

/// Number of edits in a row.
const EDITS: i32 = 10_000;
/// Time that the answer may take after the last edit was sent.
const SOON: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_hover_behind_ten_thousand_edits_is_answered_soon() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    let mut client = Client::start(&workspace.path()).await;
    client.hush("textDocument/publishDiagnostics");
    client.status(|status| status["explanations"] == 1).await;
    let (source, text) = (
        workspace.source(),
        fs::read_to_string(workspace.source()).unwrap(),
    );
    client.open(&source, &text).await;
    // A line comes and goes at the top, so that all marks move each time.
    for version in 2..EDITS + 2 {
        let (lines, text) = match version % 2 {
            0 => (0..0, "\n"),
            _ => (0..1, ""),
        };
        client.edit(&source, version, lines, text).await;
    }
    let sent = Instant::now();
    let hover = client.hover(&source, support::bank::ASSERTION).await;
    let taken = sent.elapsed();
    assert!(hover.is_some_and(|hover| hover.contains("balance")));
    assert!(taken < SOON, "it took {taken:?}");
    client.shutdown().await;
}
