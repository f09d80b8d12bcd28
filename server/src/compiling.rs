//! Whether edited sources still compile: the command line tool asks a compiler, where it knows how they are compiled.

use std::{collections::BTreeMap, fmt, sync::Arc};
use unsnarl_core::fixes::Fix;

/// Sources by the names that the debug info gives them.
type Sources = BTreeMap<String, String>;
/// Takes the fixes for a program that was built in a folder apart: those whose edits compile, and why others do not.
type Sift = dyn Fn(Vec<Fix>, &Sources, &str) -> (Vec<Fix>, Vec<String>) + Send + Sync;

/// Takes fixes out whose edits do not compile; all stay by default.
#[derive(Clone)]
pub struct Compiling(Arc<Sift>);

impl Compiling {
    /// As this function says.
    pub fn new(
        sift: impl Fn(Vec<Fix>, &Sources, &str) -> (Vec<Fix>, Vec<String>) + Send + Sync + 'static,
    ) -> Compiling {
        Compiling(Arc::new(sift))
    }

    /// The fixes that can be offered, and why the others cannot.
    pub fn sift(
        &self,
        fixes: Vec<Fix>,
        sources: &Sources,
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
