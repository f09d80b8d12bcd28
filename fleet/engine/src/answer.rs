//! A question and its answer.

use crate::{
    AnswerFormat, Limits,
    queries::{Query, QueryArguments},
};
use anyhow::{Context, Result};
use datafusion::{
    arrow::{
        array::RecordBatch,
        json::{WriterBuilder, writer::LineDelimited},
        util::pretty::pretty_format_batches,
    },
    execution::runtime_env::RuntimeEnvBuilder,
    prelude::{ParquetReadOptions, SessionConfig, SessionContext},
};
use std::path::Path;
use tokio::runtime::Runtime;

/// The answer to a question about a packed file, as text. Equal runs give equal bytes.
pub fn to(
    query: Query,
    arguments: &QueryArguments,
    limits: Limits,
    file: &Path,
    format: AnswerFormat,
) -> Result<String> {
    let runtime = Runtime::new().context("cannot start threads")?;
    let rows = runtime.block_on(rows(query, arguments, limits, file))?;
    match format {
        AnswerFormat::Json => json(&rows),
        AnswerFormat::Text => Ok(format!("{}\n", pretty_format_batches(&rows)?)),
    }
}

async fn rows(
    query: Query,
    arguments: &QueryArguments,
    limits: Limits,
    file: &Path,
) -> Result<Vec<RecordBatch>> {
    let context = context(limits)?;
    let path = file.to_str().context("the name of a file is not UTF-8")?;
    // Its name is the user's choice.
    let options = ParquetReadOptions::default().file_extension("");
    context.register_parquet("summaries", path, options).await?;
    let asked = context.sql(query.sql()).await?;
    let asked = asked.with_param_values(arguments.values(query)?)?;
    Ok(asked.collect().await?)
}

fn context(limits: Limits) -> Result<SessionContext> {
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
