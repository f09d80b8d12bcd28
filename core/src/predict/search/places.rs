//! Source lines as numbers: anomalies on the same lines count as one (Table 1 of [pecan]).
//!
//! [pecan]: crate::predict

use rustc_hash::FxHashMap;
use unsnarl_trace::{IndexVec, Run, SiteId};

/// The number of the source line of each site. Sites of unknown line are lines of their own.
pub(super) struct SiteLines {
    of_site: IndexVec<SiteId, u32>,
}

impl SiteLines {
    pub fn new(run: &Run) -> SiteLines {
        let mut lines: FxHashMap<(&str, u32), u32> = FxHashMap::default();
        let sites = run.meta.sites.iter().zip(0..);
        let of_site = sites.map(|(site, number)| match site.line {
            0 => number,
            line => *lines.entry((&site.file, line)).or_insert(number),
        });
        SiteLines {
            of_site: of_site.collect(),
        }
    }

    /// The line of a site.
    pub fn of(&self, site: SiteId) -> u32 {
        self.of_site[site]
    }
}
