//! The beginning and the end of a session.

use super::{Active, Failure, Move, Position, References, Reply, Served, Session};
use crate::{
    bodies::OutputBody,
    driver::Driver,
    gdb::Gdb,
    requests::LaunchArguments,
    subject::{Provider, Subject},
};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Abilities of the adapter.
pub fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsFunctionBreakpoints": true,
        "supportsEvaluateForHovers": true,
        "supportsSetVariable": true,
        "supportsStepBack": true,
        "supportsRestartRequest": true,
        "supportsGotoTargetsRequest": true,
        "supportsTerminateRequest": true,
        "supportsDelayedStackTraceLoading": true,
    })
}

impl<P: Provider, W: Write> Session<P, W> {
    pub(super) fn launch(&mut self, launch: LaunchArguments) -> Served {
        let subject = self.provider.failing(&launch).map_err(cause)?;
        self.open(subject)?;
        self.launch = Some(launch);
        // From now on breakpoints can be set.
        Ok(Reply::Then(Value::Null, "initialized"))
    }

    /// Starts gdb on a run, in the place of one that was debugged before.
    pub(super) fn open(&mut self, subject: Subject) -> Result<(), Failure> {
        self.active = None;
        self.generation += 1;
        let gdb = Gdb::start(&subject.debuggee, self.generation, &self.link.sender);
        let gdb = gdb.map_err(|error| {
            Failure::Senseless(format!(
                "cannot start gdb: {error}\n  next: try it by itself: gdb --version"
            ))
        })?;
        let mut driver = Driver::new(gdb);
        // What gdb prints while it starts is about itself.
        driver.captured = Some(String::new());
        driver
            .ask(&mut self.link, "-unsnarl-where")
            .map_err(too_old)?;
        driver.captured = None;
        // Where there are no printers of the C++ library, members are shown.
        driver.ask(&mut self.link, "-enable-pretty-printing")?;
        for note in &subject.notes {
            self.say(OutputBody::important(note))?;
        }
        self.active = Some(Active {
            subject,
            driver,
            position: Position::default(),
            references: References::default(),
        });
        Ok(())
    }

    /// The program starts.
    pub(super) fn start(&mut self) -> Served {
        let stops_on_entry = self.launch.as_ref().is_some_and(|it| it.stop_on_entry);
        let first = self.active()?.subject.steps.first();
        Ok(Reply::Moves(match first.filter(|_| !stops_on_entry) {
            Some(step) => Move::to_event(step.event),
            None => Move::to_entry(),
        }))
    }

    /// Tells of the end of the program, or of the reason why it cannot be debugged any more.
    pub(super) fn end(&mut self, problem: Option<&str>) -> io::Result<()> {
        if let Some(problem) = problem {
            self.say(OutputBody::important(problem))?;
        }
        self.link.out.event("terminated", Value::Null)
    }

    /// The program has ended: says whether it did so as recorded.
    pub(super) fn ended(&mut self) -> io::Result<()> {
        let Some(Active {
            subject,
            mut driver,
            ..
        }) = self.active.take()
        else {
            return Ok(());
        };
        let status = driver.gdb.leave()?;
        // It has the log no more.
        drop(driver);
        let finished = subject.debuggee.finish(&subject.run, status);
        let text = match finished.map(|debugged| debugged.difference) {
            Ok(None) => "the program repeated the recorded run".to_owned(),
            Ok(Some(difference)) => format!(
                "the program left the recorded run at event {}:\n  recorded  {}\n  debugged  {}",
                difference.event, difference.recorded, difference.replayed
            ),
            Err(error) => error.to_string(),
        };
        self.say(OutputBody::console(format!("{text}\n")))?;
        self.end(None)
    }
}

/// The reason of a provider, with what it was about.
pub fn cause(error: anyhow::Error) -> Failure {
    Failure::Senseless(format!("{error:#}"))
}

fn too_old(failure: Failure) -> Failure {
    match failure {
        Failure::Refused(message) => Failure::Senseless(format!(
            "this gdb cannot be driven: {message}\n  next: install gdb 12 or newer, with Python; unsnarl doctor says what is missing"
        )),
        other => other,
    }
}
