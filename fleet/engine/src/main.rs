//! `unsnarl-fleet-engine`: questions about the summaries of many runs, answered by DataFusion.
//!
//! Summaries are small and many. So they are first packed into one Parquet file, in which each run is there once
//! ([`pack`]); all questions are SQL on that file ([`queries`]), whose memory is bounded and whose answers have an order
//! ([`answer`]). It is a program of its own with its own lock file, since it has other versions of Arrow than run files
//! have, and takes minutes to build.

mod answer;
mod pack;
mod queries;
mod schema;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};
use pack::Packed;
use queries::{Query, QueryArguments};
use std::{path::PathBuf, process::ExitCode};

/// Answers questions about summaries of runs (docs/fleet.md).
#[derive(Parser)]
#[command(name = "unsnarl-fleet-engine", version)]
struct EngineCommandLine {
    #[command(subcommand)]
    command: EngineCommand,
}

#[derive(Subcommand)]
enum EngineCommand {
    /// Answer a question
    ///
    /// Exit status: 0 answered, 1 answered without some summaries (each is named), 2 usage, or no answer.
    Ask {
        /// The question
        query: Query,
        /// Folders of summaries, and files made by pack
        #[arg(required = true)]
        places: Vec<PathBuf>,
        #[command(flatten)]
        arguments: QueryArguments,
        #[command(flatten)]
        limits: Limits,
        /// Form of the answer
        #[arg(long, value_enum, default_value_t = AnswerFormat::Json)]
        format: AnswerFormat,
    },
    /// Write one file with all summaries, for many questions
    ///
    /// Exit status: 0 written, 1 written without some summaries (each is named), 2 usage, or nothing written.
    Pack {
        /// Folders of summaries, and files made by pack
        #[arg(required = true)]
        places: Vec<PathBuf>,
        /// The file
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

/// Bounds on what an answer may take.
#[derive(clap::Args, Clone, Copy)]
pub struct Limits {
    /// Memory for an answer, in megabytes; what needs more goes to disk for that long
    #[arg(long, value_name = "MB", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(16..))]
    pub memory: u64,
    /// Threads that compute the answer
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: u64,
}

/// The form of an answer.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// An array with an object for each row
    Json,
    /// A table
    Text,
}

/// Usage, or no answer.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    run(EngineCommandLine::parse().command).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(UNUSABLE)
    })
}

fn run(command: EngineCommand) -> Result<ExitCode> {
    match command {
        EngineCommand::Pack { places, out } => {
            let packed = pack::into_file(&places, &out)?;
            tell(&packed);
            Ok(status(&packed))
        }
        EngineCommand::Ask {
            query,
            places,
            arguments,
            limits,
            format,
        } => {
            let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
            let file = folder.path().join("packed.parquet");
            let packed = pack::into_file(&places, &file)?;
            let text = answer::to(query, &arguments, limits, &file, format)?;
            print!("{text}");
            tell(&packed);
            Ok(status(&packed))
        }
    }
}

/// Names what was left out, and says what was not.
fn tell(packed: &Packed) {
    for (path, why) in &packed.broken {
        eprintln!(
            "error: {} is left out: {why}\n  next: remove it, and unsnarl-fleet summarize its run",
            path.display()
        );
    }
    eprintln!(
        "{} runs, {} summaries of runs that were there, {} broken",
        packed.runs,
        packed.again,
        packed.broken.len()
    );
}

fn status(packed: &Packed) -> ExitCode {
    ExitCode::from(u8::from(!packed.broken.is_empty()))
}
