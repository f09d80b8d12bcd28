//! The tests of a CMake build folder, as CTest lists them.

use super::{CaseState, SuiteError, discover::TestCommand, listing};
use crate::{launch::Given, wrapper::compiler::in_path};
use serde::Deserialize;
use serde_json::Value;
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// Description of the tests in a build folder.
const FILE: &str = "CTestTestfile.cmake";

/// The listing, version 1.
#[derive(Deserialize)]
struct CtestListing {
    tests: Vec<CtestTest>,
}

#[derive(Deserialize)]
struct CtestTest {
    name: String,
    /// Not there when the program has not been built.
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    properties: Vec<CtestProperty>,
}

#[derive(Deserialize)]
struct CtestProperty {
    name: String,
    value: Value,
}

/// Properties that change the meaning of a test's end, or that need other tests, in ways that are not followed.
const NOT_FOLLOWED: [(&str, &str); 4] = [
    (
        "WILL_FAIL",
        "it is to fail (WILL_FAIL), so that a failing run would say nothing",
    ),
    (
        "PASS_REGULAR_EXPRESSION",
        "it passes by what it prints (PASS_REGULAR_EXPRESSION), not by its exit status",
    ),
    (
        "FIXTURES_REQUIRED",
        "it needs other tests that prepare something (FIXTURES_REQUIRED)",
    ),
    (
        "ENVIRONMENT_MODIFICATION",
        "it changes variables of its environment (ENVIRONMENT_MODIFICATION)",
    ),
];

/// Returns whether this is a build folder with tests of CTest.
pub(super) fn is_build_folder(folder: &Path) -> bool {
    folder.join(FILE).is_file()
}

/// The commands of its tests.
pub(super) fn commands(folder: &Path) -> Result<Vec<TestCommand>, SuiteError> {
    let command = [program(folder), "--show-only=json-v1".into()];
    let (listing, program) = listing::run(&command, folder, &Given::new())?;
    parse(&listing.stdout, folder).map_err(|error| SuiteError::Listing {
        program,
        why: match listing.stderr.lines().next() {
            Some(line) => line.to_owned(),
            None => error.to_string(),
        },
    })
}

/// `ctest` in the search path, or the one of the CMake that has made the folder.
fn program(folder: &Path) -> OsString {
    let name = || OsString::from("ctest");
    if in_path("ctest").is_some() {
        return name();
    }
    let cache = fs::read_to_string(folder.join("CMakeCache.txt")).unwrap_or_default();
    let line = cache
        .lines()
        .find_map(|line| line.strip_prefix("CMAKE_CTEST_COMMAND:INTERNAL="));
    line.map_or_else(name, OsString::from)
}

fn parse(listing: &str, folder: &Path) -> serde_json::Result<Vec<TestCommand>> {
    let listing: CtestListing = serde_json::from_str(listing)?;
    let tests = listing.tests.into_iter();
    Ok(tests.map(|test| command(test, folder)).collect())
}

fn command(test: CtestTest, folder: &Path) -> TestCommand {
    let directory = test.text("WORKING_DIRECTORY").map(PathBuf::from);
    let variables = test.texts("ENVIRONMENT").into_iter();
    let environment = variables.filter_map(|variable| {
        let (name, value) = variable.split_once('=')?;
        Some((name.into(), Some(value.into())))
    });
    let skipped = test.property("SKIP_RETURN_CODE").and_then(Value::as_u64);
    let skipped = skipped.and_then(|status| u8::try_from(status).ok());
    TestCommand {
        state: test.state(),
        directory: directory.unwrap_or_else(|| folder.to_owned()),
        environment: environment.collect(),
        expected_exits: skipped.map_or_else(Vec::new, |status| vec![0, status]),
        command: test.command.into_iter().map(OsString::from).collect(),
        name: test.name,
    }
}

impl CtestTest {
    fn property(&self, name: &str) -> Option<&Value> {
        let mut properties = self.properties.iter();
        properties
            .find(|property| property.name == name)
            .map(|property| &property.value)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.property(name)?.as_str()
    }

    /// The values of a property that is a list.
    fn texts(&self, name: &str) -> Vec<&str> {
        let values = self.property(name).and_then(Value::as_array);
        values
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// The reason why the test is not executed, if there is one.
    fn state(&self) -> Option<CaseState> {
        let is_set = |name: &str| {
            self.property(name)
                .is_some_and(|value| *value != Value::Bool(false))
        };
        if is_set("DISABLED") {
            return Some(CaseState::Disabled);
        }
        let why = NOT_FOLLOWED.iter().find(|(name, _)| is_set(name));
        let why = why.map(|(_, why)| (*why).to_owned());
        let unbuilt = || "its program has not been built".to_owned();
        why.or_else(|| self.command.is_empty().then(unbuilt))
            .map(CaseState::NotRecordable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of what CTest 4.4 prints.
    const PRINTED: &str = r#"{"kind": "ctestInfo", "tests": [
        {"command": ["/b/ut", "--gtest_filter=Queue.Empty"], "name": "Queue.Empty", "properties": [
            {"name": "WORKING_DIRECTORY", "value": "/b/sub"},
            {"name": "ENVIRONMENT", "value": ["A=1", "B=2=3"]},
            {"name": "SKIP_RETURN_CODE", "value": 77}]},
        {"command": ["/b/ut"], "name": "off", "properties": [{"name": "DISABLED", "value": true}]},
        {"command": ["/b/ut"], "name": "fails", "properties": [{"name": "WILL_FAIL", "value": true}]},
        {"name": "new", "properties": []}], "version": {"major": 1, "minor": 0}}"#;

    #[test]
    fn properties_of_tests() {
        let commands = parse(PRINTED, Path::new("/b")).unwrap();
        let [first, off, fails, new] = commands.as_slice() else {
            panic!("four tests")
        };
        assert_eq!(first.directory, Path::new("/b/sub"));
        assert_eq!(first.expected_exits, [0, 77]);
        assert_eq!(
            first.environment.get(&OsString::from("B")),
            Some(&Some("2=3".into()))
        );
        assert!(first.state.is_none() && off.directory == Path::new("/b"));
        assert!(matches!(off.state, Some(CaseState::Disabled)));
        for test in [fails, new] {
            assert!(
                matches!(test.state, Some(CaseState::NotRecordable(_))),
                "{}",
                test.name
            );
        }
    }
}
