//! Sets of places from which one word of memory was touched: each set exists once, and words hold its number.

use rustc_hash::FxHashMap;

/// Number of a set.
pub(super) type SetId = u32;

/// The set without any place.
pub(super) const EMPTY: SetId = 0;
/// The set of words that threads have met on: their places are noted at once.
pub(super) const MET: SetId = u32::MAX;
/// Bound for the places of one word that are distinguished; with more the word counts as one that threads met on.
const MOST_PLACES: usize = 24;
/// Number of extensions of sets by one place that are found without a look into the table.
const RECENT: usize = 256;

/// All sets of a run, and the places of words that threads have met on.
pub(super) struct PlaceSets {
    sets: Vec<Vec<u32>>,
    larger: FxHashMap<(SetId, u32), SetId>,
    /// The most recent extensions of sets by one place.
    recent: [(SetId, u32, SetId); RECENT],
    /// `true`, by place, if threads have met there.
    met: Vec<bool>,
    /// `true`, by place, if memory was touched from there.
    seen: Vec<bool>,
    /// `true`, by set, if its places are noted as met.
    is_noted: Vec<bool>,
}

impl Default for PlaceSets {
    fn default() -> PlaceSets {
        PlaceSets {
            sets: vec![Vec::new()],
            larger: FxHashMap::default(),
            recent: [(MET, 0, MET); RECENT],
            met: Vec::new(),
            seen: Vec::new(),
            is_noted: vec![true],
        }
    }
}

impl PlaceSets {
    /// The set with one place more.
    pub fn with(&mut self, set: SetId, place: u32) -> SetId {
        if set == MET {
            return self.meet(set, place);
        }
        let slot = (set ^ place.rotate_left(5)) as usize % RECENT;
        match self.recent.get(slot) {
            Some((of, with, larger)) if (*of, *with) == (set, place) => return *larger,
            _ => {}
        }
        let known = self.larger.get(&(set, place)).copied();
        let larger = known.unwrap_or_else(|| self.new_larger(set, place));
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = (set, place, larger);
        }
        larger
    }

    fn new_larger(&mut self, set: SetId, place: u32) -> SetId {
        mark(&mut self.seen, place);
        let larger = self.enlarged(set, place);
        self.larger.insert((set, place), larger);
        larger
    }

    fn enlarged(&mut self, set: SetId, place: u32) -> SetId {
        let mut places = self.sets.get(set as usize).cloned().unwrap_or_default();
        if places.contains(&place) {
            return set;
        }
        if places.len() >= MOST_PLACES {
            return self.meet(set, place);
        }
        places.push(place);
        self.sets.push(places);
        self.is_noted.push(false);
        self.sets.len() as SetId - 1
    }

    /// Notes that threads have met on a word with this set, one of them at `place`.
    pub fn meet(&mut self, set: SetId, place: u32) -> SetId {
        mark(&mut self.seen, place);
        mark(&mut self.met, place);
        let is_new = self.is_noted.get_mut(set as usize);
        if is_new.is_some_and(|noted| !std::mem::replace(noted, true)) {
            let places = self.sets.get(set as usize).cloned().unwrap_or_default();
            places.iter().for_each(|place| mark(&mut self.met, *place));
        }
        MET
    }

    /// The places of the run, each with `true` if threads have met there.
    pub fn places(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        let seen = (0u32..).zip(&self.seen).filter(|(_, seen)| **seen);
        seen.map(|(place, _)| {
            let met = self.met.get(place as usize);
            (place, met.copied().unwrap_or(false))
        })
    }
}

fn mark(list: &mut Vec<bool>, place: u32) {
    let at = place as usize;
    if list.len() <= at {
        list.resize(at + 1, false);
    }
    if let Some(mark) = list.get_mut(at) {
        *mark = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(sets: &PlaceSets) -> Vec<u32> {
        let met = sets.places().filter(|(_, met)| *met);
        met.map(|(place, _)| place).collect()
    }

    #[test]
    fn a_word_that_threads_meet_on_makes_all_its_places_meet() {
        let mut sets = PlaceSets::default();
        let one = sets.with(EMPTY, 10);
        let two = sets.with(one, 11);
        assert_eq!((sets.with(two, 10), sets.with(one, 11)), (two, two));
        assert_eq!(met(&sets), [0u32; 0]);
        assert_eq!(sets.meet(two, 12), MET);
        assert_eq!(met(&sets), [10, 11, 12]);
        assert_eq!(sets.with(MET, 13), MET);
        assert_eq!(met(&sets), [10, 11, 12, 13]);
        sets.with(EMPTY, 14);
        assert_eq!(sets.places().count(), 5);
    }

    #[test]
    fn a_word_with_very_many_places_counts_as_met_on() {
        let mut sets = PlaceSets::default();
        let all = (0..=MOST_PLACES as u32).fold(EMPTY, |set, place| sets.with(set, place));
        assert_eq!(all, MET);
        assert_eq!(met(&sets).len(), MOST_PLACES + 1);
    }
}
