//! The projection: what a failing order and one that does not fail do differently ([symbiosis], section 3.5).
//!
//! Both sources have one form here ([`side`]): two orders of a symbolic trace, or two recorded runs of which one
//! failed, their events matched by thread, place and count.

mod advice;
mod compare;
mod describe;
mod runs;
mod side;
#[cfg(test)]
mod tests;
mod traced;

pub use runs::{Hints, hints, project_runs};
pub use traced::project;

use super::model::{Advice, Counts, Dsp, Flow, Flows, Operation};
use crate::explanation::{Place, Region};
use advice::{Asked, Hint};
use compare::{Variation, moved, variations};
use rustc_hash::{FxHashMap, FxHashSet};
use side::{Key, Side, To};

/// What the two sources know in their own ways.
trait Source {
    /// The operation, without its values and what the comparison says of it.
    fn describe(&self, key: Key) -> Operation;
    /// Its place, then those of the calls that led there, innermost first.
    fn calls(&self, key: Key) -> Vec<Place>;
    /// The value of an operation in an order, in words.
    fn value(&self, key: Key, failing: bool) -> Option<String>;
    /// The name of a cell.
    fn cell(&self, cell: u32) -> String;
    /// The name of a lock.
    fn lock(&self, lock: u32) -> String;
    /// Is the operation part of what the failure was computed from, in either order?
    fn matters(&self, key: Key) -> bool;
    /// Does a thread go another way in the alternate because of what this read found?
    fn decides(&self, key: Key) -> bool;
    /// Does it fail as well when what the others do up to the second comes before the first?
    fn fails_all_the_same(&self, first: Key, until: Key) -> bool;
    /// The operation that fails.
    fn failure(&self) -> Option<Key>;
    /// Number of events in the failing order.
    fn events(&self) -> usize;
}

/// Operations that are to be read, at most, as long as a variation is left to choose.
const TO_READ: usize = 6;

struct Projection<'s> {
    source: &'s dyn Source,
    failing: &'s Side,
    alternate: &'s Side,
}

fn projection(
    source: &dyn Source,
    failing: &Side,
    alternate: &Side,
    pair: Option<(Key, Key)>,
) -> Dsp {
    let projection = Projection {
        source,
        failing,
        alternate,
    };
    let varying = variations(failing, alternate);
    let shown = projection.chosen(&varying, pair);
    let pair = pair.or_else(|| projection.pair(&shown));
    let hint = pair.map(|pair| {
        advice::hint(
            &Asked {
                failing,
                alternate,
                matters: &|key| source.matters(key),
                fails_all_the_same: &|first, until| source.fails_all_the_same(first, until),
            },
            pair,
        )
    });
    projection.finish(&varying, &shown, pair, hint)
}

impl Projection<'_> {
    /// The variations that are shown: where a thread goes another way, and those that the failure depends on, from
    /// the failure backwards, as many as are quickly read. The others only when there are none of these. When the
    /// read that fails was turned round itself, where threads go after that says nothing.
    fn chosen(&self, varying: &[Variation], pair: Option<(Key, Key)>) -> Vec<Variation> {
        let failing = self.failure(&mut FxHashSet::default());
        let is_direct = pair.is_some_and(|(a, b)| failing == Some(a) || failing == Some(b));
        let rank = |variation: &Variation| match variation.to {
            To::Read(key, _) if is_direct && failing == Some(key) => 0,
            To::Read(key, _) if !is_direct && self.source.decides(key) => 0,
            To::Read(key, _) if self.source.matters(key) => 1,
            _ => 2,
        };
        let mut ranked: Vec<Variation> = varying.iter().rev().copied().collect();
        ranked.sort_by_key(rank);
        let best = ranked.first().map_or(2, rank);
        let mut keys: FxHashSet<Key> = FxHashSet::default();
        let mut chosen: Vec<Variation> = Vec::new();
        for variation in ranked {
            let new = variation.keys().filter(|key| !keys.contains(key)).count();
            let tells = best == 2 || rank(&variation) < 2;
            if chosen.is_empty() || (tells && keys.len() + new <= TO_READ) {
                keys.extend(variation.keys());
                chosen.push(variation);
            }
        }
        chosen.sort_by_key(|chosen| varying.iter().position(|other| other == chosen));
        chosen
    }

    /// Does a shown variation lead to the failure, or away from it?
    fn explains(&self, shown: &[Variation]) -> bool {
        shown.iter().any(|variation| match variation.to {
            To::Read(key, _) => self.source.decides(key) || self.source.matters(key),
            To::End(_) => false,
        })
    }

    /// The pair that came the other way round, from the variations: a read and the write that it took its value
    /// from, or takes it from in the alternate.
    fn pair(&self, shown: &[Variation]) -> Option<(Key, Key)> {
        let swapped = |first: Key, second: Key| {
            let before = |side: &Side| Some(side.place(first)? < side.place(second)?);
            before(self.failing) == Some(true) && before(self.alternate) == Some(false)
        };
        let of = |variation: &Variation| {
            let To::Read(read, _) = variation.to else {
                let (first, second) = (variation.alternate?, variation.failing?);
                return swapped(first, second).then_some((first, second));
            };
            let lost = variation.failing.filter(|&write| swapped(write, read));
            let found = variation.alternate.filter(|&write| swapped(read, write));
            let writes = || {
                let (first, second) = (variation.alternate?, variation.failing?);
                swapped(first, second).then_some((first, second))
            };
            let lost = lost.map(|write| (write, read));
            lost.or(found.map(|write| (read, write))).or_else(writes)
        };
        shown.iter().rev().find_map(of)
    }

    fn finish(
        &self,
        varying: &[Variation],
        shown: &[Variation],
        pair: Option<(Key, Key)>,
        hint: Option<Hint>,
    ) -> Dsp {
        let in_flow: FxHashSet<Key> = shown.iter().flat_map(Variation::keys).collect();
        let mut keys = in_flow.clone();
        if keys.is_empty() {
            keys.extend(pair.into_iter().flat_map(|(a, b)| [a, b]));
        }
        let hint = hint.or_else(|| new_write(self, shown));
        if let Some(Hint::Region { first, last, .. }) = &hint {
            keys.extend([*first, *last]);
        }
        let failure = self.failure(&mut keys);
        let numbers = self.numbers(&keys);
        let number = |key: Key| numbers.get(&key).copied();
        let order = |side: &Side| -> Vec<Key> {
            let mut there: Vec<(usize, Key)> = keys
                .iter()
                .filter_map(|&key| Some((side.place(key)?, key)))
                .collect();
            there.sort_unstable();
            there.into_iter().map(|(_, key)| key).collect()
        };
        let (failing, alternate) = (order(self.failing), order(self.alternate));
        let moves = moved(&failing, &alternate);
        let mut dsp = Dsp {
            failing: failing.iter().filter_map(|&key| number(key)).collect(),
            alternate: alternate.iter().filter_map(|&key| number(key)).collect(),
            flows: self.flows(shown, &numbers),
            flipped: pair.and_then(|(a, b)| Some((number(a)?, number(b)?))),
            failure: failure.and_then(number),
            advice: hint.and_then(|hint| self.advice(hint, &numbers)),
            explains: self.explains(shown),
            counts: self.counts(varying, shown, &in_flow),
            operations: Vec::new(),
        };
        let mut listed: Vec<(u32, Key)> = numbers.iter().map(|(&key, &at)| (at, key)).collect();
        listed.sort_unstable();
        dsp.operations = listed
            .into_iter()
            .map(|(_, key)| Operation {
                failing_value: self.value(key, true),
                alternate_value: self.value(key, false),
                is_moved: moves.contains(&key),
                is_in_flow: in_flow.contains(&key),
                ..self.source.describe(key)
            })
            .collect();
        dsp
    }

    /// The operation that fails: the last read on its line that the failure depends on, which has a value to show;
    /// the check itself where there is none.
    fn failure(&self, keys: &mut FxHashSet<Key>) -> Option<Key> {
        let failure = self.source.failure()?;
        let check = self.source.describe(failure);
        let op = self.failing.op(failure);
        if op.is_some_and(side::Op::is_access) {
            keys.insert(failure);
            return Some(failure);
        }
        let thread = op.map(|op| op.thread);
        let end = self.failing.place(failure).map_or(0, |place| place + 1);
        let before = self.failing.ops.get(..end).unwrap_or(&[]).iter().rev();
        let mut mine = before.filter(|op| Some(op.thread) == thread && op.key != failure);
        let near = mine.find(|op| op.is_access()).filter(|op| {
            let place = self.source.describe(op.key).place;
            let on_line = place.file == check.place.file && place.line == check.place.line;
            on_line && !op.reads.is_empty() && self.source.matters(op.key)
        });
        let shown = near.map_or(failure, |op| op.key);
        keys.insert(shown);
        Some(shown)
    }

    /// Numbers in the failing order, then of what only the alternate has.
    fn numbers(&self, keys: &FxHashSet<Key>) -> FxHashMap<Key, u32> {
        let mut keys: Vec<Key> = keys.iter().copied().collect();
        keys.sort_by_key(|&key| {
            let late = |place: Option<usize>| place.unwrap_or(usize::MAX);
            (
                late(self.failing.place(key)),
                late(self.alternate.place(key)),
                key,
            )
        });
        keys.into_iter().zip(0..).collect()
    }

    fn value(&self, key: Key, failing: bool) -> Option<String> {
        let side = if failing {
            self.failing
        } else {
            self.alternate
        };
        side.place(key)?;
        self.source.value(key, failing)
    }

    fn flows(&self, shown: &[Variation], numbers: &FxHashMap<Key, u32>) -> Flows {
        let flow = |variation: &Variation, failing: bool| {
            let from = if failing {
                variation.failing
            } else {
                variation.alternate
            };
            let reader = match variation.to {
                To::Read(key, _) => Some(key),
                To::End(_) => None,
            };
            let carried = from.or(reader);
            Flow {
                from: from.and_then(|key| numbers.get(&key).copied()),
                to: reader.and_then(|key| numbers.get(&key).copied()),
                variable: self.variable(reader.or(from), variation.cell()),
                value: carried.and_then(|key| self.value(key, failing)),
            }
        };
        Flows {
            only_failing: shown
                .iter()
                .map(|variation| flow(variation, true))
                .collect(),
            only_alternate: shown
                .iter()
                .map(|variation| flow(variation, false))
                .collect(),
        }
    }

    fn variable(&self, key: Option<Key>, cell: u32) -> String {
        let named = key.map(|key| self.source.describe(key).variable);
        named
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| self.source.cell(cell))
    }

    fn advice(&self, hint: Hint, numbers: &FxHashMap<Key, u32>) -> Option<Advice> {
        let number = |key: Key| numbers.get(&key).copied();
        match hint {
            Hint::Order { first, second } => Some(Advice::Order {
                first: number(first)?,
                second: number(second)?,
            }),
            Hint::Region {
                first,
                last,
                from,
                to,
                between,
                lock,
            } => {
                let Some(region) = self.region([first, last], [from, to], lock) else {
                    return Some(Advice::Order {
                        first: number(last)?,
                        second: between.into_iter().find_map(number)?,
                    });
                };
                Some(Advice::Region {
                    who: self.source.describe(first).who,
                    first: number(first)?,
                    last: number(last)?,
                    between: between.into_iter().filter_map(number).collect(),
                    region,
                })
            }
        }
    }

    /// The lines from the first to the last, in the innermost function that both are in or are called from; those
    /// of the critical sections around them as far as they are in the same function.
    fn region(&self, inner: [Key; 2], outer: [Key; 2], lock: Option<u32>) -> Option<Region> {
        let [first, last] = inner.map(|key| self.source.calls(key));
        let same = |a: &Place, b: &Place| a.file == b.file && a.function == b.function;
        let common = first
            .into_iter()
            .find(|place| place.line != 0 && last.iter().any(|other| same(place, other)))?;
        let keys = inner.into_iter().chain(outer);
        let lines: Vec<u32> = keys
            .filter_map(|key| {
                let calls = self.source.calls(key);
                let place = calls.into_iter().find(|place| same(place, &common))?;
                (place.line != 0).then_some(place.line)
            })
            .collect();
        Some(Region {
            first: lines.iter().min().copied()?,
            last: lines.iter().max().copied()?,
            file: common.file,
            function: common.function,
            lock: lock.map(|lock| self.source.lock(lock)),
        })
    }

    fn counts(
        &self,
        varying: &[Variation],
        shown: &[Variation],
        in_flow: &FxHashSet<Key>,
    ) -> Counts {
        let keys = |side: &Side| side.ops.iter().map(|op| op.key).collect::<Vec<_>>();
        let mut events = moved(&keys(self.failing), &keys(self.alternate));
        events.extend(varying.iter().flat_map(Variation::keys));
        let flows = self.failing.flows();
        let read = flows
            .iter()
            .filter(|(to, from)| matches!(to, To::Read(..)) && from.is_some());
        Counts {
            events: self.source.events() as u32,
            shown: events.len() as u32,
            flows: read.count() as u32,
            variations: varying.len() as u32,
            not_shown: (varying.len() - shown.len()) as u32,
            to_read: in_flow.len() as u32,
        }
    }
}

/// The value comes from a write that the failing run did not come to: that should come first.
fn new_write(projection: &Projection, shown: &[Variation]) -> Option<Hint> {
    shown.iter().rev().find_map(|variation| {
        let To::Read(read, _) = variation.to else {
            return None;
        };
        let write = variation.alternate?;
        let is_new = projection.failing.place(write).is_none();
        is_new.then_some(Hint::Order {
            first: write,
            second: read,
        })
    })
}
