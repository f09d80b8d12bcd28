//! The command line.

use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;

/// Works with the runs of many machines as one corpus (docs/fleet.md).
#[derive(Parser)]
#[command(name = "unsnarl-fleet", version)]
pub struct FleetCommandLine {
    #[command(subcommand)]
    pub command: FleetCommand,
}

/// URLs are `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX` and `file:///FOLDER`.
#[derive(Subcommand)]
pub enum FleetCommand {
    /// Write a summary beside each run that has none
    ///
    /// Exit status: 0 every run has a summary, 1 some run cannot be summarized (it is told why), 2 usage.
    Summarize {
        /// Folders of runs, run files, or URLs of storages; - for the names of run files on standard input, one in each
        /// line
        #[arg(required = true)]
        places: Vec<String>,
    },
    /// Copy runs, their summaries and the models of their builds from a folder to a URL, or from a URL to a folder
    ///
    /// Nothing that is there is transferred again, and nothing is removed.
    ///
    /// Exit status: 0 all is there, 1 some files could not be copied (each is named), 2 usage, or nothing could be
    /// listed.
    Sync {
        /// A folder of runs, a project or a URL (s3://, gs://, az://, file://)
        from: String,
        /// A URL if the other one is a folder, and the other way round
        to: String,
    },
    /// Explain why runs fail that lie at a URL: fetches those that are not there into the cache, and calls `unsnarl
    /// explain`
    ///
    /// Exit status: that of `unsnarl explain`; 2 also if it is 0 and some run could not be fetched.
    Explain {
        /// Fetch only what explains the failures with this signature: a few failing runs, and the passing ones nearest to
        /// them (the engine chooses)
        #[arg(long, value_name = "ID", value_parser = signature)]
        signature: Option<String>,
        #[command(flatten)]
        asked: StoredRuns,
    },
    /// Report the causes of the failures of runs that lie at a URL: fetches those that are not there into the cache, and
    /// calls `unsnarl report`
    ///
    /// Exit status: that of `unsnarl report`; 2 also if it is 0 and some run could not be fetched.
    Report(StoredRuns),
    /// Record a program by `unsnarl record --summaries`, and copy the runs to a URL
    ///
    /// Exit status: that of `unsnarl record`; 2 also if some file could not be copied. What could not be copied stays, in
    /// a folder that is named.
    Record(StoredRuns),
    /// Ask a question about summaries: pairs, procedure-one, signatures and others, of folders and URLs
    ///
    /// `unsnarl-fleet-engine` answers it, a program of its own; ask --help is its help.
    ///
    /// Exit status: 0 answered, 1 answered without some summaries (each is named), 2 usage, or no answer.
    #[command(disable_help_flag = true)]
    Ask {
        /// The question, folders and URLs of summaries, and options of the engine
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Run a cluster for questions on this machine: a scheduler, and executors in processes of their own
    ///
    /// `unsnarl-fleet-engine` runs it; local --help is its help, and ask --scheduler URL has it answer.
    ///
    /// Exit status: 0 it was ended, 2 usage, or no executor is left.
    #[command(disable_help_flag = true)]
    Local {
        /// Options of the engine
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
}

/// Takes the id of a way to fail, which has sixteen hexadecimal digits.
fn signature(text: &str) -> Result<String, &'static str> {
    let is_id = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_id
        .then(|| text.to_owned())
        .ok_or("an id has sixteen hexadecimal digits")
}

/// A URL, and the words of another command.
#[derive(Args)]
pub struct StoredRuns {
    /// s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER
    pub url: String,
    /// Options of the command of `unsnarl`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}
