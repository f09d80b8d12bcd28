//! Predictions from one run, the likeliest to fail first.

use super::{runs::PredictedRun, sound::Sound};
use std::{
    cmp::Reverse,
    collections::BTreeSet,
    time::{Duration, Instant},
};
use unsnarl_core::{
    Budget, StopReason,
    orders::Accesses,
    predict::{
        AnomalyCandidate, Class, ForcedOrder, Patterns, RegionOptions, Regions, SearchOptions,
        UserPatterns, deadlock, schedule::Scheduler, search,
    },
};
use unsnarl_trace::{EventId, Run};

/// Number of anomalies of one pattern on the same lines: when the first is not feasible another one may be.
const ALTERNATIVES: usize = 3;

/// Counts of the items that a search examined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LookedAt {
    /// Locations that several threads access and one writes.
    pub locations: usize,
    /// Regions that are meant to be atomic.
    pub regions: usize,
    /// Critical sections.
    pub sections: usize,
}

/// The predictions from a run.
pub struct Predicted {
    /// The anomalies, those likeliest to fail first.
    pub candidates: Vec<AnomalyCandidate>,
    /// Counts of the examined items.
    pub looked_at: LookedAt,
    /// The reason for which the search ended.
    pub stopped: StopReason,
    /// Time that it took, including the orders of events.
    pub time: Duration,
}

/// Predicts anomalies by all patterns, deadlocks, and what only the second predictor finds. Critical sections are
/// taken to be atomic, and functions that hold a lock, what the user says, and what other passing runs suggest.
pub fn predict(
    subject: &PredictedRun,
    scheduler: &Scheduler<'_>,
    sound: &Sound<'_>,
    patterns: &UserPatterns,
    budget: &Budget,
) -> Predicted {
    let begin = Instant::now();
    let run = &*subject.run;
    let graph = ForcedOrder::new(run);
    let regions = RegionOptions {
        annotations: patterns.regions.clone(),
        inferred: subject.inferred.clone(),
        ..RegionOptions::default()
    };
    let narrow = Regions::new(&graph, &regions);
    let graph = graph.with_regions(narrow);
    let options = SearchOptions {
        per_lines: ALTERNATIVES,
    };
    let anomalies = search(&graph, &patterns.patterns, &options, budget);
    let deadlocks = deadlock::predict(&graph, scheduler, budget);
    let mut candidates = anomalies.findings;
    let mut looked_at = LookedAt {
        locations: Accesses::new(run).shared().count(),
        regions: graph.regions().all().len(),
        sections: graph.locks().sections().len(),
    };
    let wider = RegionOptions {
        callers: true,
        ..regions
    };
    let wider = Regions::new(&graph, &wider);
    let mut of_callers = StopReason::Complete;
    if wider != *graph.regions() {
        looked_at.regions += wider.all().len();
        let graph = graph.with_regions(wider);
        let found = search(&graph, &in_regions(patterns), &options, budget);
        add_new(run, &mut candidates, found.findings);
        of_callers = found.stopped;
    }
    candidates.extend(deadlocks.findings);
    let of_sound = sound.complete(&mut candidates, budget);
    candidates.sort_by_key(|candidate| Reverse(likeliness(run, candidate)));
    Predicted {
        candidates,
        looked_at,
        stopped: [anomalies.stopped, of_callers, deadlocks.stopped, of_sound]
            .into_iter()
            .find(|stopped| *stopped != StopReason::Complete)
            .unwrap_or(StopReason::Complete),
        time: begin.elapsed(),
    }
}

/// The patterns that depend on regions.
fn in_regions(patterns: &UserPatterns) -> Patterns {
    let all = patterns.patterns.all.iter();
    let of_regions =
        all.filter(|pattern| matches!(pattern.class, Class::Atomicity | Class::AtomicSet));
    Patterns {
        all: of_regions.cloned().collect(),
    }
}

/// Adds the candidates whose patterns and lines are not known yet.
fn add_new(run: &Run, candidates: &mut Vec<AnomalyCandidate>, found: Vec<AnomalyCandidate>) {
    let sites = run.events.sites();
    let key = |one: &AnomalyCandidate| {
        let events = one.events.iter();
        let at: Vec<Option<u32>> = events.map(|id| sites.get(id.index()).copied()).collect();
        (one.pattern.clone(), at)
    };
    let known: BTreeSet<_> = candidates.iter().map(key).collect();
    candidates.extend(found.into_iter().filter(|one| !known.contains(&key(one))));
}

/// Rank of a candidate by its likelihood to make the program fail: deadlocks come first, then accesses that asserts
/// or pointers depend on, then lost updates; of equal ones those whose events lie closest together.
fn likeliness(run: &Run, candidate: &AnomalyCandidate) -> (u8, bool, u8, Reverse<u32>) {
    let class = match candidate.class {
        Class::User => 4,
        Class::Deadlock => 3,
        Class::Atomicity => 2,
        Class::AtomicSet => 1,
        Class::Race | Class::Order => 0,
    };
    let events = || candidate.events.iter().map(|id| run.events.event(*id));
    let asserts = events().any(|event| run.meta.site(event.site).text.contains("assert"));
    let writes = events().filter(|event| event.kind.writes()).count();
    let rows = || candidate.events.iter().map(|EventId(row)| *row);
    let width = rows().max().unwrap_or(0) - rows().min().unwrap_or(0);
    let is_sure = u8::from(matches!(candidate.class, Class::User | Class::Deadlock));
    (
        is_sure,
        asserts,
        class + u8::try_from(writes.min(4)).unwrap_or(4),
        Reverse(width),
    )
}
