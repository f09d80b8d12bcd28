//! One order executed: did the program have it, and how did it end?

use crate::{
    dsp::{Executor, WAYS, why_not},
    executable::listed,
};
use anyhow::Result;
use unsnarl_core::{Tally, explain::Turned};
use unsnarl_recorder::proposal::{Ended, ProposalError};
use unsnarl_trace::{EventKind, Outcome, Proposal, Run, Wanted};

/// What came of an order.
pub enum Attempt {
    /// The program had it, and passed so often of so many executions.
    Passes { passes: u32, of: u32 },
    /// The program had it, and failed however it went on.
    Fails { run: Box<Run>, why: String },
    /// The program did not have it.
    NotHad,
    /// Its time is over, or the user stopped it.
    Stopped,
}

/// Executes an order of a failing run, as far as it says; `passed` is a run in which what is awaited comes.
pub fn attempt(executor: &Executor<'_>, turned: &Turned, passed: Option<&Run>) -> Result<Attempt> {
    let mut last = Attempt::NotHad;
    for order in &turned.orders {
        let events = listed(executor.run, &turned.pair, order);
        let mut proposal = Proposal::of_events(executor.run, &events);
        if let Some(absent) = &turned.awaited {
            let comes = passed.and_then(|run| wanted(run, &absent.place.file, absent.place.line));
            let Some(comes) = comes else {
                return Ok(Attempt::NotHad);
            };
            proposal.events.push(comes);
        }
        last = ways(executor, &proposal)?;
        if !matches!(last, Attempt::NotHad) {
            break;
        }
    }
    Ok(last)
}

/// The write at a place, by the thread that does it in a run that passed.
fn wanted(run: &Run, file: &str, line: u32) -> Option<Wanted> {
    let here = |kind: EventKind, site| {
        let site = run.meta.site(site);
        kind.writes() && site.line == line && site.file == file
    };
    let mut events = run.events.iter();
    let (row, _) = events.find(|(_, event)| here(event.kind, event.site))?;
    let mut wanted = Proposal::of_events(run, &[row]).events.pop()?;
    wanted.location = String::new();
    Some(wanted)
}

/// Executes a beginning and goes on after it in several ways, until one passes.
fn ways(executor: &Executor<'_>, proposal: &Proposal) -> Result<Attempt> {
    let mut fails = None;
    for then in WAYS {
        let proposal = Proposal {
            then,
            ..proposal.clone()
        };
        let verdict = match executor.once(&proposal) {
            Ok(Some(verdict)) => verdict,
            Ok(None) => return Ok(Attempt::Stopped),
            Err(ProposalError::NoSite(..)) => return Ok(Attempt::NotHad),
            Err(error) => return Err(error.into()),
        };
        match &verdict.ended {
            Ended::Reached if verdict.run.meta.outcome == Outcome::Passed => {
                return again(executor, &proposal);
            }
            Ended::Reached => {
                let why = why_not(&verdict).unwrap_or_default();
                fails.get_or_insert((Box::new(verdict.run), why));
            }
            // How it goes on does not matter to an order that was not had.
            Ended::Diverged(_) | Ended::Deadlocked(_) => return Ok(Attempt::NotHad),
        }
    }
    Ok(match fails {
        Some((run, why)) => Attempt::Fails { run, why },
        None => Attempt::NotHad,
    })
}

/// The other executions of an order that passed once.
fn again(executor: &Executor<'_>, proposal: &Proposal) -> Result<Attempt> {
    let (mut passes, mut of) = (1, 1);
    while u64::from(of) < executor.times() {
        let Some(verdict) = executor.once(proposal)? else {
            break;
        };
        of += 1;
        passes += u32::from(why_not(&verdict).is_none());
    }
    Ok(Attempt::Passes { passes, of })
}

/// A tally in which everything went as it should, and anything was done.
pub fn is_whole(tally: Tally) -> bool {
    tally.fails > 0
        && tally.passes > 0
        && (tally.fails, tally.passes) == (tally.of_fails, tally.of_passes)
}
