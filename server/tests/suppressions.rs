//! Findings that the project calls harmless, over a pipe.

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
use std::{fs, path::PathBuf};
use support::{
    Client,
    bank::{BankWorkspace, READ},
    capabilities, uri,
};

const HEADLINE: &str = "another thread's update of `balance` was lost";

fn file(workspace: &BankWorkspace) -> PathBuf {
    workspace.path().join(".unsnarl-suppressions.toml")
}

/// The command behind "this is harmless" at the line where the balance is read.
async fn harmless(client: &mut Client, workspace: &BankWorkspace) -> Value {
    let at = json!({ "line": READ - 1, "character": 0 });
    let params = json!({
        "textDocument": { "uri": uri(&workspace.source()) },
        "range": { "start": at, "end": at },
        "context": { "diagnostics": [] },
    });
    let actions = client.request("textDocument/codeAction", params).await;
    let title = "unsnarl: this is harmless (suppress)";
    let mut actions = actions.as_array().unwrap().iter();
    actions.find(|action| action["title"] == title).unwrap()["command"].clone()
}

#[tokio::test]
async fn what_is_called_harmless_has_no_marks_until_its_entry_goes() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    let source = workspace.source();
    let mut client = Client::start(&workspace.path()).await;
    assert_eq!(client.diagnostics(&source).await.len(), 4);
    let command = harmless(&mut client, &workspace).await;
    assert_eq!(command["command"], "unsnarl.suppress");
    let id = command["arguments"][0].clone();
    let with_reason = json!({
        "command": command["command"],
        "arguments": [id, "a test of \"interest\""],
    });
    client
        .request("workspace/executeCommand", with_reason)
        .await;
    assert_eq!(client.diagnostics(&source).await, [] as [Value; 0]);
    let all = client.request("unsnarl/explanations", Value::Null).await;
    let told = json!([{ "id": id, "headline": HEADLINE, "because": "a test of \"interest\"" }]);
    assert_eq!(
        (&all["explanations"], &all["suppressed"]),
        (&json!([]), &told)
    );
    let status = client.status(|status| status["quiescent"] == true).await;
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("0 explanations; 1 suppressed"),
        "{message}"
    );
    client.shutdown().await;

    // Another session, and the file goes.
    let mut client = Client::start(&workspace.path()).await;
    client.status(|status| status["suppressed"] == 1).await;
    fs::remove_file(file(&workspace)).unwrap();
    assert_eq!(client.diagnostics(&source).await.len(), 4);
    client.shutdown().await;
}

#[tokio::test]
async fn without_a_reason_the_file_says_who_suppressed_it() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    let mut client = Client::start(&workspace.path()).await;
    client.diagnostics(&workspace.source()).await;
    fs::write(file(&workspace), "# ours\n").unwrap();
    let command = harmless(&mut client, &workspace).await;
    client.request("workspace/executeCommand", command).await;
    client.diagnostics(&workspace.source()).await;
    let text = fs::read_to_string(file(&workspace)).unwrap();
    assert!(text.starts_with("# ours\n"), "{text}");
    assert!(
        text.contains("because = \"called harmless in the editor\""),
        "{text}"
    );
    let unknown = json!({ "command": "unsnarl.suppress", "arguments": ["nothing"] });
    let refused = client
        .request_raw("workspace/executeCommand", unknown)
        .await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("is called nothing"), "{message}");
    client.shutdown().await;
}

#[tokio::test]
async fn a_bad_file_suppresses_nothing_and_is_named_with_its_line() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    fs::write(file(&workspace), "[[suppress]]\nkind = \"no such kind\"\n").unwrap();
    let mut client = Client::start(&workspace.path()).await;
    let logged = client.logged().await;
    assert!(
        logged.contains("line 2") && logged.contains("no such kind"),
        "{logged}"
    );
    assert_eq!(client.diagnostics(&workspace.source()).await.len(), 4);
    let status = client.status(|_| true).await;
    assert_eq!(status["health"], "warning");
    assert_eq!(status["broken"][0]["file"], json!(file(&workspace)));
    let command = harmless(&mut client, &workspace).await;
    let refused = client
        .request_raw("workspace/executeCommand", command)
        .await;
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("line 2")
    );
    fs::write(file(&workspace), "").unwrap();
    client.status(|status| status["health"] == "ok").await;
    client.shutdown().await;
}

#[tokio::test]
async fn clients_that_can_ask_for_the_reason_are_asked() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    let mut able = capabilities();
    able["experimental"] = json!({ "unsnarl": { "commands": ["unsnarl.askSuppress"] } });
    let mut client = Client::start_able(&workspace.path(), able).await;
    let diagnostics = client.diagnostics(&workspace.source()).await;
    let command = harmless(&mut client, &workspace).await;
    assert_eq!(command["command"], "unsnarl.askSuppress");
    // The marks link to a page about their class, which is there.
    let href = diagnostics[1]["codeDescription"]["href"].as_str().unwrap();
    let page = href.strip_prefix("file://").unwrap();
    assert!(page.ends_with("/atomicity-violation.md"), "{page}");
    let text = fs::read_to_string(page).unwrap();
    assert_eq!(text, include_str!("../../docs/bugs/atomicity-violation.md"));
    client.shutdown().await;
}
