//! Macros (Definitions 5 and 6) and their refinement to the fixed point (Section 3.3).
//!
//! The macros of maximal length are the sequences between two context switches. The refinement then takes the
//! shortest macro and splits every macro that contains it, until none contains another; among equally short
//! ones the one with the smaller event numbers comes first, so the result is a function of the traces.
//!
//! Splitting happens in place: the distinct macros of maximal length are one text, a macro is a piece of it
//! between two cuts, and all pieces with equal content are cut alike. The candidates for an occurrence of a
//! macro are looked up by its rarest event, so an event is examined once per macro for which it is the
//! rarest.

use super::sequences::by_item;
use crate::{Budget, StopReason};
use rustc_hash::FxHashMap;
use std::{cmp::Ordering, collections::BTreeSet};

/// Macro events over the events of a set of traces.
#[derive(Debug, Default)]
pub struct Macros {
    /// Events of each macro.
    pub events: Vec<Vec<u32>>,
    /// Macros of each trace.
    pub traces: Vec<Vec<u32>>,
}

/// Derives the macros of these traces; `thread` gives the thread of an event.
pub fn macros(
    traces: &[&[u32]],
    kinds: usize,
    thread: impl Fn(u32) -> u32,
    budget: &Budget,
) -> Result<Macros, StopReason> {
    let mut text = MacroText::default();
    let mut known: FxHashMap<&[u32], u32> = FxHashMap::default();
    let mut of_traces: Vec<Vec<u32>> = Vec::new();
    for trace in traces {
        let turns = trace.chunk_by(|a, b| thread(*a) == thread(*b));
        let segment = |turn| *known.entry(turn).or_insert_with(|| text.append(turn));
        of_traces.push(turns.map(segment).collect());
    }
    let cuts = refine(&text, kinds, budget)?;
    Ok(number(&text, &cuts, &of_traces))
}

/// The distinct macros of maximal length, concatenated.
#[derive(Default)]
struct MacroText {
    events: Vec<u32>,
    /// Start of each macro.
    starts: Vec<u32>,
}

impl MacroText {
    fn append(&mut self, turn: &[u32]) -> u32 {
        self.starts.push(self.events.len() as u32);
        self.events.extend_from_slice(turn);
        self.starts.len() as u32 - 1
    }

    fn end_of(&self, segment: usize) -> usize {
        self.starts
            .get(segment + 1)
            .map_or(self.events.len(), |&start| start as usize)
    }

    fn piece(&self, from: usize, to: usize) -> &[u32] {
        self.events.get(from..to).unwrap_or(&[])
    }
}

/// Positions of a text at which a piece begins, and the end of the text.
struct Cuts {
    bits: Vec<u64>,
}

impl Cuts {
    fn new(text: &MacroText) -> Cuts {
        let mut cuts = Cuts {
            bits: vec![0; text.events.len() / 64 + 1],
        };
        text.starts
            .iter()
            .for_each(|&start| cuts.put(start as usize));
        cuts.put(text.events.len());
        cuts
    }

    fn put(&mut self, position: usize) {
        if let Some(word) = self.bits.get_mut(position / 64) {
            *word |= 1 << (position % 64);
        }
    }

    fn has(&self, position: usize) -> bool {
        self.bits
            .get(position / 64)
            .is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    /// First cut after the position.
    fn after(&self, position: usize) -> usize {
        let from = position + 1;
        let mut mask = u64::MAX << (from % 64);
        for (at, word) in self.bits.iter().enumerate().skip(from / 64) {
            if word & mask != 0 {
                return at * 64 + (word & mask).trailing_zeros() as usize;
            }
            mask = u64::MAX;
        }
        position
    }

    /// Last cut at or before the position.
    fn before(&self, position: usize) -> usize {
        let mut mask = u64::MAX >> (63 - position % 64);
        for at in (0..=position / 64).rev() {
            let word = self.bits.get(at).copied().unwrap_or(0) & mask;
            if word != 0 {
                return at * 64 + 63 - word.leading_zeros() as usize;
            }
            mask = u64::MAX;
        }
        0
    }
}

/// A piece that may split others, ordered by length and content.
#[derive(Clone, Copy)]
struct SplittingPiece<'a> {
    start: usize,
    events: &'a [u32],
}

impl Ord for SplittingPiece<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let length = self.events.len().cmp(&other.events.len());
        length.then_with(|| self.events.cmp(other.events))
    }
}

impl PartialOrd for SplittingPiece<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SplittingPiece<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for SplittingPiece<'_> {}

fn refine(text: &MacroText, kinds: usize, budget: &Budget) -> Result<Cuts, StopReason> {
    let mut cuts = Cuts::new(text);
    let (starts, positions) = by_item(&text.events, kinds);
    let occurrences = |event: u32| {
        let at = |i: usize| starts.get(i).map_or(0, |&start| start as usize);
        positions
            .get(at(event as usize)..at(event as usize + 1))
            .unwrap_or(&[])
    };
    let mut queue: BTreeSet<SplittingPiece<'_>> = BTreeSet::new();
    for (segment, &start) in text.starts.iter().enumerate() {
        let start = start as usize;
        let events = text.piece(start, text.end_of(segment));
        queue.insert(SplittingPiece { start, events });
    }
    while let Some(piece) = queue.pop_first() {
        if let Some(reason) = budget.stop() {
            return Err(reason);
        }
        let is_one =
            cuts.has(piece.start) && cuts.after(piece.start) == piece.start + piece.events.len();
        let rarest = piece.events.iter().enumerate();
        let Some((offset, &event)) = rarest.min_by_key(|(_, event)| occurrences(**event).len())
        else {
            continue;
        };
        if is_one {
            split(
                text,
                &mut cuts,
                piece,
                offset,
                occurrences(event),
                &mut queue,
            );
        }
    }
    Ok(cuts)
}

/// Splits all pieces that contain `piece`, one of whose events stands at `offset` and at these places.
fn split<'a>(
    text: &'a MacroText,
    cuts: &mut Cuts,
    piece: SplittingPiece<'a>,
    offset: usize,
    occurrences: &[u32],
    queue: &mut BTreeSet<SplittingPiece<'a>>,
) {
    let length = piece.events.len();
    let mut rests = Vec::new();
    for &position in occurrences {
        let Some(start) = (position as usize).checked_sub(offset) else {
            continue;
        };
        let end = start + length;
        let is_whole = cuts.has(start) && cuts.has(end);
        if is_whole || text.piece(start, end) != piece.events || cuts.after(start) < end {
            continue;
        }
        let left = cuts.before(start);
        cuts.put(start);
        cuts.put(end);
        if left < start {
            let events = text.piece(left, start);
            queue.insert(SplittingPiece {
                start: left,
                events,
            });
        }
        rests.push(end);
    }
    for start in rests {
        let events = text.piece(start, cuts.after(start));
        if events != piece.events && !events.is_empty() {
            queue.insert(SplittingPiece { start, events });
        }
    }
}

/// Numbers the pieces in the order of their first occurrence in the traces.
fn number(text: &MacroText, cuts: &Cuts, traces: &[Vec<u32>]) -> Macros {
    let mut ids: FxHashMap<&[u32], u32> = FxHashMap::default();
    let mut events: Vec<Vec<u32>> = Vec::new();
    let mut of_segments: Vec<Option<Vec<u32>>> = vec![None; text.starts.len()];
    let mut of_traces = Vec::with_capacity(traces.len());
    for trace in traces {
        let mut macros = Vec::new();
        for &segment in trace {
            let Some(known) = of_segments.get_mut(segment as usize) else {
                continue;
            };
            let pieces = known.get_or_insert_with(|| {
                let start = text.starts.get(segment as usize).copied().unwrap_or(0);
                let pieces = pieces(text, cuts, start as usize, text.end_of(segment as usize));
                let id = |piece: &'_ [u32], events: &mut Vec<Vec<u32>>| {
                    events.push(piece.to_vec());
                    events.len() as u32 - 1
                };
                pieces
                    .map(|piece| *ids.entry(piece).or_insert_with(|| id(piece, &mut events)))
                    .collect()
            });
            macros.extend_from_slice(pieces);
        }
        of_traces.push(macros);
    }
    Macros {
        events,
        traces: of_traces,
    }
}

fn pieces<'a>(
    text: &'a MacroText,
    cuts: &'a Cuts,
    start: usize,
    end: usize,
) -> impl Iterator<Item = &'a [u32]> {
    let mut at = start;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let from = at;
        at = cuts.after(at).max(at + 1);
        Some(text.piece(from, at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn derive(traces: &[Vec<u32>], thread: impl Fn(u32) -> u32) -> Macros {
        let slices: Vec<&[u32]> = traces.iter().map(Vec::as_slice).collect();
        macros(&slices, 64, thread, &Budget::unlimited()).unwrap()
    }

    /// Definition 5 and Section 3.3, verbatim.
    fn by_definition(traces: &[Vec<u32>], thread: impl Fn(u32) -> u32) -> BTreeSet<Vec<u32>> {
        let mut macros: BTreeSet<Vec<u32>> = BTreeSet::new();
        for trace in traces {
            let turns = trace.chunk_by(|a, b| thread(*a) == thread(*b));
            macros.extend(turns.map(<[u32]>::to_vec));
        }
        let mut done: BTreeSet<Vec<u32>> = BTreeSet::new();
        loop {
            let left = macros.iter().filter(|m| !done.contains(*m));
            let Some(shortest) = left.min_by_key(|m| (m.len(), (*m).clone())).cloned() else {
                return macros;
            };
            let mut refined = BTreeSet::new();
            for m in macros {
                refined.extend(split_at(&m, &shortest));
            }
            macros = refined;
            done.insert(shortest);
        }
    }

    fn split_at(events: &[u32], part: &[u32]) -> Vec<Vec<u32>> {
        let found = events.windows(part.len()).position(|window| window == part);
        let Some(at) = found else {
            return Some(events.to_vec())
                .into_iter()
                .filter(|e| !e.is_empty())
                .collect();
        };
        let left = Some(events[..at].to_vec()).filter(|left| !left.is_empty());
        let rest = split_at(&events[at + part.len()..], part);
        left.into_iter()
            .chain([part.to_vec()])
            .chain(rest)
            .collect()
    }

    /// Section 3.1, example (1): e4 to e7 are of one thread, the others of another.
    #[test]
    fn section_3_3_the_example_reaches_its_fixed_point() {
        let traces = vec![vec![0, 2, 3, 4, 5, 6, 8, 9], vec![1, 2, 5, 6, 7, 3, 8, 9]];
        let thread = |e: u32| u32::from((4..8).contains(&e));
        let macros = derive(&traces, thread);
        let named: Vec<Vec<&[u32]>> = macros
            .traces
            .iter()
            .map(|trace| {
                trace
                    .iter()
                    .map(|&m| macros.events[m as usize].as_slice())
                    .collect()
            })
            .collect();
        let part = |events: &'static [u32]| events;
        let (m0, m1, m2) = (part(&[0, 2]), part(&[1, 2]), part(&[3]));
        let (m3, m4, m5) = (part(&[4, 5, 6]), part(&[8, 9]), part(&[5, 6, 7]));
        assert_eq!(named[0], [m0, m2, m3, m4]);
        assert_eq!(named[1], [m1, m5, m2, m4]);
    }

    #[test]
    fn a_trace_without_a_switch_is_one_macro() {
        let macros = derive(&[vec![1, 2, 3, 1, 2]], |_| 0);
        assert_eq!(macros.events, [vec![1, 2, 3, 1, 2]]);
        assert_eq!(macros.traces, [vec![0]]);
    }

    #[test]
    fn overlapping_occurrences_are_cut_from_the_left() {
        let macros = derive(&[vec![1, 1, 9, 1, 1, 1]], |e| u32::from(e == 9));
        assert_eq!(
            macros.events,
            [vec![1], vec![9]],
            "the rest of 111 is 1, and splits 11"
        );
    }

    #[test]
    fn a_cancelled_budget_ends_the_refinement() {
        let budget = Budget::unlimited();
        budget.cancel();
        let stopped = macros(&[&[1, 2]], 3, |e| e, &budget).unwrap_err();
        assert_eq!(stopped, StopReason::Cancelled);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn macros_are_those_of_the_definition(
            traces in proptest::collection::vec(proptest::collection::vec(0u32..12, 0..25), 1..6),
        ) {
            let thread = |event: u32| event / 6;
            let macros = derive(&traces, thread);
            let set: BTreeSet<Vec<u32>> = macros.events.iter().cloned().collect();
            prop_assert_eq!(set.len(), macros.events.len(), "each macro once");
            prop_assert_eq!(set, by_definition(&traces, thread));
            for (trace, of_trace) in traces.iter().zip(&macros.traces) {
                let whole: Vec<u32> =
                    of_trace.iter().flat_map(|&m| macros.events[m as usize].clone()).collect();
                prop_assert_eq!(&whole, trace, "the macros cover the trace");
            }
        }
    }
}
