//! Mapping from places of the program model to the run's sites.

use rustc_hash::FxHashMap;
use unsnarl_trace::{
    RunMeta, SiteId,
    program::{DebugPlace, Unit},
};

/// The run's sites by file name without folder, line and column.
#[derive(Clone, Debug, Default)]
pub(super) struct SitesByName {
    exact: FxHashMap<(String, u32, u32), SiteId>,
    lines: FxHashMap<(String, u32), SiteId>,
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl SitesByName {
    pub fn new(meta: &RunMeta) -> SitesByName {
        let mut sites = SitesByName::default();
        for (id, site) in meta.sites.iter_enumerated().skip(1) {
            let file = file_name(&site.file).to_owned();
            sites
                .exact
                .entry((file.clone(), site.line, site.column))
                .or_insert(id);
            sites.lines.entry((file, site.line)).or_insert(id);
        }
        sites
    }

    /// The site at a place, or else one on its line.
    pub fn of(&self, unit: &Unit, place: &DebugPlace) -> Option<SiteId> {
        if place.line == 0 {
            return None;
        }
        let file = file_name(unit.file(place)).to_owned();
        let exact = self.exact.get(&(file.clone(), place.line, place.column));
        exact
            .or_else(|| self.lines.get(&(file, place.line)))
            .copied()
    }
}
