//! `unsnarl verify`: does a suggested fix hold?
//!
//! First as a constraint: the schedules of the program as it is, without those that the fix makes impossible. With
//! `--build` as a real edit of a copy of the sources, which is built and explored.

mod build;
mod choose;
mod diff;
pub mod offer;
mod tell;

use crate::{
    arguments::Verify,
    load,
    record::stop_flag,
    trial::{self, Case, Limits, Searched},
};
use anyhow::Result;
use build::Built;
use choose::Chosen;
use std::{process::ExitCode, sync::atomic::AtomicBool};
use unsnarl_core::fixes::constraint;
use unsnarl_recorder::record::Observed;

/// The fix does not hold.
const DOES_NOT_HOLD: u8 = 1;

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
            let built = build::build(&chosen, command)?;
            let (case, searched) = edited(&chosen, &built, &limits, &stop)?;
            let holds = tell::edited(&case, &searched, &built);
            if holds {
                built.remove()?;
            }
            holds
        }
        None => constrained(&chosen, &limits, &stop)?,
    };
    tell::cost(&chosen);
    if holds && arguments.apply {
        diff::write(&chosen.fix, &chosen.sources)?;
    }
    Ok(ExitCode::from(if holds { 0 } else { DOES_NOT_HOLD }))
}

/// As the user wants it.
fn limits(arguments: &Verify) -> Limits {
    Limits {
        bound: arguments.bound,
        schedules: arguments.schedules,
        time: arguments.budget,
        random: arguments.random,
        one: arguments.timeout,
        stdin: arguments.stdin.clone(),
    }
}

/// Tries the fix on the program as it is.
fn constrained(chosen: &Chosen, limits: &Limits, stop: &AtomicBool) -> Result<bool> {
    if !constraint::is_order(&chosen.fix) {
        anyhow::bail!(
            "this fix changes what the program does, not only when: it can only be tried by building it\n  \
             next: unsnarl verify {} --build \"make\" (the command that builds the program)",
            chosen.name()
        );
    }
    let mut case = Case::constraint(&chosen.fix, chosen.failures.clone());
    let mut watch = |seen: &Observed<'_>| {
        case.see(seen);
        case.is_refuted()
    };
    let searched = trial::constrained(&chosen.run.1, limits, stop, &mut watch)?;
    Ok(tell::constrained(chosen, &case, &searched))
}

/// Explores the program that was built from the edited copy.
fn edited<'c>(
    chosen: &'c Chosen,
    built: &Built,
    limits: &Limits,
    stop: &AtomicBool,
) -> Result<(Case<'c>, Searched)> {
    let run = &chosen.run.1;
    let job = trial::job(run, &built.program, &built.directory, limits);
    let out = built.root.join(load::RUNS);
    let mut case = Case::edited(&chosen.fix, chosen.failures.clone());
    let mut watch = |seen: &Observed<'_>| {
        case.see(seen);
        case.is_refuted()
    };
    let searched = trial::explore(&job, run.meta.chances, limits, &out, stop, &mut watch)?;
    Ok((case, searched))
}
