//! Fixes as code actions, over a pipe: offered, applied, followed through edits, or refused with the reason.

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
use std::{fs, path::Path};
use support::{
    Client,
    bank::{BankWorkspace, READ, SOURCE, WRITE},
    capabilities, uri,
};

const CHANGED: &str = "the lines changed since the run was recorded";

/// A client that takes everything about edits.
fn able() -> Value {
    let mut able = capabilities();
    able["workspace"] = json!({ "workspaceEdit": { "documentChanges": true } });
    able["textDocument"]["codeAction"] = json!({ "disabledSupport": true });
    able
}

/// A client that has shown the marks of one failing and one passing run, and whose server has nothing left to do.
async fn settled(workspace: &BankWorkspace, able: Value) -> Client {
    workspace.land_failing("failed-random-1");
    workspace.land_passing("passed-random-2");
    let mut client = Client::start_able(&workspace.path(), able).await;
    client.hush("textDocument/publishDiagnostics");
    quiet(&mut client).await;
    client
}

async fn quiet(client: &mut Client) {
    client
        .status(|status| status["quiescent"] == true && status["explanations"] == 1)
        .await;
}

/// The actions at a line (from 1).
async fn actions(client: &mut Client, file: &Path, line: u32, only: Value) -> Vec<Value> {
    let at = json!({ "line": line - 1, "character": 0 });
    let params = json!({
        "textDocument": { "uri": uri(file) },
        "range": { "start": at, "end": at },
        "context": { "diagnostics": [], "only": only },
    });
    let actions = client.request("textDocument/codeAction", params).await;
    actions.as_array().unwrap().clone()
}

/// The fixes among them.
async fn fixes(client: &mut Client, file: &Path, line: u32, only: Value) -> Vec<Value> {
    let mut actions = actions(client, file, line, only).await;
    actions.retain(|action| action.get("command").is_none());
    actions
}

/// A text with the edits of one file made, columns in bytes.
fn edited(text: &str, edits: &[Value]) -> String {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .collect();
    let at = |position: &Value| {
        let number = |key: &str| position[key].as_u64().unwrap() as usize;
        starts[number("line")] + number("character")
    };
    let (mut new, mut done) = (String::new(), 0);
    for edit in edits {
        new.push_str(&text[done..at(&edit["range"]["start"])]);
        new.push_str(edit["newText"].as_str().unwrap());
        done = at(&edit["range"]["end"]);
    }
    new + &text[done..]
}

/// `withdraw` as one critical section.
fn is_one_section(text: &str) -> bool {
    let withdraw = text.split("*withdraw").nth(1).unwrap();
    let withdraw = withdraw.split("int main").next().unwrap();
    let count = |what: &str| withdraw.matches(what).count();
    count("mutex_lock(&balance_lock)") == 1 && count("mutex_unlock(&balance_lock)") == 1
}

#[tokio::test]
async fn the_lines_that_a_fix_changes_are_marked() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    workspace.land_failing("failed-random-1");
    workspace.land_passing("passed-random-2");
    let mut client = Client::start_able(&workspace.path(), able()).await;
    quiet(&mut client).await;
    let before = client.last_diagnostics(&source).unwrap();
    let settings = json!({ "settings": { "unsnarl": { "fixMarks": true } } });
    client
        .notify("workspace/didChangeConfiguration", settings)
        .await;
    let after = client.diagnostics(&source).await;
    let line = |diagnostic: &Value| diagnostic["range"]["start"]["line"].as_u64().unwrap() as u32;
    let new: Vec<&Value> = after.iter().filter(|one| !before.contains(one)).collect();
    assert!(!new.is_empty(), "{after:#?}");
    for mark in new {
        let told = mark["message"].as_str().unwrap();
        assert!(told.starts_with("a fix changes this line: "), "{told}");
        assert_eq!(mark["severity"], 4, "a hint");
        assert!(before.iter().all(|one| line(one) != line(mark)), "{mark}");
        let there = fixes(&mut client, &source, line(mark) + 1, Value::Null).await;
        assert!(!there.is_empty(), "{mark}");
    }
    client.shutdown().await;
}

#[tokio::test]
async fn a_fix_is_offered_at_the_lines_of_its_explanation() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    let mut client = settled(&workspace, able()).await;
    let offered = fixes(&mut client, &source, READ, Value::Null).await;
    let first = &offered[0];
    assert_eq!(
        (&first["kind"], &first["isPreferred"]),
        (&json!("quickfix"), &json!(true))
    );
    let all = client.request("unsnarl/explanations", Value::Null).await;
    let explanation = &all["explanations"][0];
    let title = &explanation["fixes"][0]["title"];
    let told = format!("unsnarl: {} (not tried)", title.as_str().unwrap());
    assert_eq!(first["title"], told);
    let [file] = first["edit"]["documentChanges"]
        .as_array()
        .unwrap()
        .as_slice()
    else {
        panic!("{first}")
    };
    assert_eq!(
        file["textDocument"],
        json!({ "uri": uri(&source), "version": null })
    );
    let text = edited(SOURCE, file["edits"].as_array().unwrap());
    assert!(is_one_section(&text) && !is_one_section(SOURCE), "{text}");
    for edit in file["edits"].as_array().unwrap() {
        let line = edit["range"]["start"]["line"].as_u64().unwrap() as u32 + 1;
        let there = fixes(&mut client, &source, line, Value::Null).await;
        assert_eq!(there[0]["title"], told, "line {line}, which it edits");
    }
    let between = fixes(&mut client, &source, READ + 2, Value::Null).await;
    assert_eq!(
        between[0]["title"], told,
        "a line of the step that it makes"
    );

    let elsewhere = fixes(&mut client, &source, 8, Value::Null).await;
    assert_eq!(elsewhere, [] as [Value; 0]);
    let refactorings = fixes(&mut client, &source, READ, json!(["refactor"])).await;
    assert_eq!(refactorings, [] as [Value; 0]);
    client.shutdown().await;
}

#[tokio::test]
async fn a_menu_has_three_entries_and_applying_tells_what_changed() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    let mut able = able();
    let commands = ["showExplanation", "nextStep", "replay", "verify"];
    let commands = commands.iter().chain(&["more", "fixApplied"]);
    let commands: Vec<String> = commands.map(|name| format!("unsnarl.{name}")).collect();
    able["experimental"] = json!({ "unsnarl": { "commands": commands } });
    let mut client = settled(&workspace, able).await;
    let offered = actions(&mut client, &source, READ, Value::Null).await;
    let titles: Vec<&str> = offered
        .iter()
        .map(|one| one["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles.len(), 3, "{titles:?}");
    assert_eq!(titles[1], "unsnarl: explain");
    assert_eq!(
        titles[2],
        "unsnarl: more (another thread's update of `balance` was…)"
    );
    let rest = offered[2]["command"]["arguments"][1].as_array().unwrap();
    let rest: Vec<&str> = rest
        .iter()
        .map(|one| one["title"].as_str().unwrap())
        .collect();
    assert!(rest.contains(&"unsnarl: replay"), "{rest:?}");
    assert!(
        rest.contains(&"unsnarl: this is harmless (suppress)"),
        "{rest:?}"
    );

    let told = &offered[0]["command"];
    assert_eq!(told["command"], "unsnarl.fixApplied");
    let edits = &offered[0]["edit"]["documentChanges"][0]["edits"];
    let text = edited(SOURCE, edits.as_array().unwrap());
    let lines: Vec<&str> = text.lines().collect();
    for place in told["arguments"][1].as_array().unwrap() {
        let line = place["location"]["range"]["start"]["line"]
            .as_u64()
            .unwrap() as usize;
        let said = place["text"].as_str().unwrap();
        assert!(
            said == "(removed)" || lines[line].contains(said),
            "{place} in {text}"
        );
    }
    client.shutdown().await;
}

#[tokio::test]
async fn a_fix_follows_edits_elsewhere() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    let mut client = settled(&workspace, able()).await;
    client.open(&source, SOURCE).await;
    client.edit(&source, 7, 0..0, "// one\n// two\n").await;
    let offered = fixes(&mut client, &source, READ + 2, Value::Null).await;
    let file = &offered[0]["edit"]["documentChanges"][0];
    assert_eq!(file["textDocument"]["version"], 7);
    let now = format!("// one\n// two\n{SOURCE}");
    let text = edited(&now, file["edits"].as_array().unwrap());
    assert!(is_one_section(&text), "{text}");

    // Something new between the lines that become one step: it may leave them.
    client
        .edit(
            &source,
            8,
            READ + 2..READ + 2,
            "    if (bal < 50) return 0;\n",
        )
        .await;
    let offered = fixes(&mut client, &source, READ + 2, Value::Null).await;
    assert_eq!(offered[0].get("edit"), None);
    assert_eq!(offered[0].get("isPreferred"), None);
    let reason = offered[0]["disabled"]["reason"].as_str().unwrap();
    assert!(reason.starts_with(CHANGED), "{reason}");
    client.shutdown().await;
}

#[tokio::test]
async fn clients_that_can_do_little_get_plain_edits_and_no_disabled_actions() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    let mut client = settled(&workspace, capabilities()).await;
    let offered = fixes(&mut client, &source, WRITE, Value::Null).await;
    let edits = offered[0]["edit"]["changes"][uri(&source)]
        .as_array()
        .unwrap();
    assert!(is_one_section(&edited(SOURCE, edits)));
    client.open(&source, SOURCE).await;
    let changed = "    balance = bal; // new\n";
    client.edit(&source, 2, WRITE - 1..WRITE, changed).await;
    let offered = fixes(&mut client, &source, READ, Value::Null).await;
    assert_eq!(offered, [] as [Value; 0]);
    client.shutdown().await;
}

#[tokio::test]
async fn the_recorded_source_comes_back() {
    let workspace = BankWorkspace::new();
    let source = workspace.source();
    fs::write(&source, SOURCE.replace("- 50", "- 60")).unwrap();
    let mut client = settled(&workspace, able()).await;
    let offered = fixes(&mut client, &source, READ, Value::Null).await;
    assert_eq!(offered, [] as [Value; 0]);
    fs::write(workspace.path().join("new"), SOURCE).unwrap();
    fs::rename(workspace.path().join("new"), &source).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while fixes(&mut client, &source, READ, Value::Null)
        .await
        .is_empty()
    {
        assert!(std::time::Instant::now() < deadline, "no fix came");
        tokio::task::yield_now().await;
    }
    client.hush("window/logMessage");
    client.shutdown().await;
}
