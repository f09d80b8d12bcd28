//! A mistake put into a project: how soon it is found, and what is explained.

use super::{
    campaign::{record_until, unsnarl},
    costs::reports,
    declaration::{DebianProject, InjectedBug, RecordedProgram},
    sources::{BuildVariant, SourceTree},
};
use anyhow::{Context, Result, ensure};
use std::{fs, path::Path, process::Command, time::Instant};
use unsnarl_core::Explanation;
use unsnarl_e2e::Finished;
use unsnarl_recorder::record::Goal;

/// Different failing runs that are looked for.
const FAILING: u64 = 3;
/// Times that the program is run without being recorded, for comparison.
const OTHERS: usize = 20;
/// Processor time for explaining, generous since other work slows the machine.
const BUDGET: &str = "120s";

/// Puts the mistake in, records until it shows, explains, and prints what came of it.
pub fn judge(project: &DebianProject) -> Result<()> {
    let bug = project.bug.as_ref().context("no bug is declared")?;
    let mut programs = project.programs.iter();
    let program = programs.find(|program| program.name == bug.program);
    let program = program.context("the bug's program is not declared")?;
    println!("## {}: {}\n", project.name, bug.what);
    let tree = built(project, bug, BuildVariant::Recorded)?;
    find(&tree, program, bug)?;
    explain(&tree, program, bug)?;
    for variant in [BuildVariant::Native, BuildVariant::Sanitized] {
        compare(&built(project, bug, variant)?, program)?;
    }
    Ok(())
}

fn built<'a>(
    project: &'a DebianProject,
    bug: &InjectedBug,
    variant: BuildVariant,
) -> Result<SourceTree<'a>> {
    let tree = SourceTree::new(project, variant);
    tree.unpack()?;
    let file = tree.path().join(&bug.file);
    let before = fs::read(&file)?;
    let mut sed = Command::new("sed");
    sed.args(["-i", "-f"]).arg(project.script()).arg(&file);
    Finished::of(sed)?.exits(0)?;
    ensure!(fs::read(&file)? != before, "the script changes nothing");
    tree.make()?;
    Ok(tree)
}

fn find(tree: &SourceTree, program: &RecordedProgram, bug: &InjectedBug) -> Result<()> {
    let first = record_until(tree, program, Goal::of(Some(bug.runs), Some(1)))?;
    let runs = first.summary.tally.runs;
    println!(
        "- a campaign for one failing run: {runs} runs, {:.1?}",
        first.wall
    );
    let goal = Goal::of(Some(bug.runs), Some(FAILING));
    let found = record_until(tree, program, goal)?;
    println!(
        "- a campaign for {FAILING} of them: {} of {} runs fail, {:.1?}",
        found.summary.tally.failing(),
        found.summary.tally.runs,
        found.wall
    );
    Ok(())
}

fn explain(tree: &SourceTree, program: &RecordedProgram, bug: &InjectedBug) -> Result<()> {
    let folder = tree.folder(program);
    let words = ["explain", "--budget", BUDGET, "--trust"].map(Into::into);
    let begin = Instant::now();
    let text = unsnarl(&folder, &words)?;
    println!(
        "- explained in {:.1?}:\n\n```\n{}```\n",
        begin.elapsed(),
        text.stdout
    );
    let json = ["--format", "json"].map(Into::into);
    let explanations = unsnarl(&folder, &[&words[..], &json].concat())?.explanations()?;
    match explanations.first() {
        Some(first) => verdict(first, bug, &tree.path().join(&bug.file)),
        None => {
            println!("- not explained");
            Ok(())
        }
    }
}

/// Compares the first explanation with the declaration.
fn verdict(first: &Explanation, bug: &InjectedBug, file: &Path) -> Result<()> {
    let class = serde_json::to_value(first.kind)?;
    let text = fs::read_to_string(file)?;
    let name = file.file_name().context("a source has a name")?;
    let marks_one = first.sites.iter().any(|site| {
        let line = text
            .lines()
            .nth((site.place.line as usize).saturating_sub(1));
        Path::new(&site.place.file).file_name() == Some(name)
            && line.is_some_and(|line| bug.lines.iter().any(|text| line.contains(text)))
    });
    println!("- class: {class}, expected {}", bug.class);
    println!("- marks one of the expected lines: {}", yes(marks_one));
    println!("- certainty: {:?}", first.certainty);
    for fix in &first.fixes {
        println!("- fix: {}", fix.title);
    }
    Ok(())
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// Runs the program without recording it, under this variant's build.
fn compare(tree: &SourceTree, program: &RecordedProgram) -> Result<()> {
    let (mut failing, mut reported) = (0, 0);
    for _ in 0..OTHERS {
        let mut command = Command::new("timeout");
        command.arg(program.timeout.to_string());
        command.arg("setarch").arg("-R").args(&program.command);
        command.current_dir(tree.folder(program));
        let finished = Finished::of(command)?;
        failing += usize::from(!program.passes(finished.status));
        reported += usize::from(reports(&finished) > 0);
    }
    println!(
        "- {}: {failing} of {OTHERS} runs fail, {reported} have a report of TSan's",
        tree.variant()
    );
    Ok(())
}
