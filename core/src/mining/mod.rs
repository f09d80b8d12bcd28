//! Bug explanation patterns ([mining]): sequences of events that failing runs have and passing runs lack.
//!
//! [`mine`] is Algorithm 2. Accesses become events by identity ([`trace`]), the events of a thread between
//! two context switches become a macro ([`macros`](mod@macros)), macros that share events become one abstract
//! event ([`abstraction`]); closed patterns of the short abstract traces are mined ([`closed`]) and mapped
//! back to macros ([`mapping`]), of which those stay in which every macro has a dependency with another one
//! and that are more frequent in failing runs. Patterns with the same dependencies and the same support are
//! one [`Group`].
//!
//! The cost of one more run: its own [`Trace`] is computed once and kept. Macros, abstract events and
//! patterns are those of all runs together, because one more context switch can split a macro of every other
//! run; they are computed anew, over the *distinct* traces only.
//!
//! [mining]: Tabaei Befrouei, Wang, Weissenbacher, *Abstraction and mining of traces to explain concurrency
//! bugs*, Formal Methods in System Design 49, 2016.

pub mod abstraction;
mod alike;
pub mod closed;
mod counter;
mod dataset;
mod graph;
mod groups;
mod guide;
mod instances;
pub mod macros;
mod mapping;
mod original;
mod prepared;
mod sequences;
#[cfg(test)]
mod tests;
pub mod trace;

pub use dataset::{DataSet, DatasetItem, Distinct, MiningInput, Sample, Subset, switches};
pub use graph::EventDependency;
pub use groups::PatternGroup;
pub use mapping::Mapping;
pub use prepared::{MiningSteps, WantedPatterns, abstract_patterns};
pub use trace::{EventIdentity, Trace};

use crate::{Budget, StopReason};
use groups::Grouping;
use mapping::Mapper;
use rustc_hash::FxHashSet;

/// Options of [`mine`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MiningOptions {
    /// Minimum share of the failing runs that have an abstract pattern, in percent. None: from 100 down to
    /// [`LOWEST`] in steps of [`STEP`], until a pattern with that support is found that hardly any passing
    /// run has.
    pub min_support: Option<u32>,
    /// Maximum number of macros in a pattern (the paper's `max_pattern_len`).
    pub longest: usize,
    /// Definition of an occurrence.
    pub mapping: Mapping,
    /// Selection of runs.
    pub subset: Subset,
    /// Bound on the abstract patterns examined; when there are more, the longest are given up with a note.
    pub most_patterns: usize,
    /// Effort after which the same happens: places of traces that the miner examines, and as many instances
    /// divided by [`INSTANCE`].
    pub effort: u64,
    /// Bound on the instances of a pattern examined in one trace; more are left out with a note.
    pub most_instances: usize,
}

/// The lowest support tried, in percent.
pub const LOWEST: u32 = 10;
/// Cost of an instance of a pattern, in places.
pub const INSTANCE: u64 = 10;
/// Step by which the support is lowered, in percent.
pub const STEP: u32 = 10;

impl Default for MiningOptions {
    fn default() -> MiningOptions {
        MiningOptions {
            min_support: None,
            longest: 4,
            mapping: Mapping::default(),
            subset: Subset::default(),
            most_patterns: 100_000,
            effort: 50_000_000,
            most_instances: 2_000,
        }
    }
}

/// Result of the mining.
#[derive(Debug, Default)]
pub struct Mined {
    /// Groups of patterns, best first.
    pub groups: Vec<PatternGroup>,
    /// The prepared runs that the numbers in the groups refer to.
    pub prepared: MiningSteps,
    /// Statistics of the steps.
    pub figures: Figures,
    /// Notes on limits of the answer, or the reason for the lack of one, in words.
    pub notes: Vec<String>,
}

/// Statistics of the steps that lead to the patterns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// The support at which a pattern was found, or the last one tried, in percent.
    pub min_support: u32,
    /// Total number of macros in the pruned traces of all runs.
    pub abstract_length: u64,
    /// Number of abstract patterns mapped to macros.
    pub abstract_patterns: usize,
    /// Number of macro patterns left after step 7.
    pub patterns: usize,
    /// Number of patterns with more instances in some trace than were examined.
    pub crowded: usize,
}

impl Mined {
    /// Average number of events of a run.
    pub fn average_length(&self) -> f64 {
        self.per_run(self.prepared.set.events)
    }

    /// Average number of macros of a run after pruning.
    pub fn average_abstract_length(&self) -> f64 {
        self.per_run(self.figures.abstract_length)
    }

    /// Failing runs with a pattern of the group, with the place among the run's macros where the first of
    /// them is complete: indices into the input. `options` are those of the mining.
    pub fn runs_with(&self, group: &PatternGroup, options: &MiningOptions) -> Vec<(u32, u32)> {
        let traces = self.prepared.set.traces.iter().enumerate();
        let with = traces.filter_map(|(trace, runs)| {
            let patterns = group.patterns.iter();
            let ends = patterns.filter_map(|pattern| {
                mapping::first_end(&self.prepared, trace, group, pattern, options)
            });
            Some((ends.min()?, runs))
        });
        with.flat_map(|(end, trace)| trace.failing.iter().map(move |run| (*run, end)))
            .collect()
    }

    /// For each distinct trace of passing runs: the dependencies between its macros.
    pub fn dependencies_of_passing(&self) -> Vec<FxHashSet<EventDependency>> {
        let labels = &self.prepared.labels;
        let of = |graph: &graph::MacroGraph| {
            let sets = graph.labels().filter_map(|label| labels.sets.get(label));
            let ids = sets.flatten();
            ids.filter_map(|id| labels.dependencies.get(*id).copied())
                .collect()
        };
        let passing = self.prepared.passing();
        passing.map(|(graph, _)| of(graph)).collect()
    }

    fn per_run(&self, sum: u64) -> f64 {
        let set = &self.prepared.set;
        sum as f64 / f64::from((set.failing + set.passing).max(1))
    }
}

/// Mines the traces of failing and passing runs. No groups with [`StopReason::Complete`] means that no
/// pattern is more frequent in failing runs; the notes state the limits of the search.
pub fn mine(
    inputs: &[MiningInput<'_>],
    options: &MiningOptions,
    budget: &Budget,
) -> (Mined, StopReason) {
    let prepared = match MiningSteps::new(inputs, &options.subset, budget) {
        Ok(prepared) => prepared,
        Err(reason) => return (Mined::default(), reason),
    };
    let mut mined = Mined {
        prepared,
        ..Mined::default()
    };
    let macros = mined.prepared.graphs.iter().zip(&mined.prepared.set.traces);
    let lengths = macros.map(|(graph, trace)| {
        let runs = trace.failing.len() as u64 + u64::from(trace.passing);
        graph.macros.len() as u64 * runs
    });
    mined.figures.abstract_length = lengths.sum();
    if let Some(what) = missing(&mined.prepared) {
        return (mined, StopReason::Lacks(what));
    }
    let stopped = search(&mut mined, options, budget);
    (mined, stopped)
}

/// The missing precondition of mining, if any.
fn missing(prepared: &MiningSteps) -> Option<&'static str> {
    let set = &prepared.set;
    if set.failing == 0 {
        return Some("a failing run");
    }
    if set.passing == 0 {
        return Some("a passing run to compare with");
    }
    if set.events == 0 {
        return Some("accesses to data that two threads share");
    }
    if prepared.graphs.iter().all(|graph| graph.macros.is_empty()) {
        return Some(
            "runs whose threads take turns differently: all accesses come in the same order",
        );
    }
    None
}

/// Steps 2 to 8, at falling support until a pattern is found that as many failing runs have as the support
/// demands, and hardly any passing run. (By hand one would go on as long as the patterns explain nothing;
/// patterns that are only a little more frequent in failing runs seldom do.)
///
/// At each support the answer for patterns of up to two macros comes first, then for three and so on: each is
/// the complete answer for its `max_pattern_len`, and the last one is given when the next exceeds the limits.
/// That costs little more: there are far fewer short patterns than long ones.
fn search(mined: &mut Mined, options: &MiningOptions, budget: &Budget) -> StopReason {
    let data = mined.prepared.sequences();
    let related = mined.prepared.related();
    let failing = mined.prepared.set.failing;
    let mut mapper = Mapper::new(&mut mined.prepared, options);
    let passing = mapper.passing();
    let mut found = LevelAnswer::default();
    let mut stopped = StopReason::Complete;
    let mut below = failing + 1;
    for percent in levels(options) {
        let least = runs_of(percent, failing);
        mined.figures.min_support = percent;
        mapper.next_support();
        let mut best = LevelAnswer::default();
        for longest in 2..=options.longest {
            let wanted = WantedPatterns {
                least,
                below,
                longest,
                effort: options.effort,
                most: options.most_patterns,
            };
            let (level, reason) = level(&mut mapper, &data, &related, &wanted, budget);
            if reason == StopReason::Complete {
                best = level;
                continue;
            }
            stopped = reason;
            mined.notes.push(given_up(longest, percent));
            if best.grouping.is_empty() {
                best = level;
            }
            break;
        }
        below = least;
        found.add(best);
        let enough = found.grouping.is_convincing(least, failing, passing);
        if enough || stopped != StopReason::Complete {
            break;
        }
    }
    mined.figures.abstract_patterns = found.patterns;
    mined.figures.crowded = found.crowded;
    mined.figures.patterns = found.grouping.patterns();
    mined.groups = found.grouping.ranked(&mined.prepared);
    mined.notes.extend(remarks(mined, options, stopped));
    stopped
}

/// The answer for one support and one maximum length.
#[derive(Default)]
struct LevelAnswer {
    grouping: Grouping,
    patterns: usize,
    crowded: usize,
}

impl LevelAnswer {
    fn add(&mut self, other: LevelAnswer) {
        self.grouping.join(other.grouping);
        self.patterns += other.patterns;
        self.crowded += other.crowded;
    }
}

fn level(
    mapper: &mut Mapper<'_>,
    data: &closed::SequencesToMine,
    related: &guide::Related,
    wanted: &WantedPatterns,
    budget: &Budget,
) -> (LevelAnswer, StopReason) {
    let mut level = LevelAnswer::default();
    let (patterns, stopped) = abstract_patterns(data, related, wanted, budget);
    mapper.begin();
    for pattern in patterns.iter().take(wanted.most) {
        match mapper.map(pattern, budget) {
            Ok(found) => found
                .into_iter()
                .for_each(|found| level.grouping.add(found)),
            Err(reason) => return (level, reason),
        }
        level.patterns += 1;
        level.crowded = mapper.crowded;
    }
    let too_many = patterns.len() > wanted.most;
    let stopped = stopped.or(too_many.then_some(StopReason::TooMuch("patterns")));
    (level, stopped.unwrap_or(StopReason::Complete))
}

fn levels(options: &MiningOptions) -> Vec<u32> {
    match options.min_support {
        Some(percent) => vec![percent],
        None => (LOWEST..=100).rev().step_by(STEP as usize).collect(),
    }
}

/// The least number of runs that makes up this share.
fn runs_of(percent: u32, failing: u32) -> u32 {
    let runs = (u64::from(failing) * u64::from(percent)).div_ceil(100);
    (runs as u32).max(1)
}

fn given_up(longest: usize, percent: u32) -> String {
    let what =
        format!("gave up among the patterns of {longest} macros at a support of {percent} %");
    match longest {
        2 => format!("{what}: what was found until then is not all"),
        _ => format!("{what}: this is the answer for up to {}", longest - 1),
    }
}

fn remarks(mined: &Mined, options: &MiningOptions, stopped: StopReason) -> Vec<String> {
    let figures = &mined.figures;
    let mut remarks = Vec::new();
    if mined.groups.is_empty() && stopped == StopReason::Complete {
        remarks.push(format!(
            "no pattern of up to {} macros with a support of at least {} % is more frequent in failing runs",
            options.longest, figures.min_support
        ));
    }
    if figures.crowded > 0 {
        remarks.push(format!(
            "in some traces {} patterns have more than {} instances; the others were not looked at",
            figures.crowded, options.most_instances
        ));
    }
    remarks
}
