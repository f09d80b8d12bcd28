//! What the analysis predicts from one run, the likeliest to fail first.

use super::{runs::Subject, sound::Sound};
use std::{
    cmp::Reverse,
    time::{Duration, Instant},
};
use unsnarl_core::{
    Budget, StopReason,
    predict::{
        Candidate, Class, Graph, RegionOptions, Regions, SearchOptions, UserPatterns, deadlock,
        schedule::Scheduler, search,
    },
};
use unsnarl_trace::{EventId, Run};

/// Anomalies of one pattern on the same lines: when the first is not feasible another one may be.
const ALTERNATIVES: usize = 3;

/// What was predicted from a run.
pub struct Predicted {
    /// The anomalies, those likeliest to fail first.
    pub candidates: Vec<Candidate>,
    /// Why the search for them ended.
    pub stopped: StopReason,
    /// How long it took, orders of events included.
    pub time: Duration,
}

/// Predicts with all patterns, and deadlocks, and what only the second predictor finds. Atomic are critical sections, functions that hold a lock, what the user says,
/// and what other passing runs suggest.
pub fn predict(
    subject: &Subject,
    scheduler: &Scheduler<'_>,
    sound: &Sound<'_>,
    patterns: &UserPatterns,
    budget: &Budget,
) -> Predicted {
    let begin = Instant::now();
    let run = &*subject.run;
    let graph = Graph::new(run);
    let regions = RegionOptions {
        annotations: patterns.regions.clone(),
        inferred: subject.inferred.clone(),
        ..RegionOptions::default()
    };
    let regions = Regions::new(&graph, &regions);
    let graph = graph.with_regions(regions);
    let options = SearchOptions {
        per_lines: ALTERNATIVES,
    };
    let anomalies = search(&graph, &patterns.patterns, &options, budget);
    let deadlocks = deadlock::predict(&graph, scheduler, budget);
    let mut candidates = anomalies.findings;
    candidates.extend(deadlocks.findings);
    let of_sound = sound.complete(&mut candidates, budget);
    candidates.sort_by_key(|candidate| Reverse(likeliness(run, candidate)));
    Predicted {
        candidates,
        stopped: [anomalies.stopped, deadlocks.stopped, of_sound]
            .into_iter()
            .find(|stopped| *stopped != StopReason::Complete)
            .unwrap_or(StopReason::Complete),
        time: begin.elapsed(),
    }
}

/// How likely a candidate is to make the program fail: deadlocks do, then what asserts look at or pointers
/// are followed by, then what loses updates; of equal ones what lies closest together.
fn likeliness(run: &Run, candidate: &Candidate) -> (u8, bool, u8, Reverse<u32>) {
    let class = match candidate.class {
        Class::User => 4,
        Class::Deadlock => 3,
        Class::Atomicity => 2,
        Class::AtomicSet => 1,
        Class::Race => 0,
    };
    let events = || candidate.events.iter().filter_map(|id| run.events.get(*id));
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
