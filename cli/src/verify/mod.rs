//! `unsnarl verify`: does a suggested fix hold?
//!
//! First as a constraint: the schedules of the program as it is, without those that the fix makes impossible. With
//! `--build` as a real edit of a copy of the sources, which is built and explored.

mod build;
mod choose;
mod diff;
mod explore;
pub mod offer;
mod tell;

use crate::{arguments::Verify, record::stop_flag};
use anyhow::Result;
use choose::Chosen;
use explore::{Explored, Limits};
use std::process::ExitCode;
use unsnarl_core::fixes::constraint;

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
    let limits = Limits::of(arguments);
    let holds = match &arguments.build {
        Some(command) => {
            let built = build::build(&chosen, command)?;
            let explored = explore::fixed(&chosen, &built, &limits, &stop)?;
            let holds = tell::fixed(&explored, &built);
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

/// Tries the fix on the program as it is.
fn constrained(
    chosen: &Chosen,
    limits: &Limits,
    stop: &std::sync::atomic::AtomicBool,
) -> Result<bool> {
    if !constraint::is_order(&chosen.fix) {
        anyhow::bail!(
            "this fix changes what the program does, not only when: it can only be tried by building it\n  \
             next: unsnarl verify {} --build \"make\" (the command that builds the program)",
            chosen.name()
        );
    }
    let explored: Explored = explore::constrained(chosen, limits, stop)?;
    Ok(tell::constrained(chosen, &explored))
}
