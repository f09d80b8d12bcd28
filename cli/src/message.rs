//! Errors and warnings on standard error.

use anstyle::{AnsiColor, Style};
use std::borrow::Cow;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// Prints an error: the reason for which the command did not do what it was asked.
pub fn error(text: &str) {
    say(ERROR, "error", text);
}

/// Prints a warning: a fact that the user should know although the command goes on.
pub fn warning(text: &str) {
    say(WARNING, "warning", text);
}

/// Prints a note: a fact that may be of interest.
pub fn note(text: &str) {
    say(NOTE, "note", text);
}

fn say(style: Style, word: &str, text: &str) {
    anstream::eprintln!("{style}{word}:{style:#} {}", visible(text));
}

/// Prints a line for reading: control characters are made visible, except for this program's own colours.
macro_rules! outln {
    () => { anstream::println!() };
    ($($words:tt)*) => { anstream::println!("{}", $crate::message::shown(&format!($($words)*))) };
}

/// Prints like `outln`, without the end of the line.
macro_rules! out {
    ($($words:tt)*) => { anstream::print!("{}", $crate::message::shown(&format!($($words)*))) };
}

/// Prints like `outln`, on standard error.
macro_rules! errln {
    ($($words:tt)*) => { anstream::eprintln!("{}", $crate::message::shown(&format!($($words)*))) };
}

/// The colours and weights that this program itself prints.
const OWN: [&str; 7] = ["0", "1", "2", "31", "32", "33", "36"];

/// The text as in [`visible`], with this program's own colours as they are.
pub fn shown(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut shown = visible(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let own = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        match own.filter(|(number, _)| OWN.contains(number)) {
            Some((number, rest)) => {
                shown.push_str(&format!("\x1b[{number}m"));
                shown.push_str(&visible(rest));
            }
            None => {
                shown.push_str(&visible("\x1b"));
                shown.push_str(&visible(part));
            }
        }
    }
    shown
}

/// The text with characters made visible that would control a terminal, or reorder what it shows: run files can hold
/// any text. Line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let steers = |c: char| {
        let is_layout = matches!(c, '\n' | '\t');
        let reorders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        c.is_control() && !is_layout || reorders
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|c| match steers(c) {
        true => c.escape_unicode().to_string(),
        false => c.to_string(),
    });
    Cow::Owned(shown.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_colours_stay() {
        assert_eq!(
            shown("\x1b[1m\x1b[31merror:\x1b[0m x"),
            "\x1b[1m\x1b[31merror:\x1b[0m x"
        );
        assert_eq!(
            shown("\x1b[8mhidden\x1b[2J\x1b]0;t\x07\x1b"),
            "\\u{1b}[8mhidden\\u{1b}[2J\\u{1b}]0;t\\u{7}\\u{1b}"
        );
    }

    #[test]
    fn what_steers_a_terminal_is_shown() {
        assert_eq!(visible("a\tb\n"), "a\tb\n");
        assert_eq!(
            visible("\x1b]52;c;AAAA\x07\u{9b}2J\r\u{202e}"),
            "\\u{1b}]52;c;AAAA\\u{7}\\u{9b}2J\\u{d}\\u{202e}"
        );
    }
}
