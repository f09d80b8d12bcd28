//! `unsnarl verify`: does a suggested fix hold?
//!
//! First as a constraint: the schedules of the program as it is, without those that the fix makes impossible. With
//! `--build` as a real edit of a copy of the sources, which is built and explored.

mod build;
mod choose;
mod diff;
mod tell;

use crate::{arguments::Verify, message, progress::Working, record::stop_flag};
use anyhow::Result;
use build::Built;
use choose::ChosenFix;
use std::{
    ffi::OsString,
    iter,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use unsnarl_core::fixes::{Trial, constraint};
use unsnarl_lab::{
    load,
    trial::{self, ExploreLimits, FixCase, Searched},
};
use unsnarl_recorder::{permit::Permit, record::Observed};

/// The fix does not hold.
const DOES_NOT_HOLD: u8 = 1;

/// The user has ended the search, as shells say it of a signal.
const STOPPED: u8 = 130;

/// Verifies a fix.
pub fn run(arguments: &Verify) -> Result<ExitCode> {
    let chosen = choose::choose(arguments)?;
    if arguments.diff {
        diff::print(&chosen.fix, &chosen.sources)?;
        return Ok(ExitCode::SUCCESS);
    }
    tell::title(&chosen);
    let stop = stop_flag()?;
    let limits = limits(arguments);
    let holds = match &arguments.build {
        Some(command) => {
            let working = Working::on("building an edited copy and running it");
            let built = build::build(&chosen, command)?;
            let (case, searched) = edited(&chosen, &built, &limits, &stop)?;
            if is_stopped(&stop, &case) {
                built.remove()?;
                return Ok(ExitCode::from(STOPPED));
            }
            let without = match case.first {
                Some(_) => tell::UnfixedSearch::default(),
                None => without(&chosen, &limits, &stop),
            };
            drop(working);
            let holds = tell::edited(&case, &searched, &built, &without);
            // What is explained failed without it.
            keep(
                &chosen,
                &case.built(&searched, u64::from(holds || without.fails)),
            );
            if holds {
                built.remove()?;
            }
            holds
        }
        None => match constrained(&chosen, &limits, &stop)? {
            Some(holds) => holds,
            None => return Ok(ExitCode::from(STOPPED)),
        },
    };
    tell::cost(&chosen);
    if holds && arguments.apply {
        diff::write(&chosen.fix, &chosen.sources)?;
    }
    Ok(ExitCode::from(if holds { 0 } else { DOES_NOT_HOLD }))
}

/// Returns the limits that the user wants.
fn limits(arguments: &Verify) -> ExploreLimits {
    ExploreLimits {
        bound: arguments.bound,
        schedules: arguments.schedules,
        time: arguments.budget,
        random: arguments.random,
        one: arguments.timeout,
        most: Duration::MAX,
        stdin: arguments.stdin.clone(),
        driver: arguments.driver.clone(),
        word: arguments.trusting.word(),
    }
}

/// Returns whether the user has ended the search before it told anything, and says so. What was known of the fix stays.
fn is_stopped(stop: &AtomicBool, case: &FixCase<'_>) -> bool {
    let is_stopped = stop.load(Ordering::Relaxed) && !case.is_refuted();
    if is_stopped {
        message::note("stopped: nothing new is known of this fix");
    }
    is_stopped
}

/// Tries the fix on the program as it is; none if the user has ended that.
fn constrained(
    chosen: &ChosenFix,
    limits: &ExploreLimits,
    stop: &AtomicBool,
) -> Result<Option<bool>> {
    if !constraint::is_order(&chosen.fix) {
        anyhow::bail!(
            "this fix changes what the program does, not only when: it can only be tried by building it\n  \
             next: {} (the command that builds the program)",
            chosen.built()
        );
    }
    let mut case = FixCase::constraint(&chosen.fix, chosen.failures.clone());
    let mut watch = |seen: &Observed<'_>| {
        case.see(seen);
        case.is_refuted()
    };
    let working = Working::on("running the program in the schedules that the fix allows");
    let searched = trial::constrained(&chosen.run.1, limits, stop, &mut watch)?;
    drop(working);
    if is_stopped(stop, &case) {
        return Ok(None);
    }
    keep(chosen, &case.trial(&searched));
    Ok(Some(tell::constrained(chosen, &case, &searched)))
}

/// Keeps the trial with what was told of the explanation, for `unsnarl report`.
fn keep(chosen: &ChosenFix, trial: &Trial) {
    let tried = chosen.tried(trial);
    if let Err(error) = load::keep_told(&chosen.folder, vec![tried]) {
        message::warning(&format!(
            "unsnarl report will not know of this trial: {error:#}"
        ));
    }
}

/// The same search of the program as it is, until it fails as what is explained does.
fn without(chosen: &ChosenFix, limits: &ExploreLimits, stop: &AtomicBool) -> tell::UnfixedSearch {
    let mut case = FixCase::constraint(&chosen.fix, chosen.failures.clone());
    let mut watch = |seen: &Observed<'_>| {
        case.see(seen);
        case.without > 0
    };
    let searched = trial::constrained(&chosen.run.1, limits, stop, &mut watch);
    let schedules = |searched: &Searched| searched.schedules + searched.random;
    tell::UnfixedSearch {
        schedules: searched.as_ref().map_or(0, schedules),
        fails: case.without > 0,
        error: searched.err().map(|error| {
            let text = format!("{error:#}");
            text.lines().next().unwrap_or_default().to_owned()
        }),
    }
}

/// Explores the program that was built from the edited copy.
fn edited<'c>(
    chosen: &'c ChosenFix,
    built: &Built,
    limits: &ExploreLimits,
    stop: &AtomicBool,
) -> Result<(FixCase<'c>, Searched)> {
    let run = &chosen.run.1;
    trial::refuse_parent(&run.meta)?;
    let words = run.meta.command.iter().skip(1).map(OsString::from);
    let command: Vec<OsString> = iter::once(built.program.clone().into())
        .chain(words)
        .collect();
    let target = &built.target;
    // The user gave the command that has just built it.
    let permit = Permit::named(target.program.path(), &command, &built.directory);
    let job = trial::job(run, command, &built.directory, permit, limits);
    let out = built.root.join(load::RUNS);
    let (failures, needed) = (chosen.failures.clone(), chosen.needed.clone());
    let mut case = FixCase::edited(&chosen.fix, failures, needed);
    let mut watch = |seen: &Observed<'_>| {
        case.see(seen);
        case.is_refuted()
    };
    let searched = trial::explore(
        (target, &job),
        run.meta.chances,
        limits,
        &out,
        stop,
        &mut watch,
    )?;
    case.end();
    Ok((case, searched))
}
