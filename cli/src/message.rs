//! Errors and warnings on standard error.

use anstyle::{AnsiColor, Style};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// Why the command did not do what it was asked.
pub fn error(text: &str) {
    say(ERROR, "error", text);
}

/// What the user should know although the command goes on.
pub fn warning(text: &str) {
    say(WARNING, "warning", text);
}

/// What may be of interest.
pub fn note(text: &str) {
    say(NOTE, "note", text);
}

fn say(style: Style, word: &str, text: &str) {
    anstream::eprintln!("{style}{word}:{style:#} {text}");
}
