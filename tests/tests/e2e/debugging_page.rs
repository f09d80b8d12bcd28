//! Check that the session in `docs/debugging.md` is gdb's real output.

use anyhow::{Context, Result, ensure};
use std::{fs, ops::Range, path::PathBuf};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, project};
use unsnarl_recorder::replay::registers;

/// Variable that makes the test write the session into the page instead of comparing it.
const UPDATE: &str = "UPDATE_EXPECT";

const SCHEDULE: &str = r#"{"unsnarl_schedule": 1, "program": "PROGRAM", "events": [ORDER]}"#;
const FAILS: &str = r#"{"thread": "main.2", "kind": "read", "function": "withdraw"},
    {"thread": "main.1", "kind": "end"}, {"thread": "main.2", "kind": "end"}"#;
const PASSES: &str = r#"{"thread": "main.2", "kind": "read", "function": "withdraw"},
    {"thread": "main.2", "kind": "end"}, {"thread": "main.1", "kind": "end"}"#;

fn page() -> PathBuf {
    project().join("docs/debugging.md")
}

/// Range of the block of this kind in the text.
fn block(text: &str, kind: &str) -> Result<Range<usize>> {
    let fence = format!("```{kind}\n");
    let start = text
        .find(&fence)
        .with_context(|| format!("no block {kind}"))?
        + fence.len();
    let rest = text.get(start..).unwrap_or_default();
    let length = rest.find("```").context("the block has no end")?;
    Ok(start..start + length)
}

/// The session, or the part that a gdb that cannot call functions can do.
fn without_calls(text: &str) -> String {
    let is_call = |line: &&str| ["print fee_for(1500)", "$2 = 15"].contains(line);
    match registers::limit() {
        None => text.to_owned(),
        Some(_) => text
            .lines()
            .filter(|line| !is_call(line))
            .map(|line| format!("{line}\n"))
            .collect(),
    }
}

#[test]
fn the_session_is_true() -> Result<()> {
    let text = fs::read_to_string(page())?;
    let (commands, shown) = (block(&text, "gdb")?, block(&text, "text")?);
    let workspace = Workspace::new()?;
    let program = TestProgram::open("bank_account")?.compile(&workspace, TestedCompiler::Gcc)?;
    // Whatever the strategies come to try, these three runs are always the same.
    for schedule in [FAILS, PASSES] {
        let schedule = SCHEDULE
            .replace("PROGRAM", &program)
            .replace("ORDER", schedule);
        workspace.write("schedule.json", &schedule)?;
        workspace
            .unsnarl(&["replay", "--trust", "schedule.json", "--keep"])?
            .exits(0)?
            .says(&["reached all 3 events"])?;
    }
    workspace
        .record(&["-n", "1", "--strategy", "sequential"], &program)?
        .exits(0)?;
    let runs = workspace.runs_that("failed")?;
    let run = workspace.run_path(runs.first().context("it did not fail")?);
    let commands = without_calls(text.get(commands).unwrap_or_default());
    workspace.write("session.gdb", &commands)?;
    let words = [
        "replay",
        &run,
        "--gdb",
        "--",
        "-nx",
        "-batch",
        "-x",
        "session.gdb",
    ];
    let said = workspace.unsnarl(&words)?.exits(0)?.stdout;
    let said = what_is_ours(&said);
    if std::env::var_os(UPDATE).is_some() && registers::limit().is_none() {
        let mut text = text;
        text.replace_range(shown, &said);
        return Ok(fs::write(page(), text)?);
    }
    let shown = without_calls(text.get(shown).unwrap_or_default());
    ensure!(
        shown == said,
        "{} shows\n{shown}\nbut gdb says\n{said}\n(UPDATE_EXPECT=1 writes it)",
        page().display()
    );
    Ok(())
}

/// The output without the lines in which gdb names the place in the C library at which the program was ended.
fn what_is_ours(said: &str) -> String {
    let is_ours = |line: &&str| !line.is_empty() && !line.contains("pthread_kill");
    let lines = said.lines().filter(is_ours);
    lines
        .map(|line| format!("{}\n", without_hash(line)))
        .collect()
}

/// The line without the end of the run's name, which is the hash of its content, in which the folder occurs.
fn without_hash(line: &str) -> String {
    match line.split_once(": assertion") {
        Some((name, rest)) if name.starts_with("failed-proposed") => {
            let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
            format!("{name}-...: assertion{rest}")
        }
        _ => line.trim_end().to_owned(),
    }
}
