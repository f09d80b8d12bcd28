//! Sources with a fix made.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use unsnarl_core::fixes::{self, Fix};

/// The files that a fix changes, with their texts after it.
///
/// # Errors
/// A file is not what was recorded, or the edits do not fit it.
pub fn edited(fix: &Fix, sources: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let mut edited = BTreeMap::new();
    for edit in &fix.edits {
        let text = sources
            .get(&edit.file)
            .with_context(|| format!("{} is not what was recorded", edit.file))?;
        let after = fixes::apply(text, &edit.file, &fix.edits)
            .with_context(|| format!("the edits do not fit {}", edit.file))?;
        edited.insert(edit.file.clone(), after);
    }
    Ok(edited)
}
