//! `unsnarl lsp`.

use crate::own_file::own_file;
use anyhow::{Context, Result};
use std::{io, process::ExitCode};
use tracing_subscriber::{EnvFilter, filter::FromEnvError};
use unsnarl_lab::compiles::Compiles;
use unsnarl_recorder::permit::is_own_run;
use unsnarl_server::{Compiling, OwnRuns};

/// Environment variable with the filter of what is logged.
const LOG: &str = "UNSNARL_LOG";

/// Serves one editor over standard input and output.
pub fn run() -> Result<ExitCode> {
    // Standard output belongs to the protocol: what there is to log goes to standard error.
    let (filter, problem) = filter();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    if let Some(problem) = problem {
        anstream::eprintln!("{LOG} is no filter, so warnings are logged: {problem}");
    }
    let unsnarl = own_file()?;
    let compiling =
        Compiling::new(|fixes, sources, directory| Compiles::new(sources, directory).sifted(fixes));
    let setup = unsnarl_server::Setup {
        compiling,
        ..unsnarl_server::Setup::of(unsnarl, OwnRuns::new(is_own_run))
    };
    unsnarl_server::serve_stdio(setup).context("the language server had to give up")
}

/// The filter that the user asks for, else that of warnings; with the reason if what the user asks for is no filter.
fn filter() -> (EnvFilter, Option<FromEnvError>) {
    let usual = || EnvFilter::new("warn");
    match std::env::var_os(LOG) {
        None => (usual(), None),
        Some(_) => match EnvFilter::try_from_env(LOG) {
            Ok(filter) => (filter, None),
            Err(problem) => (usual(), Some(problem)),
        },
    }
}
