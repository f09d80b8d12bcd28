//! An explanation for people: the relevant lines in execution order, and between them the conditions that had
//! to hold for the run to fail.

use super::model::{Fact, Hazard, Kind, Minimality, PathExplanation, Reach, Statement, VarKind};
use serde::Serialize;
use std::collections::BTreeMap;
use unsnarl_core::{
    explanation::{InvariantMark, Place},
    facts::{
        ToldValue, location_in_words, thread_in_words, thread_name, value, variable,
        without_function,
    },
};
use unsnarl_trace::{EventId, EventKind, Location, Run, ThreadId};

/// An explanation in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ToldInvariants {
    /// The level of detail: `ds+hs`.
    pub level: String,
    /// Reason for this level, in words.
    pub why: String,
    /// The relevant lines in execution order; the last one fails.
    pub lines: Vec<ToldLine>,
    /// The error invariants, in the order in which they begin to hold.
    pub invariants: Vec<ToldInvariant>,
    /// Reason why invariants before the first line are missing; none when the whole run was examined.
    pub is_partial: bool,
    /// `true` without a program model: only recorded values are shown.
    pub is_concrete: bool,
    /// `true` if without any one of its statements the slice would not imply the failure.
    pub is_minimal: bool,
    /// Number of conditions that are too long to be read, and are not among the invariants.
    pub too_long: usize,
    /// Notes on values fixed to the recorded ones.
    pub taken_as_recorded: Vec<String>,
    /// Sizes of the trace and its slice.
    pub counts: SliceSizes,
}

/// Sizes of a trace and its slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SliceSizes {
    /// Statements of the trace.
    pub statements: usize,
    /// Statements in the slice.
    pub kept: usize,
    /// Variables of the trace.
    pub variables: usize,
    /// Variables accessed by the slice.
    pub kept_variables: usize,
    /// Queries to the solver.
    pub questions: usize,
}

/// Consecutive statements of one thread on one line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ToldLine {
    /// Place in the source.
    #[serde(flatten)]
    pub place: Place,
    /// Thread, by its place in the fork tree: `main.2`.
    pub thread: String,
    /// Thread with its function: `withdraw (main.2)`.
    pub who: String,
    /// Action in the run: `reads 300`, `locks`, `fails`; empty for branches.
    pub does: String,
    /// The shared variables accessed.
    pub variables: Vec<String>,
    /// Indices of its statements in the trace.
    pub statements: Vec<usize>,
    /// Events of the statements in the run file, where recorded.
    pub events: Vec<u32>,
    /// `true` for the line where the run failed.
    pub fails: bool,
}

/// An error invariant in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ToldInvariant {
    /// The condition in the source's names: `main.2: available <= 300`.
    pub text: String,
    /// Recorded values: `available is 300`.
    pub values: Option<String>,
    /// The threads whose variables it mentions.
    pub threads: Vec<String>,
    /// Index in [`ToldInvariants::lines`] of the line after which it begins to hold; none if it holds from the start.
    pub after: Option<usize>,
    /// The line up to which it has to hold.
    pub until: usize,
    /// `true` if it is about values other than addresses; `false` if it is about those, about the order of steps, or that none
    /// came.
    #[serde(skip)]
    pub is_of_values: bool,
    /// See [`PathExplanation::is_bound`].
    #[serde(skip)]
    pub is_bound: bool,
}

/// Characters of a condition that somebody may read: divisions by constants, say, are a line of shifts and products each.
const READABLE: usize = 120;
/// Bound on the actions of a line that are told one by one.
const MOST_SAID: usize = 6;
/// Bound on the distance between the two statements of one event.
const NEAR: usize = 4;

/// Puts an explanation into words. Facts that an acquire or release line states itself are left out, and so
/// are facts that begin and end within one line, where nobody can look.
pub fn told(explanation: &PathExplanation, run: &Run) -> ToldInvariants {
    let explanation = &in_source_names(explanation, run);
    let lines = lines(explanation, run);
    let (invariants, too_long): (Vec<ToldInvariant>, Vec<ToldInvariant>) =
        held(explanation, run, &lines)
            .into_iter()
            .partition(|held| held.text.chars().count() <= READABLE);
    let counts = explanation.counts;
    ToldInvariants {
        level: explanation.level.to_string(),
        why: explanation.why.clone(),
        lines,
        invariants,
        is_partial: explanation.is_partial(),
        is_concrete: explanation.is_concrete,
        is_minimal: explanation.minimality == Minimality::Proved,
        too_long: too_long.len(),
        taken_as_recorded: explanation.taken_as_recorded.clone(),
        counts: SliceSizes {
            statements: counts.instructions,
            kept: counts.kept,
            variables: counts.variables,
            kept_variables: counts.kept_variables,
            questions: counts.questions,
        },
    }
}

/// The explanation with names for people: without threads and functions before variables of functions, without a
/// library's members, and with the expression on the line where a heap block has no name of its own.
fn in_source_names(explanation: &PathExplanation, run: &Run) -> PathExplanation {
    let mut named = explanation.clone();
    for statement in &mut named.statements {
        statement.name = source_name(run, statement.event, &statement.name);
    }
    for var in &mut named.vars {
        let made_by = var.made_by.and_then(|row| explanation.statements.get(row));
        let event = made_by.and_then(|made| made.event);
        var.name = match var.kind {
            VarKind::Units => var.name.clone(),
            _ => source_name(run, event, &var.name),
        };
    }
    for object in &mut named.objects {
        object.name = location_in_words(&object.name);
    }
    named
}

fn source_name(run: &Run, event: Option<EventId>, name: &str) -> String {
    let is_block = matches!(Location::of(name), Location::Heap { .. });
    let event = event.and_then(|event| run.events.get(event));
    match event.filter(|event| is_block && event.kind.is_access()) {
        Some(event) => variable(run, &event),
        None => location_in_words(without_function(run, name)),
    }
}

impl ToldInvariants {
    /// Source lines at which the invariants begin to hold.
    pub fn marks(&self) -> Vec<InvariantMark> {
        let marks = self.invariants.iter().filter_map(|held| {
            let line = self.lines.get(held.after.unwrap_or(0))?;
            Some(InvariantMark {
                file: line.place.file.clone(),
                line: line.place.line,
                thread: line.thread.clone(),
                text: held.text.clone(),
                is_of_values: held.is_of_values,
                is_bound: held.is_of_values && held.is_bound,
            })
        });
        marks.filter(|mark| mark.line > 0).collect()
    }
}

/// Words about what a line did, each once.
#[derive(Default)]
struct SaidActions {
    actions: Vec<String>,
    /// Assignments to private variables, which are shown only on lines without other actions.
    sets: Vec<String>,
}

impl SaidActions {
    fn add(&mut self, explanation: &PathExplanation, run: &Run, at: usize, statement: &Statement) {
        let actions = does((explanation, run), at, statement);
        let sets = set(explanation, statement);
        for (known, new) in [
            (&mut self.actions, actions),
            (&mut self.sets, sets.into_iter().collect()),
        ] {
            for word in new {
                if !known.contains(&word) {
                    known.push(word);
                }
            }
        }
    }

    /// All of it, without the middle of what a line did again and again.
    fn text(&self) -> String {
        let all = match self.actions.is_empty() {
            true => &self.sets,
            false => &self.actions,
        };
        match all.as_slice() {
            [first, second, .., before, last] if all.len() > MOST_SAID => {
                format!("{first}, {second}, ..., {before}, {last}")
            }
            all => all.join(", "),
        }
    }
}

/// Groups the statements of the slice into lines: consecutive actions of a thread on one line.
fn lines(explanation: &PathExplanation, run: &Run) -> Vec<ToldLine> {
    let texts = texts(run);
    let mut lines: Vec<(ToldLine, SaidActions)> = Vec::new();
    let mut last: Option<&Statement> = None;
    for &at in &explanation.slice {
        let Some(statement) = explanation.statements.get(at) else {
            continue;
        };
        if !last.is_some_and(|last| same_line(last, statement)) {
            lines.push((line(run, statement, &texts), SaidActions::default()));
        }
        if let Some((line, said)) = lines.last_mut() {
            extend(line, at, statement);
            said.add(explanation, run, at, statement);
        }
        last = Some(statement);
    }
    let told = lines.into_iter().map(|(line, said)| ToldLine {
        does: said.text(),
        ..line
    });
    told.collect()
}

/// The assignment to a private variable: `fee = 0`, `returns -1`.
fn set(explanation: &PathExplanation, statement: &Statement) -> Option<String> {
    let made = explanation.vars.get(statement.makes?.index())?;
    let bits = statement
        .recorded
        .filter(|_| statement.kind == Kind::Assign)?;
    let number = || explanation.number(bits, made.width);
    let value = explanation.value_name(statement.makes?, bits);
    let value = value.map_or_else(number, str::to_owned);
    Some(match statement.name.starts_with("result of ") {
        true => format!("returns {value}"),
        false => format!("{} = {value}", statement.name),
    })
}

fn same_line(a: &Statement, b: &Statement) -> bool {
    let place = |statement: &Statement| (statement.place.file.clone(), statement.place.line);
    a.thread == b.thread && place(a) == place(b) && a.place.line > 0
}

/// The recorded text of each line that has one.
fn texts(run: &Run) -> BTreeMap<(&str, u32), &str> {
    let sites = run.meta.sites.iter().filter(|site| !site.text.is_empty());
    sites
        .map(|site| ((site.file.as_str(), site.line), site.text.as_str()))
        .collect()
}

fn line(run: &Run, statement: &Statement, texts: &BTreeMap<(&str, u32), &str>) -> ToldLine {
    let at = &statement.place;
    let text = texts.get(&(at.file.as_str(), at.line));
    ToldLine {
        place: Place {
            file: at.file.clone(),
            line: at.line,
            column: at.column,
            function: at.function.clone(),
            text: text.map_or_else(String::new, |text| (*text).to_owned()),
        },
        thread: thread_name(run, statement.thread),
        who: thread_in_words(run, statement.thread),
        does: String::new(),
        variables: Vec::new(),
        statements: Vec::new(),
        events: Vec::new(),
        fails: false,
    }
}

fn extend(line: &mut ToldLine, at: usize, statement: &Statement) {
    line.statements.push(at);
    line.events.extend(statement.event.map(|event| event.0));
    line.fails |= statement.kind == Kind::Failure;
    let is_shared = matches!(statement.kind, Kind::Read | Kind::Write);
    if is_shared && !line.variables.contains(&statement.name) {
        line.variables.push(statement.name.clone());
    }
}

/// Actions of a statement in the run; a read-modify-write is shown as a whole.
fn does(
    (explanation, run): (&PathExplanation, &Run),
    at: usize,
    statement: &Statement,
) -> Vec<String> {
    let with = |verb: &str, one: &Statement| match value_of(explanation, run, one) {
        Some(said) => format!("{verb} {said}"),
        None => verb.to_owned(),
    };
    let does = match statement.kind {
        Kind::Read | Kind::Write => {
            let halves = halves(explanation, at, statement);
            let said = halves.into_iter().map(|half| match half.kind {
                Kind::Read => with("reads", half),
                _ => with("writes", half),
            });
            return said.collect();
        }
        Kind::Lock => format!("locks {}", statement.name),
        Kind::Unlock => format!("unlocks {}", statement.name),
        Kind::Free => "frees".to_owned(),
        Kind::Sync(kind) => format!("{} {}", kind.verb(), statement.name)
            .trim_end()
            .to_owned(),
        Kind::Failure => "fails".to_owned(),
        Kind::Assign | Kind::Branch => return Vec::new(),
    };
    vec![does]
}

/// The statements of an access: two where one event reads and writes.
fn halves<'a>(
    explanation: &'a PathExplanation,
    at: usize,
    statement: &'a Statement,
) -> Vec<&'a Statement> {
    let near = at.saturating_sub(NEAR)..at.saturating_add(NEAR + 1);
    let near = near.filter_map(|row| explanation.statements.get(row));
    let is_access = |one: &&Statement| matches!(one.kind, Kind::Read | Kind::Write);
    let same = near
        .filter(is_access)
        .filter(|one| one.event == statement.event);
    match statement.event {
        Some(_) => same.collect(),
        None => vec![statement],
    }
}

/// The value that a statement read or wrote: the recorded one, else the model's.
fn value_of(explanation: &PathExplanation, run: &Run, statement: &Statement) -> Option<String> {
    let named = statement.makes.zip(statement.recorded);
    let named = named.and_then(|(made, bits)| explanation.value_name(made, bits));
    if let Some(named) = named {
        return Some(named.to_owned());
    }
    let event = statement.event.and_then(|event| run.events.get(event));
    // The event has the value written, not the value read before.
    let is_update = event.is_some_and(|event| event.kind == EventKind::Rmw);
    let event = event.filter(|_| !is_update || statement.recorded.is_none());
    let said = event.and_then(|event| value(run, &event, false));
    let modelled = || {
        let made = statement
            .makes
            .and_then(|made| explanation.vars.get(made.index()));
        let width = made.map_or(64, |var| var.width);
        statement
            .recorded
            .map(|bits| explanation.number(bits, width))
    };
    said.filter(ToldValue::is_known)
        .map(|said| said.text)
        .or_else(modelled)
}

fn held(explanation: &PathExplanation, run: &Run, lines: &[ToldLine]) -> Vec<ToldInvariant> {
    let mut told: Vec<ToldInvariant> = Vec::new();
    let nameless = PathExplanation {
        objects: Vec::new(),
        ..explanation.clone()
    };
    let clear = explanation.invariants.iter();
    for reach in clear.filter(|reach| !explanation.is_ambiguous(reach)) {
        let after = lines.iter().rposition(|line| begins(line) < reach.from);
        let until = lines.iter().position(|line| ends(line) >= reach.to);
        let until = until.unwrap_or(lines.len().saturating_sub(1));
        let line = after.and_then(|after| lines.get(after));
        // What was not done, or done in vain, makes the last line fail: it is told before that line.
        let is_before = is_of_absence(&reach.fact) && after == Some(until);
        let after = match is_before {
            true => until.checked_sub(1),
            false => after,
        };
        let is_last = until + 1 == lines.len();
        let says_itself = !is_last && line.is_some_and(|line| is_of_lock(explanation, reach, line));
        if says_itself || (!is_before && after.is_some_and(|after| after >= until)) {
            continue;
        }
        let text = explanation.say(reach);
        let mut values = explanation.values(reach);
        values.retain(|value| !text.ends_with(value.as_str()));
        let held = ToldInvariant {
            values: Some(values.join(", ")).filter(|text| !text.is_empty()),
            threads: threads(explanation, run, reach),
            after,
            until,
            // An address says no more than its variable.
            is_of_values: matches!(reach.fact, Fact::Value(_)) && nameless.say(reach) == text,
            is_bound: explanation.is_bound(reach),
            text,
        };
        if !told.contains(&held) {
            told.push(held);
        }
    }
    told
}

/// `true` for a step that is missing, or came when it had no effect.
fn is_of_absence(fact: &Fact) -> bool {
    match fact {
        Fact::Untouched { .. } => true,
        Fact::Order { hazard, .. } => *hazard == Hazard::Missed,
        Fact::Value(_) => false,
    }
}

/// `true` if a fact is about the lock that the line acquires or releases.
fn is_of_lock(explanation: &PathExplanation, reach: &Reach, line: &ToldLine) -> bool {
    let Fact::Value(id) = reach.fact else {
        return false;
    };
    let symbols = explanation.exprs.symbols(id);
    let [symbol] = symbols.as_slice() else {
        return false;
    };
    let var = explanation.vars.get(symbol.index());
    let made_by = var.and_then(|var| var.made_by);
    made_by.is_some_and(|row| {
        let statement = explanation.statements.get(row);
        let kind = statement.map(|statement| statement.kind);
        line.statements.contains(&row) && matches!(kind, Some(Kind::Lock | Kind::Unlock))
    })
}

fn threads(explanation: &PathExplanation, run: &Run, reach: &Reach) -> Vec<String> {
    let threads: Vec<ThreadId> = match reach.fact {
        Fact::Value(_) => explanation.thread_of(&reach.fact).into_iter().collect(),
        Fact::Order { before, after, .. } => {
            let statements = [before, after].into_iter();
            let statements = statements.filter_map(|at| explanation.statements.get(at));
            statements.map(|statement| statement.thread).collect()
        }
        Fact::Untouched { until, .. } => {
            let read = explanation.statements.get(until);
            read.map(|read| read.thread).into_iter().collect()
        }
    };
    let name = |thread: &ThreadId| thread_name(run, *thread);
    threads.iter().map(name).collect()
}

fn begins(line: &ToldLine) -> usize {
    line.statements.first().copied().unwrap_or(0)
}

fn ends(line: &ToldLine) -> usize {
    line.statements.last().copied().unwrap_or(0)
}
