//! Memory whose creation was not recorded (mappings, the environment): addresses that lie near each other belong
//! together and are counted from the first of them that the run used.
//!
//! Loaders place such memory at random, but what was placed as one keeps its inner distances.

use super::places::{MemoryRegionId, RegionByte};
use std::collections::BTreeMap;

struct Cluster {
    end: u64,
    /// Address from which offsets count.
    first: u64,
    region: MemoryRegionId,
}

/// Clusters by their lowest address.
pub(super) struct Clusters {
    by_start: BTreeMap<u64, Cluster>,
    /// Addresses at most this far from a cluster join it.
    reach: u64,
}

impl Clusters {
    pub fn new(reach: u64) -> Clusters {
        Clusters {
            by_start: BTreeMap::new(),
            reach,
        }
    }

    /// The place of an address; `make` names a region for a new cluster.
    pub fn place(&mut self, address: u64, make: impl FnOnce() -> MemoryRegionId) -> RegionByte {
        let start = self.near(address).unwrap_or_else(|| {
            let cluster = Cluster {
                end: address,
                first: address,
                region: make(),
            };
            self.by_start.insert(address, cluster);
            address
        });
        let Some(mut cluster) = self.by_start.remove(&start) else {
            return RegionByte::default();
        };
        cluster.end = cluster.end.max(address);
        let offset = address.wrapping_sub(cluster.first).cast_signed();
        let place = RegionByte {
            region: cluster.region,
            offset,
        };
        self.by_start.insert(start.min(address), cluster);
        place
    }

    /// Start of the cluster that an address belongs to: the one below before the one above.
    fn near(&self, address: u64) -> Option<u64> {
        let below = self.by_start.range(..=address).next_back();
        if let Some((start, cluster)) = below
            && address <= cluster.end.saturating_add(self.reach)
        {
            return Some(*start);
        }
        let (start, _) = self.by_start.range(address..).next()?;
        (start - address <= self.reach).then_some(*start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_addresses_share_a_region() {
        let mut clusters = Clusters::new(100);
        let mut next = 0;
        let mut place = |address| {
            let made = clusters.place(address, || {
                next += 1;
                MemoryRegionId(next)
            });
            (made.region.0, made.offset)
        };
        assert_eq!(place(1000), (1, 0));
        assert_eq!(place(1090), (1, 90));
        assert_eq!(place(1180), (1, 180));
        assert_eq!(place(950), (1, -50));
        assert_eq!(place(1300), (2, 0));
        assert_eq!(place(860), (1, -140));
    }
}
