//! Finds the fix that the user has named among those of the explanations.

use crate::{arguments::Verify, explain::name_left_out};
use anyhow::{Context, Result, bail};
use std::{collections::BTreeMap, sync::Arc};
use unsnarl_core::{
    Budget, Corpus, Explanation,
    explain::{Proposers, explain_by, guarding},
    fixes::Fix,
};
use unsnarl_lab::{
    load::{self, Loaded},
    offer,
    pipeline::proposers,
    sources::sources,
    trial::Failures,
};
use unsnarl_trace::Run;

/// A fix with its explanation.
pub struct Chosen {
    /// The explanation that it belongs to.
    pub explanation: Explanation,
    /// The fix.
    pub fix: Fix,
    /// Its number among those of the explanation, from 1.
    pub number: u32,
    /// The failures of its bug, and those of others.
    pub failures: Failures,
    /// A failing run with its name.
    pub run: (String, Arc<Run>),
    /// The sources by the names in the debug info.
    pub sources: BTreeMap<String, String>,
}

impl Chosen {
    /// The name of the fix as on the command line.
    pub fn name(&self) -> String {
        match self.number {
            1 => self.explanation.id.clone(),
            number => format!("{}:{number}", self.explanation.id),
        }
    }
}

/// Explains the runs again and takes the fix that was named.
pub fn choose(arguments: &Verify) -> Result<Chosen> {
    let (id, number) = named(&arguments.fix)?;
    let mut loaded = load::load_within(arguments.place.as_deref(), arguments.memory)?;
    let budget = Budget::lasting(arguments.budget);
    let corpora = loaded.summarize(&budget);
    name_left_out(&loaded);
    let mut known = Vec::new();
    for corpus in corpora.iter() {
        let proposers = proposers(corpus, &loaded);
        let found = explain_by(&proposers, &budget).findings;
        if let Some(explanation) = told(&proposers, &found, id, &budget) {
            return chosen(corpus, &loaded, explanation, number, &budget);
        }
        known.extend(found.into_iter().map(|one| one.id));
    }
    bail!(
        "there is no explanation {id}\n  next: {}",
        match known.as_slice() {
            [] =>
                "record failing runs first: unsnarl record --until-failing 3 -- ./prog".to_owned(),
            ids => format!("name one of {}", ids.join(", ")),
        }
    )
}

/// An id, and the number behind the colon.
fn named(fix: &str) -> Result<(&str, u32)> {
    let Some((id, number)) = fix.split_once(':') else {
        return Ok((fix, 1));
    };
    let number = number.parse().ok().filter(|number| *number > 0);
    let number = number
        .with_context(|| format!("`{fix}` is no fix: expected an explanation's id, or id:N"))?;
    Ok((id, number))
}

/// The explanation of this id: one of those that the runs tell, or what executing may have put into the place of one.
fn told(
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
    number: u32,
    budget: &Budget,
) -> Result<Chosen> {
    let runs = offer::runs(corpus, loaded);
    let sources = sources(&runs);
    offer::offer(&mut explanation, &runs, &sources, budget);
    let mut fixes = explanation.fixes.iter();
    let Some(fix) = fixes.find(|fix| fix.number == number).cloned() else {
        bail!("{}", no_fix(&explanation, number));
    };
    let name = explanation.runs.first().cloned().unwrap_or_default();
    let run = runs.iter().find(|(known, _)| *known == name).cloned();
    let run = run.with_context(|| format!("there is no run {name}"))?;
    Ok(Chosen {
        failures: Failures::of(corpus, &explanation),
        explanation,
        fix,
        number,
        run,
        sources,
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
