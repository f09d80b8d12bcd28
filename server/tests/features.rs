//! Requests of editors about a file: hints, lenses, actions, highlights, symbols and jumps, over a pipe.

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
use std::path::Path;
use support::{
    Client,
    bank::{ASSERTION, BETWEEN, BankWorkspace, READ, SOURCE, WRITE},
    capabilities, uri,
};

const HEADLINE: &str = "another thread's update of `balance` was lost";

/// A client with one failing run, whose marks have been shown.
async fn explained(workspace: &BankWorkspace, capabilities: Value) -> Client {
    workspace.land_failing("failed-random-1");
    let mut client = Client::start_able(&workspace.path(), capabilities).await;
    client.diagnostics(&workspace.source()).await;
    client
}

/// The answer to a request about a whole file.
async fn ask(client: &mut Client, method: &str, file: &Path) -> Vec<Value> {
    let params = json!({
        "textDocument": { "uri": uri(file) },
        "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } },
        "context": { "diagnostics": [] },
    });
    client
        .request(method, params)
        .await
        .as_array()
        .unwrap()
        .clone()
}

/// The answer to a request about a line (from 1).
async fn ask_at(client: &mut Client, method: &str, file: &Path, line: u32) -> Value {
    let params = json!({
        "textDocument": { "uri": uri(file) },
        "position": { "line": line - 1, "character": 4 },
        "context": { "includeDeclaration": true },
    });
    client.request(method, params).await
}

/// Lines (from 1) and labels.
fn labels(hints: &[Value]) -> Vec<(u64, String)> {
    let one = |hint: &Value| {
        let label = hint["label"].as_str().unwrap().to_owned();
        (hint["position"]["line"].as_u64().unwrap() + 1, label)
    };
    hints.iter().map(one).collect()
}

fn steps(down: u32) -> Vec<(u64, String)> {
    [
        (BETWEEN, "(2) main.1 writes 500"),
        (READ, "(1) main.2 reads 300"),
        (WRITE, "(3) main.2 writes 250"),
        (ASSERTION, "(4) main reads 250, fails"),
    ]
    .map(|(line, label)| (u64::from(line + down), label.to_owned()))
    .to_vec()
}

#[tokio::test]
async fn steps_stand_at_the_ends_of_their_lines_and_follow_edits() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    let mut client = explained(&workspace, capabilities()).await;
    // That a mark is not shown any more is told, too.
    client.hush("window/logMessage");
    let hints = ask(&mut client, "textDocument/inlayHint", &source).await;
    assert_eq!(labels(&hints), steps(0));
    let read = SOURCE.lines().nth(READ as usize - 1).unwrap();
    assert_eq!(
        hints[1]["position"]["character"],
        read.len(),
        "behind the code"
    );
    let tooltip = hints[0]["tooltip"].as_str().unwrap();
    assert_eq!(tooltip, "step 2: main.1 writes balance = 500, in between");

    client.open(&source, SOURCE).await;
    client.edit(&source, 2, 0..0, "// one\n").await;
    client.diagnostics(&source).await;
    let hints = ask(&mut client, "textDocument/inlayHint", &source).await;
    assert_eq!(labels(&hints), steps(1));
    client
        .edit(&source, 3, WRITE..WRITE + 1, "    balance = bal + fee;\n")
        .await;
    client.diagnostics(&source).await;
    let hints = ask(&mut client, "textDocument/inlayHint", &source).await;
    let mut left = steps(1);
    left.retain(|(line, _)| *line != u64::from(WRITE + 1));
    assert_eq!(labels(&hints), left, "the changed line has no hint");
    client.shutdown().await;
}

#[tokio::test]
async fn hints_can_be_switched_off() {
    let workspace = BankWorkspace::new();
    let mut client = explained(&workspace, capabilities()).await;
    let settings = json!({ "settings": { "unsnarl": { "stepHints": false, "codeLens": false } } });
    client
        .notify("workspace/didChangeConfiguration", settings)
        .await;
    let source = workspace.source();
    assert_eq!(
        ask(&mut client, "textDocument/inlayHint", &source).await,
        [] as [Value; 0]
    );
    assert_eq!(
        ask(&mut client, "textDocument/codeLens", &source).await,
        [] as [Value; 0]
    );
    client.shutdown().await;
}

#[tokio::test]
async fn only_the_asked_lines_have_hints() {
    let workspace = BankWorkspace::new();
    let mut client = explained(&workspace, capabilities()).await;
    let line = |line: u32| json!({ "line": line, "character": 0 });
    let params = json!({
        "textDocument": { "uri": uri(&workspace.source()) },
        "range": { "start": line(READ - 1), "end": line(READ) },
    });
    let hints = client.request("textDocument/inlayHint", params).await;
    assert_eq!(labels(hints.as_array().unwrap()), steps(0)[1..2]);
    client.shutdown().await;
}

/// Titles and commands.
fn offers(lenses: &[Value]) -> Vec<(&str, &str)> {
    let word = |value: &'_ Value| -> &'static str { value.as_str().unwrap().to_owned().leak() };
    let one = |lens: &Value| {
        (
            word(&lens["command"]["title"]),
            word(&lens["command"]["command"]),
        )
    };
    lenses.iter().map(one).collect()
}

#[tokio::test]
async fn lenses_offer_what_the_client_can_do() {
    let workspace = BankWorkspace::new();
    let mut able = capabilities();
    able["experimental"] =
        json!({ "unsnarl": { "commands": ["unsnarl.showExplanation", "unsnarl.nextStep"] } });
    let mut client = explained(&workspace, able).await;
    let lenses = ask(&mut client, "textDocument/codeLens", &workspace.source()).await;
    assert_eq!(
        offers(&lenses),
        [
            ("unsnarl: explain", "unsnarl.showExplanation"),
            ("next step", "unsnarl.nextStep")
        ]
    );
    assert_eq!(lenses[0]["range"]["start"]["line"], READ - 1);
    let all = client.request("unsnarl/explanations", Value::Null).await;
    assert_eq!(
        lenses[0]["command"]["arguments"],
        json!([all["explanations"][0]["id"]])
    );
    client.shutdown().await;

    let workspace = BankWorkspace::new();
    let mut client = explained(&workspace, capabilities()).await;
    let lenses = ask(&mut client, "textDocument/codeLens", &workspace.source()).await;
    assert_eq!(lenses, [] as [Value; 0], "this client has no commands");
    client.shutdown().await;
}

#[tokio::test]
async fn actions_belong_to_the_diagnostics_of_their_explanation() {
    let workspace = BankWorkspace::new();
    let mut able = capabilities();
    able["experimental"] = json!({ "unsnarl": { "commands": ["unsnarl.showExplanation"] } });
    workspace.land_failing("failed-random-1");
    let mut client = Client::start_able(&workspace.path(), able).await;
    let diagnostics = client.diagnostics(&workspace.source()).await;
    let cause = &diagnostics[1];
    let of = |range: &Value, diagnostics: &[&Value]| {
        json!({
            "textDocument": { "uri": uri(&workspace.source()) },
            "range": range,
            "context": { "diagnostics": diagnostics },
        })
    };
    let params = of(&cause["range"], &[cause]);
    let actions = client.request("textDocument/codeAction", params).await;
    let title = "unsnarl: explain";
    let mut explain = actions.as_array().unwrap().iter();
    let action = explain.find(|action| action["title"] == title).unwrap();
    assert_eq!(action["diagnostics"][0]["range"], cause["range"]);
    let nowhere =
        json!({ "start": { "line": 7, "character": 0 }, "end": { "line": 7, "character": 1 } });
    let params = of(&nowhere, &[]);
    let actions = client.request("textDocument/codeAction", params).await;
    assert_eq!(actions, json!([]), "nothing is marked there");
    client.shutdown().await;
}

#[tokio::test]
async fn highlights_are_the_accesses_of_one_variable() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    let mut client = explained(&workspace, capabilities()).await;
    let told = ask_at(
        &mut client,
        "textDocument/documentHighlight",
        &source,
        BETWEEN,
    )
    .await;
    let one = |highlight: &Value| {
        let line = highlight["range"]["start"]["line"].as_u64().unwrap() as u32 + 1;
        (line, highlight["kind"].as_u64().unwrap())
    };
    let mut lines: Vec<(u32, u64)> = told.as_array().unwrap().iter().map(one).collect();
    lines.sort_unstable();
    const READS: u64 = 2;
    const WRITES: u64 = 3;
    assert_eq!(
        lines,
        [
            (BETWEEN, WRITES),
            (READ, READS),
            (WRITE, WRITES),
            (ASSERTION, READS)
        ]
    );
    let nothing = ask_at(&mut client, "textDocument/documentHighlight", &source, 8).await;
    assert_eq!(nothing, json!([]));
    client.shutdown().await;
}

#[tokio::test]
async fn explanations_are_symbols_of_the_workspace() {
    let workspace = BankWorkspace::new();
    let mut client = explained(&workspace, capabilities()).await;
    let found = client
        .request("workspace/symbol", json!({ "query": "upd bal" }))
        .await;
    assert_eq!(found[0]["name"], HEADLINE);
    assert_eq!(found[0]["location"]["range"]["start"]["line"], READ - 1);
    let none = client
        .request("workspace/symbol", json!({ "query": "deadlock" }))
        .await;
    assert_eq!(none, json!([]));
    client.shutdown().await;
}

#[tokio::test]
async fn one_goes_from_step_to_step_and_along_edges() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    let mut client = explained(&workspace, capabilities()).await;
    let told = ask_at(&mut client, "unsnarl/jumps", &source, READ).await;
    let jumps = told["jumps"].as_array().unwrap();
    assert_eq!(jumps[0]["kind"], "next");
    assert_eq!(
        jumps[0]["title"],
        "step 2: main.1 writes balance = 500, in between"
    );
    assert_eq!(jumps[0]["location"]["range"]["start"]["line"], BETWEEN - 1);
    let mut line = READ;
    let mut visited = vec![line];
    while let Some(next) = next(&mut client, &source, line).await {
        line = next;
        visited.push(line);
    }
    assert_eq!(
        visited,
        [READ, BETWEEN, WRITE, ASSERTION],
        "in the order of the schedule"
    );
    let back = ask_at(&mut client, "unsnarl/jumps", &source, BETWEEN).await;
    let mut back = back["jumps"].as_array().unwrap().iter();
    let to_read = |jump: &&Value| jump["location"]["range"]["start"]["line"] == READ - 1;
    assert!(back.any(|jump| jump["kind"] == "previous" && to_read(&jump)));
    let told = ask_at(&mut client, "unsnarl/jumps", &source, 8).await;
    assert_eq!(told, json!({ "jumps": [] }));
    client.shutdown().await;
}

/// Line (from 1) of the next step.
async fn next(client: &mut Client, source: &Path, line: u32) -> Option<u32> {
    let told = ask_at(client, "unsnarl/jumps", source, line).await;
    let mut jumps = told["jumps"].as_array().unwrap().iter();
    let jump = jumps.find(|jump| jump["kind"] == "next")?;
    Some(jump["location"]["range"]["start"]["line"].as_u64().unwrap() as u32 + 1)
}

#[tokio::test]
async fn changes_of_the_status_are_told_to_those_who_want_it() {
    let workspace = BankWorkspace::new();
    let mut able = capabilities();
    able["experimental"] = json!({ "unsnarl": { "status": true } });
    let mut client = explained(&workspace, able).await;
    loop {
        client.expect("unsnarl/statusChanged").await;
        let status = client.request("unsnarl/status", Value::Null).await;
        if status["quiescent"] == true && status["explanations"] == 1 {
            break;
        }
    }
    client.hush("unsnarl/statusChanged");
    client.shutdown().await;
}

/// A narrow screen gets narrower texts of the same explanations.
#[tokio::test]
async fn texts_have_the_width_of_the_screen() {
    let workspace = BankWorkspace::new();
    let mut client = explained(&workspace, capabilities()).await;
    let all = client.request("unsnarl/explanations", Value::Null).await;
    let mut widths = Vec::new();
    for columns in [60, 200] {
        let within = json!({ "columns": columns });
        let texts = client.request("unsnarl/texts", within).await;
        assert_eq!(texts[0]["explanation"], all["explanations"][0]["id"]);
        let text = texts[0]["text"].as_str().expect("a text");
        widths.extend(text.lines().map(|line| line.chars().count()).max());
    }
    assert!(widths[0] < widths[1], "{widths:?}");
    client.shutdown().await;
}

#[tokio::test]
async fn selecting_refreshes_what_is_shown() {
    let workspace = BankWorkspace::new();
    let mut able = capabilities();
    able["workspace"] = json!({ "inlayHint": { "refreshSupport": true } });
    let mut client = explained(&workspace, able).await;
    let refresh = client.expect("workspace/inlayHint/refresh").await;
    client.answer(&refresh).await;
    let all = client.request("unsnarl/explanations", Value::Null).await;
    let id = &all["explanations"][0]["id"];
    assert_eq!(
        &all["selected"], id,
        "the best one, as long as nobody chose"
    );
    let chosen = client
        .request("unsnarl/select", json!({ "explanation": id }))
        .await;
    assert_eq!(&chosen["selected"], id);
    let refresh = client.expect("workspace/inlayHint/refresh").await;
    client.answer(&refresh).await;
    let command = json!({ "command": "unsnarl.select", "arguments": [id] });
    client.request("workspace/executeCommand", command).await;
    let refresh = client.expect("workspace/inlayHint/refresh").await;
    client.answer(&refresh).await;
    let unknown = json!({ "command": "unsnarl.dance", "arguments": [] });
    let refused = client
        .request_raw("workspace/executeCommand", unknown)
        .await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("unsnarl.select"), "{message}");
    client.shutdown().await;
}

/// Lines (from 1) of locations.
fn lines(locations: &Value) -> Vec<u32> {
    let locations = locations.as_array().unwrap().iter();
    let line = |location: &Value| location["range"]["start"]["line"].as_u64().unwrap() as u32 + 1;
    locations.map(line).collect()
}

#[tokio::test]
async fn the_outline_has_explanations_with_their_steps() {
    let workspace = BankWorkspace::new();
    let mut able = capabilities();
    able["textDocument"]["documentSymbol"] = json!({ "hierarchicalDocumentSymbolSupport": true });
    let mut client = explained(&workspace, able).await;
    let outline = ask(
        &mut client,
        "textDocument/documentSymbol",
        &workspace.source(),
    )
    .await;
    let [explanation] = outline.as_slice() else {
        panic!("{outline:?}");
    };
    assert_eq!(explanation["name"], HEADLINE);
    assert_eq!(explanation["selectionRange"]["start"]["line"], READ - 1);
    assert_eq!(explanation["range"]["start"]["line"], BETWEEN - 1);
    assert_eq!(explanation["range"]["end"]["line"], ASSERTION - 1);
    let steps = explanation["children"].as_array().unwrap();
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 4);
    assert_eq!(names[1], "2. main.1 writes balance = 500, in between");
    client.shutdown().await;
}

#[tokio::test]
async fn the_outline_is_flat_for_clients_that_know_no_nesting() {
    let workspace = BankWorkspace::new();
    let mut client = explained(&workspace, capabilities()).await;
    let outline = ask(
        &mut client,
        "textDocument/documentSymbol",
        &workspace.source(),
    )
    .await;
    let names = |key| {
        let values = outline.iter().map(|symbol: &Value| symbol[key].as_str());
        values.collect::<Vec<_>>()
    };
    assert_eq!(names("name").len(), 5);
    assert_eq!(names("name")[0], Some(HEADLINE));
    assert_eq!(names("containerName")[1..], [Some(HEADLINE); 4]);
    client.shutdown().await;
}

#[tokio::test]
async fn definitions_are_the_writes_of_the_values_that_were_read() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    let mut client = explained(&workspace, capabilities()).await;
    let checked = ask_at(&mut client, "textDocument/definition", &source, ASSERTION).await;
    assert_eq!(lines(&checked), [WRITE]);
    let first = ask_at(&mut client, "textDocument/definition", &source, READ).await;
    assert_eq!(first, json!([]), "no step wrote the initial value");
    let mut all = lines(&ask_at(&mut client, "textDocument/references", &source, READ).await);
    all.sort_unstable();
    assert_eq!(all, [BETWEEN, READ, WRITE, ASSERTION]);
    client.shutdown().await;
}

#[tokio::test]
async fn the_hierarchy_of_calls_is_the_order_of_the_steps() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    let mut client = explained(&workspace, capabilities()).await;
    let prepare = "textDocument/prepareCallHierarchy";
    let here = ask_at(&mut client, prepare, &source, BETWEEN).await;
    assert_eq!(
        here[0]["name"],
        "2. main.1 writes balance = 500, in between"
    );
    assert_eq!(here[0]["detail"], "deposit");
    let item = json!({ "item": here[0] });
    let before = client
        .request("callHierarchy/incomingCalls", item.clone())
        .await;
    assert_eq!(before[0]["from"]["name"], "1. main.2 reads balance = 300");
    let next = client.request("callHierarchy/outgoingCalls", item).await;
    assert_eq!(next[0]["to"]["range"]["start"]["line"], WRITE - 1);
    let first = json!({ "item": before[0]["from"] });
    let none = client.request("callHierarchy/incomingCalls", first).await;
    assert_eq!(none, json!([]));
    assert_eq!(ask_at(&mut client, prepare, &source, 8).await, Value::Null);
    client.shutdown().await;
}

#[tokio::test]
async fn clients_with_jumps_of_ours_keep_the_definitions_of_their_other_server() {
    let offered = |able: Value| async move {
        let workspace = BankWorkspace::new();
        let params = json!({ "capabilities": able, "rootUri": uri(&workspace.path()) });
        let (client, server) = Client::introduced(params, Default::default()).await;
        client.shutdown().await;
        server["capabilities"].clone()
    };
    let mut able = capabilities();
    able["experimental"] = json!({ "unsnarl": { "commands": ["unsnarl.nextStep"] } });
    let ours = offered(able).await;
    let others = offered(capabilities()).await;
    for provider in [
        "definitionProvider",
        "referencesProvider",
        "callHierarchyProvider",
    ] {
        assert_eq!(ours[provider], Value::Null, "{provider}");
        assert_eq!(others[provider], json!(true), "{provider}");
    }
    assert_eq!(ours["documentSymbolProvider"], true);
}
