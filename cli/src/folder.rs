//! Folders on the command line. What object storage needs is not linked into this program, so a URL is none.

use anyhow::{Result, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::{
    env,
    path::{Path, PathBuf},
};
use unsnarl_lab::load::RUNS;

/// Advice for commands that read runs.
pub const FETCH: &str = "unsnarl-fleet sync URL DIR, and then this command with that folder";
/// Advice for commands that write runs.
pub const UPLOAD: &str = "this command with a folder, and then unsnarl-fleet sync DIR URL";

/// Takes the path of a folder or a file. Of a URL it says which command of `unsnarl-fleet` takes it: `advice`, with `URL`
/// for its place.
pub fn local(advice: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(move |text| {
        let url = text.to_str().filter(|text| is_url(text));
        match url.map(|url| advice.replace("URL", url)) {
            Some(advice) => Err(format!("a URL is for unsnarl-fleet\n  next: {advice}")),
            None => Ok(PathBuf::from(text)),
        }
    })
}

/// The place of the runs for a command that reads them: the one that is named, or the nearest folder above that has runs;
/// `None` for the runs of the current folder itself.
pub fn of_runs(place: Option<PathBuf>) -> Result<Option<PathBuf>> {
    match place {
        Some(place) if !place.exists() => bail!(
            "there is no file or folder {}\n  next: name a run file or a folder of runs, or leave it out for those of this folder",
            place.display()
        ),
        Some(place) => Ok(Some(place)),
        None if Path::new(RUNS).is_dir() => Ok(None),
        None => match above().find(|folder| folder.join(RUNS).is_dir()) {
            Some(folder) => Ok(Some(folder)),
            None => bail!(
                "there are no runs in {RUNS}, neither of this folder nor of one above it\n  next: record some: unsnarl record --until-failing 3 -- ./prog"
            ),
        },
    }
}

/// The folders above the current one as relative paths, the nearest first.
pub fn above() -> impl Iterator<Item = PathBuf> {
    let here = env::current_dir().unwrap_or_default();
    let depth = here.ancestors().count().saturating_sub(1);
    (1..=depth).map(|levels| (0..levels).map(|_| "..").collect())
}

/// Schemes of URLs of storages.
const SCHEMES: [&str; 5] = ["s3", "s3a", "gs", "az", "file"];

fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| SCHEMES.contains(&scheme))
}
