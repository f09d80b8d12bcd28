//! Coverage of interleavings: the pairs of places that met on the same data in two threads, and the orders in which
//! they did so.

use crate::digest::{CampaignPlaces, Digest, Met, NumberedPlaces, PlaceMeeting};
use rustc_hash::FxHashMap;
use serde::Serialize;
use unsnarl_trace::{EventId, Run, SiteRow};

/// Names of places and data, each once.
#[derive(Clone, Debug, Default)]
struct CoverageNames {
    ids: FxHashMap<String, u32>,
    list: Vec<String>,
}

impl CoverageNames {
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

/// Counts of a pair's two orders. The orders of a place paired with itself are told apart by which thread was created
/// first.
#[derive(Clone, Copy, Debug, Default)]
struct PairOrders {
    forwards: u64,
    backwards: u64,
    /// One of the pieces of data that they met on.
    data: u32,
}

/// A pair that no run before has shown.
pub(crate) struct NewPair {
    key: (u32, u32),
    /// Number of an event that met the other place.
    event: u64,
}

/// The pairs that the runs of a campaign have covered so far. One more run costs only that run.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    places: CoverageNames,
    /// Index in `places` of the name of each place, by the number of the place.
    names: FxHashMap<u32, u32>,
    data: CoverageNames,
    pairs: FxHashMap<(u32, u32), PairOrders>,
}

/// A pair of places that use the same data in two threads, at least one changing it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PlacePair {
    /// One place, as `bank.c:31 in deposit`.
    pub first: String,
    /// The other one.
    pub second: String,
    /// One of the pieces of data that they met on; empty unless the campaign names them.
    pub data: String,
    /// Number of times that the first place came first.
    pub first_before_second: u64,
    /// Number of times that the second place came first.
    pub second_before_first: u64,
}

impl PlacePair {
    /// Returns whether it was seen in both orders.
    pub fn is_covered(&self) -> bool {
        self.first_before_second > 0 && self.second_before_first > 0
    }
}

impl Coverage {
    /// Adds the pairs of a run; returns the new ones, each with the number of an event that met the other place on
    /// some data.
    pub(crate) fn add(&mut self, digest: &Digest, places: &CampaignPlaces) -> Vec<NewPair> {
        let mut new = Vec::new();
        let rows = places.rows();
        for (meeting, met) in sorted_meetings(digest) {
            let [earlier, later] = [meeting.earlier, meeting.later].map(|place| {
                let id = self.names.get(&place).copied();
                id.unwrap_or_else(|| self.name_place(place, &rows))
            });
            let forwards = (earlier, !meeting.is_elder_first) <= (later, meeting.is_elder_first);
            let key = (earlier.min(later), earlier.max(later));
            let seen = self.pairs.entry(key).or_insert_with(|| {
                new.push(NewPair {
                    key,
                    event: met.first,
                });
                PairOrders::default()
            });
            match forwards {
                true => seen.forwards += met.times,
                false => seen.backwards += met.times,
            }
        }
        new
    }

    fn name_place(&mut self, place: u32, rows: &NumberedPlaces<'_>) -> u32 {
        let site = rows.get(place).map(|row| label(&row.site));
        let id = self.places.id(site.unwrap_or_default());
        self.names.insert(place, id);
        id
    }

    /// Notes the data on which new pairs met in a run.
    pub(crate) fn name(&mut self, new: &[NewPair], run: &Run) {
        for pair in new {
            let numbers = run.events.sequence();
            let row = numbers.partition_point(|number| *number < pair.event);
            let event = run.events.get(EventId(row as u32));
            let data = event.map_or("", |event| run.location(event.location));
            let data = self.data.id(data.to_owned());
            if let Some(seen) = self.pairs.get_mut(&pair.key) {
                seen.data = data;
            }
        }
    }

    /// Number of pairs.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Number of pairs that were seen in both orders.
    pub fn covered(&self) -> usize {
        let both = |seen: &&PairOrders| seen.forwards > 0 && seen.backwards > 0;
        self.pairs.values().filter(both).count()
    }

    /// All pairs, by the names of their places.
    pub fn list(&self) -> Vec<PlacePair> {
        let pair = |(&(first, second), seen): (&(u32, u32), &PairOrders)| PlacePair {
            first: self.places.get(first).to_owned(),
            second: self.places.get(second).to_owned(),
            data: self.data.get(seen.data).to_owned(),
            first_before_second: seen.forwards,
            second_before_first: seen.backwards,
        };
        let mut pairs: Vec<PlacePair> = self.pairs.iter().map(pair).map(sorted).collect();
        pairs.sort_by(|a, b| {
            (natural(&a.first), natural(&a.second)).cmp(&(natural(&b.first), natural(&b.second)))
        });
        pairs
    }
}

/// The pair with the place of the smaller name first.
fn sorted(pair: PlacePair) -> PlacePair {
    if natural(&pair.first) <= natural(&pair.second) {
        return pair;
    }
    PlacePair {
        first: pair.second,
        second: pair.first,
        first_before_second: pair.second_before_first,
        second_before_first: pair.first_before_second,
        ..pair
    }
}

/// Sort key of a place: file, line and the rest, so that line 9 comes before line 10.
fn natural(place: &str) -> (&str, u32, &str) {
    let (file, rest) = place.split_once(':').unwrap_or((place, ""));
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let line = rest.get(..digits).and_then(|line| line.parse().ok());
    (file, line.unwrap_or(0), rest)
}

/// The meetings of a run in the order in which they came.
fn sorted_meetings(digest: &Digest) -> Vec<(PlaceMeeting, Met)> {
    let meetings = digest.meetings.iter();
    let mut meetings: Vec<(PlaceMeeting, Met)> = meetings.map(|(at, met)| (*at, *met)).collect();
    meetings.sort_by_key(|(at, met)| (met.first, at.earlier, at.later, at.is_elder_first));
    meetings
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

    fn digest(meetings: &[(u32, u32, bool, u64)]) -> Digest {
        let meeting = |(earlier, later, is_elder_first, times): &(u32, u32, bool, u64)| {
            let (earlier, later, is_elder_first) = (*earlier, *later, *is_elder_first);
            let meeting = PlaceMeeting {
                earlier,
                later,
                is_elder_first,
            };
            let met = Met {
                times: *times,
                first: u64::from(later),
            };
            (meeting, met)
        };
        Digest {
            meetings: meetings.iter().map(meeting).collect(),
            ..Digest::default()
        }
    }

    fn places(lines: &[u32]) -> CampaignPlaces {
        let site = |line: &u32| SiteRow {
            file: "a.c".to_owned(),
            line: *line,
            ..SiteRow::default()
        };
        CampaignPlaces::of_sites(lines.iter().map(site))
    }

    fn counts(coverage: &Coverage) -> Vec<(u64, u64)> {
        let pairs = coverage.list();
        let covered = pairs.iter().filter(|pair| pair.is_covered()).count();
        assert_eq!(
            (pairs.len(), covered),
            (coverage.pairs(), coverage.covered())
        );
        let counts = |pair: &PlacePair| (pair.first_before_second, pair.second_before_first);
        pairs.iter().map(counts).collect()
    }

    #[test]
    fn both_ways_round_only_when_both_were_seen() {
        let places = places(&[10, 20]);
        let mut coverage = Coverage::default();
        assert_eq!(coverage.add(&digest(&[(1, 2, true, 3)]), &places).len(), 1);
        assert_eq!(counts(&coverage), [(3, 0)]);
        assert!(
            coverage
                .add(&digest(&[(2, 1, false, 2)]), &places)
                .is_empty()
        );
        assert_eq!(counts(&coverage), [(3, 2)]);
    }

    #[test]
    fn a_place_that_meets_itself_is_told_apart_by_the_older_thread() {
        let (places, mut coverage) = (places(&[10]), Coverage::default());
        coverage.add(&digest(&[(1, 1, true, 1), (1, 1, false, 4)]), &places);
        assert_eq!(counts(&coverage), [(1, 4)]);
    }

    #[test]
    fn places_on_one_line_are_one() {
        let (places, mut coverage) = (places(&[10, 20, 20]), Coverage::default());
        coverage.add(&digest(&[(1, 2, true, 1), (3, 1, true, 1)]), &places);
        assert_eq!(counts(&coverage), [(1, 1)]);
    }

    #[test]
    fn a_new_pair_is_named_by_what_it_met_on() {
        let (places, mut coverage) = (places(&[10, 20]), Coverage::default());
        let new = coverage.add(&digest(&[(1, 2, true, 1)]), &places);
        let run = script::parse("main.1 R x @1\nmain.2 W x @2\nmain.1 W y @3\n").unwrap();
        coverage.name(&new, &run);
        assert_eq!(coverage.list()[0].data, "y");
    }
}
