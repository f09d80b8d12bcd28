//! `unsnarl-fleet-engine`: the command line of questions about a fleet.

mod problems;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};
use unsnarl_fleet_engine::{
    answer::{self, AnswerEngine, AnswerFormat, Limits},
    cluster::{ExecutorOptions, LocalOptions, SchedulerOptions},
    pack::{self, Packed},
    queries::{Query, QueryArguments},
};

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
    Ask(AskedQuestion),
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
    /// Run a cluster on this machine: a scheduler, and executors in processes of their own
    Local(LocalOptions),
    /// Run the scheduler of a cluster
    Scheduler(SchedulerOptions),
    /// Run an executor of a cluster
    Executor(ExecutorOptions),
}

#[derive(clap::Args)]
struct AskedQuestion {
    /// The question
    query: Query,
    /// Folders of summaries, or a file made by pack
    #[arg(required = true)]
    places: Vec<PathBuf>,
    #[command(flatten)]
    arguments: QueryArguments,
    #[command(flatten)]
    limits: Limits,
    /// Let the executors of the scheduler at this URL compute the answer; --memory and --threads are theirs
    #[arg(long, value_name = "URL")]
    scheduler: Option<String>,
    /// Folder for the packed file, which the executors have to see under the same name
    #[arg(long, value_name = "FOLDER", requires = "scheduler")]
    shared: Option<PathBuf>,
    /// Seconds for the answer by executors
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 600,
        requires = "scheduler"
    )]
    within: u64,
    /// Parts of each stage of the plan: the threads of all executors, or somewhat more
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        value_parser = clap::value_parser!(u16).range(1..=4096),
        requires = "scheduler"
    )]
    parts: u16,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t = AnswerFormat::Json)]
    format: AnswerFormat,
}

/// Usage, or no answer.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    problems::tell();
    run(EngineCommandLine::parse().command).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(UNUSABLE)
    })
}

fn run(command: EngineCommand) -> Result<ExitCode> {
    match command {
        EngineCommand::Pack { places, out } => Ok(tell(&pack::into_file(&places, &out)?)),
        EngineCommand::Ask(asked) => asked.answer(),
        EngineCommand::Local(options) => options.serve().map(|()| ExitCode::SUCCESS),
        EngineCommand::Scheduler(options) => options.serve().map(|()| ExitCode::SUCCESS),
        EngineCommand::Executor(options) => options.serve().map(|()| ExitCode::SUCCESS),
    }
}

impl AskedQuestion {
    fn answer(&self) -> Result<ExitCode> {
        if let [place] = &self.places[..]
            && let Some(packed) = pack::packed(place)
        {
            return self.about(&place.canonicalize()?, &packed);
        }
        let folder = match &self.shared {
            Some(shared) => tempfile::tempdir_in(shared),
            None => tempfile::tempdir(),
        };
        let folder = folder.context("cannot make a temporary folder")?;
        let file = folder.path().join("packed.parquet");
        let packed = pack::into_file(&self.places, &file)?;
        self.about(&file, &packed)
    }

    fn about(&self, file: &Path, packed: &Packed) -> Result<ExitCode> {
        let engine = match &self.scheduler {
            Some(url) => AnswerEngine::Cluster {
                scheduler: url.clone(),
                within: Duration::from_secs(self.within),
                parts: usize::from(self.parts),
            },
            None => AnswerEngine::Embedded(self.limits),
        };
        let text = answer::to(self.query, &self.arguments, &engine, file, self.format)?;
        print!("{text}");
        Ok(tell(packed))
    }
}

/// Names what was left out, and says what was not. Returns the exit status.
fn tell(packed: &Packed) -> ExitCode {
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
    ExitCode::from(u8::from(!packed.broken.is_empty()))
}
