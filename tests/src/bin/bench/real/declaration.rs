//! Declarations of projects: `tests/debian/NAME.toml`.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::{collections::BTreeMap, env, fs, path::PathBuf};
use unsnarl_e2e::mutants::names::OwnNames;

/// A project of a Debian source package.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebianProject {
    /// Name of the declaration.
    #[serde(skip)]
    pub name: String,
    /// The source package.
    pub package: String,
    /// Binary packages that the build needs.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Commands of the shell in the unpacked folder. `CC`, `CXX`, `CFLAGS` and `CXXFLAGS` are set.
    pub build: Vec<String>,
    /// Variables of the environment of all programs.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Programs to record.
    #[serde(rename = "program")]
    pub programs: Vec<RecordedProgram>,
    /// A mistake to put in.
    pub bug: Option<InjectedBug>,
    /// Files to put mistakes into by rule.
    pub mutants: Option<MutatedFiles>,
}

/// A program of a project, with its arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RecordedProgram {
    /// Name in the table.
    pub name: String,
    /// The program and its arguments, relative to `folder`.
    pub command: Vec<String>,
    /// Folder to run it in, relative to the unpacked one.
    #[serde(default)]
    pub folder: PathBuf,
    /// Commands of the shell that make its input, in `folder`.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// Number of runs.
    pub runs: u64,
    /// Seconds that one run may take.
    pub timeout: u64,
    /// A client to start beside each run, a command of the shell.
    pub driver: Option<String>,
    /// Exit statuses that are no failures.
    #[serde(default)]
    pub expect_exit: Vec<u8>,
}

/// A mistake that is put into a project.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InjectedBug {
    /// The mistake, in a sentence.
    pub what: String,
    /// The file that the script `NAME.sed` changes.
    pub file: PathBuf,
    /// The program that shows it.
    pub program: String,
    /// Class of bug that the explanation should have, as `explain --format json` names it.
    pub class: String,
    /// Texts of lines, one of which the first explanation has to mark.
    pub lines: Vec<String>,
    /// Runs after which to give up.
    pub runs: u64,
}

/// Files whose code for threads is mutated.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MutatedFiles {
    /// The files, in the unpacked folder.
    pub files: Vec<PathBuf>,
    /// Functions that the programs execute, if it is not all of them.
    pub functions: Option<Vec<String>>,
    /// Names of the programs that are tried, in this order; all when there are none.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Commands of the shell that build the programs again.
    pub build: Vec<String>,
    /// Names of POSIX or C11 with the project's own for the same.
    #[serde(default)]
    pub names: OwnNames,
}

impl RecordedProgram {
    /// Returns whether an exit status is none of a failure.
    pub fn passes(&self, status: Option<i32>) -> bool {
        match self.expect_exit.as_slice() {
            [] => status == Some(0),
            expected => expected.iter().any(|&one| status == Some(one.into())),
        }
    }
}

impl DebianProject {
    /// Names of all declarations, sorted.
    pub fn names() -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder())? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                let stem = path.file_stem().context("a declaration has a name")?;
                names.push(stem.to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// The declaration of this name.
    pub fn open(name: &str) -> Result<DebianProject> {
        let path = folder().join(name).with_extension("toml");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut project: DebianProject =
            toml::from_str(&text).with_context(|| path.display().to_string())?;
        project.name = name.to_owned();
        Ok(project)
    }

    /// Sets the environment of all programs, which the recorder passes on to what it records.
    pub fn set_environment(&self) {
        for (name, value) in &self.environment {
            // SAFETY: no other thread is there: each campaign ends those that it has begun.
            unsafe { env::set_var(name, value) };
        }
    }

    /// The script that puts the mistake in.
    pub fn script(&self) -> PathBuf {
        folder().join(&self.name).with_extension("sed")
    }
}

fn folder() -> PathBuf {
    unsnarl_e2e::project().join("tests/debian")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::ensure;

    #[test]
    fn declarations_can_be_read_and_bugs_have_scripts() -> Result<()> {
        for name in DebianProject::names()? {
            let project = DebianProject::open(&name)?;
            let Some(bug) = &project.bug else {
                continue;
            };
            ensure!(project.script().exists(), "{name} has no script");
            let mut programs = project.programs.iter();
            ensure!(
                programs.any(|program| program.name == bug.program),
                "{name}"
            );
        }
        Ok(())
    }
}
