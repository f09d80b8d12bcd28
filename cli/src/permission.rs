//! The user's decision about programs that others may have recorded: an option, and a question on the terminal.

use crate::message::visible;
use clap::Args;
use std::{
    io::{self, BufRead, IsTerminal, Write},
    path::PathBuf,
};
use unsnarl_lab::permission::{PermissionQuestion, UserDecision};
use unsnarl_recorder::permit::{ExecutionInputs, UserTrust};
use unsnarl_trace::shell;

/// The value that `--trust` without one stands for.
const EVERYTHING: &str = "all";

/// The user's decision about programs that others may have recorded.
#[derive(Args, Clone, Debug)]
pub struct Trusting {
    /// Execute the program of a run or schedule although you have not recorded it on this machine
    ///
    /// With a value, only programs whose files have one of these SHA-256 hashes. Without --trust, what you have not
    /// recorded yourself is executed only after a question on the terminal.
    #[arg(long, value_name = "HASHES", num_args = 0..=1, require_equals = true, default_missing_value = EVERYTHING)]
    trust: Option<String>,
}

impl Trusting {
    /// The decision, with a question on the terminal if there is one.
    pub fn word(&self) -> UserDecision {
        let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
        UserDecision {
            trust: self.trust(),
            ask: can_ask.then_some(ask as PermissionQuestion),
        }
    }

    /// The decision in the recorder's form.
    pub fn trust(&self) -> UserTrust {
        match self.trust.as_deref() {
            None => UserTrust::Own,
            Some(EVERYTHING) => UserTrust::All,
            Some(hashes) => UserTrust::Builds(hashes.split(',').map(str::to_owned).collect()),
        }
    }
}

/// Asks the user; every answer but a yes is a no.
fn ask(deed: &ExecutionInputs) -> io::Result<bool> {
    let program: PathBuf = deed.program.components().collect();
    let by = deed.parent.as_ref();
    let by = by.map_or_else(String::new, |parent| {
        format!(" by {} as it is now", parent.path.display())
    });
    let question = format!(
        "You have not recorded {}{by} on this machine.\nExecute it as `{}` in {}? [y/N] ",
        program.display(),
        shell::command(&deed.command),
        deed.directory.display()
    );
    let mut errors = anstream::stderr();
    write!(errors, "{}", visible(&question))?;
    errors.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
