//! Size of the terminal.

use console::Term;
use std::env;

/// Number of columns to write: those of the variable `COLUMNS`, or of the terminal that standard output is. None where
/// neither says.
pub fn columns() -> Option<usize> {
    let said = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || Some(usize::from(Term::stdout().size_checked()?.1));
    said.or_else(terminal).filter(|columns| *columns > 0)
}
