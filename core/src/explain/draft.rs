//! Construction of an explanation: steps in order, marks with step numbers, edges, identity.

use super::{candidates::times_before, spurious::is_spurious, unfinished::in_words, view::View};
use crate::{
    callers::Callers,
    claims::{Claim, Counted},
    explanation::{
        Absent, BugKind, Certainty, Edge, EdgeKind, Explanation, Place, Role, SiteMark, Step,
    },
    facts::{self, basename},
    mining::trace::line_hash,
    pairs::Fnv,
};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, FailureKind, Location, OrderMode};

/// An explanation under construction.
pub(super) struct Draft<'v, 'a> {
    view: &'v View<'a>,
    explanation: Explanation,
    marks: Vec<(EventId, SiteMark)>,
    absent: Vec<(EventId, String, Place)>,
}

impl<'v, 'a> Draft<'v, 'a> {
    /// Begins an explanation with its class and first line.
    pub fn new(view: &'v View<'a>, kind: BugKind, headline: String) -> Draft<'v, 'a> {
        let explanation = Explanation {
            id: String::new(),
            kind,
            headline,
            detail: String::new(),
            remark: String::new(),
            contrast: String::new(),
            claims: Vec::new(),
            certainty: Certainty::Possible,
            runs: vec![view.summary.name.clone()],
            runs_without: Vec::new(),
            runs_mirrored: Vec::new(),
            run: view.summary.name.clone(),
            failure: view.failure_place(),
            also_fails: Vec::new(),
            steps: Vec::new(),
            absent: Vec::new(),
            gone: None,
            sites: Vec::new(),
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
            caveats: caveats(view),
            fixes: Vec::new(),
            not_fixed: Vec::new(),
            advice: None,
        };
        Draft {
            view,
            explanation,
            marks: Vec::new(),
            absent: Vec::new(),
        }
    }

    /// Sets the detail: threads and places involved.
    pub fn detail(&mut self, detail: String) {
        self.explanation.detail = detail;
    }

    /// The explanation so far.
    pub fn set(&mut self) -> &mut Explanation {
        &mut self.explanation
    }

    /// States the contrast with the passing runs, if the failing run differs from the claim: `here` is
    /// whether the claim holds in that run, `says` whether the counts belong to the story. The first claim
    /// that yields a sentence stays.
    pub fn contrast(&mut self, claim: Claim, here: bool, says: impl Fn(&Counted) -> bool) {
        let is_here = claim.holds(&self.view.summary.accesses);
        let is_said = !self.explanation.contrast.is_empty();
        if is_here != here || is_said || !claim.is_comparable(self.view.corpus) {
            return;
        }
        let counted = claim.count(self.view.corpus);
        let said = counted.in_words();
        if says(&counted) && !said.is_empty() {
            self.explanation.contrast = said;
            self.explanation.claims.push(counted);
        }
    }

    /// Adds a step unless the row already has one.
    pub fn step(&mut self, row: EventId, note: impl Into<String>) {
        if self
            .explanation
            .steps
            .iter()
            .all(|step| step.event != row.0)
        {
            let step = self.view.step(row, note);
            self.explanation.steps.push(step);
        }
    }

    /// Adds the step of another thread that wrote what a row reads, from a row on, unless it had to come before.
    pub fn source(&mut self, row: EventId, from: EventId) {
        let (view, event) = (self.view, self.view.event(row));
        let written = view.source(row);
        let is_free = |write: &EventId| {
            let is_other = view.thread(*write) != event.thread;
            is_other && *write >= from && !view.is_forced(*write, row)
        };
        if let Some(write) = written.filter(is_free).filter(|_| event.kind.reads()) {
            self.step(write, "");
        }
    }

    /// Adds a step without an access.
    pub fn add(&mut self, step: Step) {
        self.explanation.steps.push(step);
    }

    /// Marks the site of a row.
    pub fn mark(&mut self, row: EventId, role: Role) {
        self.marks.push((row, self.view.mark(row, role)));
    }

    /// Marks a place that the failing run did not reach.
    pub fn mark_place(&mut self, mark: SiteMark) {
        self.marks.push((EventId(u32::MAX), mark));
    }

    /// Notes a step of passing runs before a row that this run lacks.
    pub fn absent(&mut self, before: EventId, thread: String, place: Place) {
        self.absent.push((before, thread, place));
    }

    /// Adds the failure: to the step of the failing read, or as a step of its own.
    pub fn fail(&mut self) {
        let Some(step) = self.view.failure_step(&self.explanation.steps) else {
            return;
        };
        if step.event == self.view.failure.0
            && let Some(read) = self.noticing_read()
        {
            self.step(read, "");
        }
        let last = self
            .explanation
            .steps
            .iter_mut()
            .find(|known| known.event == step.event);
        match last {
            Some(known) => {
                known.effect = step.effect;
                known.value = step.value;
            }
            None => self.explanation.steps.push(step.clone()),
        }
        let event = EventId(step.event);
        if self
            .marks
            .iter()
            .all(|(row, mark)| *row != event || mark.place.line != step.place.line)
        {
            let mark = SiteMark {
                place: step.place,
                thread: self.view.words(self.view.failure),
                access: step.access,
                location: step.location,
                role: Role::Failure,
                step: None,
            };
            self.marks.push((event, mark));
        }
    }

    /// The last read of the failing thread that saw a value written by one of the steps.
    fn noticing_read(&self) -> Option<EventId> {
        const NEAR: usize = 200;
        let (view, steps) = (self.view, &self.explanation.steps);
        let before = view.rows.before(view.failed?, view.failure).iter().rev();
        let reads = before
            .take(NEAR)
            .copied()
            .filter(|&row| view.event(row).kind.reads());
        let from_step = |row: &EventId| {
            let source = view.source(*row);
            source.is_some_and(|source| steps.iter().any(|step| step.event == source.0))
        };
        reads.into_iter().find(from_step)
    }

    /// Orders the steps, numbers the marks, draws the edges and names the explanation.
    pub fn finish(mut self) -> Explanation {
        self.explanation.steps.sort_by_key(|step| step.event);
        self.tell_unfinished();
        let callers = Callers::of(&self.view.run);
        for step in &mut self.explanation.steps {
            step.via = callers.via(EventId(step.event));
            // The last step of a failed check may lie in a function that the check has called.
            let is_own =
                |call: &Place| (&call.file, call.line) == (&step.place.file, step.place.line);
            if let Some(own) = step.via.iter().position(is_own) {
                step.via.drain(..=own);
            }
        }
        shorten(&mut self.explanation.steps);
        self.explanation.caveats.extend(self.spurious_wakeup());
        for step in &self.explanation.steps {
            let event = EventId(step.event);
            if self.marks.iter().all(|(row, _)| *row != event) && step.event <= self.view.failure.0
            {
                self.marks.push((event, self.view.mark(event, Role::Step)));
            }
        }
        let steps = &self.explanation.steps;
        let view = self.view;
        let absent = self.absent.drain(..).map(|(row, thread, place)| {
            let thread = Some(thread).filter(|thread| !is_left_to_others(view, thread, &place));
            let thread = thread.unwrap_or_default();
            let at = steps.iter().position(|step| step.event >= row.0);
            let before = at.unwrap_or(steps.len()) as u32;
            Absent {
                before,
                thread,
                times: times_before(view, row, &place),
                place,
            }
        });
        self.explanation.absent = absent.collect();
        self.marks.sort_by_key(|(row, mark)| (mark.role, *row));
        let steps = &self.explanation.steps;
        for (row, mark) in &mut self.marks {
            let at = steps.iter().position(|step| step.event == row.0);
            mark.step = at.map(|at| at as u32 + 1);
        }
        self.explanation.edges = self.edges();
        self.explanation.sites = self.marks.into_iter().map(|(_, mark)| mark).collect();
        self.explanation.id = id(&self.explanation);
        self.explanation
    }

    /// The last wait that ended by itself before the story did: what came after all of it had no part in the failure.
    fn spurious_wakeup(&self) -> Option<String> {
        let view = self.view;
        let is_failure = |row: EventId| {
            let mut marks = self.marks.iter();
            marks.any(|(marked, mark)| *marked == row && mark.role == Role::Failure)
        };
        let steps = self.explanation.steps.iter();
        let told = steps.map(|step| EventId(step.event));
        let last = told.filter(|&row| !is_failure(row)).max();
        let last = last.unwrap_or(view.failure);
        let events = view.run.events.iter().map(|(row, _)| row);
        let wake = events
            .filter(|&row| row <= last && is_spurious(view, row))
            .last()?;
        Some(format!(
            "This run has a spurious wakeup: the wait of {} at {} ended without a signal.",
            view.name(wake),
            view.at(wake)
        ))
    }

    /// Says what the run hangs by, unless the story is about that.
    fn tell_unfinished(&mut self) {
        let is_about_it = self.explanation.kind == BugKind::Deadlock;
        let left = self.view.unfinished().filter(|_| !is_about_it);
        if let Some(of) = left.filter(|of| of.stays(self.view)) {
            self.explanation.remark_first(&in_words(self.view, of));
        }
    }

    /// The edges: the order of the steps at thread switches, and data flows.
    fn edges(&self) -> Vec<Edge> {
        let index = |event: u32| {
            self.marks
                .iter()
                .position(|(row, _)| row.0 == event)
                .map(|at| at as u32)
        };
        let mut edges = Vec::new();
        for pair in self.explanation.steps.windows(2) {
            let [before, after] = pair else { continue };
            let (Some(from), Some(to)) = (index(before.event), index(after.event)) else {
                continue;
            };
            if before.thread == after.thread || from == to {
                continue;
            }
            let event = self.view.event(EventId(after.event));
            let source = self.view.source(EventId(after.event));
            let flows = event.kind.reads() && source == Some(EventId(before.event));
            edges.push(Edge {
                from,
                to,
                kind: if flows {
                    EdgeKind::Flow
                } else {
                    EdgeKind::Failing
                },
            });
        }
        edges
    }
}

/// Shortens call paths: callers that all steps of a thread have in common are dropped, except the nearest
/// one.
fn shorten(steps: &mut [Step]) {
    let threads: BTreeSet<String> = steps.iter().map(|step| step.thread.clone()).collect();
    for thread in threads {
        let own = |step: &&Step| step.thread == thread && !step.via.is_empty();
        let told: Vec<&Vec<Place>> = steps.iter().filter(own).map(|step| &step.via).collect();
        let same = |depth: usize| {
            let mut at = told.iter().map(|via| via.iter().rev().nth(depth));
            let first = at.next().flatten();
            first.is_some() && at.all(|place| place == first)
        };
        let common = (0..).take_while(|&depth| same(depth)).count();
        for step in steps.iter_mut().filter(|step| step.thread == thread) {
            let kept = step.via.len().saturating_sub(common).max(1);
            step.via.truncate(kept);
        }
    }
}

/// Returns whether a line is run in passing runs, but never by this thread: where it is missing, another one lacks it. Linear in
/// the passing runs.
fn is_left_to_others(view: &View, thread: &str, place: &Place) -> bool {
    let (thread, line) = (Fnv::of(thread), line_hash(&place.file, place.line));
    let runs = view.corpus.passing();
    let mut there = runs.flat_map(|run| run.accesses.kinds.iter());
    let mut is_run = false;
    let own = there.any(|kind| {
        is_run |= kind.line == line;
        kind.line == line && kind.thread == thread
    });
    is_run && !own
}

/// Makes an identifier from the class and the causes, so that it stays when runs are added.
fn id(explanation: &Explanation) -> String {
    let mut hash = Fnv::default();
    hash.text(&format!("{:?}", explanation.kind));
    let causes = explanation
        .sites
        .iter()
        .filter(|mark| mark.role.is_blamed());
    for mark in causes {
        hash.text(basename(&mark.place.file));
        hash.text(&mark.place.function);
        hash.text(&mark.place.text);
        hash.bytes(&mark.place.line.to_le_bytes());
    }
    format!("{:08x}", (hash.0 ^ hash.0 >> 32) as u32)
}

fn caveats(view: &View) -> Vec<String> {
    let mut caveats = Vec::new();
    let passing = view.corpus.counts().passing();
    match passing {
        0 => caveats.push("There is no passing run to compare with.".to_owned()),
        1..5 => caveats.push(format!("There {} to compare with.", few(passing))),
        _ => {}
    }
    if !view.summary.exact {
        caveats.push(match view.run.meta.mode {
            OrderMode::Path => {
                "Only paths and synchronization were recorded: no accesses, so causes that lie in them are not seen."
                    .to_owned()
            }
            OrderMode::Imported => {
                "The trace is from another tool: order and values may be inexact.".to_owned()
            }
            _ => "Threads ran freely when this was recorded: order and values may be inexact."
                .to_owned(),
        });
    }
    if falls_off(view) {
        caveats.push(format!(
            "The program was stopped by a trap at the end of `{}`: clang puts one where a function that returns a value ends without a return statement.",
            view.failure_place().site.map_or_else(String::new, |site| site.function)
        ));
    }
    if let Some(name) = untold(view) {
        caveats.push(format!(
            "What the failing line read of `{name}` was not recorded: compilers do not always tell what a function reads in a struct on its own stack."
        ));
    }
    if let Some(first) = view.orders.anomalies().first() {
        caveats.push(format!(
            "The trace has oddities: {} ({}).",
            first.kind,
            view.at(first.event)
        ));
    }
    caveats
}

/// Returns whether the run ended by an illegal instruction at the end of a function.
fn falls_off(view: &View) -> bool {
    let failure = view.run.meta.failure.as_ref();
    let is_trap = failure.is_some_and(|failure| {
        failure.kind == FailureKind::Signal && failure.message == "illegal instruction"
    });
    is_trap
        && view
            .failure_place()
            .site
            .is_some_and(|site| site.text == "}")
}

/// A member of a struct on the stack of the failing function that the failing line mentions, though the run
/// has no read on that line: clang's instrumentation (19 is known to) can take a field of such a struct for
/// private data.
fn untold(view: &View) -> Option<String> {
    let site = view.failure_place().site?;
    let before = view.rows.before(view.failed?, view.failure).iter().rev();
    let here = |row: &EventId| {
        let (place, event) = (view.place(*row), view.event(*row));
        let is_constant = view.run.location(event.location).starts_with(".rodata");
        (&place.file, place.line) == (&site.file, site.line) && event.kind.reads() && !is_constant
    };
    if before.take(8).any(here) {
        return None;
    }
    let own = format!(":{}.", site.function);
    let names = view.run.locations.iter();
    let mut inner = names
        .filter(|name| name.contains(&own))
        .map(|name| Location::variable(name).to_owned());
    inner.find(|name| name.contains('.') && facts::mentions(&site.text, name))
}

fn few(runs: u32) -> String {
    if runs == 1 {
        "is only one passing run".to_owned()
    } else {
        format!("are only {runs} passing runs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::corpus;

    #[test]
    fn a_line_that_another_thread_runs_is_not_lacked_by_this_one() {
        let begin = "main fork main.1 @1\nmain fork main.2 @2\nmain.1 R n =0 @4 look\n";
        let passing = [begin, "main.2 W n =1 @6 set\n"].concat();
        let failing = [begin, "main fails @9"].concat();
        let corpus = corpus(&[&passing], &[&failing]);
        let view = View::new(&corpus, corpus.failing().next().unwrap()).unwrap();
        let at = |line: u32| Place {
            line,
            ..view.place(EventId(2))
        };
        assert!(is_left_to_others(&view, "main.1", &at(6)));
        assert!(!is_left_to_others(&view, "main.2", &at(6)));
        assert!(!is_left_to_others(&view, "main.1", &at(8)));
    }
}
