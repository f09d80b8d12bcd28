//! Coverage of interleavings: which pairs of places met on the same data in two threads, and whether
//! they did so both ways round.

use super::{
    conflicts::Conflicts,
    order::{Objects, Touch},
};
use rustc_hash::FxHashMap;
use serde::Serialize;
use unsnarl_trace::{EventKind, Run, SiteRow, Value};

/// Names of places and data, each once.
#[derive(Clone, Debug, Default)]
struct Names {
    ids: FxHashMap<String, u32>,
    list: Vec<String>,
}

impl Names {
    fn id(&mut self, name: String) -> u32 {
        let next = self.list.len() as u32;
        let id = *self.ids.entry(name.clone()).or_insert(next);
        if id == next {
            self.list.push(name);
        }
        id
    }

    fn get(&self, id: u32) -> &str {
        self.list.get(id as usize).map_or("", String::as_str)
    }
}

/// How often a pair was seen each way round. A pair of one place with itself is told apart by which
/// thread was created first.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    forwards: u64,
    backwards: u64,
    /// Some data that they met on.
    data: u32,
}

/// What the runs of a campaign have covered so far. One more run costs what that run costs.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    places: Names,
    data: Names,
    pairs: FxHashMap<(u32, u32), Seen>,
}

/// A pair of places that use the same data in two threads, at least one changing it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Pair {
    /// One place, as `bank.c:31 in deposit`.
    pub first: String,
    /// The other one.
    pub second: String,
    /// Some data that they met on.
    pub data: String,
    /// How often the first place came first.
    pub first_before_second: u64,
    /// How often the second one did.
    pub second_before_first: u64,
}

impl Pair {
    /// Seen both ways round.
    pub fn is_covered(&self) -> bool {
        self.first_before_second > 0 && self.second_before_first > 0
    }
}

impl Coverage {
    /// Adds what a run shows.
    pub fn add(&mut self, run: &Run) {
        let places: Vec<u32> = run
            .meta
            .sites
            .iter()
            .map(|site| self.places.id(label(site)))
            .collect();
        let objects = Objects::new(run);
        let mut conflicts = Conflicts::default();
        for (_, event) in run.events.iter() {
            let thread = event.thread.0;
            match (event.kind, event.value) {
                (EventKind::Fork, Some(Value::Bits(child))) => conflicts.fork(thread, child as u16),
                (EventKind::Join, Some(Value::Bits(child))) => conflicts.join(thread, child as u16),
                _ => {}
            }
            if !counts(event.kind) {
                continue;
            }
            let place = places.get(event.site.index()).copied().unwrap_or(0);
            for (object, touch) in objects.of(&event) {
                let touch = if event.kind == EventKind::Wait {
                    Touch::Looks
                } else {
                    touch
                };
                let (pairs, data) = (&mut self.pairs, &mut self.data);
                conflicts.touch(object, thread, place, touch, |earlier| {
                    let forwards = (earlier.place, earlier.thread) <= (place, thread);
                    let key = (earlier.place.min(place), earlier.place.max(place));
                    let seen = pairs.entry(key).or_insert_with(|| Seen {
                        data: data.id(run.location(event.location).to_owned()),
                        ..Seen::default()
                    });
                    match forwards {
                        true => seen.forwards += 1,
                        false => seen.backwards += 1,
                    }
                });
            }
        }
    }

    /// Number of pairs.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Number of pairs that were seen both ways round.
    pub fn covered(&self) -> usize {
        let both = |seen: &&Seen| seen.forwards > 0 && seen.backwards > 0;
        self.pairs.values().filter(both).count()
    }

    /// All pairs, by the names of their places.
    pub fn list(&self) -> Vec<Pair> {
        let pair = |(&(first, second), seen): (&(u32, u32), &Seen)| Pair {
            first: self.places.get(first).to_owned(),
            second: self.places.get(second).to_owned(),
            data: self.data.get(seen.data).to_owned(),
            first_before_second: seen.forwards,
            second_before_first: seen.backwards,
        };
        let mut pairs: Vec<Pair> = self.pairs.iter().map(pair).map(sorted).collect();
        pairs.sort_by(|a, b| {
            (natural(&a.first), natural(&a.second)).cmp(&(natural(&b.first), natural(&b.second)))
        });
        pairs
    }
}

/// The place with the smaller name first.
fn sorted(pair: Pair) -> Pair {
    if natural(&pair.first) <= natural(&pair.second) {
        return pair;
    }
    Pair {
        first: pair.second,
        second: pair.first,
        first_before_second: pair.second_before_first,
        second_before_first: pair.first_before_second,
        ..pair
    }
}

/// A place's file, line and the rest, so that line 9 comes before line 10.
fn natural(place: &str) -> (&str, u32, &str) {
    let (file, rest) = place.split_once(':').unwrap_or((place, ""));
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let line = rest.get(..digits).and_then(|line| line.parse().ok());
    (file, line.unwrap_or(0), rest)
}

/// Accesses to data, their end, and who is asleep when the signal comes. Locks say no more than the data that
/// they guard.
fn counts(kind: EventKind) -> bool {
    use EventKind as K;
    kind.is_access() || matches!(kind, K::Free | K::Wait | K::Signal | K::Broadcast)
}

fn label(site: &SiteRow) -> String {
    let file = site.file.rsplit('/').next().unwrap_or("");
    match site.line {
        0 => site.function.clone(),
        line if site.function.is_empty() => format!("{file}:{line}"),
        line => format!("{file}:{line} in {}", site.function),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::script;

    fn coverage(runs: &[&str]) -> Vec<Pair> {
        let mut coverage = Coverage::default();
        for text in runs {
            coverage.add(&script::parse(text).unwrap());
        }
        let pairs = coverage.list();
        assert_eq!(pairs.len(), coverage.pairs());
        assert_eq!(
            pairs.iter().filter(|pair| pair.is_covered()).count(),
            coverage.covered()
        );
        pairs
    }

    fn both(runs: &[&str]) -> Vec<(u64, u64)> {
        let pairs = coverage(runs);
        pairs
            .iter()
            .map(|pair| (pair.first_before_second, pair.second_before_first))
            .collect()
    }

    const ONE: &str = "main.1 R x @10\nmain.2 W x @20\n";
    const OTHER: &str = "main.2 W x @20\nmain.1 R x @10\n";

    #[test]
    fn both_ways_round_only_when_both_were_seen() {
        assert_eq!(both(&[ONE]), [(1, 0)]);
        assert_eq!(both(&[ONE, OTHER, ONE]), [(2, 1)]);
        let pairs = coverage(&[ONE, OTHER]);
        assert!(pairs[0].is_covered() && pairs[0].data == "x");
    }

    #[test]
    fn reads_make_no_pair() {
        assert_eq!(
            both(&["main.1 R x @10\nmain.2 R x @20\n"]),
            [(0u64, 0u64); 0]
        );
    }
}
