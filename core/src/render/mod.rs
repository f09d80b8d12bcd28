//! Explanations for people and for other tools: as text for a terminal, as Markdown for a bug report, as a page for
//! a browser, as a graph for Graphviz.

mod dot;
mod html;
pub(crate) mod lanes;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

pub use dot::dot;
pub(crate) use dot::quoted;
pub use html::{Section, html};
pub use markdown::markdown;
pub use text::{nothing_failed, summary, text, unexplained};

use crate::{
    explanation::{BugKind, Certainty, Explanation, FailurePlace},
    facts::short,
};

/// How sure an explanation is and how it was found out, in a sentence; none where the question does not arise.
pub fn certainty(explanation: &Explanation) -> Option<String> {
    if explanation.kind == BugKind::Sequential {
        return None;
    }
    Some(match (explanation.certainty, explanation.confirmed) {
        (Certainty::Confirmed, Some(tally)) => format!(
            "Confirmed: this order fails {}/{}, the other passes {}/{}.",
            tally.fails, tally.of_fails, tally.passes, tally.of_passes
        ),
        (Certainty::Confirmed, None) => "Confirmed by running it again.".to_owned(),
        (Certainty::Likely, _) => "Likely: found in the recorded runs, not re-executed.".to_owned(),
        (Certainty::Possible, _) => "Possible: the recorded runs do not settle it.".to_owned(),
    })
}

/// In which runs it fails so, in a sentence; empty for none.
fn runs(explanation: &Explanation) -> String {
    match explanation.runs.as_slice() {
        [] => String::new(),
        [one] => format!("Fails so in {one}."),
        [first, rest @ ..] => format!("Fails so in {first} and {} more.", rest.len()),
    }
}

/// Where runs fail for the same cause, in a sentence.
fn elsewhere(explanation: &Explanation) -> Option<String> {
    let others: Vec<String> = explanation.also_fails.iter().map(failure).collect();
    (!others.is_empty())
        .then(|| format!("Other runs fail for it elsewhere: {}.", others.join("; ")))
}

/// What failed and where.
fn failure(failure: &FailurePlace) -> String {
    match &failure.site {
        Some(site) => format!("{} at {}", failure.message, short(site)),
        None => failure.message.clone(),
    }
}
