//! Finds the solver that the set-up installed, and says how whoever links this crate finds it again.
//!
//! The crates that own a binary print `DEP_UNSNARL_SOLVER_RPATH`: a search path only counts in the binary itself.

// The crate is pure, not its build script.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::{
    env,
    error::Error,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// The release of z3-solver that the set-up installs.
const VERSION: &str = include_str!("solver-version.txt");

/// Folders in which packages put the library: beside the binary, or in the folder of their own libraries.
const BESIDE: &str = "$ORIGIN:$ORIGIN/../lib/unsnarl:$ORIGIN/../lib";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=solver-version.txt");
    for variable in ["UNSNARL_Z3", "XDG_CACHE_HOME", "HOME"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let folder = folder()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let Some(library) = library(&folder) else {
        println!(
            "cargo::error=the solver Z3 {VERSION} is not installed ({} has no libz3.so)",
            folder.display()
        );
        println!(
            "cargo::error=next: `cargo xtask setup` installs it; or name a folder that holds it in UNSNARL_Z3"
        );
        return Ok(());
    };
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // Links in the build folder: cargo lets tests and `cargo run` find libraries only there.
    link(&library, &out.join("libz3.so"))?;
    if let Some(name) = library.file_name() {
        link(&library, &out.join(name))?;
    }
    let rpath = format!("{BESIDE}:{}", folder.display());
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-arg=-Wl,-rpath,{rpath}");
    println!("cargo::metadata=RPATH={rpath}");
    Ok(())
}

/// Named by the user, or the set-up's: `xtask/src/setup/solver.rs` writes it.
fn folder() -> Result<PathBuf, Box<dyn Error>> {
    if let Some(named) = variable("UNSNARL_Z3") {
        return Ok(fs::canonicalize(&named).unwrap_or(named));
    }
    let cache = variable("XDG_CACHE_HOME")
        .or_else(|| Some(variable("HOME")?.join(".cache")))
        .ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join(format!("unsnarl/z3-{VERSION}")))
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The file by the name that a binary asks for at its start (`libz3.so.5.4`), or what there is.
fn library(folder: &Path) -> Option<PathBuf> {
    let plain = folder.join("libz3.so");
    let mut numbers = VERSION.split('.');
    let name = format!("libz3.so.{}.{}", numbers.next()?, numbers.next()?);
    [folder.join(name), plain]
        .into_iter()
        .find(|path| path.is_file())
}

fn link(library: &Path, name: &Path) -> io::Result<()> {
    match fs::remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    symlink(library, name)
}
