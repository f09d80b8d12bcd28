//! The telling of where the program has come.

use super::{Position, Session, position::StopCause};
use crate::{
    bodies::{OutputBody, StoppedBody},
    subject::Provider,
};
use std::io::{self, Write};

impl<P: Provider, W: Write> Session<P, W> {
    /// Tells of the program's stop or end; `goal` is the name of the event that was asked for, if it has one.
    pub(super) fn tell(&mut self, reason: &'static str, goal: &str) -> io::Result<()> {
        let Some(active) = &mut self.active else {
            return Ok(());
        };
        let is_pause = std::mem::take(&mut active.driver.is_pausing);
        let position = active.position.clone();
        for note in &position.notes {
            self.say(OutputBody::console(format!("{note}\n")))?;
        }
        if !position.is_alive {
            return self.tell_end(&position);
        }
        if !position.error.is_empty() {
            self.say(OutputBody::important(&position.error))?;
        }
        let mut stop = self.stop(&position, reason, is_pause);
        if position.cause == StopCause::Event {
            if stop.description.is_empty() {
                (stop.description, stop.text) = (goal.to_owned(), position.text);
            }
            let said = [stop.description.as_str(), stop.text.as_str()];
            let said = said.into_iter().filter(|part| !part.is_empty());
            let said = said.collect::<Vec<_>>().join(": ");
            self.say(OutputBody::console(format!("{said}\n")))?;
        }
        self.link.out.event("stopped", stop)
    }

    pub(super) fn say(&mut self, text: OutputBody) -> io::Result<()> {
        self.link.out.event("output", text)
    }

    /// A program that has not even begun to run cannot be traced, for instance.
    fn tell_end(&mut self, position: &Position) -> io::Result<()> {
        if position.error.is_empty() {
            return self.ended();
        }
        self.active = None;
        let next = "next: see whether gdb can start a program here at all; some containers forbid ptrace (unsnarl doctor)";
        self.end(Some(&format!("{}\n  {next}", position.error.trim())))
    }

    fn stop(&self, position: &Position, reason: &'static str, is_pause: bool) -> StoppedBody {
        let (reason, description, text) = match position.cause {
            StopCause::Breakpoint => ("breakpoint", String::new(), String::new()),
            StopCause::Signal if is_pause => ("pause", String::new(), String::new()),
            StopCause::Signal => {
                let (description, text) = self.signal(position);
                ("exception", description, text)
            }
            StopCause::Event => {
                let (description, text) = self.step_in_words(position);
                (reason, description, text)
            }
            StopCause::Line | StopCause::None => (reason, String::new(), String::new()),
        };
        StoppedBody {
            reason,
            description,
            text,
            thread_id: position.thread,
            all_threads_stopped: true,
            hit_breakpoint_ids: position.breakpoints.clone(),
        }
    }

    /// A signal in words, with the failure of the run if the program has come to it.
    fn signal(&self, position: &Position) -> (String, String) {
        let description = format!("Stopped by {}", position.signal);
        let meta = self.active.as_ref().map(|active| &active.subject.run.meta);
        let failure = meta.filter(|meta| meta.outcome.is_failure());
        let failure = failure.and_then(|meta| meta.failure.as_ref());
        let text = failure.map_or_else(|| position.signal.clone(), |it| it.message.clone());
        (description, text)
    }
}
