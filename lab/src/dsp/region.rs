//! Check that an advised region would help: it is executed as one step, before and after what came in between.

use super::execute::{Executor, WAYS, failure};
use crate::executable::listed;
use anyhow::Result;
use unsnarl_core::explain::outermost;
use unsnarl_recorder::proposal::{ScheduleEnd, TrialError};
use unsnarl_symbolic::dsp::Dsp;
use unsnarl_trace::{Event, EventId, Proposal, Run};

impl Executor<'_> {
    /// Is it true, as far as executing tells, that an advised region as one step keeps the program from failing?
    /// With the region first and what came in between after it, and the other way round.
    pub fn region_holds(&self, dsp: &Dsp, passing: &Run) -> Result<bool> {
        if dsp.unfinished().is_some() {
            return self.region_helps(dsp, passing);
        }
        let Some(proposal) = others_first(self.run, dsp) else {
            return Ok(true);
        };
        match self.once(&proposal) {
            Ok(Some(verdict)) => {
                Ok(verdict.ended != ScheduleEnd::Reached || failure(&verdict).is_none())
            }
            Ok(None) | Err(TrialError::NoSite(..)) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Executes the failing run's order up to where another thread comes into an unfinished region (see
    /// [`Dsp::unfinished`]), then the region to its end as `passing` has it. Does the program pass?
    fn region_helps(&self, dsp: &Dsp, passing: &Run) -> Result<bool> {
        let Some(proposal) = region_first(self.run, dsp, passing) else {
            return Ok(false);
        };
        for then in WAYS {
            let proposal = Proposal {
                then,
                ..proposal.clone()
            };
            match self.once(&proposal) {
                Ok(Some(verdict)) if failure(&verdict).is_none() => return Ok(true),
                Ok(Some(_)) => {}
                Ok(None) | Err(TrialError::NoSite(..)) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

/// The order in which what came in between in a region comes before it; each thread goes on until it waits then.
fn others_first(failing: &Run, dsp: &Dsp) -> Option<Proposal> {
    let first = dsp.region()?[0].event?;
    let between = dsp.between().iter();
    let between = between.filter_map(|&at| dsp.operations.get(at as usize)?.event);
    let last = between.max().filter(|last| *last > first)?;
    let thread = failing.events.get(first)?.thread;
    let from = outermost(failing, first)?;
    let order = failing.events.iter().filter(|(id, event)| {
        let is_held = event.thread == thread && *id >= from;
        *id <= last && !is_held
    });
    let order: Vec<EventId> = order.map(|(id, _)| id).collect();
    let order = listed(failing, &[last], &order);
    Some(Proposal::of_events(failing, &order))
}

/// The order in which the thread of an unfinished region goes through it before the others come in.
fn region_first(failing: &Run, dsp: &Dsp, passing: &Run) -> Option<Proposal> {
    let [first, last] = dsp.unfinished()?;
    let (first, last) = (first.event?, last.alternate_event?);
    let thread = failing.events.get(first)?.thread;
    let between = dsp.between().iter();
    let between = between.filter_map(|&at| dsp.operations.get(at as usize)?.event);
    let other = between.min()?;
    let from = outermost(failing, other)?;
    let by = failing.events.get(other)?.thread;
    let order = failing.events.iter().filter(|(id, event)| {
        let is_out = event.thread == by && *id >= from;
        *id < other && !is_out
    });
    let order: Vec<EventId> = order.map(|(id, _)| id).collect();
    let order = listed(failing, &[first], &order);
    let of_thread = |id: &&EventId| {
        failing
            .events
            .get(**id)
            .is_some_and(|event| event.thread == thread)
    };
    let known = *order.iter().rev().find(of_thread)?;
    let known = same(failing, known, passing)?;
    let mut proposal = Proposal::of_events(failing, &order);
    let end = Proposal::of_events(passing, &[known, last]).events.pop()?;
    proposal.events.push(end);
    Some(proposal)
}

/// The event of another run that is the same by its thread, kind, place, and number among those.
fn same(run: &Run, id: EventId, other: &Run) -> Option<EventId> {
    let event = run.events.get(id)?;
    let name = |run: &Run, event: &Event| {
        let site = run.meta.site(event.site);
        let thread = run.meta.thread(event.thread).name.clone();
        (
            thread,
            event.kind,
            site.file.clone(),
            site.line,
            site.column,
        )
    };
    let wanted = name(run, &event);
    let before = run.events.iter().take_while(|(earlier, _)| *earlier < id);
    let nth = before
        .filter(|(_, event)| name(run, event) == wanted)
        .count();
    let mut alike = other
        .events
        .iter()
        .filter(|(_, event)| name(other, event) == wanted);
    alike.nth(nth).map(|(id, _)| id)
}
