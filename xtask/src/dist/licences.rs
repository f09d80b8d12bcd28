//! The licences of everything that a package contains, beside unsnarl's own.

use super::parts::Part;
use crate::shell;
use anyhow::{Context, Result};
use std::{collections::BTreeMap, fs};

/// All texts, each once, below the names of the parts that have it. A part without a text has the one of the licence
/// that it names: ours if that is among its choices.
pub fn texts(parts: &[Part]) -> Result<String> {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in parts {
        let owner = format!("{} {} ({})", part.name, part.version, part.licence);
        let own = match part.texts.is_empty() {
            true => vec![text_of(part)?],
            false => part.texts.clone(),
        };
        for text in own {
            owners.entry(text).or_default().push(owner.clone());
        }
    }
    let parts = owners.into_iter().map(|(text, owners)| {
        format!(
            "{}\n{}\n\n{}\n",
            owners.join("\n"),
            "=".repeat(72),
            text.trim()
        )
    });
    Ok(parts.collect::<Vec<_>>().join("\n\n"))
}

/// The text of the licence of a part that brings none.
fn text_of(part: &Part) -> Result<String> {
    let file = match part.licence.contains("Apache-2.0") {
        true => "LICENSE-APACHE",
        false if part.licence.contains("MIT") => return without_holder(),
        false => anyhow::bail!("{} brings no text of {}", part.name, part.licence),
    };
    fs::read_to_string(shell::project().join(file)).with_context(|| format!("no {file}"))
}

/// The MIT licence for parts whose authors gave no line with their names.
fn without_holder() -> Result<String> {
    let text = fs::read_to_string(shell::project().join("LICENSE-MIT"))?;
    let is_ours = |line: &&str| !line.starts_with("Copyright");
    Ok(text.lines().filter(is_ours).collect::<Vec<_>>().join("\n"))
}
