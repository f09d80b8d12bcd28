//! `unsnarl prune`: makes room by removing runs that show what others show.

use crate::{arguments::PruneArguments, message};
use anyhow::{Context, Result, ensure};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};
use unsnarl_lab::prune::{KeepReason, PrunePlan, names_in, plan};
use unsnarl_trace::{RunFile, RunFolder, files::read_regular};

/// Most bytes of a file in which names of runs are looked for.
const MOST: u64 = 64 << 20;

/// Removes runs, or says which ones it would remove.
pub fn run(arguments: &PruneArguments) -> Result<ExitCode> {
    let folder = RunFolder::at(&arguments.place);
    let files = folder.files().with_context(|| cannot_read(folder.path()))?;
    ensure!(
        !files.is_empty(),
        "there are no runs in {}",
        folder.path().display()
    );
    let named = named(&arguments.named_in, &files)?;
    let mut plan = plan(&folder, &named).with_context(|| cannot_read(folder.path()))?;
    for (file, error) in &plan.broken {
        message::warning(&format!(
            "{} is kept, since it cannot be read: {error}",
            file.path.display()
        ));
    }
    let mut failed = !plan.broken.is_empty();
    if !arguments.dry_run {
        let all = plan.removable.len();
        plan.removable.retain(remove);
        failed |= plan.removable.len() < all;
    }
    print(&plan, arguments.dry_run);
    Ok(ExitCode::from(u8::from(failed)))
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

/// Removes a file; returns whether it is gone.
fn remove(file: &RunFile) -> bool {
    match fs::remove_file(&file.path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            message::error(&format!("cannot remove {}: {error}", file.path.display()));
            false
        }
        _ => true,
    }
}

/// Names of runs in these files, and in all files below these folders.
fn named(places: &[PathBuf], files: &[RunFile]) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut open = places.to_vec();
    while let Some(place) = open.pop() {
        if place.is_dir() {
            for entry in fs::read_dir(&place).with_context(|| cannot_read(&place))? {
                let entry = entry?;
                // A link could lead back to where it stands.
                if !entry.file_type()?.is_symlink() {
                    open.push(entry.path());
                }
            }
        } else {
            let bytes = read_regular(&place, MOST).with_context(|| cannot_read(&place))?;
            names.extend(names_in(&String::from_utf8_lossy(&bytes), files));
        }
    }
    Ok(names)
}

fn print(plan: &PrunePlan, is_dry: bool) {
    for file in &plan.removable {
        outln!("{}  {} bytes", file.name, file.len);
    }
    let would = if is_dry {
        "would be removed"
    } else {
        "removed"
    };
    let kept = |reason| plan.kept.get(&reason).copied().unwrap_or(0);
    outln!(
        "{} runs ({} bytes) {would}; kept: {} failing, {} with an order of their own, {} named, {} not readable",
        plan.removable.len(),
        plan.bytes(),
        kept(KeepReason::Failed),
        kept(KeepReason::Order),
        kept(KeepReason::Named),
        plan.broken.len()
    );
}
