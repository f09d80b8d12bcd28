//! The place of the program in its run, as `-unsnarl-where` says it.

use crate::mi::{MiValue, Results};

/// Cause of the last stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StopCause {
    /// Nothing has run.
    #[default]
    None,
    /// The event that was asked for.
    Event,
    /// The line that was asked for.
    Line,
    /// A breakpoint of the user's.
    Breakpoint,
    /// A signal.
    Signal,
}

/// The place of the program, and the cause of its last stop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// The program has not ended.
    pub is_alive: bool,
    /// First row of the current event in the run file.
    pub row: u32,
    /// First row behind it.
    pub next: u32,
    /// The current event in words.
    pub text: String,
    /// gdb's number of the selected thread.
    pub thread: u32,
    /// Cause of the stop.
    pub cause: StopCause,
    /// Name of the signal, if it was one.
    pub signal: String,
    /// The breakpoints that were hit.
    pub breakpoints: Vec<u32>,
    /// Reason why the last movement did not come to its end; empty when it did.
    pub error: String,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

impl Position {
    /// Reads the answer.
    pub fn of(results: &Results) -> Position {
        let number = |name: &str| results.number(name).unwrap_or(0);
        let breakpoints = results.list("breakpoints").iter();
        let notes = results.list("notes").iter().filter_map(MiValue::text);
        Position {
            is_alive: number("alive") == 1,
            row: number("row"),
            next: number("next"),
            text: results.text("text").to_owned(),
            thread: number("thread"),
            cause: match results.text("reason") {
                "event" => StopCause::Event,
                "step" => StopCause::Line,
                "breakpoint" => StopCause::Breakpoint,
                "signal" => StopCause::Signal,
                _ => StopCause::None,
            },
            signal: results.text("signal").to_owned(),
            breakpoints: breakpoints.filter_map(number_of).collect(),
            error: results.text("error").to_owned(),
            notes: notes.map(str::to_owned).collect(),
        }
    }
}

fn number_of(value: &MiValue) -> Option<u32> {
    value.text()?.parse().ok()
}
