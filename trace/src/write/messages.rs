//! Messages and footer of an Arrow IPC file.
//!
//! Arrow's own writer wants the dictionaries before the first batch. Here they come last, when all events are known, and
//! are put before batches that are packed already. The bytes are those of Arrow's writer.

use super::{
    batch::{ALIGNMENT, PackedColumn},
    from_arrow,
};
use crate::{
    schema::{HEAD, TAIL},
    write::WriteError,
};
use arrow_array::RecordBatch;
use arrow_ipc::{
    Block, BodyCompressionBuilder, BodyCompressionMethod, Buffer, CompressionType, FieldNode,
    FooterBuilder, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder,
    convert::IpcSchemaEncoder,
    writer::{
        DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
    },
};
use arrow_schema::{ArrowError, Schema};
use flatbuffers::FlatBufferBuilder;

/// Mark before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// An Arrow IPC file in the making.
pub(super) struct IpcFile {
    /// The bytes in pieces: the large ones are not copied.
    parts: Vec<Vec<u8>>,
    position: usize,
    is_compressed: bool,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
}

impl IpcFile {
    /// A file with this schema, and with the dictionaries of an empty batch.
    pub fn begin(empty: &RecordBatch, is_compressed: bool) -> Result<IpcFile, WriteError> {
        let mut file = IpcFile {
            parts: Vec::new(),
            position: 0,
            is_compressed,
            dictionaries: Vec::new(),
            batches: Vec::new(),
        };
        file.head(empty).map_err(from_arrow)?;
        Ok(file)
    }

    fn head(&mut self, empty: &RecordBatch) -> Result<(), ArrowError> {
        let mut head = HEAD.to_vec();
        head.resize(ALIGNMENT, 0);
        let options = options(self.is_compressed)?;
        let generator = IpcDataGenerator::default();
        let mut tracker = DictionaryTracker::new(true);
        let schema = empty.schema();
        let schema =
            generator.schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &options);
        write_message(&mut head, schema, &options)?;
        let mut context = IpcWriteContext::default();
        let (dictionaries, _) = generator.encode(empty, &mut tracker, &options, &mut context)?;
        for dictionary in dictionaries {
            let start = head.len();
            let (header, body) = write_message(&mut head, dictionary, &options)?;
            self.dictionaries
                .push(Block::new(start as i64, header as i32, body as i64));
        }
        self.append(head);
        Ok(())
    }

    fn append(&mut self, part: Vec<u8>) {
        self.position += part.len();
        self.parts.push(part);
    }

    /// Appends a batch.
    pub fn batch(&mut self, rows: usize, columns: Vec<PackedColumn>) {
        let start = self.position;
        let body: usize = columns.iter().map(|column| column.bytes.len()).sum();
        let header = framed(&batch_header(rows, &columns, body, self.is_compressed));
        let block = Block::new(start as i64, header.len() as i32, body as i64);
        self.batches.push(block);
        self.append(header);
        for column in columns {
            self.append(column.bytes);
        }
    }

    /// Ends the file; returns its pieces.
    pub fn finish(mut self, schema: &Schema) -> Vec<Vec<u8>> {
        let mut end = CONTINUATION.to_vec();
        end.extend_from_slice(&[0; 4]);
        let footer = self.footer(schema);
        end.extend_from_slice(&footer);
        end.extend_from_slice(&(footer.len() as i32).to_le_bytes());
        end.extend_from_slice(TAIL);
        self.append(end);
        self.parts
    }

    fn footer(&self, schema: &Schema) -> Vec<u8> {
        let mut builder = FlatBufferBuilder::new();
        let dictionaries = builder.create_vector(&self.dictionaries);
        let batches = builder.create_vector(&self.batches);
        let mut tracker = DictionaryTracker::new(true);
        let schema = IpcSchemaEncoder::new()
            .with_dictionary_tracker(&mut tracker)
            .schema_to_fb_offset(&mut builder, schema);
        let mut footer = FooterBuilder::new(&mut builder);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(batches);
        let root = footer.finish();
        builder.finish(root, None);
        builder.finished_data().to_vec()
    }
}

/// Write options for the messages of a file.
fn options(is_compressed: bool) -> Result<IpcWriteOptions, ArrowError> {
    let compression = is_compressed.then_some(CompressionType::LZ4_FRAME);
    IpcWriteOptions::default().try_with_compression(compression)
}

/// A message's description with what stands before it.
fn framed(description: &[u8]) -> Vec<u8> {
    let before = CONTINUATION.len() + size_of::<u32>();
    let length = (description.len() + before).next_multiple_of(ALIGNMENT);
    let mut framed = Vec::with_capacity(length);
    framed.extend_from_slice(&CONTINUATION);
    framed.extend_from_slice(&((length - before) as u32).to_le_bytes());
    framed.extend_from_slice(description);
    framed.resize(length, 0);
    framed
}

/// The description of a batch with these columns, whose bodies have so many bytes together.
fn batch_header(
    rows: usize,
    columns: &[PackedColumn],
    body: usize,
    is_compressed: bool,
) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let compression = is_compressed.then(|| {
        let mut compression = BodyCompressionBuilder::new(&mut builder);
        compression.add_method(BodyCompressionMethod::BUFFER);
        compression.add_codec(CompressionType::LZ4_FRAME);
        compression.finish()
    });
    let node = |column: &PackedColumn| FieldNode::new(rows as i64, column.nulls as i64);
    let nodes: Vec<FieldNode> = columns.iter().map(node).collect();
    let buffers = builder.create_vector(&buffers(columns));
    let nodes = builder.create_vector(&nodes);
    let mut batch = RecordBatchBuilder::new(&mut builder);
    batch.add_length(rows as i64);
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    if let Some(compression) = compression {
        batch.add_compression(compression);
    }
    let batch = batch.finish();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_bodyLength(body as i64);
    message.add_header(batch.as_union_value());
    let root = message.finish();
    builder.finish(root, None);
    builder.finished_data().to_vec()
}

/// Places of the buffers within the body of a batch.
fn buffers(columns: &[PackedColumn]) -> Vec<Buffer> {
    let mut offset = 0;
    let lengths = columns.iter().flat_map(|column| column.lengths);
    let place = |length: usize| {
        let buffer = Buffer::new(offset as i64, length as i64);
        offset += length.next_multiple_of(ALIGNMENT);
        buffer
    };
    lengths.map(place).collect()
}
