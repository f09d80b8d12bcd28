//! The whole server, spoken to over a pipe.

mod support;

use serde_json::Value;
use support::{
    Client,
    bank::{ASSERTION, BETWEEN, READ, WRITE, Workspace},
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

/// What the failing run of the bank shows, moved down by some lines.
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
    let workspace = Workspace::new();
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
