//! A folder of its own for a test, in which `unsnarl` and other commands run.

use crate::binary;
use anyhow::{Context, Result, ensure};
use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use unsnarl_core::Explanation;
use unsnarl_recorder::permit::Permit;

/// Folder of the runs unless `--out` names another.
pub const RUNS: &str = ".unsnarl/runs";

/// The permission of a test to run the programs that it has built itself.
pub fn permit(program: &Path, command: &[OsString], directory: &Path) -> Permit {
    Permit::named(program, command, directory)
}

/// A folder, which vanishes with the value unless its path was given.
pub struct Workspace {
    folder: PathBuf,
    /// Removes it at the end.
    _temporary: Option<tempfile::TempDir>,
    /// The user's own folder of unsnarl, with data such as the record of recordings.
    state: tempfile::TempDir,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The command, for messages.
    pub command: String,
    /// Exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Workspace {
    /// A new, empty folder.
    pub fn new() -> Result<Workspace> {
        let temporary = tempfile::Builder::new().prefix("unsnarl-e2e-").tempdir()?;
        let workspace = Workspace::at(temporary.path())?;
        Ok(Workspace {
            _temporary: Some(temporary),
            ..workspace
        })
    }

    /// This folder, emptied: paths in runs are the same whenever they are recorded there.
    pub fn emptied(folder: &Path) -> Result<Workspace> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        Workspace::at(folder)
    }

    fn at(folder: &Path) -> Result<Workspace> {
        let state = tempfile::Builder::new()
            .prefix("unsnarl-e2e-state-")
            .tempdir()?;
        Ok(Workspace {
            folder: folder.to_path_buf(),
            _temporary: None,
            state,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Writes a file, with the folders above it.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.path().join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// `unsnarl` in this folder, not started yet.
    pub fn unsnarl_command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Command> {
        let mut command = Command::new(binary::unsnarl()?);
        command.args(arguments);
        self.prepare(&mut command);
        Ok(command)
    }

    /// `unsnarl-fleet` in this folder, not started yet.
    pub fn fleet_command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Command> {
        let mut command = Command::new(binary::unsnarl()?.with_file_name("unsnarl-fleet"));
        command.args(arguments);
        self.prepare(&mut command);
        Ok(command)
    }

    /// Runs `unsnarl` with these arguments to its end.
    pub fn unsnarl<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Finished> {
        Finished::of(self.unsnarl_command(arguments)?)
    }

    /// `unsnarl record` of `program` with these options and a seed that is always the same.
    pub fn record(&self, options: &[&str], program: &str) -> Result<Finished> {
        let words = [&["record", "--seed", "1"], options, &["--", program]].concat();
        self.unsnarl(&words)
    }

    /// Runs any command to its end.
    pub fn run<S: AsRef<OsStr>>(&self, program: &str, arguments: &[S]) -> Result<Finished> {
        Finished::of(self.command(program, arguments))
    }

    /// Any command in this folder, not started yet. Build tools that the machine lacks are those that
    /// the set-up has installed.
    pub fn command<S: AsRef<OsStr>>(&self, program: &str, arguments: &[S]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments);
        command.env("PATH", search_path());
        self.prepare(&mut command);
        command
    }

    /// Runs a command of a build, in which the compilers are ours.
    pub fn build<S: AsRef<OsStr>>(&self, program: &str, arguments: &[S]) -> Result<Finished> {
        let unsnarl = binary::unsnarl()?.display();
        let mut command = self.command(program, arguments);
        command
            .env("CC", format!("{unsnarl} cc"))
            .env("CXX", format!("{unsnarl} c++"));
        Finished::of(command)
    }

    /// Copies a folder of the project with its content.
    pub fn copy(&self, from: &Path, to: &str) -> Result<()> {
        let from = from.to_string_lossy();
        self.run("cp", &["-R", &from, to])?.exits(0)?;
        Ok(())
    }

    /// Sets the same environment for every command: this folder, no colours, no variables of cargo's.
    fn prepare(&self, command: &mut Command) {
        command
            .current_dir(self.path())
            .env("XDG_STATE_HOME", self.state.path())
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8");
        for variable in [
            "MAKEFLAGS",
            "MAKELEVEL",
            "CFLAGS",
            "CXXFLAGS",
            "LDFLAGS",
            "CC",
            "CXX",
        ] {
            command.env_remove(variable);
        }
    }

    /// `unsnarl explain --format json`, and its explanations in the order of their ranks.
    pub fn explain(&self) -> Result<(Finished, Vec<Explanation>)> {
        self.explain_with(&[])
    }

    /// As [`Workspace::explain`], with more options.
    pub fn explain_with(&self, options: &[&str]) -> Result<(Finished, Vec<Explanation>)> {
        let words = [&["explain", "--format", "json"], options].concat();
        let finished = self.unsnarl(&words)?;
        let explanations = finished.explanations()?;
        Ok((finished, explanations))
    }

    /// Names of the run files, sorted.
    pub fn runs(&self) -> Result<Vec<String>> {
        self.runs_in(RUNS)
    }

    /// Names of the run files in a folder of this one, sorted; none when it is not there.
    pub fn runs_in(&self, folder: &str) -> Result<Vec<String>> {
        let folder = self.path().join(folder);
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let mut runs = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".arrow") && !name.starts_with('.') {
                runs.push(name);
            }
        }
        runs.sort();
        Ok(runs)
    }

    /// Names of the run files with this outcome, sorted.
    pub fn runs_that(&self, outcome: &str) -> Result<Vec<String>> {
        let mut runs = self.runs()?;
        runs.retain(|name| name.starts_with(&format!("{outcome}-")));
        Ok(runs)
    }

    /// Path of a run file, relative to the folder.
    pub fn run_path(&self, name: &str) -> String {
        format!("{RUNS}/{name}")
    }
}

/// `PATH`, and behind it the folder that `cargo xtask setup` installs build tools into.
pub fn search_path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let cache = env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
    let mut search = path;
    search.push(":");
    search.push(cache.join("unsnarl/tools/bin"));
    search
}

impl Finished {
    /// Runs a command to its end.
    pub fn of(mut command: Command) -> Result<Finished> {
        let words: Vec<_> = std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let text = words.join(" ");
        let output = command
            .output()
            .with_context(|| format!("cannot start {text}"))?;
        Ok(Finished {
            command: text,
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Checks that the command has ended with this status.
    pub fn exits(self, status: i32) -> Result<Finished> {
        ensure!(
            self.status == Some(status),
            "expected exit status {status}:\n{self}"
        );
        Ok(self)
    }

    /// Checks that its messages contain all of these texts, whatever the case of the letters and wherever lines are
    /// broken.
    pub fn says(self, texts: &[&str]) -> Result<Finished> {
        let words = |text: &str| -> Vec<String> {
            let text = text.to_lowercase();
            text.split_whitespace().map(str::to_owned).collect()
        };
        let said = words(&format!("{}\n{}", self.stdout, self.stderr)).join(" ");
        for text in texts {
            let wanted = words(text).join(" ");
            ensure!(said.contains(&wanted), "expected `{text}` in:\n{self}");
        }
        Ok(self)
    }

    /// The explanations in the JSON on standard output.
    pub fn explanations(&self) -> Result<Vec<Explanation>> {
        let json: serde_json::Value = serde_json::from_str(&self.stdout)
            .with_context(|| format!("no JSON on standard output:\n{self}"))?;
        let list = json
            .get("explanations")
            .with_context(|| format!("no `explanations` in the JSON:\n{self}"))?;
        Ok(serde_json::from_value(list.clone())?)
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "$ {}", self.command)?;
        match self.status {
            Some(status) => writeln!(f, "exit status {status}")?,
            None => writeln!(f, "ended by a signal")?,
        }
        writeln!(
            f,
            "--- stdout\n{}--- stderr\n{}",
            shortened(&self.stdout),
            shortened(&self.stderr)
        )
    }
}

/// The beginning and the end of a long text, enough to see what went wrong.
fn shortened(text: &str) -> String {
    const MOST: usize = 6000;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!(
            "{}\n... ({} bytes)\n",
            text.get(..end).unwrap_or(""),
            text.len()
        ),
        None => text.to_owned(),
    }
}
