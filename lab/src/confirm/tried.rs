//! Comparison of stories by their experiments.

use super::{decide::Decision, experiment::Experiment};
use std::collections::BTreeSet;
use unsnarl_core::{
    BugKind, Explanation, Role, SiteMark,
    diagnosis::DecisiveStep,
    explain::{
        ORDERS, blames_additions, calls_around, comes_between, ends_in_the_check,
        is_under_one_lock, spans_visits, story_begins,
    },
    explanation::Step,
};
use unsnarl_trace::{EventId, EventKind, Run, ThreadId};

/// Least lead in effect that another story needs to be told instead: two standard deviations of the difference of two
/// shares near 85 % of 30 samples.
const BETTER: f64 = 0.2;

/// Least share of failing schedules with a story that is told rather than one that comes of it: what passes more often than
/// it fails decides nothing.
const MOSTLY: f64 = 0.5;

/// The share of failing schedules with a story from which on it may be what led to another one.
const SELDOM: f64 = 0.25;

/// The share of schedules without a story that may fail by another occurrence of it.
const RARE: f64 = 0.04;

/// The effect from which on nothing else is tried.
const ENOUGH: f64 = 0.7;

/// Stories that may say no more than what the failing check reads. An order with two causes that is told from the steps of a
/// run says what was there before, too.
fn ends_with_a_look(explanation: &Explanation) -> bool {
    let causes = explanation.sites.iter();
    let causes = causes.filter(|mark| mark.role == Role::Cause).count();
    let says_more = causes > 1 && explanation.engines.iter().any(|engine| engine == ORDERS);
    match explanation.kind {
        BugKind::OrderViolation => !says_more,
        kind => kind == BugKind::MultiVariableAtomicityViolation,
    }
}

/// Returns whether an explanation of a run ends with what the failing check reads.
pub(super) fn is_symptom(explanation: &Explanation, run: &Run) -> bool {
    let blamed = explanation.blamed();
    let steps = blamed.filter_map(|mark| explanation.step_of(mark));
    let last = steps.map(|step| EventId(step.event)).max();
    ends_with_a_look(explanation) && last.is_some_and(|row| ends_in_the_check(run, row))
}

/// The locations of the accesses that an explanation blames.
fn blamed_locations(explanation: &Explanation) -> BTreeSet<String> {
    let blamed = explanation.blamed();
    blamed.map(|mark| mark.location.clone()).collect()
}

/// Returns whether an order is half of an interruption: accesses of these lines to the same variable. It is borne out where
/// the interruption is, and says less.
pub(super) fn is_half_of(order: &Explanation, interruption: &Explanation) -> bool {
    let accesses = |explanation: &Explanation| -> BTreeSet<(String, String, u32)> {
        let blamed = explanation.blamed();
        let at = |mark: &SiteMark| {
            let place = &mark.place;
            (mark.location.clone(), place.file.clone(), place.line)
        };
        blamed.map(at).collect()
    };
    order.kind == BugKind::OrderViolation
        && interruption.kind == BugKind::AtomicityViolation
        && accesses(order).is_subset(&accesses(interruption))
}

/// Returns whether an interruption blames all that another one blames and something else, where some schedules fail with that one
/// and none without it: the rest is how the run went on.
pub(super) fn only_surrounds(other: &Explanation, told: &Explanation) -> bool {
    let is_borne_out = told
        .evidence
        .is_some_and(|it| it.without.fails == 0 && it.without.of > 0 && it.with.fails > 0);
    let are_interruptions = other.kind.is_interruption() && told.kind.is_interruption();
    let (own, more) = (blamed_locations(told), blamed_locations(other));
    is_borne_out && are_interruptions && own.len() < more.len() && own.is_subset(&more)
}

/// Returns whether an interruption blames writes of one thread, and only reads of the other one between them.
fn is_seen_between_writes(explanation: &Explanation) -> bool {
    let all = |role: Role, is_it: fn(EventKind) -> bool| {
        let mut marks = explanation.sites.iter().filter(|mark| mark.role == role);
        marks.all(|mark| {
            let step = explanation.step_of(mark);
            step.and_then(Step::access_kind).is_some_and(is_it)
        })
    };
    all(Role::Cause, EventKind::writes) && all(Role::Interference, |kind| !kind.writes())
}

/// A story that was tried.
pub(super) struct TriedStory {
    pub experiment: Experiment,
    /// The line at which what it blames is complete.
    ends_at: Option<(String, u32)>,
    /// Steps that belong together were interrupted.
    is_interruption: bool,
    /// Most of the passing runs are interrupted so as well.
    pub is_usual: bool,
    /// An announcement, taken back later, that was seen in between; some passing runs have that as well.
    is_seen_at_times: bool,
    /// Its first step is a read.
    pub begins_with_look: bool,
    /// The thread at the end of what it blames.
    pub thread: Option<ThreadId>,
    /// Calls that lead to both ends of the steps that were interrupted.
    pub calls: Option<usize>,
    /// Memory was used after it was freed: an interruption may have led there.
    is_use_after_free: bool,
    /// It ends with what the failing check reads: perhaps a symptom.
    pub is_symptom: bool,
    /// It takes two visits of the same lines: they are no operation.
    pub spans_visits: bool,
    /// A step that decides lies within it, as far as any is known.
    spans: bool,
    /// One of its own steps decides.
    decides: bool,
    /// All continuations failed before it began: it comes of what decided that.
    pub is_too_late: bool,
    /// All continuations failed by a step of the thread that is interrupted, before anything came in between: that comes of
    /// what decided it.
    is_inevitable: bool,
    /// All that it blames is done with one lock held: each order of that is one that the program allows.
    is_under_one_lock: bool,
    /// All that it blames is that a number was counted up or down, which comes to the same in any order.
    pub is_counting: bool,
    /// The locations that it blames accesses of.
    locations: BTreeSet<String>,
}

impl TriedStory {
    pub fn new(
        experiment: Experiment,
        explanation: &Explanation,
        run: &Run,
        decision: &Decision,
    ) -> TriedStory {
        let line = |row: EventId| {
            let event = run.events.get(row)?;
            let site = run.meta.site(event.site);
            Some((site.file.as_str(), site.line))
        };
        let complete = experiment.orders.complete;
        let within = |row: u32| (experiment.begins.0..=complete.0).contains(&row);
        // Where the share of failing continuations grows step by step, no single one decides.
        let is_gradual = !decision.steps.iter().any(DecisiveStep::is_jump);
        let mut steps = decision.steps.iter();
        let orders = &experiment.orders;
        let own = |row: EventId| row == complete || orders.with.contains(&row);
        let is_interruption = matches!(
            explanation.kind,
            BugKind::AtomicityViolation | BugKind::MultiVariableAtomicityViolation
        );
        let claims = explanation.claims.iter();
        let mut blamed = claims.filter(|one| one.claim.is_blamed());
        TriedStory {
            is_usual: blamed.clone().any(|one| one.holds_in * 2 > one.of),
            is_seen_at_times: is_interruption
                && blamed.any(|one| one.holds_in > 0)
                && is_seen_between_writes(explanation),
            is_counting: blames_additions(explanation, run),
            locations: blamed_locations(explanation),
            is_under_one_lock: is_under_one_lock(explanation, run),
            calls: calls_around(explanation, run),
            begins_with_look: orders.with.iter().min().is_some_and(|row| {
                let event = run.events.get(*row);
                event.is_some_and(|event| event.kind.reads() && !event.kind.writes())
            }),
            thread: run.events.get(complete).map(|event| event.thread),
            decides: steps.clone().any(|step| own(EventId(step.event))),
            ends_at: line(complete).map(|(file, line)| (file.to_owned(), line)),
            is_interruption,
            is_use_after_free: explanation.kind == BugKind::UseAfterFree,
            is_too_late: story_begins(explanation, run, &orders.with)
                .is_some_and(|row| decision.is_bound_before(row)),
            is_inevitable: is_interruption
                && comes_between(explanation, run).is_some_and(|(own, row)| {
                    decision.is_bound_before_by(row, |step| run.events.thread(step) == own)
                }),
            is_symptom: ends_with_a_look(explanation) && ends_in_the_check(run, complete),
            spans_visits: spans_visits(explanation, run),
            spans: is_gradual || steps.any(|step| within(step.event)),
            experiment,
        }
    }

    /// Is it an interruption that ends with the order of which the other one tells, on its variables, and began before?
    fn has_more_than(&self, other: &TriedStory) -> bool {
        let begins_before = self.experiment.begins < other.experiment.begins
            || self.first() < other.first() && other.blames_less_than(self);
        self.is_interruption
            && !other.is_interruption
            && !self.is_looser_than(other)
            && !self.ends_in_freed(other)
            && begins_before
            && self.ends_at == other.ends_at
            && other.locations.is_subset(&self.locations)
    }

    /// The first of its own steps. What a lock keeps together may begin before.
    fn first(&self) -> Option<EventId> {
        self.experiment.orders.with.iter().min().copied()
    }

    /// Does it end with the very access that is a use after free? Freed memory changes, whatever was written before.
    pub fn ends_in_freed(&self, other: &TriedStory) -> bool {
        other.is_use_after_free
            && self.experiment.orders.complete >= other.experiment.orders.complete
    }

    /// Is it only how the thread that uses a freed block found the block, between its announcement and the end of that, by another
    /// thread? Each use begins so, also in passing runs: who frees the block in spite of it decides.
    pub fn leaves_it_to(&self, other: &TriedStory) -> bool {
        other.is_use_after_free && self.is_seen_at_times && self.thread != other.thread
    }

    /// Returns whether it makes more of a difference, or about as much and is complete earlier. Of two that make about the
    /// same difference, one within a single visit of its lines comes first.
    pub fn decides_before(&self, other: &TriedStory) -> bool {
        let more = self.experiment.evidence.effect() - other.experiment.evidence.effect();
        let is_earlier = self.experiment.orders.complete < other.experiment.orders.complete;
        let is_first = match (self.spans_visits, other.spans_visits) {
            (false, true) => true,
            (true, false) => false,
            _ => is_earlier,
        };
        more > BETTER / 2.0 || is_first && more > -BETTER / 2.0
    }

    /// Returns whether nothing fails without this interruption of a single visit, where the other one takes two.
    fn is_of_one_visit(&self, other: &TriedStory) -> bool {
        self.is_interruption
            && self.experiment.evidence.is_cause()
            && !self.spans_visits
            && other.spans_visits
    }

    /// Does it take two visits of the same lines, where the other one is told of one?
    pub fn is_looser_than(&self, other: &TriedStory) -> bool {
        self.spans_visits && !other.spans_visits
    }

    /// Returns whether it makes clearly less of a difference.
    pub fn is_rarer_than(&self, other: &TriedStory) -> bool {
        let less = other.experiment.evidence.effect() - self.experiment.evidence.effect();
        less > BETTER / 2.0
    }

    /// Returns whether nothing fails without it and most of the schedules with it do, whatever else may be behind it.
    pub fn is_spare(&self) -> bool {
        let evidence = self.experiment.evidence;
        evidence.is_cause() && evidence.effect() >= ENOUGH
    }

    /// Returns whether nothing else has to be examined.
    pub fn is_final(&self) -> bool {
        self.is_settled() && self.is_exception_free()
    }

    /// Returns whether it is told unless another story is better.
    pub fn is_settled(&self) -> bool {
        let evidence = self.experiment.evidence;
        // An order that the program also survives may be half of an interruption, and so may one of two sections of a lock.
        let survives = evidence.with.fails < evidence.with.of || self.experiment.takes_more;
        let is_allowed = self.is_under_one_lock && self.experiment.orders.with.len() <= 2;
        let may_be_half = !self.is_interruption && (survives || is_allowed);
        let may_come_of_it =
            self.is_symptom || self.is_use_after_free || self.is_too_late || self.is_inevitable;
        let is_open = may_come_of_it || self.spans_visits || self.is_counting || may_be_half;
        self.is_spare() && self.spans && !is_open
    }

    /// Returns whether nothing fails without it.
    pub fn is_exception_free(&self) -> bool {
        self.experiment.evidence.without.fails == 0
    }

    /// Returns whether it is a cause without which nothing fails at all.
    pub fn is_needed(&self) -> bool {
        self.experiment.evidence.is_cause() && self.is_exception_free()
    }

    /// Does nothing at all fail without it, but more than a rare one without the other one? That may just come near what decides.
    fn is_more_needed_than(&self, other: &TriedStory) -> bool {
        let exceptions = other.experiment.evidence.without.value();
        self.is_needed() && exceptions > RARE && !self.is_symptom
    }

    /// Returns whether an interruption with fewer locations may be all that it takes.
    pub fn may_have_parts(&self) -> bool {
        !self.is_use_after_free && self.locations.len() > 1
    }

    /// Is it a part of the other one, and the rest adds nothing?
    fn is_part_of(&self, other: &TriedStory) -> bool {
        let evidence = self.experiment.evidence;
        self.is_interruption
            && !self.spans_visits
            && !other.is_use_after_free
            && evidence.is_cause()
            && self.blames_less_than(other)
    }

    /// Is it a part of the other one without which nothing fails? The rest adds a little, perhaps only where it comes along.
    pub fn may_stand_for(&self, other: &TriedStory) -> bool {
        let less = other.experiment.evidence.effect() - self.experiment.evidence.effect();
        self.is_part_of(other) && self.is_needed() && !self.is_symptom && less < BETTER
    }

    /// Does it blame some of the locations of the other one, and no further ones?
    fn blames_less_than(&self, other: &TriedStory) -> bool {
        self.locations.len() < other.locations.len() && self.locations.is_subset(&other.locations)
    }

    /// Does it blame all that the other one blames and something else, which makes no difference?
    pub fn only_surrounds(&self, other: &TriedStory) -> bool {
        let more = self.experiment.evidence.effect() - other.experiment.evidence.effect();
        other.blames_less_than(self) && more < BETTER / 2.0
    }

    /// Does it blame more locations than another interruption, and still not all fails by it? What the rest adds may be chance.
    fn only_adds_to(&self, other: &TriedStory) -> bool {
        self.is_interruption
            && other.is_interruption
            && self.experiment.evidence.without.fails > 0
            && other.blames_less_than(self)
    }

    /// Is it an interruption without which nothing fails, that is complete before an order of which it has a part? With that
    /// order all fails since it goes on to what came of this.
    fn leads_to(&self, other: &TriedStory) -> bool {
        let (own, later) = (&self.experiment, &other.experiment);
        self.is_interruption
            && !other.is_interruption
            && !other.is_use_after_free
            && !self.is_looser_than(other)
            && own.evidence.without.fails == 0
            && own.evidence.with.value() > MOSTLY
            && own.orders.complete < later.orders.complete
            && !self.locations.is_disjoint(&other.locations)
    }

    /// Is it an interruption that is cause enough, and over before the other one begins? What came after it came of it.
    fn is_over_before(&self, other: &TriedStory) -> bool {
        let (own, later) = (&self.experiment, &other.experiment);
        self.is_interruption
            && other.is_interruption
            && own.evidence.is_cause()
            && own.evidence.suffices()
            && !self.spans_visits
            && own.orders.complete < later.begins
    }

    /// Is it an interruption without which nothing fails, and that lies within the steps of the other one, in a function which
    /// these call? What those have around it is how it comes about, or what comes of it.
    fn is_within(&self, other: &TriedStory) -> bool {
        let (own, known) = (&self.experiment, &other.experiment);
        self.is_interruption
            && other.is_interruption
            && self.experiment.evidence.is_cause()
            && self.thread == other.thread
            && self.thread.is_some()
            && self.calls > other.calls
            && own.begins > known.begins
            && own.orders.complete <= known.orders.complete
    }

    /// Is it an interruption without which nothing fails, of steps that more calls have in common, and makes no less of a difference?
    /// One call that is interrupted is nearer than two of them between which something comes.
    fn is_of_one_call(&self, other: &TriedStory, more: f64) -> bool {
        self.is_interruption
            && other.is_interruption
            && self.is_needed()
            && more >= 0.0
            && self.calls > other.calls
            && !self.spans_visits
            && !self.is_symptom
    }

    /// Did what came in between the steps of the other one come of this? Its thread had been interrupted itself, behind a look at
    /// one variable: it did it on what it had seen before, and nothing fails without that, however much more the failure takes.
    fn is_behind_the_intruder_of(&self, other: &TriedStory) -> bool {
        let (own, steps) = (&self.experiment, &other.experiment.orders.with);
        self.is_interruption
            && other.is_interruption
            && self.begins_with_look
            && self.locations.len() == 1
            && self.is_needed()
            && own.evidence.with.value() >= SELDOM
            && !self.spans_visits
            && !self.is_symptom
            && self.thread.is_some()
            && self.thread != other.thread
            && own
                .orders
                .with
                .iter()
                .max()
                .is_some_and(|last| steps.contains(last))
            && own.begins < other.experiment.begins
    }

    /// Did the thread that found things half done go there on what it had seen before, and is it interrupted behind that look? What
    /// the other one says is no more than what it found there, however it came about.
    fn is_the_look_before(&self, other: &TriedStory) -> bool {
        let (own, found) = (&self.experiment, &other.experiment);
        self.is_interruption
            && other.is_interruption
            && self.begins_with_look
            && !other.begins_with_look
            && other.is_symptom
            && self.is_needed()
            && own.evidence.with.value() >= SELDOM
            && !self.spans_visits
            && self.thread == other.thread
            && self.thread.is_some()
            && self.ends_at == other.ends_at
            && own.begins < found.begins
            && !self.locations.is_disjoint(&other.locations)
    }

    /// Does nothing fail without this interruption of a look at a number, of which the other one says that it was counted?
    fn looks_at_what_is_counted_in(&self, other: &TriedStory) -> bool {
        let evidence = self.experiment.evidence;
        other.is_counting
            && !self.is_counting
            && self.is_interruption
            && self.locations == other.locations
            && evidence.is_cause()
            && evidence.with.value() > MOSTLY
    }

    /// Does nothing fail without it, where all was decided before the other one began?
    fn is_in_time_for(&self, other: &TriedStory) -> bool {
        let comes_of_it = |story: &TriedStory| story.is_too_late || story.is_inevitable;
        comes_of_it(other) && !comes_of_it(self) && self.experiment.evidence.is_cause()
    }

    /// Does nothing fail without it, where most passing runs have what the other one blames, without harm?
    fn is_rarer_in_passing_than(&self, other: &TriedStory) -> bool {
        other.is_usual && !self.is_usual && self.experiment.evidence.is_cause()
    }

    /// Nothing fails without either, but only this one has a step that decides: the other may be a way there, or what
    /// comes of it.
    pub fn is_nearer_than(&self, other: &TriedStory) -> bool {
        let evidence = self.experiment.evidence;
        let may_come_of_it = self.is_symptom || self.is_use_after_free;
        evidence.is_cause()
            && evidence.with.value() > MOSTLY
            && self.decides
            && !other.decides
            && !may_come_of_it
    }

    /// Returns whether this story is told rather than the other one. A story of much more effect comes before one of
    /// less, and one without which nothing fails before one that the program fails without as well. A story that ends
    /// with what the check reads says no more than that the check fails: it gives way to one that was complete before
    /// and is about as good, and to an interruption without which nothing fails, however often that is enough by
    /// itself. An order without which nothing fails may just be the way there.
    pub fn is_better_than(&self, other: Option<&TriedStory>) -> bool {
        let Some(other) = other else {
            return self.is_settled();
        };
        // An order of several variables that is clear gives way to a part of it only, and to what led there.
        let goes_before = self.is_part_of(other) || self.leads_to(other);
        if other.is_final() && !other.is_interruption && !goes_before {
            return false;
        }
        let (own, known) = (self.experiment.evidence, other.experiment.evidence);
        let more = own.effect() - known.effect();
        let is_earlier = self.experiment.orders.complete < other.experiment.orders.complete;
        let replaces_symptom = other.is_symptom && !self.is_symptom && is_earlier;
        // The program fails without the other one as well: that may be one of several things which come of this.
        let least = match self.is_interruption && own.is_cause() {
            true => -BETTER,
            false => 0.0,
        };
        let explains_all = own.is_necessary() && !known.is_necessary() && more > least;
        let is_cause = self.is_interruption && own.is_necessary() || more > -BETTER / 2.0;
        let says_less = self.is_symptom && !other.is_symptom && known.is_necessary();
        let is_nearer = self.is_nearer_than(other) && known.is_necessary();
        let is_of_one_visit = self.is_of_one_visit(other);
        let is_within = self.is_within(other) && !self.spans_visits;
        let leads_there = self.leads_to(other);
        let is_rarer = self.is_rarer_in_passing_than(other);
        let is_look = self.looks_at_what_is_counted_in(other);
        let is_behind = self.is_behind_the_intruder_of(other);
        let is_look_before = self.is_the_look_before(other);
        let is_before = is_of_one_visit
            || is_within
            || leads_there
            || is_rarer
            || is_look
            || is_behind
            || is_look_before;
        let is_farther =
            other.is_nearer_than(self) && !is_before || self.is_farther_than(other, more);
        let is_better = more >= BETTER && !says_less
            || (is_nearer
                || self.is_part_of(other)
                || is_of_one_visit
                || self.is_over_before(other)
                || self.is_more_needed_than(other)
                || self.is_in_time_for(other)
                || is_rarer)
                && more > -BETTER / 2.0
            || explains_all
            || is_within
            || leads_there
            || is_look
            || is_behind
            || is_look_before
            || self.is_of_one_call(other, more)
            || replaces_symptom && self.spans && is_cause
            || self.has_more_than(other) && own.is_necessary() && more > -BETTER / 2.0;
        own.tells() && is_better && !is_farther
    }

    /// Does the other one come before it, of which it has this much more effect?
    fn is_farther_than(&self, other: &TriedStory, more: f64) -> bool {
        other.is_of_one_visit(self) && more < BETTER
            || other.is_within(self) && other.experiment.evidence.is_cause()
            || other.leads_to(self)
            || other.is_behind_the_intruder_of(self)
            || other.is_the_look_before(self)
            || other.looks_at_what_is_counted_in(self)
            || (other.is_rarer_in_passing_than(self)
                || other.is_more_needed_than(self)
                || other.is_in_time_for(self))
                && more < BETTER
            || (self.only_adds_to(other) || other.is_part_of(self)) && more < BETTER
    }

    /// Do experiments leave open which of two interruptions decides? Nothing fails without either, and neither is the nearer one.
    pub fn is_as_good_as(&self, other: &TriedStory) -> bool {
        let more = self.experiment.evidence.effect() - other.experiment.evidence.effect();
        let are_interruptions = self.is_interruption && other.is_interruption;
        are_interruptions
            && self.is_needed()
            && other.is_needed()
            && more.abs() < BETTER / 2.0
            && !self.is_symptom
            && !self.is_looser_than(other)
            && !other.is_nearer_than(self)
            && !other.is_over_before(self)
            && !self.is_farther_than(other, more)
    }
}
