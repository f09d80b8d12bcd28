//! Finds the fix that the user has named among those of the explanations.

use crate::{arguments::Verify, explain::name_left_out};
use anyhow::{Context, Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};
use unsnarl_core::{
    Budget, Corpora, Corpus, Explanation,
    explain::{Proposers, explain_by, guarding},
    fixes::{Fix, Trial, constraint},
};
use unsnarl_lab::{
    load::{self, Loaded},
    offer,
    pipeline::proposers,
    sources::sources,
    trial::{Failures, NeededLines},
};
use unsnarl_recorder::build_command;
use unsnarl_trace::Run;

/// A fix with its explanation.
pub struct ChosenFix {
    /// The explanation that it belongs to, with what the runs suggest now.
    pub explanation: Explanation,
    /// The fixes that the explanation was told with; none if it was not told.
    pub told: Vec<Fix>,
    /// The folder of its runs.
    pub folder: PathBuf,
    /// The fix.
    pub fix: Fix,
    /// The failures of its bug, and those of others.
    pub failures: Failures,
    /// Lines that the program still has to come to.
    pub needed: NeededLines,
    /// A failing run with its name.
    pub run: (String, Arc<Run>),
    /// The sources by the names in the debug info.
    pub sources: BTreeMap<String, String>,
}

impl ChosenFix {
    /// The explanation as it is told, with the last trial of the fix.
    pub fn tried(&self, trial: &Trial) -> Explanation {
        let mut told = self.explanation.clone();
        if !self.told.is_empty() {
            told.fixes.clone_from(&self.told);
        }
        let its = told.fixes.iter_mut();
        its.filter(|fix| fix.number == self.fix.number)
            .for_each(|fix| fix.tried = Some(trial.clone()));
        told
    }

    /// The command that verifies the fix by building it.
    pub fn built(&self) -> String {
        let build = build_command::in_a_copy(&self.run.1.meta);
        let command = self.explanation.verify_command(&self.fix);
        format!("{command} --build \"{build}\"")
    }
}

/// Takes the fix that was named: of the explanation as it was told last, or of one that comparing the runs again gives.
pub fn choose(arguments: &Verify) -> Result<ChosenFix> {
    let (id, number) = named(&arguments.fix)?;
    let mut loaded = load::load_within(arguments.place.as_deref(), arguments.memory)?;
    let budget = Budget::lasting(arguments.budget);
    let corpora = loaded.summarize(&budget);
    name_left_out(&loaded);
    if let Some((told, corpus)) = told_before(&corpora, &loaded, id) {
        return chosen(corpus, &loaded, told, number, arguments, &budget);
    }
    let mut known = Vec::new();
    for corpus in corpora.iter() {
        let proposers = proposers(corpus, &loaded);
        let found = explain_by(&proposers, &budget).findings;
        if let Some(explanation) = made_again(&proposers, &found, id, &budget) {
            return chosen(corpus, &loaded, explanation, number, arguments, &budget);
        }
        known.extend(found.into_iter().map(|one| (corpus, one)));
    }
    if known.is_empty() {
        bail!(
            "there is no explanation {id}\n  next: record failing runs first: unsnarl record --until-failing 3 -- ./prog"
        );
    }
    let ids = fixable(known, &loaded, &budget);
    bail!(
        "there is no explanation {id}\n  next: {}",
        match ids.is_empty() {
            true =>
                "unsnarl explain names the fixes that there are; with --why, why there are none"
                    .to_owned(),
            false => format!("name one of {}", Vec::from_iter(ids).join(", ")),
        }
    )
}

/// The ids of the explanations for which there is a fix: told before, or derived from the runs.
fn fixable(
    known: Vec<(&Corpus, Explanation)>,
    loaded: &Loaded,
    budget: &Budget,
) -> BTreeSet<String> {
    let told = loaded.told().into_iter();
    let told = told.filter(|one| !one.fixes.is_empty());
    let mut ids: BTreeSet<String> = told.map(|one| one.id).collect();
    for (corpus, mut one) in known {
        if !ids.contains(&one.id) {
            let runs = offer::runs(corpus, loaded);
            offer::offer(&mut one, &runs, &sources(&runs), budget);
            ids.extend((!one.fixes.is_empty()).then_some(one.id));
        }
    }
    ids
}

/// The explanation of this id as it was told last, with the corpus of its run.
fn told_before<'c>(
    corpora: &'c Corpora,
    loaded: &Loaded,
    id: &str,
) -> Option<(Explanation, &'c Corpus)> {
    let told = loaded.told().into_iter().find(|one| one.id == id)?;
    let mut corpora = corpora.iter();
    let corpus = corpora.find(|corpus| corpus.get(&told.run).is_some())?;
    Some((told, corpus))
}

/// An id, and the number behind the colon; without one the first fix is meant.
fn named(fix: &str) -> Result<(&str, Option<u32>)> {
    let Some((id, number)) = fix.split_once(':') else {
        return Ok((fix, None));
    };
    let number = number.parse().ok().filter(|number| *number > 0);
    let number = number
        .with_context(|| format!("`{fix}` is no fix: expected an explanation's id, or id:N"))?;
    Ok((id, Some(number)))
}

/// The explanation of this id: one of those that the runs tell, or what executing may have put into the place of one.
fn made_again(
    proposers: &Proposers<'_>,
    found: &[Explanation],
    id: &str,
    budget: &Budget,
) -> Option<Explanation> {
    let is_it = |one: &Explanation| one.id == id;
    let first = found.iter().find(|one| is_it(one)).cloned();
    first.or_else(|| {
        let others = found.iter().flat_map(|one| {
            let mut proposals = proposers.instead_of(one, &[]);
            let engines = proposers.all();
            let others = engines.flat_map(|engine| proposals.by(engine, budget));
            others.collect::<Vec<_>>()
        });
        let all: Vec<Explanation> = found.iter().cloned().chain(others).collect();
        let guards = all.iter().flat_map(|one| guarding(proposers, one));
        all.iter()
            .find(|one| is_it(one))
            .cloned()
            .or_else(|| guards.into_iter().find(is_it))
    })
}

fn chosen(
    corpus: &Corpus,
    loaded: &Loaded,
    mut explanation: Explanation,
    number: Option<u32>,
    arguments: &Verify,
    budget: &Budget,
) -> Result<ChosenFix> {
    let runs = offer::runs(corpus, loaded);
    let sources = sources(&runs);
    let told = std::mem::take(&mut explanation.fixes);
    offer::offer(&mut explanation, &runs, &sources, budget);
    let Some(fix) = fix(&told, &explanation.fixes, number) else {
        bail!("{}", no_fix(&explanation, number.unwrap_or(1)));
    };
    let is_derived = explanation.fixes.iter().any(|one| one.edits == fix.edits);
    let is_tried_as_order = arguments.build.is_none() && !arguments.diff;
    let name = explanation.runs.first().cloned().unwrap_or_default();
    let run = runs.iter().find(|(known, _)| *known == name).cloned();
    let run = run.with_context(|| format!("there is no run {name}"))?;
    if !is_derived && is_tried_as_order && constraint::is_order(&fix) {
        bail!(
            "the runs and sources do not lead to {} any more\n  next: build and record again where the sources have changed, else unsnarl explain",
            explanation.name_of(&fix)
        );
    }
    Ok(ChosenFix {
        failures: Failures::of(corpus, &explanation),
        needed: NeededLines::of(corpus, &explanation),
        explanation,
        told,
        folder: loaded.folder.clone(),
        fix,
        run,
        sources,
    })
}

/// The fix of this number, or the first one, of those that were told; one that was not told is named by its number among
/// all that can be derived. Only derived fixes have what defines them as constraints, so the derived one is returned where
/// both make the same edits.
fn fix(told: &[Fix], derived: &[Fix], number: Option<u32>) -> Option<Fix> {
    let of = |fixes: &[Fix]| {
        let mut fixes = fixes.iter();
        let is_it = |fix: &&Fix| number.is_none_or(|number| fix.number == number);
        fixes.find(is_it).cloned()
    };
    let named = of(told).or_else(|| of(derived))?;
    let mut derived = derived.iter();
    let same = derived.find(|fix| fix.edits == named.edits).cloned();
    let number = named.number;
    Some(Fix {
        number,
        ..same.unwrap_or(named)
    })
}

fn no_fix(explanation: &Explanation, number: u32) -> String {
    let offered = explanation.fixes.len();
    let why: String = explanation
        .not_fixed
        .iter()
        .map(|why| format!("\n  not offered: {why}"))
        .collect();
    match offered {
        0 => format!("there is no fix for {}{why}", explanation.id),
        offered => format!(
            "{} has {offered} of them, not {number}{why}",
            explanation.id
        ),
    }
}
