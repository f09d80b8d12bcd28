//! Finds the cases of test programs, by the listing of their framework, and of build folders, by CTest and Meson.

use super::{
    CaseState, Suite, SuiteError, TestCase, TestFramework, ctest,
    framework::ListedCase,
    listing::{self, Listing},
    meson,
};
use crate::{
    assemble::ProgramDebugInfo, launch::Given, shard::SHARDING_OF_TESTS, target,
    wrapper::build::BuildKind,
};
use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

/// A command that executes tests, as the user or a build system names it.
pub(super) struct TestCommand {
    /// Its name in the build system.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Working directory.
    pub directory: PathBuf,
    /// Environment variables that it sets.
    pub environment: Given,
    /// Exit statuses with which it passes; none stands for 0.
    pub expected_exits: Vec<u8>,
    /// The reason why it is not executed, if there is one.
    pub state: Option<CaseState>,
}

/// The cases of a program that a user has named.
///
/// # Errors
/// Fails if the program cannot be recorded, or does not list its cases.
pub fn of_program(
    build: BuildKind,
    command: &[OsString],
    directory: &Path,
) -> Result<Suite, SuiteError> {
    let program = command.first().cloned().unwrap_or_default();
    let named = TestCommand {
        name: file_name(&program),
        command: command.to_vec(),
        directory: directory.to_owned(),
        environment: Given::new(),
        expected_exits: Vec::new(),
        state: None,
    };
    let target = target::open_built_for(build, &program, directory)?;
    let mut suite = Suite {
        warnings: target.warnings,
        ..Suite::default()
    };
    suite.cases = cases_of(&named, &Arc::new(target.program))?;
    Ok(suite)
}

/// The cases of the tests that CTest or Meson know in a build folder. A test that is no program of `unsnarl cc` is a case
/// that cannot be recorded.
///
/// # Errors
/// Fails if the folder is none of these, or its tests are not listed.
pub fn of_build_folder(build: BuildKind, folder: &Path) -> Result<Suite, SuiteError> {
    let commands = if ctest::is_build_folder(folder) {
        ctest::commands(folder)?
    } else if meson::is_build_folder(folder) {
        meson::commands(folder)?
    } else {
        return Err(SuiteError::NoBuildFolder(folder.to_owned()));
    };
    let (mut suite, mut programs) = (Suite::default(), OpenPrograms::default());
    for command in commands {
        let cases = match (&command.state, programs.open(build, &command, &mut suite)) {
            (Some(state), _) => vec![whole(&command, state.clone())],
            (None, Err(why)) => vec![whole(&command, CaseState::NotRecordable(why))],
            (None, Ok(program)) => cases_of(&command, &program)?,
        };
        suite.cases.extend(cases);
    }
    Ok(suite)
}

/// Returns whether a folder is a build folder whose tests CTest or Meson know.
pub fn is_build_folder(folder: &Path) -> bool {
    ctest::is_build_folder(folder) || meson::is_build_folder(folder)
}

/// Programs that were opened, or the reasons why they cannot be.
#[derive(Default)]
struct OpenPrograms(HashMap<(OsString, PathBuf), Result<Arc<ProgramDebugInfo>, String>>);

impl OpenPrograms {
    fn open(
        &mut self,
        build: BuildKind,
        command: &TestCommand,
        suite: &mut Suite,
    ) -> Result<Arc<ProgramDebugInfo>, String> {
        let name = command.command.first().cloned().unwrap_or_default();
        let place = (name, command.directory.clone());
        let open = |(name, directory): &(OsString, PathBuf)| {
            let target = target::open_built_for(build, name, directory);
            let target = target.map_err(|error| error.to_string())?;
            suite.warnings.extend(target.warnings);
            Ok(Arc::new(target.program))
        };
        let opened = open_once(&mut self.0, place, open);
        opened.clone()
    }
}

/// The value for a key, which is made if it is not there.
fn open_once<K: std::hash::Hash + Eq, V>(
    map: &mut HashMap<K, V>,
    key: K,
    make: impl FnOnce(&K) -> V,
) -> &V {
    map.entry(key).or_insert_with_key(make)
}

/// The cases of a command: those of its framework, or the command itself.
fn cases_of(
    command: &TestCommand,
    program: &Arc<ProgramDebugInfo>,
) -> Result<Vec<TestCase>, SuiteError> {
    let ready = CaseState::Ready(program.clone());
    let Some(framework) = TestFramework::of(program.path()) else {
        return Ok(vec![whole(command, ready)]);
    };
    let arguments = command.command.get(1..).unwrap_or_default();
    if framework.has_selection(arguments) {
        let state = framework.obstacle().map_or(ready, not_recordable);
        return Ok(vec![whole(command, state)]);
    }
    let listed = listed(framework, command, program)?;
    let case = |listed: ListedCase| {
        let mut case = whole(command, ready.clone());
        case.command.extend(framework.selection(&listed.name));
        // It would count the one selected case as the first shard's, and pass in all others.
        let hidden = SHARDING_OF_TESTS.iter().map(|name| (name.into(), None));
        case.environment.extend(hidden);
        case.state = match framework.obstacle() {
            _ if listed.is_disabled => CaseState::Disabled,
            Some(obstacle) => not_recordable(obstacle),
            None => case.state,
        };
        case.suite.clone_from(&command.name);
        case.name = listed.name;
        case
    };
    Ok(listed.into_iter().map(case).collect())
}

fn not_recordable(why: &str) -> CaseState {
    CaseState::NotRecordable(why.to_owned())
}

/// Asks the program for its cases.
fn listed(
    framework: TestFramework,
    command: &TestCommand,
    program: &ProgramDebugInfo,
) -> Result<Vec<ListedCase>, SuiteError> {
    let mut last = (Listing::default(), String::new());
    for arguments in framework.listing_arguments() {
        let mut words = vec![program.path().as_os_str().to_owned()];
        words.extend(command.command.iter().skip(1).cloned());
        words.extend(arguments.iter().map(OsString::from));
        last = listing::run(&words, &command.directory, &command.environment)?;
        if let Some(cases) = framework.parse(&last.0) {
            return Ok(cases);
        }
    }
    let (listing, program) = last;
    let line = listing.stderr.lines().chain(listing.stdout.lines()).next();
    Err(SuiteError::Listing {
        program,
        why: format!(
            "it is not one of {}: {}",
            framework.name(),
            line.unwrap_or("it is empty")
        ),
    })
}

/// The command as a single case.
fn whole(command: &TestCommand, state: CaseState) -> TestCase {
    TestCase {
        suite: file_name(command.command.first().map_or(OsStr::new(""), |name| name)),
        name: command.name.clone(),
        command: command.command.clone(),
        directory: command.directory.clone(),
        environment: command.environment.clone(),
        expected_exits: command.expected_exits.clone(),
        state,
    }
}

fn file_name(program: &OsStr) -> String {
    let name = Path::new(program).file_name().unwrap_or(program);
    name.to_string_lossy().into_owned()
}
