//! Conversion of explanations into marks on the current source.
//!
//! The lines that a person would change and the place of the failure carry the headline; every other
//! line that takes part carries its step. A mark that cannot be followed is counted, never guessed.

use crate::{
    facts::ExplainedFact,
    fix_marks,
    follow::{LineMap, Recorded},
    host::ServerState,
    paths::Root,
    sources::{Found, Sources},
    text::Text,
    unexplained::UnexplainedFailure,
    words::{self, same_line},
};
use rustc_hash::FxHashMap;
use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};
use unsnarl_core::{BugKind, Certainty, Explanation, Place, Role};

/// The severity of a mark.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// A defect that was confirmed, or seen to fail.
    Error,
    /// A possible cause of a failure that was seen.
    Warning,
    /// A fact worth knowing; not a defect that was seen.
    Note,
    /// A step on the way to the failure.
    Hint,
}

/// A part of a line of the current source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineSpot {
    /// The file.
    pub path: PathBuf,
    /// Line, from 0.
    pub line: usize,
    /// Bytes of the line that are its code.
    pub columns: Range<usize>,
    /// The part of them that is the mentioned expression; all of them if that is not known.
    pub part: Range<usize>,
    /// The whole line.
    pub source: String,
}

/// A mark at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The place.
    pub spot: LineSpot,
    /// The severity.
    pub level: Severity,
    /// Kind of the bug; `None` when it is not known.
    pub kind: Option<BugKind>,
    /// Id of the explanation, if there is one.
    pub explanation: Option<String>,
    /// The message.
    pub message: String,
    /// The steps in the order in which they ran.
    pub related: Vec<(LineSpot, String)>,
}

/// All marks of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileMarks {
    /// The client's number of the state that the marks are for, if the file is open.
    pub version: Option<i32>,
    /// The marks.
    pub marks: Vec<Mark>,
}

/// Marks of all explanations by file, and the number of marks that were left out because their line no longer exists.
pub fn of_all(state: &ServerState) -> (BTreeMap<PathBuf, FileMarks>, usize) {
    let (mut files, mut stale) = (BTreeMap::<PathBuf, FileMarks>::new(), 0);
    for (root, explained) in state.explained() {
        let located = FollowedFiles::new(&state.sources, root, explained);
        for draft in drafts(explained) {
            let Some(spot) = located.all_of(&explained.explanation, draft.place) else {
                stale += usize::from(located.has_changed(draft.place));
                continue;
            };
            let mark = located.mark(explained, draft, spot);
            files
                .entry(mark.spot.path.clone())
                .or_default()
                .marks
                .push(mark);
        }
        for mark in fix_marks::of(state, root, explained) {
            let file = files.entry(mark.spot.path.clone()).or_default();
            let is_same = |known: &Mark| {
                known.spot.line == mark.spot.line && known.explanation == mark.explanation
            };
            if !file.marks.iter().any(is_same) {
                file.marks.push(mark);
            }
        }
    }
    for (root, unexplained) in state.unexplained() {
        let Some(place) = &unexplained.kept.failure.site else {
            continue;
        };
        let located = FollowedFiles::of_files(&state.sources, root, unexplained.files());
        match located.spot(place) {
            None => stale += usize::from(located.has_changed(place)),
            Some(spot) => {
                let file = files.entry(spot.path.clone()).or_default();
                file.marks.push(of_unexplained(unexplained, spot));
            }
        }
    }
    for (path, file) in &mut files {
        file.version = state
            .sources
            .open
            .get(path)
            .map(|document| document.version);
        file.marks
            .sort_by_key(|mark| (mark.spot.line, mark.level, mark.spot.columns.start));
    }
    (files, stale)
}

/// The mark of a failure that was seen and has no explanation.
fn of_unexplained(unexplained: &UnexplainedFailure, spot: LineSpot) -> Mark {
    Mark {
        spot,
        level: Severity::Error,
        kind: None,
        explanation: None,
        message: unexplained.message(),
        related: Vec::new(),
    }
}

/// The files of one explanation, followed to where they are now.
#[derive(Debug)]
pub struct FollowedFiles<'a> {
    sources: &'a Sources,
    files: FxHashMap<&'a str, Found>,
}

impl<'a> FollowedFiles<'a> {
    /// Finds every file that the explanation mentions.
    pub fn new(
        sources: &'a Sources,
        root: &Root,
        explained: &'a Arc<ExplainedFact>,
    ) -> FollowedFiles<'a> {
        FollowedFiles::of_files(sources, root, explained.files())
    }

    /// Finds these files.
    pub fn of_files(
        sources: &'a Sources,
        root: &Root,
        files: impl Iterator<Item = (&'a String, &'a Recorded)>,
    ) -> FollowedFiles<'a> {
        let find = |(name, recorded): (&'a String, _)| {
            Some((name.as_str(), sources.find(root, recorded)?))
        };
        FollowedFiles {
            sources,
            files: files.filter_map(find).collect(),
        }
    }

    /// Returns whether a place without a spot is in a file that was found, but is not as it was recorded.
    fn has_changed(&self, place: &Place) -> bool {
        place.line > 0 && self.files.contains_key(place.file.as_str())
    }

    /// The current spot of a recorded place; `None` when it is not certain.
    pub fn spot(&self, place: &Place) -> Option<LineSpot> {
        let found = self.files.get(place.file.as_str())?;
        found.spot(self.sources.current(&found.path)?, place)
    }

    /// The current spot of a recorded place, extended to everything on its line that the explanation mentions.
    fn all_of(&self, explanation: &Explanation, place: &Place) -> Option<LineSpot> {
        let mut spot = self.spot(place)?;
        let sites = explanation.sites.iter().map(|site| &site.place);
        for other in sites.filter(|other| same_line(other, place)) {
            let part = self.spot(other)?.part;
            spot.part = spot.part.start.min(part.start)..spot.part.end.max(part.end);
        }
        Some(spot)
    }

    /// The code of a line (from 0) of a current file.
    pub fn whole_line(&self, path: &Path, line: usize) -> Option<LineSpot> {
        let source = self.sources.current(path)?.line(line)?.to_owned();
        Some(LineSpot {
            path: path.to_owned(),
            line,
            columns: code(&source),
            part: code(&source),
            source,
        })
    }

    /// The recorded file and line (from 1) of a line (from 0) of a current file.
    pub fn recorded(&self, path: &Path, line: usize) -> Option<(&'a str, u32)> {
        let (name, found) = self.files.iter().find(|(_, found)| found.path == path)?;
        Some((name, found.lines.then(line)?))
    }

    /// The texts and spots of the steps, as far as the places can be found.
    pub fn related(&self, explained: &ExplainedFact) -> Vec<(LineSpot, String)> {
        let steps = explained.explanation.steps.iter().enumerate();
        let mut related: Vec<(LineSpot, String)> = steps
            .filter_map(|(i, step)| {
                Some((
                    self.spot(&step.place)?,
                    format!("{}. {}", i + 1, words::step(explained, step)),
                ))
            })
            .collect();
        let failure = &explained.explanation.failure;
        let last = explained.explanation.steps.last();
        let ends_there = |place: &Place| last.is_some_and(|step| same_line(&step.place, place));
        if let Some(place) = failure.site.as_ref().filter(|place| !ends_there(place)) {
            related.extend(self.spot(place).map(|spot| (spot, failure.message.clone())));
        }
        related
    }

    fn mark(&self, explained: &ExplainedFact, draft: MarkDraft<'_>, spot: LineSpot) -> Mark {
        let related = if draft.level == Severity::Hint {
            Vec::new()
        } else {
            self.related(explained)
        };
        Mark {
            spot,
            level: draft.level,
            kind: Some(explained.explanation.kind),
            explanation: Some(explained.explanation.id.clone()),
            message: draft.message,
            related,
        }
    }
}

impl Found {
    /// The spot of a recorded place in the file's current text; `None` when it is not certain.
    pub fn spot(&self, current: &Text, place: &Place) -> Option<LineSpot> {
        let line = self.lines.now(place.line)?;
        let source = current.line(line)?;
        let same = place.text.is_empty() || source.trim() == place.text.trim();
        let part = expression(self, current, place, line).filter(|_| same);
        same.then(|| LineSpot {
            path: self.path.clone(),
            line,
            part: part.unwrap_or_else(|| code(source)),
            columns: code(source),
            source: source.to_owned(),
        })
    }
}

/// The bytes of a current line (from 0) that are the expression at a recorded column. Its line may have been indented
/// differently since.
fn expression(found: &Found, current: &Text, place: &Place, line: usize) -> Option<Range<usize>> {
    let column = (place.column as usize).checked_sub(1)?;
    let then = match (&found.lines, &found.recorded) {
        (_, Some(recorded)) => recorded.line((place.line as usize).checked_sub(1)?)?,
        (LineMap::Same, None) => current.line(line)?,
        (LineMap::Moved(_), None) => return None,
    };
    let now = current.line(line)?;
    let indent = |text: &str| text.len() - text.trim_start().len();
    let column = column.checked_sub(indent(then))? + indent(now);
    let whole = current.syntax(&found.path)?.expression(line, column)?;
    let start = current.line_start(line)?;
    let (from, to) = (whole.start.max(start) - start, whole.end.max(start) - start);
    // Of an expression over several lines the part on this one.
    let code = code(now);
    let part = from.max(code.start)..to.min(code.end);
    (!part.is_empty()).then_some(part)
}

/// The code of a line: without the space around it and without a comment at its end.
pub fn code(line: &str) -> Range<usize> {
    let start = line.len() - line.trim_start().len();
    let comment = line
        .find("//")
        .filter(|at| *at > start && !line.contains('"'));
    let end = line
        .get(..comment.unwrap_or(line.len()))
        .unwrap_or(line)
        .trim_end()
        .len();
    start..end.max(start)
}

/// A mark whose place was not looked up yet.
struct MarkDraft<'a> {
    place: &'a Place,
    level: Severity,
    message: String,
}

fn drafts(explained: &ExplainedFact) -> Vec<MarkDraft<'_>> {
    let explanation = &explained.explanation;
    let failure = explanation.failure.site.as_ref();
    let causes = explanation
        .sites
        .iter()
        .filter(|site| site.role == Role::Cause)
        .map(|site| &site.place);
    let mut drafts: Vec<MarkDraft<'_>> = Vec::new();
    let taken =
        |drafts: &[MarkDraft<'_>], place| drafts.iter().any(|draft| same_line(draft.place, place));
    for place in failure.into_iter().chain(causes) {
        if !taken(&drafts, place) {
            let failed = failure.is_some_and(|failure| same_line(failure, place));
            let message = headline(explanation, failed);
            drafts.push(MarkDraft {
                place,
                level: level(explanation, failed),
                message,
            });
        }
    }
    for site in &explanation.sites {
        if !taken(&drafts, &site.place) {
            let message = words::site(explained, site);
            drafts.push(MarkDraft {
                place: &site.place,
                level: Severity::Hint,
                message,
            });
        }
    }
    drafts
}

/// The first line that a person reads; at the place of the failure preceded by the failure.
fn headline(explanation: &Explanation, failed: bool) -> String {
    // That a program fails in every order is told together with what fails.
    if !failed || explanation.kind == BugKind::Sequential {
        return explanation.headline.clone();
    }
    format!("{}: {}", explanation.failure.message, explanation.headline)
}

/// The severity for an explanation. A failure that was seen is an error. So is its cause, unless the runs do not
/// settle it.
fn level(explanation: &Explanation, failed: bool) -> Severity {
    match explanation.certainty {
        _ if explanation.kind == BugKind::Sequential || explanation.runs.is_empty() => {
            Severity::Note
        }
        Certainty::Possible if !failed => Severity::Warning,
        _ => Severity::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        facts::FolderFacts,
        host::{Host, StateChange},
    };
    use std::fs;
    use unsnarl_core::{FailurePlace, SiteMark};

    const SOURCE: &str = "start();\nset();\nuse();\ncheck();\n";

    fn place(line: u32) -> Place {
        let text = SOURCE.lines().nth(line as usize - 1).unwrap().to_owned();
        Place {
            file: "/elsewhere/a.c".into(),
            line,
            column: 1,
            function: "f".into(),
            text,
        }
    }

    fn site(line: u32, role: Role) -> SiteMark {
        let (thread, access, location) = ("f (main.1)".into(), "write".into(), "x".into());
        SiteMark {
            place: place(line),
            thread,
            access,
            location,
            role,
            step: None,
        }
    }

    fn explanation(kind: BugKind, certainty: Certainty) -> Explanation {
        Explanation {
            id: "1".into(),
            kind,
            headline: "it broke".into(),
            detail: String::new(),
            remark: String::new(),
            contrast: String::new(),
            claims: Vec::new(),
            certainty,
            runs: vec!["r".into()],
            runs_without: Vec::new(),
            runs_mirrored: Vec::new(),
            run: "r".into(),
            failure: FailurePlace {
                site: Some(place(4)),
                message: "check failed".into(),
                is_by_status: false,
            },
            also_fails: Vec::new(),
            steps: Vec::new(),
            absent: Vec::new(),
            gone: None,
            sites: vec![site(3, Role::Cause), site(2, Role::Interference)],
            edges: Vec::new(),
            region: None,
            invariants: Vec::new(),
            perturbed: None,
            engines: Vec::new(),
            contributions: Vec::new(),
            rank: String::new(),
            confirmed: None,
            executed: None,
            decisive: Vec::new(),
            evidence: None,
            passed_over: Vec::new(),
            ochiai: None,
            progress: None,
            curve: Vec::new(),
            by_comparison: false,
            takes_spurious_wakeup: false,
            caveats: Vec::new(),
            fixes: Vec::new(),
            not_fixed: Vec::new(),
            advice: None,
        }
    }

    /// Lines (from 1) with level and message, and the number of marks that are not shown.
    fn check(
        source: &str,
        explanation: Explanation,
        expected: &[(usize, Severity, &str)],
        stale: usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.c"), source).unwrap();
        let mut host = Host::default();
        host.apply(StateChange::AddFolder(folder.path().to_owned()));
        let explained = vec![Arc::new(ExplainedFact::new(explanation, None))];
        let facts = FolderFacts {
            explained,
            ..FolderFacts::default()
        };
        host.apply(StateChange::Facts(
            folder.path().to_owned(),
            Arc::new(facts),
        ));
        let (files, left_out) = of_all(&host.snapshot());
        let marks = files.values().flat_map(|file| &file.marks);
        let told: Vec<_> = marks
            .map(|mark| (mark.spot.line + 1, mark.level, mark.message.as_str()))
            .collect();
        assert_eq!((told.as_slice(), left_out), (expected, stale));
    }

    const HINT: (usize, Severity, &str) = (2, Severity::Hint, "f (main.1): write of x");

    #[test]
    fn what_was_seen_is_loud_and_what_is_unsure_less() {
        use Severity::{Error, Note, Warning};
        let failed = (4, Error, "check failed: it broke");
        let order = BugKind::OrderViolation;
        check(
            SOURCE,
            explanation(order, Certainty::Likely),
            &[HINT, (3, Error, "it broke"), failed],
            0,
        );
        check(
            SOURCE,
            explanation(order, Certainty::Possible),
            &[HINT, (3, Warning, "it broke"), failed],
            0,
        );
        let predicted = Explanation {
            runs: Vec::new(),
            ..explanation(order, Certainty::Possible)
        };
        check(
            SOURCE,
            predicted,
            &[
                HINT,
                (3, Note, "it broke"),
                (4, Note, "check failed: it broke"),
            ],
            0,
        );
        let always = Explanation {
            sites: Vec::new(),
            ..explanation(BugKind::Sequential, Certainty::Likely)
        };
        check(SOURCE, always, &[(4, Note, "it broke")], 0);
    }

    #[test]
    fn one_line_is_marked_once() {
        let mut one = explanation(BugKind::OrderViolation, Certainty::Confirmed);
        one.sites.push(site(4, Role::Cause));
        one.sites.push(site(3, Role::Step));
        check(
            SOURCE,
            one,
            &[
                HINT,
                (3, Severity::Error, "it broke"),
                (4, Severity::Error, "check failed: it broke"),
            ],
            0,
        );
    }

    #[test]
    fn a_failure_without_a_place() {
        let mut one = explanation(BugKind::Deadlock, Certainty::Likely);
        one.failure.site = None;
        check(SOURCE, one, &[HINT, (3, Severity::Error, "it broke")], 0);
    }

    #[test]
    fn what_is_gone_is_counted() {
        let of = |source: &str, expected: &[_], stale| {
            check(
                source,
                explanation(BugKind::OrderViolation, Certainty::Likely),
                expected,
                stale,
            );
        };
        of("", &[], 3);
        let moved = "int x;\nstart();\nset();\nuse();\nreport();\n";
        of(
            moved,
            &[
                (3, Severity::Hint, "f (main.1): write of x"),
                (4, Severity::Error, "it broke"),
            ],
            1,
        );
    }

    #[test]
    fn the_code_of_a_line() {
        fn of(line: &str) -> &str {
            &line[code(line)]
        }
        assert_eq!(of("  x = 1; // one"), "x = 1;");
        assert_eq!(of("\topen(\"http://x\");"), "open(\"http://x\");");
        assert_eq!(of("// all"), "// all");
        assert_eq!(of("   "), "");
    }
}
