//! Check that edited sources still compile: the command line tool asks a compiler, if it knows how they are compiled.

use std::{collections::BTreeMap, fmt, sync::Arc};
use unsnarl_core::fixes::Fix;

/// Sources by the names that the debug info gives them.
type CompiledSources = BTreeMap<String, String>;
/// Function that filters the fixes for a program that was built in a given folder: returns those whose edits compile,
/// and the reasons against the others.
type Sift = dyn Fn(Vec<Fix>, &CompiledSources, &str) -> (Vec<Fix>, Vec<String>) + Send + Sync;

/// Removes fixes whose edits do not compile; by default all stay.
#[derive(Clone)]
pub struct Compiling(Arc<Sift>);

impl Compiling {
    /// A filter by this function.
    pub fn new(
        sift: impl Fn(Vec<Fix>, &CompiledSources, &str) -> (Vec<Fix>, Vec<String>)
        + Send
        + Sync
        + 'static,
    ) -> Compiling {
        Compiling(Arc::new(sift))
    }

    /// The fixes that can be offered, and the reasons against the others.
    pub fn sift(
        &self,
        fixes: Vec<Fix>,
        sources: &CompiledSources,
        directory: &str,
    ) -> (Vec<Fix>, Vec<String>) {
        match fixes.is_empty() {
            true => (fixes, Vec::new()),
            false => (self.0)(fixes, sources, directory),
        }
    }
}

impl Default for Compiling {
    fn default() -> Compiling {
        Compiling::new(|fixes, _, _| (fixes, Vec::new()))
    }
}

impl fmt::Debug for Compiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Compiling")
    }
}
