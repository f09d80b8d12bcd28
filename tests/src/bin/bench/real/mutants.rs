//! Mistakes put into a project by rule: how many of those that can fail `unsnarl test` finds within its budget, and
//! whether the first explanation is right.
//!
//! Judgements are kept in `target/real-mutants`, so an interrupted measurement continues where it was.

mod project;
mod search;
mod tally;

use super::declaration::DebianProject;
use crate::{docs, mutants::store::JudgementStore, table::PrintedTable};
use anyhow::{Context, Result};
use project::MutatedProject;
use std::collections::BTreeMap;
use tally::RealJudgement;
use unsnarl_e2e::mutants::{Base, Mutant, hash};

/// The mutants that are judged.
struct ChosenMutants {
    limit: usize,
    ids: Vec<String>,
}

impl ChosenMutants {
    /// Parses ids of mutants and `limit=N`.
    fn parse(words: &[String]) -> Result<ChosenMutants> {
        let limit = words.iter().find_map(|word| word.strip_prefix("limit="));
        let ids = words.iter().filter(|word| word.contains('/'));
        Ok(ChosenMutants {
            limit: limit.map_or(Ok(usize::MAX), str::parse)?,
            ids: ids.cloned().collect(),
        })
    }

    /// Keeps the chosen ones, in an order in which a part of them is a sample of all.
    fn keep(&self, mutants: &mut Vec<(Base, Mutant)>) {
        mutants.sort_by_key(|(_, mutant)| hash(&mutant.id));
        mutants.retain(|(_, mutant)| self.ids.is_empty() || self.ids.contains(&mutant.id));
        mutants.truncate(self.limit);
    }
}

/// Judges the mutants of a project: those of these ids, which are judged again, or so many (`limit=N`), or all; then its row
/// goes into the page.
pub fn measure(project: &DebianProject, words: &[String]) -> Result<()> {
    let chosen = ChosenMutants::parse(words)?;
    let mutated = MutatedProject::build(project)?;
    let mut mutants = mutated.mutants()?;
    let all = mutants.len();
    chosen.keep(&mut mutants);
    eprintln!("{} of {all} mutants", mutants.len());
    if !chosen.ids.is_empty() {
        return mutants.iter().try_for_each(|(base, mutant)| {
            mutated.judge(base, mutant).map(|new| tally::tell(&new))
        });
    }
    let judged = judge_all(&mutated, &mutants)?;
    put(&mutated.name()?, tally::cells(&judged, all))
}

/// The judgements of mutants; what is known already stays.
fn judge_all(mutated: &MutatedProject, mutants: &[(Base, Mutant)]) -> Result<Vec<RealJudgement>> {
    let mut store = JudgementStore::open("real-mutants")?;
    let mut judged = Vec::new();
    for (base, mutant) in mutants {
        let known: Option<RealJudgement> = store.get(mutant);
        let judgement = match known {
            Some(known) => known,
            None => {
                let new = mutated.judge(base, mutant).context(mutant.id.clone())?;
                store.keep(&new)?;
                new
            }
        };
        tally::tell(&judgement);
        judged.push(judgement);
    }
    Ok(judged)
}

/// Puts the row of a project into the table of the page, in the place of the old one.
fn put(first: &str, cells: Vec<String>) -> Result<()> {
    let rows = docs::rows(super::PAGE, "mutants")?.into_iter();
    let mut rows: BTreeMap<String, Vec<String>> = rows
        .filter_map(|row| Some((row.first()?.clone(), row)))
        .collect();
    rows.insert(first.to_owned(), [vec![first.to_owned()], cells].concat());
    let mut table = PrintedTable::new(&[&["project"], &tally::HEAD[..]].concat());
    rows.into_values().for_each(|row| table.row(row));
    println!("{table}");
    docs::replace(super::PAGE, "mutants", &table.to_string())
}
