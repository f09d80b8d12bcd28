//! Check that an offered fix holds: applied to the source, built, and run under schedules that it was not made from.

use super::{PROGRAM, RUN_BOUNDS, TriedFix, all_passed, build};
use crate::{
    Workspace,
    mutants::{Base, Mutant},
};
use anyhow::Result;
use unsnarl_core::fixes::Fix;

/// Runs of the edited program, by seeds other than those of the recorded runs.
const CAMPAIGN: [&str; 4] = ["record", "--seed", "90210", "-n"];
/// Number of these runs: as many as a failure was searched in.
const RUNS: &str = super::RUNS;

/// Builds and explores the program with a fix.
pub fn try_out(base: &Base, mutant: &Mutant, fix: &Fix) -> Result<TriedFix> {
    let mut tried = TriedFix {
        builds: false,
        holds: false,
        title: fix.title.clone(),
    };
    let workspace = Workspace::new()?;
    let Some(text) = edited(&mutant.text, fix) else {
        return Ok(tried);
    };
    tried.builds = build(&workspace, base, &text).is_ok();
    if tried.builds {
        tried.holds = explore(&workspace)?;
    }
    Ok(tried)
}

fn explore(workspace: &Workspace) -> Result<bool> {
    let program = format!("./{PROGRAM}");
    let few = [RUNS, "--until-failing", "1", "--keep-passing", "1"];
    let words = [&CAMPAIGN[..], &few, &RUN_BOUNDS, &["--", &program]].concat();
    all_passed(&workspace.unsnarl(&words)?)
}

/// The text with the edits; `None` when one of them is not for this text.
fn edited(text: &str, fix: &Fix) -> Option<String> {
    let mut edited = String::new();
    let mut at = 0;
    for edit in &fix.edits {
        let (start, end) = (edit.start as usize, edit.end as usize);
        edited.push_str(text.get(at..start)?);
        edited.push_str(&edit.text);
        at = end;
    }
    edited.push_str(text.get(at..)?);
    Some(edited)
}
