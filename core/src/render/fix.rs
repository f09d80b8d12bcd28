//! The fix of an explanation in a sentence or two.

use crate::{
    explanation::Explanation,
    fixes::{Fix, FixKind, SectionShare, TrialVerdict},
};

/// The best fix, with the result of its trial and its cost; none when there is no suggestion.
pub fn fix(explanation: &Explanation) -> Option<String> {
    let fix = explanation.fixes.first()?;
    let tried = fix.tried.as_ref();
    let said = tried.map_or(String::new(), |trial| format!(" ({})", trial.in_words()));
    let sentence = format!("{}{said}.", fix.title);
    let costs = fix.share.map(cost).map(|cost| format!(" {cost}"));
    // No run shows the assumptions of an order of stores; for other fixes `verify` states their assumptions.
    let rests_on = fix
        .assumes
        .first()
        .filter(|_| fix.kind == FixKind::MoveBehind)
        .map(|assumed| format!(" That takes for granted that {assumed}."));
    let more = [costs, rests_on].into_iter().flatten();
    Some(std::iter::once(sentence).chain(more).collect())
}

/// The command that tries the best fix at length.
pub fn name_of_fix(explanation: &Explanation) -> Option<String> {
    let fix = explanation.fixes.first()?;
    Some(format!("To verify it: {}", explanation.verify_command(fix)))
}

/// Reasons why tried fixes were rejected, when none holds; empty otherwise.
pub fn not_fixed(explanation: &Explanation) -> &[String] {
    let holds = |fix: &Fix| {
        let tried = fix.tried.as_ref();
        tried.is_some_and(|trial| trial.verdict == TrialVerdict::Holds)
    };
    match explanation.fixes.iter().any(holds) {
        true => &[],
        false => &explanation.not_fixed,
    }
}

/// Sentence about the cost of a lock: the part of a run that it serializes.
pub fn cost(share: SectionShare) -> String {
    let SectionShare { held, before, of } = share;
    let steps = format!("The lock is then held for {held} of the {of} steps of a run that passes");
    match before {
        0 => format!("{steps}."),
        before if before >= held => format!("{steps}, as before."),
        before => format!("{steps}, instead of {before}."),
    }
}
