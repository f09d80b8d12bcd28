//! The places of accesses by number, and a memo of the addresses that were looked up last.

use super::{
    memory::Found,
    places::{Place, Regions},
};
use rustc_hash::FxHashMap;

/// Number of a [`Spot`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SpotId(u32);

impl SpotId {
    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The way in which memory is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Use {
    /// Accessed as one.
    #[default]
    Access,
    /// Accessed as a part of a range.
    Range,
    /// As an object that is used as a whole, or not at all.
    Object,
}

/// Memory that was used in some way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Spot {
    pub place: Place,
    /// Number of bytes.
    pub size: u64,
    pub used: Use,
}

/// An access that was looked up.
#[derive(Clone, Copy)]
struct Known {
    address: u64,
    size: u32,
    thread: u16,
    used: Use,
    /// The state of the memory map that it was looked up in.
    epoch: u32,
    spot: SpotId,
}

/// Number of accesses that are found without a look at the memory map.
const RECENT: usize = 1 << 13;

/// All spots of a run.
pub(super) struct Spots {
    rows: Vec<Spot>,
    ids: FxHashMap<Spot, SpotId>,
    recent: Vec<Known>,
    epoch: u32,
}

impl Default for Spots {
    fn default() -> Spots {
        let none = Known {
            address: 0,
            size: 0,
            thread: 0,
            used: Use::Access,
            epoch: 0,
            spot: SpotId(0),
        };
        Spots {
            rows: Vec::new(),
            ids: FxHashMap::default(),
            recent: vec![none; RECENT],
            epoch: 1,
        }
    }
}

/// An access before it is known where it goes.
#[derive(Clone, Copy)]
pub(super) struct Sought {
    pub address: u64,
    pub size: u32,
    pub thread: u16,
    pub used: Use,
}

impl Sought {
    fn slot(&self) -> usize {
        // Elements of an array come one after the other, and several arrays are used at a time.
        ((self.address >> 2) ^ (self.address >> 15)) as usize % RECENT
    }
}

impl Spots {
    /// The spot with this number.
    pub fn get(&self, id: SpotId) -> Spot {
        self.rows.get(id.index()).copied().unwrap_or_default()
    }

    /// Number of spots.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Number of a spot.
    pub fn id(&mut self, spot: Spot) -> SpotId {
        let next = SpotId(self.rows.len() as u32);
        let id = *self.ids.entry(spot).or_insert(next);
        if id == next {
            self.rows.push(spot);
        }
        id
    }

    /// The memory map has changed.
    pub fn forget(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            // As after 2^32 changes: what is known may come from a state of the same number.
            self.recent.iter_mut().for_each(|known| known.epoch = 0);
            self.epoch = 1;
        }
    }

    /// The spot of an access, if it was looked up a short while ago.
    #[inline(always)]
    pub fn recent(&self, sought: &Sought) -> Option<SpotId> {
        let known = self.recent.get(sought.slot())?;
        let is_it = known.address == sought.address
            && known.epoch == self.epoch
            && known.size == sought.size
            && known.thread == sought.thread
            && known.used == sought.used;
        is_it.then_some(known.spot)
    }

    /// Notes the spot of an access that was found, if it stays there until the memory map changes.
    pub fn note(&mut self, sought: &Sought, found: &Found, spot: SpotId) {
        let epoch = self.epoch;
        let is_whole = found.rest >= u64::from(sought.size);
        if let Some(known) = self
            .recent
            .get_mut(sought.slot())
            .filter(|_| found.is_settled && is_whole)
        {
            *known = Known {
                address: sought.address,
                size: sought.size,
                thread: sought.thread,
                used: sought.used,
                epoch,
                spot,
            };
        }
    }

    /// Tells the regions how they were accessed.
    pub fn touch(&self, regions: &mut Regions) {
        for spot in &self.rows {
            match spot.used {
                Use::Object => {}
                used => regions.touch(spot.place, spot.size, used == Use::Range),
            }
        }
    }
}
