//! Writes run files.

use crate::{
    meta::{FORMAT, RunMeta},
    run::{Events, OLD_KNOWN, Run, VALUE_KNOWN},
    schema::{self, BATCH_ROWS, Column},
};
use arrow_array::{
    ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, StringArray,
    types::{
        ArrowDictionaryKeyType, ArrowPrimitiveType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_ipc::{
    CompressionType,
    writer::{FileWriter, IpcWriteOptions},
};
use arrow_schema::{ArrowError, SchemaRef};
use std::{
    io::{self, BufWriter, Write},
    sync::Arc,
};

/// An error that keeps a run from being written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file could not be written.
    #[error("cannot write the run: {0}")]
    Io(#[from] io::Error),
    /// The run's columns and tables do not fit together.
    #[error("the run cannot be stored: {0}; whatever made this run has a bug, please report it")]
    Inconsistent(String),
}

/// Writes `run` as an Arrow IPC file. Equal runs give equal bytes.
pub fn write_run(run: &Run, out: &mut impl Write) -> Result<(), WriteError> {
    check_ids(run)?;
    let meta = RunMeta {
        format: FORMAT,
        ..run.meta.clone()
    };
    let json = serde_json::to_string(&meta)
        .map_err(|error| WriteError::Inconsistent(format!("its metadata is no JSON: {error}")))?;
    let columns = schema::columns(&run.events);
    let schema: SchemaRef = Arc::new(schema::schema(&columns, FORMAT, json, run.events.len()));
    let tables = DictionaryTables::of(run);
    let options = options(run.events.len()).map_err(from_arrow)?;
    let out = BufWriter::new(out);
    let writer = FileWriter::try_new_with_options(out, &schema, options);
    let mut writer = writer.map_err(from_arrow)?;
    // A run without events has one empty batch: the tables come with the batches.
    for start in (0..run.events.len().max(1)).step_by(BATCH_ROWS) {
        let length = BATCH_ROWS.min(run.events.len() - start);
        let batch = BatchRows {
            events: &run.events,
            tables: &tables,
            start,
            length,
        }
        .columns(&columns)?;
        let batch = RecordBatch::try_new(schema.clone(), batch).map_err(from_arrow)?;
        writer.write(&batch).map_err(from_arrow)?;
    }
    writer.finish().map_err(from_arrow)?;
    writer.flush().map_err(from_arrow)
}

/// Write options for the messages of a run with this many events.
fn options(events: usize) -> Result<IpcWriteOptions, ArrowError> {
    let compression = schema::is_compressed(events).then_some(CompressionType::LZ4_FRAME);
    IpcWriteOptions::default().try_with_compression(compression)
}

/// Checks the ids that no dictionary checks.
fn check_ids(run: &Run) -> Result<(), WriteError> {
    let check = |column: Column, ids: &[u32], table: usize| match ids.iter().copied().max() {
        Some(id) if id != 0 && id as usize >= table => Err(WriteError::Inconsistent(format!(
            "the column `{}` holds {id}, but its table has {table} rows",
            column.name()
        ))),
        _ => Ok(()),
    };
    check(Column::Pointee, &run.events.pointee, run.locations.len())?;
    check(Column::Stack, &run.events.stack, run.meta.frames.len())?;
    check(Column::Point, &run.events.point, run.meta.points.len())
}

/// The dictionaries, made once so that every batch shares them.
struct DictionaryTables {
    kinds: ArrayRef,
    threads: ArrayRef,
    sites: ArrayRef,
    locations: ArrayRef,
}

impl DictionaryTables {
    fn of(run: &Run) -> DictionaryTables {
        let strings = |names: Vec<String>| Arc::new(StringArray::from(names)) as ArrayRef;
        // Row 0 is always there: events without a site or location point to it.
        let rooted = |names: Vec<String>| {
            if names.is_empty() {
                vec![String::new()]
            } else {
                names
            }
        };
        DictionaryTables {
            kinds: strings(schema::kind_names()),
            threads: strings(schema::thread_names(&run.meta)),
            sites: strings(rooted(schema::site_names(&run.meta))),
            locations: locations(run.locations.as_slice()),
        }
    }
}

/// The dictionary of locations, without a copy of their names where no two are equal.
fn locations(names: &[String]) -> ArrayRef {
    if names.is_empty() {
        return Arc::new(StringArray::from(vec![String::new()]));
    }
    Arc::new(match schema::are_unique(names) {
        true => StringArray::from_iter_values(names),
        false => StringArray::from(schema::unique(names.iter().cloned())),
    })
}

/// The events of one batch.
struct BatchRows<'a> {
    events: &'a Events,
    tables: &'a DictionaryTables,
    start: usize,
    length: usize,
}

impl BatchRows<'_> {
    fn columns(&self, wanted: &[Column]) -> Result<Vec<ArrayRef>, WriteError> {
        wanted.iter().map(|column| self.column(*column)).collect()
    }

    fn column(&self, column: Column) -> Result<ArrayRef, WriteError> {
        let (events, tables) = (self.events, self.tables);
        Ok(match column {
            Column::Seq => self.numbers::<UInt64Type>(&events.seq, None)?,
            Column::Thread => self.names::<UInt16Type>(column, &events.thread, &tables.threads)?,
            Column::Kind => self.names::<UInt8Type>(column, &events.kind, &tables.kinds)?,
            Column::Site => self.names::<UInt32Type>(column, &events.site, &tables.sites)?,
            Column::Location => {
                self.names::<UInt32Type>(column, &events.location, &tables.locations)?
            }
            Column::Size => self.numbers::<UInt32Type>(&events.size, None)?,
            Column::Flags => self.numbers::<UInt16Type>(&events.flags, None)?,
            Column::Value => {
                self.numbers::<UInt64Type>(&events.value, Some(self.known(VALUE_KNOWN)))?
            }
            Column::Old => self.numbers::<UInt64Type>(&events.old, Some(self.known(OLD_KNOWN)))?,
            Column::Pointee => self.numbers::<UInt32Type>(&events.pointee, None)?,
            Column::Stack => self.numbers::<UInt32Type>(&events.stack, None)?,
            Column::Point => self.numbers::<UInt32Type>(&events.point, None)?,
        })
    }

    fn known(&self, bit: u8) -> NullBuffer {
        let known = self.events.known.slice(self.start, self.length);
        let is_known = |row: usize| known.get(row).is_some_and(|bits| bits & bit != 0);
        NullBuffer::new(BooleanBuffer::collect_bool(self.length, is_known))
    }

    fn numbers<T: ArrowPrimitiveType>(
        &self,
        column: &ScalarBuffer<T::Native>,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, WriteError> {
        let rows = column.slice(self.start, self.length);
        Ok(Arc::new(
            PrimitiveArray::<T>::try_new(rows, nulls).map_err(from_arrow)?,
        ))
    }

    fn names<K: ArrowDictionaryKeyType>(
        &self,
        column: Column,
        keys: &ScalarBuffer<K::Native>,
        names: &ArrayRef,
    ) -> Result<ArrayRef, WriteError> {
        let keys = PrimitiveArray::<K>::try_new(keys.slice(self.start, self.length), None);
        let array = keys
            .and_then(|keys| DictionaryArray::try_new(keys, names.clone()))
            .map_err(|error| {
                WriteError::Inconsistent(format!("column `{}`: {error}", column.name()))
            })?;
        Ok(Arc::new(array))
    }
}

fn from_arrow(error: ArrowError) -> WriteError {
    match error {
        ArrowError::IoError(_, error) => WriteError::Io(error),
        other => WriteError::Inconsistent(other.to_string()),
    }
}
