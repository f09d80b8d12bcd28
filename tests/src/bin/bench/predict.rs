//! Prediction: what it finds in the subjects of its paper, and what it costs.
//!
//! ```text
//! bench predict               all of it but `traces`, into docs/engines/predict.md
//! bench predict speed         the search beside a plain scan, memory, growth
//! bench predict traces DIR    racy accesses in the .std traces of a folder, beside the counts in its README.md
//! bench predict orders        what import and orders cost
//! bench predict table         the subjects of PECAN's Table 1: predicted, reproduced, failures
//! bench predict schedules     what making schedules costs, by the size of the run
//! ```

use anyhow::{Result, bail};

/// The page with the tables.
pub const PAGE: &str = "engines/predict.md";

/// Measures what the words ask for.
pub fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => {
            crate::predict_table::run()?;
            crate::predict_schedules::run()?;
            crate::predict_speed::run()?;
            crate::predict_orders::run()
        }
        ["table"] => crate::predict_table::run(),
        ["schedules"] => crate::predict_schedules::run(),
        ["speed"] => crate::predict_speed::run(),
        ["traces", folder] => crate::predict_traces::run(folder),
        ["orders"] => crate::predict_orders::run(),
        _ => bail!(
            "expected `table`, `schedules`, `speed`, `orders`, `traces DIR` or nothing, not `{}`",
            words.join(" ")
        ),
    }
}
