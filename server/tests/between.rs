//! "Can another thread run between these lines?", over a pipe.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "shared with tests that use the rest")]
mod support;

use expect_test::expect;
use serde_json::{Value, json};
use support::{
    Client,
    bank::{BankWorkspace, READ, WRITE},
    uri,
};

/// The question's command for a selection of lines (from 1), if it is offered.
async fn question(
    client: &mut Client,
    workspace: &BankWorkspace,
    first: u32,
    last: u32,
) -> Option<Value> {
    let at = |line: u32| json!({ "line": line - 1, "character": 0 });
    let params = json!({
        "textDocument": { "uri": uri(&workspace.source()) },
        "range": { "start": at(first), "end": at(last) },
        "context": { "diagnostics": [] },
    });
    let actions = client.request("textDocument/codeAction", params).await;
    let is_question = |action: &&Value| action["command"]["command"] == "unsnarl.between";
    let action = actions.as_array()?.iter().find(is_question)?;
    assert_eq!(
        action["title"],
        "unsnarl: can another thread run between these lines?"
    );
    Some(action["command"].clone())
}

#[tokio::test]
async fn the_recorded_runs_answer() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    workspace.land_passing("passed-random-1");
    let mut client = Client::start(&workspace.path()).await;
    client.diagnostics(&workspace.source()).await;
    assert_eq!(question(&mut client, &workspace, READ, READ).await, None);
    let command = question(&mut client, &workspace, READ, WRITE)
        .await
        .unwrap();
    client.request("workspace/executeCommand", command).await;
    let shown = client.expect("window/showMessage").await;
    expect!["unsnarl: Yes: in failed-random-1 deposit (main.1) writes balance = 500 at bank.c:6 while withdraw (main.2) is between lines 12 and 16. So it was in 1 of the 2 times that a thread was there, in 2 runs."].assert_eq(shown["params"]["message"].as_str().unwrap());
    let wrong = json!({ "command": "unsnarl.between", "arguments": ["bank.c"] });
    let refused = client.request_raw("workspace/executeCommand", wrong).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("two lines"), "{message}");
    client.shutdown().await;
}
