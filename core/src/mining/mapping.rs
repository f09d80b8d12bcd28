//! Steps 4 to 7 of Algorithm 2: maps an abstract pattern to the macro patterns that it stands for, with their
//! dependencies and their support in failing and passing runs.

use super::{
    INSTANCE, MiningOptions,
    graph::{EventDependency, MacroGraph},
    groups::PatternGroup,
    instances::{distinct_instances, instances},
    original::{ItemPositions, Originals},
    prepared::MiningSteps,
};
use crate::{Budget, StopReason};
use rustc_hash::{FxHashMap, FxHashSet};

/// Definition of an occurrence of a macro pattern in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mapping {
    /// Macros in this order with the same dependencies between them, in failing and in passing traces. Two
    /// instances with different dependencies are two patterns: a loop passes the same macros in the same
    /// order again and again, and only the dependencies tell a failing round from a passing one (Section 2.3:
    /// the sequences *and the corresponding dependencies* do not arise in passing traces).
    #[default]
    Dependencies,
    /// Macros in this order: the paper's second option (`macro(Σ)` as input of steps 5 to 7). The
    /// dependencies of a pattern are those of its instances in failing traces.
    MacroTraces,
    /// The events of the macros in this order, with any events between them: the paper's first option (`Σ` as
    /// input). A pattern has a dependency when a failing trace that has the pattern has it.
    OriginalTraces,
}

/// A macro pattern that passed steps 5 to 7.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappedPattern {
    /// Its macros.
    pub macros: Vec<u32>,
    /// Its dependencies: a number of [`Labels::sets`](super::graph::Labels::sets).
    pub dependencies: u32,
    /// Number of failing runs with it.
    pub failing: u32,
    /// Number of passing runs with it.
    pub passing: u32,
}

/// Maps abstract patterns to macro patterns.
#[derive(Debug)]
pub struct Mapper<'a> {
    prepared: &'a mut MiningSteps,
    mapping: Mapping,
    /// Bound on the instances of a pattern examined in a trace.
    most: usize,
    /// Bound on the instances of all patterns together, and how many are left.
    effort: u64,
    left: u64,
    /// Number of patterns that have more instances in some trace.
    pub crowded: usize,
    /// Patterns that shorter answers have mapped, with the number of traces in which the pattern has more instances.
    mapped: FxHashMap<Vec<u32>, (Vec<MappedPattern>, usize)>,
    /// Unions of labels, cached.
    unions: FxHashMap<Vec<u32>, u32>,
    /// Indexes for the first option.
    originals: Option<Originals>,
    /// For the second option: indexes of each trace's macros.
    places: Vec<ItemPositions>,
}

impl<'a> Mapper<'a> {
    /// Makes a mapper for these options.
    pub fn new(prepared: &'a mut MiningSteps, options: &MiningOptions) -> Mapper<'a> {
        let mut mapper = Mapper {
            prepared,
            mapping: options.mapping,
            most: options.most_instances,
            effort: options.effort / INSTANCE,
            left: 0,
            crowded: 0,
            mapped: FxHashMap::default(),
            unions: FxHashMap::default(),
            originals: None,
            places: Vec::new(),
        };
        match options.mapping {
            Mapping::Dependencies => {}
            Mapping::MacroTraces => {
                let kinds = mapper.prepared.macros.events.len();
                let graphs = mapper.prepared.graphs.iter();
                mapper.places = graphs
                    .map(|g| ItemPositions::new(&g.macros, kinds))
                    .collect();
            }
            Mapping::OriginalTraces => mapper.originals = Some(Originals::new(mapper.prepared)),
        }
        mapper
    }

    /// Number of passing runs.
    pub fn passing(&self) -> u32 {
        self.prepared.set.passing
    }

    /// Goes on to another support, whose patterns are others.
    pub fn next_support(&mut self) {
        self.mapped.clear();
    }

    /// Starts a new answer.
    pub fn begin(&mut self) {
        self.left = self.effort;
        self.crowded = 0;
    }

    /// Maps an abstract pattern to the macro patterns that are more frequent in failing runs than in passing
    /// ones, and whose macros each have a dependency with another one.
    pub fn map(
        &mut self,
        pattern: &[u32],
        budget: &Budget,
    ) -> Result<Vec<MappedPattern>, StopReason> {
        if let Some((found, crowded)) = self.mapped.get(pattern) {
            self.crowded += crowded;
            return Ok(found.clone());
        }
        let crowded = self.crowded;
        let mut found = match self.mapping {
            Mapping::Dependencies => self.with_dependencies(pattern, budget)?,
            Mapping::MacroTraces => self.on_macro_traces(pattern, budget)?,
            Mapping::OriginalTraces => match &mut self.originals {
                Some(originals) => originals.map(self.prepared, pattern, budget)?,
                None => Vec::new(),
            },
        };
        if self.left == 0 {
            return Err(StopReason::TooMuch("patterns"));
        }
        let set = &self.prepared.set;
        found.retain(|found| is_more_frequent(found, set.failing, set.passing));
        let mapped = (found.clone(), self.crowded - crowded);
        self.mapped.insert(pattern.to_vec(), mapped);
        Ok(found)
    }

    fn with_dependencies(
        &mut self,
        pattern: &[u32],
        budget: &Budget,
    ) -> Result<Vec<MappedPattern>, StopReason> {
        let mut known: FxHashMap<(Vec<u32>, u32), usize> = FxHashMap::default();
        let mut counts: Vec<(u32, u32)> = Vec::new();
        for side in [MappingSide::Failing, MappingSide::Passing] {
            for trace in 0..self.prepared.graphs.len() {
                let runs = self.runs(trace, side);
                if runs == 0 {
                    continue;
                }
                if let Some(reason) = budget.stop() {
                    return Err(reason);
                }
                for seen in self.seen(trace, pattern) {
                    let new = counts.len();
                    let at = match side {
                        MappingSide::Failing => *known.entry(seen).or_insert(new),
                        MappingSide::Passing => match known.get(&seen) {
                            Some(at) => *at,
                            None => continue,
                        },
                    };
                    if at == new {
                        counts.push((0, 0));
                    }
                    if let Some((failing, passing)) = counts.get_mut(at) {
                        *side.of(failing, passing) += runs;
                    }
                }
            }
            if counts.is_empty() {
                break;
            }
        }
        let mut candidates: Vec<(usize, MappedPattern)> = known
            .into_iter()
            .filter_map(|((macros, dependencies), at)| {
                let &(failing, passing) = counts.get(at)?;
                let candidate = MappedPattern {
                    macros,
                    dependencies,
                    failing,
                    passing,
                };
                Some((at, candidate))
            })
            .collect();
        candidates.sort_by_key(|(at, _)| *at);
        Ok(candidates.into_iter().map(|(_, found)| found).collect())
    }

    /// The macro patterns, with their dependencies, that have instances in a trace.
    fn seen(&mut self, trace: usize, pattern: &[u32]) -> Vec<(Vec<u32>, u32)> {
        let Some(graph) = self.prepared.graphs.get(trace) else {
            return Vec::new();
        };
        let mut seen: FxHashSet<Box<[u32]>> = FxHashSet::default();
        let mut one = Vec::new();
        let mut order = Vec::new();
        let mut count = 0;
        let complete = distinct_instances(graph, pattern, self.most, |places| {
            count += 1;
            one.clear();
            one.extend(macros_at(graph, places));
            labels_at(graph, places, &mut one);
            if !seen.contains(one.as_slice()) {
                seen.insert(one.as_slice().into());
                order.push(one.clone());
            }
            true
        });
        self.left = self.left.saturating_sub(count);
        self.crowded += usize::from(!complete);
        let mut numbered: Vec<(Vec<u32>, u32)> = Vec::new();
        let mut listed = FxHashSet::default();
        for mut macros in order {
            let labels = macros.split_off(pattern.len());
            let one = (macros, self.union(labels));
            if listed.insert(one.clone()) {
                numbered.push(one);
            }
        }
        numbered
    }

    /// The number of the union of these sets.
    fn union(&mut self, labels: Vec<u32>) -> u32 {
        if let Some(known) = self.unions.get(&labels) {
            return *known;
        }
        let sets = &mut self.prepared.labels.sets;
        let members = labels.iter().filter_map(|label| sets.get(*label));
        let mut joined: Vec<u32> = members.flatten().copied().collect();
        joined.sort_unstable();
        joined.dedup();
        let id = sets.id(joined);
        self.unions.insert(labels, id);
        id
    }

    fn on_macro_traces(
        &mut self,
        pattern: &[u32],
        budget: &Budget,
    ) -> Result<Vec<MappedPattern>, StopReason> {
        let mut order: Vec<Vec<u32>> = Vec::new();
        let mut dependencies: FxHashMap<Vec<u32>, Vec<u32>> = FxHashMap::default();
        for trace in 0..self.prepared.graphs.len() {
            if self.runs(trace, MappingSide::Failing) == 0 {
                continue;
            }
            for (macros, set) in self.seen(trace, pattern) {
                let sets = dependencies.entry(macros.clone()).or_insert_with(|| {
                    order.push(macros);
                    Vec::new()
                });
                sets.push(set);
            }
        }
        let mut found = Vec::new();
        for macros in order {
            if let Some(reason) = budget.stop() {
                return Err(reason);
            }
            let mut sets = dependencies.remove(&macros).unwrap_or_default();
            sets.sort_unstable();
            sets.dedup();
            let has = |trace: usize| {
                let places = self.places.get(trace);
                places.is_some_and(|places| places.behind(&macros, 0).is_some())
            };
            let (failing, passing) = self.count(has);
            found.push(MappedPattern {
                dependencies: self.union(sets),
                macros,
                failing,
                passing,
            });
        }
        Ok(found)
    }

    /// Counts the failing and passing runs whose trace satisfies a condition.
    fn count(&self, has: impl Fn(usize) -> bool) -> (u32, u32) {
        let traces = (0..self.prepared.graphs.len()).filter(|trace| has(*trace));
        traces.fold((0, 0), |(failing, passing), trace| {
            (
                failing + self.runs(trace, MappingSide::Failing),
                passing + self.runs(trace, MappingSide::Passing),
            )
        })
    }

    fn runs(&self, trace: usize, side: MappingSide) -> u32 {
        let trace = self.prepared.set.traces.get(trace);
        trace.map_or(0, |trace| match side {
            MappingSide::Failing => trace.failing.len() as u32,
            MappingSide::Passing => trace.passing,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MappingSide {
    Failing,
    Passing,
}

impl MappingSide {
    fn of<'c>(self, failing: &'c mut u32, passing: &'c mut u32) -> &'c mut u32 {
        match self {
            MappingSide::Failing => failing,
            MappingSide::Passing => passing,
        }
    }
}

/// Condition 3 of Section 4, `rel_supp > 0.5`, over shares of the runs.
fn is_more_frequent(found: &MappedPattern, failing: u32, passing: u32) -> bool {
    u64::from(found.failing) * u64::from(passing) > u64::from(found.passing) * u64::from(failing)
}

fn macros_at<'g>(graph: &'g MacroGraph, places: &'g [u32]) -> impl Iterator<Item = u32> + 'g {
    let at = |place: &u32| graph.macros.get(*place as usize).copied();
    places.iter().filter_map(at)
}

/// Appends the labels between all places, sorted.
fn labels_at(graph: &MacroGraph, places: &[u32], labels: &mut Vec<u32>) {
    let start = labels.len();
    for (i, from) in places.iter().enumerate() {
        let later = places.iter().skip(i + 1);
        labels.extend(later.filter_map(|to| graph.label(*from, *to)));
    }
    labels.get_mut(start..).unwrap_or(&mut []).sort_unstable();
}

/// Place at which a trace completes the first instance of this pattern of a group, in the sense of the
/// mapping: that of its last macro, or for the first option of its last event.
pub fn first_end(
    prepared: &MiningSteps,
    trace: usize,
    group: &PatternGroup,
    pattern: &[u32],
    options: &MiningOptions,
) -> Option<u32> {
    let graph = prepared.graphs.get(trace)?;
    match options.mapping {
        Mapping::MacroTraces => end_of(pattern, &graph.macros),
        Mapping::OriginalTraces => {
            let events = &prepared.set.traces.get(trace)?.events;
            end_of(&concatenated(prepared, pattern), events)
        }
        Mapping::Dependencies => {
            let of = |id: &u32| prepared.abstraction.of(*id);
            let abstracts: Vec<u32> = pattern.iter().map(of).collect();
            let mut first: Option<u32> = None;
            instances(graph, &abstracts, options.most_instances, |places| {
                let end = places.last().copied();
                let is_earlier = first.is_none_or(|first| end.is_some_and(|end| end < first));
                if is_earlier
                    && macros_at(graph, places).eq(pattern.iter().copied())
                    && dependencies_at(prepared, graph, places) == group.dependencies
                {
                    first = end;
                }
                true
            });
            first
        }
    }
}

fn concatenated(prepared: &MiningSteps, macros: &[u32]) -> Vec<u32> {
    let events = macros
        .iter()
        .filter_map(|id| prepared.macros.events.get(*id as usize));
    events.flatten().copied().collect()
}

/// All dependencies between places, in the order of their numbers.
fn dependencies_at(
    prepared: &MiningSteps,
    graph: &MacroGraph,
    places: &[u32],
) -> Vec<EventDependency> {
    let mut labels = Vec::new();
    labels_at(graph, places, &mut labels);
    let sets = labels
        .iter()
        .filter_map(|label| prepared.labels.sets.get(*label));
    let mut ids: Vec<u32> = sets.flatten().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let dependencies = ids
        .iter()
        .filter_map(|id| prepared.labels.dependencies.get(*id));
    dependencies.copied().collect()
}

/// Position of the last item of the first occurrence of a subsequence.
fn end_of(small: &[u32], large: &[u32]) -> Option<u32> {
    let mut rest = large.iter().zip(0..);
    let mut end = 0;
    for item in small {
        end = rest.find(|(other, _)| *other == item)?.1;
    }
    Some(end)
}
