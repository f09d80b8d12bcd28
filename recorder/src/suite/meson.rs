//! The tests of a Meson build folder, which Meson keeps in a file there.

use super::{SuiteError, discover::TestCommand};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};
use unsnarl_trace::files::read_regular;

/// The list of tests, relative to the build folder.
const LIST: &str = "meson-info/intro-tests.json";
/// Upper bound for its size.
const MOST: u64 = 64 << 20;

/// Part of a test's entry in the list.
#[derive(Deserialize)]
struct MesonTest {
    name: String,
    cmd: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    workdir: Option<PathBuf>,
}

/// Returns whether this is a build folder of Meson.
pub(super) fn is_build_folder(folder: &Path) -> bool {
    folder.join(LIST).is_file()
}

/// The commands of its tests.
pub(super) fn commands(folder: &Path) -> Result<Vec<TestCommand>, SuiteError> {
    let file = folder.join(LIST);
    let unreadable = |why: String| SuiteError::Listing {
        program: file.display().to_string(),
        why,
    };
    let bytes = read_regular(&file, MOST).map_err(|error| unreadable(error.to_string()))?;
    parse(&bytes, folder).map_err(|error| unreadable(error.to_string()))
}

fn parse(list: &[u8], folder: &Path) -> serde_json::Result<Vec<TestCommand>> {
    let tests: Vec<MesonTest> = serde_json::from_slice(list)?;
    let command = |test: MesonTest| TestCommand {
        name: test.name,
        command: test.cmd.into_iter().map(OsString::from).collect(),
        directory: test.workdir.unwrap_or_else(|| folder.to_owned()),
        environment: test
            .env
            .into_iter()
            .map(|(name, value)| (name.into(), Some(value.into())))
            .collect(),
        expected_exits: Vec::new(),
        state: None,
    };
    Ok(tests.into_iter().map(command).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_as_meson_1_12_lists_them() {
        let list = r#"[{"cmd": ["/b/ut", "x"], "env": {"A": "1"}, "name": "a", "workdir": null, "timeout": 5,
            "suite": ["x:fast"], "is_parallel": true, "priority": 0, "protocol": "exitcode", "depends": ["ut@exe"],
            "extra_paths": []}, {"cmd": ["/b/ut"], "env": {}, "name": "b", "workdir": "/tmp", "timeout": 30,
            "suite": ["x"], "is_parallel": true, "priority": 0, "protocol": "exitcode", "depends": [], "extra_paths": []}]"#;
        let commands = parse(list.as_bytes(), Path::new("/b")).unwrap();
        let [first, second] = commands.as_slice() else {
            panic!("two tests")
        };
        assert_eq!(
            (first.name.as_str(), first.directory.as_path()),
            ("a", Path::new("/b"))
        );
        assert_eq!(first.command, ["/b/ut", "x"]);
        assert_eq!(
            first.environment.get(&OsString::from("A")),
            Some(&Some("1".into()))
        );
        assert_eq!(second.directory, Path::new("/tmp"));
    }
}
