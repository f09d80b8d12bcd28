//! The golden corpora under `tests/corpora`.

use crate::shell::{self, cargo, run as shell_run};
use anyhow::{Result, ensure};

/// Records the corpora of the named programs (of all when none is named) again, or accepts what is said of them all.
pub fn run(names: &[String], answers: bool) -> Result<()> {
    if answers {
        ensure!(
            names.is_empty(),
            "--answers is for all corpora\n  next: leave the names out"
        );
        let mut test = cargo(&["test", "--package", "unsnarl-lab", "--test", "corpora"]);
        test.env("UPDATE_EXPECT", "1");
        return shell_run(test);
    }
    shell_run(cargo(&["build", "--package", "unsnarl"]))?;
    let mut record = cargo(&["run", "--package", "unsnarl-e2e", "--bin", "corpora", "--"]);
    record
        .args(names)
        .env("UNSNARL_BINARY", shell::target()?.join("debug/unsnarl"));
    shell_run(record)
}
