//! What unsnarl makes of a mutant: does it fail, is it explained at the right place and by the right class, does the fix
//! that is offered hold, is what is said true?

mod claims;
mod fix;

use super::{Base, Half, Mutant, hash};
use crate::{Compiler, Finished, Workspace, program::compile_with};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::Path;
use unsnarl_core::{BugKind, Certainty, Explanation, Role};

/// Name of the program that is built.
const PROGRAM: &str = "program";
/// Runs in which a mutant has to fail three times.
const RUNS: &str = "500";
/// Runs in which a base program must not fail.
pub const BASE_RUNS: &str = "2000";
/// Bounds of one run; a loop that does not end counts as a failure soon.
const RUN_BOUNDS: [&str; 4] = ["--timeout", "3s", "--max-steps", "300000"];

/// How a mutant behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The compiler refuses it.
    DoesNotBuild,
    /// No run failed.
    Passes,
    /// Some runs failed, some passed.
    Fails,
    /// All runs failed.
    AlwaysFails,
}

/// What the first explanation says, and whether that is right.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Told {
    /// Its class.
    pub class: BugKind,
    /// Its certainty.
    pub certainty: Certainty,
    /// The class is one of those that are right.
    pub is_class_right: bool,
    /// It blames a line that was changed, or that what was changed protected.
    pub is_region_right: bool,
    /// The headline; empty for what is held back.
    pub headline: String,
    /// Lines that it blames; none for what is held back.
    pub lines: Vec<u32>,
    /// Why changes are not suggested; nothing for what is held back.
    pub not_fixed: Vec<String>,
}

/// What came of the first fix.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TriedFix {
    /// The edited program can be built.
    pub builds: bool,
    /// No run of the edited program failed.
    pub holds: bool,
    /// What the fix does; empty for what is held back.
    pub title: String,
}

/// All that is known about one mutant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Judgement {
    /// The mutant.
    pub id: String,
    /// Its operator.
    pub operator: String,
    /// Its fingerprint: a judgement about another text, or by another region, is none.
    pub mutant: String,
    /// How it behaves.
    pub fate: Fate,
    /// The first explanation; none when there is no explanation, or nothing to explain.
    pub told: Option<Told>,
    /// The first fix of it; none when none is offered.
    pub fix: Option<TriedFix>,
    /// Claims that are not true in the kept runs, over all explanations.
    pub false_claims: u32,
    /// Claims in all.
    pub claims: u32,
}

/// Hash of a mutant and of what would be right for it, as judgements have it.
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
        Compiler::Gcc,
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
    let words = [
        "explain",
        "--format",
        "json",
        "--budget",
        "20s",
        "--run-budget",
        "10s",
    ];
    let explanations = workspace.unsnarl(&words)?.explanations()?;
    let (wrong, all) = claims::check(workspace, &explanations)?;
    (judgement.false_claims, judgement.claims) = (wrong, all);
    let Some(first) = explanations.first() else {
        return Ok(());
    };
    judgement.told = Some(told(mutant, judgement.fate, first));
    let fix = first.fixes.first();
    judgement.fix = fix.map(|fix| fix::try_out(base, mutant, fix)).transpose()?;
    Ok(())
}

fn told(mutant: &Mutant, fate: Fate, first: &Explanation) -> Told {
    let blamed = |role: Role| matches!(role, Role::Cause | Role::Interference);
    let sites = first.sites.iter().filter(|site| blamed(site.role));
    let mut lines: Vec<u32> = sites.map(|site| site.place.line).collect();
    if first.kind == BugKind::Sequential {
        // Nobody is to blame for coming too early: the place where it fails is all that it names.
        lines.extend(first.failure.site.as_ref().map(|site| site.line));
    }
    let always = fate == Fate::AlwaysFails && first.kind == BugKind::Sequential;
    Told {
        class: first.kind,
        certainty: first.certainty,
        is_class_right: always || mutant.classes.contains(&first.kind),
        is_region_right: lines.iter().any(|line| mutant.concerns(*line)),
        headline: first.headline.clone(),
        lines,
        not_fixed: first.not_fixed.clone(),
    }
}

impl Judgement {
    /// Leaves out all that one could learn about a single mutant beyond right and wrong.
    fn withhold(&mut self) {
        if let Some(told) = &mut self.told {
            told.headline.clear();
            told.lines.clear();
            told.not_fixed.clear();
        }
        if let Some(fix) = &mut self.fix {
            fix.title.clear();
        }
    }
}

impl Fate {
    /// Does the mutant count as a bug?
    pub fn is_failure(self) -> bool {
        matches!(self, Fate::Fails | Fate::AlwaysFails)
    }
}

/// Did a campaign of a program end without a failure?
fn all_passed(finished: &Finished) -> Result<bool> {
    match finished.status {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => bail!("cannot record:\n{finished}"),
    }
}
