//! Findings of mining: the groups of bug explanation patterns of all failing runs together.

use super::{
    Answer, Engine, Finding, FoundDependency, FoundSite, Presence, cannot_compare, runs_were,
    variable, weaknesses,
};
use crate::{
    Budget, Corpus, RunSummary, StopReason,
    facts::{family, place, short, thread_in_words},
    mining::{
        EventDependency, Mined, MiningInput, MiningOptions, PatternGroup, Sample, Subset, mine,
    },
    orders::DependencyKind,
    pairs::AccessClass,
};
use rustc_hash::FxHashSet;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// Bound on the groups that become findings; the number of further ones is noted.
const MOST: usize = 100;
/// Bound on the accesses of a macro shown without a dependency; the number of further ones is noted.
const AROUND: usize = 12;
/// Bound on the dependencies named in a headline; the number of further ones is noted.
const NAMED: usize = 3;

/// Mines the runs of the corpus.
pub fn ask(corpus: &Corpus, options: &MiningOptions, budget: &Budget) -> Answer {
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

/// Mines with as little work as an explanation can wait for: so many runs, patterns and instances at most,
/// counted, so that the answer does not depend on the machine.
pub(crate) fn in_brief(corpus: &Corpus, budget: &Budget) -> Brief {
    if cannot_compare(corpus).is_some() {
        return Brief::default();
    }
    let options = MiningOptions {
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
        ..MiningOptions::default()
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

/// Result of the limited mining.
#[derive(Default, Debug)]
pub(crate) struct Brief {
    /// Patterns that no passing run has, best first.
    pub findings: Vec<Finding>,
    /// Failing runs that were examined.
    pub looked_at: BTreeSet<String>,
    /// `true` if every instance of every pattern was examined: no passing run has an unseen one.
    pub is_sure: bool,
}

/// Failing and passing runs of the corpus's own build and input, and the number of others.
fn comparable(corpus: &Corpus) -> (Vec<&RunSummary>, usize) {
    let compared = |run: &&RunSummary| run.is_failure() || run.is_pass();
    let (runs, others): (Vec<&RunSummary>, Vec<&RunSummary>) = corpus
        .runs()
        .filter(compared)
        .partition(|run| run.key == *corpus.key());
    (runs, others.len())
}

fn inputs<'a>(runs: &[&'a RunSummary]) -> Vec<MiningInput<'a>> {
    let input = |run: &&'a RunSummary| MiningInput {
        trace: &run.accesses,
        failing: run.is_failure(),
    };
    runs.iter().map(input).collect()
}

fn findings(runs: &[&RunSummary], mined: &Mined, options: &MiningOptions) -> Vec<Finding> {
    let groups = mined.groups.iter().take(MOST);
    let passing = mined.dependencies_of_passing();
    let told = groups.map(|group| ToldGroup::new(runs, mined, options, group, &passing));
    let told = merged(told.collect()).into_iter();
    told.map(|told| told.finding(runs, mined)).collect()
}

/// A group in terms of lines instead of events.
struct ToldGroup {
    lines: PatternLines,
    dependencies: Vec<FoundDependency>,
    /// Failing runs with it, each with the position at which it is first complete.
    failing: BTreeMap<u32, u32>,
    /// Number of passing runs with it.
    passing: u32,
    /// `true` if some runs have it between other threads.
    of_others: bool,
    /// `true` if a passing run has all its dependencies, though not between such macros.
    is_known: bool,
}

impl ToldGroup {
    fn new(
        runs: &[&RunSummary],
        mined: &Mined,
        options: &MiningOptions,
        group: &PatternGroup,
        known: &[FxHashSet<EventDependency>],
    ) -> ToldGroup {
        let lines = PatternLines::new(runs, mined, group);
        let mut dependencies: Vec<FoundDependency> = group
            .dependencies
            .iter()
            .filter_map(|dependency| {
                Some(FoundDependency {
                    head: lines.index(dependency.head)?,
                    tail: lines.index(dependency.tail)?,
                    kind: dependency.kind,
                    seen: Presence::Failing,
                })
            })
            .collect();
        dependencies.sort_by_key(|dependency| (dependency.tail, dependency.head));
        dependencies.dedup();
        ToldGroup {
            lines,
            dependencies,
            failing: mined.runs_with(group, options).into_iter().collect(),
            passing: group.passing,
            of_others: false,
            is_known: known
                .iter()
                .any(|known| group.dependencies.iter().all(|d| known.contains(d))),
        }
    }

    /// Its dependencies between lines, for any locations and any threads: the least of all ways to number the
    /// threads.
    fn key(&self) -> BTreeSet<LineDependency> {
        let sites = &self.lines.sites;
        let threads: BTreeSet<&str> = sites.iter().map(|site| site.thread.as_str()).collect();
        let threads: Vec<&str> = threads.into_iter().collect();
        let orders = orders(threads.len());
        let keys = orders.iter().map(|order| {
            let number = |name: &str| {
                let at = threads.iter().position(|thread| *thread == name)?;
                order.get(at).copied()
            };
            let key = |index: u32| {
                let site = sites.get(index as usize)?;
                Some((line_key(site), number(&site.thread)?))
            };
            let dependencies = self.dependencies.iter();
            dependencies
                .filter_map(|d| Some((key(d.head)?, key(d.tail)?, d.kind)))
                .collect()
        });
        keys.min().unwrap_or_default()
    }

    /// Returns whether two threads depend on each other both ways, which no serial order of them gives.
    fn has_interrupted(&self) -> bool {
        let thread = |index: u32| Some(&self.lines.sites.get(index as usize)?.thread);
        let ways = self.dependencies.iter();
        let ways: BTreeSet<_> = ways.map(|d| (thread(d.head), thread(d.tail))).collect();
        ways.iter().any(|(from, to)| ways.contains(&(*to, *from)))
    }

    /// Merges a group with the same dependencies between lines.
    fn join(&mut self, other: ToldGroup) {
        let who = |told: &ToldGroup| {
            let sites = told.lines.sites.iter();
            sites
                .map(|site| (line_key(site), site.thread.clone()))
                .collect::<BTreeSet<_>>()
        };
        self.of_others |= who(self) != who(&other);
        for (run, end) in other.failing {
            keep_first(&mut self.failing, run, end);
        }
    }

    fn finding(self, runs: &[&RunSummary], mined: &Mined) -> Finding {
        let set = &mined.prepared.set;
        let name = |run: &u32| Some(runs.get(*run as usize)?.name.clone());
        let mut names: Vec<String> = self.failing.keys().filter_map(name).collect();
        names.sort();
        Finding {
            engine: Engine::Mining,
            method: "bug explanation pattern".to_owned(),
            headline: format!(
                "{}{}: in {} of {} failing and {} of {} passing runs{}",
                in_words(&self.lines.sites, &self.dependencies),
                if self.of_others {
                    ", or the same between other threads"
                } else {
                    ""
                },
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

/// Merges groups that no passing run has and that are equal in terms of lines: a copy of other bytes, another
/// element of an array, the same code run by other threads. Statements about them stay exact, since none of
/// them is in a passing run. The paper leaves their rank open; here it is decided by, in this order:
///
/// 1. Dependencies that no passing run has together. Failing and passing runs differ in their dependencies
///    (Section 2.2); where a passing run has them all, only the macros around them differ.
/// 2. An interrupted thread: the threads could not have had these dependencies one after the other, so no
///    serial order explains them.
/// 3. The number of failing runs in which it is the first of all groups to be complete: a cause precedes its
///    consequences.
/// 4. Fewer dependencies.
fn merged(told: Vec<ToldGroup>) -> Vec<ToldGroup> {
    let (only_failing, others): (Vec<ToldGroup>, Vec<ToldGroup>) =
        told.into_iter().partition(|told| told.passing == 0);
    let mut kept: Vec<ToldGroup> = Vec::new();
    let mut known = BTreeMap::new();
    for told in only_failing {
        let at = *known.entry(told.key()).or_insert(kept.len());
        match kept.get_mut(at) {
            Some(same) => same.join(told),
            None => kept.push(told),
        }
    }
    let mut first = BTreeMap::new();
    for (run, end) in kept.iter().flat_map(|told| &told.failing) {
        keep_first(&mut first, *run, *end);
    }
    kept.sort_by_cached_key(|told| {
        let ends = told.failing.iter();
        let is_first = |(run, end): &(&u32, &u32)| first.get(*run) == Some(*end);
        (
            told.is_known,
            !told.has_interrupted(),
            Reverse(ends.filter(is_first).count()),
            told.dependencies.len(),
        )
    });
    kept.extend(others);
    kept
}

fn keep_first(ends: &mut BTreeMap<u32, u32>, run: u32, end: u32) {
    let first = ends.entry(run).or_insert(end);
    *first = end.min(*first);
}

type LineKey = (String, u32, String, String);
/// A dependency between lines of numbered threads.
type LineDependency = ((LineKey, usize), (LineKey, usize), DependencyKind);

/// All permutations of `count` elements.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let shorter = orders(last);
    let longer = shorter.iter().flat_map(|order| {
        (0..count).map(|at| {
            let mut order = order.clone();
            order.insert(at, last);
            order
        })
    });
    longer.collect()
}

/// Identity of a site among accesses of a thread: file, line, type, and the variable without its indices.
fn line_key(site: &FoundSite) -> LineKey {
    (
        site.place.file.clone(),
        site.place.line,
        site.access.clone(),
        family(&site.location),
    )
}

/// The lines of a pattern in the order of its macros: those with dependencies, and their neighbours in the
/// same macro. A line with the same access to many locations, as in a copy, is one site.
#[derive(Default)]
struct PatternLines {
    sites: Vec<FoundSite>,
    of_events: BTreeMap<u32, u32>,
    omitted: usize,
}

impl PatternLines {
    fn new(runs: &[&RunSummary], mined: &Mined, group: &PatternGroup) -> PatternLines {
        let mut lines = PatternLines::default();
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
        let same = |other: &FoundSite| line_key(other) == key && other.thread == site.thread;
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

/// Common name of two elements of an array, with a star for each index in which they differ:
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    /// Line and thread of an access.
    type Access<'a> = (u32, &'a str);

    /// A group with dependencies between accesses, and runs with the position at which it is complete.
    fn told(between: &[(Access<'_>, Access<'_>)], failing: &[(u32, u32)]) -> ToldGroup {
        let mut lines = PatternLines::default();
        let mut index = |(line, thread): Access<'_>| {
            let place = Place {
                line,
                ..Place::default()
            };
            let site = FoundSite {
                place,
                thread: thread.to_owned(),
                ..FoundSite::default()
            };
            lines.sites.push(site);
            lines.sites.len() as u32 - 1
        };
        let dependencies = between.iter().map(|(head, tail)| FoundDependency {
            head: index(*head),
            tail: index(*tail),
            kind: DependencyKind::Anti,
            seen: Presence::Failing,
        });
        ToldGroup {
            dependencies: dependencies.collect(),
            lines,
            failing: failing.iter().copied().collect(),
            passing: 0,
            of_others: false,
            is_known: false,
        }
    }

    /// The first line of each group.
    fn order(told: Vec<ToldGroup>) -> Vec<u32> {
        let kept = merged(told);
        kept.iter().map(|t| t.lines.sites[0].place.line).collect()
    }

    const ALL: &[(u32, u32)] = &[(0, 5), (1, 5), (2, 5)];

    #[test]
    fn the_same_lines_in_other_threads_are_one_finding() {
        let one = told(&[((1, "a"), (2, "b"))], &[(0, 5)]);
        let mirrored = told(&[((1, "b"), (2, "a"))], &[(0, 3), (1, 5)]);
        let other = told(&[((1, "a"), (2, "b")), ((1, "a"), (2, "c"))], &[(2, 5)]);
        let kept = merged(vec![one, mirrored, other]);
        assert_eq!(kept.len(), 2);
        assert_eq!(kept[0].failing, BTreeMap::from([(0, 3), (1, 5)]));
        assert!(kept[0].of_others && !kept[1].of_others);
    }

    #[test]
    fn what_comes_first_in_more_runs_is_first() {
        let early = told(&[((1, "a"), (2, "b"))], &[(0, 4), (1, 4)]);
        let late = told(&[((3, "a"), (4, "b"))], ALL);
        assert_eq!(order(vec![late, early]), [1, 3]);
        let rare = told(&[((1, "a"), (2, "b"))], &[(0, 4)]);
        let late = told(&[((3, "a"), (4, "b"))], ALL);
        assert_eq!(order(vec![rare, late]), [3, 1]);
    }

    #[test]
    fn an_interrupted_thread_is_before_a_plain_order() {
        let plain = told(&[((1, "a"), (2, "b"))], ALL);
        let interrupted = told(&[((3, "a"), (4, "b")), ((4, "b"), (5, "a"))], &[(0, 5)]);
        assert_eq!(order(vec![plain, interrupted]), [3, 1]);
    }

    #[test]
    fn what_a_passing_run_has_in_other_macros_is_last() {
        let mut known = told(&[((1, "a"), (2, "b")), ((2, "b"), (3, "a"))], ALL);
        known.is_known = true;
        let new = told(&[((4, "a"), (5, "b"))], &[(0, 9)]);
        assert_eq!(order(vec![known, new]), [4, 1]);
    }
}
