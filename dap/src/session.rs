//! A session: one client, one run at a time.

mod breakpoints;
mod evaluate;
mod launch;
mod moves;
mod position;
mod references;
mod stack;
mod steps;
mod targets;
mod tell;
mod variables;

use self::{
    breakpoints::WantedBreakpoints, moves::Move, position::Position, references::References,
};
use crate::{
    bodies::OutputBody,
    driver::{Driver, Failure},
    link::{Input, Link},
    mi::Results,
    protocol::Request,
    requests::LaunchArguments,
    subject::{Provider, Subject},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::io::{self, Write};

/// Refusal of everything that needs a program.
const NOTHING_RUNS: &str = "no run is being debugged";

/// The state of a session.
pub struct Session<P, W> {
    provider: P,
    link: Link<W>,
    launch: Option<LaunchArguments>,
    active: Option<Active>,
    wanted: WantedBreakpoints,
    generation: u32,
}

/// A run under gdb.
struct Active {
    subject: Subject,
    driver: Driver,
    position: Position,
    references: References,
}

/// The consequence of a request.
enum Reply {
    /// The body of its response.
    Body(Value),
    /// The program moves, once the response is sent.
    Moves(Move),
    /// The body of its response; the program has moved meanwhile.
    Moved(Value),
    /// The response is followed by an event.
    Then(Value, &'static str),
    /// The session ends.
    Leave,
}

type Served = Result<Reply, Failure>;

impl<P: Provider, W: Write> Session<P, W> {
    /// A session that has not begun.
    pub fn new(link: Link<W>, provider: P) -> Session<P, W> {
        Session {
            provider,
            link,
            launch: None,
            active: None,
            wanted: WantedBreakpoints::default(),
            generation: 0,
        }
    }

    /// Serves the client until it leaves.
    pub fn run(mut self) -> io::Result<()> {
        while let Some(request) = self.next_request()? {
            match self.answer(&request) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) if self.link.is_gone => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn next_request(&mut self) -> io::Result<Option<Request>> {
        loop {
            if self.link.is_gone {
                return Ok(None);
            }
            if let Some(request) = self.link.waiting.pop_front() {
                return Ok(Some(request));
            }
            match self.link.inputs.recv() {
                Ok(Input::Client(request)) => return Ok(Some(request)),
                Ok(Input::ClientGone(end)) => return end.map(|()| None),
                Ok(other) => self.news(other)?,
                Err(_) => return Ok(None),
            }
        }
    }

    /// Something that happens while nothing is asked for.
    fn news(&mut self, input: Input) -> io::Result<()> {
        let generation = self.generation;
        match (input, &mut self.active) {
            (Input::Program(text), _) => self.say(OutputBody::program(text)),
            (Input::Gdb(of, record), Some(active)) if of == generation => {
                active.driver.observe(&mut self.link, record)
            }
            (Input::GdbEnded(of), Some(_)) if of == generation => {
                self.active = None;
                self.end(Some("gdb has ended unexpectedly"))
            }
            _ => Ok(()),
        }
    }

    /// Answers a request; `false` if it was the last one.
    fn answer(&mut self, request: &Request) -> io::Result<bool> {
        match self.serve(request) {
            Ok(Reply::Body(body)) => self.link.out.respond(request, body)?,
            Ok(Reply::Then(body, event)) => {
                self.link.out.respond(request, body)?;
                self.link.out.event(event, Value::Null)?;
            }
            Ok(Reply::Moved(body)) => {
                self.link.out.respond(request, body)?;
                self.tell("step", "")?;
            }
            Ok(Reply::Moves(to)) => {
                self.link.out.respond(request, to.response())?;
                self.perform(&to)?;
            }
            Ok(Reply::Leave) => {
                self.active = None;
                self.link.out.respond(request, Value::Null)?;
                return Ok(false);
            }
            Err(Failure::Unreachable(error)) => return Err(error),
            Err(failure) => self.link.out.refuse(request, &failure.to_string())?,
        }
        Ok(true)
    }

    fn serve(&mut self, request: &Request) -> Served {
        match request.command.as_str() {
            "initialize" => Ok(Reply::Body(launch::capabilities())),
            "launch" => self.launch(arguments(request)?),
            "configurationDone" => self.start(),
            "setBreakpoints" => self.set_breakpoints(arguments(request)?),
            "setFunctionBreakpoints" => self.set_function_breakpoints(arguments(request)?),
            "setExceptionBreakpoints" => body(serde_json::json!({ "breakpoints": [] })),
            "threads" => self.threads(),
            "stackTrace" => self.stack_trace(arguments(request)?),
            "scopes" => self.scopes(arguments(request)?),
            "variables" => self.variables(arguments(request)?),
            "setVariable" => self.set_variable(&arguments(request)?),
            "evaluate" => self.evaluate(&arguments(request)?),
            "gotoTargets" => self.goto_targets(&arguments(request)?),
            // The program stands.
            "pause" => body(Value::Null),
            "terminate" => {
                self.active = None;
                Ok(Reply::Then(Value::Null, "terminated"))
            }
            "disconnect" => Ok(Reply::Leave),
            _ => self.move_by(request),
        }
    }

    /// Sends a command to gdb.
    fn ask(&mut self, command: &str) -> Result<Results, Failure> {
        let active = self.active.as_mut().ok_or_else(nothing_runs)?;
        active.driver.ask(&mut self.link, command)
    }

    fn active(&self) -> Result<&Active, Failure> {
        self.active.as_ref().ok_or_else(nothing_runs)
    }
}

fn nothing_runs() -> Failure {
    Failure::Senseless(NOTHING_RUNS.to_owned())
}

fn body(of: impl Serialize) -> Served {
    let value = serde_json::to_value(of).map_err(io::Error::from)?;
    Ok(Reply::Body(value))
}

fn arguments<T: DeserializeOwned>(request: &Request) -> Result<T, Failure> {
    // Arguments that are left out are those of which none is required.
    let given = match &request.arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        given => given.clone(),
    };
    serde_json::from_value(given)
        .map_err(|error| Failure::Senseless(format!("{}: {error}", request.command)))
}
