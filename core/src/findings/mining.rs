//! What mined patterns say: the groups of bug explanation patterns of all failing runs together.

use super::{
    Answer, Engine, Finding, FoundDependency, FoundSite, Seen, cannot_compare, runs_were, variable,
    weaknesses,
};
use crate::{
    Budget, Corpus, RunSummary, StopReason,
    facts::{family, place, short, thread_in_words},
    mining::{Group, Input, Mined, Options, Sample, Subset, mine},
    orders::DependencyKind,
    pairs::AccessClass,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// Groups that become findings; how many more there are is said.
const MOST: usize = 100;
/// Accesses of a macro that are shown though nothing depends on them; how many more there are is said.
const AROUND: usize = 12;
/// A finding with an interrupted thread is as frequent as one with so many times its failing runs.
const AS_FREQUENT: usize = 3;
/// Dependencies that a headline names; how many more there are is said.
const NAMED: usize = 3;

/// Mines the runs of the corpus.
pub fn ask(corpus: &Corpus, options: &Options, budget: &Budget) -> Answer {
    let mut answer = Answer {
        engine: Engine::Mining,
        findings: Vec::new(),
        stopped: StopReason::Complete,
        notes: weaknesses(corpus),
    };
    if let Some(lacks) = cannot_compare(corpus) {
        answer.stopped = lacks;
        return answer;
    }
    let (runs, others) = comparable(corpus);
    if others > 0 {
        answer.notes.push(format!(
            "{} of another build or input: left out",
            runs_were(others)
        ));
    }
    let (mined, stopped) = mine(&inputs(&runs), options, budget);
    answer.stopped = stopped;
    answer.notes.extend(mined.notes.iter().cloned());
    if !mined.groups.is_empty() {
        answer.notes.push(format!(
            "found at a minimal support of {} %",
            mined.figures.min_support
        ));
    }
    answer.findings = findings(&runs, &mined, options);
    if mined.groups.len() > MOST {
        let more = mined.groups.len() - MOST;
        answer
            .notes
            .push(format!("{more} more groups of patterns are not shown"));
    }
    answer
}

/// What mining says with as little work as an explanation can wait for: so many runs, patterns and instances
/// at most, counted, so that the answer does not depend on the machine.
pub(super) fn in_brief(corpus: &Corpus, budget: &Budget) -> Brief {
    if cannot_compare(corpus).is_some() {
        return Brief::default();
    }
    let options = Options {
        subset: Subset {
            switches: None,
            sample: Some(Sample {
                seed: 1,
                failing: 40,
                passing: 100,
            }),
        },
        most_patterns: 2_000,
        effort: 200_000,
        most_instances: 500,
        ..Options::default()
    };
    let (runs, _) = comparable(corpus);
    let (mined, _) = mine(&inputs(&runs), &options, budget);
    let findings = findings(&runs, &mined, &options).into_iter();
    let looked_at = mined.prepared.set.traces.iter();
    let looked_at = looked_at.flat_map(|trace| &trace.failing);
    let name = |run: &u32| Some(runs.get(*run as usize)?.name.clone());
    Brief {
        findings: findings.filter(|f| f.in_passing == Some(0)).collect(),
        looked_at: looked_at.filter_map(name).collect(),
        is_sure: mined.figures.crowded == 0,
    }
}

/// What only failing runs have.
#[derive(Default, Debug)]
pub(crate) struct Brief {
    /// Patterns that no passing run has, best first.
    pub findings: Vec<Finding>,
    /// Failing runs that were looked at.
    pub looked_at: BTreeSet<String>,
    /// Every instance of every pattern was looked at: no passing run has one that was not seen.
    pub is_sure: bool,
}

/// Failing and passing runs of the corpus's own build and input, and how many others there are.
fn comparable(corpus: &Corpus) -> (Vec<&RunSummary>, usize) {
    let compared = |run: &&RunSummary| run.is_failure() || run.is_pass();
    let (runs, others): (Vec<&RunSummary>, Vec<&RunSummary>) = corpus
        .runs()
        .filter(compared)
        .partition(|run| run.key == *corpus.key());
    (runs, others.len())
}

fn inputs<'a>(runs: &[&'a RunSummary]) -> Vec<Input<'a>> {
    let input = |run: &&'a RunSummary| Input {
        trace: &run.accesses,
        failing: run.is_failure(),
    };
    runs.iter().map(input).collect()
}

fn findings(runs: &[&RunSummary], mined: &Mined, options: &Options) -> Vec<Finding> {
    let groups = mined.groups.iter().take(MOST);
    let told = groups.map(|group| Told::new(runs, mined, options, group));
    let told = merged(told.collect()).into_iter();
    told.map(|told| told.finding(runs, mined)).collect()
}

/// A group in lines instead of events.
struct Told {
    lines: Lines,
    dependencies: Vec<FoundDependency>,
    /// Failing runs with it.
    failing: BTreeSet<u32>,
    /// Number of passing runs with it.
    passing: u32,
}

impl Told {
    fn new(runs: &[&RunSummary], mined: &Mined, options: &Options, group: &Group) -> Told {
        let lines = Lines::new(runs, mined, group);
        let mut dependencies: Vec<FoundDependency> = group
            .dependencies
            .iter()
            .filter_map(|dependency| {
                Some(FoundDependency {
                    head: lines.index(dependency.head)?,
                    tail: lines.index(dependency.tail)?,
                    kind: dependency.kind,
                    seen: Seen::Failing,
                })
            })
            .collect();
        dependencies.sort_by_key(|dependency| (dependency.tail, dependency.head));
        dependencies.dedup();
        Told {
            lines,
            dependencies,
            failing: mined.runs_with(group, options).into_iter().collect(),
            passing: group.passing,
        }
    }

    /// Its dependencies between lines, whatever the locations.
    fn key(&self) -> BTreeSet<(LineKey, LineKey, DependencyKind)> {
        let key = |index: u32| self.lines.sites.get(index as usize).map(line_key);
        let dependencies = self.dependencies.iter();
        dependencies
            .filter_map(|d| Some((key(d.head)?, key(d.tail)?, d.kind)))
            .collect()
    }

    /// Two threads depend on each other both ways: no order of them one after the other gives that.
    fn has_interrupted(&self) -> bool {
        let thread = |index: u32| Some(&self.lines.sites.get(index as usize)?.thread);
        let ways = self.dependencies.iter();
        let ways: BTreeSet<_> = ways.map(|d| (thread(d.head), thread(d.tail))).collect();
        ways.iter().any(|(from, to)| ways.contains(&(*to, *from)))
    }

    fn finding(self, runs: &[&RunSummary], mined: &Mined) -> Finding {
        let set = &mined.prepared.set;
        let name = |run: &u32| Some(runs.get(*run as usize)?.name.clone());
        let mut names: Vec<String> = self.failing.iter().filter_map(name).collect();
        names.sort();
        Finding {
            engine: Engine::Mining,
            method: "bug explanation pattern".to_owned(),
            headline: format!(
                "{}: in {} of {} failing and {} of {} passing runs{}",
                in_words(&self.lines.sites, &self.dependencies),
                self.failing.len(),
                set.failing,
                self.passing,
                set.passing,
                self.lines.left_out()
            ),
            sites: self.lines.sites,
            dependencies: self.dependencies,
            runs: names,
            passing: set.passing,
            in_passing: Some(self.passing),
        }
    }
}

/// Groups that no passing run has and that say the same about lines are one: a copy of other bytes, another
/// element of an array. What is said of them stays exact, since none of them is in a passing run. Those of
/// most failing runs come first, and before them those as frequent in which a thread is interrupted: the
/// paper's ranking leaves open which of the groups with a relative support of 1 is first.
fn merged(told: Vec<Told>) -> Vec<Told> {
    let (mut only_failing, others): (Vec<Told>, Vec<Told>) =
        told.into_iter().partition(|told| told.passing == 0);
    let mut kept: Vec<Told> = Vec::new();
    let mut known = BTreeMap::new();
    for told in only_failing.drain(..) {
        let at = *known.entry(told.key()).or_insert(kept.len());
        match kept.get_mut(at) {
            Some(same) => same.failing.extend(told.failing),
            None => kept.push(told),
        }
    }
    let most = kept.iter().map(|told| told.failing.len()).max();
    let most = most.unwrap_or(0);
    kept.sort_by_key(|told| {
        let runs = told.failing.len();
        let first = told.has_interrupted() && runs * AS_FREQUENT >= most;
        (!first, Reverse(runs), told.dependencies.len())
    });
    kept.extend(others);
    kept
}

type LineKey = (String, u32, String, String, String);

/// What makes two accesses one site: file, line, thread, type, and the variable without its indices.
fn line_key(site: &FoundSite) -> LineKey {
    (
        site.place.file.clone(),
        site.place.line,
        site.thread.clone(),
        site.access.clone(),
        family(&site.location),
    )
}

/// The lines of a pattern in the order of its macros: those that depend on each other, and what stands around
/// them in the same macro. A line that does the same to many locations, as a copy does, is one site.
#[derive(Default)]
struct Lines {
    sites: Vec<FoundSite>,
    of_events: BTreeMap<u32, u32>,
    omitted: usize,
}

impl Lines {
    fn new(runs: &[&RunSummary], mined: &Mined, group: &Group) -> Lines {
        let mut lines = Lines::default();
        let depends: BTreeSet<u32> = group
            .dependencies
            .iter()
            .flat_map(|dependency| [dependency.head, dependency.tail])
            .collect();
        for id in group.patterns.first().into_iter().flatten() {
            let events = mined.prepared.macros.events.get(*id as usize);
            let mut around = 0;
            for &event in events.into_iter().flatten() {
                let depends = depends.contains(&event);
                if lines.of_events.contains_key(&event) {
                    continue;
                }
                lines.add(event, site(runs, mined, event), depends || around < AROUND);
                around += usize::from(!depends);
            }
        }
        lines
    }

    fn add(&mut self, event: u32, site: FoundSite, wanted: bool) {
        let key = line_key(&site);
        let same = |other: &FoundSite| line_key(other) == key;
        let known = self.sites.iter().position(same);
        let index = match known {
            Some(index) => {
                if let Some(known) = self.sites.get_mut(index) {
                    known.location = shared_name(&known.location, &site.location);
                }
                index
            }
            None if wanted => {
                self.sites.push(site);
                self.sites.len() - 1
            }
            None => {
                self.omitted += 1;
                return;
            }
        };
        self.of_events.insert(event, index as u32);
    }

    fn index(&self, event: u32) -> Option<u32> {
        self.of_events.get(&event).copied()
    }

    fn left_out(&self) -> String {
        match self.omitted {
            0 => String::new(),
            number => format!(" ({number} accesses in between are not shown)"),
        }
    }
}

/// What two elements of an array have in common, with a star for each index in which they differ:
/// `items[*].text[0]`. Both are of one [`family`], so they have as many indices.
fn shared_name(one: &str, other: &str) -> String {
    let parts = one.split('[').zip(other.split('['));
    let parts = parts.map(
        |(one, other)| match (one.split_once(']'), other.split_once(']')) {
            (Some((index, rest)), Some((theirs, _))) if index != theirs => format!("*]{rest}"),
            _ => one.to_owned(),
        },
    );
    parts.collect::<Vec<String>>().join("[")
}

fn site(runs: &[&RunSummary], mined: &Mined, event: u32) -> FoundSite {
    let item = mined.prepared.set.items.get(event as usize);
    let seen = item.and_then(|item| {
        let run = runs.get(item.run as usize)?.run.as_ref()?;
        Some((run, run.events.get(item.row)?, item))
    });
    let Some((run, event, item)) = seen else {
        return FoundSite::default();
    };
    FoundSite {
        place: place(run, event.site),
        thread: thread_in_words(run, event.thread),
        access: AccessClass::name(item.access).to_owned(),
        location: run.location(event.location).to_owned(),
    }
}

/// `the read of withdraw (main.2) at bank.c:46 before the write of ... at bank.c:38 on balance`.
fn in_words(sites: &[FoundSite], dependencies: &[FoundDependency]) -> String {
    let site = |index: u32| sites.get(index as usize);
    let who = |site: &FoundSite| {
        format!(
            "the {} of {} at {}",
            site.access,
            site.thread,
            short(&site.place)
        )
    };
    let words = dependencies.iter().filter_map(|dependency| {
        let (head, tail) = (site(dependency.head)?, site(dependency.tail)?);
        Some(format!(
            "{} before {} on `{}`",
            who(head),
            who(tail),
            variable(&[Some(head), Some(tail)])
        ))
    });
    let mut words: Vec<String> = words.collect();
    let more = words.len().saturating_sub(NAMED);
    words.truncate(NAMED);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join("; ")
}
