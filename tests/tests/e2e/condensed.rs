//! A log that is full: of its older part there is what threads get from each other, in a run that repeats.

use super::repeats::{compiled, recorded, told};
use anyhow::{Context, Result, ensure};
use unsnarl_e2e::{TestedCompiler, Workspace, consistent};
use unsnarl_trace::{Event, Run, meta::CondensedPart, model::flags};

const FULL: [&str; 4] = ["--max-events", "40000", "--strategy", "random:50"];

fn part(run: &Run) -> Result<CondensedPart> {
    let left_out = run.meta.left_out.context("nothing is left out")?;
    left_out.condensed.context("the log was not full")
}

fn run_of(workspace: &Workspace) -> Result<String> {
    let names = workspace.runs()?;
    Ok(workspace.run_path(names.first().context("no run")?))
}

/// The number of events of a whole run that a part of it leaves out.
fn missing_before_newer(some: &Run, whole: &Run) -> Result<usize> {
    let mut all = whole.events.iter().map(|(_, event)| event);
    let (mut missing, mut before) = (0, 0);
    // The last of several writes may stand later.
    let is_late = |event: &Event| event.flags & flags::LAST_WRITE != 0;
    for (id, event) in some.events.iter().filter(|(_, event)| !is_late(event)) {
        let wanted = told(some, &event);
        let is_it = |other: &Event| told(whole, other) == wanted;
        let skipped = all.by_ref().position(|other| is_it(&other));
        missing += skipped.with_context(|| format!("event {}: {wanted:?}", id.0))?;
        if u64::from(id.0) < part(some)?.events {
            before = missing;
        }
    }
    ensure!(all.next().is_none(), "the end is missing");
    Ok(before)
}

#[test]
fn the_older_part_is_the_rest_of_the_same_run() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let workspace = compiled(compiler, "-O1")?;
        let some = recorded(&workspace, "some", &FULL, &[])?;
        let options = ["--every-access", "--strategy", "random:50"];
        let whole = recorded(&workspace, "whole", &options, &[])?;
        ensure!(
            some.meta.schedule == whole.meta.schedule,
            "schedules differ"
        );
        let missing = missing_before_newer(&some, &whole)?;
        ensure!(missing > 20_000, "{missing} of {}", whole.events.len());
        consistent::check(&some, |_| false)?;
    }
    Ok(())
}

#[test]
fn such_a_run_repeats_but_for_what_counts_its_events() -> Result<()> {
    let workspace = compiled(TestedCompiler::Gcc, "-O1")?;
    recorded(&workspace, ".unsnarl/runs", &FULL, &[])?;
    let run = run_of(&workspace)?;
    let replay =
        |options: &[&str]| workspace.unsnarl(&[&["replay", run.as_str()], options].concat());
    replay(&["-n", "2"])?
        .exits(0)?
        .says(&["the same run 2 of 2"])?;
    for option in ["--branches", "--gdb"] {
        replay(&[option])?
            .exits(2)?
            .says(&["the log of the run was full", "--max-events"])?;
    }
    Ok(())
}

#[test]
fn a_failing_run_whose_log_is_full_is_explained_and_says_so() -> Result<()> {
    let workspace = compiled(TestedCompiler::Gcc, "-O1")?;
    let run = recorded(&workspace, ".unsnarl/runs", &FULL, &["fail"])?;
    ensure!(part(&run)?.room == 40_000);
    let said = workspace.unsnarl(&["explain", "--no-run"])?.exits(1)?;
    said.says(&[
        "its log was full",
        "what threads get from each other",
        "error:",
    ])?;
    Ok(())
}
