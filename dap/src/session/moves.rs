//! Requests that move the program.

use super::{Failure, Position, Reply, Served, Session, arguments};
use crate::{
    protocol::Request,
    requests::{GotoArguments, GotoEventArguments, ThreadArguments},
    subject::Provider,
};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The goal after which nothing helps.
const NO_RETURN: &str = "the point of no return";
/// The goal where the run fails.
const FAILURE: &str = "the failure";

/// A movement of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// gdb's number of the thread; 0 for the selected one.
    thread: u32,
    /// Words of `-unsnarl-move` behind the thread.
    words: String,
    /// The reason of the stop when it comes to its end.
    reason: &'static str,
    /// The name of its goal, if that is no step.
    goal: &'static str,
}

impl Move {
    fn new(thread: u32, words: impl Into<String>, reason: &'static str) -> Move {
        Move {
            thread,
            words: words.into(),
            reason,
            goal: "",
        }
    }

    fn named(self, goal: &'static str) -> Move {
        Move { goal, ..self }
    }

    /// To an event by its row in the run file, forwards or backwards.
    pub fn to_event(row: u32) -> Move {
        Move::new(0, format!("event {row}"), "step")
    }

    /// To the beginning of `main`.
    pub fn to_entry() -> Move {
        Move::new(0, "entry", "entry")
    }

    /// The body of the response to the request for it.
    pub fn response(&self) -> Value {
        match self.words.as_str() {
            "continue" => json!({ "allThreadsContinued": true }),
            _ => Value::Null,
        }
    }
}

impl<P: Provider, W: Write> Session<P, W> {
    /// The movement that a request asks for.
    pub(super) fn move_by(&mut self, request: &Request) -> Served {
        let active = self.active()?;
        let position = &active.position;
        let last = active.subject.run.events.len().saturating_sub(1) as u32;
        let ThreadArguments { thread_id } = arguments(request)?;
        Ok(Reply::Moves(match request.command.as_str() {
            "continue" => Move::new(0, "continue", "step"),
            "next" => Move::new(thread_id, "next", "step"),
            "stepIn" => Move::new(thread_id, "step", "step"),
            "stepOut" => Move::new(thread_id, "finish", "step"),
            "stepBack" | "unsnarl/previousStep" => Move::to_event(self.step_behind()?),
            "reverseContinue" => Move::new(0, "back", "step"),
            "restart" => return self.start(),
            "goto" => {
                let GotoArguments { target_id } = arguments(request)?;
                Move::new(0, format!("event {target_id}"), "goto")
            }
            "unsnarl/gotoEvent" => {
                let GotoEventArguments { event } = arguments(request)?;
                Move::to_event(event)
            }
            "unsnarl/nextStep" => Move::to_event(self.step_ahead()?),
            "unsnarl/nextEvent" => Move::to_event(position.next.min(last)),
            "unsnarl/previousEvent" => Move::to_event(position.row.saturating_sub(1)),
            "unsnarl/runToFailure" => self.to_failure()?,
            "unsnarl/pointOfNoReturn" => {
                Move::to_event(self.point_of_no_return()?).named(NO_RETURN)
            }
            "unsnarl/passingSide" => return self.change_side(Side::Passing),
            "unsnarl/failingSide" => return self.change_side(Side::Failing),
            "unsnarl/steps" => return self.list_steps(),
            other => {
                let message = format!("this adapter does not know the request {other}");
                return Err(Failure::Senseless(message));
            }
        }))
    }

    fn to_failure(&self) -> Result<Move, Failure> {
        let run = &self.active()?.subject.run;
        if !run.meta.outcome.is_failure() {
            let message = "this run did not fail: it is on the passing side";
            return Err(Failure::Senseless(message.to_owned()));
        }
        let row = unsnarl_recorder::replay::debug::failure_event(run);
        let to = row.map_or_else(|| Move::new(0, "end", "step"), Move::to_event);
        Ok(to.named(FAILURE))
    }

    /// Moves the program and tells of its stop or end.
    pub(super) fn perform(&mut self, to: &Move) -> io::Result<()> {
        let thread = self
            .active
            .as_ref()
            .map_or(0, |active| active.position.thread);
        let body = json!({ "threadId": thread, "allThreadsContinued": true });
        self.link.out.event("continued", body)?;
        match self.moved(to) {
            Ok(()) => self.tell(to.reason, to.goal),
            // Whoever asks to leave is answered next.
            Err(Failure::Leaving) => Ok(()),
            Err(Failure::Unreachable(error)) => Err(error),
            Err(failure) => {
                self.active = None;
                self.end(Some(&failure.to_string()))
            }
        }
    }

    fn moved(&mut self, to: &Move) -> Result<(), Failure> {
        self.forget_references()?;
        let command = format!("-unsnarl-move {} {}", to.thread, to.words);
        self.quiet(true);
        let done = self.ask(&command).and_then(|_| self.look());
        self.quiet(false);
        done
    }

    /// Keeps what gdb prints to itself: stops on the way, for instance.
    fn quiet(&mut self, is_quiet: bool) {
        if let Some(active) = &mut self.active {
            active.driver.captured = is_quiet.then(String::new);
        }
    }

    /// Asks where the program is. gdb answers when it stands.
    pub(super) fn look(&mut self) -> Result<(), Failure> {
        let position = Position::of(&self.ask("-unsnarl-where")?);
        if let Some(active) = &mut self.active {
            active.position = position;
        }
        Ok(())
    }
}

/// The run to be on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The run that fails.
    Failing,
    /// The nearest one that passes.
    Passing,
}
