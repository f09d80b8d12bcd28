//! A fix as a unified diff, and in the user's files when they ask for it.

use anyhow::{Context, Result, bail};
use similar::TextDiff;
use std::{collections::BTreeMap, fs, path::Path};
use unsnarl_core::fixes::Fix;
use unsnarl_lab::edited::edited;
use unsnarl_trace::files::read_text;

/// Prints the diff, for `patch -p0` and `git apply -p0` in this folder.
pub fn print(fix: &Fix, sources: &BTreeMap<String, String>) -> Result<()> {
    for (file, after) in edited(fix, sources)? {
        let before = sources.get(&file).map_or("", String::as_str);
        let name = relative(&file);
        let diff = TextDiff::from_lines(before, after.as_str());
        anstream::print!(
            "{}",
            diff.unified_diff().context_radius(3).header(&name, &name)
        );
    }
    Ok(())
}

/// Writes the edited texts into the user's files, if those are still what the fix was made for.
pub fn write(fix: &Fix, sources: &BTreeMap<String, String>) -> Result<()> {
    let edited = edited(fix, sources)?;
    for file in edited.keys() {
        if read_text(file.as_ref())? != *sources.get(file).map_or("", String::as_str) {
            bail!("{file} has changed meanwhile: nothing was written\n  next: record again");
        }
    }
    for (file, after) in edited {
        fs::write(&file, after).with_context(|| format!("cannot write {file}"))?;
        anstream::println!("written: {}", relative(&file));
    }
    Ok(())
}

/// The path from the current folder, if the file lies below it.
pub fn relative(file: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let below = Path::new(file).strip_prefix(&here);
    below.map_or_else(|_| file.to_owned(), |path| path.display().to_string())
}
