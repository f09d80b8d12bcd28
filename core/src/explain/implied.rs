//! Orders that follow from others: with two accesses in one order, others of the same threads have no choice.

use super::view::View;
use unsnarl_trace::EventId;

/// Returns whether steps come in their order wherever those of a story do, because each thread goes through its own in one
/// order and locks keep sections whole. `story` and `steps` are rows of the view's run in their order there.
pub(super) fn follows(view: &View, story: &[EventId], steps: &[EventId]) -> bool {
    let known = Known {
        view,
        edges: crossings(view, story),
    };
    let steps = crossings(view, steps);
    let mut edges = steps.iter();
    !steps.is_empty() && edges.all(|(before, after)| known.orders(*before, *after))
}

/// Steps of a sequence after which another thread takes the next one.
fn crossings(view: &View, rows: &[EventId]) -> Vec<(EventId, EventId)> {
    let pairs = rows.iter().zip(rows.iter().skip(1));
    let crossing = pairs.filter(|(a, b)| view.thread(**a) != view.thread(**b));
    crossing.map(|(a, b)| (*a, *b)).collect()
}

/// The known orders of steps.
struct Known<'a> {
    view: &'a View<'a>,
    /// Steps of different threads, of which the first comes before the second.
    edges: Vec<(EventId, EventId)>,
}

impl Known<'_> {
    /// Does a row come before another one: by itself, or because one lock is held around each of them?
    fn orders(&self, before: EventId, after: EventId) -> bool {
        let orders = &self.view.orders;
        let later = orders.locks_held(after);
        self.reaches(&self.edges, before, after)
            || orders.locks_held(before).iter().any(|section| {
                let mut same = later.iter().filter(|other| other.lock == section.lock);
                same.any(|other| {
                    let ends = other.released.unwrap_or(after);
                    self.reaches(&self.edges, section.acquired, ends)
                })
            })
    }

    /// Does a chain of known orders lead from one row to another one?
    fn reaches(&self, edges: &[(EventId, EventId)], from: EventId, to: EventId) -> bool {
        let is_before = |a: EventId, b: EventId| a == b || self.view.is_forced(a, b);
        is_before(from, to)
            || edges.iter().enumerate().any(|(at, (before, after))| {
                // Orders of a story lead forwards: those that come first have been passed.
                let rest = edges.get(at + 1..).unwrap_or_default();
                is_before(from, *before) && self.reaches(rest, *after, to)
            })
    }
}
