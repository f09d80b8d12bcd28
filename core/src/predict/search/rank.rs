//! Ranking of candidates by how likely they are to matter.
//!
//! First come those in which a read sees another value than in the run: only a value that is read can make a
//! program fail. Then those in which another write is the last one. Last those whose events have the order of
//! the run: it did not fail for that. Among equals the events that were nearest to each other come first:
//! little has to change to bring them together, and it happens by itself most often.

use crate::predict::{AnomalyCandidate, Class, ForcedOrder};
use unsnarl_trace::EventId;

/// The candidates, most likely to matter first; ties are settled by class, pattern and events.
pub(super) fn ranked(
    graph: &ForcedOrder<'_>,
    mut candidates: Vec<AnomalyCandidate>,
) -> Vec<AnomalyCandidate> {
    candidates.sort_by_cached_key(|candidate| {
        let rows = || candidate.events.iter().map(|event| event.0);
        let distance = rows().max().unwrap_or(0) - rows().min().unwrap_or(0);
        (
            news(graph, candidate),
            distance,
            class(candidate.class),
            candidate.pattern.clone(),
            candidate.events.clone(),
        )
    });
    candidates
}

fn class(class: Class) -> u8 {
    match class {
        Class::User => 0,
        Class::Deadlock => 1,
        Class::Atomicity => 2,
        Class::AtomicSet => 3,
        Class::Race => 4,
        Class::Order => 5,
    }
}

/// Degree of novelty: 0 if a read changes places with a write, 1 if two writes do, 2 if nothing does.
fn news(graph: &ForcedOrder<'_>, candidate: &AnomalyCandidate) -> u8 {
    let location = |event: EventId| graph.run().events.location(event);
    let mut news = 2;
    for (i, &first) in candidate.events.iter().enumerate() {
        for &second in candidate.events.iter().skip(i + 1) {
            if second < first && location(first) == location(second) {
                let writes = [first, second].map(|event| graph.kind(event).writes());
                let reads = [first, second].map(|event| graph.kind(event).reads());
                if writes[0] && reads[1] || reads[0] && writes[1] {
                    return 0;
                }
                news = news.min(if writes == [true, true] { 1 } else { 2 });
            }
        }
    }
    news
}
