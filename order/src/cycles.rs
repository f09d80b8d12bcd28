//! Cycles of requests for locks: each wants a lock that the next one holds.

/// Requests whose cycles are searched, by number.
pub trait Requests {
    /// Number of requests.
    fn count(&self) -> usize;

    /// Requests that may hold what this one wants, ascending.
    fn holders(&self, request: usize) -> &[usize];

    /// Returns whether one wants a lock that the other one holds.
    fn waits_for(&self, request: usize, holder: usize) -> bool;

    /// Returns whether the threads of two requests can stand at them at once.
    fn at_once(&self, a: usize, b: usize) -> bool;

    /// Called before each extension of a cycle; the search ends when it returns `false`.
    fn go_on(&mut self) -> bool;

    /// Called for each cycle, once, from its lowest request on; the search ends when it returns `false`.
    fn found(&mut self, cycle: &[usize]) -> bool;
}

/// Finds the cycles of at least two requests, in the order of their numbers.
pub fn cycles(requests: &mut impl Requests) {
    for first in 0..requests.count() {
        if !extend(requests, &mut vec![first]) {
            return;
        }
    }
}

/// Extends a path after its last request; `false` ends the search.
fn extend(requests: &mut impl Requests, path: &mut Vec<usize>) -> bool {
    let (Some(&first), Some(&last)) = (path.first(), path.last()) else {
        return true;
    };
    if path.len() > 1 && requests.waits_for(last, first) && !requests.found(path) {
        return false;
    }
    let later = requests.holders(last).iter().copied();
    let later: Vec<usize> = later.filter(|next| *next > first).collect();
    for next in later {
        if !requests.go_on() {
            return false;
        }
        if requests.waits_for(last, next) && path.iter().all(|&on| requests.at_once(on, next)) {
            path.push(next);
            let goes_on = extend(requests, path);
            path.pop();
            if !goes_on {
                return false;
            }
        }
    }
    true
}
