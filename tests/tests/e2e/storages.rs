//! Runs in object storage: a real server, lines that break, objects that are damaged.

use anyhow::{Context, Result, ensure};
use std::{collections::BTreeMap, fs, net::SocketAddr, path::Path, time::SystemTime};
use unsnarl_e2e::{
    Finished, TestProgram, Workspace,
    storage::{StorageServer, breaking_line, fleet_at},
};

const URL: &str = "s3://bucket/team/runs";

fn fleet(workspace: &Workspace, address: SocketAddr, words: &[&str]) -> Result<Finished> {
    Finished::of(fleet_at(workspace, address, words)?)
}

/// The summary of what a transfer did.
fn last_line(said: &Finished) -> &str {
    said.stderr.lines().last().unwrap_or_default()
}

/// Runs of a program with a bug, in the folder `runs`.
fn recorded() -> Result<Workspace> {
    let workspace = TestProgram::compiled("bank_account", "bank")?;
    let options = ["-n", "24", "--summaries", "--out", "runs"];
    workspace.record(&options, "./bank")?.exits(1)?;
    Ok(workspace)
}

/// Files of a folder with their bytes and times.
fn files(folder: &Path) -> Result<BTreeMap<String, (Vec<u8>, SystemTime)>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let modified = entry.metadata()?.modified()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            files.insert(name, (fs::read(entry.path())?, modified));
        }
    }
    Ok(files)
}

/// Two folders have the same bytes, and the same times of recording of runs, in milliseconds.
fn ensure_equal(workspace: &Workspace, one: &str, other: &str) -> Result<()> {
    let [one, other] = [one, other].map(|folder| files(&workspace.path().join(folder)));
    let (one, other) = (one?, other?);
    ensure!(
        one.keys().eq(other.keys()),
        "{:?} and {:?}",
        one.keys(),
        other.keys()
    );
    for (name, (bytes, time)) in &one {
        let (same, then) = other.get(name).context("no file")?;
        ensure!(bytes == same, "{name} has other bytes");
        let between = time.duration_since(*then)?.as_millis();
        ensure!(
            !name.ends_with(".arrow") || between < 2,
            "{name} is {between} ms younger"
        );
    }
    Ok(())
}

#[test]
fn runs_go_to_a_storage_and_come_back() -> Result<()> {
    let (workspace, server) = (recorded()?, StorageServer::start()?);
    let said = |words: &[&str]| fleet(&workspace, server.address(), words);
    let runs = workspace.path().join("runs");
    // With the model of the build.
    let number = files(&runs)?.len() + files(&runs.join("models"))?.len();
    let up = said(&["sync", "runs", URL])?.exits(0)?;
    ensure!(
        last_line(&up).starts_with(&format!("{number} files (")),
        "{up}"
    );
    let again = said(&["sync", "runs", URL])?.exits(0)?;
    let none = format!("0 files (0 bytes) transferred, {number} were there");
    ensure!(last_line(&again) == none, "{again}");
    said(&["sync", URL, "back"])?.exits(0)?;
    ensure_equal(&workspace, "runs", "back")?;
    ensure!(last_line(&said(&["sync", URL, "back"])?) == none);
    said(&["summarize", URL])?
        .exits(0)?
        .says(&["0 summaries written"])?;
    said(&["sync", "back", "runs"])?
        .exits(2)?
        .says(&["one of the two must be a folder, and the other one a URL"])?;
    said(&["sync", "runs", "s3://nowhere/runs"])?
        .exits(2)?
        .says(&["s3://nowhere/runs", "does not exist", "next:"])?;
    Ok(())
}

#[test]
fn a_command_on_a_url_says_what_it_says_on_the_folder() -> Result<()> {
    let (workspace, server) = (recorded()?, StorageServer::start()?);
    fleet(&workspace, server.address(), &["sync", "runs", URL])?.exits(0)?;
    let said = |words: &[&str]| -> Result<Finished> {
        let mut command = fleet_at(&workspace, server.address(), words)?;
        command.env("XDG_CACHE_HOME", workspace.path().join("cache"));
        Finished::of(command)
    };
    let causes = |said: Finished| -> Result<Vec<serde_json::Value>> {
        let document: serde_json::Value = serde_json::from_str(&said.stdout)?;
        let causes = document
            .get("causes")
            .and_then(|causes| causes.as_array())
            .context("no causes")?;
        let mut causes = causes.clone();
        // The example is the path of a file, which is in the cache here.
        let own = causes.iter_mut().filter_map(|cause| cause.as_object_mut());
        own.for_each(|cause| drop(cause.remove("example")));
        Ok(causes)
    };
    let here = causes(
        workspace
            .unsnarl(&["report", "runs", "--format", "json"])?
            .exits(1)?,
    )?;
    let there = causes(said(&["report", URL, "--format", "json"])?.exits(1)?)?;
    ensure!(here == there && here.len() == 1, "{here:?} and {there:?}");
    said(&["explain", URL])?
        .exits(1)?
        .says(&["balance", "0 files (0 bytes) transferred"])?;
    said(&["record", URL, "-n", "10", "--seed", "77", "--", "./bank"])?;
    let more = said(&["explain", URL])?.exits(1)?;
    ensure!(!more.stderr.contains("0 files (0 bytes)"), "{more}");
    // The default binary knows no storage, and says which program does.
    workspace
        .unsnarl(&["record", "--out", URL, "--", "./bank"])?
        .exits(2)?
        .says(&["unsnarl-fleet record s3://"])?;
    workspace
        .unsnarl(&["explain", URL])?
        .exits(2)?
        .says(&["unsnarl-fleet explain s3://"])?;
    Ok(())
}

#[test]
fn each_damaged_file_is_named_and_spoils_no_other() -> Result<()> {
    let (workspace, server) = (recorded()?, StorageServer::start()?);
    let said = |words: &[&str]| fleet(&workspace, server.address(), words);
    let runs = workspace.runs_in("runs")?;
    let [first, second, third, ..] = &runs[..] else {
        anyhow::bail!("{runs:?}");
    };
    let path = |name: &str| workspace.path().join("runs").join(name);
    let whole = fs::read(path(first))?;
    fs::write(path(first), [&whole[..whole.len() - 1], b"x"].concat())?;
    let up = said(&["sync", "runs", URL])?
        .exits(1)?
        .says(&[&format!("runs/{first} is damaged"), "1 failed"])?;
    ensure!(up.stderr.matches("error:").count() == 1, "{up}");
    // Bits that were lost in the storage: a run of the same size, and half a summary.
    let mut bytes = fs::read(path(second))?;
    bytes.reverse();
    server.put(&format!("team/runs/{second}"), &bytes)?;
    let summary = third.replace(".arrow", ".parquet");
    server.put(
        &format!("team/runs/{summary}"),
        &fs::read(path(&summary))?[..1000],
    )?;
    let down = said(&["sync", URL, "back"])?.exits(1)?;
    let down = down.says(&[
        &format!("{URL}/{second} is damaged"),
        &format!("{URL}/{summary} is damaged"),
        "2 failed",
    ])?;
    ensure!(down.stderr.matches("error:").count() == 2, "{down}");
    let back = workspace.runs_in("back")?;
    ensure!(back.len() == runs.len() - 2 && !back.contains(second) && !back.contains(first));
    Ok(())
}

#[test]
fn what_a_broken_line_kept_from_arriving_comes_later() -> Result<()> {
    let (workspace, server) = (recorded()?, StorageServer::start()?);
    let said = |address, words: &[&str]| fleet(&workspace, address, words);
    // Less often than a request is repeated: none of them breaks for ever.
    let bad = breaking_line(server.address(), 10_000, 4)?;
    let up = said(bad, &["sync", "runs", URL])?;
    said(server.address(), &["sync", "runs", URL])?.exits(0)?;
    let bad = breaking_line(server.address(), 10_000, 4)?;
    said(bad, &["sync", URL, "back"])?.exits(0)?;
    ensure_equal(&workspace, "runs", "back")?;
    // A line on which nothing longer ever arrives.
    let dead = breaking_line(server.address(), 3_000, u64::MAX)?;
    let down = said(dead, &["sync", URL, "none"])?;
    ensure!(
        down.status != Some(0) && down.stderr.contains("next:"),
        "{up}{down}"
    );
    Ok(())
}
