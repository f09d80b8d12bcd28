//! The events of a run as they lie in its file, before its tables are known.

use super::{
    WriteError,
    batch::{BatchPacker, PackedBatch, PackedColumn},
    messages::IpcFile,
    rows::BatchRows,
    tables::DictionaryTables,
};
use crate::{
    meta::{FORMAT, RunMeta},
    schema::{self, Column},
};
use std::sync::Arc;

/// Packed batches of one run.
pub(super) struct PackedEvents {
    packer: BatchPacker,
    batches: Vec<PackedBatch>,
    rows: usize,
    /// The largest id in each column that names rows of a table.
    largest: [u32; Column::ALL.len()],
}

impl PackedEvents {
    /// Without events.
    pub fn new(is_compressed: bool) -> PackedEvents {
        PackedEvents {
            packer: BatchPacker::new(is_compressed),
            batches: Vec::new(),
            rows: 0,
            largest: [0; Column::ALL.len()],
        }
    }

    /// Appends a batch.
    pub fn add(&mut self, rows: &BatchRows<'_>) {
        for (most, column) in self.largest.iter_mut().zip(Column::ALL) {
            *most = rows.largest(column).max(*most);
        }
        self.batches.push(self.packer.pack(rows, self.rows));
        self.rows += rows.len();
    }

    /// The bytes of the run's file, in pieces.
    pub fn finish(
        mut self,
        meta: &RunMeta,
        locations: &[String],
    ) -> Result<Vec<Vec<u8>>, WriteError> {
        let tables = DictionaryTables::of(meta, locations);
        for (column, largest) in Column::ALL.into_iter().zip(self.largest) {
            let table = tables.rows(column);
            let table = table.or_else(|| rows_of_table(column, meta, locations));
            self.check(column, largest, table)?;
        }
        let columns = self.columns();
        let json = json(meta)?;
        let schema = Arc::new(schema::schema(&columns, FORMAT, json, self.rows));
        let empty = tables.empty_batch(&schema, &columns)?;
        let mut file = IpcFile::begin(&empty, schema::is_compressed(self.rows))?;
        let mut first_row = 0;
        for batch in std::mem::take(&mut self.batches) {
            let rows = batch.rows;
            file.batch(rows, self.complete(batch, &columns, first_row));
            first_row += rows;
        }
        Ok(file.finish(&schema))
    }

    /// Checks that the ids of a column name rows of its table. Without a dictionary 0 means none.
    fn check(&self, column: Column, largest: u32, table: Option<usize>) -> Result<(), WriteError> {
        let Some(table) = table.filter(|table| largest as usize >= *table) else {
            return Ok(());
        };
        let is_used = largest != 0 || column.required() && self.rows > 0;
        match is_used {
            true => Err(WriteError::Inconsistent(format!(
                "the column `{}` holds {largest}, but its table has {table} rows",
                column.name()
            ))),
            false => Ok(()),
        }
    }

    /// The columns of the file. One that would say nothing in any batch is left out: the runs of a build without a program
    /// model are the same files as ever, and the numbers of a long run's events are those of its rows as long as none is
    /// missing.
    fn columns(&self) -> Vec<Column> {
        let says_something = |column: &Column| {
            let mut batches = self.batches.iter();
            batches.any(|batch| batch.has(*column))
        };
        Column::ALL.into_iter().filter(says_something).collect()
    }

    /// The columns of a batch whose first row has this number.
    fn complete(
        &mut self,
        batch: PackedBatch,
        columns: &[Column],
        first_row: usize,
    ) -> Vec<PackedColumn> {
        let rows = batch.rows;
        let all = Column::ALL.into_iter().zip(batch.columns);
        let wanted = all.filter(|(column, _)| columns.contains(column));
        wanted
            .map(|(column, packed)| {
                packed.unwrap_or_else(|| self.packer.assumed(column, first_row, rows))
            })
            .collect()
    }
}

/// Number of rows of the table that a column without a dictionary names rows of.
fn rows_of_table(column: Column, meta: &RunMeta, locations: &[String]) -> Option<usize> {
    match column {
        Column::Pointee => Some(locations.len()),
        Column::Stack => Some(meta.frames.len()),
        Column::Point => Some(meta.points.len()),
        _ => None,
    }
}

fn json(meta: &RunMeta) -> Result<String, WriteError> {
    let meta = RunMeta {
        format: FORMAT,
        ..meta.clone()
    };
    serde_json::to_string(&meta)
        .map_err(|error| WriteError::Inconsistent(format!("its metadata is no JSON: {error}")))
}
