//! Places in the code, numbered once for all runs of a campaign.
//!
//! Runs are read side by side, so which place has which number is chance: nothing that a campaign tells or decides may
//! depend on the numbers.

use super::hash;
use crate::assemble::{ProgramDebugInfo, RawLog, ReachableCode};
use rustc_hash::FxHashMap;
use std::{
    ops::Range,
    path::Path,
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
pub(super) struct DigestPlace {
    /// Number of its row.
    pub id: u32,
    /// `true` if it is in the user's code.
    pub is_user: bool,
    /// Hash of its place in the source.
    pub hash: u64,
}

/// All places that the runs of a campaign have come to. Copies share the numbers, and each has its own way to find
/// them again.
pub(crate) struct CampaignPlaces {
    all: Arc<Mutex<PlaceTable>>,
    /// Known places by program counter, as the program was loaded last.
    known: FxHashMap<u64, DigestPlace>,
    loaded: Vec<(u64, u64, String)>,
    recent: Box<[(u64, DigestPlace); RECENT]>,
}

/// The places by their numbers.
struct PlaceTable {
    rows: Vec<PlaceRow>,
    by_file: FxHashMap<(String, u64), DigestPlace>,
}

/// The places by their numbers, to look at.
pub(crate) struct NumberedPlaces<'a>(MutexGuard<'a, PlaceTable>);

/// Number of places that are found without a look into the table.
const RECENT: usize = 256;

impl Default for CampaignPlaces {
    fn default() -> CampaignPlaces {
        CampaignPlaces::with(Arc::new(Mutex::new(PlaceTable {
            rows: vec![PlaceRow::default()],
            by_file: FxHashMap::default(),
        })))
    }
}

impl Clone for CampaignPlaces {
    fn clone(&self) -> CampaignPlaces {
        CampaignPlaces::with(self.all.clone())
    }
}

impl CampaignPlaces {
    fn with(all: Arc<Mutex<PlaceTable>>) -> CampaignPlaces {
        CampaignPlaces {
            all,
            known: FxHashMap::default(),
            loaded: Vec::new(),
            recent: Box::new([(0, DigestPlace::default()); RECENT]),
        }
    }

    /// Locks the table of places and returns a view of its rows.
    pub fn rows(&self) -> NumberedPlaces<'_> {
        NumberedPlaces(self.table())
    }

    fn table(&self) -> MutexGuard<'_, PlaceTable> {
        // A row is there before its number is given away.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Addresses of the places that lie in a file, in their order.
    pub fn addresses_in(&self, file: &Path) -> Vec<u64> {
        let table = self.table();
        let own = table
            .by_file
            .keys()
            .filter(|(path, _)| Path::new(path) == file);
        let mut addresses: Vec<u64> = own.map(|(_, address)| *address).collect();
        addresses.sort_unstable();
        addresses
    }

    /// Places at given sites, numbered from 1 on.
    #[cfg(test)]
    pub(crate) fn of_sites(sites: impl Iterator<Item = SiteRow>) -> CampaignPlaces {
        let row = |site| PlaceRow { site, offset: None };
        let places = CampaignPlaces::default();
        places.table().rows.extend(sites.map(row));
        places
    }

    /// Opens the table for the places of one run.
    pub(super) fn of_run<'a>(
        &'a mut self,
        log: &RawLog<'_>,
        program: &'a ProgramDebugInfo,
    ) -> RunPlaces<'a> {
        let modules = log.modules();
        let loaded: Vec<_> = modules.map(|it| (it.start, it.bias, it.path)).collect();
        let own = log.modules().find(|module| module.path.is_empty());
        if loaded != self.loaded {
            self.known.clear();
            self.recent.fill((0, DigestPlace::default()));
            self.loaded = loaded;
        }
        RunPlaces {
            own: own.map_or(0..0, |module| module.start..module.end),
            code: ReachableCode::of(log, program),
            places: self,
        }
    }
}

impl NumberedPlaces<'_> {
    /// The description of a place.
    pub fn get(&self, id: u32) -> Option<&PlaceRow> {
        self.0.rows.get(id as usize)
    }
}

/// The places of one run.
pub(super) struct RunPlaces<'a> {
    places: &'a mut CampaignPlaces,
    code: ReachableCode<'a>,
    /// The program's own addresses.
    own: Range<u64>,
}

impl RunPlaces<'_> {
    /// The place of the call that returns to `pc`.
    #[inline]
    pub fn at(&mut self, pc: u64) -> DigestPlace {
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

    fn new_place(&mut self, pc: u64) -> DigestPlace {
        let place = self.located(pc).unwrap_or_default();
        self.places.known.insert(pc, place);
        place
    }

    fn located(&mut self, pc: u64) -> Option<DigestPlace> {
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

impl PlaceTable {
    /// Gives a place its number, unless somebody else has done so meanwhile.
    fn add(&mut self, key: (String, u64), row: PlaceRow, is_user: bool, hash: u64) -> DigestPlace {
        let id = self.rows.len() as u32;
        let place = DigestPlace { id, is_user, hash };
        let place = *self.by_file.entry(key).or_insert(place);
        if place.id == id {
            self.rows.push(row);
        }
        place
    }
}
