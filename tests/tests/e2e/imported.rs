//! Traces of other tools that failed are explained by a statistic over different orders: nothing can be executed.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use unsnarl_e2e::Workspace;

/// `T1` and `T2` add to a balance, with what the first does to it before and after what the second does.
fn trace(before: &str, between: &str, after: &str) -> String {
    format!(
        "T0|fork(T1)|bank.c:1\nT0|fork(T2)|bank.c:2\n{before}T1|r(balance)|bank.c:10\n{between}\
         T1|w(balance)|bank.c:11\n{after}T0|join(T1)|bank.c:3\nT0|join(T2)|bank.c:4\nT0|r(balance)|bank.c:5\n"
    )
}

const OTHER: &str = "T2|r(balance)|bank.c:20\nT2|w(balance)|bank.c:21\n";

/// A step of `T2` on its own data: no other thread can tell its time.
const OWN: &str = "T2|r(own)|bank.c:19\n";

fn imported() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let own_first = format!("{OWN}{OTHER}");
    let failing = [
        trace("", &own_first, ""),
        // The same order of conflicting operations.
        trace(OWN, OTHER, ""),
    ];
    let passing = [
        trace("", "", &own_first),
        trace(OWN, "", OTHER),
        trace(&own_first, "", ""),
    ];
    for (at, text) in failing.iter().enumerate() {
        let name = format!("failing-{at}.std");
        workspace.write(&name, text)?;
        let words = ["import", &name, "--from", "std", "--of", "bank", "--failed"];
        workspace.unsnarl(&words)?.exits(0)?;
    }
    for (at, text) in passing.iter().enumerate() {
        let name = format!("passing-{at}.std");
        workspace.write(&name, text)?;
        let words = ["import", &name, "--from", "std", "--of", "bank"];
        workspace.unsnarl(&words)?.exits(0)?;
    }
    Ok(workspace)
}

#[test]
fn different_orders_are_counted_and_not_copies() -> Result<()> {
    let workspace = imported()?;
    let counted = "Not executed: ranked by Ochiai's coefficient, 1.00 \
                   (1 of 1 different failing orders have it, and 0 of 2 passing ones).";
    for words in [&["explain"][..], &["explain", "--no-run"]] {
        let finished = workspace.unsnarl(words)?.exits(1)?;
        finished.says(&["update of `balance` was lost", counted])?;
    }
    Ok(())
}

#[test]
fn json_has_the_value_with_its_counts() -> Result<()> {
    let workspace = imported()?;
    let finished = workspace
        .unsnarl(&["explain", "--format", "json"])?
        .exits(1)?;
    let document: Value = serde_json::from_str(&finished.stdout)?;
    let told = document
        .pointer("/explanations/0")
        .context("no explanation")?;
    ensure!(told["executed"]["verdict"] == "not-run", "{told:#}");
    let of = &told["ochiai"];
    ensure!(of["value"] == 1.0, "{told:#}");
    let counts = ["failing_with", "failing", "passing_with", "passing"];
    let counts = counts.map(|name| of[name].as_u64());
    ensure!(counts == [1, 1, 0, 2].map(Some), "{told:#}");
    ensure!(told["runs"].as_array().map(Vec::len) == Some(2), "{told:#}");
    Ok(())
}

/// A run with the order that is blamed passed, too: 1 / sqrt(1 * (1 + 1)).
#[test]
fn a_passing_order_that_has_it_counts_against_it() -> Result<()> {
    let workspace = imported()?;
    let harmless = trace("T2|w(own)|bank.c:18\n", OTHER, "");
    workspace.write("harmless.std", &harmless)?;
    let words = ["import", "harmless.std", "--from", "std", "--of", "bank"];
    workspace.unsnarl(&words)?.exits(0)?;
    let counted = "Ochiai's coefficient, 0.71 \
                   (1 of 1 different failing orders have it, and 1 of 3 passing ones).";
    let finished = workspace.unsnarl(&["explain"])?.exits(1)?;
    finished.says(&["update of `balance` was lost", counted])?;
    Ok(())
}
