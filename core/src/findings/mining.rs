//! What mined patterns say: the groups of bug explanation patterns of all failing runs together.

use super::{
    Answer, Engine, Finding, FoundDependency, FoundSite, Seen, cannot_compare, runs_were,
    weaknesses,
};
use crate::{
    Budget, Corpus, RunSummary, StopReason,
    facts::{place, short, thread_in_words},
    mining::{Group, Input, Mined, Options, mine},
    pairs::AccessClass,
};

/// Groups that become findings; how many more there are is said.
const MOST: usize = 100;
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
    let compared = |run: &&RunSummary| run.is_failure() || run.is_pass();
    let (runs, others): (Vec<&RunSummary>, Vec<&RunSummary>) = corpus
        .runs()
        .filter(compared)
        .partition(|run| run.key == *corpus.key());
    if !others.is_empty() {
        answer.notes.push(format!(
            "{} of another build or input: left out",
            runs_were(others.len())
        ));
    }
    let inputs: Vec<Input<'_>> = runs
        .iter()
        .map(|run| Input {
            trace: &run.accesses,
            failing: run.is_failure(),
        })
        .collect();
    let (mined, stopped) = mine(&inputs, options, budget);
    answer.stopped = stopped;
    answer.notes.extend(mined.notes.iter().cloned());
    if !mined.groups.is_empty() {
        answer.notes.push(format!(
            "found at a minimal support of {} %",
            mined.figures.min_support
        ));
    }
    let groups = mined.groups.iter().take(MOST);
    answer.findings = groups
        .map(|group| finding(&runs, &mined, options, group))
        .collect();
    if mined.groups.len() > MOST {
        let more = mined.groups.len() - MOST;
        answer
            .notes
            .push(format!("{more} more groups of patterns are not shown"));
    }
    answer
}

fn finding(runs: &[&RunSummary], mined: &Mined, options: &Options, group: &Group) -> Finding {
    let events = group.events(&mined.prepared);
    let site = |event: &u32| site(runs, mined, *event);
    let sites: Vec<FoundSite> = events.iter().map(site).collect();
    let index = |event: u32| events.iter().position(|other| *other == event);
    let mut dependencies: Vec<FoundDependency> = group
        .dependencies
        .iter()
        .filter_map(|dependency| {
            Some(FoundDependency {
                head: index(dependency.head)? as u32,
                tail: index(dependency.tail)? as u32,
                kind: dependency.kind,
                seen: Seen::Failing,
            })
        })
        .collect();
    dependencies.sort_by_key(|dependency| (dependency.tail, dependency.head));
    let named = mined.runs_with(group, options);
    let name = |run: u32| Some(runs.get(run as usize)?.name.clone());
    let mut names: Vec<String> = named.into_iter().filter_map(name).collect();
    names.sort();
    let set = &mined.prepared.set;
    Finding {
        engine: Engine::Mining,
        method: "bug explanation pattern".to_owned(),
        headline: format!(
            "{}: in {} of {} failing and {} of {} passing runs",
            in_words(&sites, &dependencies),
            group.failing,
            set.failing,
            group.passing,
            set.passing
        ),
        sites,
        dependencies,
        runs: names,
        passing: set.passing,
    }
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
            head.location
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
