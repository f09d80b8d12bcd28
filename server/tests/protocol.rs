//! The whole server over a pipe.

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
    time::{Duration, Instant},
};
use support::{
    Client,
    bank::{self, ASSERTION, BETWEEN, BankWorkspace, READ, SOURCE, WRITE},
    capabilities, uri,
};

const HEADLINE: &str = "another thread's update of `balance` was lost";

/// Line (from 1), severity and message of diagnostics.
fn told(diagnostics: &[Value]) -> Vec<(u32, u64, String)> {
    let one = |diagnostic: &Value| {
        let line = diagnostic["range"]["start"]["line"].as_u64().unwrap() as u32 + 1;
        let message = diagnostic["message"].as_str().unwrap().to_owned();
        (line, diagnostic["severity"].as_u64().unwrap(), message)
    };
    diagnostics.iter().map(one).collect()
}

/// Marks of the bank's failing run, moved down by some lines.
fn lost_update(down: u32) -> Vec<(u32, u64, String)> {
    let failed = format!("assertion `balance == 450` failed: {HEADLINE}");
    vec![
        (
            BETWEEN + down,
            4,
            "step 2 of 4: main.1 writes balance = 500, in between".to_owned(),
        ),
        (READ + down, 1, HEADLINE.to_owned()),
        (WRITE + down, 1, HEADLINE.to_owned()),
        (ASSERTION + down, 1, failed),
    ]
}

#[tokio::test]
async fn a_run_lands() {
    let workspace = BankWorkspace::new();
    let mut client = Client::start(&workspace.path()).await;
    workspace.land_failing("failed-random-1");
    let diagnostics = client.diagnostics(&workspace.source()).await;
    assert_eq!(told(&diagnostics), lost_update(0));
    assert!(
        diagnostics
            .iter()
            .all(|one| one["code"] == "atomicity-violation" && one["source"] == "unsnarl")
    );
    let related = diagnostics[1]["relatedInformation"].as_array().unwrap();
    let lines: Vec<_> = related
        .iter()
        .map(|one| one["location"]["range"]["start"]["line"].as_u64().unwrap())
        .collect();
    assert_eq!(
        lines,
        [READ, BETWEEN, WRITE, ASSERTION].map(|line| u64::from(line) - 1),
        "in the order of the schedule"
    );
    client.shutdown().await;
}

#[tokio::test]
async fn the_run_folder_comes_and_goes() {
    let workspace = BankWorkspace::new();
    let mut client = Client::start(&workspace.path()).await;
    client.status(|status| status["quiescent"] == true).await;
    let source = workspace.source();
    for round in 0..3 {
        workspace.land_failing("failed-random-1");
        assert_eq!(
            told(&client.diagnostics(&source).await),
            lost_update(0),
            "round {round}"
        );
        // The server writes into that folder, too, while it works.
        client.status(|status| status["quiescent"] == true).await;
        fs::remove_dir_all(workspace.path().join(".unsnarl")).unwrap();
        assert_eq!(
            client.diagnostics(&source).await,
            [] as [Value; 0],
            "round {round}"
        );
    }
    client.shutdown().await;
}

#[tokio::test]
async fn runs_change_and_vanish() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("a");
    let mut client = Client::start(&workspace.path()).await;
    let source = workspace.source();
    assert_eq!(told(&client.diagnostics(&source).await), lost_update(0));
    workspace.land_passing("a");
    assert_eq!(
        client.diagnostics(&source).await,
        [] as [Value; 0],
        "the file holds another run now"
    );
    let file = workspace.land_failing("b");
    assert_eq!(told(&client.diagnostics(&source).await), lost_update(0));
    fs::remove_file(file).unwrap();
    assert_eq!(client.diagnostics(&source).await, [] as [Value; 0]);
    let status = client.status(|status| status["quiescent"] == true).await;
    assert_eq!(
        (&status["runs"], &status["failing"]),
        (&json!(1), &json!(0))
    );
    client.shutdown().await;
}

#[tokio::test]
async fn broken_and_foreign_files() {
    let workspace = BankWorkspace::new();
    fs::create_dir_all(workspace.runs()).unwrap();
    for i in 0..1000 {
        fs::write(
            workspace.runs().join(format!("foreign-{i}.txt")),
            "not a run",
        )
        .unwrap();
    }
    fs::create_dir(workspace.runs().join("folder.arrow")).unwrap();
    let whole = fs::read(workspace.land_failing("whole")).unwrap();
    workspace.land_bytes("cut", &whole[..whole.len() / 2]);
    let mut client = Client::start(&workspace.path()).await;
    assert_eq!(
        told(&client.diagnostics(&workspace.source()).await),
        lost_update(0)
    );
    let log = client.logged().await;
    assert!(log.contains("cut.arrow"), "{log}");

    workspace.land_bytes("garbage", b"ARROW1 or not");
    assert!(client.logged().await.contains("garbage.arrow"));
    // One more run is analysed: nothing is said of the broken ones again.
    workspace.land_passing("passed");
    let status = client
        .status(|status| status["runs"] == 2 && status["quiescent"] == true)
        .await;
    assert_eq!(status["health"], "warning");
    assert_eq!(status["broken"].as_array().unwrap().len(), 2);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("2 files cannot be read"),
        "{status}"
    );
    client.shutdown().await;
}

#[tokio::test]
async fn hover_tells_what_happened_before_what() {
    let workspace = BankWorkspace::new();
    let mut client = Client::start(&workspace.path()).await;
    let source = workspace.source();
    assert_eq!(
        client.hover(&source, READ).await,
        None,
        "nothing is known yet"
    );
    workspace.land_failing("a");
    client.diagnostics(&source).await;
    let hover = client.hover(&source, WRITE).await.unwrap();
    for part in ["main.2", "wrote 250", "main.1", "500"] {
        assert!(hover.contains(part), "no {part} in {hover}");
    }
    assert_eq!(
        client.hover(&source, 8).await,
        None,
        "nothing was recorded there"
    );
    assert_eq!(client.hover(&source, 9999).await, None);
    assert_eq!(
        client.hover(&workspace.path().join("other.c"), 1).await,
        None
    );
    client.shutdown().await;
}

#[tokio::test]
async fn marks_follow_unsaved_edits() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("a");
    let mut client = Client::start(&workspace.path()).await;
    let source = workspace.source();
    client.diagnostics(&source).await;
    client.open(&source, SOURCE).await;
    client.edit(&source, 2, 0..0, "// one\n// two\n").await;
    assert_eq!(told(&client.diagnostics(&source).await), lost_update(2));
    assert!(
        client
            .hover(&source, WRITE + 2)
            .await
            .unwrap()
            .contains("wrote 250")
    );

    // The line of the write is another one now: its mark is nowhere.
    client
        .edit(
            &source,
            3,
            WRITE + 1..WRITE + 2,
            "    balance = bal + fee;\n",
        )
        .await;
    let mut left = lost_update(2);
    left.retain(|(line, ..)| *line != WRITE + 2);
    assert_eq!(told(&client.diagnostics(&source).await), left);
    let status = client.status(|_| true).await;
    assert_eq!(status["stale"], 1);
    assert_eq!(client.hover(&source, WRITE + 2).await, None);

    // Thrown away: what is on disk counts again.
    client
        .notify(
            "textDocument/didClose",
            json!({ "textDocument": { "uri": uri(&source) } }),
        )
        .await;
    assert_eq!(told(&client.diagnostics(&source).await), lost_update(0));
    client.shutdown().await;
}

#[tokio::test]
async fn the_source_changed_since_the_recording() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("a");
    let source = workspace.source();
    fs::write(
        &source,
        format!("// a line\n{}", SOURCE.replace("    balance = bal;\n", "")),
    )
    .unwrap();
    let mut client = Client::start(&workspace.path()).await;
    let mut left = lost_update(1);
    left.retain(|(line, ..)| *line != WRITE + 1);
    left[2].0 -= 1;
    assert_eq!(told(&client.diagnostics(&source).await), left);
    assert!(client.logged().await.contains("1 mark"));

    // An editor that is no client of ours brings the recorded source back.
    fs::write(workspace.path().join("new"), SOURCE).unwrap();
    fs::rename(workspace.path().join("new"), &source).unwrap();
    assert_eq!(told(&client.diagnostics(&source).await), lost_update(0));
    client.shutdown().await;
}

#[tokio::test]
async fn a_checkout_that_moved() {
    let workspace = BankWorkspace::new();
    workspace.land(
        "a",
        &bank::failing("/home/somebody/src/bank/bank.c".as_ref()),
    );
    let mut client = Client::start(&workspace.path()).await;
    assert_eq!(
        told(&client.diagnostics(&workspace.source()).await),
        lost_update(0)
    );
    client.shutdown().await;
}

#[tokio::test]
async fn workspace_folders_come_and_go() {
    let (first, second) = (BankWorkspace::new(), BankWorkspace::new());
    first.land_failing("a");
    second.land_failing("a");
    let mut client = Client::start(&first.path()).await;
    client.diagnostics(&first.source()).await;
    let folder =
        |workspace: &BankWorkspace| json!([{ "uri": uri(&workspace.path()), "name": "w" }]);
    let change = json!({ "event": { "added": folder(&second), "removed": folder(&first) } });
    client
        .notify("workspace/didChangeWorkspaceFolders", change)
        .await;
    assert_eq!(client.diagnostics(&first.source()).await, [] as [Value; 0]);
    assert_eq!(
        told(&client.diagnostics(&second.source()).await),
        lost_update(0)
    );
    // The folder that is gone is not watched any more, the new one is.
    first.land_failing("b");
    fs::remove_dir_all(second.runs()).unwrap();
    assert_eq!(client.diagnostics(&second.source()).await, [] as [Value; 0]);
    client.shutdown().await;
}

#[tokio::test]
async fn settings() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("a");
    fs::rename(workspace.runs(), workspace.path().join("elsewhere")).unwrap();
    let mut client = Client::start_with(json!({
        "capabilities": capabilities(),
        "rootUri": uri(&workspace.path()),
        "initializationOptions": { "runsFolder": "elsewhere", "colour": "red" },
    }))
    .await;
    assert!(client.logged().await.contains("unsnarl.colour"));
    assert_eq!(
        told(&client.diagnostics(&workspace.source()).await),
        lost_update(0)
    );
    client
        .notify(
            "workspace/didChangeConfiguration",
            json!({ "settings": { "unsnarl": {} } }),
        )
        .await;
    assert_eq!(
        client.diagnostics(&workspace.source()).await,
        [] as [Value; 0]
    );
    client.shutdown().await;
}

#[tokio::test]
async fn a_client_that_can_do_little() {
    let workspace = BankWorkspace::new();
    let mut client = Client::start_able(&workspace.path(), json!({})).await;
    workspace.land_failing("a");
    let diagnostics = client.diagnostics(&workspace.source()).await;
    assert_eq!(diagnostics[1].get("relatedInformation"), None);
    let message = diagnostics[1]["message"].as_str().unwrap();
    assert!(
        message.contains("\nbank.c:6: 2. main.1 writes balance = 500"),
        "{message}"
    );
    client.shutdown().await;
}

#[tokio::test]
async fn progress_for_those_who_show_it() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("a");
    let mut able = capabilities();
    able["window"] = json!({ "workDoneProgress": true });
    let mut client = Client::start_able(&workspace.path(), able).await;
    // Diagnostics don't wait for the client to accept progress.
    client.diagnostics(&workspace.source()).await;
    let create = client.expect("window/workDoneProgress/create").await;
    client.answer(&create).await;
    for kind in ["begin", "report", "end"] {
        let progress = client.expect("$/progress").await;
        assert_eq!(progress["params"]["token"], create["params"]["token"]);
        assert_eq!(progress["params"]["value"]["kind"], kind);
    }
    client.shutdown().await;
}

#[tokio::test]
async fn explanations_with_the_places_of_today() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("failed-random-1");
    let mut client = Client::start(&workspace.path()).await;
    let source = workspace.source();
    client.diagnostics(&source).await;
    client.open(&source, SOURCE).await;
    client.edit(&source, 2, 0..0, "\n").await;
    client.diagnostics(&source).await;
    let all = client.request("unsnarl/explanations", Value::Null).await;
    let [one] = all["explanations"].as_array().unwrap().as_slice() else {
        panic!("{all}")
    };
    assert_eq!(one["kind"], "atomicity-violation");
    assert_eq!(one["headline"], HEADLINE);
    assert_eq!(one["runs"], json!(["failed-random-1"]));
    assert_eq!(
        one["steps"].as_array().unwrap().len(),
        one["stepLocations"].as_array().unwrap().len()
    );
    assert_eq!(
        one["stepLocations"][0]["range"]["start"]["line"], READ,
        "one line further down"
    );
    assert!(one["text"].as_str().unwrap().contains(HEADLINE));
    client.shutdown().await;
}

#[tokio::test]
async fn many_runs_at_once() {
    let workspace = BankWorkspace::new();
    let mut client = Client::start(&workspace.path()).await;
    for i in 0..100 {
        workspace.land_passing(&format!("passed-{i}"));
        workspace.land_failing(&format!("failed-{i}"));
    }
    assert_eq!(
        told(&client.diagnostics(&workspace.source()).await),
        lost_update(0)
    );
    client
        .status(|status| status["runs"] == 200 && status["quiescent"] == true)
        .await;
    let all = client.request("unsnarl/explanations", Value::Null).await;
    assert_eq!(
        all["explanations"][0]["runs"].as_array().unwrap().len(),
        100
    );
    client.shutdown().await;
}

/// Changes of all kinds to the folder, at any speed, end with the marks of its last content.
#[tokio::test]
async fn a_folder_that_never_rests() {
    let workspace = BankWorkspace::new();
    let mut client = Client::start(&workspace.path()).await;
    let mut shown = Vec::new();
    for round in 0..40u32 {
        for step in 0..5 {
            match round.wrapping_mul(2_654_435_761).rotate_left(step * 7) % 5 {
                0 => drop(fs::remove_dir_all(workspace.runs())),
                1 => drop(fs::remove_dir_all(workspace.path().join(".unsnarl"))),
                2 => drop(workspace.land_passing("a")),
                3 => drop(workspace.land_failing("b")),
                _ => drop(workspace.land_failing("c")),
            }
        }
        workspace.land_failing("last");
        let here = fs::read_dir(workspace.runs()).unwrap().count();
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let status = client.status(|_| true).await;
            shown = client
                .last_diagnostics(&workspace.source())
                .unwrap_or(shown);
            if status["runs"] == here && told(&shown) == lost_update(0) {
                break;
            }
            assert!(
                Instant::now() < until,
                "round {round}: {here} runs, but {status}, {shown:?}"
            );
        }
    }
    fs::remove_dir_all(workspace.runs()).unwrap();
    client
        .status(|status| status["runs"] == 0 && status["quiescent"] == true)
        .await;
    client.hush("textDocument/publishDiagnostics");
    client.shutdown().await;
}

#[tokio::test]
async fn columns_in_the_units_of_the_client() {
    let workspace = BankWorkspace::new();
    let mut able = capabilities();
    able["general"]["positionEncodings"] = json!(["utf-16"]);
    let mut client = Client::start_able(&workspace.path(), able).await;
    let source = workspace.source();
    client
        .open(&source, &format!("// {}\n{SOURCE}", "\u{1f600}"))
        .await;
    let range =
        json!({ "start": { "line": 0, "character": 5 }, "end": { "line": 1, "character": 0 } });
    let change = json!({
        "textDocument": { "uri": uri(&source), "version": 2 },
        "contentChanges": [{ "range": range, "text": "\n" }],
    });
    client.notify("textDocument/didChange", change).await;
    client.status(|_| true).await;
    workspace.land_failing("a");
    assert_eq!(told(&client.diagnostics(&source).await), lost_update(1));
    client.shutdown().await;
}

#[tokio::test]
async fn every_way_to_end() {
    let workspace = BankWorkspace::new();
    workspace.land_failing("a");
    let mut client = Client::start(&workspace.path()).await;
    client.diagnostics(&workspace.source()).await;
    client.hang_up().await;

    let mut client = Client::start(&workspace.path()).await;
    client.diagnostics(&workspace.source()).await;
    let unknown = client.request_raw("unsnarl/unheardOf", Value::Null).await;
    assert_eq!(unknown["error"]["code"], -32601);
    client.exit_at_once().await;

    let mut client = Client::start(&workspace.path()).await;
    client.diagnostics(&workspace.source()).await;
    client.request("shutdown", Value::Null).await;
    assert_eq!(
        client.request_raw("unsnarl/status", Value::Null).await["error"]["code"],
        -32600
    );
    client.exit_after_shutdown().await;
}
