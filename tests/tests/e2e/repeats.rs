//! Long runs leave out accesses that repeat others: what is left is the rest of the same run, and its values fit.

use anyhow::{Context, Result, ensure};
use std::{
    collections::{HashMap, HashSet},
    path::Path,
};
use unsnarl_e2e::{TestedCompiler, Workspace, consistent, program::compile_with, project};
use unsnarl_trace::{Event, Run, Value, model::flags, read_run};

/// The program, compiled.
pub fn compiled(compiler: TestedCompiler, level: &str) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let text = std::fs::read_to_string(project().join("tests/runtime/repeats.c"))?;
    workspace.write("repeats.c", &text)?;
    compile_with(
        &workspace,
        Path::new("repeats.c"),
        "repeats",
        compiler,
        &[level],
    )?;
    Ok(workspace)
}

/// The only run of a recording into a folder.
pub fn recorded(
    workspace: &Workspace,
    out: &str,
    options: &[&str],
    arguments: &[&str],
) -> Result<Run> {
    let words = ["record", "-n1", "--seed=3", "--out", out];
    let program = [&["--", "./repeats"], arguments].concat();
    let status = i32::from(!arguments.is_empty());
    let command = [&words[..], options, &program].concat();
    workspace.unsnarl(&command)?.exits(status)?;
    let names = workspace.runs_in(out)?;
    let name = names.first().context("no run was kept")?;
    Ok(read_run(&workspace.path().join(out).join(name))?)
}

/// An event as it is in every run.
pub fn told<'r>(run: &'r Run, event: &Event) -> impl PartialEq + std::fmt::Debug + use<'r> {
    let site = run.meta.site(event.site);
    let place = (site.line, site.column, site.function.as_str());
    let value = match event.value {
        Some(Value::Address(location)) => run.location(location).to_owned(),
        value => format!("{value:?}"),
    };
    let location = run.location(event.location);
    (event.thread, event.kind, place, location, event.size, value)
}

/// Checks that a run is the rest of a whole one: its events are the whole one's in their order, only the last of
/// several writes may stand later, and each of these is the last write to its memory at that time. Returns how many
/// there are.
fn is_rest_of(rest: &Run, whole: &Run) -> Result<u64> {
    let mut late: Vec<Event> = Vec::new();
    let mut last_writes = HashMap::new();
    let mut all = whole.events.iter().map(|(_, event)| event);
    let is_late = |event: &Event| event.flags & flags::LAST_WRITE != 0;
    for (id, event) in rest.events.iter() {
        if is_late(&event) {
            late.push(event);
            continue;
        }
        let wanted = told(rest, &event);
        let found = all.by_ref().find(|other| {
            let is_it = told(whole, other) == wanted;
            if !is_it && other.kind.writes() {
                last_writes.insert(whole.location(other.location), *other);
            }
            is_it
        });
        let found = found.with_context(|| format!("event {}: {wanted:?}", id.0))?;
        for late in late.drain(..) {
            let last = last_writes.get(rest.location(late.location));
            let last = last.map(|last| told(whole, last));
            let late = told(rest, &late);
            ensure!(last.as_ref() == Some(&late), "{late:?} was {last:?}");
        }
        if found.kind.writes() {
            last_writes.insert(whole.location(found.location), found);
        }
    }
    let left_out = rest.meta.left_out.context("nothing is left out")?.accesses;
    let lates = rest.events.iter().filter(|(_, event)| is_late(event));
    // An access to several things has several rows.
    let lates: HashSet<u64> = lates.map(|(_, event)| event.seq).collect();
    let lates = lates.len() as u64;
    ensure!(left_out > 1000, "{left_out}");
    let steps = |run: &Run| run.events.iter().last().map_or(0, |(_, last)| last.seq + 1);
    let (events, all) = (steps(rest) - lates + left_out, steps(whole));
    ensure!(events == all, "{events} events of {all}, {lates} late");
    Ok(lates)
}

fn leaves_out_repetitions(compiler: TestedCompiler) -> Result<()> {
    let mut lates = 0;
    for level in ["-O0", "-O1", "-O2"] {
        let workspace = compiled(compiler, level)?;
        for strategy in ["sequential", "random:50", "pct"] {
            let options = ["--strategy", strategy];
            let rest = recorded(&workspace, &format!("rest-{strategy}"), &options, &[])?;
            let options = ["--strategy", strategy, "--every-access"];
            let whole = recorded(&workspace, &format!("whole-{strategy}"), &options, &[])?;
            let context = || format!("{compiler:?} {level} {strategy}");
            ensure!(whole.meta.left_out.is_none(), context());
            ensure!(rest.meta.schedule == whole.meta.schedule, context());
            lates += is_rest_of(&rest, &whole).with_context(context)?;
            consistent::check(&rest, |_| false).with_context(context)?;
        }
    }
    ensure!(lates > 100, "{lates} last writes");
    Ok(())
}

#[test]
fn gcc() -> Result<()> {
    leaves_out_repetitions(TestedCompiler::Gcc)
}

#[test]
fn clang() -> Result<()> {
    leaves_out_repetitions(TestedCompiler::Clang)
}

#[test]
fn such_a_run_repeats() -> Result<()> {
    let workspace = compiled(TestedCompiler::Gcc, "-O1")?;
    recorded(
        &workspace,
        ".unsnarl/runs",
        &["--strategy", "random:50"],
        &[],
    )?;
    let names = workspace.runs()?;
    let run = workspace.run_path(names.first().context("no run")?);
    for options in [&["-n", "2"][..], &["--branches"]] {
        let command = [&["replay", run.as_str()], options].concat();
        workspace
            .unsnarl(&command)?
            .exits(0)?
            .says(&["the same run"])?;
    }
    Ok(())
}

#[test]
fn failing_runs_have_every_access() -> Result<()> {
    let workspace = compiled(TestedCompiler::Gcc, "-O1")?;
    let options = ["--strategy", "random:50"];
    let kept = recorded(&workspace, "kept", &options, &["fail"])?;
    let options = [&options[..], &["--every-access"]].concat();
    let whole = recorded(&workspace, "whole", &options, &["fail"])?;
    ensure!(kept.meta.left_out.is_none());
    ensure!(kept.events == whole.events, "events differ");
    Ok(())
}

#[test]
fn runs_do_not_depend_on_how_many_are_made_at_a_time() -> Result<()> {
    let workspace = compiled(TestedCompiler::Gcc, "-O1")?;
    for (jobs, out) in [("-j1", "one"), ("-j3", "three")] {
        let words = ["record", "-n4", "--seed=3", jobs, "--out", out];
        let program = ["--", "./repeats"];
        workspace
            .unsnarl(&[&words[..], &program].concat())?
            .exits(0)?;
    }
    let (one, more) = (workspace.runs_in("one")?, workspace.runs_in("three")?);
    ensure!(!one.is_empty() && one == more, "{one:?} {more:?}");
    Ok(())
}
