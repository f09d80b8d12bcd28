//! A question and its answer.

use crate::{
    cluster,
    queries::{Query, QueryArguments},
};
use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use datafusion::{
    arrow::{
        array::RecordBatch,
        json::{WriterBuilder, writer::LineDelimited},
        util::pretty::pretty_format_batches,
    },
    execution::runtime_env::RuntimeEnvBuilder,
    prelude::{ParquetReadOptions, SessionConfig, SessionContext},
};
use std::{path::Path, time::Duration};
use tokio::time::timeout;

/// The machines that compute an answer.
#[derive(Clone, Debug)]
pub enum AnswerEngine {
    /// This process.
    Embedded(Limits),
    /// The executors of the scheduler at this URL, which read the packed file under the same name.
    Cluster {
        /// `http://HOST:PORT`
        scheduler: String,
        /// Time for the answer.
        within: Duration,
        /// Parts of each stage of the plan, which are computed at one time if there are threads for them.
        parts: usize,
    },
}

/// Bounds on what an answer may take.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Limits {
    /// Memory for an answer, in megabytes; what needs more goes to disk for that long
    #[arg(long, value_name = "MB", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(16..))]
    pub memory: u64,
    /// Threads that compute the answer
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,
}

/// The form of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum AnswerFormat {
    /// An array with an object for each row
    Json,
    /// A table
    Text,
}

/// The answer to a question about a packed file, as text. Equal runs give equal bytes, whatever machines compute it.
pub fn to(
    query: Query,
    arguments: &QueryArguments,
    engine: &AnswerEngine,
    file: &Path,
    format: AnswerFormat,
) -> Result<String> {
    let runtime = cluster::runtime()?;
    let rows = runtime.block_on(async {
        let rows = rows(query, arguments, engine, file);
        match engine {
            AnswerEngine::Embedded(_) => rows.await,
            AnswerEngine::Cluster { within, .. } => timeout(*within, rows).await.unwrap_or_else(|_| {
                Err(anyhow!(
                    "the cluster has not answered within {} s\n  next: see whether its executors are there, and ask with more time: --within",
                    within.as_secs()
                ))
            }),
        }
    });
    // Threads may be waiting for the cluster still.
    runtime.shutdown_background();
    let rows = rows?;
    match format {
        AnswerFormat::Json => json(&rows),
        AnswerFormat::Text => Ok(format!("{}\n", pretty_format_batches(&rows)?)),
    }
}

async fn rows(
    query: Query,
    arguments: &QueryArguments,
    engine: &AnswerEngine,
    file: &Path,
) -> Result<Vec<RecordBatch>> {
    let context = match engine {
        AnswerEngine::Embedded(limits) => embedded(*limits)?,
        AnswerEngine::Cluster {
            scheduler, parts, ..
        } => cluster::client(scheduler, *parts).await?,
    };
    let path = file.to_str().context("the name of a file is not UTF-8")?;
    // Its name is the user's choice.
    let options = ParquetReadOptions::default().file_extension("");
    context.register_parquet("summaries", path, options).await?;
    let asked = context.sql(query.sql()).await?;
    let asked = asked.with_param_values(arguments.values(query)?)?;
    Ok(asked.collect().await?)
}

fn embedded(limits: Limits) -> Result<SessionContext> {
    let threads = usize::try_from(limits.threads)?;
    let memory = usize::try_from(limits.memory << 20)?;
    let config = SessionConfig::new().with_target_partitions(threads);
    let environment = RuntimeEnvBuilder::new().with_memory_limit(memory, 1.0);
    Ok(SessionContext::new_with_config_rt(
        config,
        environment.build_arc()?,
    ))
}

/// An array with an object for each row, each on a line of its own.
fn json(rows: &[RecordBatch]) -> Result<String> {
    let writer = WriterBuilder::new().with_explicit_nulls(true);
    let mut writer = writer.build::<_, LineDelimited>(Vec::new());
    writer.write_batches(&rows.iter().collect::<Vec<_>>())?;
    writer.finish()?;
    let text = String::from_utf8(writer.into_inner())?;
    let lines: Vec<&str> = text.lines().collect();
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}
