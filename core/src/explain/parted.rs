//! Two critical sections of a thread, between which a section of another thread comes: what a thread reads in the one and
//! uses in the other may be several variables, of which each run shows one or another.

use super::turned::{Blamed, blamed};
use crate::{
    callers::call_sites,
    explanation::Explanation,
    orders::{Locks, Section},
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, LocationId, Run, SiteId, StackId, ThreadId};

/// Files and lines of the calls that led to an acquisition, outermost first.
type Path = Vec<(String, u32)>;

/// The sections, each by the calls that led to it: the same in every run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartedSections {
    first: Path,
    remote: Path,
    second: Path,
}

impl PartedSections {
    /// The sections in which the explanation's blamed accesses are, if all are in sections of one lock and the thread releases
    /// it between its own. `run` is the one that the steps are from. Linear in the run.
    pub fn of(explanation: &Explanation, run: &Run) -> Option<PartedSections> {
        let blamed = blamed(explanation);
        let (first, last) = (blamed.first()?, blamed.last()?);
        let thread = |one: &Blamed<'_>| run.events.get(one.row).map(|event| event.thread);
        let own = thread(first)?;
        let remote = blamed.iter().find(|one| thread(one) != Some(own))?;
        if thread(last) != Some(own) {
            return None;
        }
        let locks = Locks::new(run, &mut Vec::new());
        let held = |one: &Blamed<'_>, by| locks.held_at(by, one.row).copied().collect::<Vec<_>>();
        let theirs = held(remote, thread(remote)?);
        let after = held(last, own);
        let of_lock =
            |all: &[Section], lock| all.iter().find(|section| section.lock == lock).copied();
        held(first, own).iter().find_map(|first| {
            let (remote, second) = (of_lock(&theirs, first.lock)?, of_lock(&after, first.lock)?);
            let [first, remote, second] =
                [*first, remote, second].map(|section| path(run, section.acquired));
            let parted = PartedSections {
                first,
                remote,
                second,
            };
            // Rounds of one section are parted nearly always.
            (parted.first != parted.second).then_some(parted)
        })
    }

    /// Returns whether another thread's section comes between a thread's two, anywhere in the run. Linear in the run, and in
    /// its threads for each section.
    pub fn are_in(&self, run: &Run) -> bool {
        let locks = Locks::new(run, &mut Vec::new());
        let mut paths: FxHashMap<(SiteId, StackId), [bool; 3]> = FxHashMap::default();
        // A thread's last section of a lock, if it is the first of the two, and its last one that comes between others'.
        let mut firsts: FxHashMap<(LocationId, ThreadId), EventId> = FxHashMap::default();
        let mut remotes: FxHashMap<LocationId, Vec<(ThreadId, EventId)>> = FxHashMap::default();
        for section in locks.sections() {
            let event = run.events.event(section.acquired);
            let [is_first, is_remote, is_second] = *paths
                .entry((event.site, event.stack))
                .or_insert_with(|| self.are_at(run, section.acquired));
            let key = (section.lock, section.thread);
            let between = remotes.entry(section.lock).or_default();
            if let Some(first) = firsts.remove(&key).filter(|_| is_second)
                && between
                    .iter()
                    .any(|(thread, at)| *thread != section.thread && *at > first)
            {
                return true;
            }
            if is_first {
                firsts.insert(key, section.acquired);
            }
            if is_remote {
                between.retain(|(thread, _)| *thread != section.thread);
                between.push((section.thread, section.acquired));
            }
        }
        false
    }

    /// Returns for each of the three whether an acquisition is of it.
    fn are_at(&self, run: &Run, row: EventId) -> [bool; 3] {
        let path = path(run, row);
        [&self.first, &self.remote, &self.second].map(|one| *one == path)
    }
}

/// Returns whether all blamed accesses are in sections of one lock. Linear in the run.
pub fn is_under_one_lock(explanation: &Explanation, run: &Run) -> bool {
    have_common_lock(run, blamed(explanation).into_iter().map(|one| one.row))
}

/// Returns whether these rows are all in sections of one lock. Linear in the run.
pub(crate) fn have_common_lock(run: &Run, rows: impl Iterator<Item = EventId>) -> bool {
    let locks = Locks::new(run, &mut Vec::new());
    let held = rows.map(|row| {
        let event = run.events.get(row)?;
        let held = locks.held_at(event.thread, row);
        Some(held.map(|section| section.lock).collect())
    });
    let all: Option<Vec<BTreeSet<LocationId>>> = held.collect();
    let common = all.unwrap_or_default().into_iter().reduce(|a, b| &a & &b);
    common.is_some_and(|common| !common.is_empty())
}

fn path(run: &Run, row: EventId) -> Path {
    let sites = call_sites(run, row);
    let lines = sites.into_iter().map(|site| run.meta.site(site));
    lines.map(|site| (site.file.clone(), site.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::PartedSections;
    use crate::{
        Budget, Explanation, explain,
        fixture::{corpus, run},
    };

    const BEGIN: &str = "main fork main.1 @1\nmain fork main.2 @2\n";
    const END: &str = "main join main.1 @40\nmain join main.2 @41\nmain R n =2 @42\n";

    /// A look at a container and a change of it, each under the lock: of an element that is there, or of the place for it.
    fn visits(thread: &str, part: &str, [seen, written]: [u32; 2]) -> [String; 2] {
        let look = format!(
            "{thread} lock m @9 left\n{thread} R {part} ={seen} @10 left\n{thread} unlock m @11 left\n"
        );
        let change = format!(
            "{thread} lock m @19 book\n{thread} W {part} ={written} @20 book\n{thread} unlock m @21 book\n"
        );
        [look, change]
    }

    fn explained(part: &str) -> (Explanation, String) {
        let [look, change] = visits("main.1", part, [0, 1]);
        let [other_look, other_change] = visits("main.2", part, [0, 1]);
        let [late_look, late_change] = visits("main.2", part, [1, 2]);
        let fails = "main fails @42";
        let bad = [
            BEGIN,
            &look,
            &other_look,
            &other_change,
            &change,
            END,
            fails,
        ]
        .concat();
        let good = [BEGIN, &look, &change, &late_look, &late_change, END].concat();
        let found = explain(
            &corpus(&[good.as_str(); 6], &[bad.as_str()]),
            &Budget::unlimited(),
        );
        (found.findings.first().unwrap().clone(), bad)
    }

    #[test]
    fn a_section_between_two_is_found_whatever_is_read() {
        let (told, bad) = explained("n");
        let parted = PartedSections::of(&told, &run(&bad)).unwrap();
        let [look, change] = visits("main.2", "other", [0, 1]);
        let [own_look, own_change] = visits("main.1", "other", [0, 1]);
        let elsewhere = [BEGIN, &look, &own_look, &own_change, &change].concat();
        let apart = [BEGIN, &look, &change, &own_look, &own_change].concat();
        assert!(parted.are_in(&run(&bad)));
        assert!(parted.are_in(&run(&elsewhere)));
        assert!(!parted.are_in(&run(&apart)));
    }

    #[test]
    fn one_section_is_not_parted() {
        let bad = "main fork main.1 @1\nmain.1 lock m @9 take\nmain.1 R n =0 @10\nmain W n =5 @30\n\
            main.1 R n =5 @11\nmain.1 fails @12";
        let good = "main fork main.1 @1\nmain.1 lock m @9 take\nmain.1 R n =0 @10\nmain.1 R n =0 @11\n\
            main.1 unlock m @12\nmain W n =5 @30";
        let found = explain(&corpus(&[good; 6], &[bad]), &Budget::unlimited());
        let told = found.findings.first().unwrap();
        assert_eq!(PartedSections::of(told, &run(bad)), None);
    }
}
