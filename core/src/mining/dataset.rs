//! The traces of failing and passing runs over one numbering of events.

use super::trace::Trace;
use crate::pairs::AccessClass;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::EventId;

/// A run's trace and outcome.
#[derive(Clone, Copy, Debug)]
pub struct MiningInput<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// `true` if the run failed.
    pub failing: bool,
}

/// Selection of runs (Sections 5.5 and 5.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Subset {
    /// Maximum number of context switches of a run.
    pub switches: Option<u32>,
    /// Random sample of those runs.
    pub sample: Option<Sample>,
}

/// Random sample of the runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Seed; equal seeds choose equal runs.
    pub seed: u64,
    /// Maximum number of failing runs.
    pub failing: usize,
    /// Maximum number of passing runs.
    pub passing: usize,
}

/// An event of the data set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatasetItem {
    /// Number of the thread.
    pub thread: u32,
    /// Number of the location.
    pub location: u32,
    /// Reads, writes or both.
    pub access: AccessClass,
    /// Index into the input of a run that has the event; of a failing one if there is one.
    pub run: u32,
    /// Event in that run.
    pub row: EventId,
}

/// Runs with equal traces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Distinct {
    /// Events of the trace: indices into [`DataSet::items`].
    pub events: Vec<u32>,
    /// Failing runs with the trace: indices into the input.
    pub failing: Vec<u32>,
    /// Number of passing runs with the trace.
    pub passing: u32,
}

/// Data set to mine: accesses to locations that at least two threads access and one of them writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DataSet {
    /// The distinct events.
    pub items: Vec<DatasetItem>,
    /// The distinct traces, in the order of the input.
    pub traces: Vec<Distinct>,
    /// Number of failing runs.
    pub failing: u32,
    /// Number of passing runs.
    pub passing: u32,
    /// Sum of the lengths of all traces.
    pub events: u64,
}

impl DataSet {
    /// Numbers the events of all runs of the subset, in time linear in their length.
    ///
    /// Sharing is a property of a location over all runs together: in a run that ends early fewer threads
    /// reach it.
    pub fn new(inputs: &[MiningInput<'_>], subset: &Subset) -> DataSet {
        let numbered = Numbered::new(inputs);
        let shared = numbered.shared();
        let mut traces: Vec<(usize, Vec<u32>)> = Vec::new();
        for (at, input) in inputs.iter().enumerate() {
            let events = numbered.events(at, input.trace, &shared);
            let within = |bound| switches(&events, &numbered.items) <= bound;
            if subset.switches.is_none_or(within) {
                traces.push((at, events));
            }
        }
        if let Some(sample) = &subset.sample {
            choose(&mut traces, inputs, sample);
        }
        collect(numbered.items, inputs, traces)
    }
}

/// One numbering for the events of all traces.
#[derive(Default)]
struct Numbered {
    items: Vec<DatasetItem>,
    /// For each trace: the items of its kinds.
    of_traces: Vec<Vec<u32>>,
}

impl Numbered {
    fn new(inputs: &[MiningInput<'_>]) -> Numbered {
        let mut numbered = Numbered::default();
        let mut ids: FxHashMap<u64, u32> = FxHashMap::default();
        let (mut threads, mut locations) = (FxHashMap::default(), FxHashMap::default());
        for (run, input) in inputs.iter().enumerate() {
            let mut of_trace = Vec::with_capacity(input.trace.kinds.len());
            for kind in &input.trace.kinds {
                let new = numbered.items.len() as u32;
                let id = *ids.entry(kind.key).or_insert(new);
                if id == new {
                    numbered.items.push(DatasetItem {
                        thread: small(&mut threads, kind.thread),
                        location: small(&mut locations, kind.location),
                        access: kind.access,
                        run: run as u32,
                        row: kind.first,
                    });
                }
                if let Some(item) = numbered.items.get_mut(id as usize)
                    && input.failing
                    && inputs
                        .get(item.run as usize)
                        .is_some_and(|known| !known.failing)
                {
                    (item.run, item.row) = (run as u32, kind.first);
                }
                of_trace.push(id);
            }
            numbered.of_traces.push(of_trace);
        }
        numbered
    }

    /// For each location, whether it is shared.
    fn shared(&self) -> Vec<bool> {
        let count = self.items.iter().map(|item| item.location as usize + 1);
        let count = count.max().unwrap_or(0);
        let mut seen = vec![SeenItems::default(); count];
        for item in &self.items {
            if let Some(seen) = seen.get_mut(item.location as usize) {
                seen.many |= seen.thread.is_some_and(|thread| thread != item.thread);
                seen.thread = Some(item.thread);
                seen.written |= item.access != AccessClass::Read;
            }
        }
        seen.into_iter()
            .map(|seen| seen.many && seen.written)
            .collect()
    }

    fn events(&self, at: usize, trace: &Trace, shared: &[bool]) -> Vec<u32> {
        let Some(of_trace) = self.of_traces.get(at) else {
            return Vec::new();
        };
        let is_shared = |id: &u32| {
            let item = self.items.get(*id as usize);
            item.is_some_and(|item| shared.get(item.location as usize) == Some(&true))
        };
        let ids = trace.events.iter();
        let ids = ids.filter_map(|&kind| of_trace.get(kind as usize).copied());
        ids.filter(is_shared).collect()
    }
}

#[derive(Clone, Default)]
struct SeenItems {
    thread: Option<u32>,
    many: bool,
    written: bool,
}

fn small(numbers: &mut FxHashMap<u64, u32>, name: u64) -> u32 {
    let new = numbers.len() as u32;
    *numbers.entry(name).or_insert(new)
}

/// Number of context switches.
pub fn switches(events: &[u32], items: &[DatasetItem]) -> u32 {
    let thread = |event: &u32| items.get(*event as usize).map(|item| item.thread);
    let turns = events.chunk_by(|a, b| thread(a) == thread(b)).count();
    turns.saturating_sub(1) as u32
}

/// Keeps a sample: the runs with the smallest random numbers, in their order.
fn choose(traces: &mut Vec<(usize, Vec<u32>)>, inputs: &[MiningInput<'_>], sample: &Sample) {
    let failing = |at: usize| inputs.get(at).is_some_and(|input| input.failing);
    let mut kept = FxHashSet::default();
    for (side, most) in [(true, sample.failing), (false, sample.passing)] {
        let of_side = traces.iter().map(|(at, _)| *at);
        let mut lots: Vec<(u64, usize)> = of_side
            .filter(|at| failing(*at) == side)
            .map(|at| (lot(sample.seed, at as u64), at))
            .collect();
        lots.sort_unstable();
        kept.extend(lots.into_iter().take(most).map(|(_, at)| at));
    }
    traces.retain(|(at, _)| kept.contains(at));
}

/// A random number for each seed and run (splitmix64).
fn lot(seed: u64, at: u64) -> u64 {
    let mut x = seed.wrapping_add((at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Groups equal traces.
fn collect(
    items: Vec<DatasetItem>,
    inputs: &[MiningInput<'_>],
    traces: Vec<(usize, Vec<u32>)>,
) -> DataSet {
    let mut set = DataSet {
        items,
        ..DataSet::default()
    };
    let mut known: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
    let mut distinct: Vec<(Vec<u32>, u32)> = Vec::new();
    for (at, events) in traces {
        set.events += events.len() as u64;
        let new = distinct.len();
        let index = *known.entry(events).or_insert(new);
        if index == new {
            distinct.push((Vec::new(), 0));
        }
        let Some((failing, passing)) = distinct.get_mut(index) else {
            continue;
        };
        if inputs.get(at).is_some_and(|input| input.failing) {
            failing.push(at as u32);
            set.failing += 1;
        } else {
            *passing += 1;
            set.passing += 1;
        }
    }
    set.traces = distinct
        .into_iter()
        .map(|(failing, passing)| Distinct {
            events: Vec::new(),
            failing,
            passing,
        })
        .collect();
    for (events, index) in known {
        if let Some(trace) = set.traces.get_mut(index) {
            trace.events = events;
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture::run, orders::Accesses};

    fn set(texts: &[(&str, bool)], subset: Subset) -> DataSet {
        let traces: Vec<(Trace, bool)> = texts
            .iter()
            .map(|(text, failing)| {
                let run = run(text);
                (Trace::new(&run, &Accesses::new(&run)), *failing)
            })
            .collect();
        let inputs: Vec<MiningInput<'_>> = traces
            .iter()
            .map(|(trace, failing)| MiningInput {
                trace,
                failing: *failing,
            })
            .collect();
        DataSet::new(&inputs, &subset)
    }

    #[test]
    fn what_is_shared_is_a_fact_about_all_runs() {
        let whole = "main.1 W x @1\nmain.2 R x @2\nmain.1 W own @3";
        let early = "main.1 W x @1\nmain.1 W own @3";
        let set = set(&[(whole, false), (early, true)], Subset::default());
        assert_eq!(set.traces[0].events, [0, 1]);
        assert_eq!(set.traces[1].events, [0]);
        assert_eq!(set.items[0].run, 1, "described by the failing run");
    }

    #[test]
    fn equal_traces_are_kept_once() {
        let (a, b) = (
            "main.1 W x @1\nmain.2 R x @2",
            "main.2 R x @2\nmain.1 W x @1",
        );
        let set = set(
            &[(a, false), (b, true), (a, true), (a, false)],
            Subset::default(),
        );
        assert_eq!((set.failing, set.passing, set.events), (2, 2, 8));
        let kept: Vec<_> = set
            .traces
            .iter()
            .map(|t| (t.failing.clone(), t.passing))
            .collect();
        assert_eq!(kept, [(vec![2], 2), (vec![1], 0)]);
    }

    #[test]
    fn runs_with_many_switches_can_be_left_out() {
        let few = "main.1 W x @1\nmain.1 R x @2\nmain.2 R x @3";
        let many = "main.1 W x @1\nmain.2 R x @3\nmain.1 R x @2";
        let bound = |switches| Subset {
            switches: Some(switches),
            sample: None,
        };
        let texts = [(few, false), (many, true)];
        assert_eq!(set(&texts, bound(1)).traces.len(), 1);
        assert_eq!(set(&texts, bound(2)).traces.len(), 2);
    }

    #[test]
    fn a_sample_depends_on_its_seed_only() {
        let texts: Vec<String> = (0..40)
            .map(|i| format!("main.1 W x @{}\nmain.2 R x @1", i + 5))
            .collect();
        let texts: Vec<(&str, bool)> = texts
            .iter()
            .enumerate()
            .map(|(i, text)| (text.as_str(), i % 2 == 0))
            .collect();
        let sample = |seed| {
            let sample = Sample {
                seed,
                failing: 4,
                passing: 100,
            };
            set(
                &texts,
                Subset {
                    switches: None,
                    sample: Some(sample),
                },
            )
        };
        assert_eq!((sample(1).failing, sample(1).passing), (4, 20));
        assert_eq!(sample(1), sample(1));
        assert_ne!(sample(1), sample(2));
    }
}
