//! Test cases, as they are found before anything is recorded.

use super::pattern::matches;
use crate::{assemble::ProgramDebugInfo, launch::Given, shard::Shard};
use std::{ffi::OsString, path::PathBuf, sync::Arc};

/// The cases of one or several test programs, in the order in which they were listed.
#[derive(Default)]
pub struct Suite {
    /// The cases.
    pub cases: Vec<TestCase>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// One test case: a command that executes it and nothing else.
pub struct TestCase {
    /// The program that it belongs to, or its name in CTest or Meson.
    pub suite: String,
    /// Its name, as the framework prints it.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Working directory.
    pub directory: PathBuf,
    /// Environment variables that its description sets.
    pub environment: Given,
    /// Exit statuses with which it passes; none stands for 0.
    pub expected_exits: Vec<u8>,
    /// The program to record, or the reason why there is nothing to record.
    pub state: CaseState,
}

/// The state of a case before it is recorded.
#[derive(Clone)]
pub enum CaseState {
    /// It can be recorded.
    Ready(Arc<ProgramDebugInfo>),
    /// Its author has disabled it.
    Disabled,
    /// It cannot be recorded, for this reason.
    NotRecordable(String),
}

impl Suite {
    /// Keeps the cases that one of the patterns selects; without patterns all of them.
    pub fn select(&mut self, patterns: &[String]) {
        let is_wanted =
            |case: &TestCase| patterns.iter().any(|pattern| matches(pattern, &case.name));
        if !patterns.is_empty() {
            self.cases.retain(is_wanted);
        }
    }

    /// Keeps the cases of a shard. The variables that told it are not for the programs.
    pub fn keep_shard(&mut self, shard: Shard, hidden: &Given) {
        let mut numbers = 0..;
        self.cases
            .retain(|_| numbers.next().is_some_and(|number| shard.owns(number)));
        for case in &mut self.cases {
            case.environment.extend(hidden.clone());
        }
    }

    /// Returns whether the cases come from several programs, so that their names alone do not tell them apart.
    pub fn has_several_programs(&self) -> bool {
        let mut suites = self.cases.iter().map(|case| &case.suite);
        let first = suites.next();
        suites.any(|suite| Some(suite) != first)
    }
}
