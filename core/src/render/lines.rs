//! An explanation as a compiler writes its messages, for editors that jump to such lines.

use crate::explanation::{Certainty, Explanation, Place, Role};

/// Renders one explanation: an error (a warning where it is only possible) at its cause, and a note for each step.
///
/// `bank.c:46:22: error: an update was lost`, then `bank.c:46:22: note: 1. main.2 reads 300`.
pub fn lines(explanation: &Explanation) -> String {
    let kind = match explanation.certainty {
        Certainty::Confirmed | Certainty::Likely => "error",
        Certainty::Possible => "warning",
    };
    let causes = explanation.sites.iter();
    let mut causes = causes.filter(|mark| mark.role == Role::Cause);
    let cause = causes.next().map(|mark| &mark.place);
    let place = cause.or(explanation.failure.site.as_ref());
    let mut text = message(place, kind, &explanation.headline.replace('`', "'"));
    for (at, step) in explanation.steps.iter().enumerate() {
        let mut told = format!("{}. {} {}", at + 1, step.thread, step.effect);
        if !step.note.is_empty() {
            told.push_str(&format!(", {}", step.note));
        }
        text.push_str(&message(Some(&step.place), "note", &told));
    }
    text
}

/// One line; without a place where none is known.
fn message(place: Option<&Place>, kind: &str, told: &str) -> String {
    let known = place.filter(|place| !place.file.is_empty() && place.line > 0);
    match known {
        Some(place) => format!(
            "{}:{}:{}: {kind}: {told}\n",
            place.file,
            place.line,
            place.column.max(1)
        ),
        None => format!("unsnarl: {kind}: {told}\n"),
    }
}
