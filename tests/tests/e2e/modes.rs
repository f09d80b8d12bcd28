//! Programs under `runtime/` whose argument says what they do.

use anyhow::{Context, Result, ensure};
use std::{fs, path::Path};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace, program::compile_with};

/// A program that has been compiled for recording.
pub struct Modes {
    pub workspace: Workspace,
}

impl Modes {
    /// Compiles `runtime/SOURCE`.
    pub fn compile(source: &str, compiler: TestedCompiler, options: &[&str]) -> Result<Modes> {
        let workspace = Workspace::new()?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
        workspace.write(source, &fs::read_to_string(folder.join(source))?)?;
        compile_with(&workspace, Path::new(source), "prog", compiler, options)?;
        Ok(Modes { workspace })
    }

    /// Unrecorded, the program does this.
    pub fn plain(&self, mode: &str) -> Result<Finished> {
        self.workspace.run("./prog", &[mode])
    }

    /// Records it so often under a strategy.
    pub fn record(&self, mode: &str, strategy: &str, runs: &str) -> Result<Finished> {
        let start = ["record", "-n", runs, "--seed", "3", "--timeout", "20"];
        let words = [&start[..], &["--strategy", strategy, "--", "./prog", mode]].concat();
        self.workspace.unsnarl(&words)
    }

    /// The last run in the folder can be repeated event by event.
    pub fn repeats(&self) -> Result<Finished> {
        let runs = self.workspace.runs()?;
        let last = runs.last().context("no run was kept")?;
        let words = ["replay", &self.workspace.run_path(last), "-n", "5"];
        self.workspace.unsnarl(&words)
    }

    /// Passes as it is and in every recorded run, and each of those can be repeated. Returns what the
    /// last recording said.
    pub fn passes(&self, mode: &str) -> Result<Finished> {
        self.plain(mode)?.exits(0)?;
        for strategy in ["random", "pct"] {
            self.record(mode, strategy, "8")?.exits(0)?;
        }
        let last = self.record(mode, "sequential", "1")?.exits(0)?;
        let said = self.repeats()?.exits(0)?;
        ensure!(!said.stdout.contains("left the recorded one"), "{said}");
        self.forget()?;
        Ok(last)
    }

    /// Removes the runs.
    pub fn forget(&self) -> Result<()> {
        let folder = self.workspace.path().join(".unsnarl");
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())
    }
}
