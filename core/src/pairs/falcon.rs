//! Falcon (Park, Vuduc, Harrold: "Falcon: Fault Localization in Concurrent Programs"), the baseline that
//! LOCON is compared with.
//!
//! A window of fixed size slides over the accesses of each location. When it is full, its oldest access forms
//! patterns: with the accesses behind it that have no serial order (two of its thread, one of another in
//! between), or, if there are none, with the first conflicting access of another thread. A read after an
//! access of the same thread does not enter the window. Over many runs each pattern gets a Jaccard score: the
//! share of failing runs among those that failed or have the pattern.

use super::{
    collect::access_key,
    keys::{AccessClass, AccessKey},
};
use crate::orders::Accesses;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use unsnarl_trace::{EventId, EventKind, Run};

/// Number of accesses in a window.
pub const WINDOW: usize = 10;

/// Ordered accesses: two of two threads, or three of which the middle one is another thread's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FalconPattern {
    /// The first access.
    pub first: AccessKey,
    /// The other thread's access.
    pub remote: AccessKey,
    /// The first thread's second access, in unserializable patterns.
    pub second: Option<AccessKey>,
}

/// A pattern with its statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspicious {
    /// The pattern.
    pub pattern: FalconPattern,
    /// Number of failing runs with it.
    pub failing: u32,
    /// Number of passing runs with it.
    pub passing: u32,
}

/// Numbers of failing and passing runs with each pattern.
#[derive(Clone, Debug, Default)]
pub struct Falcon {
    failed: u32,
    patterns: FxHashMap<FalconPattern, (u32, u32)>,
}

impl Falcon {
    /// Adds a run.
    pub fn insert(&mut self, patterns: &[FalconPattern], failed: bool) {
        self.failed += u32::from(failed);
        for pattern in patterns {
            let counts = self.patterns.entry(*pattern).or_default();
            match failed {
                true => counts.0 += 1,
                false => counts.1 += 1,
            }
        }
    }

    /// The patterns of failing runs, the most suspicious first; ties in no meaningful order.
    pub fn ranked(&self) -> Vec<Suspicious> {
        let of_failing = self.patterns.iter().filter(|(_, counts)| counts.0 > 0);
        let suspicious =
            |(&pattern, &(failing, passing)): (&FalconPattern, &(u32, u32))| Suspicious {
                pattern,
                failing,
                passing,
            };
        let mut ranked: Vec<Suspicious> = of_failing.map(suspicious).collect();
        ranked.sort_by(|a, b| {
            let score = |s: &Suspicious| self.score(s);
            score(b)
                .total_cmp(&score(a))
                .then(a.pattern.cmp(&b.pattern))
        });
        ranked
    }

    /// Jaccard index of the pattern, from 0 to 1.
    pub fn score(&self, suspicious: &Suspicious) -> f64 {
        f64::from(suspicious.failing) / f64::from((self.failed + suspicious.passing).max(1))
    }
}

/// The patterns of a run, sorted.
pub fn patterns(run: &Run, accesses: &Accesses, window: usize) -> Vec<FalconPattern> {
    let mut found = FxHashSet::default();
    for location in accesses.shared() {
        let mut entries: VecDeque<WindowAccess> = VecDeque::new();
        for &row in accesses.of(location) {
            let Some(entry) = WindowAccess::of(run, row) else {
                continue;
            };
            if entry.is_read_again(entries.back()) {
                continue;
            }
            entries.push_back(entry);
            if entries.len() >= window.max(2) {
                oldest(&entries, &mut found);
                entries.pop_front();
            }
        }
        while !entries.is_empty() {
            oldest(&entries, &mut found);
            entries.pop_front();
        }
    }
    let mut found: Vec<FalconPattern> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// An access in the window.
#[derive(Clone, Copy)]
struct WindowAccess {
    thread: u16,
    class: AccessClass,
    key: AccessKey,
}

impl WindowAccess {
    fn of(run: &Run, row: EventId) -> Option<WindowAccess> {
        let kind = EventKind::from_u8(*run.events.kinds().get(row.index())?)?;
        Some(WindowAccess {
            thread: *run.events.threads().get(row.index())?,
            class: AccessClass::of(kind)?,
            key: access_key(run, row),
        })
    }

    fn is_read_again(&self, last: Option<&WindowAccess>) -> bool {
        !self.writes() && last.is_some_and(|last| last.thread == self.thread)
    }

    fn reads(&self) -> bool {
        self.class != AccessClass::Write
    }

    fn writes(&self) -> bool {
        self.class != AccessClass::Read
    }
}

/// Records the patterns that the oldest access begins.
fn oldest(entries: &VecDeque<WindowAccess>, found: &mut FxHashSet<FalconPattern>) {
    let Some(first) = entries.front() else { return };
    let is_own = |entry: &&WindowAccess| entry.thread == first.thread;
    let rest = || entries.iter().skip(1);
    let between = rest().take_while(|entry| !is_own(entry));
    let mut any = false;
    if let Some(second) = rest().find(is_own) {
        for remote in between.filter(|remote| breaks(first, remote, second)) {
            any = true;
            found.insert(FalconPattern {
                first: first.key,
                remote: remote.key,
                second: Some(second.key),
            });
        }
    }
    let other = rest().find(|entry| !is_own(entry));
    if let Some(remote) = other.filter(|other| !any && (first.writes() || other.writes())) {
        found.insert(FalconPattern {
            first: first.key,
            remote: remote.key,
            second: None,
        });
    }
}

/// Returns whether no serial order is equivalent: the five unserializable triples.
fn breaks(first: &WindowAccess, remote: &WindowAccess, second: &WindowAccess) -> bool {
    remote.writes() && (first.reads() || second.reads() || first.writes() && second.writes())
        || remote.reads() && first.writes() && second.writes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    /// Patterns as classes and lines, a line each.
    fn check(text: &str, window: usize, expected: &[&str]) {
        let run = run(text);
        let accesses = Accesses::new(&run);
        let words: FxHashMap<AccessKey, String> = run
            .events
            .iter()
            .filter_map(|(row, event)| {
                let letter = AccessClass::of(event.kind)?.letter();
                let line = run.meta.site(event.site).line;
                Some((access_key(&run, row), format!("{letter}{line}")))
            })
            .collect();
        let word = |key: &AccessKey| words[key].clone();
        let found = patterns(&run, &accesses, window);
        let mut found: Vec<String> = found
            .iter()
            .map(|p| {
                let keys = [Some(p.first), Some(p.remote), p.second];
                let words: Vec<String> = keys.iter().flatten().map(word).collect();
                words.join(" ")
            })
            .collect();
        found.sort();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn unserializable_triples_come_before_conflicts() {
        for (first, remote, second) in [
            ("R", "W", "R"),
            ("W", "W", "R"),
            ("R", "W", "W"),
            ("W", "R", "W"),
            ("W", "W", "W"),
        ] {
            let text = format!("main.1 {first} x @1\nmain.2 {remote} x @2\nmain.1 {second} x @3");
            let triple = format!("{first}1 {remote}2 {second}3");
            let behind = format!("{remote}2 {second}3");
            let mut expected = vec![triple.as_str()];
            if remote == "W" || second == "W" {
                expected.push(&behind);
            }
            expected.sort_unstable();
            check(&text, WINDOW, &expected);
        }
        check(
            "main.1 W x @1\nmain.2 R x @2\nmain.1 R x @3",
            WINDOW,
            &["W1 R2"],
        );
    }

    #[test]
    fn a_read_behind_an_own_write_is_not_taken() {
        // Bug 4 of the paper: the first read of the real pattern R W R is lost.
        let text = "main.1 W x @1\nmain.1 R x @2\nmain.2 W x @3\nmain.1 R x @4";
        check(text, WINDOW, &["W1 W3 R4", "W3 R4"]);
    }

    #[test]
    fn what_is_farther_apart_than_the_window_is_not_seen() {
        let between = "main.2 W x @5\nmain.3 W x @6\n".repeat(2);
        let text = format!("main.1 R x @1\n{between}main.1 R x @2");
        let sees = |window| {
            let run = run(&text);
            let patterns = patterns(&run, &Accesses::new(&run), window);
            patterns
                .iter()
                .filter(|pattern| pattern.second.is_some())
                .count()
        };
        assert!(sees(6) > sees(3));
    }

    #[test]
    fn patterns_of_failing_runs_only_score_best() {
        let pattern = |n| FalconPattern {
            first: AccessKey(n),
            remote: AccessKey(n),
            second: None,
        };
        let mut falcon = Falcon::default();
        falcon.insert(&[pattern(1), pattern(2)], true);
        falcon.insert(&[pattern(1), pattern(3)], false);
        let ranked = falcon.ranked();
        let order: Vec<u64> = ranked.iter().map(|s| s.pattern.first.0).collect();
        assert_eq!(order, [2, 1]);
        assert_eq!(falcon.score(&ranked[0]), 1.0);
        assert_eq!(falcon.score(&ranked[1]), 0.5);
    }
}
