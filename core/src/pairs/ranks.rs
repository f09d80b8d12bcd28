//! The accesses to shared locations of one run, numbered in the order of their keys: pairs are compared and
//! sorted by these small numbers while they are collected.

use super::keys::{AccessClass, AccessKey, AccessSite, PairKey};
use crate::{facts::place, orders::Accesses};
use unsnarl_trace::{EventId, IndexVec, Run, SiteId};

/// Marks a row that is no access to a shared location, or not numbered yet.
const NONE: u32 = u32::MAX;

/// Ranks of the accesses of a run: equal keys have equal ranks, in the same order.
pub(super) struct Ranks {
    of_row: Vec<u32>,
    sites: Vec<(AccessKey, AccessSite)>,
}

impl Ranks {
    /// Ranks the accesses in two passes over those to shared locations; keys are computed once per site and
    /// class.
    pub fn new(run: &Run, accesses: &Accesses) -> Ranks {
        let mut of_row = vec![NONE; run.events.len()];
        let mut slots = SiteSlots::new(run);
        for location in accesses.shared() {
            for &row in accesses.of(location) {
                if let Some(slot) = of_row.get_mut(row.index()) {
                    *slot = slots.of(row);
                }
            }
        }
        let (sites, ranks) = slots.sorted();
        for slot in of_row.iter_mut().filter(|slot| **slot != NONE) {
            *slot = ranks.get(*slot as usize).copied().unwrap_or(NONE);
        }
        Ranks { of_row, sites }
    }

    /// Number of distinct keys.
    pub fn count(&self) -> usize {
        self.sites.len()
    }

    /// The rank of an access to a shared location.
    pub fn of(&self, row: EventId) -> u32 {
        self.of_row.get(row.index()).copied().unwrap_or(NONE)
    }

    /// Two ranks as one number, in the same order.
    pub fn joined(&self, first: u32, second: u32) -> u64 {
        u64::from(first) * self.count() as u64 + u64::from(second)
    }

    /// The key with a rank.
    pub fn key(&self, rank: u32) -> AccessKey {
        self.sites
            .get(rank as usize)
            .map_or(AccessKey::default(), |site| site.0)
    }

    /// The pair whose joined ranks these are.
    pub fn pair(&self, joined: u64) -> PairKey {
        let count = self.count().max(1) as u64;
        PairKey {
            head: self.key((joined / count) as u32),
            tail: self.key((joined % count) as u32),
        }
    }

    /// Access sites that were executed, sorted by key.
    pub fn into_sites(self) -> Vec<(AccessKey, AccessSite)> {
        self.sites
    }
}

/// A number for each site and class that occurs.
struct SiteSlots<'a> {
    run: &'a Run,
    /// Numbers by site and class; one additional site stands for unknown ones.
    numbers: IndexVec<SiteId, [u32; CLASSES]>,
    met: Vec<(SiteId, AccessClass)>,
}

const CLASSES: usize = 3;

impl<'a> SiteSlots<'a> {
    fn new(run: &'a Run) -> SiteSlots<'a> {
        SiteSlots {
            run,
            numbers: IndexVec::filled([NONE; CLASSES], run.meta.sites.len()),
            met: Vec::new(),
        }
    }

    fn of(&mut self, row: EventId) -> u32 {
        let events = &self.run.events;
        let site = events.site(row);
        let class = AccessClass::of(events.kind(row)).unwrap_or(AccessClass::Read);
        let Some(number) = self.numbers[site].get_mut(class as usize) else {
            return NONE;
        };
        if *number == NONE {
            *number = self.met.len() as u32;
            self.met.push((site, class));
        }
        *number
    }

    /// The keys in order, each once, and the rank of each number.
    fn sorted(self) -> (Vec<(AccessKey, AccessSite)>, Vec<u32>) {
        let described = |(&(site, class), number): (&(SiteId, AccessClass), usize)| {
            let key = AccessKey::new(self.run.meta.site(site), class);
            let place = place(self.run, site);
            ((key, AccessSite { place, class }), number)
        };
        let mut all: Vec<_> = self.met.iter().zip(0..).map(described).collect();
        all.sort();
        let mut ranks = vec![NONE; all.len()];
        let mut sites: Vec<(AccessKey, AccessSite)> = Vec::with_capacity(all.len());
        for (site, number) in all {
            if sites.last().is_none_or(|last| last.0 != site.0) {
                sites.push(site);
            }
            if let Some(rank) = ranks.get_mut(number) {
                *rank = sites.len() as u32 - 1;
            }
        }
        (sites, ranks)
    }
}
