//! Diagnostics for clients that ask for them, over a pipe: such clients are pushed none.

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
use support::{
    Client,
    bank::{BankWorkspace, SOURCE},
    capabilities, uri,
};

/// A client that asks.
async fn asking(workspace: &BankWorkspace) -> Client {
    let mut able = capabilities();
    able["textDocument"]["diagnostic"] = json!({});
    able["experimental"] = json!({ "unsnarl": { "diagnostics": "pull" } });
    Client::start_able(&workspace.path(), able).await
}

async fn refreshed(client: &mut Client) {
    let refresh = client.expect("workspace/diagnostic/refresh").await;
    client.answer(&refresh).await;
}

async fn document(client: &mut Client, workspace: &BankWorkspace, before: &Value) -> Value {
    let params = json!({
        "textDocument": { "uri": uri(&workspace.source()) },
        "previousResultId": before,
    });
    client.request("textDocument/diagnostic", params).await
}

#[tokio::test]
async fn a_file_is_told_whole_once() {
    let workspace = BankWorkspace::new();
    let mut client = asking(&workspace).await;
    let empty = document(&mut client, &workspace, &Value::Null).await;
    assert_eq!(
        (&empty["kind"], &empty["items"]),
        (&json!("full"), &json!([]))
    );
    workspace.land_failing("failed-random-1");
    refreshed(&mut client).await;
    let full = document(&mut client, &workspace, &empty["resultId"]).await;
    assert_eq!(full["kind"], "full");
    assert_eq!(full["items"].as_array().unwrap().len(), 4);
    let again = document(&mut client, &workspace, &full["resultId"]).await;
    assert_eq!(
        again,
        json!({ "kind": "unchanged", "resultId": full["resultId"] })
    );

    // An edit moves the marks; the client asks again by itself, as it knows of the edit.
    client.open(&workspace.source(), SOURCE).await;
    client.edit(&workspace.source(), 2, 0..0, "// one\n").await;
    let moved = document(&mut client, &workspace, &full["resultId"]).await;
    let line = |report: &Value| {
        report["items"][0]["range"]["start"]["line"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(line(&moved), line(&full) + 1);
    refreshed(&mut client).await;
    client.shutdown().await;
}

#[tokio::test]
async fn the_workspace_is_told_what_changed() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    let mut client = asking(&workspace).await;
    refreshed(&mut client).await;
    let params = json!({ "previousResultIds": [] });
    let all = client.request("workspace/diagnostic", params).await;
    let [file] = all["items"].as_array().unwrap().as_slice() else {
        panic!("{all}")
    };
    assert_eq!(
        (&file["uri"], &file["kind"]),
        (&json!(uri(&workspace.source())), &json!("full"))
    );
    let known = json!({ "previousResultIds": [{ "uri": file["uri"], "value": file["resultId"] }] });
    let again = client.request("workspace/diagnostic", known.clone()).await;
    assert_eq!(again["items"][0]["kind"], "unchanged");
    std::fs::remove_dir_all(workspace.runs()).unwrap();
    refreshed(&mut client).await;
    let gone = client.request("workspace/diagnostic", known).await;
    assert_eq!(
        (&gone["items"][0]["kind"], &gone["items"][0]["items"]),
        (&json!("full"), &json!([]))
    );
    client.shutdown().await;
}
