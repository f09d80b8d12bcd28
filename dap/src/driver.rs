//! Commands to gdb with their answers. While one is executed, what cannot wait is served: pausing and leaving.

use crate::{
    bodies::OutputBody,
    gdb::Gdb,
    link::{Input, Link},
    mi::{MiRecord, Results},
    protocol::Request,
};
use serde_json::Value;
use std::io::{self, Write};

/// Reason why a request is not served.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// gdb refuses a command.
    #[error("{0}")]
    Refused(String),
    /// gdb has ended by itself.
    #[error("gdb has ended unexpectedly{0}\n  next: start the session again")]
    Ended(String),
    /// The client has gone, or asks to leave.
    #[error("the client leaves")]
    Leaving,
    /// The client cannot be written to.
    #[error("the client cannot be reached: {0}")]
    Unreachable(#[from] io::Error),
    /// The request makes no sense here.
    #[error("{0}")]
    Senseless(String),
}

/// Content of the answer to a command.
pub type Answer = Result<Results, Failure>;

/// Token that no command has.
const NO_TOKEN: u64 = 0;

/// gdb, with what it has said besides answers.
pub struct Driver {
    /// The process.
    pub gdb: Gdb,
    /// Console text of the current command, when that is asked for.
    pub captured: Option<String>,
    /// The program has run during the current command.
    pub has_run: bool,
    /// The client has asked for a pause.
    pub is_pausing: bool,
    /// The last line of gdb's log.
    log: String,
}

impl Driver {
    /// A driver of a gdb that was just started.
    pub fn new(gdb: Gdb) -> Driver {
        Driver {
            gdb,
            captured: None,
            has_run: false,
            is_pausing: false,
            log: String::new(),
        }
    }

    /// Sends a command and waits for its answer.
    pub fn ask<W: Write>(&mut self, link: &mut Link<W>, command: &str) -> Answer {
        let ended = |driver: &Driver| Failure::Ended(driver.last_words());
        // A gdb that takes no commands has ended: it has said why before.
        let token = self.gdb.send(command).unwrap_or(NO_TOKEN);
        loop {
            let input = link.inputs.recv().map_err(|_| Failure::Leaving)?;
            match input {
                Input::Gdb(of, record) if of == self.gdb.generation => {
                    if let Some(answer) = self.answer(link, token, record)? {
                        return answer;
                    }
                }
                Input::GdbEnded(of) if of == self.gdb.generation => {
                    return Err(ended(self));
                }
                Input::Gdb(..) | Input::GdbEnded(_) => {}
                Input::Program(text) => link.out.event("output", OutputBody::program(text))?,
                Input::Client(request) => self.meanwhile(link, request)?,
                Input::ClientGone(_) => {
                    link.is_gone = true;
                    return Err(self.give_up());
                }
            }
        }
    }

    /// The answer, if this record is the one of the command.
    fn answer<W: Write>(
        &mut self,
        link: &mut Link<W>,
        own: u64,
        record: MiRecord,
    ) -> Result<Option<Answer>, Failure> {
        match record {
            MiRecord::Answer {
                token,
                class,
                results,
            } if token == Some(own) => {
                let refused = || Failure::Refused(results.text("msg").to_owned());
                return Ok(Some(match class.as_str() {
                    "error" => Err(refused()),
                    _ => Ok(results),
                }));
            }
            other => self.observe(link, other)?,
        }
        Ok(None)
    }

    /// Takes note of what is no answer.
    pub fn observe<W: Write>(&mut self, link: &mut Link<W>, record: MiRecord) -> io::Result<()> {
        match record {
            MiRecord::Notice { class, results } => self.gdb.note(&class, &results),
            MiRecord::Execution { class, .. } => self.has_run |= class == "running",
            MiRecord::Console(text) => match &mut self.captured {
                Some(captured) => captured.push_str(&text),
                None => link.out.event("output", OutputBody::console(text))?,
            },
            MiRecord::Log(text) => self.log = text,
            // The answer of a command that was given up, or text of a program that writes to its terminal.
            MiRecord::Answer { .. } | MiRecord::Prompt | MiRecord::Foreign(_) => {}
        }
        Ok(())
    }

    /// A request that comes while gdb is busy: it waits, unless it is about ending just that.
    fn meanwhile<W: Write>(&mut self, link: &mut Link<W>, request: Request) -> Result<(), Failure> {
        match request.command.as_str() {
            "pause" => {
                self.is_pausing = true;
                self.gdb.interrupt();
                Ok(link.out.respond(&request, Value::Null)?)
            }
            "disconnect" | "terminate" => {
                link.waiting.push_front(request);
                Err(self.give_up())
            }
            _ => {
                link.waiting.push_back(request);
                Ok(())
            }
        }
    }

    fn give_up(&mut self) -> Failure {
        self.gdb.give_up();
        Failure::Leaving
    }

    fn last_words(&self) -> String {
        match self.log.trim() {
            "" => String::new(),
            words => format!(": {words}"),
        }
    }
}
