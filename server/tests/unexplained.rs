//! Failures that no explanation is about, over a pipe.

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
    bank::{self, ASSERTION, BankWorkspace, SOURCE},
};

#[tokio::test]
async fn a_failure_without_an_explanation_is_shown_at_its_place() {
    let workspace = BankWorkspace::new();
    workspace.land("failed-1", &bank::strange(&workspace.source()));
    workspace.land("failed-2", &bank::strange(&workspace.source()));
    for number in 0..12 {
        workspace.land_passing(&format!("passed-{number}"));
    }
    let source = workspace.source();
    let mut client = Client::start(&workspace.path()).await;
    let marks = client.diagnostics(&source).await;
    let [mark] = marks.as_slice() else {
        panic!("{marks:?}")
    };
    assert_eq!(
        (
            &mark["range"]["start"]["line"],
            &mark["severity"],
            &mark["code"]
        ),
        (&json!(ASSERTION - 1), &json!(1), &Value::Null)
    );
    let said = mark["message"].as_str().unwrap();
    let expected = "assertion `balance == 450` failed (in 2 runs, without an explanation). No order of accesses";
    assert!(said.starts_with(expected), "{said}");
    let status = client.status(|status| status["quiescent"] == true).await;
    assert_eq!(status["unexplained"], 2);

    // It moves with its line, and goes with it.
    client.open(&source, SOURCE).await;
    client.edit(&source, 2, 0..0, "// new\n").await;
    let marks = client.diagnostics(&source).await;
    assert_eq!(marks[0]["range"]["start"]["line"], ASSERTION);
    client.edit(&source, 3, ASSERTION..ASSERTION + 1, "").await;
    assert_eq!(client.diagnostics(&source).await, [] as [Value; 0]);
    client.shutdown().await;

    // In another session it is there before the runs are read.
    let mut client = Client::start(&workspace.path()).await;
    assert_eq!(client.diagnostics(&source).await.len(), 1);
    client.shutdown().await;
}
