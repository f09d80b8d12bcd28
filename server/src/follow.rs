//! Follows recorded lines to their current positions, or reports that they cannot be followed.
//!
//! A run file has the hash of each source and the text of the lines that ran, not the whole source. While the server
//! has seen the recorded source (its *baseline*), lines are followed from there; otherwise from the lines that the
//! run itself has.

use crate::{align::align, text::Text};
use rustc_hash::FxHashMap;
use std::path::PathBuf;

/// Facts of a run about a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Path of the file: its name in the debug info, below the folder that the program ran in if it is relative.
    pub origin: PathBuf,
    /// SHA-256 of the file in hexadecimal, if it was recorded.
    pub sha256: Option<String>,
    /// Lines with known text, from 1, ascending.
    pub lines: Vec<(u32, String)>,
}

/// Current positions of recorded lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineMap {
    /// The text is the recorded one.
    Same,
    /// Recorded lines (from 1) that still exist, with their positions (from 0).
    Moved(FxHashMap<u32, usize>),
}

impl LineMap {
    /// Follows a file from the recorded state to its current text. `followed` holds for each current line its number
    /// (from 0) in the baseline, if it was followed edit by edit.
    pub fn new(
        recorded: &Recorded,
        baseline: Option<&Text>,
        followed: Option<&[Option<usize>]>,
        current: &Text,
    ) -> LineMap {
        match baseline {
            Some(baseline) if baseline == current => LineMap::Same,
            Some(baseline) => from_baseline(baseline, followed.unwrap_or_default(), current),
            None if recorded.sha256.is_none() && in_place(recorded, current) => LineMap::Same,
            None => from_known_lines(&recorded.lines, current),
        }
    }

    /// The current number (from 0) of a recorded line (from 1).
    pub fn now(&self, line: u32) -> Option<usize> {
        match self {
            Self::Same => (line as usize).checked_sub(1),
            Self::Moved(map) => map.get(&line).copied(),
        }
    }

    /// The recorded number (from 1) of a current line (from 0).
    pub fn then(&self, line: usize) -> Option<u32> {
        match self {
            Self::Same => u32::try_from(line + 1).ok(),
            Self::Moved(map) => map
                .iter()
                .find(|(_, now)| **now == line)
                .map(|(then, _)| *then),
        }
    }
}

/// Returns whether every line that the run knows stands where it stood.
fn in_place(recorded: &Recorded, current: &Text) -> bool {
    let at = |line: u32| current.line((line as usize).checked_sub(1)?);
    recorded
        .lines
        .iter()
        .all(|(line, text)| at(*line).is_some_and(|now| now.trim() == text))
}

/// Follows lines from the baseline. A line that was followed edit by edit is at the position that it was followed to
/// or, if its text has changed, nowhere, even if other lines look like it. The others, such as those that were cut
/// and pasted, are searched for among the remaining lines.
/// The current number of a recorded line, both from 1, by the lines of a file that a run has, ascending; `None` for one
/// that is not certain to be there.
pub fn current_lines(known: &[(u32, String)], current: &str) -> impl Fn(u32) -> Option<u32> {
    let map = from_known_lines(known, &Text::new(current));
    move |line| u32::try_from(map.now(line)? + 1).ok()
}

fn from_baseline(baseline: &Text, followed: &[Option<usize>], current: &Text) -> LineMap {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (baseline.lines().collect(), current.lines().collect());
    let says_the_same = |then: usize, now: usize| {
        let (then, now) = (old.get(then), new.get(now));
        then.map(|line| line.trim()) == now.map(|line| line.trim())
    };
    let mut now: Vec<Option<usize>> = vec![None; old.len()];
    let mut settled = vec![false; old.len()];
    for (line, then) in followed.iter().enumerate() {
        let Some(then) = *then else { continue };
        if let (Some(slot), Some(settled)) = (now.get_mut(then), settled.get_mut(then)) {
            *settled = true;
            *slot = says_the_same(then, line).then_some(line);
        }
    }
    let is_free = |line: &usize| !matches!(followed.get(*line), Some(Some(_)));
    let candidates = align(&old, &new).into_iter().zip(settled);
    for (slot, (found, settled)) in now.iter_mut().zip(candidates) {
        *slot = slot.or_else(|| found.filter(|line| !settled && is_free(line)));
    }
    let pairs = now.into_iter().enumerate();
    LineMap::Moved(
        pairs
            .filter_map(|(i, j)| Some((i as u32 + 1, j?)))
            .collect(),
    )
}

/// Follows lines of which only some are known. A line may be gone and another with the same text be taken for it, so
/// it has to have moved as far as a known line next to it.
fn from_known_lines(known: &[(u32, String)], current: &Text) -> LineMap {
    let old: Vec<&str> = known.iter().map(|(_, text)| text.as_str()).collect();
    let new: Vec<&str> = current.lines().collect();
    let found: Vec<(u32, usize)> = known
        .iter()
        .zip(align(&old, &new))
        .filter_map(|((line, _), now)| Some((*line, now?)))
        .collect();
    let shift = |at: Option<usize>| {
        let (line, now) = found.get(at?)?;
        Some(*now as i64 - i64::from(*line))
    };
    let borne_out = |at: usize| {
        let own = shift(Some(at));
        own == shift(at.checked_sub(1)) || own == shift(at.checked_add(1))
    };
    LineMap::Moved(
        found
            .iter()
            .enumerate()
            .filter(|(at, _)| borne_out(*at))
            .map(|(_, pair)| *pair)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unsnarl_trace::files::sha256;

    fn recorded(text: &str, lines: &[u32]) -> Recorded {
        let split = Text::new(text);
        let line = |n: &u32| (*n, split.line(*n as usize - 1).unwrap().trim().to_owned());
        Recorded {
            origin: PathBuf::new(),
            sha256: Some(sha256(text.as_bytes())),
            lines: lines.iter().map(line).collect(),
        }
    }

    const BANK: &str = "int balance;\nvoid f() {\n  lock();\n  int b = balance;\n  unlock();\n  lock();\n  balance = b;\n  unlock();\n}\n";

    #[test]
    fn with_the_recorded_source_at_hand() {
        let known = recorded(BANK, &[4, 7]);
        let base = Text::new(BANK);
        let follow = |now: &str| {
            let map = LineMap::new(&known, Some(&base), None, &Text::new(now));
            (map.now(4), map.now(7))
        };
        assert_eq!(follow(BANK), (Some(3), Some(6)));
        assert_eq!(follow(&format!("// new\n\n{BANK}")), (Some(5), Some(8)));
        assert_eq!(
            follow(&BANK.replace("  balance = b;", "\tbalance = b;")),
            (Some(3), Some(6))
        );
        assert_eq!(
            follow(&BANK.replace("balance = b;", "balance = b + 1;")),
            (Some(3), None)
        );
        assert_eq!(follow(""), (None, None));
    }

    #[test]
    fn with_the_lines_of_the_run_only() {
        let known = recorded(BANK, &[3, 4, 5, 6, 7, 8]);
        let follow = |now: &str| {
            let map = LineMap::new(&known, None, None, &Text::new(now));
            (map.now(4), map.now(7))
        };
        assert_eq!(follow(&format!("// new\n\n{BANK}")), (Some(5), Some(8)));
        assert_eq!(
            follow(&BANK.replace("  unlock();\n  lock();\n", "")),
            (Some(3), Some(4))
        );
        assert_eq!(
            follow(&(BANK.replace("  balance = b;\n", "") + "balance = b;\n")).1,
            None,
            "not where its neighbours are"
        );
        assert_eq!(follow("something else"), (None, None));
    }

    #[test]
    fn without_a_hash_the_lines_have_to_be_in_place() {
        let known = Recorded {
            sha256: None,
            ..recorded(BANK, &[4, 7])
        };
        assert_eq!(
            LineMap::new(&known, None, None, &Text::new(BANK)),
            LineMap::Same
        );
        assert_ne!(
            LineMap::new(&known, None, None, &Text::new(&format!("\n{BANK}"))),
            LineMap::Same
        );
    }

    #[derive(Clone, Debug)]
    enum FollowedEdit {
        Insert(usize),
        Delete(usize),
        Rewrite(usize),
        Indent(usize),
    }

    fn edit() -> impl Strategy<Value = FollowedEdit> {
        prop_oneof![
            (0usize..40).prop_map(FollowedEdit::Insert),
            (0usize..40).prop_map(FollowedEdit::Delete),
            (0usize..40).prop_map(FollowedEdit::Rewrite),
            (0usize..40).prop_map(FollowedEdit::Indent),
        ]
    }

    proptest! {
        /// Random edits of a text in which lines repeat: a mark stays on its own line or disappears.
        #[test]
        fn never_on_another_line(
            words in proptest::collection::vec(0u32..30, 2..40),
            edits in proptest::collection::vec(edit(), 0..8),
        ) {
            let old: Vec<String> = words.iter().map(|w| format!("x = {w};")).collect();
            // Every line of the edited text with the old line that it is, if it is one.
            let mut now: Vec<(Option<usize>, String)> =
                old.iter().cloned().enumerate().map(|(i, text)| (Some(i), text)).collect();
            for edit in edits {
                match edit {
                    FollowedEdit::Insert(at) => {
                        let at = at % (now.len() + 1);
                        now.insert(at, (None, "added();".to_owned()));
                    }
                    FollowedEdit::Delete(at) if now.len() > 1 => {
                        let at = at % now.len();
                        now.remove(at);
                    }
                    FollowedEdit::Rewrite(at) => {
                        let at = at % now.len();
                        now[at] = (None, "rewritten();".to_owned());
                    }
                    FollowedEdit::Indent(at) => {
                        let at = at % now.len();
                        now[at].1.insert(0, ' ');
                    }
                    FollowedEdit::Delete(_) => {}
                }
            }
            let baseline = Text::new(&old.join("\n"));
            let lines: Vec<&str> = now.iter().map(|(_, text)| text.as_str()).collect();
            let current = Text::new(&lines.join("\n"));
            let map = LineMap::new(&Recorded::default(), Some(&baseline), None, &current);
            for line in 0..old.len() {
                if let Some(place) = map.now(line as u32 + 1) {
                    prop_assert_eq!(now[place].0, Some(line));
                    prop_assert_eq!(map.then(place), Some(line as u32 + 1));
                }
            }
        }
    }
}
