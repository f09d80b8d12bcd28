//! The programs of a folder that may be executed: those that the user has recorded, and builds that the user has
//! allowed.

use std::{collections::BTreeSet, fmt, sync::Arc};
use unsnarl_trace::RunMeta;

/// Predicate for runs that the user has recorded on this machine; by default no run is. The command line tool decides
/// that, here and when it executes.
#[derive(Clone)]
pub struct OwnRuns(Arc<dyn Fn(&RunMeta) -> bool + Send + Sync>);

impl OwnRuns {
    /// The predicate of this function.
    pub fn new(is_own: impl Fn(&RunMeta) -> bool + Send + Sync + 'static) -> OwnRuns {
        OwnRuns(Arc::new(is_own))
    }

    /// Returns whether this run is one of them.
    pub fn has(&self, run: &RunMeta) -> bool {
        (self.0)(run)
    }
}

impl Default for OwnRuns {
    fn default() -> OwnRuns {
        OwnRuns::new(|_| false)
    }
}

impl fmt::Debug for OwnRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnRuns")
    }
}

/// The programs that may be executed in one folder.
#[derive(Clone, Debug)]
pub struct Trust {
    /// `true` if the user's setting allows every program.
    pub everything: bool,
    /// SHA-256 hashes of programs that the user has allowed.
    pub builds: BTreeSet<String>,
    /// The runs that the user has recorded.
    pub own: OwnRuns,
}

impl Trust {
    /// Returns whether the program of this run may be executed.
    pub fn covers(&self, run: &RunMeta) -> bool {
        self.everything || self.builds.contains(&run.build_id) || self.own.has(run)
    }

    /// The argument for the command line tool; `None` if the tool has to go by the user's own recordings.
    pub fn argument(&self) -> Option<String> {
        let builds: Vec<&str> = self.builds.iter().map(String::as_str).collect();
        match (self.everything, builds.as_slice()) {
            (true, _) => Some("--trust".to_owned()),
            (false, []) => None,
            (false, builds) => Some(format!("--trust={}", builds.join(","))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_trusted_and_no_other() {
        let run = |build: &str| RunMeta {
            build_id: build.to_owned(),
            ..RunMeta::default()
        };
        let mut trust = Trust {
            everything: false,
            builds: BTreeSet::new(),
            own: OwnRuns::new(|run| run.build_id == "own"),
        };
        assert_eq!(
            (trust.covers(&run("own")), trust.covers(&run("ab"))),
            (true, false)
        );
        assert_eq!(trust.argument(), None);
        trust.builds.extend(["ab".to_owned(), "cd".to_owned()]);
        assert!(trust.covers(&run("ab")) && !trust.covers(&run("ef")));
        assert_eq!(trust.argument().as_deref(), Some("--trust=ab,cd"));
        trust.everything = true;
        assert!(trust.covers(&run("ef")));
        assert_eq!(trust.argument().as_deref(), Some("--trust"));
    }
}
