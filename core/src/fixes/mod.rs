//! Changes of the program that make a failure impossible, derived from an explanation, its runs and the text
//! of the sources.
//!
//! A fix is offered when its edits can be right on every path through the code; code that is not understood
//! is a refusal, with the reason. Whether a fix holds is not known before it was tried (`unsnarl verify`).

mod alone;
mod arguments;
mod asserted;
mod atomic;
mod barrier;
mod begins_later;
mod claim;
pub mod constraint;
mod deadlock;
mod exclusively;
mod gaps;
mod invocation;
mod kept;
mod lacking;
mod leaked;
mod lock_calls;
mod locking;
mod look_again;
mod missed;
mod model;
mod mutexes;
mod needs;
mod nested_locks;
mod one_step;
mod order;
mod other_lock;
mod places;
mod publish;
mod recorded;
mod rejoin;
mod sections;
mod seen;
mod signal_inside;
#[cfg(test)]
mod tests;
pub mod text;
pub mod trial;
mod turns;
mod wait;
mod waits_for;
mod wake_all;
mod weak;
#[cfg(test)]
mod wrapper_tests;

pub use gaps::Gap;
pub use model::{FileEdit, Fix, FixKind, GuardedLines, Ordered, Position, SectionShare};
pub use sections::{EditRegion, RegionStatement};
pub use trial::{Trial, TrialVerdict};

use crate::{
    budget::Budget,
    explanation::{BugKind, Explanation, Role, Step},
    facts::{self, basename},
};
use atomic::Changes;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use text::{
    EditRefusal,
    change::{self, Change},
    declared::DeclaredMutexes,
    source::ParsedSource,
};
use unsnarl_trace::{EventId, EventKind, OrderMode, Outcome, Run, SiteRow, meta::is_system};

/// Fixes found for one explanation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Offered {
    /// The fixes, best first.
    pub fixes: Vec<Fix>,
    /// Reasons why others are not offered.
    pub refused: Vec<String>,
    /// See [`Explanation::advice`].
    pub advice: Option<String>,
}

impl Offered {
    /// Makes fixes in doubt reasons why they are not offered: where nothing is built, nothing tells.
    #[must_use]
    pub fn without_doubt(mut self) -> Offered {
        let refused = &mut self.refused;
        self.fixes.retain(|fix| {
            refused.extend(fix.doubt.iter().map(|why| format!("{}: {why}", fix.title)));
            fix.doubt.is_none()
        });
        self
    }
}

/// Derives the fixes for an explanation. `runs` are those of its corpus with their names; `sources` holds the
/// texts that they were recorded from, by their names in the debug info.
pub fn offer(
    explanation: &Explanation,
    runs: &[(String, Arc<Run>)],
    sources: &BTreeMap<String, String>,
    budget: &Budget,
) -> Offered {
    let mut offered = Offered::default();
    let mut own: Vec<&(String, Arc<Run>)> = runs
        .iter()
        .filter(|(name, _)| explanation.runs.contains(name))
        .collect();
    own.sort_by_key(|(_, run)| Reverse(steps_of(run, explanation)));
    let Some((_, run)) = own.first() else {
        offered
            .refused
            .push("the failing run is not at hand".to_owned());
        return offered;
    };
    let files = Files::new(sources, runs);
    let case = FixInput {
        explanation,
        runs,
        run,
        files: &files,
        budget,
    };
    let lacks = || deadlock::held_over_calls(&case);
    offered.advice = wait::without_check(explanation).or_else(lacks);
    let refused = &mut offered.refused;
    let (proposed, goes_on) = proposed(&case);
    let mut before = Vec::new();
    for fix in proposed {
        offered.fixes.extend(keep(right(&case, fix), &mut before));
    }
    // Who frees a block need not be the thread that should have ended first.
    let is_of_order = explanation.kind != BugKind::UseAfterFree;
    if is_of_order {
        refused.append(&mut before);
    }
    if goes_on {
        let is_last = offered.fixes.is_empty();
        let held = locking::held(&case, is_last, refused);
        offered.fixes.extend(held);
        offered.fixes.extend(asserted::waits(&case));
        if offered.fixes.is_empty() && refused.is_empty() && before.is_empty() {
            let unknown = || "which lines belong together is not known".to_owned();
            refused.push(order::out_of_reach(&case).unwrap_or_else(unknown));
        }
    }
    refused.append(&mut before);
    let signals = wake_all::wake_all(&case)
        .into_iter()
        .chain(missed::signal(&case));
    for fix in signals {
        let refused = &mut offered.refused;
        offered.fixes.extend(keep(fix, refused));
    }
    offered.fixes.sort_by_key(|fix| fix.doubt.is_some());
    let passed = passing(runs);
    for (number, fix) in (1..).zip(&mut offered.fixes) {
        fix.number = number;
        fix.title = titled(fix, explanation);
        let mut there = passed.iter().filter(|run| comes_to(fix, run));
        let measured = there.next().or(passed.first());
        fix.share = measured.and_then(|run| shared(fix, run));
    }
    offered
}

/// The title of a fix, with the only file that it edits where the explanation blames lines of others.
fn titled(fix: &Fix, explanation: &Explanation) -> String {
    let mut files = fix.edits.iter().map(|edit| edit.file.as_str());
    let first = files.next();
    match first.filter(|file| files.all(|other| other == *file)) {
        Some(file) => in_file(explanation, file, &fix.title),
        None => fix.title.clone(),
    }
}

/// Words about lines of a file, with its name where the explanation blames lines of others.
fn in_file(explanation: &Explanation, file: &str, said: &str) -> String {
    let mut blamed = explanation.blamed();
    match blamed.find(|mark| mark.place.file != file) {
        Some(_) => format!("in {}: {said}", basename(file)),
        None => said.to_owned(),
    }
}

/// The fixes that bring an explanation's steps into another order, and whether holding a lock may be a fix as
/// well.
fn proposed(case: &FixInput<'_>) -> (Vec<Result<Fix, EditRefusal>>, bool) {
    match case.explanation.kind {
        BugKind::Deadlock => {
            let fix = leaked::release(case).unwrap_or_else(|| deadlock::same_order(case));
            let fixes = std::iter::once(fix).chain(gaps::of_deadlock(case));
            (fixes.collect(), false)
        }
        BugKind::LostWakeup => {
            let fix = publish::set_last(case).unwrap_or_else(|| wait::signal_under_lock(case));
            let mut fixes = other_lock::of_condition(case);
            fixes.push(fix);
            (fixes, true)
        }
        BugKind::Sequential => (Vec::new(), false),
        _ if let Some(at) = case.turned_away() => {
            let says = format!(
                "what is to be done without the lock on line {at} is for the program to say"
            );
            (vec![Err(says)], false)
        }
        _ => {
            let instead = look_again::look_again(case).or_else(|| publish::change_last(case));
            if let Some(fix) = instead {
                return (vec![fix], false);
            }
            let mut fixes: Vec<_> = one_step::in_one_step(case).into_iter().collect();
            fixes.extend(claim::set_where_asked_for(case));
            fixes.extend(weak::lock_once(case));
            fixes.extend(look_again::look_again_before(case));
            fixes.extend(publish::set_last(case));
            fixes.extend(signal_inside::signal_inside(case));
            fixes.extend(barrier::wait_between(case));
            fixes.extend(order::ordered(case));
            (fixes, true)
        }
    }
}

/// The fix, if no recorded run contradicts it. A section that a failing run seems to have kept is in doubt.
fn right(case: &FixInput<'_>, fix: Result<Fix, EditRefusal>) -> Result<Fix, EditRefusal> {
    let fix = fix?;
    let title = titled(&fix, case.explanation);
    let fix = Fix {
        is_recursive: case.is_recursive(&fix),
        ..fix
    };
    if let Some(why) = in_the_way(case, &fix) {
        return Err(format!("{title}: {why}"));
    }
    match (kept_in_vain(case, &fix), fix.kind) {
        (Some(why), FixKind::WidenSection | FixKind::NewMutex) => Ok(Fix {
            doubt: Some(why),
            ..fix
        }),
        (Some(why), _) => Err(format!("{title}: {why}")),
        (None, _) => Ok(fix),
    }
}

/// Removes fixes that hold a lock, or join a thread, where a better one of the same kind exists. The best
/// come first.
pub fn without_alternatives(fixes: &mut Vec<Fix>) {
    let mut known = BTreeSet::new();
    fixes.retain(|fix| {
        let kind = match fix.kind {
            FixKind::NewMutex => FixKind::WidenSection,
            kind => kind,
        };
        let is_one_of = matches!(kind, FixKind::WidenSection | FixKind::JoinBefore);
        !is_one_of || known.insert(kind)
    });
}

/// Reason why the recorded runs contradict a fix.
fn in_the_way(case: &FixInput<'_>, fix: &Fix) -> Option<String> {
    for order in &fix.ordered {
        if let Some(why) = nested_locks::other_way(case.runs, order) {
            return Some(why);
        }
        let Ordered::EndsBefore { thread, line, .. } = order else {
            continue;
        };
        let mut runs = case.runs.iter();
        if runs
            .clone()
            .all(|(_, run)| alone::would_run_alone(run, order))
        {
            return Some(format!("{thread} would run alone"));
        }
        if let Some(needed) = runs.find_map(|(_, run)| needs::needs_later(run, order)) {
            return Some(format!(
                "{thread} waits on line {needed} for what comes after line {line}"
            ));
        }
    }
    waits_for::refuse(fix, case.runs_in_time())
}

/// A run that failed although it kept to the fix, as far as its lines tell.
fn kept_in_vain(case: &FixInput<'_>, fix: &Fix) -> Option<String> {
    let own = |name: &String| case.explanation.runs.contains(name);
    let mut failing = case.runs.iter().filter(|(name, _)| own(name));
    let allows = |run: &Run| constraint::verdict(fix, run) != constraint::OrderVerdict::Excluded;
    let (name, _) = failing.find(|(_, run)| constraint::is_order(fix) && allows(run))?;
    Some(format!("{name} fails although it is kept there"))
}

/// The runs on which the cost of fixes is measured, since failing runs end early: the shortest first.
fn passing(runs: &[(String, Arc<Run>)]) -> Vec<&Run> {
    let passed = runs.iter().filter(|(_, run)| {
        run.meta.outcome == Outcome::Passed && run.meta.mode == OrderMode::Controlled
    });
    let mut passed: Vec<&(String, Arc<Run>)> = passed.collect();
    passed.sort_by_key(|(name, run)| (run.events.len(), name));
    passed.into_iter().map(|(_, run)| &**run).collect()
}

/// Returns whether a run comes to lines that a fix holds a lock over: what it costs shows only there.
fn comes_to(fix: &Fix, run: &Run) -> bool {
    let is_there = |site: &SiteRow| {
        let mut lines = fix.exclusive.iter();
        lines.any(|one| one.file == site.file && (one.first..=one.last).contains(&site.line))
    };
    let sites: Vec<bool> = run.meta.sites.iter().map(is_there).collect();
    let mut all = run.events.sites().iter();
    all.any(|site| sites.get(*site as usize).is_some_and(|there| *there))
}

/// Share of a run that a fix serializes; none for a fix that does not hold a lock for longer.
fn shared(fix: &Fix, run: &Run) -> Option<SectionShare> {
    if !matches!(fix.kind, FixKind::WidenSection | FixKind::NewMutex) || fix.exclusive.is_empty() {
        return None;
    }
    Some(constraint::share(fix, run)).filter(|share| share.held > 0)
}

/// Number of the explanation's steps that this run has at their rows: all for the run that the steps are
/// from.
fn steps_of(run: &Run, explanation: &Explanation) -> usize {
    let is_there = |step: &&Step| {
        let event = run.events.get(EventId(step.event));
        event.is_some_and(|event| {
            let site = run.meta.site(event.site);
            facts::thread_name(run, event.thread) == step.thread
                && (&site.file, site.line) == (&step.place.file, step.place.line)
        })
    };
    explanation.steps.iter().filter(is_there).count()
}

fn keep(fix: Result<Fix, EditRefusal>, refused: &mut Vec<EditRefusal>) -> Option<Fix> {
    fix.map_err(|why| refused.push(why)).ok()
}

/// Input for deriving a fix.
struct FixInput<'a> {
    explanation: &'a Explanation,
    /// All runs of the corpus.
    runs: &'a [(String, Arc<Run>)],
    /// The first failing run, which the steps are from.
    run: &'a Run,
    files: &'a Files<'a>,
    /// Budget for the passes over the runs.
    budget: &'a Budget,
}

impl<'a> FixInput<'a> {
    /// The runs one after the other, while the budget lasts.
    fn runs_in_time(&self) -> impl Iterator<Item = Result<&'a Run, EditRefusal>> {
        let looked_at = |(_, run): &'a (String, Arc<Run>)| match self.budget.stop() {
            None => Ok(&**run),
            Some(_) => Err(LATE.to_owned()),
        };
        self.runs.iter().map(looked_at)
    }

    /// The line of an attempt to lock in vain that is blamed, if one is.
    fn turned_away(&self) -> Option<u32> {
        let causes = self.explanation.sites.iter();
        let mut causes = causes.filter(|mark| mark.role == Role::Cause);
        let in_vain = causes.find(|mark| {
            let step = mark.step.and_then(|at| at.checked_sub(1));
            let step = step.and_then(|at| self.explanation.steps.get(at as usize));
            step.is_some_and(|step| {
                self.run.events.kind(EventId(step.event)) == EventKind::TryLockFailed
            })
        });
        let is_order = self.explanation.kind == BugKind::OrderViolation;
        in_vain.filter(|_| is_order).map(|mark| mark.place.line)
    }

    /// Returns whether a thread that holds the fix's lock may take it again, by the type that it is declared with.
    fn is_recursive(&self, fix: &Fix) -> bool {
        let Some(lock) = &fix.lock else {
            return false;
        };
        let name = text::locks::last_name(lock);
        let mut sources = self.files.parsed.values();
        sources.any(|source| text::is_recursive(source, name))
    }
}

/// Reason given when the budget ended before all runs were examined.
const LATE: &str = "the time was over before all runs were looked at";

/// The parsed sources.
struct Files<'a> {
    parsed: BTreeMap<&'a str, ParsedSource>,
    /// Functions with a loop, in themselves or in a callee.
    going_round: BTreeSet<String>,
}

/// Functions of these sources with a loop in them, or in a function that they call.
fn going_round<'s>(sources: impl Iterator<Item = &'s ParsedSource>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut calls: Vec<(String, Vec<String>)> = Vec::new();
    for source in sources {
        let mut stack = vec![source.root()];
        while let Some(node) = stack.pop() {
            stack.extend(text::source::children(node));
            let Some(name) = function_name(source, node) else {
                continue;
            };
            if text::hold::goes_round(node) {
                found.insert(name.to_owned());
            }
            let called = text::locks::calls(node);
            let called = called.map(|call| text::locks::callee(source, call).to_owned());
            calls.push((name.to_owned(), called.collect()));
        }
    }
    loop {
        let before = found.len();
        for (name, called) in &calls {
            if called.iter().any(|called| found.contains(called)) {
                found.insert(name.clone());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The lines of each file with a step or a call.
fn lines_that_ran(runs: &[(String, Arc<Run>)]) -> BTreeMap<&str, BTreeSet<u32>> {
    let mut lines: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for site in runs.iter().flat_map(|(_, run)| &run.meta.sites) {
        lines.entry(&site.file).or_default().insert(site.line);
    }
    lines
}

fn function_name<'s>(source: &'s ParsedSource, node: tree_sitter::Node<'_>) -> Option<&'s str> {
    let is_function = node.kind() == "function_definition";
    is_function.then(|| text::function_name(source, node))?
}

impl<'a> Files<'a> {
    fn new(sources: &'a BTreeMap<String, String>, runs: &[(String, Arc<Run>)]) -> Files<'a> {
        let seen = lock_calls::PairedLockCalls::of(runs);
        let ran = lines_that_ran(runs);
        let none = BTreeSet::new();
        // Nothing is changed in the headers of the compiler, and the locks in them have names of their own.
        let of_user = sources.iter().filter(|(file, _)| !is_system(file));
        let parsed = of_user.filter_map(|(file, text)| {
            let ran = ran.get(file.as_str()).unwrap_or(&none);
            let source = ParsedSource::parse(file, text)?.with_lines_that_ran(ran);
            let lock_calls = seen.in_file(file, &source);
            Some((file.as_str(), source.with_lock_calls(lock_calls)))
        });
        let parsed: Vec<(&str, ParsedSource)> = parsed.collect();
        let mutexes = DeclaredMutexes::of(parsed.iter().map(|(_, source)| source));
        let mutexes = Arc::new(mutexes);
        let all = parsed.into_iter();
        let parsed: BTreeMap<&str, ParsedSource> = all
            .map(|(file, source)| (file, source.with_mutexes(mutexes.clone())))
            .collect();
        Files {
            going_round: going_round(parsed.values()),
            parsed,
        }
    }

    /// Returns whether a call of this function loops, as far as its text is available.
    fn goes_round(&self, function: &str) -> bool {
        self.going_round.contains(function)
    }

    fn get(&self, file: &str) -> Result<&ParsedSource, EditRefusal> {
        let source = self.parsed.get(file);
        source.ok_or_else(|| match is_system(file) {
            true => format!("{} belongs to the compiler", basename(file)),
            false => format!(
                "the text of {} is not the one that was recorded",
                basename(file)
            ),
        })
    }

    /// All files whose text is known.
    fn all(&self) -> impl Iterator<Item = &ParsedSource> {
        self.parsed.values()
    }

    /// Converts changes to edits, checked: they fit, and the edited text parses as well as the text before.
    fn edits(&self, changes: &Changes) -> Result<Vec<FileEdit>, EditRefusal> {
        let mut edits = Vec::new();
        for (file, changes) in changes {
            let source = self.get(file)?;
            let edited =
                change::apply(source.text(), changes).ok_or("two changes meet at one place")?;
            let is_whole =
                ParsedSource::parse(file, &edited).is_some_and(|edited| edited.is_whole());
            if source.is_whole() && !is_whole {
                return Err("the edited text would not be understood".to_owned());
            }
            if edited == source.text() {
                return Err("the edited text would be the same".to_owned());
            }
            edits.extend(changes.iter().map(|change| edit(file, source, change)));
        }
        // Insertions at one place keep their order.
        edits.sort_by(|a, b| (&a.file, a.start, a.end).cmp(&(&b.file, b.start, b.end)));
        Ok(edits)
    }
}

fn edit(file: &str, source: &ParsedSource, change: &Change) -> FileEdit {
    let position = |at: usize| Position {
        line: source.line(at),
        column: (at - source.line_start(at)) as u32 + 1,
    };
    FileEdit {
        file: file.to_owned(),
        start: change.start as u32,
        end: change.end as u32,
        from: position(change.start),
        to: position(change.end),
        text: change.text.clone(),
    }
}

/// Applies the edits of a fix to the text of a file; `None` when they do not fit it.
pub fn apply(text: &str, file: &str, edits: &[FileEdit]) -> Option<String> {
    let own = edits.iter().filter(|edit| edit.file == file);
    let changes: Vec<Change> = own
        .map(|edit| Change {
            start: edit.start as usize,
            end: edit.end as usize,
            text: edit.text.clone(),
        })
        .collect();
    change::apply(text, &changes)
}
