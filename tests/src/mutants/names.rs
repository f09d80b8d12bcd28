//! A project's own names for what the operators know by the names of POSIX or C11.

use anyhow::{Result, ensure};
use std::collections::BTreeMap;

/// Known names with the project's own: `pthread_mutex_lock` and `uv_mutex_lock`.
pub type OwnNames = BTreeMap<String, String>;

/// A text with the known names in place of the project's. Lines stay where they are.
pub fn known(text: &str, names: &OwnNames) -> Result<String> {
    let is_used = |name: &str| words(text).any(|word| word == name);
    for (known, own) in names {
        ensure!(known == own || !is_used(known), "`{known}` is in the text");
    }
    let known = |word: &str| names.iter().find(|(_, own)| *own == word);
    Ok(words(text)
        .map(|word| known(word).map_or(word, |(known, _)| known))
        .collect())
}

/// A text with the project's names again.
pub fn own(text: &str, names: &OwnNames) -> String {
    words(text)
        .map(|word| names.get(word).map_or(word, |own| own))
        .collect()
}

/// The words of a text, and what stands between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        let kind = is_name(rest.chars().next()?);
        let end = rest.find(|c| is_name(c) != kind).unwrap_or(rest.len());
        let (word, behind) = rest.split_at_checked(end)?;
        rest = behind;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_words_and_come_back() -> Result<()> {
        let names = [("mtx_lock", "Lock"), ("INITIAL", "{}")];
        let names = names.map(|(known, own)| (known.to_owned(), own.to_owned()));
        let names = OwnNames::from(names);
        let text = "FileLock lock;\nmu_.Lock();";
        let changed = known(text, &names)?;
        assert_eq!(changed, "FileLock lock;\nmu_.mtx_lock();");
        assert_eq!(
            own(&format!("{changed} INITIAL"), &names),
            format!("{text} {{}}")
        );
        assert!(known("mtx_lock(m);", &names).is_err());
        Ok(())
    }
}
