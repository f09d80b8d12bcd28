//! Translation of a proposal's source places into places in the code.

use crate::assemble::ProgramDebugInfo;
use rustc_hash::FxHashMap;
use unsnarl_trace::{SiteRow, Wanted, raw::follow::NONE};

/// The code of one module.
pub(super) struct ModuleCode {
    /// Path as the log names it.
    pub path: String,
    /// Return addresses of calls and their sites, sorted by address.
    pub points: Vec<(u64, u32)>,
}

/// The sites of all modules that are known so far.
#[derive(Default)]
pub(super) struct ModuleSites {
    pub code: Vec<ModuleCode>,
    rows: Vec<SiteRow>,
    ids: FxHashMap<SiteRow, u32>,
}

impl ModuleSites {
    /// Adds a module; returns whether it has unknown code of the user's.
    pub fn add(&mut self, program: &ProgramDebugInfo, path: &str) -> bool {
        if self.code.iter().any(|code| code.path == path) {
            return false;
        }
        let found = program.returns(path).unwrap_or_default();
        let own: Vec<u32> = found.sites.iter().map(|row| self.id(row)).collect();
        let point = |(address, site): &(u64, u32)| Some((*address, *own.get(*site as usize)?));
        self.code.push(ModuleCode {
            path: path.to_owned(),
            points: found.points.iter().filter_map(point).collect(),
        });
        !found.points.is_empty()
    }

    fn id(&mut self, row: &SiteRow) -> u32 {
        let next = self.rows.len() as u32;
        let id = *self.ids.entry(row.clone()).or_insert(next);
        if id == next {
            self.rows.push(row.clone());
        }
        id
    }

    fn of(&self, wanted: &Wanted) -> Vec<u32> {
        if wanted.file.is_empty() && wanted.line == 0 && wanted.function.is_empty() {
            return Vec::new();
        }
        let found: Vec<u32> = (0..)
            .zip(&self.rows)
            .filter(|(_, row)| is_meant(row, wanted))
            .map(|(id, _)| id)
            .collect();
        if found.is_empty() { vec![NONE] } else { found }
    }

    /// A lookup of sites for many entries, most of which name the same places.
    pub fn known(&self) -> KnownSites<'_> {
        KnownSites {
            sites: self,
            places: FxHashMap::default(),
        }
    }
}

/// A place as an entry names it: file, line, column, function.
type NamedSite<'s> = (&'s str, u32, u32, &'s str);

/// Sites by the places that entries have named so far: a place is looked up once.
pub(super) struct KnownSites<'s> {
    sites: &'s ModuleSites,
    places: FxHashMap<NamedSite<'s>, Vec<u32>>,
}

impl<'s> KnownSites<'s> {
    /// The numbers of the sites that an entry stands for: empty when it accepts any site, a number that no site has
    /// when it names one that does not exist.
    pub fn of(&mut self, wanted: &'s Wanted) -> &[u32] {
        let named = (
            wanted.file.as_str(),
            wanted.line,
            wanted.column,
            wanted.function.as_str(),
        );
        let sites = self.sites;
        self.places.entry(named).or_insert_with(|| sites.of(wanted))
    }

    /// Returns whether there is code for an entry.
    pub fn has(&mut self, wanted: &'s Wanted) -> bool {
        self.of(wanted) != [NONE]
    }
}

fn is_meant(row: &SiteRow, wanted: &Wanted) -> bool {
    (wanted.file.is_empty() || ends_with(&row.file, &wanted.file))
        && (wanted.line == 0 || row.line == wanted.line)
        && (wanted.column == 0 || row.column == wanted.column)
        && (wanted.function.is_empty() || row.function == wanted.function)
}

/// `src/bank.c` ends with `bank.c`, but not with `ank.c`.
fn ends_with(path: &str, end: &str) -> bool {
    let end = end.strip_prefix("./").unwrap_or(end);
    path.strip_suffix(end)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::ends_with;

    #[test]
    fn files_by_the_end_of_their_path() {
        assert!(ends_with("/home/me/src/bank.c", "bank.c"));
        assert!(ends_with("/home/me/src/bank.c", "src/bank.c"));
        assert!(ends_with("/home/me/src/bank.c", "./bank.c"));
        assert!(ends_with("/home/me/src/bank.c", "/home/me/src/bank.c"));
        assert!(!ends_with("/home/me/src/bank.c", "ank.c"));
    }
}
