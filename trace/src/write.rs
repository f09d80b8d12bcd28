//! Writes run files.

mod batch;
mod lz4;
mod messages;
mod packed;
mod rows;
mod tables;

use self::{
    packed::PackedEvents,
    rows::{BatchColumns, BatchRows},
};
use crate::{
    meta::RunMeta,
    model::Event,
    run::Run,
    schema::{self, BATCH_ROWS},
};
use arrow_schema::ArrowError;
use std::io::{self, Write};

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
    for part in encode(run)? {
        out.write_all(&part)?;
    }
    Ok(out.flush()?)
}

/// The bytes of a run's file, in pieces.
pub(crate) fn encode(run: &Run) -> Result<Vec<Vec<u8>>, WriteError> {
    let rows = run.events.len();
    let mut packed = PackedEvents::new(schema::is_compressed(rows));
    // A run without events has one empty batch: the tables come with the batches.
    for start in (0..rows.max(1)).step_by(BATCH_ROWS) {
        let end = rows.min(start + BATCH_ROWS);
        packed.add(&BatchRows::of(&run.events, start..end));
    }
    packed.finish(&run.meta, run.locations.as_slice())
}

/// Encodes events while they are made, so that the columns of a long run are never in memory as a whole.
#[derive(Default)]
pub struct RunEncoder {
    /// Rows of the batch that is not full, or that may be the only one.
    rows: BatchColumns,
    packed: Option<PackedEvents>,
}

impl RunEncoder {
    /// Appends an event.
    #[inline(always)]
    pub fn push(&mut self, event: &Event) {
        if self.rows.is_full() {
            self.pack();
        }
        self.rows.push(event);
    }

    #[cold]
    fn pack(&mut self) {
        let packed = self.packed.get_or_insert_with(|| PackedEvents::new(true));
        packed.add(&BatchRows::all(&self.rows));
        self.rows.clear();
    }

    /// The bytes of the file, in pieces.
    pub(crate) fn finish(
        self,
        meta: &RunMeta,
        locations: &[String],
    ) -> Result<Vec<Vec<u8>>, WriteError> {
        let mut packed = self.packed.unwrap_or_else(|| PackedEvents::new(false));
        packed.add(&BatchRows::all(&self.rows));
        packed.finish(meta, locations)
    }
}

fn from_arrow(error: ArrowError) -> WriteError {
    match error {
        ArrowError::IoError(_, error) => WriteError::Io(error),
        other => WriteError::Inconsistent(other.to_string()),
    }
}
