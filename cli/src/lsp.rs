//! `unsnarl lsp`.

use crate::own_file::own_file;
use anyhow::{Context, Result};
use std::{io, process::ExitCode};
use unsnarl_lab::compiles::Compiles;
use unsnarl_recorder::permit::is_own_run;
use unsnarl_server::{Compiling, OwnRuns};

/// Serves one editor over standard input and output.
pub fn run() -> Result<ExitCode> {
    // Standard output belongs to the protocol: what there is to log goes to standard error.
    let filter = tracing_subscriber::EnvFilter::try_from_env("UNSNARL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    let unsnarl = own_file()?;
    let compiling =
        Compiling::new(|fixes, sources, directory| Compiles::new(sources, directory).sifted(fixes));
    let setup = unsnarl_server::Setup {
        compiling,
        ..unsnarl_server::Setup::of(unsnarl, OwnRuns::new(is_own_run))
    };
    unsnarl_server::serve_stdio(setup).context("the language server had to give up")
}
