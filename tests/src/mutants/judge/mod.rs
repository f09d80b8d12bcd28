//! Judgement of unsnarl's answers for a mutant: does it fail, is it explained at the right place and by the right
//! class, does the offered fix hold, are the claims true?

mod claims;
mod fix;
mod types;

use super::{Base, Half, Mutant, hash};
use crate::{Finished, TestedCompiler, Workspace, program::compile_with};
use anyhow::{Context, Result, bail};
use std::path::Path;
pub use types::{Fate, JudgedExplanation, Judgement, TriedFix};
use unsnarl_core::{BugKind, Explanation, Place, SiteMark};

/// Name of the program that is built.
const PROGRAM: &str = "program";
/// Runs in which a mutant has to fail three times.
const RUNS: &str = "500";
/// Runs in which a base program must not fail.
pub const BASE_RUNS: &str = "2000";
/// Bounds of one run, so that an endless loop soon counts as a failure.
const RUN_BOUNDS: [&str; 4] = ["--timeout", "3s", "--max-steps", "300000"];

/// Hash of a mutant with the right answers for it, as judgements have it.
pub fn fingerprint(mutant: &Mutant) -> String {
    let Mutant {
        region,
        classes,
        text,
        ..
    } = mutant;
    format!("{:016x}", hash(&format!("{region:?} {classes:?}\n{text}")))
}

/// Judges one mutant.
pub fn judge(base: &Base, mutant: &Mutant) -> Result<Judgement> {
    let mut judgement = Judgement {
        id: mutant.id.clone(),
        operator: mutant.operator.to_owned(),
        mutant: fingerprint(mutant),
        fate: Fate::DoesNotBuild,
        told: None,
        fix: None,
        false_claims: 0,
        claims: 0,
    };
    let workspace = Workspace::new()?;
    if build(&workspace, base, &mutant.text).is_err() {
        return Ok(judgement);
    }
    judgement.fate = record(&workspace)?;
    if matches!(judgement.fate, Fate::Fails | Fate::AlwaysFails) {
        explain(&workspace, base, mutant, &mut judgement)
            .with_context(|| format!("explaining {}", mutant.id))?;
    }
    if Half::of(&mutant.id) == Half::HeldBack {
        judgement.withhold();
    }
    Ok(judgement)
}

/// Explanations of a correct program, with the failures of its runs: there should be none.
pub fn alarms(base: &Base) -> Result<Vec<String>> {
    let workspace = Workspace::new()?;
    build(&workspace, base, &base.text)?;
    let words = [&["-n", BASE_RUNS, "--keep-passing", "50"], &RUN_BOUNDS[..]].concat();
    let recorded = workspace.record(&words, &format!("./{PROGRAM}"))?;
    if recorded.status != Some(0) {
        return Ok(vec![format!("a run failed:\n{recorded}")]);
    }
    let (_, explanations) = workspace.explain()?;
    Ok(explanations.into_iter().map(|one| one.headline).collect())
}

/// Builds a text as the program.
fn build(workspace: &Workspace, base: &Base, text: &str) -> Result<()> {
    let name = base.path.file_name().context("a source has a name")?;
    workspace.write(&name.to_string_lossy(), text)?;
    let standard = if base.is_cpp() {
        "-std=c++20"
    } else {
        "-std=gnu17"
    };
    compile_with(
        workspace,
        Path::new(name),
        PROGRAM,
        TestedCompiler::Gcc,
        &[standard, "-w"],
    )?;
    Ok(())
}

fn record(workspace: &Workspace) -> Result<Fate> {
    let words = [&["-n", RUNS, "--until-failing", "3"], &RUN_BOUNDS[..]].concat();
    let recorded = workspace.record(&words, &format!("./{PROGRAM}"))?;
    match recorded.status {
        Some(0) => Ok(Fate::Passes),
        Some(1) if workspace.runs_that("passed")?.is_empty() => Ok(Fate::AlwaysFails),
        Some(1) => Ok(Fate::Fails),
        _ => bail!("cannot record:\n{recorded}"),
    }
}

fn explain(
    workspace: &Workspace,
    base: &Base,
    mutant: &Mutant,
    judgement: &mut Judgement,
) -> Result<()> {
    // Answers are judged, not speed: a build without optimization beside other tests needs more than the default.
    let words = [
        "explain",
        "--format",
        "json",
        "--budget",
        "20s",
        "--run-budget",
        "60s",
    ];
    let explanations = workspace.unsnarl(&words)?.explanations()?;
    let (wrong, all) = claims::check(workspace, &explanations)?;
    (judgement.false_claims, judgement.claims) = (wrong, all);
    let Some(first) = explanations.first() else {
        return Ok(());
    };
    judgement.told = Some(assess(mutant, &base.path, judgement.fate, first));
    let fix = first.fixes.first();
    judgement.fix = fix.map(|fix| fix::try_out(base, mutant, fix)).transpose()?;
    Ok(())
}

/// Compares the first explanation with the right answers for a mutant of this file.
pub fn assess(mutant: &Mutant, file: &Path, fate: Fate, first: &Explanation) -> JudgedExplanation {
    let is_here = |place: &&Place| Path::new(&place.file).file_name() == file.file_name();
    let mut places: Vec<&Place> = first
        .blamed()
        .filter_map(|site| ways_to(first, site).find(is_here))
        .collect();
    if first.kind == BugKind::Sequential {
        // Nobody is to blame for coming too early: the place where it fails is all that it names.
        places.extend(first.failure.site.as_ref().filter(is_here));
    }
    let lines: Vec<u32> = places.iter().map(|place| place.line).collect();
    let always = fate == Fate::AlwaysFails && first.kind == BugKind::Sequential;
    JudgedExplanation {
        class: first.kind,
        certainty: first.certainty,
        is_class_right: always || mutant.classes.contains(&first.kind),
        is_region_right: lines.iter().any(|line| mutant.concerns(*line)),
        headline: first.headline.clone(),
        lines,
        not_fixed: first.not_fixed.clone(),
    }
}

/// The place of a site, and those of the calls that led there: it may lie in a function of another file that only takes the
/// lock.
fn ways_to<'e>(
    first: &'e Explanation,
    site: &'e SiteMark,
) -> impl Iterator<Item = &'e Place> + use<'e> {
    let number = site.step.and_then(|step| step.checked_sub(1));
    let step = number.and_then(|number| first.steps.get(number as usize));
    let calls = step.into_iter().flat_map(|step| &step.via);
    std::iter::once(&site.place).chain(calls)
}

/// Returns whether a campaign of a program ended without a failure.
fn all_passed(finished: &Finished) -> Result<bool> {
    match finished.status {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => bail!("cannot record:\n{finished}"),
    }
}
