//! The projection: the differences between a failing order and one that does not fail ([symbiosis], section
//! 3.5).
//!
//! Both sources have one form here ([`side`]): two orders of a symbolic trace, or two recorded runs of which
//! one failed, their events matched by thread, place and count.

mod advice;
mod choose;
mod compare;
mod continued;
mod describe;
mod runs;
mod side;
#[cfg(test)]
mod tests;
mod traced;
mod waiting;

pub use runs::{Hints, hints, project_runs};
pub use traced::project;
pub use waiting::project_waiting;

use super::model::{Advice, Dsp, Flow, Flows, ProjectionCounts, ThreadOperation};
use advice::{AdviceFacts, OrderAdvice};
use choose::ToldPair;
use compare::{Variation, moved, variations};
use rustc_hash::{FxHashMap, FxHashSet};
use side::{OperationNumber, OrderSide, ValueTarget};
use unsnarl_core::explanation::{Place, Region};
use unsnarl_trace::Location;

/// Queries that the two sources of a projection answer in their own ways.
trait ProjectionSource {
    /// The operation, without its values and the results of the comparison.
    fn describe(&self, key: OperationNumber) -> ThreadOperation;
    /// The operation's place, then those of its calls, innermost first.
    fn calls(&self, key: OperationNumber) -> Vec<Place>;
    /// The value of an operation in an order, in words.
    fn value(&self, key: OperationNumber, failing: bool) -> Option<String>;
    /// The name of a cell.
    fn cell(&self, cell: u32) -> String;
    /// The name of a lock.
    fn lock(&self, lock: u32) -> String;
    /// `true` if the failure was computed from the operation in either order.
    fn matters(&self, key: OperationNumber) -> bool;
    /// `true` if a thread departs from its path in the alternate because of the value of this read.
    fn decides(&self, key: OperationNumber) -> bool;
    /// `true` if the run still fails when the others' operations up to the second come before the first.
    fn fails_all_the_same(&self, first: OperationNumber, until: OperationNumber) -> bool;
    /// The operation that fails.
    fn failure(&self) -> Option<OperationNumber>;
    /// Number of events in the failing order.
    fn events(&self) -> usize;
}

struct Projection<'s> {
    source: &'s dyn ProjectionSource,
    failing: &'s OrderSide,
    alternate: &'s OrderSide,
}

fn projection(
    source: &dyn ProjectionSource,
    failing: &OrderSide,
    alternate: &OrderSide,
    pair: Option<(OperationNumber, OperationNumber)>,
) -> Dsp {
    let projection = Projection {
        source,
        failing,
        alternate,
    };
    let varying = variations(failing, alternate);
    let told = pair.map(|pair| (pair, projection.hint(pair)));
    let shown = projection.chosen(&varying, told.as_ref());
    let told = projection.told(told, &shown);
    projection.finish(&varying, &shown, told)
}

impl Projection<'_> {
    /// Advice that a flipped pair suggests: a region, or an order if no function contains the region.
    fn hint(&self, pair: (OperationNumber, OperationNumber)) -> OrderAdvice {
        let source = self.source;
        let asked = AdviceFacts {
            failing: self.failing,
            alternate: self.alternate,
            matters: &|key| source.matters(key),
            fails_all_the_same: &|first, until| source.fails_all_the_same(first, until),
        };
        advice::hint(&asked, pair, &|inner, outer| {
            self.region(inner, outer, None).is_some()
        })
    }

    fn finish(&self, varying: &[Variation], shown: &[Variation], told: Option<ToldPair>) -> Dsp {
        let mut keys: FxHashSet<OperationNumber> = shown.iter().flat_map(Variation::keys).collect();
        if let Some((pair, hint)) = &told {
            keys.extend(needed(*pair, hint));
        }
        let failure = self.failure(shown);
        keys.extend(failure);
        self.made(varying, shown, told, &keys)
    }

    /// Makes the projection that shows these operations.
    fn made(
        &self,
        varying: &[Variation],
        shown: &[Variation],
        told: Option<ToldPair>,
        keys: &FxHashSet<OperationNumber>,
    ) -> Dsp {
        let in_flow: FxHashSet<OperationNumber> = shown.iter().flat_map(Variation::keys).collect();
        let failure = self.failure(shown).filter(|key| keys.contains(key));
        let pair = told.as_ref().map(|(pair, _)| *pair);
        let hint = told.map(|(_, hint)| hint);
        let numbers = self.numbers(keys);
        let number = |key: OperationNumber| numbers.get(&key).copied();
        let order = |side: &OrderSide| -> Vec<OperationNumber> {
            let mut there: Vec<(usize, OperationNumber)> = keys
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
            flipped: pair
                .filter(|(a, b)| {
                    self.failing.place(*a).is_some() && self.failing.place(*b).is_some()
                })
                .and_then(|(a, b)| Some((number(a)?, number(b)?))),
            failure: failure.and_then(number),
            advice: hint.and_then(|hint| self.advice(hint, &numbers)),
            explains: self.explains(shown),
            counts: self.counts(varying, shown, &in_flow),
            operations: Vec::new(),
        };
        let mut listed: Vec<(u32, OperationNumber)> =
            numbers.iter().map(|(&key, &at)| (at, key)).collect();
        listed.sort_unstable();
        dsp.operations = listed
            .into_iter()
            .map(|(_, key)| ThreadOperation {
                failing_value: self.value(key, true),
                alternate_value: self.value(key, false),
                is_moved: moves.contains(&key),
                is_in_flow: in_flow.contains(&key),
                ..self.source.describe(key)
            })
            .collect();
        dsp
    }

    /// Positions in the failing order, followed by operations that only the alternate has.
    fn numbers(&self, keys: &FxHashSet<OperationNumber>) -> FxHashMap<OperationNumber, u32> {
        let mut keys: Vec<OperationNumber> = keys.iter().copied().collect();
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

    fn value(&self, key: OperationNumber, failing: bool) -> Option<String> {
        let side = if failing {
            self.failing
        } else {
            self.alternate
        };
        side.place(key)?;
        self.source.value(key, failing)
    }

    fn flows(&self, shown: &[Variation], numbers: &FxHashMap<OperationNumber, u32>) -> Flows {
        let flow = |variation: &Variation, failing: bool| {
            let from = if failing {
                variation.failing
            } else {
                variation.alternate
            };
            let reader = match variation.to {
                ValueTarget::Read(key, _) => Some(key),
                ValueTarget::End(_) => None,
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

    fn variable(&self, key: Option<OperationNumber>, cell: u32) -> String {
        let named = key.map(|key| self.source.describe(key).variable);
        named
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| self.source.cell(cell))
    }

    fn advice(
        &self,
        hint: OrderAdvice,
        numbers: &FxHashMap<OperationNumber, u32>,
    ) -> Option<Advice> {
        let number = |key: OperationNumber| numbers.get(&key).copied();
        match hint {
            OrderAdvice::Order { first, second } => Some(Advice::Order {
                first: number(first)?,
                second: number(second)?,
            }),
            OrderAdvice::Region {
                first,
                last,
                from,
                to,
                between,
                lock,
            } => Some(Advice::Region {
                who: self.source.describe(first).who,
                first: number(first)?,
                last: number(last)?,
                between: between.into_iter().filter_map(number).collect(),
                region: self.region([first, last], [from, to], lock)?,
            }),
        }
    }

    /// The lines from the first to the last, in the innermost function that contains or calls both; extended
    /// to the surrounding critical sections as far as they are in the same function.
    fn region(
        &self,
        inner: [OperationNumber; 2],
        outer: [OperationNumber; 2],
        lock: Option<u32>,
    ) -> Option<Region> {
        let does = inner.map(|key| self.source.describe(key).does);
        let [first, last] = inner.map(|key| self.source.calls(key));
        if first == last && does[0] == does[1] {
            // The same operation twice, in a loop, spans no lines.
            return None;
        }
        let depth = parting(&first, &last)?;
        let outermost = |calls: &[Place]| calls.iter().rev().nth(depth).cloned();
        let common = outermost(&first).filter(|place| place.line != 0)?;
        let keys = inner.into_iter().chain(outer);
        let lines: Vec<u32> = keys
            .filter_map(|key| outermost(&self.source.calls(key)))
            .filter(|place| place.line != 0 && same_function(place, &common))
            .map(|place| place.line)
            .collect();
        Some(Region {
            first: lines.iter().min().copied()?,
            last: lines.iter().max().copied()?,
            file: common.file,
            function: common.function,
            lock: lock
                .map(|lock| self.source.lock(lock))
                .filter(|lock| !Location::of(lock).is_of_library()),
        })
    }

    fn counts(
        &self,
        varying: &[Variation],
        shown: &[Variation],
        in_flow: &FxHashSet<OperationNumber>,
    ) -> ProjectionCounts {
        let keys = |side: &OrderSide| side.ops.iter().map(|op| op.key).collect::<Vec<_>>();
        let mut events = moved(&keys(self.failing), &keys(self.alternate));
        events.extend(varying.iter().flat_map(Variation::keys));
        let flows = self.failing.flows();
        let read = flows
            .iter()
            .filter(|(to, from)| matches!(to, ValueTarget::Read(..)) && from.is_some());
        ProjectionCounts {
            events: self.source.events() as u32,
            shown: events.len() as u32,
            flows: read.count() as u32,
            variations: varying.len() as u32,
            not_shown: (varying.len() - shown.len()) as u32,
            to_read: in_flow.len() as u32,
        }
    }
}

/// Makes the projection without data flow: a pair, its suggestion, and the operations where threads block for
/// ever.
fn finish_with(projection: &Projection, told: ToldPair, stuck: &[OperationNumber]) -> Dsp {
    let (pair, hint) = &told;
    let mut keys: FxHashSet<OperationNumber> = needed(*pair, hint).into_iter().collect();
    keys.extend(stuck);
    if let OrderAdvice::Region { between, .. } = hint {
        keys.extend(between.first());
    }
    projection.made(&[], &[], Some(told), &keys)
}

/// Number of calls, from the outermost, that two places have in common, given the calls that led to each
/// (innermost first).
fn parting(first: &[Place], last: &[Place]) -> Option<usize> {
    let pairs: Vec<(&Place, &Place)> = first.iter().rev().zip(last.iter().rev()).collect();
    let equal = pairs.iter().take_while(|(a, b)| a == b).count();
    match pairs.get(equal) {
        Some((a, b)) if same_function(a, b) => Some(equal),
        _ => equal.checked_sub(1),
    }
}

fn same_function(a: &Place, b: &Place) -> bool {
    a.file == b.file && a.function == b.function
}

/// The operations that a reader needs beside the data flow.
fn needed(pair: (OperationNumber, OperationNumber), hint: &OrderAdvice) -> [OperationNumber; 4] {
    match hint {
        OrderAdvice::Region { first, last, .. } => [pair.0, pair.1, *first, *last],
        OrderAdvice::Order { first, second } => [pair.0, pair.1, *first, *second],
    }
}
