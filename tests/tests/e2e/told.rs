//! Explanations and fixes are called by the names that were told, whatever a comparison of the runs alone would tell.

use anyhow::{Context, Result, ensure};
use std::fs;
use unsnarl_core::{Explanation, fixes::Fix};
use unsnarl_e2e::{TestProgram, Workspace};

/// The data that a thread reads are filled in after the thread was started, in several lines: moving one of them is not enough.
const ORDER: &str = r"#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct order { int *prices; int lines; int rebate; };
static long total;

static struct order *order_new(void)
{
    return calloc(1, sizeof(struct order));
}

static void *sum(void *argument)
{
    struct order *order = argument;
    for (int i = 0; i < order->lines; i++)
        total += order->prices[i] * order->rebate;
    return NULL;
}

int main(void)
{
    pthread_t summing;
    int prices[3] = { 1, 2, 3 };
    struct order *order = order_new();
    pthread_create(&summing, NULL, sum, order);
    order->lines = 3;
    order->rebate = 2;
    order->prices = prices;
    pthread_join(summing, NULL);
    assert(total == 12);
    free(order);
}
";

/// A thread begins before its order is filled in. What is noted on that makes no difference.
const NOTED_ORDER: &str = r"#include <assert.h>
#include <pthread.h>

static struct { int lines; int note; } order;
static int total, note;

static void *sum(void *unused)
{
    (void)unused;
    total += order.lines * 4;
    note = order.note;
    return NULL;
}

int main(void)
{
    pthread_t summing;
    pthread_create(&summing, NULL, sum, NULL);
    order.lines = 3;
    order.note = 2;
    pthread_join(summing, NULL);
    assert(total == 12);
}
";

/// Two threads close one connection, and nothing keeps them apart.
const CLOSERS: &str = r"#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct session { char key[16]; };
struct peer { struct session *session; };

static void close_peer(struct peer *peer)
{
    if (peer->session != NULL) {
        memset(peer->session->key, 0, sizeof peer->session->key);
        free(peer->session);
        peer->session = NULL;
    }
}

static void *late(void *peer)
{
    close_peer(peer);
    return NULL;
}

static void *done(void *peer)
{
    close_peer(peer);
    return NULL;
}

int main(void)
{
    pthread_t first, second;
    struct peer peer = { calloc(1, sizeof(struct session)) };
    pthread_create(&first, NULL, late, &peer);
    pthread_create(&second, NULL, done, &peer);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}
";

fn built(source: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    fs::write(workspace.path().join("prog.c"), source)?;
    let build = ["cc", "-g", "prog.c", "-o", "prog", "-pthread"];
    workspace.unsnarl(&build)?.exits(0)?;
    Ok(workspace)
}

fn record(workspace: &Workspace, options: &[&str]) -> Result<()> {
    let words = [&["record"][..], options, &["--", "./prog"]].concat();
    workspace.unsnarl(&words)?;
    ensure!(!workspace.runs()?.is_empty(), "nothing was recorded");
    Ok(())
}

fn record_failing(workspace: &Workspace, seed: &str) -> Result<()> {
    record(
        workspace,
        &["--seed", seed, "-n", "1000", "--until-failing", "3"],
    )
}

fn first(workspace: &Workspace) -> Result<Explanation> {
    let (finished, explanations) = workspace.explain()?;
    explanations.into_iter().next().context(finished.stdout)
}

/// The diff of a fix by its name.
fn diff(workspace: &Workspace, name: &str) -> Result<String> {
    let words = ["verify", name, "--diff"];
    Ok(workspace.unsnarl(&words)?.exits(0)?.stdout)
}

/// The lines that a fix adds are those of a diff.
fn is_diff_of(fix: &Fix, diff: &str) -> Result<()> {
    for edit in &fix.edits {
        for line in edit.text.lines().filter(|line| !line.trim().is_empty()) {
            let is_there = diff.contains(&format!("+{line}")) || diff.contains(line.trim());
            ensure!(is_there, "{}: {line:?} is not in\n{diff}", fix.title);
        }
    }
    Ok(())
}

#[test]
fn a_fix_is_called_by_the_name_that_was_told_wherever_it_stands() -> Result<()> {
    let workspace = built(NOTED_ORDER)?;
    record_failing(&workspace, "5")?;
    let (finished, explanations) = workspace.explain()?;
    let mut explanations = explanations.into_iter();
    let told = explanations.find(|one| one.fixes.len() > 1);
    let told = told.with_context(|| format!("there are no two fixes: {finished}"))?;
    let best = told.fixes.first().context("no fix")?;
    let by_id = diff(&workspace, &told.id)?;
    is_diff_of(best, &by_id)?;
    for fix in &told.fixes {
        let by_name = diff(&workspace, &told.name_of(fix))?;
        is_diff_of(fix, &by_name)?;
        ensure!((by_name == by_id) == (fix == best), "{}", fix.title);
    }
    let said = workspace.unsnarl(&["explain"])?.exits(1)?;
    said.says(&[&format!(
        "To verify it: unsnarl verify {}",
        told.name_of(best)
    )])?;
    // Without a build: a move is not tried as a constraint on schedules, but it is the fix that was named.
    let name = told.name_of(best);
    let said = workspace.unsnarl(&["verify", &name, "--budget", "5s"])?;
    said.says(&[&format!("fix: {}", best.title)])?;
    Ok(())
}

#[test]
fn what_was_told_is_still_called_so_after_more_was_recorded() -> Result<()> {
    let workspace = built(ORDER)?;
    record_failing(&workspace, "5")?;
    let (finished, explanations) = workspace.explain()?;
    let mut explanations = explanations.into_iter();
    let told = explanations.find(|one| !one.fixes.is_empty());
    let told = told.with_context(|| format!("no fix: {finished}"))?;
    let before = diff(&workspace, &told.id)?;
    record_failing(&workspace, "6")?;
    ensure!(diff(&workspace, &told.id)? == before, "it is another fix");
    let place = diff_in(&workspace, &told.id, ".unsnarl/runs")?;
    ensure!(place == before, "the same runs by another name");
    Ok(())
}

fn diff_in(workspace: &Workspace, name: &str, place: &str) -> Result<String> {
    let words = ["verify", name, place, "--diff"];
    Ok(workspace.unsnarl(&words)?.exits(0)?.stdout)
}

#[test]
fn nothing_is_told_of_runs_that_are_gone() -> Result<()> {
    let workspace = built(CLOSERS)?;
    record_failing(&workspace, "5")?;
    let told = first(&workspace)?;
    fs::remove_dir_all(workspace.path().join(".unsnarl/runs"))?;
    record(&workspace, &["--strategy", "sequential"])?;
    let said = workspace
        .unsnarl(&["verify", &told.id, "--diff"])?
        .exits(2)?;
    said.says(&[&format!("there is no explanation {}", told.id)])?;
    Ok(())
}

/// The words of a report about the fix of the only cause.
fn reported(workspace: &Workspace) -> Result<serde_json::Value> {
    let said = workspace
        .unsnarl(&["report", "--format", "json"])?
        .exits(1)?;
    let mut document: serde_json::Value = serde_json::from_str(&said.stdout)?;
    let cause = document.pointer_mut("/causes/0").context(said.stdout)?;
    Ok(cause.get_mut("fix").context("no fix")?.take())
}

#[test]
fn a_report_says_whether_a_fix_was_verified() -> Result<()> {
    let workspace = TestProgram::compiled("bank_account", "prog")?;
    record_failing(&workspace, "5")?;
    ensure!(reported(&workspace)?.is_null(), "nothing was suggested yet");
    let explain = ["explain", "--format", "json", "--no-run"];
    let explanations = workspace.unsnarl(&explain)?.explanations()?;
    let told = explanations.first().context("no explanation")?;
    let fix = told.fixes.first().context("no fix")?;
    let name = told.name_of(fix);
    let suggested = reported(&workspace)?;
    ensure!(
        suggested.get("name").is_some_and(|own| *own == name),
        "{suggested:#}"
    );
    ensure!(
        suggested
            .pointer("/tried/verdict")
            .is_none_or(|it| it == "not-tried"),
        "{suggested:#}"
    );
    workspace.unsnarl(&["verify", &name])?.exits(0)?;
    let verified = reported(&workspace)?;
    ensure!(
        verified
            .pointer("/tried/verdict")
            .is_some_and(|it| it == "holds"),
        "{verified:#}"
    );
    ensure!(
        verified.get("name").is_some_and(|own| *own == name),
        "{verified:#}"
    );
    for format in ["text", "html"] {
        let said = workspace
            .unsnarl(&["report", "--format", format])?
            .exits(1)?;
        said.says(&[&name, "no failure in"])?;
    }
    Ok(())
}
