//! Parquet.

use super::{
    Fact, RunFacts,
    schema::{COLUMNS, Column, SummaryRow, SummaryValue},
};
use parquet::{
    basic::Compression,
    column::writer::ColumnWriter,
    data_type::ByteArray,
    errors::ParquetError,
    file::{
        properties::{EnabledStatistics, WriterProperties},
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};
use std::{io, path::PathBuf, sync::Arc};

/// An error that keeps a run from being summarized.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// The run cannot be read.
    #[error("cannot summarize {}: {why}", path.display())]
    Run {
        /// Its file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The summary cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// Its file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The table cannot be made.
    #[error("cannot make the table of a summary: {0}; please report it")]
    Table(#[from] ParquetError),
}

/// The table of a run. Equal runs give equal bytes.
pub fn table(run: &RunFacts, facts: &[(Fact, u64)]) -> Result<Vec<u8>, SummaryError> {
    let rows: Vec<SummaryRow<'_>> = facts
        .iter()
        .map(|(fact, count)| SummaryRow {
            run,
            fact,
            count: *count,
        })
        .collect();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(
        &mut bytes,
        Arc::new(parse_message_type(&schema())?),
        Arc::new(properties()),
    )?;
    let mut group = file.next_row_group()?;
    let mut columns = COLUMNS.iter();
    while let (Some(mut writer), Some(column)) = (group.next_column()?, columns.next()) {
        write_column(writer.untyped(), column, &rows)?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn schema() -> String {
    let columns = COLUMNS
        .iter()
        .map(|column| column.kind.declared(column.name));
    format!(
        "message summary {{ {} }}",
        columns.collect::<Vec<_>>().join(" ")
    )
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::LZ4_RAW)
        // A file has one small group of rows: more would be larger than what they describe.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(format!("unsnarl {}", env!("CARGO_PKG_VERSION")))
        .build()
}

fn write_column(
    writer: &mut ColumnWriter<'_>,
    column: &Column,
    rows: &[SummaryRow<'_>],
) -> Result<(), ParquetError> {
    let values: Vec<Option<SummaryValue<'_>>> =
        rows.iter().map(|row| (column.value)(*row)).collect();
    let levels: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    let present = values.into_iter().flatten();
    match writer {
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let texts = present.filter_map(|value| match value {
                SummaryValue::Text(text) => Some(ByteArray::from(text)),
                SummaryValue::Number(_) => None,
            });
            writer.write_batch(&texts.collect::<Vec<_>>(), Some(&levels), None)?;
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            let numbers = present.filter_map(|value| match value {
                SummaryValue::Number(number) => Some(number),
                SummaryValue::Text(_) => None,
            });
            writer.write_batch(&numbers.collect::<Vec<_>>(), Some(&levels), None)?;
        }
        _ => {
            return Err(ParquetError::General(format!(
                "a column of another type: {}",
                column.name
            )));
        }
    }
    Ok(())
}
