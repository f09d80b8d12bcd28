//! Places in the code, numbered once for all runs of a campaign.

use super::hash;
use crate::assemble::{Code, Program, RawLog};
use rustc_hash::FxHashMap;
use std::ops::Range;
use unsnarl_trace::SiteRow;

/// The number that stands for no place in the code.
pub(super) const UNKNOWN: u32 = 0;

/// The description of a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlaceRow {
    /// Place in the source.
    pub site: SiteRow,
    /// Distance from the program's first address, if it lies in the program and not in a library.
    pub offset: Option<u32>,
}

/// A place as the pass over a log needs it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Number of its row.
    pub id: u32,
    /// `true` if it is in the user's code.
    pub is_user: bool,
    /// Hash of its place in the source.
    pub hash: u64,
}

/// All places that the runs of a campaign have come to.
pub(crate) struct Places {
    rows: Vec<PlaceRow>,
    /// Known places by program counter, as the program was loaded last.
    known: FxHashMap<u64, Place>,
    loaded: Vec<(u64, u64, String)>,
    recent: Box<[(u64, Place); RECENT]>,
    by_file: FxHashMap<(String, u64), Place>,
}

/// Number of places that are found without a look into the table.
const RECENT: usize = 256;

impl Default for Places {
    fn default() -> Places {
        Places {
            rows: vec![PlaceRow::default()],
            known: FxHashMap::default(),
            loaded: Vec::new(),
            recent: Box::new([(0, Place::default()); RECENT]),
            by_file: FxHashMap::default(),
        }
    }
}

impl Places {
    /// The description of a place.
    pub fn get(&self, id: u32) -> Option<&PlaceRow> {
        self.rows.get(id as usize)
    }

    /// Places at given sites, numbered from 1 on.
    #[cfg(test)]
    pub(crate) fn of_sites(sites: impl Iterator<Item = SiteRow>) -> Places {
        let row = |site| PlaceRow { site, offset: None };
        let mut places = Places::default();
        places.rows.extend(sites.map(row));
        places
    }

    /// Opens the table for the places of one run.
    pub(super) fn of_run<'a>(&'a mut self, log: &RawLog<'_>, program: &'a Program) -> OfRun<'a> {
        let modules = log.modules();
        let loaded: Vec<_> = modules.map(|it| (it.start, it.bias, it.path)).collect();
        let own = log.modules().find(|module| module.path.is_empty());
        if loaded != self.loaded {
            self.known.clear();
            self.recent.fill((0, Place::default()));
            self.loaded = loaded;
        }
        OfRun {
            own: own.map_or(0..0, |module| module.start..module.end),
            code: Code::of(log, program),
            places: self,
        }
    }
}

/// The places of one run.
pub(super) struct OfRun<'a> {
    places: &'a mut Places,
    code: Code<'a>,
    /// The program's own addresses.
    own: Range<u64>,
}

impl OfRun<'_> {
    /// The place of the call that returns to `pc`.
    #[inline]
    pub fn at(&mut self, pc: u64) -> Place {
        let slot = (pc ^ pc >> 8) as usize % RECENT;
        match self.places.recent.get(slot) {
            Some((known, place)) if *known == pc => return *place,
            _ => {}
        }
        let place = match self.places.known.get(&pc) {
            Some(known) => *known,
            None => self.new_place(pc),
        };
        if let Some(recent) = self.places.recent.get_mut(slot) {
            *recent = (pc, place);
        }
        place
    }

    fn new_place(&mut self, pc: u64) -> Place {
        let place = self.located(pc).unwrap_or_default();
        self.places.known.insert(pc, place);
        place
    }

    fn located(&mut self, pc: u64) -> Option<Place> {
        let key = self.code.in_file(pc)?;
        if let Some(known) = self.places.by_file.get(&key) {
            return Some(*known);
        }
        let (site, is_user) = self.code.site(pc)?;
        let offset = self.own.contains(&pc).then(|| pc - self.own.start);
        let place = Place {
            id: self.places.rows.len() as u32,
            is_user,
            hash: hash::site(&site),
        };
        self.places.rows.push(PlaceRow {
            site,
            offset: offset.and_then(|offset| u32::try_from(offset).ok()),
        });
        self.places.by_file.insert(key, place);
        Some(place)
    }
}
