//! The inverse of `sites`: from places in the source to the return addresses of their calls, by which records name
//! their place.

use super::{image::Image, program::ProgramDebugInfo};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};
use unsnarl_trace::SiteRow;

/// The calls in the user's code of one module.
#[derive(Debug, Default)]
pub struct Returns {
    /// Their sites, each once.
    pub sites: Vec<SiteRow>,
    /// Return address by the file's own addresses, and index of the site; sorted by address.
    pub points: Vec<(u64, u32)>,
}

/// Calls found in each module, by path.
#[derive(Default)]
pub(super) struct ReturnsCache(Mutex<FxHashMap<String, Option<Arc<Returns>>>>);

impl ProgramDebugInfo {
    /// The calls of a module (the program itself for the empty path); `None` when it cannot be read.
    pub fn returns(&self, module: &str) -> Option<Arc<Returns>> {
        let find = || Some(Arc::new(returns(self, &*self.image(module)?)));
        match self.returns.0.lock() {
            Ok(mut known) => known.entry(module.to_owned()).or_insert_with(find).clone(),
            Err(_) => find(),
        }
    }
}

fn returns(program: &ProgramDebugInfo, image: &Image) -> Returns {
    let mut found = Returns::default();
    let mut ids: FxHashMap<SiteRow, u32> = FxHashMap::default();
    let mut addresses = image.returns();
    addresses.sort_unstable();
    addresses.dedup();
    for address in addresses {
        // The call itself lies before the address that it returns to.
        let point = program.points.get(program, image, address.wrapping_sub(1));
        let Some(row) = &point.user else { continue };
        let next = found.sites.len() as u32;
        let id = *ids.entry(row.clone()).or_insert(next);
        if id == next {
            found.sites.push(row.clone());
        }
        found.points.push((address, id));
    }
    found
}
