//! The places of accesses by number, and notes of the addresses that they were found at.

use super::places::{MemoryRegions, RegionByte};
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
pub(super) struct UsedSpot {
    pub place: RegionByte,
    /// Number of bytes.
    pub size: u64,
    pub used: Use,
}

/// The access at which a spot was noted last.
#[derive(Clone, Copy, Default)]
struct LastAccess {
    address: u64,
    size: u32,
    used: Use,
    /// The state of the memory map; 0 for none.
    epoch: u32,
}

/// Bytes of a page of the program's memory.
const PAGE: u64 = 1 << 10;
/// Number of pages that are found without a look into the table.
const RECENT: usize = 256;

/// The spots that were noted last at each byte of a page; 0 for none, otherwise one more than the number.
type SpotPage = [u32; PAGE as usize];

/// All spots of a run.
pub(super) struct Spots {
    rows: Vec<UsedSpot>,
    ids: FxHashMap<UsedSpot, SpotId>,
    /// The access at which each spot was noted.
    known: Vec<LastAccess>,
    pages: Vec<SpotPage>,
    /// Numbers of pages by address.
    numbers: FxHashMap<u64, u32>,
    recent: Box<[(u64, u32); RECENT]>,
    /// Bound for the pages: a program that touches much and uses it little is looked up each time.
    most: usize,
    epoch: u32,
}

impl Default for Spots {
    fn default() -> Spots {
        Spots {
            rows: Vec::new(),
            ids: FxHashMap::default(),
            known: Vec::new(),
            pages: Vec::new(),
            numbers: FxHashMap::default(),
            recent: Box::new([(u64::MAX, 0); RECENT]),
            most: 16,
            epoch: 1,
        }
    }
}

/// An access before it is known where it goes.
#[derive(Clone, Copy)]
pub(super) struct Sought {
    pub address: u64,
    pub size: u32,
    pub used: Use,
}

impl Spots {
    /// The spot with this number.
    pub fn get(&self, id: SpotId) -> UsedSpot {
        self.rows.get(id.index()).copied().unwrap_or_default()
    }

    /// Number of spots.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Allows notes on as much memory as a run of this many events may need.
    pub fn expect(&mut self, events: usize) {
        self.most = 16 + events / 512;
    }

    /// Number of a spot.
    pub fn id(&mut self, spot: UsedSpot) -> SpotId {
        if let Some(known) = self.ids.get(&spot) {
            return *known;
        }
        let id = self.add(spot);
        self.ids.insert(spot, id);
        id
    }

    /// The memory map has changed.
    pub fn forget(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            // What is known may come from a state of the same number, 2^32 changes ago.
            self.known.iter_mut().for_each(|known| known.epoch = 0);
            self.epoch = 1;
        }
    }

    /// The spot of an access, if one like it was noted in this state of the memory map.
    #[inline(always)]
    pub fn recent(&self, sought: &Sought) -> Option<SpotId> {
        let page = sought.address / PAGE;
        let (of, number) = *self.recent.get(page as usize % RECENT)?;
        if of != page {
            return None;
        }
        let page = self.pages.get(number as usize)?;
        let spot = page.get((sought.address % PAGE) as usize)?;
        let spot = SpotId(spot.checked_sub(1)?);
        let known = self.known.get(spot.index())?;
        let is_it = known.address == sought.address
            && known.epoch == self.epoch
            && known.size == sought.size
            && known.used == sought.used;
        is_it.then_some(spot)
    }

    /// The spot of an access whose page was not among the recent ones.
    pub fn on_page(&mut self, sought: &Sought) -> Option<SpotId> {
        let page = sought.address / PAGE;
        let slot = self.recent.get_mut(page as usize % RECENT)?;
        if slot.0 == page {
            return None;
        }
        *slot = (page, *self.numbers.get(&page)?);
        self.recent(sought)
    }

    /// The spot of a whole access at `place`, which is noted until the memory map changes.
    pub fn noted(&mut self, sought: &Sought, place: RegionByte) -> SpotId {
        let spot = UsedSpot {
            place,
            size: u64::from(sought.size),
            used: sought.used,
        };
        let number = self.page(sought.address / PAGE);
        let at = number.map(|number| (number as usize, (sought.address % PAGE) as usize));
        let noted = at.and_then(|(page, byte)| self.pages.get(page)?.get(byte).copied());
        let id = match noted {
            // At an address that was never noted is no known spot, unless it has not been settled or whole, which does
            // not matter: what counts is that the drafts there find their spot again.
            Some(0) => self.add(spot),
            Some(noted) if self.rows.get(noted as usize - 1) == Some(&spot) => SpotId(noted - 1),
            _ => self.id(spot),
        };
        let at = at.and_then(|(page, byte)| self.pages.get_mut(page)?.get_mut(byte));
        if let Some((at, known)) = at.zip(self.known.get_mut(id.index())) {
            *at = id.0 + 1;
            *known = LastAccess {
                address: sought.address,
                size: sought.size,
                used: sought.used,
                epoch: self.epoch,
            };
        }
        id
    }

    fn add(&mut self, spot: UsedSpot) -> SpotId {
        let id = SpotId(self.rows.len() as u32);
        self.rows.push(spot);
        self.known.push(LastAccess::default());
        id
    }

    /// Number of a page, which is made if there may be one more.
    fn page(&mut self, page: u64) -> Option<u32> {
        let number = match self.numbers.get(&page) {
            Some(known) => *known,
            None if self.pages.len() >= self.most => return None,
            None => {
                self.pages.push([0; PAGE as usize]);
                let number = self.pages.len() as u32 - 1;
                self.numbers.insert(page, number);
                number
            }
        };
        if let Some(slot) = self.recent.get_mut(page as usize % RECENT) {
            *slot = (page, number);
        }
        Some(number)
    }

    /// Tells the regions how they were accessed.
    pub fn touch(&self, regions: &mut MemoryRegions) {
        for spot in &self.rows {
            match spot.used {
                Use::Object => {}
                used => regions.touch(spot.place, spot.size, used == Use::Range),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::MemoryRegionId;
    use super::*;

    fn spot(offset: i64, size: u64) -> UsedSpot {
        UsedSpot {
            place: RegionByte {
                region: MemoryRegionId(1),
                offset,
            },
            size,
            used: Use::Access,
        }
    }

    fn sought(address: u64, size: u32) -> Sought {
        Sought {
            address,
            size,
            used: Use::Access,
        }
    }

    fn at(offset: i64) -> RegionByte {
        spot(offset, 4).place
    }

    #[test]
    fn a_note_holds_for_one_access_until_the_memory_map_changes() {
        let mut spots = Spots::default();
        let id = spots.noted(&sought(4096, 4), at(8));
        assert_eq!(spots.get(id), spot(8, 4));
        assert_eq!(spots.recent(&sought(4096, 4)), Some(id));
        assert_eq!(spots.recent(&sought(4096, 8)), None);
        assert_eq!(spots.recent(&sought(4097, 4)), None);
        spots.forget();
        assert_eq!(spots.recent(&sought(4096, 4)), None);
        assert_eq!(spots.noted(&sought(4096, 4), at(8)), id);
        let other = spots.noted(&sought(4096, 4), at(16));
        assert_eq!(spots.get(other), spot(16, 4));
        assert_eq!(spots.recent(&sought(4096, 4)), Some(other));
    }

    #[test]
    fn pages_that_share_a_place_among_the_recent_ones_are_found_again() {
        let mut spots = Spots::default();
        let (near, far) = (4096, 4096 + PAGE * RECENT as u64);
        let ids = [
            spots.noted(&sought(near, 4), at(0)),
            spots.noted(&sought(far, 4), at(64)),
        ];
        assert_eq!(spots.recent(&sought(near, 4)), None);
        assert_eq!(spots.on_page(&sought(near, 4)), Some(ids[0]));
        assert_eq!(spots.on_page(&sought(far, 4)), Some(ids[1]));
    }
}
