//! The steps of the explanation, and the two sides of it.

use super::{Failure, Position, Served, Session, body, launch::cause, moves::Side};
use crate::{bodies::StepBody, subject::Provider};
use std::io::Write;

impl<P: Provider, W: Write> Session<P, W> {
    /// Row of the next step.
    pub(super) fn step_ahead(&self) -> Result<u32, Failure> {
        let active = self.active()?;
        let steps = &active.subject.steps;
        let behind = active.position.next;
        let ahead = steps.iter().find(|step| step.event >= behind);
        ahead.map(|step| step.event).ok_or_else(|| {
            Failure::Senseless(match steps.is_empty() {
                true => "there is no explanation of this run\n  next: unsnarl explain says why"
                    .to_owned(),
                false => "that was the last step of the explanation".to_owned(),
            })
        })
    }

    /// Row of the step before; of the event before where nothing is explained.
    pub(super) fn step_behind(&self) -> Result<u32, Failure> {
        let active = self.active()?;
        let (steps, row) = (&active.subject.steps, active.position.row);
        if steps.is_empty() {
            return Ok(row.saturating_sub(1));
        }
        let behind = steps.iter().rev().find(|step| step.event < row);
        behind.map(|step| step.event).ok_or_else(|| {
            let message =
                "no step of the explanation comes before\n  next: reverse continues to the start";
            Failure::Senseless(message.to_owned())
        })
    }

    /// The step at which the program stands, as a short description and as a text; empty where it is none.
    pub(super) fn step_in_words(&self, position: &Position) -> (String, String) {
        let Some(active) = &self.active else {
            return Default::default();
        };
        let steps = &active.subject.steps;
        let all = steps.len();
        let here = steps
            .iter()
            .enumerate()
            .find(|(_, step)| (position.row..position.next).contains(&step.event));
        here.map_or_else(Default::default, |(at, step)| {
            (format!("step {} of {all}", at + 1), step.text.clone())
        })
    }

    pub(super) fn list_steps(&self) -> Served {
        let active = self.active()?;
        let next = active.position.next;
        let steps = active.subject.steps.iter().enumerate();
        let steps = steps.map(|(at, step)| StepBody {
            number: at + 1,
            event: step.event,
            text: step.text.clone(),
            done: step.event < next,
        });
        body(serde_json::json!({
            "run": active.subject.name,
            "passing": !active.subject.run.meta.outcome.is_failure(),
            "steps": steps.collect::<Vec<_>>(),
        }))
    }

    /// Row of the last decisive step, which is measured when it is asked for first.
    pub(super) fn point_of_no_return(&mut self) -> Result<u32, Failure> {
        if let Some(known) = self.active()?.subject.point_of_no_return {
            return Ok(known);
        }
        if !self.active()?.subject.run.meta.outcome.is_failure() {
            let message = "this run did not fail, so it has no point of no return";
            return Err(Failure::Senseless(message.to_owned()));
        }
        let launch = self.launch.as_ref().ok_or_else(super::nothing_runs)?;
        let measured = self.provider.point_of_no_return(launch).map_err(cause)?;
        if let Some(active) = &mut self.active {
            active.subject.point_of_no_return = Some(measured);
        }
        Ok(measured)
    }

    /// Goes on in the other run, from its first step.
    pub(super) fn change_side(&mut self, side: Side) -> Served {
        let launch = self.launch.clone().ok_or_else(super::nothing_runs)?;
        let subject = match side {
            Side::Failing => self.provider.failing(&launch),
            Side::Passing => self.provider.passing(&launch),
        };
        self.open(subject.map_err(cause)?)?;
        self.set_all_breakpoints()?;
        self.start()
    }
}
