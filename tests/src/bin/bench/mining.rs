//! Mining of bug explanation patterns: what it costs, and what it finds in the case studies of its paper.
//!
//! ```text
//! bench mining          what it costs; the case studies, into docs/engines/mining.md
//! bench mining speed    what it costs
//! bench mining closed   closed patterns alone
//! bench mining cases    the case studies
//! ```

use crate::{mining_cases, mining_speed};
use anyhow::{Result, bail};

/// Measures what the words ask for.
pub fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => {
            mining_speed::run()?;
            mining_cases::write_docs()
        }
        ["speed"] => mining_speed::run(),
        ["closed"] => mining_speed::closed(),
        ["cases"] => mining_cases::run(),
        _ => bail!(
            "expected `speed`, `closed`, `cases` or nothing, not `{}`",
            words.join(" ")
        ),
    }
}
