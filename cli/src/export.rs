//! `unsnarl export`.

use crate::{
    arguments::{Export, ExportFormat},
    message, replay,
};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeMap,
    io::{self, Write},
    process::ExitCode,
};
use unsnarl_trace::{rapid, read_run};

/// Prints a run.
pub fn run(arguments: &Export) -> Result<ExitCode> {
    let path = replay::find(&arguments.run)?;
    let run = read_run(&path)?;
    if let Some(damage) = run.damage.first() {
        bail!("{} is damaged: {damage}", path.display());
    }
    match arguments.to {
        ExportFormat::Std => {
            let exported = rapid::export(&run);
            io::stdout()
                .write_all(exported.text.as_bytes())
                .context("cannot print the trace")?;
            tell(
                "written as a lock that is taken and given back at once",
                &exported.as_locks,
            );
            tell("left out, STD has no word for them", &exported.left_out);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(what: &str, kinds: &BTreeMap<&str, usize>) {
    if kinds.is_empty() {
        return;
    }
    let counts: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    message::note(&format!("{what}: {}", counts.join(", ")));
}
