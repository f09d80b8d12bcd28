//! Failing runs of older builds: a case that passes now is recorded once, so that the newest build has runs to be told of.

use super::TestCase;
use crate::assemble::ProgramDebugInfo;
use rustc_hash::FxHashMap;
use std::path::Path;
use unsnarl_trace::{RunFolder, read::read_meta};

/// The builds that have failing runs in a folder, by the command that was recorded.
#[derive(Default)]
pub(super) struct FailingBuilds {
    by_command: FxHashMap<Vec<String>, Vec<String>>,
}

impl FailingBuilds {
    /// Those of a folder. Files that cannot be read are passed over: the campaign reports them where they matter.
    pub fn read(folder: &Path) -> FailingBuilds {
        let mut failing = FailingBuilds::default();
        let files = RunFolder::new(folder).files().unwrap_or_default();
        for meta in files.iter().filter_map(|file| read_meta(&file.path).ok()) {
            if meta.outcome.is_failure() {
                let builds = failing.by_command.entry(meta.command).or_default();
                builds.push(meta.build_id);
            }
        }
        failing
    }

    /// Returns whether a case has failing runs, and none of this build.
    pub fn are_older(&self, case: &TestCase, program: &ProgramDebugInfo) -> bool {
        let words = case.command.iter();
        let command: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let builds = self.by_command.get(&command);
        builds.is_some_and(|builds| !builds.iter().any(|build| build == program.build_id()))
    }
}
