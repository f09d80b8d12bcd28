//! Mutants of the programs under `tests/mutants`: those that fail, and unsnarl's answers for them.
//!
//! Judgements are kept in `target/mutants`, so an interrupted measurement continues where it was. Of the held-back
//! half only totals are printed. A measurement of all mutants goes into the docs.

mod options;
pub mod store;
mod tally;

use crate::docs;
use anyhow::{Context, Result};
use options::MutantOptions;
use std::{
    fs,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};
use store::JudgementStore;
use unsnarl_e2e::mutants::{
    Base, Half, Mutant,
    judge::{self, Judgement},
    operators::NOT_SHOWN,
};

/// One mutant with its program.
type MutantWork<'b> = (&'b Base, Mutant);

/// Judges the mutants that the words choose and prints the tables.
pub fn run(words: &[String]) -> Result<()> {
    let options = MutantOptions::parse(words)?;
    let bases: Vec<Base> = Base::names()?
        .iter()
        .filter(|name| options.has_base(name))
        .map(|name| Base::open(name))
        .collect::<Result<_>>()?;
    let work = chosen(&bases, &options)?;
    eprintln!("{} mutants of {} programs", work.len(), bases.len());
    if options.list {
        work.iter()
            .for_each(|(_, mutant)| println!("{}", mutant.id));
        return Ok(());
    }
    if let Some(folder) = &options.texts {
        return write_texts(folder, &work);
    }
    let store = Mutex::new(JudgementStore::open("mutants")?);
    let judged = judge_all(&work, &store, &options)?;
    let mut text = format!("{}\n{}", tally::table(&judged), not_shown(&bases)?);
    if options.alarms || options.is_whole() {
        text += &format!(" {}", alarms(&bases)?);
    }
    println!("{text}");
    match options.is_whole() {
        true => docs::replace("explain.md", "mutants", &text),
        false => Ok(()),
    }
}

/// Writes each mutant into a file of its own, to be read and built by hand.
fn write_texts(folder: &Path, work: &[MutantWork]) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (base, mutant) in work {
        let extension = if base.is_cpp() { "cpp" } else { "c" };
        let file = format!("{}.{extension}", mutant.id.replace('/', "-"));
        fs::write(folder.join(file), &mutant.text)?;
    }
    Ok(())
}

/// The mutants in an order in which a part of them is a sample of all.
fn chosen<'b>(bases: &'b [Base], options: &MutantOptions) -> Result<Vec<MutantWork<'b>>> {
    let mut work: Vec<MutantWork> = Vec::new();
    for base in bases {
        let mutants = base.mutants()?.into_iter();
        let chosen = mutants.filter(|mutant| options.has_mutant(mutant));
        work.extend(chosen.map(|mutant| (base, mutant)));
    }
    work.sort_by_key(|(_, mutant)| unsnarl_e2e::mutants::hash(&mutant.id));
    work.truncate(options.limit);
    Ok(work)
}

fn judge_all(
    work: &[MutantWork],
    store: &Mutex<JudgementStore<Judgement>>,
    options: &MutantOptions,
) -> Result<Vec<Judgement>> {
    let next = AtomicUsize::new(0);
    let judged = Mutex::new(Vec::new());
    let worker = || -> Result<()> {
        while let Some((base, mutant)) = work.get(next.fetch_add(1, Relaxed)) {
            let known = locked(store).get(mutant);
            let judgement = match known {
                Some(known) => known,
                None => {
                    let new = judge::judge(base, mutant).with_context(|| mutant.id.clone())?;
                    locked(store).keep(&new)?;
                    tally::tell(&new);
                    new
                }
            };
            locked(&judged).push(judgement);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..options.jobs).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    let mut judged = judged.into_inner().unwrap_or_else(PoisonError::into_inner);
    judged.sort_by(|a: &Judgement, b| a.id.cmp(&b.id));
    Ok(judged)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of mutants that no schedule can show, in a sentence.
fn not_shown(bases: &[Base]) -> Result<String> {
    let (name, _) = NOT_SHOWN;
    let counts: Vec<usize> = bases.iter().map(Base::not_shown).collect::<Result<_>>()?;
    let count: usize = counts.iter().sum();
    Ok(format!(
        "{count} mutants by `{name}` are not counted: no schedule shows what a weaker memory order allows."
    ))
}

/// The number of explanations of the unchanged programs, in a sentence; each one is told on standard error.
fn alarms(bases: &[Base]) -> Result<String> {
    let mut count = 0;
    for base in bases {
        eprintln!("{} ...", base.name);
        for alarm in judge::alarms(base)? {
            eprintln!("{}: {alarm}", base.name);
            count += 1;
        }
    }
    Ok(format!(
        "{count} explanations of {} correct programs, {} runs each.",
        bases.len(),
        judge::BASE_RUNS
    ))
}

/// Returns whether the judgement is about a held-back mutant.
fn is_held_back(judgement: &Judgement) -> bool {
    Half::of(&judgement.id) == Half::HeldBack
}
