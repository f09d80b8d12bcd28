//! The places of the solver's library.

use std::{
    env,
    path::{Path, PathBuf},
};

/// Folders in which packages put the library, relative to the folder of the binary.
const BESIDE: [&str; 3] = ["", "../lib/unsnarl", "../lib"];

/// The name of the library's file: `libz3.so.5.4` of release 5.4.0.0.
fn file_name() -> String {
    let numbers: Vec<&str> = crate::VERSION.trim().split('.').take(2).collect();
    format!("libz3.so.{}", numbers.join("."))
}

/// Paths where the library may be, best first: the folder in `UNSNARL_Z3` alone if that is set, otherwise the folders of
/// packages, the one of the set-up, and the system's own search.
pub fn candidates() -> Vec<PathBuf> {
    let name = file_name();
    if let Some(named) = variable("UNSNARL_Z3") {
        return vec![named.join(&name), named.join("libz3.so")];
    }
    let binary = env::current_exe().ok();
    let own = binary.as_deref().and_then(Path::parent);
    let beside = own
        .into_iter()
        .flat_map(|own| BESIDE.map(|folder| own.join(folder)));
    beside
        .chain(cache())
        .map(|folder| folder.join(&name))
        .chain([PathBuf::from(&name)])
        .collect()
}

/// The folder that `cargo xtask setup` installs into (`xtask/src/setup/solver.rs`).
fn cache() -> Option<PathBuf> {
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    Some(cache.join(format!("unsnarl/z3-{}", crate::VERSION.trim())))
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
