//! Predictable pairs (LOCON, Section 4.1 and Figure 3).
//!
//! A pair is predictable by another when the other's presence implies its own: with `h1` before `h2` in one
//! thread and `t2` before `t1` in the other, `h2 -> t2` forces `h1 -> t1`. If the inner pair were the bug,
//! its reverse would be harmless and some passing run would show the outer pair; so the inner one is dropped.

use super::{
    keys::PairKey,
    procedure_three::{Couple, CoupledPair},
};
use crate::{Budget, StopReason};
use rustc_hash::FxHashMap;
use unsnarl_trace::{EventId, Run};

/// An occurrence of a pair: events and threads of head and tail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OccurrencePair {
    /// Event of the head.
    pub head: EventId,
    /// Thread of the head.
    pub head_thread: u16,
    /// Event of the tail.
    pub tail: EventId,
    /// Thread of the tail.
    pub tail_thread: u16,
}

/// For each occurrence, whether it makes another one predictable. Those are dropped.
pub fn implies_another(occurrences: &[OccurrencePair]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..occurrences.len()).collect();
    let at = |i: &usize| occurrences.get(*i).copied();
    order.sort_by_key(|i| {
        at(i).map(|o| {
            (
                o.head_thread,
                o.tail_thread,
                o.head,
                std::cmp::Reverse(o.tail),
            )
        })
    });
    let mut drop = vec![false; occurrences.len()];
    let mut widest: Option<OccurrencePair> = None;
    for i in &order {
        let Some(now) = at(i) else { continue };
        let same = |o: &OccurrencePair| {
            o.head_thread == now.head_thread && o.tail_thread == now.tail_thread
        };
        match widest.filter(same) {
            Some(outer)
                if outer.tail > now.tail || outer.tail == now.tail && outer.head < now.head =>
            {
                if let Some(drop) = drop.get_mut(*i) {
                    *drop = true;
                }
            }
            Some(outer) if outer.tail == now.tail => {}
            _ => widest = Some(now),
        }
    }
    drop
}

/// For each couple, whether one of its pairs makes one of another couple predictable (Algorithm 3, step 3).
/// Of two couples that do so to each other the earlier one stays.
pub fn predictable_couples(
    run: &Run,
    couples: &[Couple],
    budget: &Budget,
) -> Result<Vec<bool>, StopReason> {
    let mut with: FxHashMap<PairKey, Vec<usize>> = FxHashMap::default();
    let mut pairs: FxHashMap<PairKey, CoupledPair> = FxHashMap::default();
    for (number, couple) in couples.iter().enumerate() {
        for pair in [couple.first, couple.second] {
            with.entry(pair.key).or_default().push(number);
            let slot = pairs.entry(pair.key).or_insert(pair);
            *slot = (*slot).min(pair);
        }
    }
    let mut pairs: Vec<CoupledPair> = pairs.into_values().collect();
    pairs.sort_unstable();
    let mut implied: FxHashMap<PairKey, Vec<PairKey>> = FxHashMap::default();
    for &pair in &pairs {
        if let Some(stop) = budget.stop() {
            return Err(stop);
        }
        let inner = occurrence_of(run, &pair);
        let others = pairs.iter().filter(|other| other.key != pair.key);
        let outer = others.filter(|other| implies(inner, occurrence_of(run, other)));
        implied.insert(pair.key, outer.map(|other| other.key).collect());
    }
    let forces = |from: &Couple, to: &Couple| {
        let targets = [to.first.key, to.second.key];
        [from.first.key, from.second.key].iter().any(|pair| {
            let implied = implied.get(pair).map_or(&[][..], Vec::as_slice);
            targets.iter().any(|target| implied.contains(target))
        })
    };
    let mut dropped = Vec::with_capacity(couples.len());
    for (number, couple) in couples.iter().enumerate() {
        if let Some(stop) = budget.stop() {
            return Err(stop);
        }
        let own = [couple.first.key, couple.second.key];
        let outer = own.iter().filter_map(|pair| implied.get(pair)).flatten();
        let mut others = outer.filter_map(|pair| with.get(pair)).flatten();
        dropped.push(others.any(|&other| {
            let mutual = || {
                couples
                    .get(other)
                    .is_some_and(|other| forces(other, couple))
            };
            other != number && (other < number || !mutual())
        }));
    }
    Ok(dropped)
}

fn occurrence_of(run: &Run, pair: &CoupledPair) -> OccurrencePair {
    let thread = |row: EventId| run.events.thread(row).0;
    OccurrencePair {
        head: pair.head,
        head_thread: thread(pair.head),
        tail: pair.tail,
        tail_thread: thread(pair.tail),
    }
}

/// Returns whether the outer pair occurs whenever the inner one does.
fn implies(inner: OccurrencePair, outer: OccurrencePair) -> bool {
    (inner.head_thread, inner.tail_thread) == (outer.head_thread, outer.tail_thread)
        && outer.head <= inner.head
        && inner.tail <= outer.tail
        && (outer.head, outer.tail) != (inner.head, inner.tail)
}
