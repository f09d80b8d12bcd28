//! Recording of projects as Debian ships them: `tests/debian` declares them, the benchmarks do the work.

use crate::shell::{cargo, run as shell_run};
use anyhow::Result;

/// Measures projects, or judges what is found and said of the bugs that are put into them. An optimized build, since the time of the
/// recorder itself is measured.
pub fn run(names: &[String], option: Option<&str>) -> Result<()> {
    let words = ["run", "--release", "--package", "unsnarl-e2e", "--bin"];
    let mut command = cargo(&[&words[..], &["bench", "--", "real"]].concat());
    command.args(option).args(names);
    shell_run(command)
}
