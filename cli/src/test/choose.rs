//! The suite that the command line names.

use super::{TestArguments, check_cases};
use crate::record;
use anyhow::{Context, Result, bail};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};
use unsnarl_recorder::suite::{Suite, discover};

/// Separates arguments for the program from the names of cases.
const SEPARATOR: &str = "--";

/// Finds the cases that the user wants to be recorded.
pub fn suite(arguments: &TestArguments, directory: &Path) -> Result<Suite> {
    let build = record::built_for(arguments.strategy);
    let mut words = arguments.words.splitn(2, |word| word == SEPARATOR);
    let named = words.next().unwrap_or_default();
    let own = words.next().unwrap_or_default();
    let (suite, names) = match (&arguments.build_dir, named.split_first()) {
        (None, Some((program, names))) => {
            let command = [std::slice::from_ref(program), own].concat();
            (discover::of_program(build, &command, directory), names)
        }
        (_, _) if !own.is_empty() => {
            bail!("only a program that is named by itself can be given arguments")
        }
        (folder, _) => {
            let folder = folder.clone().map_or_else(|| usual_folder(directory), Ok);
            let folder = directory.join(folder?);
            (discover::of_build_folder(build, &folder), named)
        }
    };
    let mut suite = suite?;
    let patterns = patterns(names)?;
    suite.select(&patterns);
    check_cases(&suite, &patterns)?;
    Ok(suite)
}

/// The build folder if neither a program nor a folder is named.
fn usual_folder(directory: &Path) -> Result<PathBuf> {
    let mut usual = [".", "build", "builddir"]
        .into_iter()
        .map(|name| directory.join(name));
    usual.find(|folder| discover::is_build_folder(folder)).context(
        "neither this folder nor ./build has tests of CTest or Meson\n  next: name a test program, as in \
         unsnarl test -- ./tests, or a build folder with --build-dir",
    )
}

/// Names of cases, or patterns for them.
fn patterns(names: &[OsString]) -> Result<Vec<String>> {
    let pattern = |name: &OsString| {
        let name = name.to_string_lossy().into_owned();
        match name.starts_with('-') {
            true => bail!(
                "{name} is no name of a test case\n  next: put arguments for the program behind another --, as in \
                 unsnarl test -- ./tests -- {name}"
            ),
            false => Ok(name),
        }
    };
    names.iter().map(pattern).collect()
}
