//! Suggested fixes are tried on the program as it is before they are shown: schedules are explored, those that a fix
//! makes impossible are left out, and the rest has to pass.

mod built;
mod case;
mod explore;
mod needed;

pub use case::{Failures, FixCase};
pub use explore::{ExploreLimits, Searched, explore, job};
pub use needed::NeededLines;

use self::built::Building;
use crate::{Executing, offer, permission, sources};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};
use unsnarl_core::{
    Corpus, Explanation, FailurePlace, Verdict,
    facts::family,
    fixes::{self, Fix, FixKind, Trial, TrialVerdict, constraint},
};
use unsnarl_recorder::{build_command, permit::ExecutionInputs, record::Observed, target};
use unsnarl_trace::{OrderMode, Run, RunMeta, input::RunInput};

/// Preemptions, schedules and random schedules of a trial. They limit it, so that it comes out the same each time; the
/// time is for programs that take long.
const BOUND: u32 = 2;
const SCHEDULES: u64 = 200;
const RANDOM: u64 = 50;
const TIME: Duration = Duration::from_secs(4);

/// Times as many where the program was built with the fix: what it shows is told as the last word. A fix that makes a failure
/// rarer has to be tried longer than what fails without it.
const BUILT: u64 = 4;

/// Tries the fixes of all explanations of a corpus: with the same schedules of the program as it is, then built where it is
/// known how. What does not hold is a reason why it is not offered; what holds comes before what could not be tried.
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
    let begin = Instant::now();
    let akin = all_akin(explanations);
    match explored(corpus, (explanations, &akin), &name, with, time) {
        Ok(trials) => {
            let without = failing_without(explanations, &trials);
            note(explanations, trials.into_iter().map(|(trial, _)| trial));
            let left = time.saturating_sub(begin.elapsed());
            for ((explanation, without), akin) in explanations.iter_mut().zip(without).zip(akin) {
                let failures = Failures::of(corpus, explanation).and_akin(&akin);
                let needed = NeededLines::of(corpus, explanation);
                let expected = (&failures, &needed);
                build_fixes(corpus, expected, explanation, without, with, begin + left);
                drop_refuted(explanation, |_, _| true);
            }
            drop_guesses(explanations);
        }
        Err(error) => {
            let reason = format!("{error:#}");
            leave_out(explanations, reason.lines().next().unwrap_or_default());
        }
    }
    for explanation in explanations {
        let fixes = &mut explanation.fixes;
        fixes.sort_by_key(|fix| {
            fix.tried
                .as_ref()
                .map(|trial| (trial.verdict, !trial.built))
        });
        fixes::without_alternatives(fixes);
    }
}

/// For each explanation the failures of others that blame an access to the same variable.
fn all_akin(explanations: &[Explanation]) -> Vec<Vec<FailurePlace>> {
    let data: Vec<BTreeSet<String>> = explanations.iter().map(blamed_data).collect();
    let own = explanations.iter().zip(&data);
    let akin = own.map(|(one, of_one)| {
        let others = explanations.iter().zip(&data);
        let others =
            others.filter(|(other, of_other)| other.id != one.id && !of_one.is_disjoint(of_other));
        others
            .flat_map(|(other, _)| std::iter::once(&other.failure).chain(&other.also_fails))
            .cloned()
            .collect()
    });
    akin.collect()
}

/// Families of the locations that an explanation blames accesses of.
fn blamed_data(explanation: &Explanation) -> BTreeSet<String> {
    let blamed = explanation.blamed();
    let named = blamed.filter(|mark| !mark.location.is_empty());
    named.map(|mark| family(&mark.location)).collect()
}

/// For each explanation how often the program as it is failed.
fn failing_without(explanations: &[Explanation], trials: &[(Trial, u64)]) -> Vec<u64> {
    let mut trials = trials.iter();
    let own = explanations.iter().map(|one| {
        let own = trials.by_ref().take(one.fixes.len());
        own.map(|(_, without)| *without).max().unwrap_or(0)
    });
    own.collect()
}

/// Builds the fixes of an explanation one after the other until one holds. Where it is not known how, nothing changes.
fn build_fixes(
    corpus: &Corpus,
    expected: (&Failures, &NeededLines),
    explanation: &mut Explanation,
    without: u64,
    with: &Executing<'_>,
    end: Instant,
) {
    let runs = offer::runs(corpus, with.loaded);
    let sources = sources::sources(&runs);
    let Some((_, run)) = runs.iter().find(|(name, _)| *name == explanation.run) else {
        return;
    };
    let mut held = false;
    for fix in &mut explanation.fixes {
        let time = TIME.min(end.saturating_duration_since(Instant::now()));
        if held || time.is_zero() {
            return;
        }
        let building = Building {
            run,
            with,
            sources: &sources,
            limits: &ExploreLimits {
                schedules: BUILT * SCHEDULES,
                random: BUILT * RANDOM,
                ..limits(with, time)
            },
            end,
        };
        let Ok(trial) = building.attempt(fix, expected, without) else {
            continue;
        };
        held = trial.verdict == TrialVerdict::Holds;
        if held || trial.verdict == TrialVerdict::DoesNotHold {
            fix.tried = Some(trial);
        }
    }
}

/// Says of each fix why it was not tried.
pub fn leave_out(explanations: &mut [Explanation], reason: &str) {
    drop_guesses(explanations);
    for explanation in explanations {
        fixes::without_alternatives(&mut explanation.fixes);
        for fix in &mut explanation.fixes {
            fix.tried = Some(Trial::not_run(reason));
        }
    }
}

/// A trial for each fix of each explanation, in their order, with how often the program as it is failed.
fn explored(
    corpus: &Corpus,
    (explanations, akin): (&[Explanation], &[Vec<FailurePlace>]),
    name: &str,
    with: &Executing<'_>,
    time: Duration,
) -> Result<Vec<(Trial, u64)>> {
    let of_all: Vec<((&Explanation, &Vec<FailurePlace>), usize)> = explanations
        .iter()
        .zip(akin)
        .flat_map(|both| (0..both.0.fixes.len()).map(move |at| (both, at)))
        .collect();
    let mut cases: Vec<FixCase<'_>> = Vec::new();
    for ((one, akin), at) in &of_all {
        let fix = one.fixes.get(*at).context("a fix is gone")?;
        let failures = Failures::of(corpus, one).and_akin(akin);
        cases.push(match constraint::is_order(fix) {
            true => FixCase::constraint(fix, failures),
            false => FixCase::without(fix, failures),
        });
    }
    let searched = search(name, &mut cases, with, time)?;
    let build = build_command::in_a_copy(&run_named(name, with)?.meta);
    let trials = cases.iter().zip(&of_all).map(|(case, ((one, _), at))| {
        let trial = match case.is_without() {
            true => Trial::not_run(only_built(one, *at, &build)),
            false => case.trial(&searched),
        };
        (trial, case.without)
    });
    Ok(trials.collect())
}

fn only_built(explanation: &Explanation, at: usize, build: &str) -> String {
    let fix = explanation.fixes.get(at);
    let command = fix.map(|fix| explanation.verify_command(fix));
    let command = command.unwrap_or_else(|| "unsnarl verify".to_owned());
    format!("only building it can tell, as {command} --build \"{build}\" does")
}

fn run_named<'a>(name: &str, with: &Executing<'a>) -> Result<&'a Run> {
    let mut runs = with.loaded.runs.iter();
    let run = runs.find(|(known, _)| known == name);
    Ok(run.context("its run is gone")?.1.as_ref())
}

fn search(
    name: &str,
    cases: &mut [FixCase<'_>],
    with: &Executing<'_>,
    time: Duration,
) -> Result<Searched> {
    let run = run_named(name, with)?;
    let time = time.min(TIME);
    if time.is_zero() {
        bail!("the time for running it again was over");
    }
    let limits = limits(with, time);
    let end = Instant::now() + time;
    let mut watch = |seen: &Observed<'_>| {
        for case in cases.iter_mut() {
            case.see(seen);
        }
        cases.iter().all(FixCase::is_refuted) || Instant::now() > end
    };
    constrained(run, &limits, with.stop, &mut watch)
}

/// The limits of a trial in so much time.
fn limits(with: &Executing<'_>, time: Duration) -> ExploreLimits {
    ExploreLimits {
        bound: BOUND,
        schedules: SCHEDULES,
        // Half for the search and half for random schedules: a search that uses it all up stays near the first schedule,
        // and may come to no failure, with the fix or without.
        time: time / 2,
        random: RANDOM,
        one: with.given.timeout,
        most: time,
        stdin: with.given.stdin.clone(),
        driver: with.given.driver.clone(),
        word: with.given.word.clone(),
    }
}

/// Fails for a run whose program was started by another one: that would start the recorded build, not an edited one.
///
/// # Errors
/// The run has a parent program.
pub fn refuse_parent(meta: &RunMeta) -> Result<()> {
    match &meta.parent {
        None => Ok(()),
        Some(parent) => bail!(
            "the program was started by {parent}, which cannot be told to start another build\n  next: record the command that it starts the program by"
        ),
    }
}

/// Explores the program of a run as it is, if it is still the one that was recorded.
pub fn constrained(
    run: &Run,
    limits: &ExploreLimits,
    stop: &std::sync::atomic::AtomicBool,
    watch: &mut dyn FnMut(&Observed<'_>) -> bool,
) -> Result<Searched> {
    let meta = &run.meta;
    if meta.mode != OrderMode::Controlled {
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
    let deed = ExecutionInputs {
        // The schedules are others: nothing is given back to the program.
        input: RunInput::default(),
        ..ExecutionInputs::of(meta, target.program.path(), target.program.build_id())
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

/// Notes what came of the fixes; those with which a schedule failed go.
fn note(explanations: &mut [Explanation], mut trials: impl Iterator<Item = Trial>) {
    for explanation in explanations {
        for (fix, trial) in explanation.fixes.iter_mut().zip(trials.by_ref()) {
            fix.tried = Some(trial);
        }
        // Where no schedule of the program as it is keeps to the fix, building it may still tell.
        drop_refuted(explanation, |fix, trial| {
            trial.allowed > 0 && fix.doubt.is_none()
        });
        // An atomic operation, another order or another look costs nothing: it is built before a lock, which a constraint
        // may have shown to hold.
        let order = |fix: &Fix| {
            let verdict = fix.tried.as_ref().map(|trial| trial.verdict);
            let is_free = matches!(
                fix.kind,
                FixKind::AtomicUpdate | FixKind::MoveBehind | FixKind::LookAgain
            );
            (fix.doubt.is_some(), !is_free, verdict)
        };
        explanation.fixes.sort_by_key(order);
    }
}

/// Makes fixes that do not hold reasons why they are not offered.
fn drop_refuted(explanation: &mut Explanation, matters: impl Fn(&Fix, &Trial) -> bool) {
    let not_fixed = &mut explanation.not_fixed;
    explanation.fixes.retain(|fix| {
        let refuted = fix
            .tried
            .as_ref()
            .filter(|trial| trial.verdict == TrialVerdict::DoesNotHold && matters(fix, trial));
        not_fixed.extend(refuted.map(|trial| format!("{}: {}", fix.title, trial.in_words())));
        refuted.is_none()
    });
}

/// Makes guesses that have not held when built reasons why they are not offered: waits, of which no run and no text tells that
/// the condition is the right one, fixes in doubt, and fixes of a cause that is not confirmed where schedules did not fail
/// without them either.
fn drop_guesses(explanations: &mut [Explanation]) {
    for explanation in explanations {
        let executed = explanation.executed.as_ref();
        let is_confirmed = executed.is_some_and(|it| it.verdict == Verdict::Confirmed);
        let not_fixed = &mut explanation.not_fixed;
        explanation.fixes.retain(|fix| {
            let guess = guess(fix, is_confirmed);
            not_fixed.extend(guess.iter().map(|why| format!("{}: {why}", fix.title)));
            guess.is_none()
        });
    }
}

/// The reason why a fix is a guess, if it is one.
fn guess(fix: &Fix, is_confirmed: bool) -> Option<String> {
    let tried = fix.tried.as_ref();
    if tried.is_some_and(|trial| trial.built && trial.verdict == TrialVerdict::Holds) {
        return None;
    }
    if fix.kind == FixKind::Wait || fix.doubt.is_some() {
        let doubt = fix.doubt.as_deref();
        return Some(doubt.unwrap_or("only building it can tell").to_owned());
    }
    let shows_nothing = |trial: &&Trial| trial.schedules > 0 && trial.without == 0;
    let trial = tried.filter(shows_nothing).filter(|_| !is_confirmed)?;
    Some(trial.in_words())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(schedules: u64, without: u64) -> Fix {
        let trial = Trial {
            schedules,
            without,
            ..Trial::not_run("none of them fails")
        };
        Fix {
            tried: Some(trial),
            ..Fix::edit(
                FixKind::WidenSection,
                "keep it".to_owned(),
                Vec::new(),
                String::new(),
            )
        }
    }

    #[test]
    fn what_nothing_shows_to_help_is_a_guess_unless_the_cause_is_confirmed() {
        let why = guess(&fix(75, 0), false);
        assert_eq!(why.as_deref(), Some("not tried: none of them fails"));
        assert_eq!(guess(&fix(75, 0), true), None);
        assert_eq!(guess(&fix(75, 3), false), None);
        // Nothing was executed.
        assert_eq!(guess(&fix(0, 0), false), None);
    }

    #[test]
    fn what_was_built_and_held_is_no_guess() {
        let mut held = fix(75, 0);
        let trial = held.tried.as_mut().unwrap();
        trial.built = true;
        trial.verdict = TrialVerdict::Holds;
        held.doubt = Some("a run failed although it kept to it".to_owned());
        assert_eq!(guess(&held, false), None);
    }
}
