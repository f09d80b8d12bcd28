//! Suggested fixes are tried on the program as it is before they are shown: schedules are explored, those that a fix
//! makes impossible are left out, and the rest has to pass.

mod case;
mod explore;

pub use case::{Case, Failures};
pub use explore::{Limits, Searched, explore, job};

use crate::{Executing, permission};
use anyhow::{Context, Result, bail};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use unsnarl_core::{
    Corpus, Explanation,
    fixes::{self, Trial, TrialVerdict, constraint},
};
use unsnarl_recorder::{permit::Deed, record::Observed, target};
use unsnarl_trace::{Mode, Run, input::RunInput};

/// Preemptions, schedules and random schedules of a trial. They limit it, so that it comes out the same each time; the
/// time is for programs that take long.
const BOUND: u32 = 2;
const SCHEDULES: u64 = 200;
const RANDOM: u64 = 50;
const TIME: Duration = Duration::from_secs(4);

/// Tries the fixes of all explanations of a corpus, with the same schedules. What does not hold is a reason why it is
/// not offered; what holds comes before what could not be tried.
pub fn try_fixes(
    corpus: &Corpus,
    explanations: &mut [Explanation],
    with: &Executing<'_>,
    time: Duration,
) {
    let run = explanations.iter().find(|one| !one.fixes.is_empty());
    let Some(name) = run.map(|one| one.run.clone()) else {
        return;
    };
    let trials = explored(corpus, explanations, &name, with, time);
    match trials {
        Ok(trials) => note(explanations, trials),
        Err(error) => {
            let reason = format!("{error:#}");
            leave_out(explanations, reason.lines().next().unwrap_or_default());
        }
    }
}

/// Says of each fix why it was not tried.
pub fn leave_out(explanations: &mut [Explanation], reason: &str) {
    for explanation in explanations {
        fixes::without_alternatives(&mut explanation.fixes);
        for fix in &mut explanation.fixes {
            fix.tried = Some(Trial::not_run(reason));
        }
    }
}

/// A trial for each fix of each explanation, in their order.
fn explored(
    corpus: &Corpus,
    explanations: &[Explanation],
    name: &str,
    with: &Executing<'_>,
    time: Duration,
) -> Result<Vec<Trial>> {
    let fixes: Vec<(&Explanation, usize)> = explanations
        .iter()
        .flat_map(|one| (0..one.fixes.len()).map(move |at| (one, at)))
        .collect();
    let mut cases: Vec<Option<Case<'_>>> = fixes
        .iter()
        .map(|(one, at)| {
            let fix = one.fixes.get(*at).filter(|fix| constraint::is_order(fix))?;
            Some(Case::constraint(fix, Failures::of(corpus, one)))
        })
        .collect();
    let searched = match cases.iter().any(Option::is_some) {
        true => Some(search(name, &mut cases, with, time)?),
        false => None,
    };
    let trials = cases.iter().zip(&fixes).map(|(case, (one, at))| {
        let tried = case.as_ref().zip(searched.as_ref());
        tried.map_or_else(
            || Trial::not_run(only_built(one, *at)),
            |(case, searched)| case.trial(searched),
        )
    });
    Ok(trials.collect())
}

fn only_built(explanation: &Explanation, at: usize) -> String {
    let id = &explanation.id;
    let number = explanation.fixes.get(at).map_or(1, |fix| fix.number);
    format!("only building it can tell, as unsnarl verify {id}:{number} --build \"make\" does")
}

fn search(
    name: &str,
    cases: &mut [Option<Case<'_>>],
    with: &Executing<'_>,
    time: Duration,
) -> Result<Searched> {
    let mut runs = with.loaded.runs.iter();
    let run = runs.find(|(known, _)| known == name);
    let (_, run) = run.context("its run is gone")?;
    let time = time.min(TIME);
    if time.is_zero() {
        bail!("the time for running it again was over");
    }
    let limits = Limits {
        bound: BOUND,
        schedules: SCHEDULES,
        // Half for the search and half for random schedules: a search that uses it all up stays near the first schedule,
        // and may come to no failure, with the fix or without.
        time: time / 2,
        random: RANDOM,
        one: with.given.timeout.min(time),
        stdin: with.given.stdin.clone(),
        word: with.given.word.clone(),
    };
    let end = Instant::now() + time;
    let mut watch = |seen: &Observed<'_>| {
        for case in cases.iter_mut().flatten() {
            case.see(seen);
        }
        let mut all = cases.iter().flatten();
        all.all(Case::is_refuted) || Instant::now() > end
    };
    constrained(run, &limits, with.stop, &mut watch)
}

/// Explores the program of a run as it is, if it is still the one that was recorded.
pub fn constrained(
    run: &Run,
    limits: &Limits,
    stop: &std::sync::atomic::AtomicBool,
    watch: &mut dyn FnMut(&Observed<'_>) -> bool,
) -> Result<Searched> {
    let meta = &run.meta;
    if meta.mode != Mode::Controlled {
        bail!("only runs with a controlled schedule can be explored");
    }
    let directory = Path::new(&meta.directory);
    let target = target::open_recorded(meta, directory)?;
    if target.program.build_id() != meta.build_id {
        bail!(
            "{} is another build than the one that was recorded",
            meta.program
        );
    }
    let deed = Deed {
        // The schedules are others: nothing is given back to the program.
        input: RunInput::default(),
        ..Deed::of(meta, target.program.path(), target.program.build_id())
    };
    let (permit, _) = permission::permit(deed.clone(), &limits.word)?;
    let folder = tempfile::tempdir()?;
    let job = job(
        run,
        deed.command,
        directory,
        permit.keeping_nothing(),
        limits,
    );
    let subject = (&target, &job);
    explore(subject, meta.chances, limits, folder.path(), stop, watch)
}

/// Notes what came of the fixes; those that do not hold go.
fn note(explanations: &mut [Explanation], trials: Vec<Trial>) {
    let mut trials = trials.into_iter();
    for explanation in explanations {
        let fixes = std::mem::take(&mut explanation.fixes);
        for (mut fix, trial) in fixes.into_iter().zip(trials.by_ref()) {
            if trial.verdict == TrialVerdict::DoesNotHold {
                let why = format!("{}: {}", fix.title, trial.in_words());
                explanation.not_fixed.push(why);
                continue;
            }
            fix.tried = Some(trial);
            explanation.fixes.push(fix);
        }
        let verdict =
            |fix: &unsnarl_core::fixes::Fix| fix.tried.as_ref().map(|trial| trial.verdict);
        explanation.fixes.sort_by_key(verdict);
        fixes::without_alternatives(&mut explanation.fixes);
    }
}
