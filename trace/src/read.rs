//! Reads run files: memory-mapped, column by column, and distrustful.
//!
//! An Arrow IPC file is a stream of messages between two magic words, followed by a footer that only
//! serves random access. The messages are read in order and the footer is not needed, so a file that
//! was cut still gives the events before the cut. Every length is checked against the bytes that are
//! there before Arrow's decoder sees the message ([`messages`]).

mod columns;
mod messages;
mod repair;
mod tables;

use crate::{
    meta::{FORMAT, Mode, RunMeta},
    run::Run,
    schema,
};
use arrow_buffer::Buffer;
use arrow_schema::Schema;
use columns::Chunks;
use memmap2::MmapOptions;
use messages::Messages;
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::Arc,
};
use tables::Tables;

/// Why a file could not be read as a run.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("cannot read the run file {}: {source}; check that it is there and readable", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Something else than a run.
    #[error("{} is not a run file: {why}; docs/run-file.md says what one holds", path.display())]
    NotARun {
        /// The file.
        path: PathBuf,
        /// What is missing or different.
        why: String,
    },
    /// Written by a newer version.
    #[error(
        "the run file {} has format {found}, and this unsnarl reads formats up to {supported}; \
         install a newer unsnarl, or record the program again with this one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's format.
        found: u64,
        /// [`FORMAT`].
        supported: u32,
    },
    /// A run file of which nothing can be used.
    #[error("the run file {} is damaged: {why}; remove it and record the program again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is broken.
        why: String,
    },
}

/// A [`ReadError`] before the path is known.
enum Refusal {
    NotARun(String),
    Newer(u64),
    Damaged(String),
}

impl Refusal {
    fn at(self, path: &Path) -> ReadError {
        let path = path.to_owned();
        match self {
            Refusal::NotARun(why) => ReadError::NotARun { path, why },
            Refusal::Newer(found) => ReadError::Newer {
                path,
                found,
                supported: FORMAT,
            },
            Refusal::Damaged(why) => ReadError::Damaged { path, why },
        }
    }
}

/// Reads the run file at `path`.
///
/// What could not be read of it stands in [`Run::damage`]; the events before the damage are there.
pub fn read_run(path: &Path) -> Result<Run, ReadError> {
    let bytes = load(path).map_err(|source| ReadError::Io {
        path: path.to_owned(),
        source,
    })?;
    read_buffer(bytes).map_err(|refusal| refusal.at(path))
}

/// Reads a run file from memory.
pub fn read_run_bytes(bytes: Vec<u8>) -> Result<Run, ReadError> {
    read_buffer(Buffer::from_vec(bytes)).map_err(|refusal| refusal.at(Path::new("(in memory)")))
}

/// Files up to this size are read, larger ones mapped: a map costs more than a short copy, and a
/// mapped file that another program cuts takes the process with it.
const MAP_FROM: u64 = 1 << 20;

fn load(path: &Path) -> io::Result<Buffer> {
    // Asked before opening: opening a named pipe would wait for a writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    if length < MAP_FROM {
        let mut bytes = Vec::with_capacity(length as usize);
        file.read_to_end(&mut bytes)?;
        return Ok(Buffer::from_vec(bytes));
    }
    // SAFETY: run files are written beside and renamed into place, so a mapped one does not change.
    let map = unsafe { MmapOptions::new().populate().map(&file)? };
    let start = NonNull::new(map.as_ptr().cast_mut()).ok_or(io::ErrorKind::InvalidData)?;
    let length = map.len();
    // SAFETY: `start` and `length` are those of the map, which the buffer keeps alive.
    Ok(unsafe { Buffer::from_custom_allocation(start, length, Arc::new(map)) })
}

fn read_buffer(bytes: Buffer) -> Result<Run, Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::Damaged("it is empty".to_owned()));
    }
    if !bytes.starts_with(schema::TAIL) {
        return Err(Refusal::NotARun(
            "it does not begin as an Arrow IPC file does".to_owned(),
        ));
    }
    let (mut messages, schema) = Messages::open(bytes).map_err(Refusal::Damaged)?;
    columns::check(&schema).map_err(Refusal::NotARun)?;
    let mut tables = Tables::new(read_meta(&schema)?);
    let mut chunks = Chunks::default();
    let damage = read_batches(&mut messages, &mut tables, &mut chunks)
        .err()
        .map(|why| format!("{why}; the {} events before that are there", chunks.rows()));
    let (meta, locations) = tables.finish();
    let mut run = Run {
        meta,
        locations,
        events: chunks.join(),
        damage: Vec::from_iter(damage),
    };
    repair::repair(&mut run);
    Ok(run)
}

fn read_meta(schema: &Schema) -> Result<RunMeta, Refusal> {
    let format = match schema.metadata().get(schema::FORMAT_KEY) {
        None => u64::from(FORMAT),
        Some(text) => text.parse().map_err(|_| {
            Refusal::NotARun(format!(
                "its `{}` is {text:?} and not a number",
                schema::FORMAT_KEY
            ))
        })?,
    };
    if format > u64::from(FORMAT) {
        return Err(Refusal::Newer(format));
    }
    let Some(json) = schema.metadata().get(schema::RUN_KEY) else {
        return Ok(imported());
    };
    let meta = serde_json::from_str(json).map_err(|error| {
        Refusal::Damaged(format!(
            "the JSON in its metadata `{}`: {error}",
            schema::RUN_KEY
        ))
    })?;
    Ok(RunMeta {
        format: FORMAT,
        ..meta
    })
}

/// The metadata of a file without any: another tool's.
fn imported() -> RunMeta {
    RunMeta {
        format: FORMAT,
        mode: Mode::Imported,
        strategy: "imported".to_owned(),
        ..RunMeta::default()
    }
}

fn read_batches(
    messages: &mut Messages,
    tables: &mut Tables,
    chunks: &mut Chunks,
) -> Result<(), String> {
    while let Some(batch) = messages.next_batch()? {
        chunks.add(&batch, tables)?;
    }
    Ok(())
}
