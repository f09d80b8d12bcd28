//! Cases whose code has changed since they were recorded last.

use super::{
    CaseReport, CaseState, CaseVerdict, Suite, TestCase,
    functions::{ProgramFunctions, ShortHash},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs, io,
    path::{Path, PathBuf},
};
use unsnarl_trace::{RunFolder, files::read_regular};

/// Folder and name of the file, beside the runs.
const FOLDER: &str = "tests";
const FILE: &str = "functions.json";
/// The folder of a project that unsnarl keeps its files in.
const HOME: &str = ".unsnarl";
/// Upper bound for its size.
const MOST: u64 = 256 << 20;

/// The functions that cases have executed when they were recorded last, with hashes of their code.
#[derive(Default, Serialize, Deserialize)]
pub struct ExecutedFunctions {
    /// Pairs of name and code, by program and name of the case.
    cases: BTreeMap<String, BTreeSet<(ShortHash, ShortHash)>>,
}

/// Functions of programs that were read before.
#[derive(Default)]
struct ReadPrograms(HashMap<PathBuf, Option<ProgramFunctions>>);

impl ReadPrograms {
    fn of(&mut self, case: &TestCase) -> Option<&ProgramFunctions> {
        let CaseState::Ready(program) = &case.state else {
            return None;
        };
        let path = program.path().to_owned();
        let known = self
            .0
            .entry(path)
            .or_insert_with_key(|path| ProgramFunctions::of(path));
        known.as_ref()
    }
}

impl ExecutedFunctions {
    /// Reads what is known of the cases whose runs go into a folder. Nothing is known if the file cannot be read: then all
    /// cases count as changed.
    pub fn read(runs: &Path) -> ExecutedFunctions {
        let bytes = read_regular(&file(runs), MOST).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Puts the cases first that are new, or execute a function whose code is not what it was. Returns their number.
    pub fn put_changed_first(&self, suite: &mut Suite) -> usize {
        let mut programs = ReadPrograms::default();
        let mut is_changed = |case: &TestCase| {
            let (known, functions) = (self.cases.get(&key(case)), programs.of(case));
            match (known, functions) {
                (Some(known), Some(functions)) => !known.iter().all(|one| functions.has(one)),
                (None, Some(_)) => true,
                (_, None) => false,
            }
        };
        let cases = std::mem::take(&mut suite.cases);
        let (changed, same): (Vec<_>, Vec<_>) = cases.into_iter().partition(&mut is_changed);
        let count = changed.len();
        suite.cases = changed;
        suite.cases.extend(same);
        count
    }

    /// Notes the functions of the cases that were recorded. Others keep what is known of them.
    pub fn note(&mut self, suite: &Suite, reports: &[CaseReport]) {
        let mut programs = ReadPrograms::default();
        for (case, report) in suite.cases.iter().zip(reports) {
            let has_runs = matches!(report.verdict, CaseVerdict::Passed | CaseVerdict::Failed(_));
            if let Some(functions) = programs.of(case).filter(|_| has_runs) {
                self.cases.insert(key(case), functions.at(&report.code));
            }
        }
    }

    /// Writes what is known beside a folder of runs.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, runs: &Path) -> io::Result<()> {
        let file = file(runs);
        let folder = file.parent().unwrap_or(Path::new(""));
        let home = folder.parent().filter(|home| !home.exists());
        // A folder of the user's own is none of ours to keep out of version control.
        let home = home.filter(|home| home.ends_with(HOME)).map(Path::to_owned);
        fs::create_dir_all(folder)?;
        if let Some(home) = home {
            fs::write(home.join(".gitignore"), "*\n")?;
        }
        let beside = file.with_extension(std::process::id().to_string());
        fs::write(&beside, serde_json::to_vec(self)?)?;
        fs::rename(beside, file)
    }
}

fn file(runs: &Path) -> PathBuf {
    RunFolder::new(runs).beside(FOLDER).path().join(FILE)
}

fn key(case: &TestCase) -> String {
    format!("{}: {}", case.suite, case.name)
}
