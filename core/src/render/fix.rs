//! The fix of an explanation in a sentence or two.

use crate::{
    explanation::Explanation,
    facts::and,
    fixes::{FileEdit, Fix, FixKind, SectionShare, TrialVerdict},
};
use std::collections::BTreeSet;

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
    let more = [also_changes(fix), costs, rests_on].into_iter().flatten();
    Some(std::iter::once(sentence).chain(more).collect())
}

/// Sentence about lines within the guarded ones that the edit adds something to: where a function is left, the lock is given
/// back. Who writes the fix by hand after its title alone would keep it.
fn also_changes(fix: &Fix) -> Option<String> {
    let is_within = |edit: &&FileEdit| {
        let mut guarded = fix.exclusive.iter();
        let line = edit.from.line;
        !edit.text.is_empty()
            && guarded.any(|one| one.file == edit.file && one.first < line && line < one.last)
    };
    let lines: BTreeSet<u32> = fix
        .edits
        .iter()
        .filter(is_within)
        .map(|edit| edit.from.line)
        .collect();
    let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
    let lines = match lines.as_slice() {
        [] => return None,
        [one] => format!("line {one}"),
        many => format!("lines {}", and(many)),
    };
    Some(format!(
        " The edit also changes {lines} (unsnarl verify --diff prints it)."
    ))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::{GuardedLines, Position};

    #[test]
    fn lines_on_which_a_guarded_part_is_left_are_told() {
        let edit = |line: u32, text: &str| FileEdit {
            file: "a.c".to_owned(),
            start: 0,
            end: 0,
            from: Position { line, column: 1 },
            to: Position { line, column: 1 },
            text: text.to_owned(),
        };
        let with = |lines: &[u32]| {
            let ends = [(9, "lock(m);"), (20, "unlock(m);"), (14, "")];
            let inner = lines.iter().map(|line| (*line, "unlock(m);"));
            let edits = ends.into_iter().chain(inner);
            let edits = edits.map(|(line, text)| edit(line, text)).collect();
            let fix = Fix::edit(FixKind::NewMutex, String::new(), edits, String::new());
            let guarded = GuardedLines {
                file: "a.c".to_owned(),
                first: 9,
                last: 20,
                function: "get".to_owned(),
            };
            also_changes(&Fix {
                exclusive: vec![guarded],
                ..fix
            })
        };
        assert_eq!(with(&[]), None);
        let said = with(&[11, 19]).unwrap();
        assert!(
            said.starts_with(" The edit also changes lines 11 and 19 "),
            "{said}"
        );
    }
}
