//! Loads the solver Z3 when it is needed.
//!
//! The bindings (`z3-sys`) call functions of a C library. Were the program linked with that library, it would not start
//! on a machine without it, could not be built there, and every `unsnarl cc` would load 29 megabytes that it never uses.
//! So `functions.s` defines these functions as jumps through slots, and [`load`] opens the library and fills the slots.
//! Nothing may call the solver before [`load`] has succeeded.

mod folders;
mod library;

use std::{fmt, sync::OnceLock};

/// The release of PyPI's z3-solver that the set-up installs and packages hold.
pub const VERSION: &str = include_str!("../version.txt");

/// A solver that cannot be used, with the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingSolver(String);

impl fmt::Display for MissingSolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MissingSolver {}

/// Opens the library, once for the process; every later call returns the result of the first one.
pub fn load() -> Result<(), MissingSolver> {
    static LOADED: OnceLock<Result<(), MissingSolver>> = OnceLock::new();
    LOADED.get_or_init(load_first).clone()
}

/// Takes the first library that is there: one that is broken is reported, not passed over. The last path is tried in any
/// case, for its reason.
fn load_first() -> Result<(), MissingSolver> {
    let candidates = folders::candidates();
    let path = candidates.iter().find(|path| path.is_file());
    path.or(candidates.last())
        .map_or_else(
            || Err("no folder to look in".to_owned()),
            |path| library::open(path),
        )
        .map_err(MissingSolver)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_library_that_the_set_up_installed_has_every_function() {
        assert_eq!(super::load(), Ok(()));
        assert_eq!(super::load(), Ok(()));
    }
}
