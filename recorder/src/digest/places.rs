//! Places in the code, numbered once for all runs of a campaign.
//!
//! Runs are read side by side, so which place has which number is chance: nothing that a campaign tells or decides may
//! depend on the numbers.

use super::hash;
use crate::assemble::{Code, Program, RawLog};
use rustc_hash::FxHashMap;
use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
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

/// All places that the runs of a campaign have come to. Copies share the numbers, and each has its own way to find
/// them again.
pub(crate) struct Places {
    all: Arc<Mutex<Table>>,
    /// Known places by program counter, as the program was loaded last.
    known: FxHashMap<u64, Place>,
    loaded: Vec<(u64, u64, String)>,
    recent: Box<[(u64, Place); RECENT]>,
}

/// The places by their numbers.
struct Table {
    rows: Vec<PlaceRow>,
    by_file: FxHashMap<(String, u64), Place>,
}

/// The places by their numbers, to look at.
pub(crate) struct Rows<'a>(MutexGuard<'a, Table>);

/// Number of places that are found without a look into the table.
const RECENT: usize = 256;

impl Default for Places {
    fn default() -> Places {
        Places::with(Arc::new(Mutex::new(Table {
            rows: vec![PlaceRow::default()],
            by_file: FxHashMap::default(),
        })))
    }
}

impl Clone for Places {
    fn clone(&self) -> Places {
        Places::with(self.all.clone())
    }
}

impl Places {
    fn with(all: Arc<Mutex<Table>>) -> Places {
        Places {
            all,
            known: FxHashMap::default(),
            loaded: Vec::new(),
            recent: Box::new([(0, Place::default()); RECENT]),
        }
    }

    /// Locks the table of places and returns a view of its rows.
    pub fn rows(&self) -> Rows<'_> {
        Rows(self.table())
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // A row is there before its number is given away.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Places at given sites, numbered from 1 on.
    #[cfg(test)]
    pub(crate) fn of_sites(sites: impl Iterator<Item = SiteRow>) -> Places {
        let row = |site| PlaceRow { site, offset: None };
        let places = Places::default();
        places.table().rows.extend(sites.map(row));
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

impl Rows<'_> {
    /// The description of a place.
    pub fn get(&self, id: u32) -> Option<&PlaceRow> {
        self.0.rows.get(id as usize)
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
        if let Some(known) = self.places.table().by_file.get(&key) {
            return Some(*known);
        }
        let (site, is_user) = self.code.site(pc)?;
        let offset = self.own.contains(&pc).then(|| pc - self.own.start);
        let hash = hash::site(&site);
        let row = PlaceRow {
            site,
            offset: offset.and_then(|offset| u32::try_from(offset).ok()),
        };
        Some(self.places.table().add(key, row, is_user, hash))
    }
}

impl Table {
    /// Gives a place its number, unless somebody else has done so meanwhile.
    fn add(&mut self, key: (String, u64), row: PlaceRow, is_user: bool, hash: u64) -> Place {
        let id = self.rows.len() as u32;
        let place = Place { id, is_user, hash };
        let place = *self.by_file.entry(key).or_insert(place);
        if place.id == id {
            self.rows.push(row);
        }
        place
    }
}
