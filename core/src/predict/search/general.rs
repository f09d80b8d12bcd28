//! Search for patterns of any number of events, threads, variables and regions: assignments are enumerated
//! event by event, and abandoned as soon as an order or a region contradicts.
//!
//! Of the accesses of a region by one line to one location with the same locks the first and the last of each
//! epoch are tried.

use super::{
    classes::{RunClasses, does},
    found::FoundCandidates,
    places::SiteLines,
};
use crate::{
    Budget, StopReason,
    predict::{AccessType, ForcedOrder, Pattern, PatternEvent, RegionId},
};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, LocationId, ThreadId};

/// Bound on the assignments of single events tried for one pattern.
const TRIES: u64 = 4_000_000;

/// Number of tries between two polls of the budget.
const POLL: u64 = 1 << 12;

/// Searches for the patterns one by one.
pub(super) fn search(
    graph: &ForcedOrder<'_>,
    places: &SiteLines,
    classes: &RunClasses,
    patterns: &[(usize, &Pattern)],
    budget: &Budget,
    found: &mut FoundCandidates,
) -> Option<StopReason> {
    if patterns.is_empty() {
        return None;
    }
    let domain = Domain::new(graph, classes);
    let mut stopped = None;
    for &(number, pattern) in patterns {
        let mut assignment = Assignment {
            graph,
            places,
            classes,
            domain: &domain,
            number,
            pattern,
            budget,
            found,
            events: Vec::new(),
            tries: 0,
            stopped: None,
        };
        assignment.extend();
        stopped = stopped.or(assignment.stopped);
    }
    stopped
}

/// An access that can be assigned.
#[derive(Clone, Copy)]
struct AssignableAccess {
    event: EventId,
    thread: ThreadId,
    location: LocationId,
    region: Option<RegionId>,
    does: u8,
}

/// Domain of an event of the pattern.
struct Domain {
    /// For events that share their region with others: by region, those of one region of each shape.
    together: Vec<AssignableAccess>,
    of_region: FxHashMap<RegionId, (usize, usize)>,
    /// For other events: one access of each class and epoch.
    alone: Vec<AssignableAccess>,
}

impl Domain {
    fn new(graph: &ForcedOrder<'_>, classes: &RunClasses) -> Domain {
        let mut together = Vec::new();
        let mut of_region = FxHashMap::default();
        for region in &classes.regions {
            let Some(id) = graph.regions().at(region.thread, region.first) else {
                continue;
            };
            let stretches = classes.stretches.get(region.thread.index());
            let from = together.len();
            let mut choices: Vec<AssignableAccess> = Vec::new();
            let mut ends: FxHashMap<_, (usize, usize)> = FxHashMap::default();
            for &event in graph.events_of_region(id) {
                let Some(choice) = choice(graph, event) else {
                    continue;
                };
                let site = graph.run().events.site(event);
                let epoch = stretches.map_or(0, |stretches| stretches.epoch(event));
                let key = (
                    choice.location,
                    site,
                    choice.does,
                    graph.lockset(event),
                    epoch,
                );
                let at = choices.len();
                ends.entry(key).or_insert((at, at)).1 = at;
                choices.push(choice);
            }
            let mut kept: Vec<usize> = ends.into_values().flat_map(|(a, b)| [a, b]).collect();
            kept.sort_unstable();
            kept.dedup();
            together.extend(kept.into_iter().filter_map(|at| choices.get(at).copied()));
            of_region.insert(id, (from, together.len()));
        }
        let classes_of = 0..classes.accesses.keys.len() as u32;
        let members = classes_of.flat_map(|class| classes.accesses.members(class));
        let mut alone: Vec<AssignableAccess> =
            members.filter_map(|&event| choice(graph, event)).collect();
        alone.sort_by_key(|choice| choice.event);
        Domain {
            together,
            of_region,
            alone,
        }
    }

    fn of_region(&self, region: RegionId) -> &[AssignableAccess] {
        let range = self.of_region.get(&region);
        let range = range.and_then(|&(from, to)| self.together.get(from..to));
        range.unwrap_or(&[])
    }
}

fn choice(graph: &ForcedOrder<'_>, event: EventId) -> Option<AssignableAccess> {
    let kind = graph.kind(event);
    let location = graph.run().events.location(event);
    let bit = |on: bool, bit: u8| if on { bit } else { 0 };
    (kind.is_access() && graph.accesses().is_shared(location)).then_some(AssignableAccess {
        event,
        thread: graph.thread(event),
        location,
        region: graph.region(event),
        does: bit(kind.reads(), does::READ)
            | bit(kind.writes(), does::WRITE)
            | bit(kind.is_atomic(), does::ATOMIC),
    })
}

struct Assignment<'a> {
    graph: &'a ForcedOrder<'a>,
    places: &'a SiteLines,
    classes: &'a RunClasses,
    domain: &'a Domain,
    number: usize,
    pattern: &'a Pattern,
    budget: &'a Budget,
    found: &'a mut FoundCandidates,
    events: Vec<AssignableAccess>,
    tries: u64,
    stopped: Option<StopReason>,
}

impl<'a> Assignment<'a> {
    /// Assigns the next event in all possible ways.
    fn extend(&mut self) {
        let Some(&step) = self.pattern.steps.get(self.events.len()) else {
            return self.complete();
        };
        let domain: &'a Domain = self.domain;
        let choices = match self.region(&step) {
            Some(region) => domain.of_region(region),
            None if self.shares_region(&step) => &domain.together,
            None => &domain.alone,
        };
        for &choice in choices {
            if self.over() {
                return;
            }
            if self.agrees(&step, &choice) {
                self.events.push(choice);
                if self.let_in() {
                    self.extend();
                }
                self.events.pop();
            }
        }
    }

    fn over(&mut self) -> bool {
        self.tries += 1;
        if self.tries > TRIES {
            self.stopped = Some(StopReason::TooMuch(
                "a pattern of the user's fits in too many ways; 4,000,000 assignments were tried",
            ));
        } else if self.tries.is_multiple_of(POLL) {
            self.stopped = self.stopped.or(self.budget.stop());
        }
        self.stopped.is_some()
    }

    fn assigned(&self) -> impl Iterator<Item = (&PatternEvent, &AssignableAccess)> {
        self.pattern.steps.iter().zip(&self.events)
    }

    /// The region that the step's label is bound to.
    fn region(&self, step: &PatternEvent) -> Option<RegionId> {
        let mut assigned = self.assigned();
        let same = assigned.find(|(other, _)| other.region == step.region);
        same.and_then(|(_, choice)| choice.region)
    }

    fn shares_region(&self, step: &PatternEvent) -> bool {
        let steps = self.pattern.steps.iter();
        steps.filter(|other| other.region == step.region).count() > 1
    }

    /// Returns whether the labels and the order permit the choice.
    fn agrees(&self, step: &PatternEvent, choice: &AssignableAccess) -> bool {
        let wanted = match step.access {
            AccessType::Read => does::READ,
            AccessType::Write => does::WRITE,
        };
        choice.does & wanted != 0
            && self.assigned().all(|(other, known)| {
                let same_region = choice.region.is_some() && known.region == choice.region;
                (known.thread == choice.thread) == (other.thread == step.thread)
                    && (known.location == choice.location) == (other.variable == step.variable)
                    && same_region == (other.region == step.region)
                    && self.in_order(known, choice)
            })
            && !(self.pattern.consecutive && self.apart(choice))
    }

    fn in_order(&self, earlier: &AssignableAccess, later: &AssignableAccess) -> bool {
        if earlier.thread == later.thread {
            earlier.event < later.event
        } else {
            !self.graph.before(later.event, earlier.event)
        }
    }

    /// Returns whether something prevents the choice from being adjacent to the earlier events.
    fn apart(&self, choice: &AssignableAccess) -> bool {
        self.events.iter().any(|known| {
            known.does & choice.does & does::ATOMIC != 0
                || !self.graph.independent(known.event, choice.event)
        })
    }

    /// Returns whether the events between the newest one and its thread's preceding one have places there.
    fn let_in(&self) -> bool {
        let Some((last, before)) = self.events.split_last() else {
            return true;
        };
        let mine = before
            .iter()
            .rposition(|choice| choice.thread == last.thread);
        let Some(at) = mine else {
            return true;
        };
        let foreign = before.get(at + 1..).unwrap_or(&[]);
        let first = before.get(at).map_or(last.event, |choice| choice.event);
        self.fit(first, last.event, last.thread, foreign)
    }

    /// Returns whether there are places between the two events, in order, where no lock and no order excludes
    /// the foreign events.
    fn fit(
        &self,
        first: EventId,
        last: EventId,
        thread: ThreadId,
        foreign: &[AssignableAccess],
    ) -> bool {
        let Some(stretches) = self.classes.stretches.get(thread.index()) else {
            return false;
        };
        let mut places = stretches.between(first, last).iter().peekable();
        foreign.iter().all(|choice| {
            let order = self.graph.order();
            let (event, of) = (choice.event, choice.thread.0);
            let lockset = self.graph.lockset(event);
            let keeps_out = |start: u32, held| {
                self.graph.locksets().common(held, lockset).is_some()
                    || event.0 < order.known(EventId(start), thread.0, of)
                    || event.0 >= order.known_from(EventId(start + 1), thread.0, of)
            };
            while places.next_if(|s| keeps_out(s.start, s.lockset)).is_some() {}
            places.peek().is_some()
        })
    }

    fn complete(&mut self) {
        let events: Vec<EventId> = self.events.iter().map(|choice| choice.event).collect();
        let run = self.graph.run();
        let line = |event: &EventId| self.places.of(run.events.site(*event));
        let lines: Vec<u32> = events.iter().map(line).collect();
        if !self.found.enough_of(self.number, &lines) {
            self.found
                .add_of(self.number, self.pattern, &lines, &events);
        }
    }
}
