//! `unsnarl replay RUN --gdb`.

use crate::{debugged, message};
use anyhow::Result;
use std::{ffi::OsString, path::Path, process::ExitCode, sync::Arc};
use unsnarl_recorder::replay::{
    ReplayOptions,
    debug::{Debugged, ProgramOutput, Session, debug},
    registers,
};
use unsnarl_trace::Run;

/// Starts gdb on the program that follows the run.
pub fn run(
    path: &Path,
    run: Arc<Run>,
    options: &ReplayOptions,
    arguments: Vec<OsString>,
) -> Result<ExitCode> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let explanations = debugged::explanations(path, &name, &run);
    let first = explanations.first();
    let session = Session {
        steps: debugged::steps(first.map_or(&[], |explanation| &explanation.steps)),
        name: name.into_owned(),
        arguments,
        output: ProgramOutput::Inherited,
    };
    if let Some(limit) = registers::limit() {
        message::note(&limit);
    }
    let debugged = debug(&run, options, &session)?;
    report(&debugged);
    let differs = debugged.difference.is_some();
    Ok(match (differs, debugged.status.code()) {
        (true, _) => ExitCode::FAILURE,
        (false, Some(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        (false, None) => ExitCode::FAILURE,
    })
}

fn report(debugged: &Debugged) {
    match &debugged.difference {
        Some(difference) => {
            outln!(
                "the program left the recorded run at event {}:",
                difference.event
            );
            outln!("  recorded  {}", difference.recorded);
            outln!("  debugged  {}", difference.replayed);
        }
        None if !debugged.has_run => message::note("the program was not run"),
        None if debugged.has_ended => outln!("the program repeated the recorded run"),
        None => outln!("the program repeated the recorded run as far as it came"),
    }
}
