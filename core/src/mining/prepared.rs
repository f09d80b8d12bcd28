//! Runs prepared for mining: events, macros, abstract events, dependencies.

use super::{
    abstraction::Abstraction,
    closed::{PatternLimits, SequencesToMine},
    dataset::{DataSet, MiningInput, Subset},
    graph::{DependencyLabels, MacroGraph, MacroParts},
    guide::Related,
    macros::{Macros, macros},
};
use crate::{Budget, StopReason};
use rustc_hash::FxHashMap;

/// Input of steps 2 to 8 of Algorithm 2.
#[derive(Debug, Default)]
pub struct MiningSteps {
    /// Distinct events and traces.
    pub set: DataSet,
    /// Macros of the traces.
    pub macros: Macros,
    /// Abstract events, with the common prefix and suffix.
    pub abstraction: Abstraction,
    /// For each trace: its macros without prefix and suffix, with the dependencies among them.
    pub graphs: Vec<MacroGraph>,
    /// Dependencies by number.
    pub labels: DependencyLabels,
}

impl MiningSteps {
    /// Step 1 of Algorithm 2. Costs as much as all runs: one more context switch can split macros of any
    /// other run, so nothing can be kept when a run is added.
    pub fn new(
        inputs: &[MiningInput<'_>],
        subset: &Subset,
        budget: &Budget,
    ) -> Result<MiningSteps, StopReason> {
        let set = DataSet::new(inputs, subset);
        let kinds = set.items.len();
        let threads: Vec<u32> = set.items.iter().map(|item| item.thread).collect();
        let thread = |event: u32| threads.get(event as usize).copied().unwrap_or(0);
        let traces: Vec<&[u32]> = set.traces.iter().map(|t| t.events.as_slice()).collect();
        let macros = macros(&traces, kinds, thread, budget)?;
        let mut prepared = MiningSteps {
            abstraction: Abstraction::new(&macros, kinds),
            macros,
            set,
            ..MiningSteps::default()
        };
        prepared.depend(budget)?;
        Ok(prepared)
    }

    fn depend(&mut self, budget: &Budget) -> Result<(), StopReason> {
        for (trace, macros) in self.set.traces.iter().zip(&self.macros.traces) {
            if let Some(reason) = budget.stop() {
                return Err(reason);
            }
            let length = |id: &u32| self.macros.events.get(*id as usize).map_or(0, Vec::len);
            let skipped = macros.iter().take(self.abstraction.prefix);
            let kept = self.abstraction.pruned(macros);
            let parts = MacroParts {
                events: &trace.events,
                skipped: skipped.map(length).sum(),
                macros: kept,
                of_macros: &self.macros.events,
            };
            let abstracts = kept.iter().map(|id| self.abstraction.of(*id)).collect();
            let graph = MacroGraph::new(&parts, abstracts, &self.set.items, &mut self.labels);
            self.graphs.push(graph);
        }
        Ok(())
    }

    /// Graphs of failing traces, with the number of failing runs.
    pub fn failing(&self) -> impl Iterator<Item = (&MacroGraph, u32)> {
        let traces = self.graphs.iter().zip(&self.set.traces);
        traces
            .map(|(graph, trace)| (graph, trace.failing.len() as u32))
            .filter(|(_, runs)| *runs > 0)
    }

    /// Graphs of passing traces, with the number of passing runs.
    pub fn passing(&self) -> impl Iterator<Item = (&MacroGraph, u32)> {
        let traces = self.graphs.iter().zip(&self.set.traces);
        traces
            .map(|(graph, trace)| (graph, trace.passing))
            .filter(|(_, runs)| *runs > 0)
    }

    /// The abstract traces of failing runs.
    pub fn sequences(&self) -> SequencesToMine {
        let mut at: FxHashMap<&[u32], usize> = FxHashMap::default();
        let mut list: Vec<(Vec<u32>, u32)> = Vec::new();
        for (graph, runs) in self.failing() {
            let index = *at.entry(&graph.abstracts).or_insert_with(|| {
                list.push((graph.abstracts.clone(), 0));
                list.len() - 1
            });
            if let Some((_, weight)) = list.get_mut(index) {
                *weight += runs;
            }
        }
        SequencesToMine::new(self.abstraction.count, list)
    }

    /// The dependence relation of abstract events in failing runs.
    pub fn related(&self) -> Related {
        let pairs = self.failing().flat_map(|(graph, _)| graph.pairs());
        Related::new(self.abstraction.count, pairs)
    }
}

/// Steps 2 and 3: closed abstract patterns, each element of which can have a dependency with another; that
/// implies a context switch. At most one more than `wanted.most`.
pub fn abstract_patterns(
    data: &SequencesToMine,
    related: &Related,
    wanted: &WantedPatterns,
    budget: &Budget,
) -> (Vec<Vec<u32>>, Option<StopReason>) {
    let limits = PatternLimits {
        least: wanted.least,
        longest: Some(wanted.longest),
        effort: Some(wanted.effort),
    };
    let mut patterns = Vec::new();
    let stopped = data.mine(&limits, related, budget, |pattern, support| {
        // The longest patterns are reported without the guide's consent.
        if support < wanted.below && related.is_covered(pattern) {
            patterns.push(pattern.to_vec());
        }
        patterns.len() <= wanted.most
    });
    (patterns, stopped)
}

/// Request for abstract patterns.
#[derive(Clone, Copy, Debug)]
pub struct WantedPatterns {
    /// Minimum support.
    pub least: u32,
    /// Exclusive upper bound of the support.
    pub below: u32,
    /// Maximum length.
    pub longest: usize,
    /// Effort after which the search gives up.
    pub effort: u64,
    /// Maximum number of patterns; one more is returned when it is exceeded.
    pub most: usize,
}
