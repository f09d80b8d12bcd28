//! The messages of an Arrow IPC file, in order, none of them trusted.
//!
//! Arrow's decoder checks most of what it is given, but slices bodies by offsets from the file. So
//! the framing and all lengths are checked here first, and what panics nevertheless is contained.

use crate::schema::{Column, HEAD, TAIL};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::{
    CompressionType, Endianness, Message, MessageHeader,
    convert::try_fb_to_schema,
    reader::{RecordBatchDecoder, read_dictionary},
    root_as_message,
};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Reads one message after the other.
pub(super) struct Messages {
    bytes: Buffer,
    position: usize,
    /// Position at which the messages end.
    end: usize,
    /// `true` if the closing magic is there.
    complete: bool,
    schema: SchemaRef,
    /// Fields of the schema that are event columns; the others are not decoded.
    wanted: Vec<usize>,
    dictionaries: HashMap<i64, ArrayRef>,
}

/// A message's description and its data.
struct MessageFrame {
    head: Buffer,
    body: Buffer,
}

impl Messages {
    /// Reads the schema.
    pub(super) fn open(bytes: Buffer) -> Result<(Messages, SchemaRef), String> {
        let footer = footer_start(&bytes);
        let mut messages = Messages {
            position: HEAD.len() + padding(&bytes),
            end: footer.unwrap_or(bytes.len()),
            complete: footer.is_some(),
            bytes,
            schema: Arc::new(Schema::empty()),
            wanted: Vec::new(),
            dictionaries: HashMap::new(),
        };
        let frame = messages.next_frame()?.ok_or("it has no schema")?;
        let schema = contained(|| read_schema(&frame))?;
        messages.wanted = Column::ALL
            .into_iter()
            .filter_map(|column| schema.index_of(column.name()).ok())
            .collect();
        messages.schema = Arc::new(schema);
        let schema = messages.schema.clone();
        Ok((messages, schema))
    }

    /// The next record batch, with the event columns only; `None` at the end of a complete file.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>, String> {
        while let Some(frame) = self.next_frame()? {
            let start = self.position - frame.body.len();
            let batch = contained(|| self.decode(&frame))
                .map_err(|why| format!("the data at byte {start}: {why}"))?;
            if batch.is_some() {
                return Ok(batch);
            }
        }
        Ok(None)
    }

    fn decode(&mut self, frame: &MessageFrame) -> Result<Option<RecordBatch>, String> {
        let message = root_as_message(&frame.head).map_err(|error| error.to_string())?;
        match message.header_type() {
            MessageHeader::RecordBatch => self.decode_batch(frame, &message).map(Some),
            MessageHeader::DictionaryBatch => {
                self.decode_dictionary(frame, &message).map(|()| None)
            }
            MessageHeader::Schema => Err("a second schema".to_owned()),
            _ => Ok(None),
        }
    }

    fn decode_batch(
        &self,
        frame: &MessageFrame,
        message: &Message<'_>,
    ) -> Result<RecordBatch, String> {
        let batch = message
            .header_as_record_batch()
            .ok_or("a record batch without a header")?;
        check_lengths(&batch, &frame.body)?;
        let version = message.version();
        let schema = self.schema.clone();
        RecordBatchDecoder::try_new(&frame.body, batch, schema, &self.dictionaries, &version)
            .and_then(|decoder| {
                decoder
                    .with_projection(Some(&self.wanted))
                    .read_record_batch()
            })
            .map_err(|error| describe(&error))
    }

    fn decode_dictionary(
        &mut self,
        frame: &MessageFrame,
        message: &Message<'_>,
    ) -> Result<(), String> {
        let dictionary = message
            .header_as_dictionary_batch()
            .ok_or("a dictionary without a header")?;
        let values = dictionary.data().ok_or("a dictionary without values")?;
        check_lengths(&values, &frame.body)?;
        let version = message.version();
        read_dictionary(
            &frame.body,
            dictionary,
            &self.schema,
            &mut self.dictionaries,
            &version,
        )
        .map_err(|error| describe(&error))
    }

    /// The next message's parts, both wholly there; `None` at the end of a complete file.
    fn next_frame(&mut self) -> Result<Option<MessageFrame>, String> {
        if self.position == self.end && self.complete {
            return Ok(None);
        }
        let mut size = self.word()?;
        if size == u32::MAX {
            size = self.word()?;
        }
        if size == 0 {
            return if self.complete {
                Ok(None)
            } else {
                Err("its last bytes are missing".to_owned())
            };
        }
        let head = self.take(u64::from(size))?;
        let message = root_as_message(&head).map_err(|error| {
            format!(
                "the message at byte {}: {error}",
                self.position - head.len()
            )
        })?;
        let length =
            u64::try_from(message.bodyLength()).map_err(|_| "a message of negative length")?;
        let body = self.take(length)?;
        Ok(Some(MessageFrame { head, body }))
    }

    fn word(&mut self) -> Result<u32, String> {
        let bytes = self.take(4)?;
        let word = bytes
            .as_slice()
            .try_into()
            .map_err(|_| cut_at(self.position))?;
        Ok(u32::from_le_bytes(word))
    }

    fn take(&mut self, length: u64) -> Result<Buffer, String> {
        let left = self.end.saturating_sub(self.position);
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= left);
        let length = length.ok_or_else(|| cut_at(self.end))?;
        let part = self.bytes.slice_with_length(self.position, length);
        self.position += length;
        Ok(part)
    }
}

/// Position at which the schema ends in a file that begins with these bytes, as far as they tell.
pub(super) fn schema_end(bytes: &[u8]) -> Option<u64> {
    let start = HEAD.len() + padding(bytes);
    let word = |at: usize| {
        let word = bytes.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*word))
    };
    // Newer writers mark where a message begins.
    let (size, begin) = match word(start)? {
        u32::MAX => (word(start + 4)?, start + 8),
        size => (size, start + 4),
    };
    Some(begin as u64 + u64::from(size))
}

/// Bytes of padding before the first message: some writers align it to more than eight bytes.
fn padding(bytes: &[u8]) -> usize {
    let words = bytes.chunks_exact(8).skip(1);
    words
        .take_while(|word| word.iter().all(|byte| *byte == 0))
        .count()
        * 8
}

fn cut_at(position: usize) -> String {
    format!("it is cut off at byte {position}")
}

/// Position of the footer in a complete file: the messages end there.
fn footer_start(bytes: &[u8]) -> Option<usize> {
    let (rest, length) = bytes.strip_suffix(TAIL)?.split_last_chunk::<4>()?;
    let length = usize::try_from(i32::from_le_bytes(*length)).ok()?;
    rest.len()
        .checked_sub(length)
        .filter(|start| *start >= HEAD.len())
}

fn read_schema(frame: &MessageFrame) -> Result<Schema, String> {
    let message = root_as_message(&frame.head).map_err(|error| error.to_string())?;
    let schema = message
        .header_as_schema()
        .ok_or("it does not begin with a schema")?;
    if schema.endianness() != Endianness::Little {
        return Err("it is written in big-endian byte order".to_owned());
    }
    try_fb_to_schema(schema).map_err(|error| describe(&error))
}

/// Refuses a batch that would make the decoder reach outside of the body or allocate for rows that cannot be there.
fn check_lengths(batch: &arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<(), String> {
    let codec = batch.compression().map(|compression| compression.codec());
    if codec.is_some_and(|codec| codec != CompressionType::LZ4_FRAME) {
        return Err("it is compressed in another way than by LZ4".to_owned());
    }
    let wrong = || "its lengths are wrong".to_owned();
    let count = |n: i64| u32::try_from(n).map_err(|_| wrong());
    count(batch.length())?;
    for node in batch.nodes().into_iter().flatten() {
        if count(node.null_count())? > count(node.length())? {
            return Err(wrong());
        }
    }
    let mut unpacked = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let offset = usize::try_from(buffer.offset()).map_err(|_| wrong())?;
        let length = usize::try_from(buffer.length()).map_err(|_| wrong())?;
        let end = offset.checked_add(length).ok_or_else(wrong)?;
        let bytes = body.get(offset..end).ok_or_else(wrong)?;
        if codec.is_some() {
            unpacked = unpacked.saturating_add(unpacked_length(bytes).ok_or_else(wrong)?);
        }
    }
    match unpacked <= MOST_UNPACKED {
        true => Ok(()),
        false => Err("it is compressed in too large pieces".to_owned()),
    }
}

/// Upper bound for the unpacked bytes of one message: no writer makes such large ones.
const MOST_UNPACKED: u64 = 1 << 28;

/// Unpacked size that a compressed buffer claims; `None` when its bytes cannot hold so many.
fn unpacked_length(buffer: &[u8]) -> Option<u64> {
    /// Upper bound for the bytes that one byte of LZ4 stands for.
    const MOST: u64 = 255;
    /// Marker at the beginning of a buffer that is stored uncompressed.
    const STORED: i64 = -1;
    let Some((length, packed)) = buffer.split_first_chunk::<8>() else {
        return buffer.is_empty().then_some(0);
    };
    let packed = packed.len() as u64;
    match i64::from_le_bytes(*length) {
        STORED => Some(packed),
        length => u64::try_from(length)
            .ok()
            .filter(|length| *length <= packed.saturating_mul(MOST)),
    }
}

fn describe(error: &ArrowError) -> String {
    error.to_string()
}

/// Runs Arrow's decoder and turns a panic on a broken message into an error, so that the process survives it.
fn contained<T>(decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err("it cannot be decoded".to_owned()))
}
