//! Finds the fix that is meant among those of the explanations.

use super::offer;
use crate::{arguments::Verify, load};
use anyhow::{Context, Result, bail};
use std::{collections::BTreeMap, sync::Arc};
use unsnarl_core::{Budget, Corpora, Explanation, RunSummary, explain, fixes::Fix};
use unsnarl_trace::Run;

/// A fix with what it is of.
pub struct Chosen {
    /// What it is a fix of.
    pub explanation: Explanation,
    /// The fix.
    pub fix: Fix,
    /// Its number among those of the explanation, from 1.
    pub number: usize,
    /// A failing run with its name.
    pub run: (String, Arc<Run>),
    /// The sources by the names in the debug info.
    pub sources: BTreeMap<String, String>,
}

impl Chosen {
    /// As the command line takes it.
    pub fn name(&self) -> String {
        match self.number {
            1 => self.explanation.id.clone(),
            number => format!("{}:{number}", self.explanation.id),
        }
    }
}

/// Explains the runs again and takes the fix that was named.
pub fn choose(arguments: &Verify) -> Result<Chosen> {
    let (id, number) = match arguments.fix.split_once(':') {
        Some((id, number)) => {
            let number = number.parse().ok().filter(|number| *number > 0);
            (
                id,
                number.with_context(|| {
                    format!(
                        "`{}` is no fix: expected an explanation's id, or id:N",
                        arguments.fix
                    )
                })?,
            )
        }
        None => (arguments.fix.as_str(), 1),
    };
    let loaded = load::load(arguments.place.as_deref())?;
    let mut corpora = Corpora::default();
    for (name, run) in &loaded.runs {
        corpora.insert(RunSummary::new(name.clone(), run.clone()));
    }
    let budget = Budget::unlimited();
    let mut known = Vec::new();
    for corpus in corpora.iter() {
        let runs = offer::runs(corpus, &loaded);
        let sources = offer::sources(&runs);
        for mut explanation in explain(corpus, &budget).findings {
            if explanation.id != id {
                known.push(explanation.id);
                continue;
            }
            offer::offer(&mut explanation, &runs, &sources, &budget);
            let Some(fix) = explanation.fixes.get(number - 1).cloned() else {
                bail!("{}", no_fix(&explanation, number));
            };
            let name = explanation.runs.first().cloned().unwrap_or_default();
            let run = loaded
                .runs
                .iter()
                .find(|(known, _)| *known == name)
                .cloned();
            let run = run.with_context(|| format!("there is no run {name}"))?;
            return Ok(Chosen {
                explanation,
                fix,
                number,
                run,
                sources,
            });
        }
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

fn no_fix(explanation: &Explanation, number: usize) -> String {
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
