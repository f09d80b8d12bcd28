//! Confirmation by running programs again, over a pipe. A script stands in for the command line tool.

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
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};
use support::{
    Client,
    bank::{BankWorkspace, READ},
    capabilities, uri,
};
use unsnarl_server::Setup;

/// A workspace with one failing run, with the server's tools.
struct ConfirmWorkspace {
    workspace: BankWorkspace,
    tools: tempfile::TempDir,
}

impl ConfirmWorkspace {
    fn new() -> ConfirmWorkspace {
        let place = ConfirmWorkspace {
            workspace: BankWorkspace::new(),
            tools: tempfile::tempdir().unwrap(),
        };
        place.workspace.land_failing("failed-random-1");
        place
    }

    fn tool(&self) -> PathBuf {
        self.tools.path().join("unsnarl")
    }

    /// Sets the tool's answer. The tool notes each call.
    fn answers(&self, answer: &Value) {
        let folder = self.tools.path();
        fs::write(folder.join("answer.json"), answer.to_string()).unwrap();
        let script = "#!/bin/sh\ncd \"$(dirname \"$0\")\" && echo \"$*\" >> calls && cat answer.json && exit 1\n";
        fs::write(self.tool(), script).unwrap();
        fs::set_permissions(self.tool(), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn calls(&self) -> usize {
        let calls = fs::read_to_string(self.tools.path().join("calls"));
        calls.unwrap_or_default().lines().count()
    }

    fn setup(&self) -> Setup {
        Setup {
            unsnarl: Some(self.tool()),
            permissions: Some(self.tools.path().join("state/may-run.json")),
            ..Setup::default()
        }
    }

    fn params(&self, setting: &str, own: Value) -> Value {
        let mut able = capabilities();
        able["experimental"]["unsnarl"] = own;
        json!({
            "capabilities": able,
            "rootUri": uri(&self.workspace.path()),
            "initializationOptions": { "confirm": setting },
        })
    }

    /// A client with this setting; `own` holds its own capabilities.
    async fn client(&self, setting: &str, own: Value) -> Client {
        let mut client = Client::set_up(self.params(setting, own), self.setup()).await;
        client.hush("textDocument/publishDiagnostics");
        client
    }

    /// The explanation as it is before anything is run again.
    async fn explanation(&self) -> Value {
        let mut client = self.client("never", json!({})).await;
        let explanation = settled(&mut client).await.remove(0);
        client.shutdown().await;
        explanation
    }
}

/// The explanations once the server is idle.
async fn settled(client: &mut Client) -> Vec<Value> {
    client
        .status(|status| status["quiescent"] == true && status["runs"] != 0)
        .await;
    let all = client.request("unsnarl/explanations", Value::Null).await;
    all["explanations"].as_array().unwrap().clone()
}

fn answer(explanations: &[Value], refuted: &[Value]) -> Value {
    json!({ "version": 1, "explanations": explanations, "refuted": refuted, "corpora": [], "broken": [] })
}

/// The explanation, confirmed by running it again, with its first fix tried.
fn confirmed(mut explanation: Value) -> Value {
    explanation["certainty"] = json!("confirmed");
    explanation["confirmed"] =
        json!({ "fails": 10, "of_fails": 10, "passes": 10, "of_passes": 10 });
    explanation["executed"] = json!({
        "verdict": "confirmed", "other": "", "is_recorded": false, "reason": "", "next": "", "says": [],
    });
    explanation["fixes"][0]["tried"] = json!({
        "verdict": "holds", "schedules": 79, "random": 0, "allowed": 40, "failed": 0, "failure": "", "bound": 2,
        "is_whole": true, "is_complete": false,
    });
    explanation
}

/// The offers at the line that reads the balance: titles, and lenses.
async fn offers(client: &mut Client, place: &ConfirmWorkspace) -> Vec<String> {
    let document = json!({ "uri": uri(&place.workspace.source()) });
    let at = json!({ "line": READ - 1, "character": 0 });
    let range = json!({ "start": at, "end": at });
    let asked =
        json!({ "textDocument": document, "range": range, "context": { "diagnostics": [] } });
    let actions = client.request("textDocument/codeAction", asked).await;
    let lenses = json!({ "textDocument": document });
    let lenses = client.request("textDocument/codeLens", lenses).await;
    let titles = actions.as_array().unwrap().iter().map(|one| &one["title"]);
    let lenses = lenses.as_array().unwrap().clone();
    let lenses: Vec<Value> = lenses
        .iter()
        .map(|one| one["command"]["title"].clone())
        .collect();
    let all = titles.chain(&lenses);
    all.map(|title| title.as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn what_was_run_again_is_confirmed_once() {
    let place = ConfirmWorkspace::new();
    let before = place.explanation().await;
    assert_eq!(before["certainty"], "likely");
    place.answers(&answer(&[confirmed(before)], &[]));
    let mut client = place.client("always", json!({})).await;
    let told = settled(&mut client).await.remove(0);
    assert_eq!(
        (
            &told["certainty"],
            &told["confirmed"]["fails"],
            place.calls()
        ),
        (&json!("confirmed"), &json!(10), 1)
    );
    assert!(
        told["text"].as_str().unwrap().contains("10/10"),
        "{}",
        told["text"]
    );
    let said = offers(&mut client, &place).await;
    let result = "(tried, no failure)";
    assert!(said.iter().any(|title| title.contains(result)), "{said:?}");
    assert!(
        !said.iter().any(|title| title.contains("running it again")),
        "{said:?}"
    );

    // Newer runs of the same are counted, and nothing is run for them.
    place.workspace.land_failing("failed-random-2");
    client.status(|status| status["failing"] == 2).await;
    let told = settled(&mut client).await.remove(0);
    assert_eq!(
        (
            told["runs"].as_array().unwrap().len(),
            &told["certainty"],
            place.calls()
        ),
        (2, &json!("confirmed"), 1)
    );
    client.shutdown().await;

    // Nor in another session.
    let mut client = place.client("always", json!({})).await;
    let told = settled(&mut client).await.remove(0);
    assert_eq!(
        (&told["certainty"], place.calls()),
        (&json!("confirmed"), 1)
    );
    client.shutdown().await;
}

#[tokio::test]
async fn what_is_refuted_is_not_shown() {
    let place = ConfirmWorkspace::new();
    let before = place.explanation().await;
    place.answers(&answer(&[], std::slice::from_ref(&before)));
    let mut client = place.client("always", json!({})).await;
    assert_eq!(settled(&mut client).await, [] as [Value; 0]);
    let status = client.status(|_| true).await;
    assert_eq!(
        (&status["explanations"], &status["unexplained"]),
        (&json!(0), &json!(1))
    );
    client.shutdown().await;

    // Its failure is still there to be seen, in the next session, too.
    let mut client = Client::set_up(place.params("always", json!({})), place.setup()).await;
    let marks = client.diagnostics(&place.workspace.source()).await;
    assert_eq!(marks.len(), 1);
    let said = marks[0]["message"].as_str().unwrap();
    assert!(
        said.contains("does not hold when it is run again"),
        "{said}"
    );
    client.hush("textDocument/publishDiagnostics");
    client.shutdown().await;

    // Another story of the same failure comes in its place.
    let place = ConfirmWorkspace::new();
    let before = place.explanation().await;
    let mut other = confirmed(before.clone());
    (other["id"], other["headline"]) = (json!("another"), json!("it was something else"));
    place.answers(&answer(&[other], &[]));
    let mut client = place.client("always", json!({})).await;
    let told = settled(&mut client).await;
    assert_eq!(
        (told.len(), &told[0]["headline"]),
        (1, &json!("it was something else"))
    );
    client.shutdown().await;
}

#[tokio::test]
async fn the_user_is_asked_once() {
    let place = ConfirmWorkspace::new();
    let before = place.explanation().await;
    place.answers(&answer(&[confirmed(before)], &[]));
    let asks = || json!({ "asks": true });

    // Not now: asked again in the next session.
    let mut client = place.client("ask", asks()).await;
    let question = client.expect("window/showMessageRequest").await;
    assert_eq!(
        question["params"]["message"],
        "unsnarl has found why runs of the program fail. You have not recorded this build on this machine. May it run the program again, in the background, to confirm that and to try fixes?"
    );
    client.answer(&question).await;
    place.workspace.land_failing("failed-random-2");
    client.status(|status| status["failing"] == 2).await;
    settled(&mut client).await;
    assert_eq!(place.calls(), 0);
    client.shutdown().await;

    let mut client = place.client("ask", asks()).await;
    let question = client.expect("window/showMessageRequest").await;
    client
        .answer_with(&question, json!({ "title": "Run It" }))
        .await;
    let mut confirmed = false;
    while !confirmed {
        confirmed = settled(&mut client).await[0]["certainty"] == "confirmed";
    }
    assert_eq!(place.calls(), 1);
    client.shutdown().await;

    // The answer is remembered.
    let other = place.workspace.land_failing("failed-random-0");
    let mut client = place.client("ask", asks()).await;
    settled(&mut client).await;
    client.shutdown().await;
    fs::remove_file(other).unwrap();
}

#[tokio::test]
async fn who_cannot_be_asked_is_offered_it() {
    let place = ConfirmWorkspace::new();
    let before = place.explanation().await;
    place.answers(&answer(&[confirmed(before.clone())], &[]));
    let mut client = place.client("ask", json!({})).await;
    settled(&mut client).await;
    let said = offers(&mut client, &place).await;
    assert!(
        said.contains(&"confirm by running it again".to_owned()),
        "{said:?}"
    );
    let wish = json!({ "command": "unsnarl.confirm", "arguments": [before["id"]] });
    client
        .request("workspace/executeCommand", wish.clone())
        .await;
    let told = settled(&mut client).await;
    assert_eq!(
        (&told[0]["certainty"], place.calls()),
        (&json!("confirmed"), 1)
    );
    let again = client.request_raw("workspace/executeCommand", wish).await;
    assert_eq!(
        again["error"]["message"],
        "it was run again already; new runs are looked at anew"
    );
    client.shutdown().await;
}

#[tokio::test]
async fn nothing_is_run_where_that_is_not_allowed() {
    let place = ConfirmWorkspace::new();
    place.answers(&answer(&[], &[]));
    let refused = |setting: &'static str, own: Value, why: &'static str| {
        let place = &place;
        async move {
            let mut client = place.client(setting, own).await;
            settled(&mut client).await;
            let wish = json!({ "command": "unsnarl.confirm" });
            let answer = client.request_raw("workspace/executeCommand", wish).await;
            let said = answer["error"]["message"].as_str().unwrap().to_owned();
            assert!(said.contains(why), "{said}");
            client.shutdown().await;
            assert_eq!(place.calls(), 0);
        }
    };
    refused("never", json!({}), "unsnarl.confirm is never").await;
    refused("always", json!({ "trusted": false }), "not trusted").await;
}

#[tokio::test]
async fn a_tool_that_fails_is_named_once() {
    let place = ConfirmWorkspace::new();
    place.answers(&json!("nonsense"));
    let mut client = place.client("always", json!({})).await;
    let told = settled(&mut client).await;
    assert_eq!(told[0]["certainty"], "likely");
    let said = client.logged().await;
    assert!(
        said.contains("the answer of unsnarl explain cannot be read"),
        "{said}"
    );
    place.workspace.land_passing("passed-random-1");
    client.status(|status| status["runs"] == 2).await;
    settled(&mut client).await;
    assert_eq!(place.calls(), 1);
    let wish = json!({ "command": "unsnarl.confirm" });
    let answer_to_it = client.request_raw("workspace/executeCommand", wish).await;
    let said = answer_to_it["error"]["message"].as_str().unwrap();
    assert!(said.contains("could not be run again"), "{said}");
    client.shutdown().await;

    // In another session it may be mended.
    place.answers(&answer(&[confirmed(told[0].clone())], &[]));
    let mut client = place.client("always", json!({})).await;
    assert_eq!(settled(&mut client).await[0]["certainty"], "confirmed");
    client.shutdown().await;
}
