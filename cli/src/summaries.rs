//! `record --summaries`: hands the files of kept runs to `unsnarl-fleet`, which writes a summary beside each. It is a program
//! of its own, so that what a fleet needs is not linked into this one.

use crate::message;
use anyhow::{Context, Result};
use std::{
    env,
    ffi::OsString,
    io::Write,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
};

/// Name of the program.
const FLEET: &str = "unsnarl-fleet";

/// The program while it waits for names of run files.
pub struct Summarizer {
    child: Child,
    /// It could not be given a name: it has ended.
    is_lost: bool,
}

impl Summarizer {
    /// Starts it.
    pub fn start() -> Result<Summarizer> {
        let mut command = Command::new(program());
        command.args(["summarize", "-"]).stdin(Stdio::piped());
        // An interruption from the terminal ends the campaign, whose last runs are still to be summarized.
        let child = command.process_group(0).spawn().with_context(|| {
            format!("cannot start {FLEET}, which writes summaries\n  next: put it beside unsnarl or on the PATH (cargo install --path fleet)")
        })?;
        Ok(Summarizer {
            child,
            is_lost: false,
        })
    }

    /// Hands over a run file that is whole.
    pub fn hand_over(&mut self, file: &Path) {
        let line = [file.as_os_str().as_bytes(), b"\n"].concat();
        let stdin = self.child.stdin.as_mut();
        let written = stdin.map(|stdin| stdin.write_all(&line));
        self.is_lost |= !matches!(written, Some(Ok(())));
    }

    /// Waits for the last summary.
    pub fn finish(mut self) {
        drop(self.child.stdin.take());
        let ended = self.child.wait();
        let is_done = ended.is_ok_and(|status| status.success());
        if self.is_lost || !is_done {
            message::warning(&format!(
                "some runs have no summary\n  next: {FLEET} summarize, with the folder of the runs"
            ));
        }
    }
}

/// The program beside this one, or the one on the `PATH`.
fn program() -> OsString {
    let own = env::current_exe().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join(FLEET)));
    let beside = beside.filter(|path| path.is_file());
    beside.map_or_else(|| FLEET.into(), Into::into)
}
