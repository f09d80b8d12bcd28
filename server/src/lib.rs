//! The language server of unsnarl.

use std::{io, process::ExitCode};

/// Serves one editor over the process's standard input and output until it says `exit` or closes them.
///
/// The status is what the protocol asks for: 0 when `shutdown` came before the end, 1 otherwise.
pub fn serve_stdio() -> io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ending = runtime.block_on(serve(tokio::io::stdin(), tokio::io::stdout()));
    // Reading standard input cannot be interrupted: don't wait for the thread that does it.
    runtime.shutdown_background();
    Ok(ending.exit_code())
}

/// Serves one client over any pair of streams.
pub async fn serve<I, O>(input: I, output: O) -> Ending
where
    I: tokio::io::AsyncRead + Unpin,
    O: tokio::io::AsyncWrite,
{
    drop((input, output));
    Ending::Abrupt
}

/// How a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// `shutdown`, then `exit`.
    Orderly,
    /// `exit` or the end of input without `shutdown`.
    Abrupt,
}

impl Ending {
    /// The status of the process that the protocol asks for.
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Orderly => ExitCode::SUCCESS,
            Self::Abrupt => ExitCode::FAILURE,
        }
    }
}
