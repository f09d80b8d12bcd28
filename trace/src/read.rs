//! Reads run files: column by column, and distrustful.
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
    files::open_regular,
    meta::{FORMAT, OrderMode, RunMeta},
    run::Run,
    schema,
};
use arrow_buffer::Buffer;
use arrow_schema::Schema;
use columns::Chunks;
use messages::Messages;
use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};
use tables::RunTables;

/// An error that keeps a file from being read as a run.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("cannot read the run file {}: {source}; check that it is there and readable", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file that is not a run.
    #[error("{} is not a run file: {why}; docs/run-file.md says what one holds", path.display())]
    NotARun {
        /// The file.
        path: PathBuf,
        /// The missing or unexpected part.
        why: String,
    },
    /// A run file written by a newer version.
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
        /// The broken part.
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
/// Parts that could not be read are listed in [`Run::damage`]; the events before the damage are there.
pub fn read_run(path: &Path) -> Result<Run, ReadError> {
    let bytes = load(path).map_err(|source| ReadError::Io {
        path: path.to_owned(),
        source,
    })?;
    read_buffer(bytes).map_err(|refusal| refusal.at(path))
}

/// Reads the metadata from the first bytes of the run file at `path`: program, input, origin and outcome of the run.
/// The parts that are kept in tables (sites, threads) are empty.
pub fn read_meta(path: &Path) -> Result<RunMeta, ReadError> {
    let bytes = with_metadata(path).map_err(|source| ReadError::Io {
        path: path.to_owned(),
        source,
    })?;
    let meta = || {
        let (_, schema) = Messages::open(begin(bytes)?).map_err(Refusal::Damaged)?;
        meta_of(&schema)
    };
    meta().map_err(|refusal| refusal.at(path))
}

/// Bytes that a run takes in memory when it is read from the file of `length` bytes at `path`: large files are
/// compressed and say how many events they hold.
#[must_use]
pub fn unpacked(path: &Path, length: u64) -> u64 {
    /// Size up to which a file is taken to be uncompressed: there may be very many small files, and compression
    /// hardly matters in them.
    const SMALL: u64 = 32 << 10;
    let schema = || {
        let bytes = with_metadata(path).ok()?;
        let (_, schema) = Messages::open(begin(bytes).ok()?).ok()?;
        events_of(&schema)
    };
    let events = (length > SMALL).then(schema).flatten();
    let bytes = events.map(|events| events.saturating_mul(schema::BYTES_PER_EVENT));
    bytes.unwrap_or(0).max(length)
}

/// Number of events that a compressed file claims to hold.
fn events_of(schema: &Schema) -> Option<u64> {
    schema.metadata().get(schema::EVENTS_KEY)?.parse().ok()
}

/// The first bytes of a run file, up to the end of its metadata.
fn with_metadata(path: &Path) -> io::Result<Buffer> {
    /// Size of the first read: more than the metadata of most runs.
    const FIRST: u64 = 1 << 20;
    let bytes = load_first(path, FIRST)?;
    match messages::schema_end(&bytes).filter(|end| *end > FIRST) {
        Some(needed) => load_first(path, needed),
        None => Ok(bytes),
    }
}

/// Reads a run file from memory.
pub fn read_run_bytes(bytes: Vec<u8>) -> Result<Run, ReadError> {
    read_buffer(Buffer::from_vec(bytes)).map_err(|refusal| refusal.at(Path::new("(in memory)")))
}

/// Upper bound for the size of a run file.
const MOST: u64 = 64 << 30;

/// Returns whether the file begins as a run file does. Only its first bytes are read.
#[must_use]
pub fn begins_as_run(path: &Path) -> bool {
    let mut start = [0; schema::TAIL.len()];
    let read = open_regular(path).and_then(|(mut file, _)| file.read_exact(&mut start));
    read.is_ok() && start == *schema::TAIL
}

/// The bytes of a run file. They are copied: a mapped file that another program cuts takes the process with it. Of a
/// file that is something else only the beginning is read, since it may be a large hole.
fn load(path: &Path) -> io::Result<Buffer> {
    load_first(path, MOST)
}

/// The first bytes of a run file, at most `bytes` of them.
fn load_first(path: &Path, bytes: u64) -> io::Result<Buffer> {
    let (file, about) = open_regular(path)?;
    let mut start = Vec::new();
    (&file)
        .take(schema::TAIL.len() as u64)
        .read_to_end(&mut start)?;
    if start != schema::TAIL {
        return Ok(Buffer::from_vec(start));
    }
    if about.len() > MOST {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is too large",
        ));
    }
    let length = usize::try_from(about.len().min(bytes)).map_err(io::Error::other)?;
    let mut read = start;
    read.try_reserve_exact(length.saturating_sub(read.len()))
        .map_err(io::Error::other)?;
    file.take(bytes.saturating_sub(read.len() as u64))
        .read_to_end(&mut read)?;
    Ok(Buffer::from_vec(read))
}

/// Refuses bytes that do not begin as a run file.
fn begin(bytes: Buffer) -> Result<Buffer, Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::Damaged("it is empty".to_owned()));
    }
    if !bytes.starts_with(schema::TAIL) {
        return Err(Refusal::NotARun(
            "it does not begin as an Arrow IPC file does".to_owned(),
        ));
    }
    Ok(bytes)
}

fn read_buffer(bytes: Buffer) -> Result<Run, Refusal> {
    let (mut messages, schema) = Messages::open(begin(bytes)?).map_err(Refusal::Damaged)?;
    columns::check(&schema).map_err(Refusal::NotARun)?;
    let mut tables = RunTables::new(meta_of(&schema)?);
    let mut chunks = Chunks::of_at_most(events_of(&schema));
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

fn meta_of(schema: &Schema) -> Result<RunMeta, Refusal> {
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

/// Metadata for a file without any, as another tool writes it.
fn imported() -> RunMeta {
    RunMeta {
        format: FORMAT,
        mode: OrderMode::Imported,
        strategy: "imported".to_owned(),
        ..RunMeta::default()
    }
}

fn read_batches(
    messages: &mut Messages,
    tables: &mut RunTables,
    chunks: &mut Chunks,
) -> Result<(), String> {
    while let Some(batch) = messages.next_batch()? {
        chunks.add(&batch, tables)?;
    }
    Ok(())
}
