//! `unsnarl/schedule`: the order that fails beside one that passes, over a pipe.

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
    bank::{ASSERTION, BETWEEN, BankWorkspace, READ, SOURCE, WRITE},
    capabilities, uri,
};

/// A client that shows the marks of a failing run, with so many passing ones beside it.
async fn explained(workspace: &BankWorkspace, passing: usize) -> Client {
    for at in 0..passing {
        workspace.land_passing(&format!("passed-random-{at}"));
    }
    workspace.land_failing("failed-random-1");
    let params = json!({ "capabilities": capabilities(), "rootUri": uri(&workspace.path()) });
    let mut client = Client::start_with(params).await;
    client.diagnostics(&workspace.source()).await;
    client
}

async fn schedule(client: &mut Client) -> Value {
    let any = json!({ "explanation": null });
    client.request("unsnarl/schedule", any).await
}

/// Number, thread, line (from 1) and effect of each step.
fn steps(schedule: &Value, side: &str) -> Vec<(u64, String, u64, String)> {
    let one = |step: &Value| {
        let lane = &schedule["lanes"][step["lane"].as_u64().unwrap() as usize];
        let line = step["now"]["range"]["start"]["line"].as_u64();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let line = line.map_or(0, |line| line + 1);
        let number = step["number"].as_u64().unwrap();
        (number, text(&lane["thread"]), line, text(&step["effect"]))
    };
    let steps = schedule[side]["steps"].as_array().unwrap();
    steps.iter().map(one).collect()
}

fn step(number: u64, thread: &str, line: u32, effect: &str) -> (u64, String, u64, String) {
    (number, thread.to_owned(), line.into(), effect.to_owned())
}

#[tokio::test]
async fn both_orders_have_the_same_steps_and_say_what_is_turned_round() {
    let workspace = BankWorkspace::new();
    let mut client = explained(&workspace, 1).await;
    let told = schedule(&mut client).await;
    let fails = [
        step(1, "main.2", READ, "reads 300"),
        step(2, "main.1", BETWEEN, "writes 500"),
        step(3, "main.2", WRITE, "writes 250"),
        step(4, "main", ASSERTION, "reads 250, fails"),
    ];
    assert_eq!(steps(&told, "failing"), fails);
    let passes = [
        step(2, "main.1", BETWEEN, "writes 500"),
        step(1, "main.2", READ, "reads 500"),
        step(3, "main.2", WRITE, "writes 450"),
        step(4, "main", ASSERTION, "reads 450"),
    ];
    assert_eq!(steps(&told, "passing"), passes);
    assert_eq!(told["lanes"][2]["name"], "withdraw (main.2)");
    assert_eq!(told["passing"]["run"], "passed-random-0");
    assert_eq!(
        (&told["reason"], &told["missing"]),
        (&Value::Null, &json!([]))
    );
    assert_eq!(told["failing"]["arrows"], json!([[1, 2], [2, 3], [3, 4]]));
    assert_eq!(told["passing"]["arrows"], json!([[2, 1], [3, 4]]));
    let text = "Where it fails, main.2 reads `balance` at bank.c:12, and then main.1 writes `balance` at \
                bank.c:6; where it passes, the other way round.";
    assert_eq!(
        told["turned"],
        json!([{ "from": 1, "to": 2, "kind": "data", "text": text }])
    );
    let seen =
        |step: u32, value: &str, writes| json!({ "step": step, "value": value, "writes": writes });
    let failing = [
        seen(1, "300", false),
        seen(2, "500", true),
        seen(3, "250", true),
        seen(4, "250", false),
    ];
    assert_eq!(told["values"][0]["variable"], "balance");
    assert_eq!(told["values"][0]["failing"], json!(failing));
    assert_eq!(told["values"][0]["passing"][1], seen(1, "500", false));
    client.shutdown().await;
}

#[tokio::test]
async fn steps_follow_edits_and_are_nowhere_when_their_line_is_rewritten() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    let mut client = explained(&workspace, 1).await;
    // What is not shown is told.
    client.hush("window/logMessage");
    client.open(&source, SOURCE).await;
    client.edit(&source, 2, 0..0, "// one\n").await;
    client.diagnostics(&source).await;
    client
        .edit(&source, 3, WRITE..WRITE + 1, "    balance = bal + fee;\n")
        .await;
    client.diagnostics(&source).await;
    let told = schedule(&mut client).await;
    let lines: Vec<u64> = steps(&told, "passing").iter().map(|step| step.2).collect();
    let down = |line: u32| u64::from(line) + 1;
    assert_eq!(lines, [down(BETWEEN), down(READ), 0, down(ASSERTION)]);
    client.shutdown().await;
}

#[tokio::test]
async fn what_cannot_be_compared_is_said() {
    let workspace = BankWorkspace::new();
    let mut client = explained(&workspace, 0).await;
    let told = schedule(&mut client).await;
    assert_eq!(told["passing"], Value::Null);
    assert_eq!(
        told["reason"],
        "no passing run was recorded: record more runs"
    );
    assert_eq!(
        (&told["turned"], told["failing"]["run"].as_str()),
        (&json!([]), Some("failed-random-1"))
    );
    let unknown = json!({ "explanation": "nonsense" });
    assert_eq!(
        client.request("unsnarl/schedule", unknown).await,
        Value::Null
    );
    let all = client.request("unsnarl/explanations", Value::Null).await;
    let command = &all["explanations"][0]["command"];
    assert!(command.is_array(), "{command}");
    client.shutdown().await;
}
