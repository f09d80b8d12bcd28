//! Runs are found where people record them: in build folders, above an opened file, in folders that come later.

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
use std::fs;
use support::{
    Client,
    bank::{BankWorkspace, SOURCE},
    uri,
};

/// Lines (from 0) that carry marks of the bank's failing run.
fn lines(diagnostics: &[Value]) -> Vec<u64> {
    let line = |one: &Value| one["range"]["start"]["line"].as_u64().unwrap();
    diagnostics.iter().map(line).collect()
}

/// The lines of one corpus.
const LINES: [u64; 4] = [5, 11, 15, 23];

/// The labels of the explanations, with the folders that commands about them belong to.
async fn labels(client: &mut Client) -> Vec<(Value, Value)> {
    let answer = client.request("unsnarl/explanations", Value::Null).await;
    let all = answer["explanations"].as_array().unwrap().iter();
    all.map(|one| (one["label"].clone(), one["folder"].clone()))
        .collect()
}

#[tokio::test]
async fn a_build_folder_that_git_ignores() {
    let workspace = BankWorkspace::new();
    fs::create_dir(workspace.path().join(".git")).unwrap();
    fs::write(workspace.path().join(".gitignore"), "/build/\n.unsnarl/\n").unwrap();
    workspace.land_failing_below("build/debug", "failed-1");
    let mut client = Client::start(&workspace.path()).await;
    let source = workspace.source();
    assert_eq!(lines(&client.diagnostics(&source).await), LINES);
    let folder = json!(workspace.path().join("build/debug"));
    assert_eq!(labels(&mut client).await, [(Value::Null, folder)]);
    fs::remove_dir_all(workspace.path().join("build")).unwrap();
    assert_eq!(client.diagnostics(&source).await, [] as [Value; 0]);
    client.shutdown().await;
}

#[tokio::test]
async fn folders_that_come_later_are_told_apart() {
    let workspace = BankWorkspace::new();
    let mut client = Client::start(&workspace.path()).await;
    client.status(|status| status["quiescent"] == true).await;
    let source = workspace.source();
    workspace.land_failing_below("out/one", "failed-1");
    assert_eq!(lines(&client.diagnostics(&source).await), LINES);
    client.status(|status| status["quiescent"] == true).await;
    workspace.land_failing_below("out/two", "failed-1");
    let status = client
        .status(|status| status["runs"] == 2 && status["quiescent"] == true)
        .await;
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("(out/one: 1 failing, out/two: 1 failing)"),
        "{message}"
    );
    let found = labels(&mut client).await;
    let found: Vec<&Value> = found.iter().map(|(label, _)| label).collect();
    assert_eq!(found, ["out/one", "out/two"]);
    client.hush("textDocument/publishDiagnostics");
    client.shutdown().await;
}

#[tokio::test]
async fn runs_above_the_workspace() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-1");
    let opened = workspace.path().join("src");
    fs::create_dir(&opened).unwrap();
    let mut client = Client::start(&opened).await;
    assert_eq!(lines(&client.diagnostics(&workspace.source()).await), LINES);
    client.shutdown().await;
}

#[tokio::test]
async fn runs_above_a_file_without_any_workspace() {
    let workspace = BankWorkspace::new();
    let mut client = Client::start_with(json!({ "capabilities": support::capabilities() })).await;
    client.open(&workspace.source(), SOURCE).await;
    client.status(|status| status["quiescent"] == true).await;
    workspace.land_failing("failed-1");
    assert_eq!(lines(&client.diagnostics(&workspace.source()).await), LINES);
    client.shutdown().await;
}

#[tokio::test]
async fn a_folder_that_leaves_the_workspace_takes_its_build_folders_along() {
    let (one, two) = (BankWorkspace::new(), BankWorkspace::new());
    one.land_failing_below("build", "failed-1");
    two.land_failing_below("build", "failed-1");
    let folders = [one.path(), two.path()].map(|path| json!({ "uri": uri(&path), "name": "w" }));
    let mut client = Client::start_with(json!({
        "capabilities": support::capabilities(),
        "workspaceFolders": folders,
    }))
    .await;
    assert_eq!(lines(&client.diagnostics(&one.source()).await), LINES);
    assert_eq!(lines(&client.diagnostics(&two.source()).await), LINES);
    let event = json!({ "added": [], "removed": [folders[0]] });
    client
        .notify(
            "workspace/didChangeWorkspaceFolders",
            json!({ "event": event }),
        )
        .await;
    assert_eq!(client.diagnostics(&one.source()).await, [] as [Value; 0]);
    let folder = json!(two.path().join("build"));
    assert_eq!(labels(&mut client).await, [(Value::Null, folder)]);
    client.shutdown().await;
}
