//! The debug adapter: a recorded run under gdb, which follows its schedule, for an editor that speaks the Debug Adapter
//! Protocol.
//!
//! gdb is driven by its machine interface, always. gdb 14 and newer speak the protocol themselves (`gdb -i dap`), but
//! Debian 12 has gdb 13, and gdb's own adapter knows neither the steps of an explanation nor the way back to an earlier one.
//! One way that serves both is half of the code of two. The scripts that follow a schedule are the recorder's, the same as
//! under `unsnarl replay --gdb`; commands that gdb learns from Python need gdb 12.
//!
//! A step back starts the program over and runs to the earlier event. The schedule makes that exact.

mod bodies;
mod driver;
mod gdb;
mod link;
mod mi;
mod protocol;
mod requests;
mod session;
mod subject;

pub use requests::{ChosenExplanation, LaunchArguments};
pub use subject::{Provider, Subject};

use std::io::{self, BufRead, Write};

/// Serves one client until it leaves. All processes that were started have ended then.
///
/// # Errors
/// The client cannot be written to.
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: impl Write,
    provider: impl Provider,
) -> io::Result<()> {
    session::Session::new(link::Link::new(input, output), provider).run()
}
